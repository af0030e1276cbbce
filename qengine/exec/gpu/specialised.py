"""Kernels compiled for one form of plan: when that pays, and without keeping a query waiting.

Compiling takes seconds. So the kernels that take any plan run first; when they have run for as long as compiling takes
on plans of one form, its kernels are compiled in the background, and take over what still runs. Whoever stops asking
has lost no more than he has used (the rule of the rented skis), and the binaries are kept on disk for the next process.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property

from qengine.catalog.costs import costs
from qengine.errors import QengineError
from qengine.exec.gpu.compiled import compiled, is_compiled

__all__ = ["KernelVariant", "Specialised", "specialised"]


@dataclass(frozen=True, slots=True)
class KernelVariant:
    """Kernels that could be: a family, the device's capability, the macros, and the code of one form of plan."""

    family: str
    capability: int
    macros: tuple[tuple[str, int | str], ...]
    code: str

    @classmethod
    def of(cls, family: str, capability: int, macros: Mapping[str, int | str], code: str) -> KernelVariant:
        """Return the form with its macros in their order."""
        return cls(family, capability, tuple(sorted(macros.items())), code)

    @property
    def compiled(self) -> bool:
        """Are its kernels on disk?"""
        return is_compiled(self.family, self.capability, dict(self.macros), self.code)


@dataclass
class Specialised:
    """What one process knows of forms: which have kernels, and for how long others have run without."""

    _ready: set[KernelVariant] = field(default_factory=set)
    _absent: dict[KernelVariant, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ready(self, form: KernelVariant) -> bool:
        """Tell whether a form has kernels: compiled by this process, or by an earlier one."""
        if form in self._ready:
            return True
        if form in self._absent:
            return False
        if form.compiled:
            self._ready.add(form)
            return True
        self._absent[form] = 0.0
        return False

    def ran(self, form: KernelVariant, seconds: float) -> Future[None] | None:
        """Note that kernels for any plan have run on a form. Returns its compilation where that begins."""
        worth = costs("gpu", "specialised")["seconds"]
        with self._lock:
            before = self._absent.get(form, 0.0)
            self._absent[form] = before + seconds
        return self._compiler.submit(self._compile, form) if before < worth <= before + seconds else None

    def _compile(self, form: KernelVariant) -> None:
        try:
            compiled(form.family, form.capability, dict(form.macros), form.code)
        except QengineError:  # the kernels for any plan go on
            return
        if form.compiled:
            self._ready.add(form)

    @cached_property
    def _compiler(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1, "qengine-compile")


specialised = Specialised()
"""Of this process."""
