"""Dates and times made, moved, cut and measured on columns, by NumPy.

As ``qengine.exec.scalar.temporal`` does it for one value. Here are dates, local dates with times, and moments in UTC,
as days since 1970 and nanoseconds since midnight; other zones, times of day alone and what a type of Arrow can't hold
are left to the row-wise evaluator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine.exec.common.columns import ArrowColumn, BoolArray, Column, ConstantColumn, IntArray
from qengine.exec.common.duration_column import DurationColumn
from qengine.exec.common.expressions.operand import farthest, null_rows, operand
from qengine.exec.common.expressions.temporal import (
    first_day,
    months_of,
    numbers_of,
    weekday,
    year_of,
)
from qengine.exec.common.map_column import MapColumn
from qengine.exec.common.runtime import Runtime
from qengine.temporal import Date, DateTime, Duration, LocalDateTime
from qengine.temporal.arrow_numbers import kind_of, unit_of
from qengine.temporal.durations import UNITS
from qengine.temporal.values import DAY, SECOND
from qengine.temporal.zones import in_zone

_FARTHEST = {"us": 100_000_000, "ns": 100_000}
"""Days from 1970 on that a timestamp surely holds."""

_MOST = 2.0**62


@dataclass(frozen=True)
class _Moments:
    """``kind``: ``Date``, ``LocalDateTime`` or ``DateTime``; ``days`` since 1970, ``time``: nanoseconds of the day."""

    kind: type
    days: IntArray
    time: IntArray
    null: BoolArray | None


def _moments(column: Column) -> _Moments | None:
    """Return what a column holds; None for what isn't looked at here."""
    if isinstance(column, ConstantColumn):
        return _constant(column.value, len(column))
    if not isinstance(column, ArrowColumn) or (kind := kind_of(column.type)) is None:
        return None
    if kind[0] not in (Date, LocalDateTime, DateTime) or kind[1] not in (None, 0):
        return None
    unit, numbers = unit_of(column.type), numbers_of(column)
    if unit == DAY:
        return _Moments(Date, numbers, np.zeros_like(numbers), null_rows(column))
    days, time = np.divmod(numbers, DAY // unit)
    return _Moments(kind[0], days, time * unit, null_rows(column))


def _constant(value: Any, length: int) -> _Moments | None:
    if type(value) is Date:
        days, time = value.days, 0
    elif type(value) is LocalDateTime or (type(value) is DateTime and in_zone(value) == 0):
        days, time = divmod(value.nanoseconds, DAY)
    else:
        return None
    return _Moments(type(value), np.full(length, days, np.int64), np.full(length, time, np.int64), None)


def _column(kind: type, days: IntArray, time: IntArray, null: BoolArray | None) -> Column | None:
    """Return moments as a column; in microseconds where that is exact. None where Arrow has no such values."""
    most = farthest(days)
    if kind is Date:
        if most >= 2**31:
            return None
        return ArrowColumn(pa.array(days.astype(np.int32), pa.int32(), mask=null).cast(pa.date32()))
    unit, size = ("ns", 1) if (time % 1_000).any() else ("us", 1_000)
    if most > _FARTHEST[unit]:
        return None
    numbers = pa.array(days * (DAY // size) + time // size, pa.int64(), mask=null)
    return ArrowColumn(numbers.cast(pa.timestamp(unit, "UTC" if kind is DateTime else None)))


def _both(*nulls: BoolArray | None) -> BoolArray | None:
    found: BoolArray | None = None
    for null in nulls:
        if null is not None:
            found = null if found is None else found | null
    return found


# ---------------------------------------------------------------- moved


def moved(value: Column, by: Column, *, back: bool = False) -> Column | None:
    """Return moments and durations added up; ``back``: without the durations. None for columns of anything else."""
    at = _moments(value)
    parts = _duration(by)
    if at is None or parts is None:
        return None
    months, days, nanoseconds, null = parts
    if back:
        months, days, nanoseconds = -months, -days, -nanoseconds
    if farthest(months, days) > 2**32:
        return None
    if farthest(nanoseconds) > _MOST:
        return None
    reached = (_add_months(at.days, months) if np.any(months) else at.days) + days
    null = _both(at.null, null)
    if at.kind is Date:
        return _column(Date, reached + np.sign(nanoseconds) * (np.abs(nanoseconds) // DAY), at.time, null)
    more, time = np.divmod(at.time + nanoseconds, DAY)
    return _column(at.kind, reached + more, time, null)


def _duration(column: Column) -> tuple[Any, Any, Any, BoolArray | None] | None:
    """Return months, days and nanoseconds of each row, or of all."""
    if isinstance(column, DurationColumn):
        return column.months, column.days, column.nanoseconds, column.null
    if isinstance(column, ConstantColumn) and type(value := column.value) is Duration:
        if max(abs(value.months), abs(value.days), abs(value.nanoseconds)) >= 2**62:
            return None
        return np.int64(value.months), np.int64(value.days), np.int64(value.nanoseconds), None
    return None


def _day_of_month(days: IntArray, months: IntArray) -> IntArray:
    return days - first_day(months) + 1


def _add_months(days: IntArray, months: IntArray) -> IntArray:
    """Return the same day so many months later, or the month's last day where it is shorter."""
    at = months_of(days)
    reached = at + months
    begin = first_day(reached)
    day: IntArray = begin + np.minimum(_day_of_month(days, at), first_day(reached + 1) - begin) - 1
    return day


# ---------------------------------------------------------------- from one to another


def _towards_zero(days: IntArray, rest: IntArray) -> IntArray:
    """Return the whole days of days and a rest of less than one, in either direction."""
    return days - ((days > 0) & (rest < 0)) + ((days < 0) & (rest > 0))


def _whole_months(start: _Moments, end: _Moments) -> IntArray:
    days = end.days - ((end.days > start.days) & (end.time < start.time))
    days = days + ((end.days < start.days) & (end.time > start.time))
    first, last = months_of(start.days), months_of(days)
    apart = (last - first) * 32 + _day_of_month(days, last) - _day_of_month(start.days, first)
    months: IntArray = np.sign(apart) * (np.abs(apart) // 32)
    return months


def _distance(
    measure: Callable[[_Moments, _Moments], tuple[IntArray, IntArray, IntArray] | None],
) -> Callable[[Runtime, Column, Column], Column | None]:
    def function(_: Runtime, left: Column, right: Column) -> Column | None:
        start, end = _moments(left), _moments(right)
        if start is None or end is None or (parts := measure(start, end)) is None:
            return None
        return DurationColumn(*parts, _both(start.null, end.null))

    return function


def _between(start: _Moments, end: _Moments) -> tuple[IntArray, IntArray, IntArray]:
    months = _whole_months(start, end)
    apart, rest = end.days - _add_months(start.days, months), end.time - start.time
    days = _towards_zero(apart, rest)
    return months, days, (apart - days) * DAY + rest


def _in_days(start: _Moments, end: _Moments) -> tuple[IntArray, IntArray, IntArray]:
    none = np.zeros_like(start.days)
    return none, _towards_zero(end.days - start.days, end.time - start.time), none


def _in_months(start: _Moments, end: _Moments) -> tuple[IntArray, IntArray, IntArray]:
    none = np.zeros_like(start.days)
    return _whole_months(start, end), none, none


def _in_seconds(start: _Moments, end: _Moments) -> tuple[IntArray, IntArray, IntArray] | None:
    apart, none = end.days - start.days, np.zeros_like(start.days)
    if farthest(apart) > _FARTHEST["ns"]:
        return None
    return none, none, apart * DAY + end.time - start.time


# ---------------------------------------------------------------- cut


def _years(size: int) -> Callable[[IntArray], IntArray]:
    return lambda days: first_day((year_of(days) // size * size - 1970) * 12)


def _week_year(days: IntArray) -> IntArray:
    """Return the Monday of the first week, in which 4 January lies, of the year that the day's week belongs to."""
    fourth = first_day((year_of(days - weekday(days) + 4) - 1970) * 12) + 3
    return fourth - weekday(fourth) + 1


_OF_DAYS: dict[str, Callable[[IntArray], IntArray]] = {
    "millennium": _years(1000),
    "century": _years(100),
    "decade": _years(10),
    "year": _years(1),
    "weekyear": _week_year,
    "quarter": lambda days: first_day(months_of(days) // 3 * 3),
    "month": lambda days: first_day(months_of(days)),
    "week": lambda days: days - weekday(days) + 1,
    "day": lambda days: days,
}
_OF_TIME = {
    "hour": 3600 * SECOND,
    "minute": 60 * SECOND,
    "second": SECOND,
    "millisecond": 1_000_000,
    "microsecond": 1_000,
}


def _truncated(kind: type) -> Callable[..., Column | None]:
    def function(_: Runtime, unit: Column, *rest: Column) -> Column | None:
        if not isinstance(unit, ConstantColumn) or type(unit.value) is not str or len(rest) != 1:
            return None
        at, name = _moments(rest[0]), unit.value.lower()
        if at is None:
            return None
        if name in _OF_DAYS:
            return _column(kind, _OF_DAYS[name](at.days), np.zeros_like(at.time), at.null)
        if kind is Date or name not in _OF_TIME:
            return None
        return _column(kind, at.days, at.time - at.time % _OF_TIME[name], at.null)

    return function


# ---------------------------------------------------------------- made

_DATE = r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\z"
_LOCAL = r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?\z"


def _made(kind: type, form: str | None, arrow: Any, of_map: Callable[[MapColumn], Column | None]) -> Any:
    """Return the constructor of a kind of moments, of texts of a form that Arrow reads, maps, and other moments."""

    def function(_: Runtime, *given: Column) -> Column | None:
        if len(given) != 1:
            return None
        (column,) = given
        if isinstance(column, MapColumn):
            return of_map(column) if column.valid is None else None
        a = operand(column)
        if a.kind == "string" and not a.constant and form is not None:
            if pc.all(pc.match_substring_regex(a.datum, form)).as_py() is not True:
                return None
            return ArrowColumn(a.datum.cast(arrow))
        at = None if isinstance(column, ConstantColumn) else _moments(column)
        if at is None or (at.kind is Date and kind is not Date):
            return None
        return _column(kind, at.days, at.time, at.null)

    return function


def _numbers(column: MapColumn) -> dict[str, IntArray] | None:
    """Return the fields of maps, if all are integers."""
    found = {}
    for key, field in column.fields.items():
        a = operand(field)
        if a.kind != "integer" or field.is_null().any():
            return None
        found[key] = np.full(len(field), a.datum.as_py()) if a.constant else a.datum.to_numpy()
    return found


def _date_of(column: MapColumn) -> Column | None:
    numbers = _numbers(column)
    if numbers is None or list(numbers) not in (["year"], ["year", "month"], ["year", "month", "day"]):
        return None
    year = numbers["year"]
    month, day = (numbers.get(name, np.ones_like(year)) for name in ("month", "day"))
    if farthest(year) > 1_000_000 or not ((month >= 1) & (month <= 12)).all():
        return None
    months = (year - 1970) * 12 + month - 1
    begin = first_day(months)
    if not ((day >= 1) & (day <= first_day(months + 1) - begin)).all():
        return None
    return _column(Date, begin + day - 1, np.zeros_like(day), None)


_OF_EPOCH = {"epochSeconds": SECOND, "epochMillis": 1_000_000}


def _of_epoch(column: MapColumn) -> Column | None:
    numbers = _numbers(column)
    if numbers is None or len(numbers) != 1 or (size := _OF_EPOCH.get(next(iter(numbers)))) is None:
        return None
    days, rest = np.divmod(next(iter(numbers.values())), DAY // size)
    return _column(DateTime, days, rest * size, None)


def _duration_of(_: Runtime, column: Column) -> Column | None:
    if not isinstance(column, MapColumn) or column.valid is not None or (numbers := _numbers(column)) is None:
        return None
    totals = [np.zeros(len(column), np.int64) for _ in range(3)]
    for name, each in numbers.items():
        if name not in UNITS:
            return None
        for place, size in enumerate(UNITS[name]):
            if farthest(each) * abs(size) > _MOST / 16:
                return None
            totals[place] += each * size
    months, days, nanoseconds = totals
    return DurationColumn(months, days, nanoseconds)


MOMENTS: dict[str, Callable[..., Column | None]] = {
    "date": _made(Date, _DATE, pa.date32(), _date_of),
    "localdatetime": _made(LocalDateTime, _LOCAL, pa.timestamp("us"), lambda _: None),
    "datetime": _made(DateTime, None, None, _of_epoch),
    "duration": _duration_of,
    "duration.between": _distance(_between),
    "duration.indays": _distance(_in_days),
    "duration.inmonths": _distance(_in_months),
    "duration.inseconds": _distance(_in_seconds),
    "date.truncate": _truncated(Date),
    "localdatetime.truncate": _truncated(LocalDateTime),
    "datetime.truncate": _truncated(DateTime),
}
