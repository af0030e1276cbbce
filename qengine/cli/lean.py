"""Keeps away from a process what the command does without, and what takes longer to import than a small query."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["import_less"]


def import_less() -> None:
    """Let nothing that is imported from now on bring pandas or the documentation of Arrow's functions along."""
    sys.meta_path.insert(0, _Lean())


class _Lean(MetaPathFinder):
    """Refuses to find pandas, which pyarrow imports with its first array, and finds nothing to document functions with.

    ``pyarrow.compute`` writes the documentation of hundreds of functions when it is imported: half of its time.
    """

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError("the command does without pandas", name=name)
        return ModuleSpec(name, _Undocumented()) if name == "pyarrow.vendored.docscrape" else None


class _Undocumented(Loader):
    """Makes a module whose ``NumpyDocString`` reads no documentation."""

    def exec_module(self, module: ModuleType) -> None:
        module.NumpyDocString = _NoSections  # type: ignore[attr-defined]


class _NoSections:
    def __init__(self, text: str) -> None:
        """Leave the text unread."""

    def __getitem__(self, section: str) -> tuple[()]:
        return ()
