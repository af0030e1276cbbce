"""Evaluates an expression row by row, and gives what it found as a column."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice, repeat
from typing import Any

import numpy as np

from qengine._cached import cached_property
from qengine.exec.common.columns import Column, ConstantColumn, IntArray, ObjectColumn, concatenate, from_values
from qengine.exec.common.expressions.growth import object_bytes
from qengine.exec.common.runtime import Runtime
from qengine.exec.memory import ListBytes, Oversized
from qengine.exec.scalar import evaluate as scalar
from qengine.plan import expr as x
from qengine.plan.traverse import is_repeatable

_FEW = 63  # rows, but for one, that are counted at a time
_LEAST_REPEATED = 16  # rows that are looked through for the same ones
_LEAST_TIMES = 2  # how often each must be there on average
_CHECKED_ROWS = 1024  # rows between two looks at the clock; fewer where they take long
_CHECKED_SECONDS = 0.005
_CHECKED_ITEMS = 1 << 17  # items of lists that become a column at a time


class ByRow:
    """The row-wise evaluator behind an expression, which ``make`` returns; compiled when first needed."""

    def __init__(self, make: Callable[[], x.Expr], runtime: Runtime) -> None:
        self._make = make
        self._runtime = runtime

    @cached_property
    def _expr(self) -> x.Expr:
        return self._make()

    @cached_property
    def _charges(self) -> bool:
        return self._runtime.memory.limit is not None and scalar.charges(self._expr)

    @cached_property
    def function(self) -> Callable[[Any], Any]:
        """The evaluator of one row."""
        return scalar.compile(self._expr, self._runtime.environment)

    def __call__(self, columns: dict[str, Column], length: int) -> Column:
        """Return the values of rows; errors, limits and the clock as in ``exec.scalar``."""
        memory = self._runtime.memory
        if memory.limit is not None:
            memory.room(length, sum(map(object_bytes, columns.values())))
        names = list(columns)
        if length >= _LEAST_REPEATED and (rows_alike := self._alike(columns)) is not None:
            first, alike = rows_alike
            return self({name: column.take(first) for name, column in columns.items()}, len(first)).take(alike)
        values = zip(*(column.values() for column in columns.values()), strict=True) if names else repeat((), length)
        rows = (dict(zip(names, row, strict=True)) for row in values)
        if self._charges:
            return self._charged(rows, length)
        function, check = self.function, self._runtime.context.check
        results: list[Any] = []
        columns_done: list[Column] = []
        done = items = 0
        size = 1
        while done < length:
            check()
            begin = time.perf_counter()
            some = list(map(function, islice(rows, size)))
            results += some
            done += len(some)
            items += sum(len(value) for value in some if type(value) is list)
            if items > _CHECKED_ITEMS:
                columns_done.append(from_values(results))
                results, items = [], 0
            late = time.perf_counter() - begin > _CHECKED_SECONDS
            size = max(1, size // 4) if late else min(_CHECKED_ROWS, size * 2)
        last = from_values(results)
        return concatenate([*columns_done, last]) if columns_done else last

    @cached_property
    def _repeatable(self) -> bool:
        return is_repeatable(self._expr)

    def _alike(self, columns: dict[str, Column]) -> tuple[IntArray, IntArray] | None:
        """Return the first of the rows that have the same Python objects, and for each row the place of its own.

        None where few are the same: values that an earlier clause gives stand in many rows, each time as one object.
        """
        held = [column for column in columns.values() if isinstance(column, ObjectColumn)]
        if not held or self._charges or not self._repeatable:
            return None
        if any(not isinstance(column, ObjectColumn | ConstantColumn) for column in columns.values()):
            return None
        if len(held) == 1 and held[0].shared is not None:
            _, first, places = np.unique(held[0].shared[1], return_index=True, return_inverse=True)
            return first.astype(np.int64), places.astype(np.int64)
        found: dict[tuple[int, ...], int] = {}
        alike = [
            found.setdefault(key, len(found)) for key in zip(*(map(id, each.objects) for each in held), strict=True)
        ]
        if len(found) * _LEAST_TIMES > len(alike):
            return None
        places = np.array(alike, np.int64)
        return np.unique(places, return_index=True)[1].astype(np.int64), places

    def _charged(self, rows: Iterator[dict[str, Any]], length: int) -> Column:
        """Evaluate an expression that charges values, as many rows as may stand in one batch."""
        memory, function = self._runtime.memory, self.function
        results: list[Any] = []
        retained = ListBytes(results)
        allowed = memory.batch_bytes if length > 1 else memory.batch_bytes // 4
        loop = memory.loop(retained)
        try:
            full = loop.mark + allowed
            for place, row in enumerate(rows):
                if place & _FEW == _FEW:
                    memory.steps(_FEW + 1)
                results.append(function(row))
                loop.begun = charged = memory.charged
                if charged > full:
                    held = retained()
                    if held > allowed and length > 1:
                        raise Oversized(len(results))
                    memory.charged = loop.begun = loop.mark + held
                    full = memory.charged + allowed
        finally:
            memory.close(loop)
        if memory.charged > loop.mark + allowed:  # of one row: a column of another form would be a copy
            return ObjectColumn(results)
        return from_values(results)
