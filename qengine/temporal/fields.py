"""Checks the fields of dates and times, and puts them together."""

from __future__ import annotations

from qengine.errors import ExecutionError
from qengine.temporal.calendar import (
    LARGEST_YEAR,
    civil,
    days_in_month,
    days_of,
    days_of_week_date,
    weeks_in_year,
)
from qengine.temporal.values import DAY, SECOND

_FIRST, _LAST = days_of(-LARGEST_YEAR, 1, 1), days_of(LARGEST_YEAR, 12, 31)


def within(name: str, value: int, low: int, high: int) -> int:
    """Return ``value`` if it is from ``low`` to ``high``.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` where it isn't; so do all functions here.
    """
    if low <= value <= high:
        return value
    raise ExecutionError(f"{name} is {value}: it must be from {low} to {high}.", code="InvalidArgumentValue")


def calendar_date(year: int, month: int, day: int) -> int:
    """Return the day number of a date."""
    within("year", year, -LARGEST_YEAR, LARGEST_YEAR)
    within("month", month, 1, 12)
    return days_of(year, month, within("day", day, 1, days_in_month(year, month)))


def week_date(year: int, week: int, day: int) -> int:
    """Return the day number of a week date."""
    within("year", year, -LARGEST_YEAR, LARGEST_YEAR)
    within("week", week, 1, weeks_in_year(year))
    return checked_days(days_of_week_date(year, week, within("dayOfWeek", day, 1, 7)))


def quarter_date(year: int, quarter: int, day: int) -> int:
    """Return the day number of the day of a quarter."""
    within("year", year, -LARGEST_YEAR, LARGEST_YEAR)
    first = days_of(year, within("quarter", quarter, 1, 4) * 3 - 2, 1)
    last = days_of(year, quarter * 3, days_in_month(year, quarter * 3))
    return first + within("dayOfQuarter", day, 1, last - first + 1) - 1


def ordinal_date(year: int, day: int) -> int:
    """Return the day number of the day of a year."""
    within("year", year, -LARGEST_YEAR, LARGEST_YEAR)
    first, last = days_of(year, 1, 1), days_of(year, 12, 31)
    return first + within("ordinalDay", day, 1, last - first + 1) - 1


def time_of_day(hour: int, minute: int, second: int, fraction: int) -> int:
    """Return the nanoseconds since midnight; ``fraction`` in nanoseconds."""
    within("hour", hour, 0, 23)
    within("minute", minute, 0, 59)
    within("second", second, 0, 59)
    return (hour * 3600 + minute * 60 + second) * SECOND + within("nanosecond", fraction, 0, SECOND - 1)


def checked_days(days: int) -> int:
    """Return ``days`` if its year is one that dates may have."""
    if _FIRST <= days <= _LAST:
        return days
    raise ExecutionError(f"The year {civil(days)[0]} is beyond ±{LARGEST_YEAR}.", code="InvalidArgumentValue")


def checked_nanoseconds(nanoseconds: int) -> int:
    """Return nanoseconds since 1970 if their year is one that dates may have."""
    checked_days(nanoseconds // DAY)
    return nanoseconds
