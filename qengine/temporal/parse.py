"""Reads temporal values from text: the forms of ISO 8601, with and without separators.

Dates: ``2015-07-21``, ``20150721``, ``2015-07``, ``2015-W30-2``, ``2015-Q2-60``, ``2015-202``, ``2015``; years of
more than four digits need a sign. Times: ``21:40:32.142``, ``214032.142``, ``21:40``, ``2140``, ``21``, then perhaps
``Z``, ``+01:00``, ``+0100``, ``+01`` or a zone's name in brackets.
"""

from __future__ import annotations

import re

from qengine.errors import ExecutionError
from qengine.temporal.fields import calendar_date, ordinal_date, quarter_date, time_of_day, week_date
from qengine.temporal.values import DAY, Date, DateTime, LocalDateTime, LocalTime, Time
from qengine.temporal.zones import at_local, parse_offset, parse_zone

_YEAR = r"(?P<year>\d{4}|[+-]\d{4,9})"
_DATE = re.compile(
    _YEAR
    + r"(?:-?W(?P<week>\d{2})(?:-?(?P<weekday>\d))?"
    + r"|-?Q(?P<quarter>\d)(?:-?(?P<quarterday>\d{1,2}))?"
    + r"|-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?"
    + r"|-?(?P<ordinal>\d{3})"
    + r"|(?P<month2>\d{2})(?P<day2>\d{2})?)?"
)
_TIME = re.compile(
    r"(?P<hour>\d{2})(?::?(?P<minute>\d{2})(?::?(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?)?"
    r"(?P<offset>Z|z|[+-]\d{2}(?::?\d{2}(?::?\d{2})?)?)?(?:\[(?P<zone>[^\]]+)\])?"
)


def parse_date(text: str) -> Date:
    """Return the date that a text writes.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` where it writes none; so do all functions here.
    """
    return Date.from_days(_date(text, text, "date"))


def parse_local_time(text: str) -> LocalTime:
    """Return the time of day that a text writes."""
    found = _time(text, text, "local time")
    if found["offset"] or found["zone"]:
        raise _malformed(text, "local time")
    return LocalTime.from_nanoseconds(_nanoseconds(found))


def parse_time(text: str) -> Time:
    """Return the time with offset that a text writes, UTC where it has none."""
    found = _time(text, text, "time")
    if found["zone"]:
        raise _malformed(text, "time")
    offset = parse_offset(found["offset"] or "Z") or 0
    return Time.from_utc(_nanoseconds(found) - offset * 1_000_000_000, offset)


def parse_local_date_time(text: str) -> LocalDateTime:
    """Return the date and time that a text writes."""
    days, found = _date_and_time(text, "local date and time")
    if found is not None and (found["offset"] or found["zone"]):
        raise _malformed(text, "local date and time")
    return LocalDateTime.from_nanoseconds(days * DAY + _nanoseconds(found))


def parse_date_time(text: str) -> DateTime:
    """Return the date and time with zone that a text writes, UTC where it has none."""
    days, found = _date_and_time(text, "date and time")
    local = days * DAY + _nanoseconds(found)
    if found is None:
        return at_local(local, 0)
    offset = parse_offset(found["offset"]) if found["offset"] else None
    if found["zone"] is None:
        return at_local(local, offset or 0)
    value = at_local(local, parse_zone(found["zone"]), offset)
    if offset is not None and value.offset_seconds != offset:
        raise ExecutionError(
            f"{text!r}: the offset in {found['zone']} is another at that time.", code="InvalidArgumentValue"
        )
    return value


def _date_and_time(text: str, what: str) -> tuple[int, re.Match[str] | None]:
    date, separator, time = text.partition("T")
    return _date(date, text, what), _time(time, text, what) if separator else None


def _date(part: str, text: str, what: str) -> int:
    found = _DATE.fullmatch(part) if part.isascii() else None
    if found is None:
        raise _malformed(text, what)
    year = int(found["year"])
    if found["week"]:
        return week_date(year, int(found["week"]), int(found["weekday"] or 1))
    if found["quarter"]:
        return quarter_date(year, int(found["quarter"]), int(found["quarterday"] or 1))
    if found["ordinal"]:
        return ordinal_date(year, int(found["ordinal"]))
    return calendar_date(year, int(found["month"] or found["month2"] or 1), int(found["day"] or found["day2"] or 1))


def _time(part: str, text: str, what: str) -> re.Match[str]:
    found = _TIME.fullmatch(part) if part.isascii() else None
    if found is None:
        raise _malformed(text, what)
    return found


def _nanoseconds(found: re.Match[str] | None) -> int:
    if found is None:
        return 0
    fraction = int((found["fraction"] or "").ljust(9, "0"))
    return time_of_day(int(found["hour"]), int(found["minute"] or 0), int(found["second"] or 0), fraction)


_WRITTEN = {
    "date": "2026-11-22",
    "local time": "21:40:32.5",
    "time": "21:40:32.5+01:00",
    "local date and time": "2026-11-22T21:40:32.5",
    "date and time": "2026-11-22T21:40:32.5+01:00",
}


def _malformed(text: str, what: str) -> ExecutionError:
    return ExecutionError(
        f"{text!r} is no {what}.", code="InvalidArgumentValue", hint=f"Write it like {_WRITTEN[what]}."
    )
