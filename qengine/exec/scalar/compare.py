"""Equality, comparison, order and grouping of values.

Four relations that differ on purpose (openCypher, CIP2016-06-14):

- *equality* ``equals``: three-valued, used by ``=``, ``<>``, ``IN``, ``CASE``;
- *comparability* ``ordered``: three-valued, null between values of different types, used by ``<`` and its like;
- *orderability* ``order_key``: a total order over all values, used by ``ORDER BY``, ``min`` and ``max``;
- *equivalence* ``group_key``: two-valued (null is null, NaN is NaN), used by ``DISTINCT`` and grouping.

Integers and floats compare exactly, also beyond 2^53. Strings compare by code point.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from qengine.exec.scalar.values import INSTANTS, NUMBERS, NodeHandle, PathHandle, RelationshipHandle
from qengine.spatial import Point
from qengine.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Time

_Comparison = Callable[[Any, Any], bool]


def equals(a: Any, b: Any) -> bool | None:
    """Return ``a = b``: None where a null inside leaves it open. Values of different types are unequal."""
    if a is None or b is None:
        return None
    kind, other = type(a), type(b)
    if kind is not other:
        return kind in NUMBERS and other in NUMBERS and bool(a == b)
    if kind is list:
        return _all_equal(a, b) if len(a) == len(b) else False
    if kind is dict:
        return _all_equal(a.values(), [b[key] for key in a]) if a.keys() == b.keys() else False
    return bool(a == b)


def _all_equal(left: Any, right: Any) -> bool | None:
    result: bool | None = True
    for a, b in zip(left, right, strict=True):
        same = equals(a, b)
        if same is False:
            return False
        if same is None:
            result = None
    return result


def less(a: Any, b: Any) -> bool | None:
    """Return ``a < b``: None where either is null or the two can't be compared."""
    return ordered(a, b, operator.lt)


def ordered(a: Any, b: Any, compare: _Comparison) -> bool | None:
    """Return ``compare(a, b)``, one of operator's lt, le, gt, ge, for values that can be compared, else None.

    Lists compare by their first items that aren't equal, then by length. Maps, nodes, relationships, paths,
    points and durations can't be compared.
    """
    kind, other = type(a), type(b)
    if kind in NUMBERS and other in NUMBERS:
        return compare(a, b)
    if kind is not other:
        return None
    if kind is str or kind is bool:
        return compare(a, b)
    if kind is list:
        for left, right in zip(a, b, strict=False):
            same = equals(left, right)
            if same is None:
                return None
            if not same:
                return ordered(left, right, compare)
        return compare(len(a), len(b))
    return compare(a, b) if kind in INSTANTS else None


# The ranks of types in ORDER BY, ascending.
_MAP, _NODE, _RELATIONSHIP, _LIST, _PATH, _POINT, _TEMPORAL, _STRING, _BOOLEAN, _NUMBER, _NAN, _NULL = range(12)
_TEMPORAL_RANKS = {DateTime: 0, LocalDateTime: 1, Date: 2, Time: 3, LocalTime: 4, Duration: 5}


def order_key(value: Any) -> tuple[Any, ...]:
    """Return a key whose Python order is the order of ``ORDER BY``; equal keys tie.

    Ascending: map, node, relationship, list, path, point, temporal values (with date and time first,
    durations last), string, false, true, number, NaN, null.
    """
    kind = type(value)
    if kind is str:
        return (_STRING, value)
    if kind is int:
        return (_NUMBER, value)
    if kind is float:
        return (_NAN,) if math.isnan(value) else (_NUMBER, value)
    if value is None:
        return (_NULL,)
    if kind is bool:
        return (_BOOLEAN, value)
    if kind is list:
        return (_LIST, tuple(order_key(item) for item in value))
    if kind is NodeHandle:
        return (_NODE, value.id)
    if kind is RelationshipHandle:
        return (_RELATIONSHIP, value.id)
    if kind is PathHandle:
        return (_PATH, tuple(element.id for element in value.elements()))
    if kind is dict:
        keys = sorted(value)
        return (_MAP, len(keys), tuple(keys), tuple(order_key(value[key]) for key in keys))
    if kind is Point:
        return (_POINT, value.order())
    return (_TEMPORAL, _TEMPORAL_RANKS[kind], value.order() if kind is Duration else value)


class _Mark:
    """A value of its own that stands for NaN, true or false in group keys."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


_IS_NAN, _IS_TRUE, _IS_FALSE = _Mark("NaN"), _Mark("true"), _Mark("false")


def group_key(value: Any) -> Any:
    """Return a hashable key, equal for values that grouping and ``DISTINCT`` take as one.

    Null equals null, NaN equals NaN, 1 equals 1.0; true doesn't equal 1.
    """
    kind = type(value)
    if kind is float:
        return _IS_NAN if math.isnan(value) else value
    if kind is bool:
        return _IS_TRUE if value else _IS_FALSE
    if kind is list:
        return (list, *[group_key(item) for item in value])
    if kind is dict:
        return (dict, frozenset((key, group_key(item)) for key, item in value.items()))
    return value


def row_key(values: Any) -> tuple[Any, ...]:
    """Return the grouping key of several values together."""
    return tuple([group_key(value) for value in values])
