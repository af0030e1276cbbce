"""``date()``, ``time()``, ``localtime()``, ``datetime()``, ``localdatetime()``, ``duration()``.

Each takes nothing (now, the same for the whole query, in UTC), a string, a map of fields, or another temporal value.
A map may name values to take a part from: ``date``, ``time``, ``datetime``; its other fields replace theirs. A
``timezone`` beside a value that has one moves the moment there; else it says where the local time is.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from qengine.errors import ExecutionError
from qengine.exec.scalar.environment import Environment
from qengine.exec.scalar.temporal.fields import DATE_FIELDS, TIME_FIELDS, Fields, check_names, day_of, time_of, zone_of
from qengine.exec.scalar.temporal.parts import day_part, time_part, zone_part
from qengine.exec.scalar.values import NUMBERS, wrong_argument
from qengine.temporal import (
    Date,
    DateTime,
    Duration,
    LocalDateTime,
    LocalTime,
    Temporal,
    Time,
    parse_date,
    parse_date_time,
    parse_duration,
    parse_local_date_time,
    parse_local_time,
    parse_time,
)
from qengine.temporal.durations import UNITS, duration_of, exact
from qengine.temporal.fields import checked_nanoseconds
from qengine.temporal.values import DAY, SECOND
from qengine.temporal.zones import at_local, at_moment, in_zone

_EPOCH = frozenset({"epochSeconds", "epochMillis"})


def _constructor(
    name: str,
    parse: Callable[[str], Temporal],
    build: Callable[[str, Fields], Temporal],
    convert: Callable[[str, Any], Temporal],
) -> Callable[..., Temporal | None]:
    """Return the function ``name`` of the language."""

    def construct(env: Environment, *args: Any) -> Temporal | None:
        if not args:
            return convert(name, DateTime.from_utc(env.now))
        (value,) = args
        if value is None:
            return None
        if type(value) is str:
            return parse(value)
        if type(value) is dict:
            if value.keys() == {"timezone"}:
                zone = zone_of(value)
                assert zone is not None
                return convert(name, at_moment(env.now, zone))
            return build(f"{name}()", value)
        if isinstance(value, Temporal):
            return convert(name, value)
        raise wrong_argument(f"{name}()", "a string, a map or a temporal value", value)

    return construct


def _clock(name: str, convert: Callable[[str, Any], Temporal]) -> Callable[..., Temporal | None]:
    """Return the function ``name.statement``: the statement's time, in a zone if one is given."""

    def now(env: Environment, *args: Any) -> Temporal | None:
        fields = args[0] if args else {}
        if fields is None:
            return None
        if type(fields) is str:
            fields = {"timezone": fields}
        if type(fields) is not dict:
            raise wrong_argument(f"{name}.statement()", "a time zone, or a map with one", fields)
        check_names(f"{name}.statement()", fields, frozenset({"timezone"}))
        zone = zone_of(fields)
        return convert(name, DateTime.from_utc(env.now) if zone is None else at_moment(env.now, zone))

    return now


def _selected(fields: Fields, name: str, part: Callable[[Any], Any]) -> Any:
    """Return a part of the value that a field names, None where it is absent.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` where the value has no such part.
    """
    if name not in fields:
        return None
    found = part(fields[name])
    if found is None:
        raise wrong_argument(f"`{name}`", f"a value with a {name}", fields[name], "InvalidArgumentValue")
    return found


def _needs(name: str, value: Any, *parts: Any) -> None:
    if None in parts:
        raise wrong_argument(f"{name}()", "a value with the parts that it takes", value, "InvalidArgumentValue")


# ---------------------------------------------------------------- from maps


def _build_date(function: str, fields: Fields) -> Date:
    check_names(function, fields, DATE_FIELDS | {"date"})
    return Date.from_days(day_of(fields, _selected(fields, "date", day_part)))


def _build_local_time(function: str, fields: Fields) -> LocalTime:
    check_names(function, fields, TIME_FIELDS | {"time"})
    return LocalTime.from_nanoseconds(time_of(fields, _selected(fields, "time", time_part)))


def _build_time(function: str, fields: Fields) -> Time:
    check_names(function, fields, TIME_FIELDS | {"time", "timezone"})
    local = time_of(fields, _selected(fields, "time", time_part))
    source, zone = fields.get("time"), zone_of(fields)
    if isinstance(zone, str):
        raise ExecutionError(
            f"The offset of {zone!r} depends on the date.", code="InvalidArgumentValue", hint="Write it as '+01:00'."
        )
    if type(source) not in (Time, DateTime):
        return _time(local, zone or 0)
    offset = source.offset_seconds  # type: ignore[union-attr]
    if zone is None:
        return _time(local, offset)
    return _time((local + (zone - offset) * SECOND) % DAY, zone)


def _time(local: int, offset: int) -> Time:
    return Time.from_utc(local - offset * SECOND, offset)


def _build_local_date_time(function: str, fields: Fields) -> LocalDateTime:
    check_names(function, fields, DATE_FIELDS | TIME_FIELDS | {"date", "time", "datetime"})
    return LocalDateTime.from_nanoseconds(_local(fields))


def _build_date_time(function: str, fields: Fields) -> DateTime:
    if not _EPOCH.isdisjoint(fields):
        return _of_epoch(function, fields)
    check_names(function, fields, DATE_FIELDS | TIME_FIELDS | {"date", "time", "datetime", "timezone"})
    local, zone = _local(fields), zone_of(fields)
    source = fields.get("datetime", fields.get("time"))
    source_zone = zone_part(source)
    if source_zone is None:
        return at_local(local, 0 if zone is None else zone)
    value = at_local(local, source_zone, source.offset_seconds)
    return value if zone is None else at_moment(value.utc, zone)


def _local(fields: Fields) -> int:
    """Return the local date and time that the fields name, in nanoseconds since 1970."""
    if "datetime" in fields:
        if "date" in fields or "time" in fields:
            raise ExecutionError(
                "`datetime` can't be given together with `date` or `time`.", code="InvalidArgumentValue"
            )
        day, time = _selected(fields, "datetime", day_part), _selected(fields, "datetime", time_part)
    else:
        day, time = _selected(fields, "date", day_part), _selected(fields, "time", time_part)
    if time is None and TIME_FIELDS.isdisjoint(fields):
        time = 0
    return day_of(fields, day) * DAY + time_of(fields, time)


def _of_epoch(function: str, fields: Fields) -> DateTime:
    check_names(function, fields, _EPOCH | {"nanosecond", "timezone"})
    if fields.keys() >= _EPOCH:
        raise ExecutionError("`epochSeconds` and `epochMillis` can't be given together.", code="InvalidArgumentValue")
    name = "epochSeconds" if "epochSeconds" in fields else "epochMillis"
    count, more, zone = fields[name], fields.get("nanosecond", 0), zone_of(fields)
    moment = from_epoch(count, more) if name == "epochSeconds" else from_epoch_milliseconds(count, more)
    return moment if zone is None else at_moment(moment.utc, zone)


def from_epoch(seconds: Any, nanoseconds: Any) -> DateTime:
    """Return the moment so many seconds and nanoseconds after 1970-01-01 UTC."""
    return _after_epoch("datetime.fromEpoch()", seconds, SECOND, nanoseconds)


def from_epoch_milliseconds(milliseconds: Any, nanoseconds: Any = 0) -> DateTime:
    """Return the moment so many milliseconds after 1970-01-01 UTC."""
    return _after_epoch("datetime.fromEpochMillis()", milliseconds, 1_000_000, nanoseconds)


def _after_epoch(function: str, count: Any, unit: int, nanoseconds: Any) -> DateTime:
    for number in (count, nanoseconds):
        if type(number) is not int:
            raise wrong_argument(function, "integers", number)
    return DateTime.from_utc(checked_nanoseconds(count * unit + nanoseconds))


# ---------------------------------------------------------------- from other values


def _to_date(name: str, value: Any) -> Date:
    day = day_part(value)
    _needs(name, value, day)
    return Date.from_days(day)  # type: ignore[arg-type]


def _to_local_time(name: str, value: Any) -> LocalTime:
    time = time_part(value)
    _needs(name, value, time)
    return LocalTime.from_nanoseconds(time)  # type: ignore[arg-type]


def _to_time(name: str, value: Any) -> Time:
    time = time_part(value)
    _needs(name, value, time)
    return _time(time, value.offset_seconds if type(value) in (Time, DateTime) else 0)  # type: ignore[arg-type]


def _to_local_date_time(name: str, value: Any) -> LocalDateTime:
    day, time = day_part(value), time_part(value)
    _needs(name, value, day, time)
    return LocalDateTime.from_nanoseconds(day * DAY + time)  # type: ignore[operator]


def _to_date_time(name: str, value: Any) -> DateTime:
    day, time = day_part(value), time_part(value)
    _needs(name, value, day, time)
    if type(value) is DateTime:
        return at_moment(value.utc, in_zone(value))
    return DateTime.from_utc(day * DAY + time)  # type: ignore[operator]


CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    "date": _constructor("date", parse_date, _build_date, _to_date),
    "localtime": _constructor("localtime", parse_local_time, _build_local_time, _to_local_time),
    "time": _constructor("time", parse_time, _build_time, _to_time),
    "localdatetime": _constructor("localdatetime", parse_local_date_time, _build_local_date_time, _to_local_date_time),
    "datetime": _constructor("datetime", parse_date_time, _build_date_time, _to_date_time),
    "date.statement": _clock("date", _to_date),
    "localtime.statement": _clock("localtime", _to_local_time),
    "time.statement": _clock("time", _to_time),
    "localdatetime.statement": _clock("localdatetime", _to_local_date_time),
    "datetime.statement": _clock("datetime", _to_date_time),
}
"""The constructors that may be called without arguments; they take the ``Environment`` first."""

# ---------------------------------------------------------------- durations


def duration(value: Any) -> Duration:
    """Return a duration from a string, a map of numbers, or itself."""
    if type(value) is str:
        return parse_duration(value)
    if type(value) is Duration:
        return value
    if type(value) is not dict:
        raise wrong_argument("duration()", "a string or a map", value)
    check_names("duration()", value, frozenset(UNITS))
    totals = [Fraction(0)] * 3
    for name, number in value.items():
        if type(number) not in NUMBERS:
            raise wrong_argument(f"`{name}`", "a number", number)
        totals = [total + exact(number) * unit for total, unit in zip(totals, UNITS[name], strict=True)]
    return duration_of(*totals)
