"""The proleptic Gregorian calendar by whole numbers: dates are days since 1970-01-01, years may be negative."""

from __future__ import annotations

LARGEST_YEAR = 999_999_999
_ERA_DAYS = 146_097  # days of 400 years
_EPOCH = 719_468  # days from 0000-03-01 to 1970-01-01
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def days_of(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date; years begin in March here, so that leap days come last."""
    if month <= 2:
        year -= 1
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * _ERA_DAYS + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - _EPOCH


def civil(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a day number."""
    era, day_of_era = divmod(days + _EPOCH, _ERA_DAYS)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    return era * 400 + year_of_era + (month <= 2), month, day


def days_in_month(year: int, month: int) -> int:
    """Return how many days a month has."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leap else _LENGTHS[month - 1]


def add_months(days: int, months: int) -> int:
    """Return the same day so many months later, or the month's last day where it is shorter."""
    year, month, day = civil(days)
    years, month = divmod(month - 1 + months, 12)
    year, month = year + years, month + 1
    return days_of(year, month, min(day, days_in_month(year, month)))


def week_day(days: int) -> int:
    """Return the day of the week, Monday 1 to Sunday 7."""
    return (days + 3) % 7 + 1


def ordinal_day(days: int) -> int:
    """Return the day of the year, from 1."""
    return days - days_of(civil(days)[0], 1, 1) + 1


def day_of_quarter(days: int) -> int:
    """Return the day of the quarter, from 1."""
    year, month, _ = civil(days)
    return days - days_of(year, (month - 1) // 3 * 3 + 1, 1) + 1


def week_date(days: int) -> tuple[int, int, int]:
    """Return week year, week and day of the week (ISO 8601: a week belongs to its Thursday's year)."""
    day = week_day(days)
    thursday = days - day + 4
    year = civil(thursday)[0]
    return year, (thursday - days_of(year, 1, 1)) // 7 + 1, day


def days_of_week_date(year: int, week: int, day: int) -> int:
    """Return the day number of a week date; 4 January is always in week 1."""
    fourth = days_of(year, 1, 4)
    return fourth - week_day(fourth) + (week - 1) * 7 + day


def weeks_in_year(year: int) -> int:
    """Return 52 or 53."""
    return week_date(days_of(year, 12, 28))[1]
