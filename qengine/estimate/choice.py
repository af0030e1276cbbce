"""Which sampler: the one with the least variance for its work, or its time, by a few samples of each."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from qengine._frozen import frozen, replace
from qengine.estimate.anytime import Goal, run
from qengine.estimate.result import Sums
from qengine.estimate.sampler import Sampler

_PILOT = 4_096
_LEAST_PILOT = 64
_PILOT_SHARE = 0.08
_ENOUGH_HITS = 20.0
_DEAR = 4
"""How much more work than Alley's a sample may be before fewer are drawn."""

_HANDICAP = {"wanderjoin": 2.0, "alley": 2.0, "trawling": 4.0}
"""How much better than the guided sampler others must look: their pilots miss more of the heavy samples that make their
variance, trawling's most, which is short."""


@frozen
class Trial:
    """A few samples of a sampler, and what they took by the clock."""

    sums: Sums
    seconds: float


def try_each(samplers: Mapping[str, Sampler], goal: Goal) -> dict[str, Trial]:
    """Return a few samples of each sampler; where the time is limited, as many as a tenth of it lets each draw.

    They choose and don't count: else the choice, which depends on them, would bias the mean.
    """
    pilot = _PILOT if goal.samples is None else max(_LEAST_PILOT, min(_PILOT, goal.samples // 8))
    found = {}
    slice = 0.0 if goal.deadline is None else _PILOT_SHARE * (goal.deadline - time.perf_counter())
    for name, sampler in samplers.items():
        begin = time.perf_counter()
        own = Goal(samples=pilot, deadline=begin + slice)
        sums = sampler.draw(0, pilot) if goal.deadline is None else run(sampler, own)
        found[name] = Trial(sums, time.perf_counter() - begin)
    return found


def hit_rarely(found: Mapping[str, Trial]) -> bool:
    """Tell whether no sampler hits often, as far as its samples were enough to see that."""
    return all(
        sums.effective_hits < _ENOUGH_HITS and sums.effective_hits * _PILOT < _ENOUGH_HITS * max(sums.samples, 1)
        for sums in (trial.sums for trial in found.values())
    )


def error_after(found: Mapping[str, Trial], seconds: float) -> float:
    """Return the least relative variance to expect of a sampler that goes on for so long; infinite without a hit."""
    return min(
        _relative_variance(trial.sums) * trial.seconds * _HANDICAP.get(name, 1.0) / (trial.sums.samples * seconds)
        if trial.sums.hits
        else math.inf
        for name, trial in found.items()
    )


def choose(samplers: Mapping[str, Sampler], tried: Mapping[str, Trial], goal: Goal) -> tuple[Sampler, Goal, int]:
    """Return the sampler to go on with, when it shall stop, and the number of its first sample.

    ``samplers``: "wanderjoin", "alley", perhaps "guided", and where none of these hits often perhaps "trawling".
    ``tried``: of ``try_each``, without trawling, which is slow and tried here. A goal of so many samples becomes one of
    so much work, too, where each is far more than Alley's: trawling's hauls, guided samples of hubs.

    Work is counted, not measured, so that the same seed chooses alike everywhere.
    """
    found = {name: trial.sums for name, trial in tried.items()}
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
    return _relative_variance(sums) * sums.work / sums.samples if sums.hits else math.inf


def _relative_variance(sums: Sums) -> float:
    # few hits may agree by chance: a hit's weight is no better known than its square root
    return max(sums.variance / sums.mean**2, sums.samples / sums.hits - 1, 1 / sums.hits)
