"""Comparisons and fields of dates and times that a column holds as Arrow's integers, by NumPy.

What a column holds otherwise (``Time``, moments of several zones, values beyond Arrow's range) is left to the row-wise
evaluator, as are durations, values of different types, and fields that need the rules of a time zone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

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
from qengine.temporal import Date, LocalTime
from qengine.temporal.arrow import to_array
from qengine.temporal.arrow_numbers import kind_of, number_beside, numbers_in, unit_of
from qengine.temporal.values import DAY, SECOND

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


def numbers_of(column: ArrowColumn) -> IntArray:
    """Return what a column holds in its unit, int64; some number for null."""
    numbers: IntArray = numbers_in(column.array)
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


def is_day_field(name: str) -> bool:
    """Tell whether a field is the same for all moments of a day."""
    return name in _OF_DAY


def has_days(arrow: Any) -> bool:
    """Tell whether values of an Arrow type are dates, or moments whose days need no rules of a time zone."""
    kind = kind_of(arrow)
    return kind is not None and kind[0] is not LocalTime and kind[1] in (None, 0)


def first_and_last_day(column: ArrowColumn) -> tuple[int | None, int | None]:
    """Return the days since 1970-01-01 that values of such a type lie between; None where all are null."""
    bounds = pc.min_max(column.array.view(pa.int32() if column.array.type.bit_width == 32 else pa.int64()))
    if not bounds["min"].is_valid:
        return None, None
    unit = unit_of(column.type)
    return bounds["min"].as_py() * unit // DAY, bounds["max"].as_py() * unit // DAY


def days_from(least: int, column: ArrowColumn) -> NDArray[np.int32]:
    """Return the days from one day to those of a column, -1 for null."""
    days = (numbers_of(column) // (DAY // unit_of(column.type)) - least).astype(np.int32)
    if (null := null_rows(column)) is not None:
        days[null] = -1
    return days


def each_day(least: int, greatest: int, arrow: Any) -> Column | None:
    """Return a column of an Arrow type with a moment of each of these days; None where it can't hold the first."""
    days = np.arange(least, greatest + 1, dtype=np.int64)
    per_day = DAY // unit_of(arrow)
    if least * per_day < _INT64.min:
        return None
    numbers = days * per_day
    return ArrowColumn(pa.array(numbers.astype(np.int32) if per_day == 1 else numbers).view(arrow))


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
