"""Between temporal values and those of Python's ``datetime``."""

from __future__ import annotations

import datetime
import zoneinfo
from typing import Any

from qengine.temporal.values import DAY, SECOND, Date, DateTime, Duration, LocalDateTime, LocalTime, Temporal, Time

__all__ = ["from_native", "to_native"]

_EPOCH = datetime.date(1970, 1, 1).toordinal()


def from_native(value: Any) -> Temporal | None:
    """Return a value of Python's ``datetime`` as a temporal value, None for any other.

    A ``timedelta`` of days and seconds gives a duration of as many days and seconds.
    """
    if isinstance(value, datetime.datetime):
        local = (value.toordinal() - _EPOCH) * DAY + _time(value)
        offset = _offset(value.utcoffset())
        if offset is None:
            return LocalDateTime(local)
        return DateTime(local - offset * SECOND, offset, getattr(value.tzinfo, "key", None) or "")
    if isinstance(value, datetime.date):
        return Date(value.toordinal() - _EPOCH)
    if isinstance(value, datetime.time):
        offset = _offset(value.utcoffset())
        return LocalTime(_time(value)) if offset is None else Time(_time(value) - offset * SECOND, offset)
    if isinstance(value, datetime.timedelta):
        return Duration(0, value.days, value.seconds * SECOND + value.microseconds * 1_000)
    return None


def _time(value: datetime.datetime | datetime.time) -> int:
    return (value.hour * 3600 + value.minute * 60 + value.second) * SECOND + value.microsecond * 1_000


def _offset(offset: datetime.timedelta | None) -> int | None:
    return None if offset is None else round(offset.total_seconds())


def to_native(value: Temporal) -> Any:
    """Return a temporal value as one of Python's ``datetime``, None where that can't hold it exactly.

    Durations with months have none; a day of a duration is taken as 24 hours.
    """
    try:
        match value:
            case Date():
                return datetime.date.fromordinal(value.days + _EPOCH)
            case LocalTime():
                return _native_time(value.nanoseconds)
            case Time() if value.offset % 60 == 0:
                zone = datetime.timezone(datetime.timedelta(seconds=value.offset))
                return _native_time(value.nanoseconds).replace(tzinfo=zone)
            case LocalDateTime():
                return _native_local(value.nanoseconds)
            case DateTime():
                if not value.zone:
                    fixed = datetime.timezone(datetime.timedelta(seconds=value.offset))
                    return _native_local(value.nanoseconds).replace(tzinfo=fixed)
                return _native_local(value.utc).replace(tzinfo=datetime.UTC).astimezone(zoneinfo.ZoneInfo(value.zone))
            case Duration(months=0) if value.nanoseconds % 1_000 == 0:
                return datetime.timedelta(days=value.days, microseconds=value.nanoseconds // 1_000)
    except (ValueError, OverflowError):
        pass
    return None


def _native_time(nanoseconds: int) -> datetime.time:
    return _native_local(nanoseconds).time()


def _native_local(nanoseconds: int) -> datetime.datetime:
    if nanoseconds % 1_000:
        raise ValueError("finer than microseconds")
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=nanoseconds // 1_000)
