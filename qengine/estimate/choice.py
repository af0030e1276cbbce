"""Which sampler: the one with the least variance for its work, by a few samples of each."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from qengine.estimate.anytime import Goal, run
from qengine.estimate.result import Sums
from qengine.estimate.sampler import Sampler

__all__ = ["choose", "hit_rarely", "relative_cost", "try_each"]

_PILOT = 4_096
_LEAST_PILOT = 64
_PILOT_SHARE = 0.08
_ENOUGH_HITS = 20.0
_DEAR = 4
"""How much more work than Alley's a sample may be before fewer are drawn."""

_HANDICAP = {"wanderjoin": 2.0, "alley": 2.0, "trawling": 4.0}
"""How much better than the guided sampler others must look: their pilots miss more of the heavy samples that make their
variance, trawling's most, which is short."""


def try_each(samplers: Mapping[str, Sampler], goal: Goal) -> dict[str, Sums]:
    """Return a few samples of each sampler; where the time is limited, as many as a tenth of it lets each draw.

    They choose and don't count: else the choice, which depends on them, would bias the mean.
    """
    pilot = _PILOT if goal.samples is None else max(_LEAST_PILOT, min(_PILOT, goal.samples // 8))
    if goal.deadline is None:
        return {name: samplers[name].draw(0, pilot) for name in samplers}
    slice = _PILOT_SHARE * (goal.deadline - time.perf_counter())
    return {
        name: run(sampler, Goal(samples=pilot, deadline=time.perf_counter() + slice))
        for name, sampler in samplers.items()
    }


def hit_rarely(found: Mapping[str, Sums]) -> bool:
    """Tell whether no sampler hits often, as far as its samples were enough to see that."""
    return all(
        sums.effective_hits < _ENOUGH_HITS and sums.effective_hits * _PILOT < _ENOUGH_HITS * max(sums.samples, 1)
        for sums in found.values()
    )


def choose(samplers: Mapping[str, Sampler], found: Mapping[str, Sums], goal: Goal) -> tuple[Sampler, Goal, int]:
    """Return the sampler to go on with, when it shall stop, and the number of its first sample.

    ``samplers``: "wanderjoin", "alley", perhaps "guided", and where none of these hits often perhaps "trawling".
    ``found``: of ``try_each``, without trawling, which is slow and tried here. A goal of so many samples becomes one of
    so much work, too, where each is far more than Alley's: trawling's hauls, guided samples of hubs.

    Work is counted, not measured, so that the same seed chooses alike everywhere.
    """
    found = dict(found)
    if "trawling" in samplers:
        found["trawling"] = _first_hauls(samplers["trawling"], goal)
    cost = {name: relative_cost(sums) * _HANDICAP.get(name, 1.0) for name, sums in found.items()}
    best = min(cost, key=lambda name: cost[name])
    if all(sums.hits == 0 for sums in found.values()):
        best = next(name for name in ("trawling", "guided", "alley") if name in found)
    walk, taken = found["alley"], found[best]
    if goal.samples is not None and taken.work * walk.samples > _DEAR * walk.work * taken.samples:
        goal = replace(goal, work=_DEAR * goal.samples * walk.work // walk.samples)
    return samplers[best], goal, found[best].samples


def _first_hauls(sampler: Sampler, goal: Goal) -> Sums:
    if goal.deadline is None:
        return sampler.draw(0, sampler.batch)
    left = goal.deadline - time.perf_counter()
    return run(sampler, Goal(samples=sampler.batch, deadline=time.perf_counter() + left / 4))


def relative_cost(sums: Sums) -> float:
    """Return the relative variance of one sample times its work; infinite where nothing was hit."""
    if sums.hits == 0:
        return float("inf")
    # few hits may agree by chance: a hit's weight is no better known than its square root
    variance = max(sums.variance / sums.mean**2, sums.samples / sums.hits - 1, 1 / sums.hits)
    return variance * sums.work / sums.samples
