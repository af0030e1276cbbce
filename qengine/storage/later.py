"""A value that is found when somebody first asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Later(Generic[T]):
    """A value that ``find`` returns, which is then let go, with what it holds.

    Any number of threads may ask. Those that ask at once may each call ``find``: what it returns has to be equal.
    """

    __slots__ = ("_find", "_value")

    def __init__(self, find: Callable[[], T]) -> None:
        self._find: Callable[[], T] | None = find

    @property
    def is_known(self) -> bool:
        """Whether it has been found."""
        return self._find is None

    def get(self) -> T:
        """Return it."""
        find = self._find
        if find is not None:
            self._value = find()  # before ``_find`` goes, so that a thread that sees it gone sees the value
            self._find = None
        return self._value
