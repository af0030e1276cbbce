"""Numbers as text and text as numbers."""

from __future__ import annotations

import math
import re
from typing import Any

from qengine.exec.scalar.values import NUMBERS, checked
from qengine.spatial import Point
from qengine.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Time

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WORDS = {"NaN": math.nan, "Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf}


def number_text(number: float) -> str:
    """Return an integer or float as ``toString`` gives it.

    Floats take the fewest digits that give the same float again: ``1.0``, ``0.001``, ``1.0E7``, ``2.5E-4``
    (with an exponent below 10^-3 and from 10^7 on), ``NaN``, ``Infinity``.
    """
    if type(number) is int:
        return str(number)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(float(number))
    mantissa, _, exponent = repr(float(number)).partition("e")
    sign, digits = ("-", mantissa[1:]) if mantissa[0] == "-" else ("", mantissa)
    whole, _, fraction = digits.partition(".")
    power = int(exponent or 0) + len(whole) - 1
    if whole == "0":  # 0.00025: count the zeros in front
        significant = fraction.lstrip("0")
        power = -(len(fraction) - len(significant)) - 1
    else:
        significant = (whole + fraction).rstrip("0") or "0"
    return f"{sign}{significant[0]}.{significant[1:] or '0'}E{power}"


TEXTUAL = NUMBERS | {str, bool, Date, Time, LocalTime, DateTime, LocalDateTime, Duration, Point}
"""Types of values that have a text: what ``toString`` takes, and ``+`` appends to a string."""


def scalar_text(value: Any) -> str:
    """Return a value of one of ``TEXTUAL`` as ``toString`` gives it."""
    if type(value) is str:
        return value
    if type(value) is bool:
        return "true" if value else "false"
    return number_text(value) if type(value) in NUMBERS else str(value)


def parse_float(text: str) -> float | None:
    """Return the float that ``text`` writes in decimals, None if it writes none."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    return _WORDS.get(text)


def parse_integer(text: str) -> int | None:
    """Return the integer that ``text`` writes, its fraction cut off; None if it writes no number.

    Raises
    ------
    ExecutionError
        ``IntegerOverflow`` beyond 64 bits.
    """
    text = text.strip()
    if _INTEGER.fullmatch(text):
        return checked(int(text)) if len(text) < 1000 else checked(10**40)
    number = parse_float(text)
    return None if number is None or not math.isfinite(number) else checked(int(number))
