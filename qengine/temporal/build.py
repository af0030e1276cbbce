"""What the classes of temporal values make of their arguments: text, fields, or a value of Python's ``datetime``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

from qengine.errors import ExecutionError
from qengine.temporal.durations import UNITS, duration_of, exact, parse_duration
from qengine.temporal.fields import calendar_date, checked_nanoseconds, time_of_day
from qengine.temporal.native import from_native
from qengine.temporal.parse import parse_date, parse_date_time, parse_local_date_time, parse_local_time, parse_time
from qengine.temporal.values import DAY, SECOND, Date, DateTime, Duration, LocalDateTime, LocalTime, Temporal, Time
from qengine.temporal.zones import at_local, parse_offset, parse_zone

_T = TypeVar("_T", bound=Temporal)

_WRITTEN = {
    Date: "Date(2026, 11, 22) or Date('2026-11-22')",
    LocalTime: "LocalTime(21, 40) or LocalTime('21:40')",
    Time: "Time(21, 40, offset='+01:00') or Time('21:40+01:00')",
    LocalDateTime: "LocalDateTime(2026, 11, 22, 21, 40) or LocalDateTime('2026-11-22T21:40')",
    DateTime: "DateTime(2026, 11, 22, 21, 40, zone='+01:00') or DateTime('2026-11-22T21:40+01:00')",
    Duration: "Duration(hours=1, days=2) or Duration('P2DT1H')",
}


def date(year: Any, month: Any, day: Any) -> Date:
    """Return the date of the arguments of ``Date``; errors as there, and so below."""
    found = _whole(Date, parse_date, year, month is None and day is None)
    return Date.from_days(_day(Date, year, month, day)) if found is None else found


def local_time(hour: Any, minute: Any, second: Any, nanosecond: Any) -> LocalTime:
    """Return the time of the arguments of ``LocalTime``."""
    found = _whole(LocalTime, parse_local_time, hour, not any((minute, second, nanosecond)))
    return LocalTime.from_nanoseconds(_time(LocalTime, hour, minute, second, nanosecond)) if found is None else found


def time(hour: Any, minute: Any, second: Any, nanosecond: Any, offset: Any) -> Time:
    """Return the time of the arguments of ``Time``."""
    found = _whole(Time, parse_time, hour, not any((minute, second, nanosecond)) and offset == "Z")
    if found is not None:
        return found
    seconds = parse_offset(offset) if type(offset) is str else None
    if seconds is None:
        raise _wrong(Time, offset)
    return Time.from_utc(_time(Time, hour, minute, second, nanosecond) - seconds * SECOND, seconds)


def local_date_time(year: Any, month: Any, day: Any, *time: Any) -> LocalDateTime:
    """Return the date and time of the arguments of ``LocalDateTime``."""
    found = _whole(LocalDateTime, parse_local_date_time, year, month is None and day is None and not any(time))
    if found is not None:
        return found
    local = _day(LocalDateTime, year, month, day) * DAY + _time(LocalDateTime, *time)
    return LocalDateTime.from_nanoseconds(local)


def date_time(year: Any, month: Any, day: Any, time: tuple[Any, Any, Any, Any], zone: Any) -> DateTime:
    """Return the moment of the arguments of ``DateTime``."""
    alone = month is None and day is None and not any(time) and zone == "Z"
    found = _whole(DateTime, parse_date_time, year, alone)
    if found is not None:
        return found
    if type(zone) is not str:
        raise _wrong(DateTime, zone)
    local = _day(DateTime, year, month, day) * DAY + _time(DateTime, *time)
    value = at_local(local, parse_zone(zone))
    checked_nanoseconds(value.utc)
    return value


def duration(months: Any, others: Mapping[str, Any]) -> Duration:
    """Return the duration of the arguments of ``Duration``, the months apart."""
    found = _whole(Duration, parse_duration, months, not any(others.values()))
    if found is not None:
        return found
    totals = [Fraction(0)] * 3
    for name, number in (("months", months), *others.items()):
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise _wrong(Duration, number)
        totals = [total + exact(number) * unit for total, unit in zip(totals, UNITS[name], strict=True)]
    return duration_of(*totals)


def _whole(kind: type[_T], parse: Callable[[str], _T], value: Any, alone: bool) -> _T | None:
    """Return what a first argument gives without others; None for a number, which begins the fields."""
    if type(value) is int:
        return None
    if isinstance(value, str) and alone:
        return parse(value)
    found = value if isinstance(value, Temporal) else from_native(value)
    if isinstance(found, kind) and alone:
        return found
    if found is not None or isinstance(value, str) or value is None:
        raise _wrong(kind, value)
    return None


def _day(kind: type[Temporal], *fields: Any) -> int:
    if any(each is None for each in fields):
        raise ExecutionError(
            f"A {kind.__name__} needs year, month and day.",
            code="InvalidArgumentValue",
            hint=f"Write it like {_WRITTEN[kind]}.",
        )
    return calendar_date(*(_integer(kind, each) for each in fields))


def _time(kind: type[Temporal], *fields: Any) -> int:
    return time_of_day(*(_integer(kind, each) for each in fields))


def _integer(kind: type[Temporal], value: Any) -> int:
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise _wrong(kind, value)


def _wrong(kind: type[Temporal], value: Any) -> ExecutionError:
    return ExecutionError(
        f"A {kind.__name__} can't be made with {value!r}.",
        code="InvalidArgumentType",
        hint=f"Write it like {_WRITTEN[kind]}.",
    )
