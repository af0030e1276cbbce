"""Graphs larger than the memory of a GPU that a query may use: ``python -m tests.bench.gpu_larger --scales 22,24``.

An R-MAT graph is generated on the device and loaded; queries run with the whole device, then within a share of the
graph's bytes there. Of each: milliseconds (the least of three, the first one's apart, which copies the graph), bytes on
the device at most, bytes of the graph that lie in the host's memory, and what the link needs to move these once. An
answer that differs from that with the whole device ends the command with 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

from qengine import Graph, QengineError
from qengine.exec.gpu import paged
from qengine.exec.gpu.device import cupy
from qengine.exec.gpu.memory import QueryMemory
from tests.bench import gpu_graphs

QUERIES = {
    "triangle": "MATCH (a)--(b)--(c)--(a) RETURN count(*)",
    "3-path": "MATCH (a)--(b)--(c)--(d) RETURN count(*)",
    "4-cycle": "MATCH (a)--(b)--(c)--(d)--(a) RETURN count(*)",
    "K4": "MATCH (a)--(b)--(c)--(a), (a)--(d)--(b), (c)--(d) RETURN count(*)",
    "by group": "MATCH (a)--(b)--(c) WITH a, count(*) AS n RETURN max(n), count(*)",
    "rows": "MATCH (a)--(b)--(c) WHERE id(a) < 100 RETURN id(a) AS a, id(b) AS b, id(c) AS c LIMIT 10000000",
}
SHARES = (0.5, 0.25, 0.1)
_SECONDS = 60


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.gpu_larger", description=__doc__)
    parser.add_argument("--scales", default="22,24")
    parser.add_argument("--queries", default=",".join(QUERIES))
    parser.add_argument("--shares", default=",".join(map(str, SHARES)))
    options = parser.parse_args()
    right = True
    rate = link_bytes()
    print(f"link: {rate / 1e9:.1f} GB/s")
    print("| graph | query | limit, MB | answer | first, ms | then, ms | peak, MB | in host memory, MB | link, ms |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for scale in map(int, options.scales.split(",")):
        graph = load(scale)
        whole = graph_bytes(graph)
        for name in options.queries.split(","):
            expected: Any = None
            for share in (None, *map(float, options.shares.split(","))):
                limit = None if share is None else int(share * whole)
                found, first, then, peak, elsewhere = measured(graph, QUERIES[name], limit)
                expected = found if share is None else expected
                wrong = "" if found == expected else " WRONG"
                right &= not wrong
                shown = "whole" if limit is None else f"{limit / 1e6:,.0f}"
                numbers = f"{first:,.1f} | {then:,.1f} | {peak / 1e6:,.0f} | {elsewhere / 1e6:,.0f}"
                link = elsewhere / rate * 1e3
                print(
                    f"| {scale} | {name} | {shown} | {str(found)[:40]}{wrong} | {numbers} | {link:,.1f} |", flush=True
                )
    return 0 if right else 1


def load(scale: int) -> Graph:
    """Return an R-MAT graph, generated on the device."""
    csr = gpu_graphs.rmat(scale, 16, 42)
    neighbours = csr.neighbours.get()
    rows = np.repeat(np.arange(csr.n, dtype=np.uint32), np.diff(csr.offsets.get()).astype(np.int64))
    del csr
    cupy().get_default_memory_pool().free_all_blocks()
    once = rows < neighbours
    rows, neighbours = rows[once].astype(np.int64), neighbours[once].astype(np.int64)
    made = time.perf_counter()
    graph = Graph.from_edge_list((rows, neighbours), type="E", undirected=True)
    seconds = time.perf_counter() - made
    print(f"R-MAT {scale}: {len(rows):,} edges, loaded in {seconds:.1f} s", file=sys.stderr, flush=True)
    return graph


def graph_bytes(graph: Graph) -> int:
    """Return the bytes of lists in both directions: what queries of the graph read on the device."""
    return 8 * graph.relationship_count + 8 * graph.node_count


def measured(graph: Graph, text: str, limit: int | None) -> tuple[Any, float, float, int, int]:
    """Return the answer, milliseconds of the first run and of the best after it, and the peak and the host's bytes."""
    times = []
    found: Any = None
    graph.release_device()
    watched = Watched()
    for _ in range(3):
        begin = time.perf_counter()
        try:
            with watched:
                table = graph.query(text, device="gpu", gpu_memory_limit=limit, timeout=_SECONDS).to_arrow()
            found = table.num_rows if table.num_rows > 1 else tuple(table.to_pylist()[0].values())
        except QengineError as error:
            found = str(error.code)
        times.append((time.perf_counter() - begin) * 1e3)
        if times[-1] > 4e3:
            break
    return found, times[0], min(times[1:], default=times[0]), watched.peak, on_host()


class Watched:
    """Notes the most bytes that the device's allocator has in use meanwhile."""

    def __init__(self) -> None:
        self.peak = 0

    def __enter__(self) -> None:
        self.original = original = QueryMemory._charged

        def charged(account: QueryMemory, more: int) -> int:
            used = original(account, more)
            self.peak = max(self.peak, used)
            return used

        QueryMemory._charged = charged  # type: ignore[method-assign]

    def __exit__(self, *_: object) -> None:
        QueryMemory._charged = self.original  # type: ignore[method-assign]


def on_host() -> int:
    """Return the bytes of pages in the host's memory."""
    return sum(block.n_bytes - block.device_bytes for block in list(paged._live))


def link_bytes() -> float:
    """Return how many bytes a second the link moves to the device."""
    cp, n_bytes = cupy(), 1 << 30
    pinned, to = cp.cuda.alloc_pinned_memory(n_bytes), cp.empty(n_bytes, np.uint8)
    best = 1e9
    for _ in range(3):
        begin = time.perf_counter()
        cp.cuda.runtime.memcpy(to.data.ptr, pinned.ptr, n_bytes, 1)
        best = min(best, time.perf_counter() - begin)
    return float(n_bytes / best)


if __name__ == "__main__":
    sys.exit(main())
