"""What temporal values share: comparison, text, conversion, and their fields by the names that they have in Cypher.

Fields of a duration that count whole units are cut towards zero, but ``seconds`` and the units below it are rounded
down, so that what they leave (``nanosecondsOfSecond``) is never negative.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable
from typing import Any

from qengine.temporal import text
from qengine.temporal.calendar import civil, day_of_quarter, ordinal_day, week_date

SECOND = 1_000_000_000
"""Nanoseconds of a second."""
DAY = 86_400 * SECOND
"""Nanoseconds of a day."""
_UNKNOWN: bool = NotImplemented  # what Python asks the other value for then


class Temporal:
    """What all temporal values share."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()

    _key: Callable[[Any], Any]
    """Returns what values of one class are compared by: all that they hold."""

    def _place(self) -> int | None:
        """Return what is compared with values of Python's ``datetime``, None for what none of them is equal to."""
        raise NotImplementedError

    def isoformat(self) -> str:
        """Return the value as text of ISO 8601."""
        return str(self)

    def strftime(self, format: str) -> str:
        """Return the value in another form, as Python's ``strftime`` writes that of ``to_native(exact=False)``."""
        return str(self.to_native(exact=False).strftime(format))

    def __format__(self, format: str) -> str:
        return self.strftime(format) if "%" in format else f"{self!s:{format}}"

    def to_native(self, *, exact: bool = True) -> Any:
        """Return the value as a ``date``, ``time``, ``datetime`` or ``timedelta`` of Python's ``datetime``.

        Parameters
        ----------
        exact
            Refuse nanoseconds, which Python's values don't have; else they are rounded down to microseconds.

        Raises
        ------
        ExecutionError
            ``InvalidArgumentValue`` for years outside 1 to 9999, durations with months, and nanoseconds.
        """
        from qengine.temporal.native import to_native

        return to_native(self, exact=exact)

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self}')"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), *(getattr(self, name) for name in self.__match_args__))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} can't be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} can't be changed")

    def __eq__(self, other: object) -> bool:
        if other.__class__ is self.__class__:
            return bool(self._key(self) == self._key(other))
        return self._beside(other, operator.eq)

    def __lt__(self, other: Any) -> bool:
        if other.__class__ is self.__class__:
            return bool(self._key(self) < self._key(other))
        return self._beside(other, operator.lt)

    def __le__(self, other: Any) -> bool:
        if other.__class__ is self.__class__:
            return bool(self._key(self) <= self._key(other))
        return self._beside(other, operator.le)

    def __gt__(self, other: Any) -> bool:
        if other.__class__ is self.__class__:
            return bool(self._key(self) > self._key(other))
        return self._beside(other, operator.gt)

    def __ge__(self, other: Any) -> bool:
        if other.__class__ is self.__class__:
            return bool(self._key(self) >= self._key(other))
        return self._beside(other, operator.ge)

    def __hash__(self) -> int:
        from qengine.temporal.native import hash_of

        return hash_of(self)

    def _beside(self, other: object, compare: Callable[[Any, Any], bool]) -> bool:
        """Compare with a value of Python's ``datetime``; NotImplemented for all else."""
        if not isinstance(other, datetime.date | datetime.time | datetime.timedelta):
            return _UNKNOWN
        from qengine.temporal.native import from_native, is_ambiguous

        ours = from_native(other)
        if ours.__class__ is not self.__class__ or ours is None:
            return _UNKNOWN
        place = self._place()
        if place is None:
            return _UNKNOWN
        if compare is operator.eq and is_ambiguous(other):
            return False
        return bool(compare(place, ours._place()))


def _restored(kind: type[Temporal], *held: Any) -> Temporal:
    """Return a value that was pickled or copied."""
    value = object.__new__(kind)
    for name, each in zip(kind.__match_args__, held, strict=True):
        object.__setattr__(value, name, each)
    return value


class Field(property):
    """A field of the language: a property of the same name."""


def _of_day(function: Callable[[int], int], doc: str) -> Field:
    return Field(lambda value: function(value._day()), doc=doc)


def _of_time(unit: int, size: int, doc: str) -> Field:
    return Field(lambda value: value._time() // unit % size, doc=doc)


class Dated(Temporal):
    """The fields of a day."""

    __slots__ = ()

    def _day(self) -> int:
        """Return the local day, in days since 1970-01-01."""
        raise NotImplementedError

    year = _of_day(lambda day: civil(day)[0], "The year.")
    quarter = _of_day(lambda day: (civil(day)[1] + 2) // 3, "The quarter, 1 to 4.")
    month = _of_day(lambda day: civil(day)[1], "The month, 1 to 12.")
    week = _of_day(lambda day: week_date(day)[1], "The week of the week year (ISO 8601), 1 to 53.")
    weekYear = _of_day(lambda day: week_date(day)[0], "The year that the week belongs to (ISO 8601).")
    day = _of_day(lambda day: civil(day)[2], "The day of the month, 1 to 31.")
    dayOfQuarter = _of_day(day_of_quarter, "The day of the quarter, from 1.")
    quarterDay = _of_day(day_of_quarter, "The day of the quarter, from 1.")
    dayOfWeek = _of_day(lambda day: week_date(day)[2], "The day of the week, Monday 1 to Sunday 7.")
    weekDay = _of_day(lambda day: week_date(day)[2], "The day of the week, Monday 1 to Sunday 7.")
    ordinalDay = _of_day(ordinal_day, "The day of the year, from 1.")


class Timed(Temporal):
    """The fields of a time of day."""

    __slots__ = ()

    def _time(self) -> int:
        """Return the local time of day, in nanoseconds since midnight."""
        raise NotImplementedError

    hour = _of_time(3600 * SECOND, 24, "The hour, 0 to 23.")
    minute = _of_time(60 * SECOND, 60, "The minute, 0 to 59.")
    second = _of_time(SECOND, 60, "The second, 0 to 59.")
    millisecond = _of_time(1_000_000, 1_000, "Whole milliseconds of the second.")
    microsecond = _of_time(1_000, 1_000_000, "Whole microseconds of the second.")
    nanosecond = _of_time(1, SECOND, "Nanoseconds of the second.")


class Offset(Temporal):
    """The fields of an offset."""

    __slots__ = ()

    timezone = Field(
        lambda value: getattr(value, "zone", "") or text.offset_text(value.offset_seconds),
        doc="The time zone's name, or the offset as text.",
    )
    offset = Field(lambda value: text.offset_text(value.offset_seconds), doc="The offset from UTC as text.")
    offsetMinutes = Field(lambda value: _cut(value.offset_seconds, 60), doc="Whole minutes east of UTC.")
    offsetSeconds = Field(lambda value: value.offset_seconds, doc="Seconds east of UTC.")


def _cut(count: int, size: int) -> int:
    return -(-count // size) if count < 0 else count // size


def _rest(count: int, size: int) -> int:
    return -(-count % size) if count < 0 else count % size


class Spanning(Temporal):
    """The fields of a duration, beside those that it holds."""

    __slots__ = ()

    years = Field(lambda value: _cut(value.months, 12), doc="Whole years of the months.")
    quarters = Field(lambda value: _cut(value.months, 3), doc="Whole quarters of the months.")
    weeks = Field(lambda value: _cut(value.days, 7), doc="Whole weeks of the days.")
    hours = Field(lambda value: _cut(value.seconds, 3600), doc="Whole hours of the seconds.")
    minutes = Field(lambda value: _cut(value.seconds, 60), doc="Whole minutes of the seconds.")
    seconds = Field(lambda value: value.nanoseconds // SECOND, doc="Whole seconds, rounded down.")
    milliseconds = Field(lambda value: value.nanoseconds // 1_000_000, doc="Whole milliseconds, rounded down.")
    microseconds = Field(lambda value: value.nanoseconds // 1_000, doc="Whole microseconds, rounded down.")
    quartersOfYear = Field(lambda value: _rest(_cut(value.months, 3), 4), doc="Quarters beside the years.")
    monthsOfQuarter = Field(lambda value: _rest(value.months, 3), doc="Months beside the quarters.")
    monthsOfYear = Field(lambda value: _rest(value.months, 12), doc="Months beside the years.")
    daysOfWeek = Field(lambda value: _rest(value.days, 7), doc="Days beside the weeks.")
    minutesOfHour = Field(lambda value: _rest(_cut(value.seconds, 60), 60), doc="Minutes beside the hours.")
    secondsOfMinute = Field(lambda value: _rest(value.seconds, 60), doc="Seconds beside the minutes.")
    millisecondsOfSecond = Field(
        lambda value: value.nanoseconds % SECOND // 1_000_000, doc="Milliseconds beside the seconds."
    )
    microsecondsOfSecond = Field(
        lambda value: value.nanoseconds % SECOND // 1_000, doc="Microseconds beside the seconds."
    )
    nanosecondsOfSecond = Field(lambda value: value.nanoseconds % SECOND, doc="Nanoseconds beside the seconds.")
