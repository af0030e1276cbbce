"""Dates, times and durations: the values, their text, their calendar and zones. No dependency but Python's own."""

from __future__ import annotations

from qengine.temporal.durations import parse_duration
from qengine.temporal.parse import (
    parse_date,
    parse_date_time,
    parse_local_date_time,
    parse_local_time,
    parse_time,
)
from qengine.temporal.values import Date, DateTime, Duration, LocalDateTime, LocalTime, Temporal, Time

__all__ = ["Date", "DateTime", "Duration", "LocalDateTime", "LocalTime", "Temporal", "Time", "parse_date",
           "parse_date_time", "parse_duration", "parse_local_date_time", "parse_local_time", "parse_time"]  # fmt: skip
