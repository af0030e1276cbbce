"""Drawing until enough is known: by relative error, number of samples, or time."""

from __future__ import annotations

import time
from dataclasses import dataclass

from qengine.errors import QueryTimeout
from qengine.estimate.result import Sums, interval
from qengine.estimate.sampler import Sampler

__all__ = ["Goal", "run"]

FIRST_BATCH = 4_096
_LARGEST_BATCH = 1 << 20
_DEFAULT_ERROR = 0.05
_MOST_SAMPLES = 1 << 22
_ENOUGH_HITS = 30.0


@dataclass(frozen=True, slots=True)
class Goal:
    """When to stop: at the first of those that are given; by default at 5 % relative error or 4 M samples.

    ``rel_error``: half the interval's width as a share of the value. ``deadline``: ``time.perf_counter`` value.
    """

    confidence: float = 0.95
    rel_error: float | None = None
    samples: int | None = None
    deadline: float | None = None

    def met(self, sums: Sums) -> bool:
        """Tell whether to stop after these samples."""
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            return True
        if self.samples is not None and sums.samples >= self.samples:
            return True
        if self.samples is None and self.deadline is None and sums.samples >= _MOST_SAMPLES:
            return True
        wanted = self.rel_error
        if wanted is None and self.samples is None and self.deadline is None:
            wanted = _DEFAULT_ERROR
        if wanted is None or sums.effective_hits < _ENOUGH_HITS:
            return False
        low, high = interval(sums, self.confidence)
        return (high - low) / 2 <= wanted * sums.mean

    def next_batch(self, sums: Sums, seconds: float) -> int:
        """Return how many samples to draw next: as many as so far, fewer where a limit is near.

        ``seconds``: what the samples so far took. Only a deadline makes the answer depend on it.
        """
        batch = min(max(FIRST_BATCH, sums.samples), _LARGEST_BATCH)
        if self.samples is not None:
            batch = min(batch, self.samples - sums.samples)
        if self.deadline is not None and sums.samples and seconds > 0:
            left = self.deadline - time.perf_counter()
            batch = min(batch, max(FIRST_BATCH, int(left / seconds * sums.samples)))
        return batch


def run(sampler: Sampler, goal: Goal, first: int = 0) -> Sums:
    """Draw from number ``first`` on until the goal is met."""
    sums = Sums()
    begin = time.perf_counter()
    while not goal.met(sums):
        batch = goal.next_batch(sums, time.perf_counter() - begin)
        try:
            sums += sampler.draw(first + sums.samples, batch)
        except QueryTimeout:
            if not sums.samples:
                raise
            break
    return sums
