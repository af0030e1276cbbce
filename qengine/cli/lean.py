"""Keeps away from a process what the command does without, and what takes longer to import than a small query."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from types import ModuleType
from typing import Any


def import_less() -> None:
    """Let no import from now on bring pandas, masked arrays or the documentation of Arrow's functions along."""
    sys.meta_path.insert(0, _Lean())


class _Lean(MetaPathFinder):
    """Refuses to find pandas, which pyarrow imports with its first array, and finds nothing to document functions with.

    NumPy's masked arrays are found once somebody wants one; pyarrow and NumPy only ask whether an array is one.
    ``pyarrow.compute`` writes the documentation of hundreds of functions when it is imported: half of its time.
    """

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError("the command does without pandas", name=name)
        if name == "numpy.ma":
            return ModuleSpec(name, _Unmasked())
        return ModuleSpec(name, _Undocumented()) if name == "pyarrow.vendored.docscrape" else None


class _Unmasked(Loader):
    """Makes a module that knows no masked array, and becomes NumPy's where more is asked of it."""

    def exec_module(self, module: ModuleType) -> None:
        module.MaskedArray = type("MaskedArray", (), {})  # type: ignore[attr-defined]
        module.is_masked = module.isMaskedArray = lambda _: False  # type: ignore[attr-defined]
        module.__getattr__ = _of_masked_arrays  # type: ignore[method-assign]


def _of_masked_arrays(name: str) -> Any:
    """Import NumPy's masked arrays after all, and return what they have of this name."""
    import numpy

    spec = PathFinder.find_spec("numpy.ma", numpy.__path__)
    assert spec is not None and spec.loader is not None
    sys.modules["numpy.ma"] = numpy.ma = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


class _Undocumented(Loader):
    """Makes a module whose ``NumpyDocString`` reads no documentation."""

    def exec_module(self, module: ModuleType) -> None:
        module.NumpyDocString = _NoSections  # type: ignore[attr-defined]


class _NoSections:
    def __init__(self, text: str) -> None:
        """Leave the text unread."""

    def __getitem__(self, section: str) -> tuple[()]:
        return ()
