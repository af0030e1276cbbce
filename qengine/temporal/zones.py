"""Time zones: the offset of a moment, the moment of a local time.

Rules come from the package ``tzdata``, the IANA database as it is published: machines' own tables differ in what they
say of the time before 1970 (Debian's have a local mean time for each city, where IANA's and Java's share one between
zones that agree since), and small images have none. Where the package is missing, the machine's are read.

Python's own dates end at the years 1 and 9999: before, a zone's first offset holds; after, its rules of the last 400
years repeat (the calendar does, too).
"""

from __future__ import annotations

import datetime
import functools
import os
import re
import zoneinfo

from qengine.errors import ExecutionError
from qengine.temporal.calendar import civil, days_of
from qengine.temporal.fields import checked_nanoseconds
from qengine.temporal.values import DAY, SECOND, DateTime

_OFFSET = re.compile(r"([+-])(\d{2})(?::?(\d{2})(?::?(\d{2}))?)?")
_NAME = re.compile(r"[A-Za-z][\w+-]*(?:/[\w+-]+)*", re.ASCII)  # of a zone, and of nothing outside the tables
_LARGEST_OFFSET = 18 * 3600
_EPOCH = datetime.datetime(1970, 1, 1)
_CYCLE_SECONDS = 146_097 * 86_400  # 400 years


def parse_offset(text: str) -> int | None:
    """Return the seconds of ``Z``, ``+01``, ``+0100``, ``+01:00`` or ``+01:00:30``, None for other text."""
    if text in ("Z", "z"):
        return 0
    found = _OFFSET.fullmatch(text)
    if found is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    offset = hours * 3600 + minutes * 60 + seconds
    if offset > _LARGEST_OFFSET or minutes > 59 or seconds > 59:
        raise ExecutionError(f"The offset {text} is beyond ±18:00.", code="InvalidArgumentValue")
    return -offset if found[1] == "-" else offset


def parse_zone(text: str) -> int | str:
    """Return an offset in seconds, or the name of a time zone that exists; spaces in it stand for underscores.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` for neither.
    """
    offset = parse_offset(text)
    if offset is not None:
        return offset
    name = text.replace(" ", "_")
    return _zone(name).key or name


def at_moment(utc: int, zone: int | str) -> DateTime:
    """Return the moment ``utc`` (nanoseconds) seen from an offset or named zone.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` where its year, there or in UTC, is beyond those that dates may have.
    """
    if isinstance(zone, int):
        return _seen(utc, zone)
    return _seen(utc, _offset_at(zone, utc // SECOND), zone)


def at_local(nanoseconds: int, zone: int | str, preferred: int | None = None) -> DateTime:
    """Return the moment of a local time; ``ExecutionError`` as for ``at_moment``.

    Where clocks are set back, a local time comes twice: the one with the offset ``preferred``, else the first.
    Where they are set forward, a local time that is left out counts as so much later.
    """
    if isinstance(zone, int):
        return _seen(nanoseconds - zone * SECOND, zone)
    if preferred is not None and _offset_at(zone, nanoseconds // SECOND - preferred) == preferred:
        return _seen(nanoseconds - preferred * SECOND, preferred, zone)
    utc = nanoseconds - _local_offset(zone, nanoseconds // SECOND) * SECOND
    return _seen(utc, _offset_at(zone, utc // SECOND), zone)


def _seen(utc: int, offset: int, zone: str = "") -> DateTime:
    checked_nanoseconds(utc)
    checked_nanoseconds(utc + offset * SECOND)
    return DateTime.from_utc(utc, offset, zone)


def in_zone(value: DateTime) -> int | str:
    """Return the zone of a value as the functions here take it."""
    return value.zone or value.offset_seconds


@functools.lru_cache(maxsize=256)
def _zone(name: str) -> zoneinfo.ZoneInfo:
    tables = _tables()
    try:
        if tables is not None and _NAME.fullmatch(name) and os.path.isfile(path := os.path.join(tables, name)):
            with open(path, "rb") as file:
                return zoneinfo.ZoneInfo.from_file(file, key=name)
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ExecutionError(
            f"There is no time zone {name!r}.",
            code="InvalidArgumentValue",
            hint="Write an offset such as '+01:00', or a name such as 'Europe/Stockholm'.",
        ) from None


@functools.cache
def _tables() -> str | None:
    """Return the folder of the package's tables, None where it isn't installed."""
    try:
        import tzdata
    except ImportError:  # a checkout without its dependencies
        return None
    return os.path.join(tzdata.__path__[0], "zoneinfo")


def _offset_at(name: str, seconds: int) -> int:
    """Return the offset at a moment in seconds since 1970 UTC."""
    moment = (_EPOCH + datetime.timedelta(seconds=_within(seconds))).replace(tzinfo=datetime.UTC)
    return _seconds(moment.astimezone(_zone(name)).utcoffset())


def _local_offset(name: str, seconds: int) -> int:
    """Return the offset that is taken for a local time, in seconds since 1970-01-01T00:00."""
    return _seconds((_EPOCH + datetime.timedelta(seconds=_within(seconds))).replace(tzinfo=_zone(name)).utcoffset())


def _within(seconds: int) -> int:
    """Return a time of the years 2 to 9998 at which the zones' rules are the same."""
    year = civil(seconds * SECOND // DAY)[0]
    if year < 2:
        return days_of(2, 1, 1) * 86_400
    if year > 9998:
        return seconds - ((year - 9998 + 399) // 400) * _CYCLE_SECONDS
    return seconds


def _seconds(offset: datetime.timedelta | None) -> int:
    assert offset is not None
    return round(offset.total_seconds())
