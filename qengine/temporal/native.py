"""Between temporal values and those of Python's ``datetime``, with what NumPy and pandas add to it."""

from __future__ import annotations

import datetime
import zoneinfo
from typing import Any

from qengine.temporal.values import DAY, SECOND, Date, DateTime, Duration, LocalDateTime, LocalTime, Temporal, Time

__all__ = ["from_native", "from_numpy", "is_missing", "to_native"]

_EPOCH = datetime.date(1970, 1, 1).toordinal()


def from_native(value: Any) -> Temporal | None:
    """Return a value of Python's ``datetime`` as a temporal value, None for any other.

    A ``timedelta`` of days and seconds gives a duration of as many days and seconds. What is missing has no value.
    """
    if is_missing(value):
        return None
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
        nanoseconds = value.microseconds * 1_000 + getattr(value, "nanoseconds", 0)
        return Duration(0, value.days, value.seconds * SECOND + nanoseconds)
    return None


def from_numpy(value: Any) -> Any:
    """Return a NumPy scalar as a value of Python, or a temporal one where ``datetime`` is too coarse; None for NaT."""
    item, kind = value.item(), value.dtype.kind
    if kind not in "mM" or not isinstance(item, int):
        return item
    if kind == "M":
        return LocalDateTime(int(value.astype("datetime64[ns]").astype("int64")))
    months = {"timedelta64[Y]": 12, "timedelta64[M]": 1}.get(value.dtype.name)
    return Duration(item * months, 0, 0) if months else Duration(0, 0, int(value.astype("m8[ns]").astype("int64")))


def is_missing(value: Any) -> bool:
    """Tell whether a value is pandas' NaT."""
    return isinstance(value, datetime.datetime) and value != value  # noqa: PLR0124


def _time(value: datetime.datetime | datetime.time) -> int:
    nanoseconds = value.microsecond * 1_000 + getattr(value, "nanosecond", 0)  # of pandas' Timestamp
    return (value.hour * 3600 + value.minute * 60 + value.second) * SECOND + nanoseconds


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
