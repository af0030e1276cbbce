"""Samples of one target: the native sampler, and what the plan's tail makes of the sampled embeddings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from qengine._cached import cached_property
from qengine.estimate.kernel import Draw, SampleRange, draw, trawl
from qengine.estimate.prior import ENOUGH_HITS
from qengine.estimate.result import Sums
from qengine.estimate.space import Space
from qengine.estimate.target import SAMPLE, Target
from qengine.exec.common.batch import BATCH_ROWS, Batch
from qengine.exec.common.columns import (
    ArrowColumn,
    Column,
    ConstantColumn,
    NodeColumn,
    RelationshipColumn,
    integer_column,
)
from qengine.exec.common.pipeline import continuing
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView
from qengine.plan.physical import VertexLevel

LEAST_DEPTH = 3
"""A shorter prefix is never trawled from (gSWORD §5)."""

MOST_WORK = 1 << 20
"""Ids that counting the completions of one haul may read: some tenths of a millisecond to a few."""


class Sampler(Protocol):
    """Draws numbered samples, each an unbiased estimate by itself.

    ``batch``: how many samples are worth a call.
    """

    name: str
    batch: int

    @property
    def soon(self) -> int:
        """How many samples are worth a call where time is short."""

    def draw(self, first: int, samples: int) -> Sums:
        """Return the sums of samples ``[first, first + samples)``; the same for every number of threads."""


@dataclass
class _Samples:
    """What is sampled, and how far it may go. ``seed``: of the samples' random numbers."""

    target: Target
    space: Space
    context: ExecutionContext
    seed: int


@dataclass
class PatternSampler(_Samples):
    """Samples a target's search over its matching order, by WanderJoin, Alley, or Alley with guided picks.

    ``name``: "wanderjoin", "alley", or "guided", which takes a space with a candidate graph.
    """

    _store: ExecView
    name: str
    batch: int = 4_096
    bare: Sums = field(default_factory=Sums)
    """Of all samples so far, before the tail leaves any out."""

    @property
    def soon(self) -> int:
        """Running a tail takes as long as a few hundred samples do."""
        return 16 if self.target.tail is None else 512

    @property
    def exposure(self) -> float | None:
        """How often each embedding was sampled so far, whatever the tail makes of it; None where that isn't known."""
        bare = self.bare.scaled(self.target.search.orbits)
        return bare.effective_hits / bare.mean if bare.effective_hits >= ENOUGH_HITS else None

    def draw(self, first: int, samples: int) -> Sums:
        """Return the sums of samples ``[first, first + samples)``, orbits included.

        Raises
        ------
        ExecutionError
            Where a value makes the tail fail.
        """
        target = self.target
        if target.tail is None:
            return self._native(first, samples, rows=False).sums.scaled(target.search.orbits)
        total = Sums()
        for begin in range(first, first + samples, BATCH_ROWS):
            n = min(BATCH_ROWS, first + samples - begin)
            total += self._through_tail(self._native(begin, n, rows=True))
        return total.scaled(target.search.orbits)

    def rows(self, first: int, samples: int) -> tuple[Sums, list[Batch], npt.NDArray[np.float64]]:
        """Return what samples ``[first, first + samples)`` are after the tail, and what each of these rows weighs.

        The sums are of rows, orbits included; those columns are there that the tail emits.
        """
        found = self._native(first, samples, rows=True)
        assert found.rows is not None and found.weights is not None
        weights = found.weights * self.target.search.orbits
        batches = list(self._tail(self._batch(found.rows))) if len(found.rows) else []
        of = [_integers(batch.columns[SAMPLE]) for batch in batches]
        every = weights[np.concatenate(of)] if of else np.zeros(0)
        each = np.bincount(np.concatenate(of), every, minlength=len(weights)) if of else np.zeros(0)
        hits = int(np.count_nonzero(each))
        return Sums(samples, hits, float(each.sum()), float(np.square(each).sum()), found.sums.work), batches, every

    def _native(self, first: int, samples: int, rows: bool) -> Draw:
        guided = self.name == "guided"
        return draw(
            self.space.plan,
            "alley" if guided else self.name,
            self.context,
            SampleRange(self.seed, first, samples),
            depth=len(self.target.search.levels),
            rows=rows,
            guide=self.space.guide if guided else None,
        )

    def _through_tail(self, found: Draw) -> Sums:
        """Multiply each embedding's weight by the rows that the tail makes of it."""
        assert found.rows is not None and found.weights is not None and self.target.tail is not None
        n = len(found.rows)
        times = np.zeros(n, np.float64)
        if n:
            for batch in self._tail(self._batch(found.rows)):
                rows = _integers(batch.columns[SAMPLE])
                weight = self.target.weight
                counts = None if weight is None else _integers(batch.columns[weight])
                times += np.bincount(rows, counts, minlength=n)
        self.bare += found.sums
        weights = found.weights * times
        hits = int(np.count_nonzero(weights))
        return Sums(found.sums.samples, hits, float(weights.sum()), float(np.square(weights).sum()), found.sums.work)

    @cached_property
    def _tail(self) -> Callable[[Batch], Iterator[Batch]]:
        assert self.target.tail is not None
        return continuing(self.target.tail, self._store, self.context)

    def _batch(self, rows: npt.NDArray[np.int64]) -> Batch:
        columns: dict[str, Column] = {}
        for index, level in enumerate(self.target.search.levels):
            kind = NodeColumn if isinstance(level, VertexLevel) else RelationshipColumn
            columns[level.name] = kind(np.ascontiguousarray(rows[:, index]))
        for name in self.target.ones:
            columns[name] = ConstantColumn(1, len(rows))
        columns[SAMPLE] = integer_column(np.arange(len(rows), dtype=np.int64))
        return Batch(len(rows), columns)


@dataclass
class TrawlingSampler(_Samples):
    """Samples prefixes of a target's search, and counts their completions; without a tail.

    Its samples are hauls of ``HAUL_WALKS`` prefixes each, whose completions read up to ``most_work`` ids. ``guided``:
    whether their picks are; the space then has a candidate graph. ``skipped``: hauls of the seed that are never drawn.
    """

    guided: bool
    skipped: int = 0
    most_work: int = MOST_WORK
    name = "trawling"
    batch = 16
    soon = 2

    def draw(self, first: int, samples: int) -> Sums:
        """Return the sums of hauls ``[first, first + samples)``, orbits included."""
        return self._trawl(self.skipped + first, samples).scaled(self.target.search.orbits)

    def _trawl(
        self, first: int, hauls: int, prefixes: tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]] | None = None
    ) -> Sums:
        return trawl(
            self.space.plan,
            self.context,
            SampleRange(self.seed, first, hauls),
            least=LEAST_DEPTH,
            most_work=self.most_work,
            guide=self.space.guide if self.guided else None,
            prefixes=prefixes,
        )


def _integers(column: Column) -> npt.NDArray[np.int64]:
    if isinstance(column, ConstantColumn):
        return np.full(len(column), column.value, np.int64)
    assert isinstance(column, ArrowColumn)
    found: npt.NDArray[np.int64] = column.array.to_numpy(zero_copy_only=False)
    return found
