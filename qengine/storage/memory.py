"""What a loader says where the machine has not enough memory for a graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from qengine.errors import OutOfMemory

P = ParamSpec("P")
R = TypeVar("R")


def within_memory(load: Callable[P, R]) -> Callable[P, R]:
    """Return a loader that raises ``OutOfMemory`` where Python's, NumPy's or Arrow's memory ends."""

    @wraps(load)
    def loaded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return load(*args, **kwargs)
        except MemoryError:
            raise OutOfMemory(
                "Loading needs more memory than there is.", hint="Load fewer rows or columns, or free memory."
            ) from None

    return loaded
