"""Counting by slices: exact once all are counted, until then a sample of them that says how far it may be off."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from qengine.estimate.kernel import SampleRange, count_slices
from qengine.estimate.result import Sums
from qengine.estimate.space import Space
from qengine.estimate.target import Target
from qengine.exec.context import ExecutionContext

__all__ = ["SliceCount"]

_MOST_SLICES, _VERTICES = 256, 32
"""Slices at most, and vertices of each at least: of few vertices one may have most of all embeddings."""

_ENOUGH, _MOST_SPREAD, _HANDICAP = 16, 4.0, 2.0
"""Slices that tell how much slices differ, and their relative variance from which they aren't trusted: those that are
counted in a given time tend to be the light ones. How much better than samples they must look."""


@dataclass
class SliceCount:
    """A count of a target without a tail, as far as it has come.

    ``number``: of slices. ``counted``: a sample for each slice that was counted; ``seconds``: what they took, by the
    clock.
    """

    target: Target
    space: Space
    context: ExecutionContext
    seed: int
    counted: Sums = field(default_factory=Sums)
    seconds: float = 0.0
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
        slices = SampleRange(self.seed, self.counted.samples, self.number)
        self.counted += count_slices(self.space.plan, self.context, slices, work)
        self.seconds += time.perf_counter() - begin
        return self.complete

    @property
    def sums(self) -> Sums:
        """The slices as samples of the count, their squares such that the variance is that without replacement."""
        found = self.counted.scaled(self.number * self.target.search.orbits)
        n = found.samples
        if n < 2:
            return found
        spread = found.variance * (1 - self.share) * (n - 1) / n
        return Sums(n, found.hits, found.weight, n * (spread + found.mean**2), found.work)

    def seconds_left(self) -> float:
        """Return how long the other slices will take, if they take as long as those so far; infinite without any."""
        done = self.counted.samples
        return self.seconds / done * (self.number - done) if done else math.inf

    def error_after(self, seconds: float) -> float:
        """Return the relative variance to expect once slices were counted for so much longer; infinite if unknown."""
        done, hits = self.counted.samples, self.counted.hits
        if hits == 0 or done < _ENOUGH:
            return math.inf
        spread = max(self.counted.variance / self.counted.mean**2, done / hits - 1)
        if spread > _MOST_SPREAD:
            return math.inf
        later = min(done + seconds / self.seconds * done, self.number)
        return _HANDICAP * spread / later * (1 - later / self.number)
