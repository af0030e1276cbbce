"""``duration.between`` and its like: from one temporal value to another.

A part that only one of both has is taken over by the other: a date by a time, a zone by a local time; a date alone is
at midnight. Where both have zones, the second is seen from the first one's zone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qengine.exec.scalar.strict import strict
from qengine.exec.scalar.temporal.parts import day_part, time_part, zone_part
from qengine.exec.scalar.values import wrong_argument
from qengine.temporal.calendar import add_months, civil
from qengine.temporal.values import DAY, DateTime, Duration, Temporal
from qengine.temporal.zones import at_local, at_moment


def _aligned(function: str, start: Any, end: Any) -> tuple[DateTime, DateTime]:
    """Return both values as moments in one zone, UTC where neither has one."""
    for value in (start, end):
        if not isinstance(value, Temporal) or type(value) is Duration:
            raise wrong_argument(f"duration.{function}()", "two dates or times", value)
    days = [day_part(value) for value in (start, end)]
    first, second = (day if day is not None else other or 0 for day, other in (days, days[::-1]))
    zone = zone_part(start)
    if zone is None:
        zone = zone_part(end) or 0
    begin = _moment(start, first, zone)
    return begin, at_moment(_moment(end, second, zone).utc, zone)


def _moment(value: Any, day: int, zone: int | str) -> DateTime:
    if type(value) is DateTime:
        return at_moment(value.utc, zone)
    own = zone_part(value)
    return at_local(day * DAY + (time_part(value) or 0), zone if own is None else own)


def _months(start: int, end: int) -> int:
    """Return the whole months between two local times, in nanoseconds.

    A month is whole when its day and time of day are reached again: from 31 January to 29 February there is none.
    """
    (day, time), (other_day, other_time) = divmod(start, DAY), divmod(end, DAY)
    if other_day > day and other_time < time:
        other_day -= 1
    elif other_day < day and other_time > time:
        other_day += 1
    (year, month, day), (other_year, other_month, other_day) = civil(day), civil(other_day)
    return _towards_zero(((other_year - year) * 12 + other_month - month) * 32 + other_day - day, 32)


def _towards_zero(count: int, size: int) -> int:
    return -(-count // size) if count < 0 else count // size


def _dated(start: Any, end: Any) -> bool:
    return day_part(start) is not None and day_part(end) is not None


def _between(start: Any, end: Any) -> Duration:
    begin, finish = _aligned("between", start, end)
    months = days = 0
    if _dated(start, end):
        months = _months(begin.nanoseconds, finish.nanoseconds)
        local = add_months(begin.nanoseconds // DAY, months) * DAY + begin.nanoseconds % DAY
        days = _towards_zero(finish.nanoseconds - local, DAY)
        if months or days:
            begin = at_local(local + days * DAY, begin.zone or begin.offset_seconds, begin.offset_seconds)
    return Duration.from_parts(months, days, finish.utc - begin.utc)


def _in_months(start: Any, end: Any) -> Duration:
    begin, finish = _aligned("inMonths", start, end)
    return Duration.from_parts(_months(begin.nanoseconds, finish.nanoseconds) if _dated(start, end) else 0)


def _in_days(start: Any, end: Any) -> Duration:
    begin, finish = _aligned("inDays", start, end)
    days = _towards_zero(finish.nanoseconds - begin.nanoseconds, DAY) if _dated(start, end) else 0
    return Duration.from_parts(0, days)


def _in_seconds(start: Any, end: Any) -> Duration:
    begin, finish = _aligned("inSeconds", start, end)
    return Duration.from_parts(0, 0, finish.utc - begin.utc)


DISTANCES: dict[str, Callable[..., Any]] = {
    "duration.between": strict(_between),
    "duration.inmonths": strict(_in_months),
    "duration.indays": strict(_in_days),
    "duration.inseconds": strict(_in_seconds),
}
