"""Counting by slices: exact once all are counted, until then a sample of them that says how far it may be off.

The first slices tell whether it pays to go on, so they can't stand for the others: where a heavy one is among them, it
looks as if it didn't. They count for themselves alone, and so does the slice that was under way when they were looked
at, which is rather a heavy one. What comes then is a random sample of the others, whatever the first ones were, and
until time is over, of which the mean of those that are done is unbiased: they are as likely in any order.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from qengine.estimate.kernel import SampleRange, count_slices
from qengine.estimate.result import Sums
from qengine.estimate.space import Space
from qengine.estimate.target import Target
from qengine.exec.context import ExecutionContext

_MOST_SLICES, _VERTICES = 256, 32
"""Slices at most, and vertices of each at least: of few vertices one may have most of all embeddings."""

_ENOUGH, _MOST_SPREAD, _HANDICAP = 16, 4.0, 2.0
"""Slices that tell how much slices differ, and their relative variance from which they aren't trusted: those that are
counted in a given time tend to be the light ones. How much better than samples they must look."""


@dataclass
class SliceCount:
    """A count of a target without a tail, as far as it has come.

    ``number``: of slices. ``counted``: a sample for each slice that was counted; ``seconds``: what they took, by the
    clock. ``first``: of these, those that were looked at to decide whether to go on; None: nothing was decided.
    """

    target: Target
    space: Space
    context: ExecutionContext
    seed: int
    counted: Sums = field(default_factory=Sums)
    seconds: float = 0.0
    first: Sums | None = None
    name = "slices"

    def __post_init__(self) -> None:
        roots = self.space.roots
        self.number = max(1, min(_MOST_SLICES, roots // _VERTICES))

    @property
    def complete(self) -> bool:
        """Whether all slices are counted."""
        return self.counted.samples == self.number

    @property
    def total(self) -> float:
        """Embeddings of the slices that are counted: of all, once these are."""
        return self.counted.weight * self.target.search.orbits

    @property
    def share(self) -> float:
        """Which share of the slices is counted."""
        return self.counted.samples / self.number

    def go_on(self, work: int) -> bool:
        """Count more slices, as far as ``work`` ids and the context's time reach; return whether all are counted.

        Raises
        ------
        QueryInterrupted, OutOfMemory
            By the context's limits. A timeout is for the caller to check.
        """
        begin = time.perf_counter()
        self._count(work)
        self.seconds += time.perf_counter() - begin
        return self.complete

    def sample_others(self, work: int) -> bool:
        """Go on as ``go_on``, now that the slices so far have decided that: the others are a sample of what is left."""
        begin = time.perf_counter()
        before = self.counted
        self._count(work, 1)  # the one that was under way
        if self.counted.samples > before.samples:
            self.first = self.counted
            self._count(work - (self.counted.work - before.work))
        self.seconds += time.perf_counter() - begin
        return self.complete

    def _count(self, work: int, most: int | None = None) -> None:
        slices = SampleRange(self.seed, self.counted.samples, self.number)
        self.counted += count_slices(self.space.plan, self.context, slices, work, most)

    @property
    def sums(self) -> Sums:
        """The slices as samples of the count, their squares such that the variance is that without replacement.

        Of those after the first, with what these have: none where no slice was counted since.
        """
        first = self.first or Sums()
        sampled, others = self.counted - first, self.number - first.samples
        n, orbits = sampled.samples, self.target.search.orbits
        if not n:
            return Sums()
        mean = (first.weight + others * sampled.mean) * orbits
        variance = max(sampled.variance, self.counted.variance) if n > 1 else sampled.mean**2
        spread = variance * (1 - n / others) * (n - 1) / n if n > 1 else variance
        square = spread * (others * orbits) ** 2 + mean**2
        return Sums(n, min(self.counted.hits, n), n * mean, n * square, self.counted.work)

    def seconds_left(self) -> float:
        """Return how long the other slices will take, if they take as long as those so far; infinite without any."""
        done = self.counted.samples
        return self.seconds / done * (self.number - done) if done else math.inf

    @property
    def error(self) -> float:
        """The relative variance of what the slices so far say; infinite if unknown."""
        done = self.counted.samples
        return _HANDICAP * self._spread() / done * (1 - self.share) if done else math.inf

    def error_after(self, seconds: float) -> float:
        """Return the relative variance to expect once others were sampled for so long; infinite if unknown."""
        done = self.counted.samples
        others = self.number - done - 1
        later = min(seconds / self.seconds * done - 1, others) if done else 0
        if later < 1:
            return math.inf
        return _HANDICAP * self._spread() * (others / self.number) ** 2 / later * (1 - later / others)

    def _spread(self) -> float:
        """Return the relative variance of a slice; infinite if unknown, or too great to be trusted."""
        done, hits = self.counted.samples, self.counted.hits
        if hits == 0 or done < _ENOUGH:
            return math.inf
        spread = max(self.counted.variance / self.counted.mean**2, done / hits - 1)
        return spread if spread <= _MOST_SPREAD else math.inf
