"""Trawling with prefixes from the GPU: ``python -m tests.bench.estimates --gpu-trawling``.

For enron16's 12-node queries, and those of yeast where samples fail: the same hauls with prefixes drawn by the host and
by the GPU, their q-error and time, and Alley on the GPU for as long. All cores of the host count completions.
"""

from __future__ import annotations

import math
import time
from contextlib import ExitStack
from functools import partial

from qengine import Graph, estimates
from qengine.estimate.device import device_sampler, device_trawling, on_device
from qengine.estimate.result import Sums, interval
from qengine.estimate.sampler import Sampler
from qengine.estimate.space import make_space
from qengine.estimate.target import target_of
from qengine.estimate.trawling import other_spaces, trawler
from qengine.exec.context import ExecutionContext
from qengine.qerror import Case, q_error
from tests.bench.timing import timed

HARD = {
    "enron16": ("q12",),
    "yeast": tuple(f"query_dense_{name} " for name in ("16_25", "24_9", "24_83", "24_86", "24_98", "32_9", "32_54")),
}
HAULS = 512
SEED = 5
BATCH = 1 << 22


def trawling_on_gpu() -> None:
    """Print a line a query; fail where the two samplers differ."""
    from tests.bench.estimates import SETS

    print("| query | count | hauls | q-error | holds | host, ms | GPU ahead, ms | Alley for as long | hits |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for name, wanted in HARD.items():
        graph, cases = SETS[name]()
        for case in cases:
            if f"{case.name} ".startswith(wanted):
                print(f"| {name} {case.name.split()[0]} | {_compared(graph, case)} |", flush=True)


def _compared(graph: Graph, case: Case) -> str:
    assert case.truth is not None
    store, context = graph._store, ExecutionContext()
    target = target_of(estimates.plan_counted(graph._store, case.query).physical.root)
    space = make_space(target, store, context, None, None)
    assert space is not None
    with ExitStack() as lent:
        host = trawler([(target, space), *other_spaces(target, store, context)], context, SEED)
        ahead = device_trawling(lent.enter_context(on_device(host.space, store, context, None)), host, context)
        place = lent.enter_context(on_device(space, store, context, None))
        alley = device_sampler(place, target, store, context, SEED, "alley")
        for each in (ahead, alley):
            each.draw(0, each.batch)  # loads the kernels
        on_host, sums = timed(partial(host.draw, 0, HAULS), time.perf_counter)
        on_gpu, same = timed(partial(ahead.draw, 0, HAULS), time.perf_counter)
        plain = _spend(alley, on_gpu)
    assert math.isclose(sums.mean, same.mean, rel_tol=1e-9) and (sums.hits, sums.work) == (same.hits, same.work)
    low, high = interval(same, 0.95)
    holds = "yes" if low <= case.truth <= high else "no"
    return (
        f"{case.truth:,} | {same.hits:,} of {HAULS:,} | {_error(case.truth, same)} | {holds} | {1e3 * on_host:.0f} "
        f"| {1e3 * on_gpu:.0f} | {_error(case.truth, plain)} | {plain.hits:,} of {plain.samples:,}"
    )


def _error(truth: float, sums: Sums) -> str:
    return f"{q_error(truth, sums.mean):.3g} {'under' if sums.mean < truth else 'over'}"


def _spend(sampler: Sampler, seconds: float) -> Sums:
    """Return the sums of what is drawn in so much time; at least one batch."""
    sums, end = Sums(), time.perf_counter() + seconds
    while not sums.samples or time.perf_counter() < end:
        sums += sampler.draw(sums.samples, BATCH)
    return sums
