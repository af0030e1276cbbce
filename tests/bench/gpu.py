"""Counts small patterns on the GPU: ``python -m tests.bench.gpu [--graphs rmat20,…] [--patterns triangle,…]``.

Graphs are generated on the device (``gpu_graphs``), or read where the open graphs are. A pattern is planned by the
engine from its text on a small graph; what its plan counts is then run on each graph by the same kernels as a query's.
Times are of the kernels, by events, the median of five runs; what they need beforehand (slices of lists, rows of hubs,
sorted roots), which a query keeps on the device, is shown beside, then each kernel alone, which run side by side in
the first time, and last how many MB beyond the graph it all takes.
``rmat22+star`` is the graph with one node more, that neighbours all others. Counts are of subgraphs, each once, and
compared with what other codes agree on; a wrong one ends the command with 1.

``PEERS`` are the best times that other codes take on the same device (one NVIDIA H200): of those that visit every
match, and of those that count by formulas, too.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import exp, log
from typing import Any

import numpy as np

from qengine import Graph
from qengine.exec.common.match_plan import PCSR
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.count_kernels import Roots, ShapeCounter, ViewSpec
from qengine.exec.gpu.device import cupy
from qengine.exec.gpu.launch import DeviceRun, device_run
from qengine.plan.count_shapes import CountShape, View, with_views
from qengine.plan.physical import Search
from qengine.testing.data import data_set
from qengine.testing.plans import planned
from tests.bench import gpu_graphs
from tests.bench.dialects import cypher_for_qengine
from tests.bench.patterns import DIAMOND, FOUR_CYCLE, HOUSE, TRIANGLE, Pattern, clique

PATTERNS = {
    "triangle": TRIANGLE,
    "K4": clique(4),
    "K5": clique(5),
    "4-cycle": FOUR_CYCLE,
    "diamond": DIAMOND,
    "house": HOUSE,
}

GRAPHS = ("email-Enron", "cnr-2000", "er20", "rmat16", "rmat18", "rmat20", "rmat22")

COUNTS = {
    ("rmat20", "triangle"): 423_695_736,
    ("rmat20", "K4"): 17_059_651_334,
    ("rmat20", "K5"): 630_688_953_569,
    ("rmat20", "diamond"): 381_836_252_207,
    ("rmat20", "4-cycle"): 452_102_022_479,
    ("rmat22", "triangle"): 2_110_829_424,
    ("rmat22", "K4"): 123_980_478_282,
    ("rmat22", "diamond"): 3_079_723_267_336,
    ("rmat18", "triangle"): 82_900_202,
    ("rmat18", "diamond"): 45_838_517_399,
    ("rmat18", "4-cycle"): 51_319_338_289,
    ("rmat16", "triangle"): 15_633_803,
    ("rmat16", "K4"): 290_547_372,
    ("rmat16", "K5"): 4_583_361_842,
    ("rmat16", "4-cycle"): 5_537_200_641,
    ("rmat16", "diamond"): 5_241_833_540,
    ("rmat16", "house"): 4_700_306_470_933,
    ("er20", "triangle"): 5_551,
    ("er20", "K4"): 0,
    ("er20", "4-cycle"): 131_255,
    ("er20", "diamond"): 10,
    ("er20", "house"): 537,
    ("email-Enron", "triangle"): 727_044,
    ("email-Enron", "K4"): 2_341_639,
    ("email-Enron", "K5"): 5_809_356,
    ("email-Enron", "4-cycle"): 36_262_229,
    ("email-Enron", "diamond"): 36_528_276,
    ("email-Enron", "house"): 5_677_082_981,
    ("cnr-2000", "triangle"): 20_977_629,
    ("cnr-2000", "K4"): 159_814_399,
    ("cnr-2000", "K5"): 1_252_511_081,
    ("cnr-2000", "4-cycle"): 81_330_781_033,
    ("cnr-2000", "diamond"): 43_933_401_996,
}

PEERS: dict[tuple[str, str], tuple[float | None, float | None]] = {
    ("rmat20", "triangle"): (14.9, None),
    ("rmat20", "K4"): (248, None),
    ("rmat20", "K5"): (7757, None),
    ("rmat20", "diamond"): (327, 69),
    ("rmat20", "4-cycle"): (8372, None),
    ("rmat22", "triangle"): (87, None),
    ("rmat22", "K4"): (1704, None),
    ("rmat22", "diamond"): (None, 521),
    ("rmat18", "4-cycle"): (831, None),
    ("rmat16", "triangle"): (0.49, None),
    ("rmat16", "K4"): (5.5, None),
    ("rmat16", "K5"): (87, None),
    ("rmat16", "4-cycle"): (77, None),
    ("rmat16", "house"): (None, 1687),
    ("er20", "triangle"): (3.6, None),
    ("er20", "K4"): (4.5, None),
    ("er20", "4-cycle"): (43, None),
    ("er20", "diamond"): (6.3, None),
    ("er20", "house"): (6.9, None),
    ("email-Enron", "triangle"): (0.083, None),
    ("email-Enron", "K4"): (0.19, None),
    ("email-Enron", "K5"): (0.74, None),
    ("email-Enron", "4-cycle"): (1.15, None),
    ("email-Enron", "diamond"): (0.55, 0.14),
    ("email-Enron", "house"): (562, 35),
    ("cnr-2000", "triangle"): (0.54, None),
    ("cnr-2000", "K4"): (3.1, None),
    ("cnr-2000", "K5"): (26, None),
    ("cnr-2000", "4-cycle"): (1098, None),
    ("cnr-2000", "diamond"): (32, 2.2),
}
"""Milliseconds of the best code that visits matches, and of the best that counts by formulas."""

_RUNS = 5
_SKIPPED = {("rmat22", "house")}
"""Takes a minute: heavy roots have their counters in global memory."""


@dataclass(frozen=True)
class Cell:
    """One pattern on one graph: subgraphs, milliseconds of the kernels, of their preparation and of each, memory."""

    graph: str
    pattern: str
    count: int
    kernels: float
    preparation: float
    launches: tuple[float, ...]
    n_bytes: int

    @property
    def is_right(self) -> bool:
        return COUNTS.get((self.graph, self.pattern), self.count) == self.count

    def ratio(self, which: int) -> float | None:
        """How many times longer the peer takes."""
        peer = PEERS.get((self.graph, self.pattern), (None, None))[which]
        return None if peer is None else peer / self.kernels

    def row(self) -> str:
        peers = PEERS.get((self.graph, self.pattern), (None, None))
        shown = [f"{p:g} ({self.ratio(k):.1f}×)" if p is not None else "" for k, p in enumerate(peers)]
        known = "" if (self.graph, self.pattern) in COUNTS else " (no peer)"
        right = known if self.is_right else " WRONG"
        return (
            f"| {self.graph} | {self.pattern} | {self.count:,}{right} | {self.kernels:.3g} | {shown[0]} | {shown[1]} "
            f"| {self.preparation:.2g} | {' + '.join(f'{ms:.2g}' for ms in self.launches)} "
            f"| {self.n_bytes / 1e6:,.0f} |"
        )


def main() -> int:
    """Print the table, and how many times faster than the peers in the geometric mean."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.gpu", description=main.__doc__)
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="a,b; default: all")
    parser.add_argument("--patterns", default=",".join(PATTERNS), help="a,b; default: all")
    options = parser.parse_args()
    patterns = {name: shape_of(PATTERNS[name]) for name in options.patterns.split(",")}
    with device_run(ExecutionContext()) as run:
        return table(options.graphs.split(","), patterns, run)


def table(graphs: Sequence[str], patterns: dict[str, tuple[CountShape, Fraction]], run: DeviceRun) -> int:
    """Print a row for each pattern on each graph; return 1 if a count is wrong."""
    cells = []
    print(run.device.name)
    for name in graphs:
        begin = time.perf_counter()
        graph = load(name)
        cupy().cuda.runtime.deviceSynchronize()  # made on another stream
        print(f"{name}: {graph.n:,} vertices, {len(graph.neighbours) // 2:,} edges,", end=" ")
        print(f"ready in {time.perf_counter() - begin:.1f} s", flush=True)
        for pattern, (shape, times) in patterns.items():
            if (name, pattern) in _SKIPPED:
                continue
            cells.append(measure(name, pattern, graph, shape, times, run))
            print(cells[-1].row(), flush=True)
    for k, kind in enumerate(("visit matches", "count by formulas")):
        ratios = [ratio for cell in cells if (ratio := cell.ratio(k)) is not None]
        if ratios:
            mean = exp(sum(map(log, ratios)) / len(ratios))
            print(f"peers that {kind} take {mean:.1f}× (geometric mean of {len(ratios)}), at least {min(ratios):.2f}×")
    return 0 if all(cell.is_right for cell in cells) else 1


def shape_of(pattern: Pattern) -> tuple[CountShape[View], Fraction]:
    """Return the shape that the engine finds in the pattern's plan, and how many subgraphs each count stands for."""
    random = np.random.default_rng(1)
    ends = np.unique(np.sort(random.integers(0, 200, (2000, 2)), axis=1), axis=0)
    ends = ends[ends[:, 0] != ends[:, 1]]
    graph = Graph.from_edge_list((ends[:, 0], ends[:, 1]), type="E", undirected=True)
    search = planned(graph, cypher_for_qengine(pattern), Search)[0]
    if len(search.shapes) != 1:
        raise SystemExit(f"{pattern.name} has no kernel of its own")
    return search.shapes[0].shape, Fraction(search.orbits, len(pattern.automorphisms))


def widened(shape: CountShape[View], n: int) -> CountShape[ViewSpec]:
    """Return the shape over the one list of a graph of n vertices."""
    return with_views(shape, lambda view: ViewSpec(0, 0, n, view.below, view.above))


def load(name: str) -> gpu_graphs.DeviceCsr:
    """Return a graph on the device."""
    if name.endswith("+star"):
        return gpu_graphs.with_star(load(name.removesuffix("+star")))
    if name.startswith("rmat"):
        return gpu_graphs.rmat(int(name[4:]), 16, 42)
    if name.startswith("er"):
        return gpu_graphs.uniform(int(name[2:]), 16 << int(name[2:]), 42)
    import pyarrow.parquet as pq

    edges = pq.read_table(data_set(f"{name}/edges.parquet"))
    ends = [edges["src"].to_numpy(), edges["dst"].to_numpy()]
    return gpu_graphs.from_edges(1 + int(max(each.max() for each in ends)), *ends)


def measure(
    name: str, pattern: str, graph: gpu_graphs.DeviceCsr, shape: CountShape[View], times: Fraction, run: DeviceRun
) -> Cell:
    """Count a pattern on a graph, once to warm up and then five times."""
    lists = np.zeros(1, PCSR)
    lists["hi"], lists["n_entries"] = graph.n, len(graph.neighbours)
    lists["offsets"], lists["neighbours"] = graph.offsets.data.ptr, graph.neighbours.data.ptr
    used = int((graph.offsets[1:] > graph.offsets[:-1]).sum())  # ids go by degree: the others are at the end
    roots = Roots(0, used, used)
    prepare = []
    for _ in range(2):
        counter = ShapeCounter(lists, widened(shape, used), roots)
        prepare.append(_milliseconds(lambda counter=counter: counter.prepare(run), run))  # type: ignore[misc]
    counter.start(run)
    found = counter.result(run)
    assert found is not None
    kernels = statistics.median(_milliseconds(lambda: counter.start(run), run) for _ in range(_RUNS))
    if counter.result(run) != found:
        raise SystemExit(f"{pattern} on {name} gives another count each time")
    launches = []
    run.clear(counter.counters, 128)
    for kernel, launch, task in chain.from_iterable(counter.branches):
        arguments = (kernel, launch.blocks, launch.threads, (task,), launch.shared)
        launches.append(_milliseconds(lambda arguments=arguments: run.launch(*arguments), run))  # type: ignore[misc]
    return Cell(name, pattern, int(found * times), kernels, prepare[-1], tuple(launches), counter.n_bytes)


def _milliseconds(work: Any, run: DeviceRun) -> float:
    cuda = cupy().cuda
    begin, end = cuda.Event(), cuda.Event()
    begin.record(run.stream)
    work()
    end.record(run.stream)
    end.synchronize()
    return float(cuda.get_elapsed_time(begin, end))


if __name__ == "__main__":
    sys.exit(main())
