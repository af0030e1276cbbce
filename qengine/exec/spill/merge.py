"""The external merge: sorted runs become one order, a part of each in memory at a time (Knuth, TAOCP 3, §5.4).

Blocks are read in the order of their first rows, which each run has in a file of its own. Once as many as fit are
there, they are ordered together; what precedes the first row of the next block is ready, the rest waits for that. So
each row is ordered about once, however many runs there are. Of a run there is at most a block in memory that waits, and
a block of first rows: as many runs are merged at once as these leave room for, which are few where rows are long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from qengine._frozen import frozen
from qengine.exec.common.batch import Batch, concatenate_batches
from qengine.exec.common.columns import IntArray
from qengine.exec.context import ExecutionContext
from qengine.exec.memory import Holding
from qengine.exec.spill.rows import SpilledRows, block_bytes, in_blocks, working_of

Order = Callable[[Batch], IntArray]
"""Returns the rows of a batch in order, ties in the order in which they stand."""

_FIRST = np.zeros(1, np.int64)
_FEWEST = 2
_FRESH = 4  # of what is in memory, this part at least are new rows, where runs are few enough


@frozen
class _Rows:
    """Sorted rows of the run with this number."""

    run: int
    batch: Batch


@frozen
class _Next:
    """The block that comes next: the number of its run, and where the keys of its first row are."""

    run: int
    keys: Batch
    row: int


class _Run:
    """Sorted rows in a file, and in another the first row of each block, of the keys alone."""

    def __init__(self, keys: Sequence[str], context: ExecutionContext, operator: object) -> None:
        self.rows = SpilledRows(context, operator)
        self.firsts = SpilledRows(context, operator)
        self._keys = keys
        self._context = context

    def write(self, batches: Iterable[Batch]) -> None:
        """Write all rows, in order."""
        firsts: list[Batch] = []
        size = 0
        for batch in batches:
            for part in in_blocks(batch, self._context):
                self.rows.append(part)
                firsts.append(part.select(self._keys).take(_FIRST))
                size += firsts[-1].nbytes
                if size >= block_bytes(self._context):
                    self.firsts.append(concatenate_batches(firsts))
                    firsts, size = [], 0
        if firsts:
            self.firsts.append(concatenate_batches(firsts))

    @property
    def working(self) -> int:
        """Bytes that it takes at most while it is merged."""
        return self.rows.largest_working + self.firsts.largest_working

    def remove(self) -> None:
        """Remove the files."""
        self.rows.remove()
        self.firsts.remove()


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
        self._runs: list[_Run] = []

    def __bool__(self) -> bool:
        return bool(self._runs)

    def add(self, rows: Batch, holding: Holding) -> None:
        """Write sorted rows as the next run; ``holding``, of these, is empty afterwards.

        Raises
        ------
        OutOfMemory
            Where the limit leaves no room to merge two runs with rows as long as these.
        """
        self._runs.append(self._written(iter((rows,))))
        holding.set(0)
        if len(self._runs) > 1:
            holding.also(_FEWEST * self._runs[-1].working)

    def merged(self, holding: Holding) -> Iterator[Batch]:
        """Yield all rows in order; ``holding`` is of what is in memory meanwhile.

        Raises
        ------
        OutOfMemory
            Where the limit leaves no room to merge two runs.
        """
        largest = max(run.working for run in self._runs)
        most = max(_FEWEST, int(holding.share() * (_FRESH - 1) / _FRESH // largest))
        holding.also(min(most, len(self._runs)) * largest)
        while len(self._runs) > most:
            self._runs = [self._joined(self._runs[at : at + most], holding) for at in range(0, len(self._runs), most)]
        yield from self._merge(self._runs, holding)

    def _written(self, batches: Iterable[Batch]) -> _Run:
        run = _Run(self._keys, self._context, self._operator)
        run.write(batches)
        return run

    def _joined(self, runs: Sequence[_Run], holding: Holding) -> _Run:
        return runs[0] if len(runs) == 1 else self._written(self._merge(runs, holding))

    def _merge(self, runs: Sequence[_Run], holding: Holding) -> Iterator[Batch]:
        sources = [run.rows.batches() for run in runs]
        blocks = self._blocks(runs)
        following = next(blocks, None)
        held: list[_Rows] = []
        working = 0
        while following is not None or held:
            self._context.check()
            share = holding.share()
            fresh = 0
            while following is not None and (not fresh or working < share):
                held.append(_Rows(following.run, next(sources[following.run])))
                working += working_of(held[-1].batch)
                fresh += 1
                following = next(blocks, None)
            held.sort(key=lambda rows: rows.run)
            holding.set(working)
            limit = None if following is None else _Rows(following.run, following.keys.slice(following.row, 1))
            rows = sum(each.batch.length for each in held)
            ready, held = self._context.aside(lambda held=held, limit=limit: self._ready(held, limit), rows)  # type: ignore[misc]
            working = sum(working_of(each.batch) for each in held)
            holding.set(ready.nbytes + sum(each.batch.nbytes for each in held))
            yield from in_blocks(ready, self._context)
            del ready
        for run in runs:
            run.remove()
        holding.set(0)

    def _blocks(self, runs: Sequence[_Run]) -> Iterator[_Next]:
        """Yield the blocks of runs in the order of their first rows, a block of which is in memory of each run."""
        sources = [run.firsts.batches(again=True) for run in runs]
        left = [run.firsts.blocks - 1 for run in runs]  # of first rows, those that aren't read yet
        held = [next(source) for source in sources]
        while any(each.length for each in held):
            keys = concatenate_batches([each for each in held if each.length])
            owners = np.repeat(np.arange(len(held)), [each.length for each in held])
            order = self._order(keys)
            ends = np.cumsum([each.length for each in held]) - 1
            last = np.isin(order, [end for end, more in zip(ends.tolist(), left, strict=True) if more])
            count = int(np.argmax(last)) + 1 if last.any() else len(order)
            ready = order[:count]
            for run, row in zip(owners[ready].tolist(), ready.tolist(), strict=True):
                yield _Next(run, keys, row)
            del keys
            for run, taken in enumerate(np.bincount(owners[ready], minlength=len(held)).tolist()):
                held[run] = held[run].slice(taken, held[run].length - taken)
                if not held[run].length and left[run]:
                    held[run] = next(sources[run])
                    left[run] -= 1

    def _ready(self, held: Sequence[_Rows], limit: _Rows | None) -> tuple[Batch, list[_Rows]]:
        """Return the rows that precede a limit, all where there is none, in order; and what is left of each run."""
        batches = [each.batch for each in held]
        keys = [batch.select(self._keys) for batch in batches]
        if limit is None:
            order = self._order(concatenate_batches(keys))
            return concatenate_batches(batches).take(order), []
        before = sum(each.run <= limit.run for each in held)  # rows of these precede the limit where they tie with it
        place = sum(batch.length for batch in batches[:before])
        order = self._order(concatenate_batches([*keys[:before], limit.batch, *keys[before:]]))
        ready = order[: int(np.flatnonzero(order == place)[0])]
        ready = ready - (ready > place)
        ends = np.cumsum([batch.length for batch in batches])
        taken = np.bincount(np.searchsorted(ends, ready, side="right"), minlength=len(batches)).tolist()
        left = [
            _Rows(each.run, each.batch.slice(count, each.batch.length - count))
            for each, count in zip(held, taken, strict=True)
            if count < each.batch.length
        ]
        return concatenate_batches(batches).take(ready), left
