"""Between temporal values and those of Python's ``datetime``, with what NumPy and pandas add to it."""

from __future__ import annotations

import datetime
import zoneinfo
from typing import Any

from qengine.errors import ExecutionError
from qengine.temporal.calendar import add_months
from qengine.temporal.values import DAY, SECOND, Date, DateTime, Duration, LocalDateTime, LocalTime, Temporal, Time
from qengine.temporal.zones import at_moment, parse_zone

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
            return LocalDateTime.from_nanoseconds(local)
        name = getattr(value.tzinfo, "key", None)
        return at_moment(local - offset * SECOND, parse_zone(name) if name else offset)
    if isinstance(value, datetime.date):
        return Date.from_days(value.toordinal() - _EPOCH)
    if isinstance(value, datetime.time):
        offset = _offset(value.utcoffset())
        if offset is None:
            return LocalTime.from_nanoseconds(_time(value))
        return Time.from_utc(_time(value) - offset * SECOND, offset)
    if isinstance(value, datetime.timedelta):
        nanoseconds = value.microseconds * 1_000 + getattr(value, "nanoseconds", 0)
        return Duration.from_parts(0, value.days, value.seconds * SECOND + nanoseconds)
    return None


def from_numpy(value: Any) -> Any:
    """Return a NumPy scalar as a value of Python, or a temporal one where ``datetime`` is too coarse; None for NaT."""
    item, kind = value.item(), value.dtype.kind
    if kind not in "mM" or not isinstance(item, int):
        return item
    import numpy as np

    unit, count = np.datetime_data(value.dtype)
    steps = int(value.astype("int64")) * count  # of the unit, which Python's values lack or can't reach
    if unit in _MONTHS:
        months = steps * _MONTHS[unit]
        return Duration.from_parts(months) if kind == "m" else Date.from_days(add_months(0, months))
    if unit == "D":
        return Date.from_days(steps)
    size, parts = _NUMPY_UNITS[unit]
    nanoseconds = steps * size // parts
    return LocalDateTime.from_nanoseconds(nanoseconds) if kind == "M" else Duration.from_parts(nanoseconds=nanoseconds)


_MONTHS = {"Y": 12, "M": 1}
_NUMPY_UNITS = {  # nanoseconds, as a fraction
    "W": (7 * DAY, 1),
    "D": (DAY, 1),
    "h": (3600 * SECOND, 1),
    "m": (60 * SECOND, 1),
    "s": (SECOND, 1),
    "ms": (1_000_000, 1),
    "us": (1_000, 1),
    "ns": (1, 1),
    "ps": (1, 1_000),
    "fs": (1, 1_000_000),
    "as": (1, 1_000_000_000),
}


def is_missing(value: Any) -> bool:
    """Tell whether a value is pandas' NaT or NA."""
    if isinstance(value, datetime.datetime):
        return value != value  # noqa: PLR0124
    return type(value).__name__ == "NAType" and type(value).__module__.startswith("pandas.")


def _time(value: datetime.datetime | datetime.time) -> int:
    nanoseconds = value.microsecond * 1_000 + getattr(value, "nanosecond", 0)  # of pandas' Timestamp
    return (value.hour * 3600 + value.minute * 60 + value.second) * SECOND + nanoseconds


def _offset(offset: datetime.timedelta | None) -> int | None:
    return None if offset is None else round(offset.total_seconds())


def is_ambiguous(value: Any) -> bool:
    """Tell whether a value of ``datetime`` has a local time that comes twice, or is left out, where clocks change.

    Python takes these as equal to no moment of another zone.
    """
    if not isinstance(value, datetime.datetime) or value.tzinfo is None:
        return False
    return value.replace(fold=not value.fold).utcoffset() != value.utcoffset()


def to_native(value: Temporal, *, exact: bool = True) -> Any:
    """Return a temporal value as one of Python's ``datetime``; see ``Temporal.to_native``."""
    try:
        match value:
            case Date():
                return datetime.date.fromordinal(value.days + _EPOCH)
            case LocalTime():
                return _local(value.nanoseconds, exact).time()
            case Time():
                return _local(value.nanoseconds, exact).time().replace(tzinfo=_fixed(value.offset_seconds))
            case LocalDateTime():
                return _local(value.nanoseconds, exact)
            case DateTime(zone=""):
                return _local(value.nanoseconds, exact).replace(tzinfo=_fixed(value.offset_seconds))
            case DateTime():
                moment = _local(value.utc, exact).replace(tzinfo=datetime.UTC)
                local = moment.astimezone(zoneinfo.ZoneInfo(value.zone))
                same = _offset(local.utcoffset()) == value.offset_seconds  # by the machine's tables
                return local if same else moment.astimezone(_fixed(value.offset_seconds))
            case Duration(months=0):
                microseconds = _microseconds(value.nanoseconds, exact)
                return datetime.timedelta(days=value.days, microseconds=microseconds)
    except (ValueError, OverflowError):
        pass
    raise ExecutionError(
        f"Python's datetime has no value for {value}: {_reason(value)}.",
        code="InvalidArgumentValue",
        hint="Take its text, str(value), or its fields, such as value.year.",
    )


def _reason(value: Temporal) -> str:
    if isinstance(value, Duration):
        return "a timedelta has no months" if value.months else "it is longer than a timedelta may be"
    return "its years are 1 to 9999"


def _fixed(seconds: int) -> datetime.timezone:
    return datetime.timezone(datetime.timedelta(seconds=seconds)) if seconds else datetime.UTC


def _microseconds(nanoseconds: int, exact: bool) -> int:
    """Return whole microseconds, rounded down.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` where something is lost that shouldn't be.
    """
    if exact and nanoseconds % 1_000:
        raise ExecutionError(
            "Python's datetime has no nanoseconds.",
            code="InvalidArgumentValue",
            hint="to_native(exact=False) rounds down to microseconds.",
        )
    return nanoseconds // 1_000


def _local(nanoseconds: int, exact: bool) -> datetime.datetime:
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=_microseconds(nanoseconds, exact))


def hash_of(value: Temporal) -> int:
    """Return a hash that equal values share: those of ``datetime`` and of pandas, too."""
    place = value._place()
    if place is None:
        return hash(value._key(value))
    try:
        match value:
            case Date():
                return hash(datetime.date.fromordinal(place + _EPOCH))
            case Duration() if place % 1_000 == 0:
                return hash(datetime.timedelta(microseconds=place // 1_000))
            case LocalTime() | Time() if place % 1_000 == 0:
                return hash(to_native(value))
            case LocalDateTime() if place % 1_000 == 0:
                return hash(_local(place, True))
            case DateTime() if place % 1_000 == 0:
                return hash(_local(place, True).replace(tzinfo=datetime.UTC))
    except (OverflowError, ValueError):
        pass
    return hash(place)  # as pandas does where there are nanoseconds
