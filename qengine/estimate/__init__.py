"""Cardinality estimates by sampling: Horvitz–Thompson over random embeddings, with intervals (gSWORD, SIGMOD 2024).

``estimate`` takes the physical plan of a count. What it samples is the plan's first search, over the same levels,
sources, ranges and constraints that an exact count walks; the operators above run over the sampled embeddings as they
would over all.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from qengine.errors import SemanticError
from qengine.estimate.anytime import FIRST_BATCH, Goal, run
from qengine.estimate.bound import upper_bound
from qengine.estimate.result import Estimate, Sums, interval
from qengine.estimate.sampler import PatternSampler, Sampler
from qengine.estimate.target import target_of
from qengine.exec.context import ExecutionContext
from qengine.exec.cpu.masks import Masks
from qengine.exec.cpu.pipeline import run as run_exactly
from qengine.exec.cpu.resolve import resolve
from qengine.exec.cpu.runtime import Runtime
from qengine.plan.physical import PhysicalPlan

__all__ = ["METHODS", "Estimate", "Request", "estimate"]

METHODS = ("auto", "wanderjoin", "alley", "exact")

_CHEAP = 20_000.0
"""Where there can't be more embeddings than this they are counted."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of an estimate; see ``Graph.estimate``."""

    method: str = "auto"
    rel_error: float | None = None
    confidence: float = 0.95
    budget_ms: float | None = None
    samples: int | None = None
    seed: int | None = None

    def check(self) -> None:
        """Refuse what makes no sense.

        Raises
        ------
        SemanticError
            With what is wrong and what is possible.
        """
        if self.method not in METHODS:
            raise SemanticError(
                f"There is no estimator {self.method!r}.", hint="use one of: " + ", ".join(map(repr, METHODS))
            )
        if not 0 < self.confidence < 1:
            raise SemanticError("The confidence must lie between 0 and 1.", hint="0.95 is usual")
        for name in ("rel_error", "budget_ms", "samples"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise SemanticError(f"{name} must be greater than 0.")


def estimate(plan: PhysicalPlan, store: Any, context: ExecutionContext, request: Request) -> Estimate:
    """Estimate the only number that ``plan`` (one ``count(*)``) would give.

    Parameters
    ----------
    store
        The ``GraphStore``.
    context
        Parameters and limits; its timeout ends the estimate with an error, ``request.budget_ms`` with what is known.

    Raises
    ------
    SemanticError, Unsupported
        If the request makes no sense, or the query is more than a pattern with conditions.
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits.
    """
    begin = time.perf_counter()
    request.check()
    target = target_of(plan.root)
    if request.method == "exact":
        return _count(plan, store, context, begin)
    bound = upper_bound(store, target.search) if target.tail is None else float("inf")
    resolved = resolve(store, target.search, Masks(Runtime(store, context)))
    if resolved is None or bound == 0:
        return Estimate(0.0, 0.0, 0.0, 0, 0, "exact", True, 0.0, time.perf_counter() - begin)
    if request.method == "auto" and bound <= _CHEAP:
        return _count(plan, store, context, begin)
    seed = int.from_bytes(os.urandom(8), "little") if request.seed is None else request.seed % 2**64

    def sampler(name: str) -> Sampler:
        return PatternSampler(target, resolved, store, context, name, seed)

    deadline = None if request.budget_ms is None else begin + request.budget_ms / 1e3
    goal = Goal(request.confidence, request.rel_error, request.samples, deadline)
    if request.method == "auto":
        chosen, first = _choose(sampler("wanderjoin"), sampler("alley"), goal)
    else:
        chosen, first = sampler(request.method), 0
    sums = run(chosen, goal, first)
    return _finished(sums, chosen.name, bound, request.confidence, seed, begin)


def _choose(one: Sampler, other: Sampler, goal: Goal) -> tuple[Sampler, int]:
    """Return the sampler with less variance for the work, and the number of its first sample.

    Both draw a few samples. They choose and don't count: else the choice, which depends on them, would bias the mean.
    Work is counted, not measured, so that the same seed chooses alike everywhere.
    """
    pilot = FIRST_BATCH if goal.samples is None else max(64, min(FIRST_BATCH, goal.samples // 8))
    one_sums, other_sums = one.draw(0, pilot), other.draw(0, pilot)
    return (one if _cost(one_sums) < _cost(other_sums) else other), pilot


def _cost(sums: Sums) -> float:
    """Return the relative variance of one sample times its work."""
    if sums.hits == 0:
        return float("inf")
    return sums.variance / sums.mean**2 * sums.work / sums.samples


def _count(plan: PhysicalPlan, store: Any, context: ExecutionContext, begin: float) -> Estimate:
    (rows,) = run_exactly(plan, store, context)
    count = float(rows.values(plan.columns[0])[0])
    return Estimate(count, count, count, 0, 0, "exact", True, count, time.perf_counter() - begin)


def _finished(sums: Sums, method: str, bound: float, confidence: float, seed: int, begin: float) -> Estimate:
    low, high = interval(sums, confidence)
    return Estimate(
        sums.mean,
        min(max(low, min(1.0, sums.mean)), sums.mean),
        max(min(high, bound), sums.mean),
        sums.samples,
        sums.hits,
        method,
        False,
        bound,
        time.perf_counter() - begin,
        seed=seed,
    )
