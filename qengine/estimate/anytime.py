"""Drawing until enough is known: by relative error, number of samples, or time."""

from __future__ import annotations

import time

from qengine._frozen import frozen
from qengine.errors import QueryTimeout
from qengine.estimate.result import Sums, interval
from qengine.estimate.sampler import Sampler

_LARGEST_BATCH = 1 << 20
_LARGEST_WHOLE = 1 << 26
"""Of samples whose number is given: nothing is looked at before all are drawn."""

_DEFAULT_ERROR = 0.05
_MOST_SAMPLES = 1 << 22
_MOST_WORK = 2_000_000_000
_ENOUGH_HITS = 30.0


@frozen
class Goal:
    """When to stop: at the first of those that are given; by default at 5 % relative error or 4 M samples.

    ``rel_error``: half the interval's width as a share of the value. ``deadline``: ``time.perf_counter`` value.
    ``work``: as ``Sums`` counts it; where nothing is given, two billion.
    """

    confidence: float = 0.95
    rel_error: float | None = None
    samples: int | None = None
    deadline: float | None = None
    work: int | None = None

    @property
    def limited(self) -> bool:
        """Whether something other than the error ends it."""
        return self.samples is not None or self.deadline is not None or self.work is not None

    @property
    def timed_alone(self) -> bool:
        """Whether only its time ends it."""
        return self.deadline is not None and self.samples is None and self.rel_error is None and self.work is None

    def met(self, sums: Sums) -> bool:
        """Tell whether to stop after these samples."""
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            return True
        if self.samples is not None and sums.samples >= self.samples:
            return True
        if self.work is not None and sums.work >= self.work:
            return True
        if not self.limited and (sums.samples >= _MOST_SAMPLES or sums.work >= _MOST_WORK):
            return True
        wanted = self.rel_error
        if wanted is None and not self.limited:
            wanted = _DEFAULT_ERROR
        if wanted is None or sums.effective_hits < _ENOUGH_HITS:
            return False
        low, high = interval(sums, self.confidence)
        return (high - low) / 2 <= wanted * sums.mean

    def next_batch(self, sums: Sums, seconds: float, least: int) -> int:
        """Return how many samples to draw next: as many as so far, fewer where a limit is near; all that are asked for
        where their number alone ends it.

        ``least``: of the first batch. ``seconds``: what the samples so far took; it matters to a deadline alone.
        """
        if self.samples is not None and self.rel_error is None and self.deadline is None and self.work is None:
            return min(self.samples - sums.samples, _LARGEST_WHOLE)
        batch = min(max(least, sums.samples), _LARGEST_BATCH)
        if self.samples is not None:
            batch = min(batch, self.samples - sums.samples)
        if self.work is not None and sums.work:
            batch = min(batch, max(least, (self.work - sums.work) * sums.samples // sums.work))
        if self.deadline is not None and sums.samples and seconds > 0:
            left = self.deadline - time.perf_counter()
            batch = min(batch, max(least, int(left / seconds * sums.samples)))
        return batch


def run(sampler: Sampler, goal: Goal, first: int = 0) -> Sums:
    """Draw from number ``first`` on until the goal is met: one batch at least, even where no time is left.

    A later batch that is stopped because the goal's time is over counts as not drawn.

    Raises
    ------
    QueryTimeout, QueryInterrupted, OutOfMemory
        As the sampler.
    """
    sums = Sums()
    begin = time.perf_counter()
    while not sums.samples or not goal.met(sums):
        least = sampler.batch if goal.deadline is None else sampler.soon
        batch = goal.next_batch(sums, time.perf_counter() - begin, least)
        try:
            sums += sampler.draw(first + sums.samples, batch)
        except QueryTimeout:
            if not sums.samples or goal.deadline is None or time.perf_counter() < goal.deadline:
                raise
            break
    return sums
