"""The bytes that values of the language take as Python objects."""

from __future__ import annotations

from sys import getsizeof
from typing import Any

from qengine._limits import stop_if_due
from qengine.exec.interruptible import in_parts

ITEM = 40
"""Bytes of a number in a list: its object and the list's pointer to it."""

_OBJECT = 120  # a handle, a date; more than any takes
_ATOMS = frozenset({str, int, float, bool, type(None)})
_MANY = 1 << 18  # items that are measured between two looks at the clock


def size_of(value: Any) -> int:
    """Return the bytes of a value and of all that it holds; what it holds twice is counted twice."""
    kind = type(value)
    if kind in _ATOMS:
        return getsizeof(value)
    if kind is list or kind is tuple:
        return getsizeof(value) + _of_items(value)
    if kind is dict:
        return getsizeof(value) + _of_items(value.values())
    if hasattr(value, "relationships"):  # a path
        return _OBJECT + _of_items(value.nodes) + _of_items(value.relationships)
    properties = getattr(value, "properties", None)  # of an entity of a result
    return _OBJECT if properties is None else _OBJECT + size_of(properties)


def _of_items(items: Any) -> int:
    if len(items) > _MANY and type(items) is list:
        return sum(map(_of_items, in_parts(items, stop_if_due, _MANY)))
    if _ATOMS.issuperset(map(type, items)):
        return sum(map(getsizeof, items))
    return sum(map(size_of, items))


def width(text: str) -> int:
    """Return the most bytes that a character of ``text`` takes in memory."""
    if text.isascii():
        return 1
    return min(4, 1 + (getsizeof(text) - 49) // len(text))


def text_bytes(length: int, *texts: str) -> int:
    """Return the bytes of a string of ``length`` characters, all of which are in ``texts``."""
    return 76 + length * max(map(width, texts))
