"""The temporal values: immutable, hashable, exact to the nanosecond, years from -999,999,999 to 999,999,999.

==================  ==================================================  ============================================
class               holds                                               equal, and ordered by ``<``
==================  ==================================================  ============================================
``Date``            days since 1970-01-01                               by day
``LocalTime``       nanoseconds since midnight                          by time
``Time``            nanoseconds since midnight UTC, offset in seconds   by UTC time, then offset
``LocalDateTime``   nanoseconds since 1970-01-01T00:00                  by time
``DateTime``        nanoseconds since 1970-01-01T00:00Z, offset, zone   by moment, then offset, then zone's name
``Duration``        months, days, nanoseconds                           equal field by field; no ``<``
==================  ==================================================  ============================================

``str`` gives a value's text in the language, and a class called with such a text gives the value. Each is equal to the
value of Python's ``datetime`` that it corresponds to, with the same hash, and ordered with it: moments by their UTC
time, as Python does, and durations without months by their length, a day taken as 24 hours.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable
from typing import Any, SupportsIndex, TypedDict, Unpack

from qengine.temporal import text
from qengine.temporal.calendar import civil
from qengine.temporal.properties import DAY, SECOND, Dated, Field, Offset, Spanning, Temporal, Timed

__all__ = ["DAY", "FIELDS", "SECOND", "Date", "DateTime", "Duration", "LocalDateTime", "LocalTime", "Temporal", "Time"]

_MEAN_MONTH = 2_629_746 * SECOND  # a twelfth of the mean Gregorian year
_new: Callable[[type], Any] = object.__new__
_set: Callable[[Any, str, Any], None] = object.__setattr__


class Date(Dated):
    """A calendar date.

    ``Date(2026, 11, 22)``, ``Date("2026-11-22")`` or ``Date(datetime.date(2026, 11, 22))``.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` for what is no date, ``InvalidArgumentType`` for what can't be one; so do the other
        classes here.
    """

    __slots__ = ("days",)
    __match_args__ = ("days",)

    days: int
    """Days since 1970-01-01."""

    def __new__(
        cls,
        year: SupportsIndex | str | datetime.date,
        month: SupportsIndex | None = None,
        day: SupportsIndex | None = None,
    ) -> Date:
        """Make the value; see the class."""
        from qengine.temporal import build

        return build.date(year, month, day)

    @classmethod
    def from_days(cls, days: int) -> Date:
        """Return the date so many days after 1970-01-01."""
        self: Date = _new(cls)
        _set(self, "days", days)
        return self

    _key = operator.attrgetter("days")

    def _day(self) -> int:
        return self.days

    def _place(self) -> int:
        return self.days

    def __str__(self) -> str:
        return text.date_text(*civil(self.days))


class LocalTime(Timed):
    """A time of day.

    ``LocalTime(21, 40)``, ``LocalTime(21, 40, 32, 500_000_000)`` with seconds and nanoseconds,
    ``LocalTime("21:40:32.5")`` or ``LocalTime(datetime.time(21, 40))``.
    """

    __slots__ = ("nanoseconds",)
    __match_args__ = ("nanoseconds",)

    nanoseconds: int
    """Nanoseconds since midnight."""

    def __new__(
        cls,
        hour: SupportsIndex | str | datetime.time,
        minute: SupportsIndex = 0,
        second: SupportsIndex = 0,
        nanosecond: SupportsIndex = 0,
    ) -> LocalTime:
        """Make the value; see the class."""
        from qengine.temporal import build

        return build.local_time(hour, minute, second, nanosecond)

    @classmethod
    def from_nanoseconds(cls, nanoseconds: int) -> LocalTime:
        """Return the time so many nanoseconds after midnight."""
        self: LocalTime = _new(cls)
        _set(self, "nanoseconds", nanoseconds)
        return self

    _key = operator.attrgetter("nanoseconds")

    def _time(self) -> int:
        return self.nanoseconds

    def _place(self) -> int:
        return self.nanoseconds

    def __str__(self) -> str:
        return text.time_text(self.nanoseconds)


class Time(Timed, Offset):
    """A time of day with an offset.

    ``Time(21, 40, offset="+01:00")``, ``Time("21:40:32.5+01:00")`` or an aware ``datetime.time``.
    """

    __slots__ = ("offset_seconds", "utc")
    __match_args__ = ("utc", "offset_seconds")

    utc: int
    """Nanoseconds since midnight in UTC; below 0 or beyond a day where the day there is another."""
    offset_seconds: int
    """Seconds east of UTC."""

    def __new__(
        cls,
        hour: SupportsIndex | str | datetime.time,
        minute: SupportsIndex = 0,
        second: SupportsIndex = 0,
        nanosecond: SupportsIndex = 0,
        offset: str = "Z",
    ) -> Time:
        """Make the value; see the class."""
        from qengine.temporal import build

        return build.time(hour, minute, second, nanosecond, offset)

    @classmethod
    def from_utc(cls, utc: int, offset_seconds: int) -> Time:
        """Return the time ``utc``, in nanoseconds since midnight, seen from an offset."""
        self: Time = _new(cls)
        _set(self, "utc", utc)
        _set(self, "offset_seconds", offset_seconds)
        return self

    _key = operator.attrgetter("utc", "offset_seconds")

    @property
    def nanoseconds(self) -> int:
        """Nanoseconds since local midnight."""
        return self.utc + self.offset_seconds * SECOND

    def _time(self) -> int:
        return self.nanoseconds

    def _place(self) -> int:
        return self.utc

    def __str__(self) -> str:
        return text.time_text(self.nanoseconds) + text.offset_text(self.offset_seconds)


class LocalDateTime(Dated, Timed):
    """A date and time of day.

    ``LocalDateTime(2026, 11, 22, 21, 40)``, ``LocalDateTime("2026-11-22T21:40:32.5")`` or a naive
    ``datetime.datetime``.
    """

    __slots__ = ("nanoseconds",)
    __match_args__ = ("nanoseconds",)

    nanoseconds: int
    """Nanoseconds since 1970-01-01T00:00."""

    def __new__(
        cls,
        year: SupportsIndex | str | datetime.datetime,
        month: SupportsIndex | None = None,
        day: SupportsIndex | None = None,
        hour: SupportsIndex = 0,
        minute: SupportsIndex = 0,
        second: SupportsIndex = 0,
        nanosecond: SupportsIndex = 0,
    ) -> LocalDateTime:
        """Make the value; see the class."""
        from qengine.temporal import build

        return build.local_date_time(year, month, day, hour, minute, second, nanosecond)

    @classmethod
    def from_nanoseconds(cls, nanoseconds: int) -> LocalDateTime:
        """Return the date and time so many nanoseconds after 1970-01-01T00:00."""
        self: LocalDateTime = _new(cls)
        _set(self, "nanoseconds", nanoseconds)
        return self

    _key = operator.attrgetter("nanoseconds")

    def _day(self) -> int:
        return self.nanoseconds // DAY

    def _time(self) -> int:
        return self.nanoseconds % DAY

    def _place(self) -> int:
        return self.nanoseconds

    def __str__(self) -> str:
        return f"{text.date_text(*civil(self._day()))}T{text.time_text(self._time())}"


class DateTime(Dated, Timed, Offset):
    """A moment seen from a time zone.

    ``DateTime(2026, 11, 22, 21, 40, zone="Europe/Rome")``, ``DateTime("2026-11-22T21:40+01:00[Europe/Rome]")`` or an
    aware ``datetime.datetime``. A zone is a name or an offset such as ``"+01:00"``.
    """

    __slots__ = ("offset_seconds", "utc", "zone")
    __match_args__ = ("utc", "offset_seconds", "zone")

    utc: int
    """Nanoseconds since 1970-01-01T00:00Z."""
    offset_seconds: int
    """Seconds east of UTC."""
    zone: str
    """The time zone's name, "" for a mere offset."""

    def __new__(
        cls,
        year: SupportsIndex | str | datetime.datetime,
        month: SupportsIndex | None = None,
        day: SupportsIndex | None = None,
        hour: SupportsIndex = 0,
        minute: SupportsIndex = 0,
        second: SupportsIndex = 0,
        nanosecond: SupportsIndex = 0,
        zone: str = "Z",
    ) -> DateTime:
        """Make the value; see the class."""
        from qengine.temporal import build

        return build.date_time(year, month, day, (hour, minute, second, nanosecond), zone)

    @classmethod
    def from_utc(cls, utc: int, offset_seconds: int = 0, zone: str = "") -> DateTime:
        """Return the moment ``utc``, in nanoseconds since 1970-01-01T00:00Z, seen from an offset and zone."""
        self: DateTime = _new(cls)
        _set(self, "utc", utc)
        _set(self, "offset_seconds", offset_seconds)
        _set(self, "zone", zone)
        return self

    _key = operator.attrgetter("utc", "offset_seconds", "zone")

    epochSeconds = Field(lambda value: value.utc // SECOND, doc="Whole seconds since 1970-01-01T00:00Z.")
    epochMillis = Field(lambda value: value.utc // 1_000_000, doc="Whole milliseconds since 1970-01-01T00:00Z.")

    @property
    def nanoseconds(self) -> int:
        """Local nanoseconds since 1970-01-01T00:00."""
        return self.utc + self.offset_seconds * SECOND

    def _day(self) -> int:
        return self.nanoseconds // DAY

    def _time(self) -> int:
        return self.nanoseconds % DAY

    def _place(self) -> int:
        return self.utc

    def isoformat(self) -> str:
        """Return the value as text of ISO 8601, which has no place for the zone's name."""
        local = f"{text.date_text(*civil(self._day()))}T{text.time_text(self._time())}"
        return local + text.offset_text(self.offset_seconds)

    def __str__(self) -> str:
        return self.isoformat() + (f"[{self.zone}]" if self.zone else "")


class DurationUnits(TypedDict, total=False):
    """Further units that a ``Duration`` is made of."""

    years: float
    weeks: float
    hours: float
    minutes: float
    seconds: float
    milliseconds: float
    microseconds: float


class Duration(Spanning):
    """A span of ``months``, ``days`` and ``nanoseconds``: none can be told in the others, so each is kept.

    ``Duration(1, 2, 3)``, ``Duration("P1M2DT0.000000003S")``, ``Duration(hours=1.5, years=2)`` or a
    ``datetime.timedelta``. Fractions go on into the next smaller unit. By name there are years, weeks, hours, minutes,
    seconds, milliseconds and microseconds, too.
    """

    __slots__ = ("days", "months", "nanoseconds")
    __match_args__ = ("months", "days", "nanoseconds")

    months: int
    days: int
    nanoseconds: int

    def __new__(
        cls,
        months: float | str | datetime.timedelta = 0,
        days: float = 0,
        nanoseconds: float = 0,
        **units: Unpack[DurationUnits],
    ) -> Duration:
        """Make the value; see the class."""
        from qengine.temporal import build

        for name in units:
            if name not in DurationUnits.__annotations__:
                raise TypeError(f"Duration() got an unexpected keyword argument {name!r}")
        return build.duration(months, {"days": days, "nanoseconds": nanoseconds, **units})

    @classmethod
    def from_parts(cls, months: int = 0, days: int = 0, nanoseconds: int = 0) -> Duration:
        """Return the duration of whole months, days and nanoseconds."""
        self: Duration = _new(cls)
        _set(self, "months", months)
        _set(self, "days", days)
        _set(self, "nanoseconds", nanoseconds)
        return self

    _key = operator.attrgetter("months", "days", "nanoseconds")

    def _place(self) -> int | None:
        return None if self.months else self.days * DAY + self.nanoseconds

    def order(self) -> tuple[int, int, int]:
        """Return the key of ``ORDER BY``: the length by mean months and days, then months, then days."""
        return (self.months * _MEAN_MONTH + self.days * DAY + self.nanoseconds, self.months, self.days)

    # Two durations have no order, as in the language; beside a ``timedelta`` one without months is a length of time.

    def __lt__(self, other: Any) -> bool:
        return self._beside(other, operator.lt)

    def __le__(self, other: Any) -> bool:
        return self._beside(other, operator.le)

    def __gt__(self, other: Any) -> bool:
        return self._beside(other, operator.gt)

    def __ge__(self, other: Any) -> bool:
        return self._beside(other, operator.ge)

    def __str__(self) -> str:
        return text.duration_text(self.months, self.days, self.nanoseconds)


def _fields(kind: type[Temporal]) -> tuple[str, ...]:
    found = [name for base in reversed(kind.__mro__) for name, each in vars(base).items() if isinstance(each, Field)]
    return (*found, *kind.__match_args__) if kind is Duration else tuple(found)


FIELDS: dict[type[Temporal], tuple[str, ...]] = {
    kind: _fields(kind) for kind in (Date, LocalTime, Time, LocalDateTime, DateTime, Duration)
}
"""The fields that values of each class have in the language; in Python they are attributes."""
