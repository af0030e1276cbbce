"""Properties that are found once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 - it is used like a function
    """A property that is found when it is first read, and then stands in the object's ``__dict__``.

    Any number of threads may read it: those that do so at once may each call the function, and all get what the first
    of them has found. That of Python 3.11's ``functools`` holds one lock for all objects of a class meanwhile, so that
    two threads wait for each other for ever where the properties of two classes need each other's of other objects.
    """

    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find = find
        self.__doc__ = find.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, owner: None, kind: type) -> cached_property[T]: ...

    @overload
    def __get__(self, owner: object, kind: type | None = None) -> T: ...

    def __get__(self, owner: object, kind: type | None = None) -> cached_property[T] | T:
        if owner is None:
            return self
        found: T = owner.__dict__.setdefault(self._name, self._find(owner))
        return found
