"""Where samples fail: ``python -m tests.bench.estimates --hard 0.1 --each 1000 yeast hprd``.

The queries of 16 nodes and more by Alley and by trawling, each with the same processor time on one thread, choosing how
to trawl included. Prints those that either is far off, and the worst underestimates.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from qengine import Graph, estimates
from qengine.estimate.result import Sums
from qengine.estimate.sampler import PatternSampler, Sampler
from qengine.estimate.space import Space, make_space
from qengine.estimate.target import Target, target_of
from qengine.estimate.trawling import other_spaces, trawler
from qengine.exec.context import ExecutionContext
from qengine.qerror import Case, q_error

FAR = 3.0
SEED = 5
LONG = 0.5


def hard(name: str, graph: Graph, cases: Iterable[Case], seconds: float) -> None:
    """Print a line for each query that Alley or trawling is far off, then the worst underestimates of both."""
    context = ExecutionContext(threads=1)
    worst = {"alley": 1.0, "trawling": 1.0}
    n = 0
    for case in cases:
        target = target_of(estimates.plan_counted(graph._store, case.query).physical.root)
        space = make_space(target, graph._store, context, None, None)
        if space is None or case.truth is None or target.tail is not None:
            continue
        n += 1
        told = []
        far = False
        for method in worst:
            begin = time.process_time()
            sampler = _sampler(method, target, space, graph._store, context, seconds)
            sums = _spend(sampler, begin + seconds)
            error = q_error(case.truth, sums.mean)
            under = sums.mean < case.truth
            told.append(f"{error:.3g} {'under' if under else 'over'} | {sums.hits:,} of {sums.samples:,}")
            far |= error > FAR
            if under:
                worst[method] = max(worst[method], error)
        if far:
            print(f"| {name} {case.name.split()[0]} | {case.truth:,} | {' | '.join(told)} |", flush=True)
    told = [f"{method} {error:.3g}" for method, error in worst.items()]
    print(f"{name}: {n} queries, worst underestimates: {', '.join(told)}", flush=True)


def _sampler(
    method: str, target: Target, space: Space, store: Any, context: ExecutionContext, seconds: float
) -> Sampler:
    if method == "alley":
        return PatternSampler(target, space, context, SEED, store, method)
    others = other_spaces(target, store, context) if seconds >= LONG else ()
    return trawler([(target, space), *others], context, SEED)


def _spend(sampler: Sampler, end: float) -> Sums:
    """Return the sums of what is drawn until so much processor time is used up; at least one batch."""
    sums = Sums()
    batch = sampler.batch
    begin = time.process_time()
    while True:
        sums += sampler.draw(sums.samples, batch)
        now = time.process_time()
        if now >= end:
            return sums
        batch = max(1, min(2 * batch, int((end - now) / (now - begin) * sums.samples)))
