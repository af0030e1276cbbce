"""The fields of temporal values: ``d.year``, ``t.hour``, ``p.monthsOfYear``.

Fields of a duration that count whole units are cut towards zero, but ``seconds`` and the units below it are rounded
down, so that what they leave (``nanosecondsOfSecond``) is never negative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qengine.errors import ExecutionError
from qengine.exec.scalar.temporal.parts import day_part, time_part
from qengine.temporal import text
from qengine.temporal.calendar import civil, day_of_quarter, ordinal_day, week_date
from qengine.temporal.values import SECOND, Date, DateTime, Duration, LocalDateTime, LocalTime, Temporal, Time

__all__ = ["field_of"]

_Accessor = Callable[[Any], Any]


def field_of(value: Temporal, name: str) -> Any:
    """Return a field of a temporal value.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` where the value has no such field.
    """
    accessor = _FIELDS[type(value)].get(name)
    if accessor is None:
        raise ExecutionError(
            f"A {_NAMES[type(value)]} has no field `{name}`.",
            code="InvalidArgumentValue",
            hint=f"Its fields are {', '.join(_FIELDS[type(value)])}.",
        )
    return accessor(value)


def _of_day(function: Callable[[int], int]) -> _Accessor:
    return lambda value: function(day_part(value) or 0)


def _of_time(unit: int, size: int) -> _Accessor:
    return lambda value: (time_part(value) or 0) // unit % size


_DATE: dict[str, _Accessor] = {
    "year": _of_day(lambda day: civil(day)[0]),
    "quarter": _of_day(lambda day: (civil(day)[1] + 2) // 3),
    "month": _of_day(lambda day: civil(day)[1]),
    "week": _of_day(lambda day: week_date(day)[1]),
    "weekYear": _of_day(lambda day: week_date(day)[0]),
    "day": _of_day(lambda day: civil(day)[2]),
    "dayOfQuarter": _of_day(day_of_quarter),
    "quarterDay": _of_day(day_of_quarter),
    "dayOfWeek": _of_day(lambda day: week_date(day)[2]),
    "weekDay": _of_day(lambda day: week_date(day)[2]),
    "ordinalDay": _of_day(ordinal_day),
}
_TIME: dict[str, _Accessor] = {
    "hour": _of_time(3600 * SECOND, 24),
    "minute": _of_time(60 * SECOND, 60),
    "second": _of_time(SECOND, 60),
    "millisecond": _of_time(1_000_000, 1_000),
    "microsecond": _of_time(1_000, 1_000_000),
    "nanosecond": _of_time(1, SECOND),
}
_OFFSET: dict[str, _Accessor] = {
    "timezone": lambda value: getattr(value, "zone", "") or text.offset_text(value.offset),
    "offset": lambda value: text.offset_text(value.offset),
    "offsetMinutes": lambda value: _cut(value.offset, 60),
    "offsetSeconds": lambda value: value.offset,
}
_EPOCH: dict[str, _Accessor] = {
    "epochSeconds": lambda value: value.utc // SECOND,
    "epochMillis": lambda value: value.utc // 1_000_000,
}


def _cut(count: int, size: int) -> int:
    return -(-count // size) if count < 0 else count // size


def _rest(count: int, size: int) -> int:
    return -(-count % size) if count < 0 else count % size


_DURATION: dict[str, _Accessor] = {
    "years": lambda value: _cut(value.months, 12),
    "quarters": lambda value: _cut(value.months, 3),
    "months": lambda value: value.months,
    "weeks": lambda value: _cut(value.days, 7),
    "days": lambda value: value.days,
    "hours": lambda value: _cut(value.seconds, 3600),
    "minutes": lambda value: _cut(value.seconds, 60),
    "seconds": lambda value: value.seconds,
    "milliseconds": lambda value: value.nanoseconds // 1_000_000,
    "microseconds": lambda value: value.nanoseconds // 1_000,
    "nanoseconds": lambda value: value.nanoseconds,
    "quartersOfYear": lambda value: _rest(_cut(value.months, 3), 4),
    "monthsOfQuarter": lambda value: _rest(value.months, 3),
    "monthsOfYear": lambda value: _rest(value.months, 12),
    "daysOfWeek": lambda value: _rest(value.days, 7),
    "minutesOfHour": lambda value: _rest(_cut(value.seconds, 60), 60),
    "secondsOfMinute": lambda value: _rest(value.seconds, 60),
    "millisecondsOfSecond": lambda value: value.nanoseconds % SECOND // 1_000_000,
    "microsecondsOfSecond": lambda value: value.nanoseconds % SECOND // 1_000,
    "nanosecondsOfSecond": lambda value: value.nanoseconds % SECOND,
}
_FIELDS: dict[type, dict[str, _Accessor]] = {
    Date: _DATE,
    LocalTime: _TIME,
    Time: _TIME | _OFFSET,
    LocalDateTime: _DATE | _TIME,
    DateTime: _DATE | _TIME | _OFFSET | _EPOCH,
    Duration: _DURATION,
}
_NAMES = {
    Date: "DATE",
    LocalTime: "LOCAL TIME",
    Time: "TIME",
    LocalDateTime: "LOCAL DATETIME",
    DateTime: "DATETIME",
    Duration: "DURATION",
}
