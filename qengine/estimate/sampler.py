"""Samples of one target: the native sampler, and what the plan's tail makes of the sampled embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from qengine.estimate.kernel import Draw, draw, trawl
from qengine.estimate.result import Sums
from qengine.estimate.space import Space
from qengine.estimate.target import SAMPLE, Target
from qengine.exec.context import ExecutionContext
from qengine.exec.cpu.batch import BATCH_ROWS, Batch
from qengine.exec.cpu.columns import ArrowColumn, Column, ConstantColumn, NodeColumn, RelationshipColumn, integer_column
from qengine.exec.cpu.pipeline import continue_from
from qengine.plan.physical import VertexLevel

__all__ = ["PatternSampler", "Sampler", "TrawlingSampler"]


_LEAST_DEPTH = 3
"""A shorter prefix is never trawled from (gSWORD §5)."""

_MOST_WORK = 1 << 18
"""Ids that counting the completions of one prefix may read: about 0.1 ms."""


class Sampler(Protocol):
    """Draws numbered samples, each an unbiased estimate by itself.

    ``batch``: how many samples are worth a call.
    """

    name: str
    batch: int

    def draw(self, first: int, samples: int) -> Sums:
        """Return the sums of samples ``[first, first + samples)``; the same for every number of threads."""


@dataclass
class _Samples:
    """What is sampled, and how far it may go. ``seed``: of the samples' random numbers."""

    _target: Target
    _space: Space
    _context: ExecutionContext
    _seed: int


@dataclass
class PatternSampler(_Samples):
    """Samples a target's search over its matching order, by WanderJoin, Alley, or Alley with guided picks.

    ``name``: "wanderjoin", "alley", or "guided", which takes a space with a candidate graph.
    """

    _store: Any
    name: str
    batch: int = 4_096

    def draw(self, first: int, samples: int) -> Sums:
        """Return the sums of samples ``[first, first + samples)``, orbits included.

        Raises
        ------
        QueryTimeout, QueryInterrupted, OutOfMemory
            By the context's limits.
        ExecutionError
            Where a value makes the tail fail.
        """
        target = self._target
        if target.tail is None:
            return self._native(first, samples, rows=False).sums.scaled(target.search.orbits)
        total = Sums()
        for begin in range(first, first + samples, BATCH_ROWS):
            n = min(BATCH_ROWS, first + samples - begin)
            total += self._through_tail(self._native(begin, n, rows=True))
        return total.scaled(target.search.orbits)

    def _native(self, first: int, samples: int, rows: bool) -> Draw:
        guided = self.name == "guided"
        return draw(
            self._space.plan,
            "alley" if guided else self.name,
            self._context,
            depth=len(self._target.search.levels),
            seed=self._seed,
            first=first,
            samples=samples,
            rows=rows,
            guide=self._space.guide if guided else None,
        )

    def _through_tail(self, found: Draw) -> Sums:
        """Multiply each embedding's weight by the rows that the tail makes of it."""
        assert found.rows is not None and found.weights is not None and self._target.tail is not None
        n = len(found.rows)
        times = np.zeros(n, np.float64)
        if n:
            for batch in continue_from(self._target.tail, self._batch(found.rows), self._store, self._context):
                rows = _integers(batch.columns[SAMPLE])
                weight = self._target.weight
                counts = None if weight is None else _integers(batch.columns[weight])
                times += np.bincount(rows, counts, minlength=n)
        weights = found.weights * times
        hits = int(np.count_nonzero(weights))
        return Sums(found.sums.samples, hits, float(weights.sum()), float(np.square(weights).sum()), found.sums.work)

    def _batch(self, rows: npt.NDArray[np.int64]) -> Batch:
        columns: dict[str, Column] = {}
        for index, level in enumerate(self._target.search.levels):
            kind = NodeColumn if isinstance(level, VertexLevel) else RelationshipColumn
            columns[level.name] = kind(np.ascontiguousarray(rows[:, index]))
        for name in self._target.ones:
            columns[name] = ConstantColumn(1, len(rows))
        columns[SAMPLE] = integer_column(np.arange(len(rows), dtype=np.int64))
        return Batch(len(rows), columns)


class TrawlingSampler(_Samples):
    """Samples prefixes of a target's search, guided where it can, and counts their completions; without a tail."""

    name = "trawling"
    batch = 64

    def draw(self, first: int, samples: int) -> Sums:
        """Return the sums of samples ``[first, first + samples)``, orbits included.

        Raises
        ------
        QueryTimeout, QueryInterrupted, OutOfMemory
            By the context's limits.
        """
        found = trawl(
            self._space.plan,
            self._context,
            least=_LEAST_DEPTH,
            seed=self._seed,
            first=first,
            samples=samples,
            most_work=_MOST_WORK,
            guide=self._space.guide,
        )
        return found.scaled(self._target.search.orbits)


def _integers(column: Column) -> npt.NDArray[np.int64]:
    if isinstance(column, ConstantColumn):
        return np.full(len(column), column.value, np.int64)
    assert isinstance(column, ArrowColumn)
    found: npt.NDArray[np.int64] = column.array.to_numpy(zero_copy_only=False)
    return found
