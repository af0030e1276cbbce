"""``+ - * /`` with durations.

Months are added first, then days, both in local time; then the rest, in real time. A day that the month reached
doesn't have becomes its last. A date takes whole days of the rest, a time of day wraps round midnight.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from qengine.errors import ExecutionError
from qengine.exec.scalar.values import NUMBERS
from qengine.temporal.calendar import add_months
from qengine.temporal.durations import duration_of, exact
from qengine.temporal.fields import checked_days, checked_nanoseconds
from qengine.temporal.values import DAY, SECOND, Date, DateTime, Duration, LocalDateTime, LocalTime, Temporal, Time
from qengine.temporal.zones import at_local, at_moment, in_zone


def add(a: Any, b: Any) -> Any:
    """Return the sum of a temporal value and a duration, in either order; None where ``+`` isn't made for both."""
    if type(b) is Duration and isinstance(a, Temporal):
        return _sum(a, b) if type(a) is Duration else _moved(a, b)
    if type(a) is Duration and isinstance(b, Temporal):
        return _moved(b, a)
    return None


def subtract(a: Any, b: Any) -> Any:
    """Return a temporal value without a duration; None where ``-`` isn't made for both."""
    return add(a, negate(b)) if type(b) is Duration and isinstance(a, Temporal) else None


def negate(a: Duration) -> Duration:
    """Return the duration backwards."""
    return Duration.from_parts(-a.months, -a.days, -a.nanoseconds)


def multiply(a: Any, b: Any) -> Duration | None:
    """Return a duration so many times, in either order; None where ``*`` isn't made for both."""
    if type(b) is Duration:
        a, b = b, a
    return _scaled(a, exact(b)) if type(a) is Duration and type(b) in NUMBERS else None


def divide(a: Any, b: Any) -> Duration | None:
    """Return a part of a duration; None where ``/`` isn't made for both."""
    if type(a) is not Duration or type(b) not in NUMBERS:
        return None
    if b == 0:
        raise ExecutionError("A duration can't be divided by zero.", code="DivisionByZero")
    return _scaled(a, 1 / exact(b))


def _sum(a: Duration, b: Duration) -> Duration:
    return duration_of(
        Fraction(a.months + b.months), Fraction(a.days + b.days), Fraction(a.nanoseconds + b.nanoseconds)
    )


def _scaled(a: Duration, factor: Fraction) -> Duration:
    return duration_of(a.months * factor, a.days * factor, a.nanoseconds * factor)


def _moved(value: Any, by: Duration) -> Any:
    kind = type(value)
    if kind is Date:
        rest = abs(by.nanoseconds) // DAY
        return Date.from_days(checked_days(_moved_day(value.days, by) + (-rest if by.nanoseconds < 0 else rest)))
    if kind is LocalTime:
        return LocalTime.from_nanoseconds((value.nanoseconds + by.nanoseconds) % DAY)
    if kind is Time:
        return Time.from_utc(
            (value.nanoseconds + by.nanoseconds) % DAY - value.offset_seconds * SECOND, value.offset_seconds
        )
    if kind is LocalDateTime:
        return LocalDateTime.from_nanoseconds(checked_nanoseconds(_moved_local(value.nanoseconds, by) + by.nanoseconds))
    assert kind is DateTime
    zone = in_zone(value)
    if by.months or by.days:
        value = at_local(_moved_local(value.nanoseconds, by), zone, value.offset_seconds)
    return at_moment(checked_nanoseconds(value.utc + by.nanoseconds), zone)


def _moved_local(nanoseconds: int, by: Duration) -> int:
    return checked_days(_moved_day(nanoseconds // DAY, by)) * DAY + nanoseconds % DAY


def _moved_day(days: int, by: Duration) -> int:
    return add_months(days, by.months) + by.days
