"""The external merge: sorted runs become one order, a part of each in memory at a time (Knuth, TAOCP 3, §5.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from qengine.exec.common.batch import Batch, concatenate_batches
from qengine.exec.common.batch_parts import working_bytes
from qengine.exec.common.columns import IntArray
from qengine.exec.context import ExecutionContext
from qengine.exec.memory import Holding
from qengine.exec.spill.rows import SpilledRows, block_bytes

__all__ = ["SortedRuns"]

Order = Callable[[Batch], IntArray]
"""Returns the rows of a batch in order, ties in the order in which they stand."""

_WORKING = 8  # blocks' bytes that merging one takes: itself, in one piece, ordered, and the numbers of its rows
_FEWEST = 2


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
        run = SpilledRows(self._context, self._operator)
        self._runs.append(run)
        run.write(rows)

    def merged(self, holding: Holding) -> Iterator[Batch]:
        """Yield all rows in order; ``holding`` is of what is in memory meanwhile."""
        most = max(_FEWEST, int(holding.share() // (_WORKING * block_bytes(self._context))))
        while len(self._runs) > most:
            self._runs = [self._joined(self._runs[at : at + most], holding) for at in range(0, len(self._runs), most)]
        yield from self._merge(self._runs, holding)

    def _joined(self, runs: Sequence[SpilledRows], holding: Holding) -> SpilledRows:
        if len(runs) == 1:
            return runs[0]
        whole = SpilledRows(self._context, self._operator)
        for batch in self._merge(runs, holding):
            whole.write(batch)
        return whole

    def _merge(self, runs: Sequence[SpilledRows], holding: Holding) -> Iterator[Batch]:
        sources = [run.batches() for run in runs]
        heads: list[Batch | None] = [next(source, None) for source in sources]
        while any(heads):
            self._context.check()
            places = self._first_to_end(heads)
            parts = [heads[place] for place in places]
            batches = [part for part in parts if part is not None]
            holding.set(sum(head.nbytes for head in heads if head is not None))
            ready, left = self._ready(batches, holding)
            for place, rows in zip(places, left, strict=True):
                head = heads[place]
                assert head is not None
                taken = head.length - rows
                heads[place] = head.slice(taken, rows) if rows else next(sources[place], None)
            yield ready
        holding.set(0)

    def _first_to_end(self, heads: Sequence[Batch | None]) -> list[int]:
        """Return which heads have rows before the end of the head that ends first: the others can wait."""
        places = [place for place, head in enumerate(heads) if head is not None]
        ends = []
        for place in places:
            head = heads[place]
            assert head is not None
            keys = head.select(self._keys)
            ends += [keys.slice(0, 1), keys.slice(head.length - 1, 1)]
        order = self._order(concatenate_batches(ends))
        last = int(np.flatnonzero(order % 2)[0])  # odd rows are ends
        return sorted(places[int(row) // 2] for row in order[: last + 1] if row % 2 == 0)

    def _ready(self, batches: Sequence[Batch], holding: Holding) -> tuple[Batch, list[int]]:
        """Return the rows of some heads, up to the end of the one that ends first, and how many each has left."""
        holding.also(sum(working_bytes(batch.columns.values()) for batch in batches))
        whole = concatenate_batches(batches)
        order = self._order(whole)
        bounds = np.cumsum([batch.length for batch in batches])
        place = np.empty(whole.length, dtype=np.int64)
        place[order] = np.arange(whole.length, dtype=np.int64)
        count = int(place[bounds - 1].min()) + 1
        left = np.add.reduceat(place >= count, [0, *bounds[:-1]], dtype=np.int64)
        return whole.take(order[:count]), left.tolist()
