"""``date.truncate(unit, value, fields)`` and its like: cut a value to a unit, then set fields.

A ``timezone`` among the fields says where the cut local time is; it doesn't move it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qengine.errors import ExecutionError
from qengine.exec.scalar.environment import Environment
from qengine.exec.scalar.temporal.fields import DATE_FIELDS, TIME_FIELDS, check_names, day_of, time_of, zone_of
from qengine.exec.scalar.temporal.parts import day_part, time_part, zone_part
from qengine.exec.scalar.values import wrong_argument
from qengine.temporal.calendar import civil, days_of, days_of_week_date, week_date, week_day
from qengine.temporal.values import DAY, SECOND, Date, DateTime, LocalDateTime, LocalTime, Time
from qengine.temporal.zones import at_local


def _year(size: int) -> Callable[[int], int]:
    """Return the first day of the years that begin with a multiple of ``size``."""
    return lambda days: days_of(civil(days)[0] // size * size, 1, 1)


def _quarter(days: int) -> int:
    year, month, _ = civil(days)
    return days_of(year, (month - 1) // 3 * 3 + 1, 1)


_DATE_UNITS: dict[str, Callable[[int], int]] = {
    "millennium": _year(1000),
    "century": _year(100),
    "decade": _year(10),
    "year": _year(1),
    "weekyear": lambda days: days_of_week_date(week_date(days)[0], 1, 1),
    "quarter": _quarter,
    "month": lambda days: days - civil(days)[2] + 1,
    "week": lambda days: days - week_day(days) + 1,
    "day": lambda days: days,
}
_TIME_UNITS = {
    "day": DAY,
    "hour": 3600 * SECOND,
    "minute": 60 * SECOND,
    "second": SECOND,
    "millisecond": 1_000_000,
    "microsecond": 1_000,
}
_RETAINED = {"millisecond": ("millisecond",), "microsecond": ("millisecond", "microsecond")}


def _truncation(name: str, kind: type, dated: bool, timed: bool, zoned: bool) -> Callable[..., Any]:
    known = frozenset(
        (DATE_FIELDS if dated else frozenset())
        | (TIME_FIELDS if timed else frozenset())
        | ({"timezone"} if zoned else frozenset())
    )
    function = f"{name}.truncate()"

    def truncate(env: Environment, unit: Any, *rest: Any) -> Any:
        value = rest[0] if rest else DateTime.from_utc(env.now)
        fields = rest[1] if len(rest) > 1 else {}
        if unit is None or value is None:
            return None
        if type(unit) is not str:
            raise wrong_argument(function, "a string as unit", unit)
        if fields is None:
            return None
        if type(fields) is not dict:
            raise wrong_argument(function, "a map of fields", fields)
        check_names(function, fields, known)
        day, time = _cut(function, unit.lower(), value, dated, timed)
        if timed:
            time = time_of(_with_retained(fields, unit.lower(), time), time)
        if dated:
            day = day_of(fields, day)
        return _assembled(kind, day, time, fields, value)

    return truncate


def _cut(function: str, unit: str, value: Any, dated: bool, timed: bool) -> tuple[int, int]:
    if not ((dated and unit in _DATE_UNITS) or (timed and unit in _TIME_UNITS)):
        raise ExecutionError(f"{function} knows no unit {unit!r}.", code="InvalidArgumentValue")
    day, time = day_part(value), time_part(value)
    if (dated and day is None) or (time is None and (not dated or day is None)):
        raise wrong_argument(function, "a value with what it cuts", value, "InvalidArgumentValue")
    if unit in _DATE_UNITS:
        return _DATE_UNITS[unit](day) if day is not None else 0, 0
    time = time or 0
    return day or 0, time - time % _TIME_UNITS[unit]


def _with_retained(fields: dict[str, Any], unit: str, time: int) -> dict[str, Any]:
    """Return the fields with the fraction that the cut leaves, where a smaller unit of it is set."""
    if unit not in _RETAINED or not any(name in fields for name in ("microsecond", "nanosecond")):
        return fields
    fraction = time % SECOND
    left = {"millisecond": fraction // 1_000_000, "microsecond": fraction // 1_000 % 1_000}
    return {**{name: left[name] for name in _RETAINED[unit]}, **fields}


def _assembled(kind: type, day: int, time: int, fields: dict[str, Any], value: Any) -> Any:
    if kind is Date:
        return Date.from_days(day)
    if kind is LocalTime:
        return LocalTime.from_nanoseconds(time)
    if kind is LocalDateTime:
        return LocalDateTime.from_nanoseconds(day * DAY + time)
    zone = zone_of(fields)
    if kind is DateTime:
        zone = zone_part(value) if zone is None else zone
        return at_local(day * DAY + time, 0 if zone is None else zone)
    if isinstance(zone, str):
        raise ExecutionError(
            f"The offset of {zone!r} depends on the date.", code="InvalidArgumentValue", hint="Write it as '+01:00'."
        )
    offset = getattr(value, "offset_seconds", 0) if zone is None else zone
    return Time.from_utc(time - offset * SECOND, offset)


TRUNCATIONS: dict[str, Callable[..., Any]] = {
    "date.truncate": _truncation("date", Date, dated=True, timed=False, zoned=False),
    "localtime.truncate": _truncation("localtime", LocalTime, dated=False, timed=True, zoned=False),
    "time.truncate": _truncation("time", Time, dated=False, timed=True, zoned=True),
    "localdatetime.truncate": _truncation("localdatetime", LocalDateTime, dated=True, timed=True, zoned=False),
    "datetime.truncate": _truncation("datetime", DateTime, dated=True, timed=True, zoned=True),
}
"""The truncations; they take the ``Environment`` first."""
