"""Comparisons and fields of dates and times that a column holds as Arrow's integers, by NumPy.

What a column holds otherwise (``Time``, moments of several zones, values beyond Arrow's range) is left to the row-wise
evaluator, as are durations, values of different types, and fields that need the rules of a time zone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from qengine.exec.common.columns import (
    ArrowColumn,
    BoolArray,
    Column,
    ConstantColumn,
    IntArray,
    ObjectColumn,
    boolean_column,
    integer_column,
)
from qengine.exec.common.expressions.operand import COMPARE, MIRRORED, farthest, null_rows
from qengine.temporal import Date, DateTime, LocalDateTime, LocalTime
from qengine.temporal.arrow import UNITS, to_array, zone_of
from qengine.temporal.values import DAY, SECOND
from qengine.temporal.zones import in_zone

_DAY_SECONDS = DAY // SECOND
_INT64 = np.iinfo(np.int64)


# ---------------------------------------------------------------- comparisons


def compared(op: str, left: Column, right: Column) -> Column | None:
    """Return a comparison of a column of a temporal type with values of the same class; None for all others."""
    found = compared_rows(op, left, right)
    return None if found is None else boolean_column(found, null_rows(left, right))


def compared_rows(op: str, left: Column, right: Column) -> BoolArray | None:
    """Return for which rows ``compared`` is true, something for those where it is null; None as there."""
    if isinstance(left, ConstantColumn | ObjectColumn):
        left, right, op = right, left, MIRRORED[op]
    if not isinstance(left, ArrowColumn) or (kind := kind_of(left.type)) is None:
        return None
    if isinstance(right, ObjectColumn):
        right = _as_integers(right, kind[0])
    if isinstance(right, ConstantColumn):
        found = number_beside(op, left.type, right.value)
        if found is None:
            return None
        return np.full(len(left), found) if isinstance(found, bool) else COMPARE[found[0]](numbers_of(left), found[1])
    if not isinstance(right, ArrowColumn) or kind_of(right.type) != kind:
        return None
    numbers = _in_one_unit(left, right)
    return None if numbers is None else COMPARE[op](*numbers)


def _as_integers(column: ObjectColumn, kind: type) -> Column:
    """Return a column as Arrow's integers where all its values are of a temporal class; else as it is."""
    few, places = (column.objects, None) if column.shared is None else column.shared
    kinds = set(map(type, few))
    kinds.discard(type(None))
    if kinds != {kind}:
        return column
    found = ArrowColumn(to_array(few))
    return found if places is None else found.take(places)


def _in_one_unit(left: ArrowColumn, right: ArrowColumn) -> tuple[IntArray, IntArray] | None:
    """Return what two columns hold in the finer one's unit; None where that is too much for 64 bits."""
    units, numbers = (unit_of(left.type), unit_of(right.type)), (numbers_of(left), numbers_of(right))
    finest, found = min(units), []
    for unit, each in zip(units, numbers, strict=True):
        if unit != finest and farthest(each) * (unit // finest) > _INT64.max / 2:
            return None
        found.append(each * (unit // finest))
    return found[0], found[1]


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


def numbers_of(column: ArrowColumn) -> IntArray:
    """Return what a column holds in its unit, int64; some number for null."""
    array = column.array.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    numbers: IntArray = (array.fill_null(0) if array.null_count else array).to_numpy().astype(np.int64, copy=False)
    return numbers


# ---------------------------------------------------------------- texts


def written(column: Column) -> Column | None:
    """Return dates of four digits' years as text; None for all other columns."""
    if not isinstance(column, ArrowColumn) or not pa.types.is_date32(column.type):
        return None
    days = numbers_of(column)
    if len(days) and not _FIRST_DAY <= int(days.min()) <= int(days.max()) <= _LAST_DAY:
        return None
    return ArrowColumn(column.array.cast(pa.string()))


_FIRST_DAY, _LAST_DAY = -719_528, 2_932_896  # of the years 0 and 9999


# ---------------------------------------------------------------- fields


def field_of(subject: ArrowColumn, name: str) -> Column | None:
    """Return a field of dates and times, such as ``year``; None where the values have none of this name here."""
    kind = kind_of(subject.type)
    if kind is None or kind[1] not in (None, 0):  # the fields of other zones need their rules
        return None
    unit, numbers = unit_of(subject.type), numbers_of(subject)
    if name in _OF_DAY and kind[0] is not LocalTime:
        found = _of_days(numbers // (DAY // unit), _OF_DAY[name])
    elif name in _OF_SECONDS and kind[0] is not Date:
        found = _OF_SECONDS[name](numbers // (SECOND // unit) % _DAY_SECONDS)
    elif name in _OF_SECOND and kind[0] is not Date:
        found = numbers % (SECOND // unit) * unit // _OF_SECOND[name]
    else:
        return None
    return integer_column(found, null_rows(subject))


def months_of(days: IntArray) -> IntArray:
    """Return the months since January 1970; of few different days each once."""
    return _of_days(days, lambda days: days.view("datetime64[D]").astype("datetime64[M]").astype(np.int64))


def _of_days(days: IntArray, function: Callable[[IntArray], IntArray]) -> IntArray:
    """Return what a function gives for days: of many, it is asked once for each from the first to the last."""
    least, most = (int(days.min()), int(days.max())) if len(days) else (0, 0)
    if 0 <= most - least < len(days):
        return function(np.arange(least, most + 1, dtype=np.int64))[days - least]
    return function(days)


def first_day(months: IntArray) -> IntArray:
    """Return the days from 1970-01-01 to the first of months."""
    return months.view("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def year_of(days: IntArray) -> IntArray:
    """Return the year of days since 1970-01-01."""
    return 1970 + months_of(days) // 12


def weekday(days: IntArray) -> IntArray:
    """Return the day of the week, from Monday 1."""
    return (days + 3) % 7 + 1


def _thursday(days: IntArray) -> IntArray:
    """Return the Thursday of the same week: the week belongs to its year."""
    return days - weekday(days) + 4


def _since(days: IntArray, months: int) -> IntArray:
    """Return the day's place, from 1, in its span of months: of a month, a quarter, a year."""
    return days - first_day(months_of(days) // months * months) + 1


_OF_DAY: dict[str, Callable[[IntArray], IntArray]] = {
    "year": year_of,
    "quarter": lambda days: months_of(days) % 12 // 3 + 1,
    "month": lambda days: months_of(days) % 12 + 1,
    "week": lambda days: (_since(_thursday(days), 12) - 1) // 7 + 1,
    "weekYear": lambda days: year_of(_thursday(days)),
    "day": lambda days: _since(days, 1),
    "dayOfQuarter": lambda days: _since(days, 3),
    "quarterDay": lambda days: _since(days, 3),
    "dayOfWeek": weekday,
    "weekDay": weekday,
    "ordinalDay": lambda days: _since(days, 12),
}
"""By name, of days since 1970-01-01."""

_OF_SECONDS: dict[str, Callable[[IntArray], IntArray]] = {
    "hour": lambda seconds: seconds // 3600,
    "minute": lambda seconds: seconds // 60 % 60,
    "second": lambda seconds: seconds % 60,
}
"""By name, of seconds since midnight."""

_OF_SECOND = {"millisecond": 1_000_000, "microsecond": 1_000, "nanosecond": 1}
"""By name, the nanoseconds of what is counted within a second."""
