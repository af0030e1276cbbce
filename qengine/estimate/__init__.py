"""Cardinality estimates by sampling: Horvitz–Thompson over random embeddings, with intervals (gSWORD, SIGMOD 2024).

``estimate`` takes the physical plan of a count. What it samples is the plan's first search, over the same levels,
sources, ranges and constraints that an exact count walks; the operators above run over the sampled embeddings as they
would over all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from qengine.errors import QueryTimeout, SemanticError, Unsupported
from qengine.estimate.anytime import Goal, run
from qengine.estimate.bound import upper_bound
from qengine.estimate.choice import choose, hit_rarely, try_each
from qengine.estimate.device import (
    DeviceBuilder,
    DeviceEstimator,
    DeviceSampler,
    DeviceTrawlingSampler,
    choose_device,
    device_sampler,
    device_trawling,
    on_device,
)
from qengine.estimate.kernel import HAUL_WALKS, count_within
from qengine.estimate.reference import Estimator, ReferenceSampler
from qengine.estimate.result import Estimate, Sums, interval
from qengine.estimate.sampler import PatternSampler, Sampler
from qengine.estimate.space import Builder, Space, make_space, on_host
from qengine.estimate.table import GRACE_MS, EstimateTable, estimate_all
from qengine.estimate.target import Target, known_to_be_empty, target_of
from qengine.estimate.trawling import other_spaces, trawler
from qengine.exec.context import ExecutionContext
from qengine.exec.cpu.masks import Masks
from qengine.exec.cpu.pipeline import run as run_exactly
from qengine.exec.cpu.runtime import Runtime
from qengine.exec.gpu import run as run_on_gpu
from qengine.plan.physical import PhysicalPlan

__all__ = [
    "METHODS",
    "DeviceEstimator",
    "Estimate",
    "EstimateTable",
    "Estimator",
    "Request",
    "estimate",
    "estimate_all",
]

METHODS = ("auto", "wanderjoin", "alley", "guided", "trawling", "exact")

_CHEAP = 20_000.0
"""Where there can't be more embeddings than this they are counted."""

_MOST_EXACT_WORK = 1 << 22
_WORK_PER_SAMPLE = 32
_WORK_PER_MS = 50_000

_RARE = 8
"""How many times as much work counting may take where samples seldom hit: what is rare is soon counted, and samples say
little of it."""


_LEAST_MS, _LEAST_WALKS = 1_000, 1 << 18
"""Time or walks from which other matching orders are looked for, which takes some tenths of a second."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of an estimate; see ``Graph.estimate``."""

    method: str | Estimator | DeviceEstimator = "auto"
    rel_error: float | None = None
    confidence: float = 0.95
    budget_ms: float | None = None
    samples: int | None = None
    seed: int | None = None
    device: str = "auto"
    inheritance: bool = False

    @property
    def walks(self) -> int | None:
        """How many walks are asked for: of trawling, a sample is a haul of many."""
        if self.samples is None or self.method != "trawling":
            return self.samples
        return self.samples * HAUL_WALKS

    def check(self) -> None:
        """Refuse what makes no sense.

        Raises
        ------
        SemanticError
            With what is wrong and what is possible.
        """
        if not isinstance(self.method, str | Estimator | DeviceEstimator):
            name = getattr(self.method, "__name__", None) if isinstance(self.method, type) else None
            raise SemanticError(
                f"The method is {f'the class {name}' if name else repr(self.method)}, not an estimator.",
                hint=f"Make one: method={name}()." if name else "Give a name, or an instance of an Estimator.",
            )
        if isinstance(self.method, str) and self.method not in METHODS:
            raise SemanticError(
                f"There is no estimator {self.method!r}.", hint="Use one of: " + ", ".join(map(repr, METHODS)) + "."
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
    if known_to_be_empty(plan.root):
        return _exactly(0.0, begin)
    target = target_of(plan.root)
    if request.budget_ms is None:
        return _estimated(plan, target, store, context, request, begin)
    bound = float("inf")
    try:
        with context.within(request.budget_ms + GRACE_MS):
            if target.tail is None:
                bound = upper_bound(store, target.search)
            return _estimated(plan, target, store, context, request, begin)
    except QueryTimeout:
        context.check()
    name = request.method if isinstance(request.method, str) else request.method.name
    return Estimate(0.0, 0.0, bound, 0, 0, name, False, bound, time.perf_counter() - begin)


def _estimated(
    plan: PhysicalPlan, target: Target, store: Any, context: ExecutionContext, request: Request, begin: float
) -> Estimate:
    own = isinstance(request.method, DeviceEstimator)
    asked = "gpu" if own and request.device == "auto" else request.device
    device = choose_device(asked, request.walks, len(target.search.levels))
    if own and device != "gpu":
        raise Unsupported("This estimator is for the GPU.", hint='Use device="gpu", or an Estimator written in Python.')
    if request.inheritance and (device != "gpu" or target.tail is not None or isinstance(request.method, Estimator)):
        raise Unsupported(
            "Samples are inherited on the GPU only, where a pattern alone is sampled.",
            hint='Use device="gpu", or leave inheritance out.',
        )
    if request.method == "exact":
        return _count(plan, store, context, begin, device)
    deadline = None if request.budget_ms is None else begin + request.budget_ms / 1e3
    goal = Goal(request.confidence, request.rel_error, request.samples, deadline)
    with ExitStack() as lent:
        build: Builder = DeviceBuilder(store, lent) if device == "gpu" else on_host
        guided = request.method == "guided"
        space = make_space(target, store, context, request.walks, request.budget_ms, guided, build)
        if space is None or space.bound == 0:
            return Estimate(0.0, 0.0, 0.0, 0, 0, "exact", True, 0.0, time.perf_counter() - begin)
        if request.method == "auto":
            if space.bound <= _CHEAP:
                return _count(plan, store, context, begin, "cpu")
            work = _exact_work(request)
            found = None if target.tail is not None else count_within(space.plan, context, work)
            if found is not None:
                return _exactly(found * target.search.orbits, begin)
        seed = int.from_bytes(os.urandom(8), "little") if request.seed is None else request.seed % 2**64
        if isinstance(request.method, Estimator):
            sums = run(_of_user(request.method, target, store, context, seed, deadline), goal)
            return _finished(sums, request.method.name, space.bound, request.confidence, seed, begin)
        samplers = _samplers(request, target, space, store, context, seed, device, lent)
        name = request.method.name if isinstance(request.method, DeviceEstimator) else request.method
        if name == "auto":
            tried = try_each(samplers, goal)
            if target.tail is None and hit_rarely(tried):
                ways = [(target, space), *_other_ways(request, target, store, context)]
                for each, its in ways:
                    found = count_within(its.plan, context, _exact_work(request, _RARE))
                    if found is not None:
                        return _exactly(found * each.search.orbits, begin)
                if not request.inheritance:
                    samplers["trawling"] = _trawling(request, ways, store, context, seed, device, lent)
            chosen, goal, first = choose(samplers, tried, goal)
        elif name in samplers:
            chosen, first = samplers[name], 0
        else:
            raise Unsupported(
                f"The method {name!r} can't take this query: trawling counts completions of a pattern alone, and "
                "inherits no samples.",
                hint='Use method="alley".',
            )
        sums = run(chosen, goal, first)
    ran_on = device if isinstance(chosen, DeviceSampler | DeviceTrawlingSampler) else "cpu"
    return _finished(sums, chosen.name, space.bound, request.confidence, seed, begin, ran_on)


def _samplers(
    request: Request,
    target: Target,
    space: Space,
    store: Any,
    context: ExecutionContext,
    seed: int,
    device: str,
    lent: ExitStack,
) -> dict[str, Sampler]:
    """Return the samplers that there are for a target, by name. What they borrow on the device is put on ``lent``."""
    own = request.method if isinstance(request.method, DeviceEstimator) else None
    names = ["wanderjoin", "alley"] if space.candidates is None else ["wanderjoin", "alley", "guided"]
    found: dict[str, Sampler]
    found = {name: PatternSampler(target, space, context, seed, store, name) for name in names}
    if request.method == "trawling" and target.tail is None and not request.inheritance:
        ways = [(target, space), *_other_ways(request, target, store, context)]
        return {"trawling": _trawling(request, ways, store, context, seed, device, lent)}
    if device == "gpu":
        place = lent.enter_context(on_device(space, store, context, request.walks, any_plan=own is not None))
        given = (place, target, store, context, seed)
        if own is not None:
            return {own.name: device_sampler(*given, own, request.inheritance)}
        for name in (each for each in names if request.method in ("auto", each)):
            found[name] = device_sampler(*given, name, request.inheritance)
    return found


def _trawling(
    request: Request,
    ways: list[tuple[Target, Space]],
    store: Any,
    context: ExecutionContext,
    seed: int,
    device: str,
    lent: ExitStack,
) -> Sampler:
    """Return the sampler that trawls the best of some ways."""
    found = trawler(ways, context, seed)
    if device != "gpu":
        return found
    return device_trawling(lent.enter_context(on_device(found.space, store, context, request.walks)), found, context)


def _other_ways(
    request: Request, target: Target, store: Any, context: ExecutionContext
) -> Iterator[tuple[Target, Space]]:
    """Yield a target in other orders, where there is time to look for them."""
    short = request.budget_ms is not None and request.budget_ms < _LEAST_MS
    few = request.walks is not None and request.walks < _LEAST_WALKS
    return iter(()) if short or few else other_spaces(target, store, context)


def _of_user(
    estimator: Estimator, target: Target, store: Any, context: ExecutionContext, seed: int, deadline: float | None
) -> Sampler:
    if target.tail is not None:
        raise Unsupported(
            "Estimators written in Python sample a pattern alone: this query has more after it.",
            hint='Use method="alley".',
        )
    masks = Masks(Runtime(store, context))
    return ReferenceSampler(store, target.search, masks, estimator, seed, context.check, deadline)


def _exact_work(request: Request, times: int = 1) -> int:
    """Return how many ids counting may read before sampling is taken for cheaper: some tenths of what it will read.

    ``times``: as much as that so often.
    """
    work = _MOST_EXACT_WORK * times
    if request.samples is not None:
        work = min(work, _WORK_PER_SAMPLE * request.samples * times)
    if request.budget_ms is not None:
        work = min(work, int(_WORK_PER_MS * request.budget_ms * times))
    return work


def _count(plan: PhysicalPlan, store: Any, context: ExecutionContext, begin: float, device: str) -> Estimate:
    (rows,) = (run_on_gpu if device == "gpu" else run_exactly)(plan, store, context)
    return _exactly(float(rows.values(plan.columns[0])[0]), begin, device)


def _exactly(count: float, begin: float, device: str = "cpu") -> Estimate:
    return Estimate(count, count, count, 0, 0, "exact", True, count, time.perf_counter() - begin, device)


def _finished(
    sums: Sums, method: str, bound: float, confidence: float, seed: int, begin: float, device: str = "cpu"
) -> Estimate:
    low, high = interval(sums, confidence)
    value = min(sums.mean, bound)
    return Estimate(
        value,
        min(max(low, min(1.0, value)), value),
        max(min(high, bound), value),
        sums.samples,
        sums.hits,
        method,
        False,
        bound,
        time.perf_counter() - begin,
        device,
        seed,
    )
