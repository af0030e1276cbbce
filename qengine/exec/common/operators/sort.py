"""``Sort``: the whole input in order, or with a limit only as many rows as are asked for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qengine.exec.common.batch import BATCH_ROWS, Batch, concatenate_batches
from qengine.exec.common.batch_parts import evaluated, pieces, working_bytes
from qengine.exec.common.columns import IntArray
from qengine.exec.common.expressions.compiler import Evaluate, compile_expression
from qengine.exec.common.operators.limit import count_of, places_within_rows
from qengine.exec.common.operators.stage import Build, Stage, rows_of
from qengine.exec.common.ordering import lasting_ranks, sort_keys, sorted_rows
from qengine.exec.memory import Holding
from qengine.plan import logical

__all__ = ["sort_stage"]


class _Bound:
    """The greatest first key of the rows that come first so far: rows beyond it are left out before they are held."""

    def __init__(self, evaluate: Evaluate, ascending: bool) -> None:
        self._evaluate = evaluate
        self._ascending = ascending
        self._of: object = None
        self._greatest: int | None = None

    def tighten(self, rows: Batch) -> None:
        """Note the bound of the rows that come first, in their order."""
        if rows_of(rows) is None and (found := self._ranks(rows.slice(rows.length - 1, 1))) is not None:
            self._of, self._greatest = found[0], int(found[1][0])

    def within(self, batch: Batch) -> Batch:
        """Return the rows that aren't beyond the bound."""
        if self._greatest is None or (found := self._ranks(batch)) is None or found[0] != self._of:
            return batch
        kept = np.flatnonzero(found[1] <= self._greatest)
        return batch if len(kept) == batch.length else batch.take(kept)

    def _ranks(self, batch: Batch) -> tuple[object, IntArray] | None:
        return lasting_ranks(self._evaluate(batch), ascending=self._ascending)


def sort_stage(operator: logical.Sort, build: Build, first: int) -> Stage:
    """Emit the input rows in order. Holds all of them; with a limit at most a few times as many as it says."""
    runtime = build.runtime
    memory = runtime.memory
    upstream = build(operator.input)
    keys = [(compile_expression(key.expr, runtime), key.ascending) for key in operator.keys]
    limit = None if operator.limit is None else count_of(operator.limit, "LIMIT", runtime)

    def ordered(batch: Batch, holding: Holding) -> Batch:
        columns = [evaluated(batch, evaluate, memory, holding) for evaluate, _ in keys]
        if memory.limit is not None:
            holding.also(working_bytes({id(column): column for column in (*columns, *batch.columns.values())}.values()))
        arrays = sort_keys(list(zip(columns, (ascending for _, ascending in keys), strict=True)))
        rows = rows_of(batch)
        if rows is None or limit is None:
            return batch.take(sorted_rows(arrays, batch.length, limit))
        order: IntArray = sorted_rows(arrays, batch.length)
        seen = np.zeros(int(rows.max()) + 1, dtype=np.int64)
        return batch.take(order[places_within_rows(rows[order], seen) < limit])

    def ordered_aside(held: list[Batch], holding: Holding, rows: int) -> Batch:
        """Return the rows of some batches in order; the list is empty afterwards."""
        holding.also(holding.bytes)  # the rows in one piece

        def compute() -> Batch:
            whole = concatenate_batches(held)
            held.clear()
            return ordered(whole, holding)

        return runtime.context.aside(compute, rows)

    def run(outer: Batch) -> Iterator[Batch]:
        if limit == 0:
            return
        held: list[Batch] = []
        rows, last, last_bytes = 0, 0, 0
        bound = _Bound(*keys[0]) if limit is not None and keys else None
        with memory.holding("Sort") as holding:
            for found in upstream(outer):
                runtime.context.check()
                batch = found if bound is None else bound.within(found)
                if not batch.length:
                    continue
                held.append(batch)
                rows += batch.length
                holding.add(batch.nbytes)
                many = rows > 2 * last + BATCH_ROWS or holding.bytes > 2 * (last_bytes + memory.batch_bytes)
                if limit is not None and many and len(held) > 1:
                    held = [ordered_aside(held, holding, rows)]
                    rows = last = held[0].length
                    last_bytes = held[0].nbytes
                    if bound is not None and last == limit:
                        bound.tighten(held[0])
                    holding.set(last_bytes)
            if not held:
                return
            whole = ordered_aside(held, holding, rows)
            holding.set(whole.nbytes)
            for offset, length in pieces(whole.length, BATCH_ROWS):
                yield whole.slice(offset, length)

    return run
