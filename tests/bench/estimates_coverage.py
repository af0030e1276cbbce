"""How often intervals hold the count: ``python -m tests.bench.estimates --coverage --each 2 --samples 2000 [SET …]``.

Each pattern is estimated a thousand times by each method, each time from another seed; a line says how many of the
intervals hold the true count, and how many fall below it. The last lines sum up the cells of each method.
``--device gpu`` draws the samples there, where a thousand times a million take seconds. ``--rel-error`` stops as soon
as intervals are so narrow, instead of after a number of samples.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from qengine import Graph, estimates
from qengine.estimate.anytime import Goal, run
from qengine.estimate.device import device_sampler, on_device
from qengine.estimate.result import interval
from qengine.estimate.sampler import PatternSampler, TrawlingSampler
from qengine.estimate.space import make_space
from qengine.estimate.target import target_of
from qengine.exec.context import ExecutionContext
from qengine.qerror import Case

METHODS = ("wanderjoin", "alley", "guided", "trawling", "auto")
WANTED = (0.90, 0.99)
SEEDS = 1_000
HAULS = 32
FEW_HITS = 10.0

Found = tuple[float, float, int]  # low, high, hits


@dataclass(frozen=True)
class Cell:
    """What a thousand estimates of one pattern by one method gave; shares of them, and the mean of their hits."""

    name: str
    method: str
    hits: float
    held: float
    below: float

    def __str__(self) -> str:
        return f"| {self.name} | {self.method} | {self.hits:.0f} | {self.held:.1%} | {self.below:.1%} |"

    @property
    def wanted(self) -> bool:
        """Whether as many intervals hold as should."""
        return WANTED[0] <= self.held <= WANTED[1]


def coverage(
    name: str, graph: Graph, cases: Iterable[Case], methods: Iterable[str], goal: Goal, device: str
) -> list[Cell]:
    """Print and return the cells of a data set. What is mostly counted and what has no doubt is left out."""
    cells = []
    for case in cases:
        for method in methods:
            with ExitStack() as lent:
                draw = _draw(graph, case, method, goal, device, lent)
                if draw is None:
                    continue
                begin = time.process_time()
                found = [each for seed in range(SEEDS) if (each := draw(seed)) is not None]
                seconds = time.process_time() - begin
            if len(found) < SEEDS / 2 or all(low == high for low, high, _ in found):
                continue
            cells.append(_cell(f"{name} {case.name}", method, case, found))
            print(f"{cells[-1]} {1e3 * seconds / SEEDS:.1f} |", flush=True)
    return cells


def summed_up(cells: Iterable[Cell]) -> None:
    """Print a line for each method, apart where it hits less than ten times."""
    groups: dict[tuple[str, bool], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.method, cell.hits < FEW_HITS), []).append(cell)
    print("\n| method | cells | in 90 to 99 % | median | least | most |\n|---|---|---|---|---|---|")
    for (method, few), group in sorted(groups.items()):
        held = [cell.held for cell in group]
        told = method + (f", fewer than {FEW_HITS:.0f} hits" if few else "")
        wanted = sum(cell.wanted for cell in group)
        print(
            f"| {told} | {len(group)} | {wanted} | {statistics.median(held):.1%} | {min(held):.1%} | {max(held):.1%} |"
        )


def _draw(
    graph: Graph, case: Case, method: str, goal: Goal, device: str, lent: ExitStack
) -> Callable[[int], Found | None] | None:
    """Return what estimates a pattern from a seed, None where it counts; or None where there is nothing to sample."""
    if method == "auto":

        def by_auto(seed: int) -> Found | None:
            limits: dict[str, Any] = {
                "samples": goal.samples,
                "rel_error": goal.rel_error,
                "confidence": goal.confidence,
            }
            found = graph.estimate(case.query, seed=seed, device=device, threads=1, **limits)
            return None if found.is_exact else (found.low, found.high, found.hits)

        return by_auto if by_auto(SEEDS) is not None else None
    target = target_of(estimates.plan_counted(graph._store, case.query).physical.root)
    context = ExecutionContext(threads=1)
    space = make_space(target, graph._store, context, goal.samples, None, guided=method in ("guided", "trawling"))
    if space is None or (target.tail is not None and method == "trawling"):
        return None
    if method == "guided" and space.candidates is None:
        return None
    sampler = PatternSampler(target, space, context, 0, graph._store, method)
    if device == "gpu" and method != "trawling":
        place = lent.enter_context(on_device(space, graph._store, context, goal.samples))
        sampler = device_sampler(place, target, graph._store, context, 0, method)

    def by_method(seed: int) -> Found:
        if method == "trawling":
            sums = TrawlingSampler(target, space, context, seed, guided=False).draw(0, HAULS)
        else:
            sums = run(replace(sampler, seed=seed), goal)
        low, high = interval(sums, goal.confidence)
        return low, min(high, space.bound), sums.hits

    return by_method


def _cell(name: str, method: str, case: Case, found: list[Found]) -> Cell:
    assert case.truth is not None
    n = len(found)
    held = sum(low <= case.truth <= high for low, high, _ in found)
    below = sum(high < case.truth for _, high, _ in found)
    return Cell(name, method, sum(hits for _, _, hits in found) / n, held / n, below / n)
