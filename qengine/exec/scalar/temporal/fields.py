"""Days and times of day from maps of fields, over what another value gives for fields that are absent.

Without another value a field may only be absent if all smaller ones are: year and month, but not year and day.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from qengine.errors import ExecutionError
from qengine.exec.scalar.values import wrong_argument
from qengine.temporal import fields as checked
from qengine.temporal.calendar import civil, days_in_month, week_date
from qengine.temporal.values import SECOND
from qengine.temporal.zones import parse_zone

Fields = Mapping[str, Any]

_CALENDAR = ("month", "day")
_WEEK = ("week", "dayOfWeek")
_QUARTER = ("quarter", "dayOfQuarter")
_ORDINAL = ("ordinalDay",)
_CLOCK = ("hour", "minute", "second")
_FRACTION = ("millisecond", "microsecond", "nanosecond")
DATE_FIELDS = frozenset({"year", *_CALENDAR, *_WEEK, *_QUARTER, *_ORDINAL})
TIME_FIELDS = frozenset({*_CLOCK, *_FRACTION})


def check_names(function: str, fields: Fields, known: frozenset[str]) -> None:
    """Refuse a field that the function doesn't have.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue``; as by all functions here for fields that are wrong or missing.
    """
    for name in fields:
        if name not in known:
            raise ExecutionError(
                f"{function} has no field `{name}`.",
                code="InvalidArgumentValue",
                hint=f"Its fields are {', '.join(sorted(known))}.",
            )


def day_of(fields: Fields, base: int | None) -> int:
    """Return the day that the fields name; those that are absent are of ``base``."""
    groups = [group for group in (_CALENDAR, _WEEK, _QUARTER, _ORDINAL) if any(name in fields for name in group)]
    if len(groups) > 1:
        first, second = (next(name for name in group if name in fields) for group in groups[:2])
        raise ExecutionError(f"`{first}` and `{second}` can't be given together.", code="InvalidArgumentValue")
    group = groups[0] if groups else _CALENDAR
    if base is None:
        _check_order(fields, ("year", *group))
        return _MAKERS[group](*(_integer(fields, name, 1) for name in ("year", *group)))
    year, month, day = civil(base)
    if group is _WEEK:
        week_year, week, week_day = week_date(base)
        return checked.week_date(
            _integer(fields, "year", week_year), _integer(fields, "week", week), _integer(fields, "dayOfWeek", week_day)
        )
    year = _integer(fields, "year", year)
    if group is _ORDINAL:
        return checked.ordinal_date(year, _integer(fields, "ordinalDay", 1))
    if group is _QUARTER:
        quarter = checked.within("quarter", _integer(fields, "quarter", (month + 2) // 3), 1, 4)
        if "dayOfQuarter" in fields:
            return checked.quarter_date(year, quarter, _integer(fields, "dayOfQuarter", 1))
        month = quarter * 3 - 2 + (month - 1) % 3
    else:
        month = checked.within("month", _integer(fields, "month", month), 1, 12)
    return checked.calendar_date(year, month, _integer(fields, "day", min(day, days_in_month(year, month))))


def time_of(fields: Fields, base: int | None) -> int:
    """Return the nanoseconds since midnight that the fields name; those that are absent are of ``base``."""
    if base is None:
        _check_order(fields, (*_CLOCK, "a fraction") if any(name in fields for name in _FRACTION) else _CLOCK)
        base = 0
    seconds, fraction = divmod(base, SECOND)
    if any(name in fields for name in _FRACTION):
        fraction = _fraction(fields)
    return checked.time_of_day(
        _integer(fields, "hour", seconds // 3600),
        _integer(fields, "minute", seconds // 60 % 60),
        _integer(fields, "second", seconds % 60),
        fraction,
    )


def zone_of(fields: Fields) -> int | str | None:
    """Return the field ``timezone`` as an offset in seconds or a zone's name, None where it is absent."""
    if "timezone" not in fields:
        return None
    if type(fields["timezone"]) is not str:
        raise wrong_argument("`timezone`", "a string", fields["timezone"])
    return parse_zone(fields["timezone"])


def _fraction(fields: Fields) -> int:
    """Return nanoseconds; a unit goes up to what the next larger unit that is given leaves to it."""
    total, limit = 0, SECOND
    for name, unit in zip(_FRACTION, (1_000_000, 1_000, 1), strict=True):
        if name in fields:
            total += checked.within(name, _integer(fields, name, 0), 0, limit // unit - 1) * unit
            limit = unit
    return total


def _integer(fields: Fields, name: str, default: int) -> int:
    value = fields.get(name, default)
    if type(value) is not int:
        raise wrong_argument(f"`{name}`", "an integer", value)
    return value


def _check_order(fields: Fields, names: Sequence[str]) -> None:
    missing = next((name for name in names if name not in fields), None)
    if missing is None:
        return
    later = [name for name in names[names.index(missing) :] if name in fields]
    if later or missing in ("year", "hour") or (names[-1] == "a fraction" and missing != "a fraction"):
        smaller = later[0] if later else "anything smaller"
        raise ExecutionError(f"`{missing}` is missing before {smaller}.", code="InvalidArgumentValue")


_MAKERS: dict[tuple[str, ...], Callable[..., int]] = {
    _CALENDAR: checked.calendar_date,
    _WEEK: checked.week_date,
    _QUARTER: checked.quarter_date,
    _ORDINAL: checked.ordinal_date,
}
