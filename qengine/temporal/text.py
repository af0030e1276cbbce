"""Temporal values as text: ISO 8601, with seconds and their fraction only where there are any."""

from __future__ import annotations

_SECOND = 1_000_000_000


def date_text(year: int, month: int, day: int) -> str:
    """Return ``1984-10-11``; years of more than four digits have a sign."""
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"


def time_text(nanoseconds: int) -> str:
    """Return ``12:31``, ``12:31:14`` or ``12:31:14.645`` for the nanoseconds since midnight."""
    seconds, fraction = divmod(nanoseconds, _SECOND)
    minutes, seconds = divmod(seconds, 60)
    shown = f"{minutes // 60:02d}:{minutes % 60:02d}"
    return shown + f":{seconds:02d}{_fraction(fraction)}" if seconds or fraction else shown


def offset_text(offset: int) -> str:
    """Return ``Z``, ``+01:00`` or ``-00:01:15`` for an offset in seconds."""
    if offset == 0:
        return "Z"
    minutes, seconds = divmod(abs(offset), 60)
    shown = f"{'-' if offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"
    return shown + f":{seconds:02d}" if seconds else shown


def duration_text(months: int, days: int, nanoseconds: int) -> str:
    """Return ``P1Y2M3DT4H5M6.7S``; each part has its own sign, parts that are 0 are left out."""
    years, months = _parts(months, 12)
    seconds, fraction = _parts(nanoseconds, _SECOND)
    minutes, seconds = _parts(seconds, 60)
    hours, minutes = _parts(minutes, 60)
    date = "".join(f"{count}{unit}" for count, unit in ((years, "Y"), (months, "M"), (days, "D")) if count)
    time = "".join(f"{count}{unit}" for count, unit in ((hours, "H"), (minutes, "M")) if count)
    if seconds or fraction:
        time += f"{'-' if nanoseconds < 0 else ''}{abs(seconds)}{_fraction(abs(fraction))}S"
    if not date and not time:
        return "PT0S"
    return f"P{date}T{time}" if time else f"P{date}"


def _parts(count: int, size: int) -> tuple[int, int]:
    """Divide, both parts with the sign of ``count``."""
    whole, rest = divmod(abs(count), size)
    return (-whole, -rest) if count < 0 else (whole, rest)


def _fraction(nanoseconds: int) -> str:
    return f".{nanoseconds:09d}".rstrip("0") if nanoseconds else ""
