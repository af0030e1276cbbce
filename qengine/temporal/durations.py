"""Durations from numbers and text: a broken part goes on into the next smaller one.

A month is 30.436875 days on average, a day 86,400 seconds; fractions of a nanosecond are cut off. Numbers are taken
as they are written in decimals, so nothing is lost to binary fractions.
"""

from __future__ import annotations

import re
from fractions import Fraction

from qengine.errors import ExecutionError
from qengine.temporal.values import DAY, SECOND, Duration

UNITS = {
    "years": (12, 0, 0),
    "quarters": (3, 0, 0),
    "months": (1, 0, 0),
    "weeks": (0, 7, 0),
    "days": (0, 1, 0),
    "hours": (0, 0, 3600 * SECOND),
    "minutes": (0, 0, 60 * SECOND),
    "seconds": (0, 0, SECOND),
    "milliseconds": (0, 0, 1_000_000),
    "microseconds": (0, 0, 1_000),
    "nanoseconds": (0, 0, 1),
}
"""Months, days and nanoseconds of each unit."""

_DAYS_OF_MONTH = Fraction(30_436_875, 1_000_000)
_LARGEST = 2**63 - 1
_NUMBER = r"[+-]?\d+(?:[.,]\d{1,9})?"
_UNITS = re.compile(
    r"(?P<sign>[+-])?P"
    + "".join(f"(?:(?P<{unit}>{_NUMBER}){unit})?" for unit in "YQ")
    + f"(?:(?P<MO>{_NUMBER})M)?"
    + "".join(f"(?:(?P<{unit}>{_NUMBER}){unit})?" for unit in "WD")
    + "(?:(?P<T>T)"
    + f"(?:(?P<H>{_NUMBER})H)?(?:(?P<MI>{_NUMBER})M)?(?:(?P<S>{_NUMBER})S)?)?"
)
_AS_DATE = re.compile(r"P(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?")


def exact(number: float) -> Fraction:
    """Return a number as the decimal fraction that it is written with.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` for NaN and the infinities.
    """
    try:
        return Fraction(number) if isinstance(number, int) else Fraction(repr(number))
    except ValueError:
        raise ExecutionError(f"A duration can't have {number} of a unit.", code="InvalidArgumentValue") from None


def duration_of(months: Fraction | int, days: Fraction | int, nanoseconds: Fraction | int) -> Duration:
    """Return the duration of whole or broken numbers of months, days and nanoseconds.

    Raises
    ------
    ExecutionError
        ``IntegerOverflow`` where months, days or seconds don't fit 64 bits.
    """
    whole_months = int(months)
    if months != whole_months:
        days += (months - whole_months) * _DAYS_OF_MONTH
    whole_days = int(days)
    whole = int(nanoseconds + (days - whole_days) * DAY)
    if max(abs(whole_months), abs(whole_days), abs(whole // SECOND)) > _LARGEST:
        raise ExecutionError("The duration's parts don't fit 64-bit integers.", code="IntegerOverflow")
    return Duration.from_parts(whole_months, whole_days, whole)


def _fraction(number: str) -> Fraction:
    return Fraction(number.replace(",", "."))


def parse_duration(text: str) -> Duration:
    """Return the duration that a text writes: ``P1Y2M3W4DT5H6M7.8S`` or ``P2012-02-02T14:37:21.545``.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` where it writes none.
    """
    dated = _AS_DATE.fullmatch(text)
    if dated is not None:
        years, months, days, hours, minutes, seconds = (int(part or 0) for part in dated.groups()[:6])
        fraction = int((dated[7] or "").ljust(9, "0"))
        return Duration.from_parts(
            years * 12 + months, days, (hours * 3600 + minutes * 60 + seconds) * SECOND + fraction
        )
    found = _UNITS.fullmatch(text) if text.isascii() else None
    if found is None or text[-1] in "PT":
        raise ExecutionError(
            f"{text!r} is no duration.", code="InvalidArgumentValue", hint="Write it as P1Y2M3DT4H5M6.7S, or as a map."
        )

    def part(name: str) -> Fraction | int:
        number = found[name]
        return 0 if number is None else int(number) if number.lstrip("+-").isdigit() else _fraction(number)

    sign = -1 if found["sign"] == "-" else 1
    return duration_of(
        sign * (part("Y") * 12 + part("Q") * 3 + part("MO")),
        sign * (part("W") * 7 + part("D")),
        sign * (part("H") * 3600 + part("MI") * 60 + part("S")) * SECOND,
    )
