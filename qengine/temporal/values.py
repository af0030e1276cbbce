"""The temporal values: immutable, hashable, exact to the nanosecond, years from -999,999,999 to 999,999,999.

==================  ==================================================  ============================================
class               fields                                              equal, and ordered by ``<``
==================  ==================================================  ============================================
``Date``            days since 1970-01-01                               by day
``LocalTime``       nanoseconds since midnight                          by time
``Time``            nanoseconds since midnight UTC, offset in seconds   by UTC time, then offset
``LocalDateTime``   nanoseconds since 1970-01-01T00:00                  by time
``DateTime``        nanoseconds since 1970-01-01T00:00Z, offset, zone   by moment, then offset, then zone's name
``Duration``        months, days, nanoseconds                           equal field by field; no ``<``
==================  ==================================================  ============================================

``str`` gives a value's text in the language, and ``qengine.temporal.parse`` reads it again.
"""

from __future__ import annotations

from dataclasses import dataclass

from qengine.temporal import text
from qengine.temporal.calendar import civil

__all__ = ["DAY", "SECOND", "Date", "DateTime", "Duration", "LocalDateTime", "LocalTime", "Temporal", "Time"]

SECOND = 1_000_000_000
"""Nanoseconds of a second."""
DAY = 86_400 * SECOND
"""Nanoseconds of a day."""
_MEAN_MONTH = 2_629_746 * SECOND  # a twelfth of the mean Gregorian year


class Temporal:
    """What all temporal values share."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self}')"


@dataclass(frozen=True, slots=True, order=True, repr=False)
class Date(Temporal):
    """A calendar date: ``days`` since 1970-01-01."""

    days: int

    def __str__(self) -> str:
        return text.date_text(*civil(self.days))


@dataclass(frozen=True, slots=True, order=True, repr=False)
class LocalTime(Temporal):
    """A time of day: ``nanoseconds`` since midnight."""

    nanoseconds: int

    def __str__(self) -> str:
        return text.time_text(self.nanoseconds)


@dataclass(frozen=True, slots=True, order=True, repr=False)
class Time(Temporal):
    """A time of day with an offset.

    ``utc``: nanoseconds since midnight in UTC (below 0 or beyond a day where the day there is another);
    ``offset``: seconds east of UTC.
    """

    utc: int
    offset: int

    @property
    def nanoseconds(self) -> int:
        """Nanoseconds since local midnight."""
        return self.utc + self.offset * SECOND

    def __str__(self) -> str:
        return text.time_text(self.nanoseconds) + text.offset_text(self.offset)


@dataclass(frozen=True, slots=True, order=True, repr=False)
class LocalDateTime(Temporal):
    """A date and time of day: ``nanoseconds`` since 1970-01-01T00:00."""

    nanoseconds: int

    def __str__(self) -> str:
        days, rest = divmod(self.nanoseconds, DAY)
        return f"{text.date_text(*civil(days))}T{text.time_text(rest)}"


@dataclass(frozen=True, slots=True, order=True, repr=False)
class DateTime(Temporal):
    """A moment seen from a time zone.

    ``utc``: nanoseconds since 1970-01-01T00:00Z; ``offset``: seconds east of UTC; ``zone``: the time zone's name,
    "" for a mere offset.
    """

    utc: int
    offset: int = 0
    zone: str = ""

    @property
    def nanoseconds(self) -> int:
        """Local nanoseconds since 1970-01-01T00:00."""
        return self.utc + self.offset * SECOND

    def __str__(self) -> str:
        days, rest = divmod(self.nanoseconds, DAY)
        zone = f"[{self.zone}]" if self.zone else ""
        return f"{text.date_text(*civil(days))}T{text.time_text(rest)}{text.offset_text(self.offset)}{zone}"


@dataclass(frozen=True, slots=True, repr=False)
class Duration(Temporal):
    """A span of ``months``, ``days`` and ``nanoseconds``: none can be told in the others, so each is kept."""

    months: int = 0
    days: int = 0
    nanoseconds: int = 0

    @property
    def seconds(self) -> int:
        """Whole seconds, rounded down."""
        return self.nanoseconds // SECOND

    def order(self) -> tuple[int, int, int]:
        """Return the key of ``ORDER BY``: the length by mean months and days, then months, then days."""
        return (self.months * _MEAN_MONTH + self.days * DAY + self.nanoseconds, self.months, self.days)

    def __str__(self) -> str:
        return text.duration_text(self.months, self.days, self.nanoseconds)
