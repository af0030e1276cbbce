"""The parts of a temporal value: day, time of day, zone; None for one that it doesn't have."""

from __future__ import annotations

from typing import Any

from qengine.temporal.values import DAY, Date, DateTime, LocalDateTime, LocalTime, Time
from qengine.temporal.zones import in_zone


def day_part(value: Any) -> int | None:
    """Return the local day, in days since 1970-01-01."""
    if type(value) is Date:
        return value.days
    if type(value) is LocalDateTime or type(value) is DateTime:
        return int(value.nanoseconds // DAY)
    return None


def time_part(value: Any) -> int | None:
    """Return the local time of day, in nanoseconds since midnight."""
    if type(value) is LocalTime or type(value) is Time:
        return int(value.nanoseconds)
    if type(value) is LocalDateTime or type(value) is DateTime:
        return int(value.nanoseconds % DAY)
    return None


def zone_part(value: Any) -> int | str | None:
    """Return the offset in seconds, or the zone's name."""
    if type(value) is Time:
        return value.offset_seconds
    return in_zone(value) if type(value) is DateTime else None
