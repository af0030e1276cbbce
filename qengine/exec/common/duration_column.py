"""``DurationColumn``: durations, part by part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from qengine.exec.common.columns import BoolArray, Column, IntArray, MaskedColumn, integer_column
from qengine.temporal import Duration
from qengine.temporal.values import SECOND


class DurationColumn(MaskedColumn):
    """Durations.

    Parameters
    ----------
    months, days, nanoseconds
        int64, of each row.
    null
        Which rows are null; None where none is.
    """

    __slots__ = ("days", "months", "nanoseconds")

    def __init__(self, months: IntArray, days: IntArray, nanoseconds: IntArray, null: BoolArray | None = None) -> None:
        self.months = months
        self.days = days
        self.nanoseconds = nanoseconds
        self.null = null

    def __len__(self) -> int:
        return len(self.months)

    def _at(self, which: Any) -> Column:
        null = None if self.null is None else self.null[which]
        return DurationColumn(self.months[which], self.days[which], self.nanoseconds[which], null)

    def values(self) -> list[Any]:
        """Return a ``Duration`` for each row."""
        parts = (each.tolist() for each in (self.months, self.days, self.nanoseconds))
        found: list[Any] = list(map(Duration.from_parts, *parts))
        for row in np.flatnonzero(self.is_null()).tolist():
            found[row] = None
        return found

    @property
    def nbytes(self) -> int:
        """Bytes of the parts."""
        return 3 * self.months.nbytes

    def joined(self, columns: Sequence[Column]) -> Column | None:
        """Return the rows of all columns, where all are durations."""
        durations = [each for each in columns if isinstance(each, DurationColumn)]
        if len(durations) < len(columns):
            return None
        months, days, nanoseconds, null = (
            np.concatenate(parts)
            for parts in zip(
                *((each.months, each.days, each.nanoseconds, each.is_null()) for each in durations), strict=True
            )
        )
        return DurationColumn(months, days, nanoseconds, null if null.any() else None)

    def array(self) -> Any:
        """Return an Arrow array: of lengths of time where no row has months or days; None where they don't fit."""
        months, days, rest = (
            each if self.null is None else np.where(self.null, 0, each)
            for each in (self.months, self.days, self.nanoseconds)
        )
        if not months.any() and not days.any():
            unit, size = ("ns", 1) if (rest % 1_000).any() else ("us", 1_000)
            return pa.array(rest // size, pa.int64(), mask=self.null).cast(pa.duration(unit))
        if max(int(np.abs(each).max()) for each in (months, days)) >= 2**31:
            return None
        parts = np.empty(len(self), np.dtype([("months", np.int32), ("days", np.int32), ("nanoseconds", np.int64)]))
        parts["months"], parts["days"], parts["nanoseconds"] = months, days, rest
        valid = None if self.null is None else pa.array(~self.null).buffers()[1]
        return pa.Array.from_buffers(pa.month_day_nano_interval(), len(self), [valid, pa.py_buffer(parts)])

    def field(self, name: str) -> Column | None:
        """Return a field, such as ``days`` or ``minutesOfHour``; None where durations have none of this name."""
        of = _FIELDS.get(name)
        return None if of is None else integer_column(of(self), self.null)


def _cut(count: IntArray, size: int) -> IntArray:
    """Divide towards zero."""
    whole: IntArray = np.abs(count) // size * np.sign(count)
    return whole


def _rest(count: IntArray, size: int) -> IntArray:
    return count - size * _cut(count, size)


_FIELDS: dict[str, Callable[[DurationColumn], IntArray]] = {
    "months": lambda value: value.months,
    "days": lambda value: value.days,
    "years": lambda value: _cut(value.months, 12),
    "quarters": lambda value: _cut(value.months, 3),
    "weeks": lambda value: _cut(value.days, 7),
    "hours": lambda value: _cut(value.nanoseconds // SECOND, 3600),
    "minutes": lambda value: _cut(value.nanoseconds // SECOND, 60),
    "seconds": lambda value: value.nanoseconds // SECOND,
    "milliseconds": lambda value: value.nanoseconds // 1_000_000,
    "microseconds": lambda value: value.nanoseconds // 1_000,
    "nanoseconds": lambda value: value.nanoseconds,
    "monthsOfYear": lambda value: _rest(value.months, 12),
    "daysOfWeek": lambda value: _rest(value.days, 7),
    "minutesOfHour": lambda value: _rest(_cut(value.nanoseconds // SECOND, 60), 60),
    "secondsOfMinute": lambda value: _rest(value.nanoseconds // SECOND, 60),
}
"""As ``qengine.temporal.properties`` has them; others are left to the values."""
