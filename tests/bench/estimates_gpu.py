"""Samples a second on the GPU: ``python -m tests.bench.estimates --gpu``; building candidate graphs: ``--building``.

For each query, millions of samples a second, the candidate graph on the device already: WanderJoin and Alley by the
kernels for any plan and by those made for the pattern, with and without inheritance and streaming; and the milliseconds
from text to interval of a million samples. Guided picks by both kinds of kernels, too.
"""

from __future__ import annotations

import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from qengine import Graph
from qengine.estimate.candidates import build
from qengine.estimate.kernel import level_work
from qengine.estimate.space import Space, make_space
from qengine.estimate.target import target_of
from qengine.estimates import plan_counted
from qengine.exec.common.masks import Masks
from qengine.exec.common.resolve import resolve
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.candidate_graph import build_on_device
from qengine.exec.gpu.compiled import compiled
from qengine.exec.gpu.device import device
from qengine.exec.gpu.launch import device_run
from qengine.exec.gpu.sample import DeviceSamples, SampledSpace, plan_space, upload_guide
from qengine.exec.gpu.sample_job import WORK
from qengine.exec.gpu.sample_packed import packed_plan
from qengine.exec.gpu.upload import device_plan
from qengine.qerror import Case
from tests.bench.timing import least, seconds

SETS = ("enron16", "fb15k-237", "rmat-20")
SEED = 1
COLUMNS = (
    "WJ any", "WJ", "Alley any", "Alley none", "+ inheritance", "+ streaming", "+ both", "guided any", "guided",
    "text, ms",
)  # fmt: skip


@dataclass(frozen=True)
class Prepared:
    """A query's space; ``packed``: None where its plan can't be packed."""

    case: Case
    depth: int
    space: Space
    packed: Any


def rates_on_gpu() -> None:
    """Print a line a query, and the medians of each size."""
    wanted = os.environ.get("QENGINE_BENCH_SETS", ",".join(SETS)).split(",")
    for name in wanted:
        graph, cases = _load(name)
        prepared = list(_prepare(graph, cases))
        _compile(prepared)
        print(f"| {name} | nodes | " + " | ".join(COLUMNS) + " |")
        print("|---|---|" + "---|" * len(COLUMNS), flush=True)
        columns: dict[int, list[list[float]]] = defaultdict(list)
        for each in prepared:
            line = _measure(graph, each)
            columns[each.depth].append(line)
            print(_line(each.case.name, each.depth, line), flush=True)
        for depth, lines in sorted(columns.items()):
            print(
                _line("median", depth, [statistics.median(column) for column in zip(*lines, strict=True)]), flush=True
            )


def _line(name: str, depth: int, line: list[float]) -> str:
    rates = " | ".join(f"{each:,.0f}" for each in line[:-1])
    return f"| {name} | {depth} | {rates} | {line[-1]:.1f} |"


def _load(name: str) -> tuple[Graph, list[Case]]:
    from tests.bench.estimates import SETS as LOADERS

    if name != "rmat-20":
        graph, cases = LOADERS[name]()
        return graph, cases[:: max(1, len(cases) // 40)]
    import numpy as np
    import pyarrow as pa

    from qengine.testing import generate

    start, end = generate.to_csr(generate.rmat(20, 16, 42)).edges()
    labels = generate.vertex_labels(1 << 20, 16, 42)
    nodes = [(f"L{k}", pa.table({"id": np.flatnonzero(labels == k)})) for k in range(16)]
    graph = Graph.from_arrow(nodes, [("E", pa.table({"src": start, "dst": end}))], undirected=["E"])
    return graph, LOADERS["enron16"]()[1][::2]


def _prepare(graph: Graph, cases: list[Case]) -> Iterator[Prepared]:
    for case in cases:
        counted = plan_counted(graph._store, case.query)
        target = target_of(counted.physical.root)
        space = make_space(target, graph._store, ExecutionContext(threads=1), 1 << 24, None)
        if space is None or target.tail is not None:
            continue
        candidates = space.candidates
        packed = None if candidates is None else packed_plan(candidates.resolved(), ExecutionContext(threads=1))
        yield Prepared(case, len(target.search.levels), space, packed)


def _compile(prepared: list[Prepared]) -> None:
    """Compile the kernels of all patterns at once, which is not what is measured."""
    on = device()
    variants = {tuple(each.packed.variant(on)[0].items()) for each in prepared if each.packed is not None}
    begin = time.perf_counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda macros: compiled("sample_packed", on.capability, dict(macros)), variants))
    print(f"compiled {len(variants)} patterns in {time.perf_counter() - begin:.1f} s\n", flush=True)


def _measure(graph: Graph, each: Prepared) -> list[float]:
    context = ExecutionContext(threads=1)
    line = []
    with _spaces(graph, each, context) as (run, plain, packed):
        for method, space, options in (
            ("wanderjoin", plain, {}),
            ("wanderjoin", packed, {}),
            ("alley", plain, {}),
            ("alley", packed, {"streaming": False}),
            ("alley", packed, {"streaming": False, "inheritance": True}),
            ("alley", packed, {}),
            ("alley", packed, {"inheritance": True}),
            ("guided", plain, {}),
            ("guided", packed, {}),
        ):
            candidates = each.space.candidates
            if method == "guided" and candidates is None:
                line.append(0.0)
                continue
            costs = "alley" if method == "guided" else method
            work = level_work(each.space.plan, costs, each.depth, context).view(WORK).reshape(-1)
            guide = upload_guide(run, candidates.guide_levels()) if method == "guided" else ()  # type: ignore[union-attr]
            samples = DeviceSamples(run, space, method, work, guide)
            line.append(_rate(samples, options) / 1e6)
    query: dict[str, Any] = {"method": "wanderjoin", "samples": 1_000_000, "seed": SEED, "device": "gpu"}
    return [*line, _best(partial(graph.estimate, each.case.query, **query))]


def building() -> None:
    """Print what building candidate graphs takes, and estimates with them.

    Of each query the entries, the milliseconds of building on one core of the host and on the device, and those from
    text to interval of a million samples by each method; medians of each size.
    """
    methods = ("wanderjoin", "alley", "guided", "auto")
    for name in os.environ.get("QENGINE_BENCH_SETS", ",".join(SETS)).split(","):
        graph, cases = _load(name)
        print(f"| {name} | nodes | entries | host | device | " + " | ".join(methods) + " |")
        print("|---|---|---|---|---|" + "---|" * len(methods), flush=True)
        groups: dict[int, list[list[float]]] = defaultdict(list)
        for case in cases:
            target = target_of(plan_counted(graph._store, case.query).physical.root)
            context = ExecutionContext(threads=1)
            resolved = resolve(graph._store, target.search, Masks(Runtime(graph._store, context)))
            if resolved is None or target.tail is not None:
                continue
            with device_run(context) as run, device_plan(graph._store, resolved, run) as plan:
                made = build_on_device(graph._store, plan, run, 1 << 62)
                if made is None:
                    continue
                host = build(resolved, context, 1 << 62)
                assert host is not None and (host.entries, host.bound) == (made.entries, made.bound)
                line = [float(made.entries), _best(partial(build, resolved, context, 1 << 62))]
                line.append(_best(partial(build_on_device, graph._store, plan, run, 1 << 62)))
            for method in methods:
                options: dict[str, Any] = {"method": method, "samples": 1_000_000, "seed": SEED, "device": "gpu"}
                line.append(_best(partial(graph.estimate, case.query, **options)))
            groups[len(target.search.levels)].append(line)
            print(_times(case.name, len(target.search.levels), line), flush=True)
        for depth, lines in sorted(groups.items()):
            print(
                _times("median", depth, [statistics.median(column) for column in zip(*lines, strict=True)]), flush=True
            )


def _best(call: Callable[[], object]) -> float:
    """Return the milliseconds of the fastest of five calls."""
    return 1e3 * least(call, 5, time.perf_counter)


def _times(name: str, depth: int, line: list[float]) -> str:
    return f"| {name} | {depth} | {line[0]:,.0f} | " + " | ".join(f"{each:.2f}" for each in line[1:]) + " |"


@contextmanager
def _spaces(
    graph: Graph, each: Prepared, context: ExecutionContext
) -> Iterator[tuple[Any, SampledSpace, SampledSpace]]:
    resolved = each.space.resolved if each.space.candidates is None else each.space.candidates.resolved()
    with device_run(context) as run, device_plan(graph._store, resolved, run) as plan:
        plain = plan_space(plan)
        yield run, plain, each.packed.space(run) if each.packed is not None else plain


def _rate(samples: DeviceSamples, options: dict[str, Any]) -> float:
    """Return samples a second, the best of three launches of so many that each takes some milliseconds."""
    n = 1 << 20
    best = 0.0
    for _ in range(3):
        best = max(best, n / seconds(partial(samples.draw, SEED, 0, n, **options), time.perf_counter))
        n = max(1 << 20, min(1 << 26, int(best * 0.04) // 64 * 64))
    return best
