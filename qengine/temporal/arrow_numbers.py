"""The integers that Arrow arrays hold dates and times as, and what they are compared with in place of a value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from qengine.temporal.arrow import UNITS, zone_of
from qengine.temporal.values import DAY, Date, DateTime, LocalDateTime, LocalTime
from qengine.temporal.zones import in_zone

_INT64 = np.iinfo(np.int64)


def kind_of(arrow: Any) -> tuple[type, int | str | None] | None:
    """Return the class of a type's values, with their time zone; None for types that aren't compared here."""
    if pa.types.is_date32(arrow):
        return Date, None
    if pa.types.is_time64(arrow):
        return LocalTime, None
    if pa.types.is_timestamp(arrow):
        return (LocalDateTime, None) if arrow.tz is None else (DateTime, zone_of(arrow))
    return None


def unit_of(arrow: Any) -> int:
    """Return the nanoseconds of what a type counts."""
    return DAY if pa.types.is_date32(arrow) else UNITS[arrow.unit]


def _constant(kind: tuple[type, int | str | None], value: object) -> int | None:
    """Return a value's nanoseconds where values of ``kind`` compare by these alone, else None."""
    if type(value) is not kind[0]:
        return None
    if isinstance(value, DateTime):
        return value.utc if in_zone(value) == kind[1] else None
    if isinstance(value, Date):
        return value.days * DAY
    assert isinstance(value, LocalTime | LocalDateTime)
    return value.nanoseconds


def number_beside(op: str, arrow: Any, value: object) -> tuple[str, int] | bool | None:
    """Return what the numbers that a column of a type holds are compared with, and how, in place of a value.

    One between two numbers of the column's unit is equal to none. A boolean where all values compare so; None where
    that isn't told by the numbers.
    """
    kind = kind_of(arrow)
    nanoseconds = None if kind is None else _constant(kind, value)
    if nanoseconds is None:
        return None
    number, rest = divmod(nanoseconds, unit_of(arrow))
    if rest and op in ("=", "<>"):
        return op == "<>"
    if rest:
        op = "<=" if op[0] == "<" else ">"
    if not _INT64.min <= number <= _INT64.max:
        below = number > 0  # all of the column
        return op == "<>" or op in (("<", "<=") if below else (">", ">="))
    return op, number


def numbers_in(array: Any) -> Any:
    """Return what an array holds in its unit, int64; some number for null."""
    numbers = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    return (numbers.fill_null(0) if numbers.null_count else numbers).to_numpy().astype(np.int64, copy=False)
