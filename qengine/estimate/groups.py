"""How many different rows, or groups, a pattern's rows make: by sampled rows.

Rows are drawn with the weights of the sampled embeddings, so that each row is as likely; how often values were drawn
tells how many there are that weren't (GEE: Charikar, Chaudhuri, Motwani, Narasayya, PODS 2000; Chao 1984). Rows that
are unlike most others make that too few: values that no sample has shown are at least as many as Chao's bound of all
samples says, at most as the weights of the values drawn once do; the geometric mean of both is taken.
"""

from __future__ import annotations

import math
import os
import time
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from qengine._frozen import frozen
from qengine.errors import QueryTimeout, Unsupported
from qengine.estimate.prior import Prior
from qengine.estimate.request import Request
from qengine.estimate.result import Estimate, Sums, interval
from qengine.estimate.sampler import PatternSampler
from qengine.estimate.space import make_space
from qengine.estimate.target import SAMPLE, Target, target_of
from qengine.exec.common.batch import Batch, concatenate_batches
from qengine.exec.common.columns import Column
from qengine.exec.common.grouping import group_rows
from qengine.exec.common.pipeline import run as run_exactly
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView
from qengine.plan.logical import Project
from qengine.plan.physical import PhysicalPlan, VertexLevel
from qengine.plan.traverse import free_variables

_CHEAP = 20_000.0
"""Rows that are grouped, not sampled."""

_SAMPLES, _FIRST_ROUND, _LARGEST_ROUND = 1 << 15, 512, 1 << 14
_HARD = 1.08  # times its budget may an estimate take, by what looks at the time
_LEAST_MS = 1.0  # a budget so small that no candidate graph is made: rows are drawn from the graph
_ENOUGH_TWICE = 8  # values that were drawn twice
_COUNTING_SHARE = 0.5  # of a budget
_METHODS = ("auto", "alley", "wanderjoin", "exact")


def estimate_groups(
    plan: PhysicalPlan,
    counting: PhysicalPlan,
    store: ExecView,
    context: ExecutionContext,
    request: Request,
    begin: float,
    prior: Prior,
) -> Estimate:
    """Estimate how many different rows a plan has.

    Parameters
    ----------
    plan
        Of the rows: a projection of keys over a pattern, below an ``Aggregate`` that is left out.
    counting
        Of their number, for where that is cheap.
    begin
        When the budget began, by ``time.perf_counter``.
    prior
        What statistics expect of their number, which is told where a budget leaves no time for samples.

    Raises
    ------
    Unsupported
        If the rows can't be sampled, or not by the method that is asked for.
    """
    if request.method not in _METHODS:
        raise Unsupported(
            f"Groups and different rows can't be estimated by {request.method!r}.", hint='Use method="auto".'
        )
    if request.method == "exact":
        return _counted(counting, store, context, begin)
    target = target_of(plan.root)
    budget = math.inf if request.budget_ms is None else request.budget_ms / 1e3
    sample = _Rows(target, store, context, request, begin + budget)
    try:
        with context.within(1e3 * (_HARD * budget - (time.perf_counter() - begin))):
            if sample.prepare() <= _CHEAP and request.method == "auto":
                try:
                    with context.within(1e3 * _COUNTING_SHARE * budget):
                        return _counted(counting, store, context, begin)
                except QueryTimeout:
                    context.check()
            sample.draw()
    except QueryTimeout:
        context.check()
    if sample.sums.samples or sample.bound == 0.0:
        return sample.estimate(begin)
    expected, bound = prior(request.confidence), sample.bound
    value = min(expected.value, bound)
    seconds = time.perf_counter() - begin
    return Estimate(
        value,
        min(expected.low, value),
        max(value, min(expected.high, bound)),
        0,
        0,
        "statistics",
        False,
        bound,
        seconds,
    )


def _counted(plan: PhysicalPlan, store: ExecView, context: ExecutionContext, begin: float) -> Estimate:
    (rows,) = run_exactly(plan, store, context)
    count = float(rows.values(plan.columns[0])[0])
    return Estimate(count, count, count, 0, 0, "exact", True, count, time.perf_counter() - begin)


class _Rows:
    """Sampled rows of a plan."""

    def __init__(
        self, target: Target, store: ExecView, context: ExecutionContext, request: Request, deadline: float
    ) -> None:
        self.target = target
        self.store = store
        self.context = context
        self.request = request
        self.deadline = deadline
        self.seed = int.from_bytes(os.urandom(8), "little") if request.seed is None else request.seed % 2**64
        self.method = "wanderjoin" if request.method == "wanderjoin" else "alley"
        self.sums = Sums()
        self.bound = math.inf
        self.sampler: PatternSampler | None = None
        self.batches: list[Batch] = []
        self.weights: list[npt.NDArray[np.float64]] = []

    def prepare(self) -> float:
        """Make what is sampled; return a bound of the rows."""
        space = make_space(self.target, self.store, self.context, None, _LEAST_MS)
        if space is None:
            self.bound = 0.0
            return 0.0
        self.bound = min(space.bound, _most_keys(self.target, self.store))
        self.sampler = PatternSampler(self.target, space, self.context, self.seed, self.store, self.method)
        return space.bound

    def draw(self) -> None:
        """Draw until the number that is asked for, or the time, is reached."""
        if self.sampler is None:
            return
        most = self.request.samples or _SAMPLES
        count = _FIRST_ROUND
        while self.sums.samples < most and (not self.sums.samples or time.perf_counter() < self.deadline):
            count = min(count, most - self.sums.samples)
            found, drawn, weights = self.sampler.rows(self.sums.samples, count)
            self.sums += found
            self.batches += drawn
            self.weights.append(weights)
            count = min(2 * count, _LARGEST_ROUND)

    def estimate(self, begin: float) -> Estimate:
        """Return what the rows say."""
        value = least = 0.0
        _, most = interval(self.sums, self.request.confidence)
        if self.batches:
            drawn = self._drawn()
            least = float(np.count_nonzero(drawn.often))
            unseen, more = drawn.unseen(self.sums.samples, self.request.confidence)
            value = max(
                _different(drawn.alike, max(self.sums.mean, 1.0)), least + math.sqrt(min(drawn.missed, unseen) * unseen)
            )
            most = max(min(most, least + more), value)
        seconds = time.perf_counter() - begin
        found = self.sums
        exact = self.bound == 0.0
        method = "exact" if exact else self.method
        value, most = min(value, self.bound), min(most, self.bound)
        seed = None if exact else self.seed
        return Estimate(
            value, min(least, value), most, found.samples, found.hits, method, exact, self.bound, seconds, seed=seed
        )

    def _drawn(self) -> _Drawn:
        """Return how often each value was drawn, and how often among rows that are each as likely.

        Of the sampled rows those are as likely whose weight reaches a number by chance, up to the mean weight of a row.
        """
        batch = concatenate_batches(self.batches)
        weights = np.concatenate(self.weights)
        columns: list[Column] = [column for name, column in batch.columns.items() if name != SAMPLE]
        groups = group_rows(columns, batch.length)
        typical = np.square(weights).sum() / weights.sum()
        kept = weights > typical * np.random.default_rng(self.seed).random(len(weights))
        often = np.bincount(groups.codes, minlength=groups.count)
        return _Drawn(np.bincount(groups.codes[kept]), often, weights[often[groups.codes] == 1], typical)


@frozen
class _Drawn:
    """How often values were drawn: int64[values].

    ``alike``: among rows that are each as likely; ``often``: in all samples. ``once``: weights of the rows of values
    that were drawn once, float64; ``typical``: what a row weighs.
    """

    alike: npt.NDArray[np.int64]
    often: npt.NDArray[np.int64]
    once: npt.NDArray[np.float64]
    typical: float

    @property
    def missed(self) -> float:
        """At least so many values were never drawn, however likely each is (Chao 1984)."""
        once, twice = (int((self.often == k).sum()) for k in (1, 2))
        return once * (once - 1) / (2 * (twice + 1))

    def unseen(self, samples: int, confidence: float) -> tuple[float, float]:
        """Return how many rows values have that were never drawn, and at most with about the given confidence.

        A row weighs one by its chance to be drawn, so that the weights of values drawn once, summed up by the samples,
        are the expected number of rows of values that weren't (Good 1953, weighted as by Horvitz and Thompson 1952).
        Where hardly a value was drawn once, there may still be what so many samples needn't show (rule of three).
        """
        factor = NormalDist().inv_cdf(0.5 + confidence / 2)
        found = float(self.once.sum()) / samples
        spread = math.sqrt(float(np.square(self.once).sum())) / samples
        fewest = -math.log((1 - confidence) / 2) * self.typical / samples
        return found, max(found + factor * spread, fewest)


def _different(drawn: npt.NDArray[np.int64], rows: float) -> float:
    """Return how many different values so many rows have, by how often each was drawn."""
    n = max(int(drawn.sum()), 1)
    once, twice, more = (int(found.sum()) for found in (drawn == 1, drawn == 2, drawn > 1))
    alike = once + more + once * (once - 1) / (2 * (twice + 1))  # right if all are about as frequent (Chao)
    skewed = math.sqrt(max(rows / n, 1.0)) * once + more  # within this root of the truth, whatever they are (GEE)
    rare = max(once / max(once + more, 1), 0.5 * (twice < _ENOUGH_TWICE))  # where most were drawn often, few are left
    value = math.exp((1 - rare) * math.log(max(alike, 1.0)) + rare * math.log(max(skewed, 1.0)))
    return min(value, rows)


def _most_keys(target: Target, store: ExecView) -> float:
    """Return how many different keys there can be: no more than there are nodes and relationships that they are of."""
    project = target.tail
    assert isinstance(project, Project)
    names = {name for key, expr in project.items if key != SAMPLE for name in free_variables(expr)}
    most = 1.0
    for name in names:
        level = next((level for level in target.search.levels if level.name == name), None)
        if level is None:
            return math.inf
        if isinstance(level, VertexLevel):
            most *= sum(end - begin for begin, end in store.label_ranges(level.labels).tolist())
        else:
            most *= sum(info.count for info in store.types if not level.types or info.name in level.types)
    return most
