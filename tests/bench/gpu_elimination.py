"""Counts by elimination on the GPU: ``python -m tests.bench.gpu_elimination [--graphs rmat16,…] [--patterns 3-path]``.

From text to count with a cached plan, graph on the device: the median of twenty runs, and of their kernels by events;
"anew" is the median of runs that find the triangles of vertices, or which members of roots are linked, which otherwise
stay on the device, too. Beside them the CPU's elimination of the same plan, once, with whose count each is compared (a
wrong one ends the command with 1). The limit is of the messages alone: each reads its matrix's ids once from memory,
4 bytes an entry at 4.8 TB/s.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import Any

import numpy as np

from qengine import Graph
from qengine.errors import QengineError, QueryTimeout
from qengine.exec.gpu.kernels import DEGREES
from qengine.exec.gpu.memory import device_memory
from qengine.exec.gpu.triangle_counts import LINKS_OF_TRIANGLES, TRIANGLES_OF_VERTICES
from qengine.plan.elimination import MatVec
from qengine.plan.physical import Eliminate
from qengine.testing.plans import planned
from tests.bench import gpu_graphs
from tests.bench.gpu_latency import Timed

PATTERNS = {
    "2-path": "(a)-[:E]-(b)-[:E]-(c)",
    "3-path": "(a)-[:E]-(b)-[:E]-(c)-[:E]-(d)",
    "4-path": "(a)-[:E]-(b)-[:E]-(c)-[:E]-(d)-[:E]-(e)",
    "4-walk": "REPEATABLE ELEMENTS (a)-[:E]-(b)-[:E]-(c)-[:E]-(d)-[:E]-(e)",
    "5-walk": "REPEATABLE ELEMENTS (a)-[:E]-(b)-[:E]-(c)-[:E]-(d)-[:E]-(e)-[:E]-(f)",
    "3-star": "(a)-[:E]-(b), (a)-[:E]-(c), (a)-[:E]-(d)",
    "4-star": "(a)-[:E]-(b), (a)-[:E]-(c), (a)-[:E]-(d), (a)-[:E]-(e)",
    "fork": "(a)-[:E]-(b)-[:E]-(c), (b)-[:E]-(d), (d)-[:E]-(e)",
    "tree": "(a)-[:E]-(b), (a)-[:E]-(c), (b)-[:E]-(d), (b)-[:E]-(e), (c)-[:E]-(f)",
    "spider": "(a)-[:E]-(b)-[:E]-(c), (a)-[:E]-(d)-[:E]-(e), (a)-[:E]-(f)-[:E]-(g)",
    "caterpillar": "(a)-[:E]-(b)-[:E]-(c)-[:E]-(d)-[:E]-(e), (b)-[:E]-(f), (c)-[:E]-(g), (d)-[:E]-(h)",
    "5-path": "(a)-[:E]-(b)-[:E]-(c)-[:E]-(d)-[:E]-(e)-[:E]-(f)",
    "6-path": "(a)-[:E]-(b)-[:E]-(c)-[:E]-(d)-[:E]-(e)-[:E]-(f)-[:E]-(g)",
    "triangle with a path": "(a)-[:E]-(b)-[:E]-(c)-[:E]-(a), (c)-[:E]-(d)-[:E]-(e)",
    "bow tie": "(a)-[:E]-(b)-[:E]-(c)-[:E]-(a), (c)-[:E]-(d)-[:E]-(e)-[:E]-(c)",
}
GROUPED = {"3-path by node": "3-path", "triangle by node": "(a)-[:E]-(b)-[:E]-(c)-[:E]-(a)"}
GRAPHS = ("rmat16", "rmat18", "rmat20")

_BANDWIDTH = 4.8e12
_DERIVED = (DEGREES, TRIANGLES_OF_VERTICES, LINKS_OF_TRIANGLES)
_RUNS = 20
_CPU_SECONDS = 20


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.gpu_elimination", description=main.__doc__)
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="a,b; default: all")
    parser.add_argument("--patterns", default=",".join([*PATTERNS, *GROUPED]), help="a,b; default: all")
    parser.add_argument("--no-cpu", action="store_true", help="leave the CPU's count out")
    options = parser.parse_args()
    wrong = 0
    print("| graph | pattern | count | steps | ms | anew | kernels | limit | CPU |\n" + "| - " * 9 + "|")
    for name in options.graphs.split(","):
        graph = load(int(name.removeprefix("rmat")))
        for pattern in options.patterns.split(","):
            wrong += not measure(name, graph, pattern, options.no_cpu)
    return 1 if wrong else 0


def text_of(pattern: str) -> str:
    """Return a pattern's query."""
    found = GROUPED.get(pattern)
    if found is None:
        return f"/*+ eliminate */ MATCH {PATTERNS[pattern]} RETURN count(*)"
    return f"/*+ eliminate */ MATCH {PATTERNS.get(found, found)} WITH a, count(*) AS n RETURN max(n), count(*)"


def load(scale: int) -> Graph:
    """Return an R-MAT graph, generated on the device."""
    csr = gpu_graphs.rmat(scale, 16, 42)
    neighbours = csr.neighbours.get().astype(np.int64)
    rows = np.repeat(np.arange(csr.n), np.diff(csr.offsets.get()).astype(np.int64))
    once = rows < neighbours
    begin = time.perf_counter()
    graph = Graph.from_edge_list((rows[once], neighbours[once]), type="E", undirected=True)
    print(f"R-MAT {scale} loaded in {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
    return graph


def measure(name: str, graph: Graph, pattern: str, no_cpu: bool) -> bool:
    """Print a row; tell whether the count is right."""
    text = text_of(pattern)
    operator = planned(graph, text, Eliminate)[0]
    way = "" if operator.schedule("gpu") else " (searched)"
    count = answer(graph, text, "gpu")
    whole, anew, kernels = times(graph, text)
    messages = sum(isinstance(step, MatVec) and step.vector is not None for step in operator.steps)
    limit = messages * 4 * 2 * graph.relationship_count / _BANDWIDTH * 1e3
    begin = time.perf_counter()
    expected = None if no_cpu else answer(graph, text, "cpu")
    cpu = "" if expected is None else f"{(time.perf_counter() - begin) * 1e3:,.1f}"
    right = expected in (None, "timeout", count)
    shown = " / ".join(f"{each:,}" for each in count) if isinstance(count, tuple) else count
    print(
        f"| {name} | {pattern}{way} | {shown}{'' if right else f' WRONG, not {expected}'} | {len(operator.steps)} "
        f"| {whole:.3g} | {anew:.3g} | {kernels:.3g} | {limit:.2g} | {cpu} |",
        flush=True,
    )
    return right


def answer(graph: Graph, text: str, device: Any) -> tuple[int, ...] | str:
    """Return a query's row, or why there is none."""
    try:
        return tuple(graph.query(text, device=device, timeout=_CPU_SECONDS).fetchone())
    except QueryTimeout:
        return "timeout"
    except QengineError as error:
        return str(error.code)


def times(graph: Graph, text: str) -> tuple[float, float, float]:
    """Return milliseconds of a query, of one that counts all anew, and of its kernels, from start to end."""
    kernels = []
    whole, anew = (median(graph, text, drop) for drop in (False, True))
    with Timed() as timed:
        for _ in range(3):
            answer(graph, text, "gpu")
            kernels.append(timed.milliseconds())
    return whole, anew, statistics.median(kernels)


def median(graph: Graph, text: str, drop: bool) -> float:
    """Return the median of a query's milliseconds; with ``drop`` each finds its degrees and triangles."""
    found: list[float] = []
    while len(found) < _RUNS and sum(found) < 2e3:
        if drop:
            residents = device_memory()._residents
            for key in [key for key in residents if key[-1] in _DERIVED]:
                del residents[key]
        begin = time.perf_counter()
        answer(graph, text, "gpu")
        found.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(found)


if __name__ == "__main__":
    sys.exit(main())
