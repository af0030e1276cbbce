"""Temporal values in Arrow arrays, and back, exactly.

==================  ==============================================================================
values              Arrow type
==================  ==============================================================================
``Date``            date32
``LocalTime``       time64
``LocalDateTime``   timestamp
``DateTime``        timestamp with a time zone, where all values have the same
``Duration``        duration; month_day_nano_interval where a value has months or days
==================  ==============================================================================

In microseconds where that is exact, else in nanoseconds. What these can't hold (``Time``, moments of several zones,
years beyond a type's range), and points, is a struct of one string: the value's text, in a field named after its kind.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import pairwise, repeat
from typing import Any

import numpy as np
import pyarrow as pa

from qengine.spatial import Point, parse_point
from qengine.temporal.durations import parse_duration
from qengine.temporal.parse import (
    parse_date,
    parse_date_time,
    parse_local_date_time,
    parse_local_time,
    parse_time,
)
from qengine.temporal.text import offset_text
from qengine.temporal.values import DAY, Date, DateTime, Duration, LocalDateTime, LocalTime, Temporal, Time
from qengine.temporal.zones import at_moment, in_zone, parse_zone
from qengine.types import Kind

UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""Nanoseconds of Arrow's units."""

_PARSERS: dict[Kind, Callable[[str], Any]] = {
    Kind.DATE: parse_date,
    Kind.LOCAL_TIME: parse_local_time,
    Kind.TIME: parse_time,
    Kind.LOCAL_DATETIME: parse_local_date_time,
    Kind.DATETIME: parse_date_time,
    Kind.DURATION: parse_duration,
    Kind.POINT: parse_point,
}
_KINDS = {
    Date: Kind.DATE,
    LocalTime: Kind.LOCAL_TIME,
    Time: Kind.TIME,
    LocalDateTime: Kind.LOCAL_DATETIME,
    DateTime: Kind.DATETIME,
    Duration: Kind.DURATION,
    Point: Kind.POINT,
}
_INT32, _INT64 = 2**31 - 1, 2**63 - 1


# ---------------------------------------------------------------- to Arrow


def to_array(values: Sequence[Any]) -> Any:
    """Return temporal values of one class, or points, and None, as an Arrow array."""
    kind = next(type(value) for value in values if value is not None)
    array = _MAKERS[kind](values) if kind in _MAKERS else None
    return _text_array(values, kind) if array is None else array


def _integers(numbers: list[int | None], make: Callable[[str], Any]) -> Any:
    """Return nanoseconds in the coarsest exact unit; None where they don't fit."""
    present = [number for number in numbers if number is not None]
    unit, size = ("ns", 1) if any(number % 1_000 for number in present) else ("us", 1_000)
    scaled = [None if number is None else number // size for number in numbers]
    if any(abs(number) // size > _INT64 for number in present):
        return None
    return pa.array(scaled, pa.int64()).cast(make(unit))


def _dates(values: Sequence[Date | None]) -> Any:
    days = [None if value is None else value.days for value in values]
    if any(day is not None and abs(day) > _INT32 for day in days):
        return None
    return pa.array(days, pa.int32()).cast(pa.date32())


def _nanoseconds(values: Sequence[Any]) -> list[int | None]:
    return [None if value is None else value.nanoseconds for value in values]


def _date_times(values: Sequence[DateTime | None]) -> Any:
    zones = {in_zone(value) for value in values if value is not None}
    zone = zones.pop()
    if zones or zone == "UTC" or (isinstance(zone, int) and zone % 60):
        return None
    name = zone if isinstance(zone, str) else "UTC" if zone == 0 else offset_text(zone)
    return _integers([None if value is None else value.utc for value in values], lambda unit: pa.timestamp(unit, name))


def _durations(values: Sequence[Duration | None]) -> Any:
    present = [value for value in values if value is not None]
    if not any(value.months or value.days for value in present):
        return _integers(_nanoseconds(values), pa.duration)
    if any(max(abs(value.months), abs(value.days)) > _INT32 or abs(value.nanoseconds) > _INT64 for value in present):
        return None
    return pa.array(
        [None if value is None else (value.months, value.days, value.nanoseconds) for value in values],
        pa.month_day_nano_interval(),
    )


def _text_array(values: Sequence[Any], kind: type) -> Any:
    texts = pa.array([None if value is None else str(value) for value in values], pa.string())
    return pa.StructArray.from_arrays([texts], names=[_KINDS[kind].value], mask=texts.is_null())


_MAKERS: dict[type, Callable[[Sequence[Any]], Any]] = {
    Date: _dates,
    LocalTime: lambda values: _integers(_nanoseconds(values), pa.time64),
    LocalDateTime: lambda values: _integers(_nanoseconds(values), pa.timestamp),
    DateTime: _date_times,
    Duration: _durations,
}


# ---------------------------------------------------------------- from Arrow


def text_kind(arrow: Any) -> Kind | None:
    """Return the kind of the values that arrays of a type hold as text, None for all other types."""
    if not pa.types.is_struct(arrow) or arrow.num_fields != 1 or not pa.types.is_string(arrow.field(0).type):
        return None
    return next((kind for kind in _PARSERS if kind.value == arrow.field(0).name), None)


def is_text(arrow: Any) -> bool:
    """Tell whether a type holds temporal values or points as text."""
    return text_kind(arrow) is not None


def text_kinds(arrow: Any) -> set[Kind]:
    """Return the kinds of the values that arrays of a type hold as text, at any depth."""
    kind = text_kind(arrow)
    if kind is not None:
        return {kind}
    if not pa.types.is_nested(arrow):
        return set()
    return set().union(*(text_kinds(arrow.field(i).type) for i in range(arrow.num_fields)))


def without_text(array: Any) -> Any:
    """Return an array for readers that don't know of texts in structs: as plain strings, at any depth."""
    arrow = array.type
    if is_text(arrow):
        return array.flatten()[0]
    if not text_kinds(arrow):
        return array
    if pa.types.is_union(arrow):
        codes, offsets = union_parts(array)
        children = [without_text(array.field(i)) for i in range(arrow.num_fields)]
        names = [arrow.field(i).name for i in range(arrow.num_fields)]
        return pa.UnionArray.from_dense(pa.array(codes), pa.array(offsets), children, names)
    mask = array.is_null() if array.null_count else None
    make = pa.LargeListArray if pa.types.is_large_list(arrow) else pa.ListArray
    return make.from_arrays(array.offsets, without_text(array.values), mask=mask)


def union_parts(array: Any) -> tuple[Any, Any]:
    """Return the child numbers (int8) and the places in the child (int32, a copy) of a dense union's values."""
    if not len(array):  # it may have no buffers
        return np.zeros(0, np.int8), np.zeros(0, np.int32)
    rows = slice(array.offset, array.offset + len(array))
    _, codes, offsets = array.buffers()[:3]
    return np.frombuffer(codes, np.int8)[rows], np.frombuffer(offsets, np.int32)[rows].copy()


def to_values(array: Any) -> list[Any]:
    """Return the values of an Arrow array in Python, temporal ones as those of this package."""
    arrow = array.type
    if pa.types.is_union(arrow):
        return _union_values(array)
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        return _list_values(array)
    kind = text_kind(arrow)
    if kind is not None:
        return [None if text is None else _parsed(kind, text) for text in array.flatten()[0].to_pylist()]
    if pa.types.is_struct(arrow):
        return _struct_values(array)
    make = _reader(arrow)
    if make is None:
        return list(array.to_pylist())
    if pa.types.is_interval(arrow):
        return [None if value is None else make(value) for value in array.to_pylist()]
    width = pa.int32() if array.type.bit_width == 32 else pa.int64()
    return [None if number is None else make(number) for number in array.view(width).to_pylist()]


@functools.lru_cache(maxsize=4096)
def _parsed(kind: Kind, text: str) -> Any:
    return _PARSERS[kind](text)


def _reader(arrow: Any) -> Callable[[Any], Temporal] | None:
    """Return what makes a value from the integer that an array holds; None for types that aren't temporal."""
    if pa.types.is_date32(arrow):
        return Date.from_days
    if pa.types.is_interval(arrow):
        return lambda value: Duration.from_parts(value.months, value.days, value.nanoseconds)
    if not pa.types.is_temporal(arrow):
        return None
    if pa.types.is_date64(arrow):
        return lambda number: Date.from_days(number * 1_000_000 // DAY)
    size = UNITS[arrow.unit]
    if pa.types.is_time(arrow):
        return lambda number: LocalTime.from_nanoseconds(number * size)
    if pa.types.is_duration(arrow):
        return lambda number: Duration.from_parts(0, 0, number * size)
    if arrow.tz is None:
        return lambda number: LocalDateTime.from_nanoseconds(number * size)
    zone = zone_of(arrow)
    return lambda number: at_moment(number * size, zone)


def zone_of(arrow: Any) -> int | str:
    """Return the zone that the values of a timestamp type with a time zone have: seconds of offset, or a name."""
    return 0 if arrow.tz == "UTC" else parse_zone(arrow.tz)


def _union_values(array: Any) -> list[Any]:
    codes, offsets = union_parts(array)
    values: list[Any] = [None] * len(codes)
    for code in np.unique(codes).tolist():
        rows = np.flatnonzero(codes == code)
        places = offsets[rows]
        low = int(places.min())
        found = to_values(array.field(code).slice(low, int(places.max()) + 1 - low))  # not all of it for a few
        for row, place in zip(rows.tolist(), (places - low).tolist(), strict=True):
            values[row] = found[place]
    return values


def _struct_values(array: Any) -> list[Any]:
    names = [arrow.name for arrow in array.type]
    columns = [to_values(array.field(i).slice(array.offset, len(array))) for i in range(len(names))]
    rows = zip(*columns, strict=True) if columns else repeat((), len(array))
    values: list[Any] = [dict(zip(names, row, strict=True)) for row in rows]
    if array.null_count:
        values = [each if valid else None for each, valid in zip(values, array.is_valid().to_pylist(), strict=True)]
    return values


def _list_values(array: Any) -> list[Any]:
    if not len(array):
        return []
    offsets = array.offsets.to_pylist()
    first = offsets[0]
    items = to_values(array.values.slice(first, offsets[-1] - first))  # ``values`` are those of all lists of the column
    lists: list[Any] = [items[begin - first : end - first] for begin, end in pairwise(offsets)]
    if array.null_count:
        lists = [each if valid else None for each, valid in zip(lists, array.is_valid().to_pylist(), strict=True)]
    return lists
