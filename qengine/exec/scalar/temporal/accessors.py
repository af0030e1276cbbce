"""The fields of temporal values: ``d.year``, ``t.hour``, ``p.monthsOfYear``."""

from __future__ import annotations

from typing import Any

from qengine.errors import ExecutionError
from qengine.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Temporal, Time
from qengine.temporal.values import FIELDS


def field_of(value: Temporal, name: str) -> Any:
    """Return a field of a temporal value.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` where the value has no such field.
    """
    fields = FIELDS[type(value)]
    if name not in fields:
        raise ExecutionError(
            f"A {_NAMES[type(value)]} has no field `{name}`.",
            code="InvalidArgumentValue",
            hint=f"Its fields are {', '.join(fields)}.",
        )
    return getattr(value, name)


_NAMES = {
    Date: "DATE",
    LocalTime: "LOCAL TIME",
    Time: "TIME",
    LocalDateTime: "LOCAL DATETIME",
    DateTime: "DATETIME",
    Duration: "DURATION",
}
