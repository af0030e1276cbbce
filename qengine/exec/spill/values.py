"""Values of the language as bytes and back, exactly: of different types, at any depth, integers beyond 64 bits.

They are Python's own of ``marshal``, which knows no tuples of the language: one stands for each value of a class of
ours, with its kind first.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Sequence
from typing import Any

from qengine.exec.scalar.values import NodeHandle, PathHandle, RelationshipHandle
from qengine.spatial import Point
from qengine.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Time

_ATOMS = frozenset({type(None), bool, int, float, str})


def packed(values: Sequence[Any]) -> list[bytes | None]:
    """Return each value as bytes, null as None."""
    dumps = marshal.dumps
    if _ATOMS.issuperset(map(type, values)):
        return [None if value is None else dumps(value) for value in values]
    return [None if value is None else dumps(_plain(value)) for value in values]


def unpacked(packed: Sequence[bytes | None]) -> list[Any]:
    """Return the values that ``packed`` has made bytes of."""
    loads = marshal.loads
    return [None if each is None else _value(loads(each)) for each in packed]


def _plain(value: Any) -> Any:
    """Return a value made of what ``marshal`` writes."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is list:
        return [_plain(item) for item in value]
    if kind is dict:
        return {key: _plain(item) for key, item in value.items()}
    place, fields = _FIELDS[kind]
    return (place, *fields(value))


def _value(plain: Any) -> Any:
    kind = type(plain)
    if kind is list:
        return [_value(item) for item in plain]
    if kind is dict:
        return {key: _value(item) for key, item in plain.items()}
    return _MAKERS[plain[0]](*plain[1:]) if kind is tuple else plain


def _path(nodes: tuple[int, ...], relationships: tuple[int, ...]) -> PathHandle:
    return PathHandle(tuple(map(NodeHandle, nodes)), tuple(map(RelationshipHandle, relationships)))


_Kind = tuple[type, Callable[[Any], tuple[Any, ...]], Callable[..., Any]]
_KINDS: tuple[_Kind, ...] = (
    (NodeHandle, lambda value: (value.id,), NodeHandle),
    (RelationshipHandle, lambda value: (value.id,), RelationshipHandle),
    (PathHandle, lambda value: (_ids(value.nodes), _ids(value.relationships)), _path),
    (Date, lambda value: (value.days,), Date.from_days),
    (LocalTime, lambda value: (value.nanoseconds,), LocalTime.from_nanoseconds),
    (Time, lambda value: (value.utc, value.offset_seconds), Time.from_utc),
    (LocalDateTime, lambda value: (value.nanoseconds,), LocalDateTime.from_nanoseconds),
    (DateTime, lambda value: (value.utc, value.offset_seconds, value.zone), DateTime.from_utc),
    (Duration, lambda value: (value.months, value.days, value.nanoseconds), Duration.from_parts),
    (Point, lambda value: (value.x, value.y, value.z, value.crs), lambda x, y, z, crs: Point(x, y, z, crs=crs)),
)
_FIELDS = {kind: (place, fields) for place, (kind, fields, _) in enumerate(_KINDS)}
_MAKERS = [make for _, _, make in _KINDS]


def _ids(elements: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple([element.id for element in elements])
