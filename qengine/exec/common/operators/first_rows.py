"""Which rows can be among the first of an order: told of each batch by the keys alone, before anything else is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

import numpy as np

from qengine.exec.common.batch import Batch
from qengine.exec.common.batch_parts import by_parts, working_bytes
from qengine.exec.common.columns import Column, IntArray
from qengine.exec.common.dealing import deal
from qengine.exec.common.expressions.compiler import Evaluate
from qengine.exec.common.operators.diverted_first_rows import DivertedFirstRows
from qengine.exec.common.operators.first_on_device import FirstOnDevice
from qengine.exec.common.operators.stage import Build, Stage, rows_of
from qengine.exec.common.ordering import kth_least, lasting_ranks, sort_keys
from qengine.exec.context import ExecutionContext
from qengine.plan.logical import Operator

_FEW_TIES = 1024  # rows that are cheaper to keep than to look at by another key


class FirstRows:
    """The rows of batches that can be among the first ``limit``, by their keys, the most significant first.

    Each key is evaluated for the rows that those before it leave undecided.

    Parameters
    ----------
    keys
        Each with whether it is ascending, and the columns that it reads. None of them can fail, for not every row is
        looked at.
    sooner
        Leaves out rows as a search finds them; None where that can't be.
    """

    def __init__(
        self,
        keys: Sequence[tuple[Evaluate, bool, frozenset[str]]],
        limit: int,
        context: ExecutionContext,
        sooner: DivertedFirstRows | FirstOnDevice | None = None,
    ) -> None:
        self._keys = list(keys)
        self._limit = limit
        self._context = context
        self._memory = context.memory
        self._sooner = sooner
        self._bounds: list[tuple[object, int]] = []

    def stage(self, operator: Operator, build: Build) -> Stage:
        """Emit the rows of an operator that can be among the first."""
        if self._sooner is None:
            upstream = build(operator)
            return lambda outer: self.of(upstream(outer))
        sooner = self._sooner
        return lambda outer: self.of(sooner.batches(outer))

    def tighten(self, last: Sequence[Column]) -> None:
        """Note the keys of the last one, a row, of as many rows as are wanted: whoever comes after it is left out."""
        self._bounds = []
        for column, (_, ascending, _) in zip(last, self._keys, strict=True):
            found = lasting_ranks(column, ascending=ascending)
            if found is None:
                return
            self._bounds.append((found[0], int(found[1][0])))

    def of(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the rows of batches that can be among the first; all that belong to outer rows."""
        for batch in batches:
            if rows_of(batch) is not None:
                yield batch
                continue
            together = [batch, *self._more(batches)]
            parts: dict[int, list[tuple[Batch, IntArray]]] = {}
            deal(partial(self._found, together, parts), range(len(together)), self._context)
            for place in range(len(together)):
                for part, kept in parts.pop(place):
                    if len(kept):
                        yield part if len(kept) == part.length else part.take(kept)

    def _more(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Return batches that threads look at together with another one: once a bound leaves out most of their rows."""
        others = self._context.threads - 1 if self._bounds and self._memory.limit is None else 0
        return islice(batches, others)

    def _found(self, batches: Sequence[Batch], parts: dict[int, list[tuple[Batch, IntArray]]], place: int) -> None:
        self._context.check()
        parts[place] = list(by_parts(batches[place], self._kept, self._memory))

    def _kept(self, batch: Batch) -> IntArray:
        rows = self._within(batch) if self._bounds else np.arange(batch.length, dtype=np.int64)
        return rows if len(rows) <= 2 * self._limit else self._few(batch, rows)

    def _within(self, batch: Batch) -> IntArray:
        """Return the rows that don't come after the bound."""
        rows, kept = np.arange(batch.length, dtype=np.int64), []
        for (evaluate, ascending, reads), (of, bound) in zip(self._keys, self._bounds, strict=False):
            found = lasting_ranks(self._column(evaluate, reads, batch, rows), ascending=ascending)
            if found is None or found[0] != of:
                break
            within = np.flatnonzero(found[1] <= bound)
            ranks, rows = found[1][within], rows[within]
            if len(rows) <= _FEW_TIES:
                break
            if len(before := np.flatnonzero(ranks < bound)):
                kept.append(rows[before])
                rows = rows[np.flatnonzero(ranks == bound)]
        return np.sort(np.concatenate([*kept, rows])) if kept else rows

    def _few(self, batch: Batch, rows: IntArray) -> IntArray:
        """Return the first of some rows: as many as are wanted, ties in the order in which they came."""
        left, kept = self._limit, []
        for evaluate, ascending, reads in self._keys:
            if len(rows) <= left:
                break
            places = np.arange(len(rows), dtype=np.int64)  # of those that tie
            for ranks in sort_keys([(self._column(evaluate, reads, batch, rows), ascending)]):
                found = ranks[places]
                bound = kth_least(found, left - 1)
                first = places[np.flatnonzero(found < bound)]
                kept.append(rows[first])
                left -= len(first)
                places = places[np.flatnonzero(found == bound)]
            rows = rows[places]
        return np.sort(np.concatenate([*kept, rows[:left]]))

    def _column(self, evaluate: Evaluate, reads: frozenset[str], batch: Batch, rows: IntArray) -> Column:
        read = batch.select(name for name in batch.columns if name in reads)
        column = evaluate(read if len(rows) == batch.length else read.take(rows))
        if self._memory.limit is not None:
            with self._memory.holding("Sort") as holding:
                holding.also(working_bytes([column]))
        return column
