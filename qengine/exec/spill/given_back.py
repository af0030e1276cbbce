"""Memory that was freed and that allocators keep: given back to the system, so that others' limits hold."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from qengine.exec.context import ExecutionContext

_LARGE = 1 << 28  # bytes of a limit beside which what allocators keep is little


def give_back(context: ExecutionContext) -> None:
    """Give freed memory back to the system, where the memory limit is so small that it matters."""
    if context.memory_limit is not None and context.memory_limit < _LARGE:
        pa.default_memory_pool().release_unused()
        _trim()(0)


@cache
def _trim() -> Callable[[int], Any]:
    """Return the C library's ``malloc_trim``, or what does nothing where it has none."""
    library = ctypes.CDLL(None)
    return getattr(library, "malloc_trim", lambda kept: 0)
