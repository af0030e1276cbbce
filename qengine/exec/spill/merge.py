"""The external merge: sorted runs become one order, a part of each in memory at a time (Knuth, TAOCP 3, §5.4).

Blocks are read in the order of their first rows, which stay in memory. Once as many as fit are there, they are ordered
together; what precedes the first row of the next block is ready, the rest waits for that. So each row is ordered about
once, however many runs there are, and a run that has no row to give yet takes no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from qengine._frozen import frozen
from qengine.exec.common.batch import Batch, concatenate_batches
from qengine.exec.common.columns import IntArray
from qengine.exec.context import ExecutionContext
from qengine.exec.memory import Holding
from qengine.exec.spill.rows import SpilledRows, in_blocks, working_of

__all__ = ["SortedRuns"]

Order = Callable[[Batch], IntArray]
"""Returns the rows of a batch in order, ties in the order in which they stand."""

_FEWEST = 2
_FRESH = 4  # of what is in memory, this part at least are new rows, where runs are few enough


@frozen
class _Rows:
    """Sorted rows of the run with this number."""

    run: int
    batch: Batch


class SortedRuns:
    """Sorted runs of one operator's rows, of which earlier ones come first where rows tie.

    Parameters
    ----------
    keys
        The columns that the order reads.
    order
        By which the rows of each run are sorted.
    """

    def __init__(self, keys: Sequence[str], order: Order, context: ExecutionContext, operator: object) -> None:
        self._keys = keys
        self._order = order
        self._context = context
        self._operator = operator
        self._runs: list[SpilledRows] = []

    def __bool__(self) -> bool:
        return bool(self._runs)

    def add(self, rows: Batch) -> None:
        """Write sorted rows as the next run."""
        run = SpilledRows(self._context, self._operator, self._keys)
        self._runs.append(run)
        run.write(rows)

    def merged(self, holding: Holding) -> Iterator[Batch]:
        """Yield all rows in order; ``holding`` is of what is in memory meanwhile."""
        largest = max(run.largest_working for run in self._runs)
        most = max(_FEWEST, int(holding.share() * (_FRESH - 1) / _FRESH // largest))
        while len(self._runs) > most:
            self._runs = [self._joined(self._runs[at : at + most], holding) for at in range(0, len(self._runs), most)]
        yield from self._merge(self._runs, holding)

    def _joined(self, runs: Sequence[SpilledRows], holding: Holding) -> SpilledRows:
        if len(runs) == 1:
            return runs[0]
        whole = SpilledRows(self._context, self._operator, self._keys)
        for batch in self._merge(runs, holding):
            whole.write(batch)
        return whole

    def _merge(self, runs: Sequence[SpilledRows], holding: Holding) -> Iterator[Batch]:
        firsts = concatenate_batches([first for run in runs for first in run.firsts])
        runs_of = np.repeat(np.arange(len(runs)), [len(run.firsts) for run in runs])
        blocks = self._order(firsts)
        sources = [run.batches() for run in runs]
        held: list[_Rows] = []
        at = working = 0
        while at < len(blocks) or held:
            self._context.check()
            share = holding.share()
            fresh = 0
            while at < len(blocks) and (not fresh or working < share):
                run = int(runs_of[blocks[at]])
                held.append(_Rows(run, next(sources[run])))
                working += working_of(held[-1].batch)
                fresh += 1
                at += 1
            held.sort(key=lambda rows: rows.run)
            holding.set(working)
            limit = None if at == len(blocks) else _Rows(int(runs_of[blocks[at]]), firsts.slice(int(blocks[at]), 1))
            rows = sum(each.batch.length for each in held)
            ready, held = self._context.aside(lambda held=held, limit=limit: self._ready(held, limit), rows)  # type: ignore[misc]
            working = sum(working_of(each.batch) for each in held)
            holding.set(ready.nbytes + sum(each.batch.nbytes for each in held))
            yield from in_blocks(ready, self._context)
            del ready
        for source in runs:
            source.remove()
        holding.set(0)

    def _ready(self, held: Sequence[_Rows], limit: _Rows | None) -> tuple[Batch, list[_Rows]]:
        """Return the rows that precede a limit, all where there is none, in order; and what is left of each run."""
        batches = [each.batch for each in held]
        whole = concatenate_batches(batches)
        keys = whole.select(self._keys)
        if limit is None:
            return whole.take(self._order(keys)), []
        before = sum(each.run <= limit.run for each in held)  # rows of these precede the limit where they tie with it
        place = sum(batch.length for batch in batches[:before])
        parts = [keys.slice(0, place), limit.batch, keys.slice(place, keys.length - place)]
        order = self._order(concatenate_batches([part for part in parts if part.length]))
        ready = order[: int(np.flatnonzero(order == place)[0])]
        ready = ready - (ready > place)
        ends = np.cumsum([batch.length for batch in batches])
        taken = np.bincount(np.searchsorted(ends, ready, side="right"), minlength=len(batches)).tolist()
        left = [
            _Rows(each.run, each.batch.slice(count, each.batch.length - count))
            for each, count in zip(held, taken, strict=True)
            if count < each.batch.length
        ]
        return whole.take(ready), left
