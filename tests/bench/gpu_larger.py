"""Graphs larger than the memory of a GPU that a query may use: ``python -m tests.bench.gpu_larger --scales 22,24``.

An R-MAT graph is generated on the device and loaded; queries run with the whole device, then within a share of the
graph's bytes there. Of each: milliseconds (the least of three, the first one's apart, which copies the graph), bytes on
the device at most, bytes that lie in the host's memory, what the link needs to move these once, and what a profile
tells. An answer that differs from that with the whole device ends the command with 1. ``--labelled``: nodes have
one of four labels, in turn.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from qengine import Graph, QengineError
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import paged
from qengine.exec.gpu.device import cupy
from qengine.exec.gpu.memory import QueryMemory
from tests.bench import gpu_graphs
from tests.bench.timing import least

QUERIES = {
    "triangle": "MATCH (a)--(b)--(c)--(a) RETURN count(*)",
    "3-path": "MATCH (a)--(b)--(c)--(d) RETURN count(*)",
    "4-cycle": "MATCH (a)--(b)--(c)--(d)--(a) RETURN count(*)",
    "K4": "MATCH (a)--(b)--(c)--(a), (a)--(d)--(b), (c)--(d) RETURN count(*)",
    "by group": "MATCH (a)--(b)--(c) WITH a, count(*) AS n RETURN max(n), count(*)",
    "six": "MATCH (a:L0)--(b:L1)--(c:L2)--(d:L3)--(e:L0)--(f:L2) RETURN count(*)",
    "six in circles": "MATCH (a:L0)--(b:L1)--(c:L2)--(d:L3)--(a), (a)--(e:L0)--(f:L1)--(d), (a)--(c) RETURN count(*)",
    "labelled rows": "MATCH (a:L0)--(b:L1)--(c:L2) WHERE id(a) < 100 RETURN sum(id(b) + id(c))",
    "estimate": "MATCH (a)--(b)--(c)--(a), (a)--(d)--(b), (c)--(d)",
    "rows": "MATCH (a)--(b)--(c) WHERE id(a) < 100 RETURN id(a) AS a, id(b) AS b, id(c) AS c LIMIT 10000000",
}
LABELLED = ("six", "six in circles", "labelled rows")
SHARES = (0.5, 0.25, 0.1)
_SECONDS, _LONG, _RUNS = 60, 4e3, 3


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.gpu_larger", description=__doc__)
    parser.add_argument("--scales", default="22,24")
    parser.add_argument("--queries")
    parser.add_argument("--labelled", action="store_true")
    parser.add_argument("--whole", default="1", help="0: the answers within the first share are those to compare with")
    parser.add_argument("--saved", help="a folder: the graph is saved there, and queries are of what is opened again")
    parser.add_argument("--shares", default=",".join(map(str, SHARES)))
    options = parser.parse_args()
    right = True
    rate = link_bytes()
    print(f"link: {rate / 1e9:.1f} GB/s")
    print("| graph | query | limit, MB | answer | first, ms | then, ms | peak, MB | in host memory, MB | link, ms |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    default = [name for name in QUERIES if (name in LABELLED) is options.labelled]
    names = options.queries.split(",") if options.queries else default
    shares = [*([None] if options.whole == "1" else []), *map(float, options.shares.split(","))]
    for scale in map(int, options.scales.split(",")):
        graph = load(scale, labelled=options.labelled)
        if options.saved:
            graph = saved_and_opened(graph, Path(options.saved) / str(scale))
        whole = graph_bytes(graph)
        for name in names:
            expected: Any = None
            for share in shares:
                limit = None if share is None else int(share * whole)
                found, first, then, peak, elsewhere, notes = measured(graph, name, limit)
                expected = found if share is shares[0] else expected
                wrong = "" if found == expected else " WRONG"
                right &= not wrong
                shown = "whole" if limit is None else f"{limit / 1e6:,.0f}"
                numbers = f"{first:,.1f} | {then:,.1f} | {peak / 1e6:,.0f} | {elsewhere / 1e6:,.0f}"
                link = elsewhere / rate * 1e3
                print(
                    f"| {scale} | {name} | {shown} | {str(found)[:40]}{wrong} | {numbers} | {link:,.1f} |", flush=True
                )
                print(*(f"  {text}" for text in notes), sep="\n", flush=True)
        del graph
    return 0 if right else 1


def load(scale: int, *, labelled: bool = False) -> Graph:
    """Return an R-MAT graph, generated on the device; ``labelled``: with four labels."""
    n = 1 << scale
    rows, neighbours = gpu_graphs.rmat_edges(scale, 16, 42)
    made = time.perf_counter()
    if labelled:
        nodes = [(f"L{k}", pa.table({"id": np.arange(k, n, 4)})) for k in range(4)]
        graph = Graph.from_arrow(nodes, [("E", pa.table({"src": rows, "dst": neighbours}))], undirected=["E"])
    else:
        graph = Graph.from_edge_list((rows, neighbours), type="E", undirected=True)
    seconds = time.perf_counter() - made
    print(f"R-MAT {scale}: {len(rows):,} edges, loaded in {seconds:.1f} s", file=sys.stderr, flush=True)
    return graph


def saved_and_opened(graph: Graph, folder: Path) -> Graph:
    """Return the graph as it is opened from where it is saved now; say how long that takes."""
    began = time.perf_counter()
    graph.save(folder)
    saved = time.perf_counter()
    graph.close()
    opened = Graph.open(folder, verify="never")
    seconds = f"saved in {saved - began:.1f} s, opened in {time.perf_counter() - saved:.2f} s"
    n_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{n_bytes / 1e9:.1f} GB {seconds}", file=sys.stderr, flush=True)
    return opened


def graph_bytes(graph: Graph) -> int:
    """Return the bytes of lists in both directions: what queries of the graph read on the device."""
    return 8 * graph.relationship_count + 8 * graph.node_count


def measured(graph: Graph, name: str, limit: int | None) -> tuple[Any, float, float, int, int, list[str]]:
    """Return the answer, milliseconds of the first run and of the best after it, the peak, the host's bytes, notes."""
    times = []
    found: Any = None
    graph.release_device()
    watched = Watched()
    for _ in range(_RUNS):
        begin = time.perf_counter()
        try:
            with watched:
                found = answer(graph, name, limit)
        except QengineError as error:
            found = str(error.code)
        times.append((time.perf_counter() - begin) * 1e3)
        if times[-1] > _LONG:
            break
    return found, times[0], min(times[1:], default=times[0]), watched.peak, on_host(), watched.notes


def answer(graph: Graph, name: str, limit: int | None) -> Any:
    """Return the number of rows, the only row, or an estimate."""
    text = QUERIES[name]
    if name == "estimate":
        options: Any = {"device": "gpu", "gpu_memory_limit": limit, "samples": 1 << 22, "method": "alley", "seed": 1}
        return round(graph.estimate(text, timeout=_SECONDS, **options).value, -6)
    table = graph.query(text, device="gpu", gpu_memory_limit=limit, timeout=_SECONDS).to_arrow()
    return table.num_rows if table.num_rows > 1 else tuple(table.to_pylist()[0].values())


class Watched:
    """Keeps the most bytes that a query's account is charged for meanwhile, and what a profile would tell."""

    def __init__(self) -> None:
        self.peak = 0
        self.notes: list[str] = []

    def __enter__(self) -> None:
        self.original = original = QueryMemory._charged

        def charged(account: QueryMemory, more: int) -> int:
            used = original(account, more)
            self.peak = max(self.peak, used)
            return used

        def note(context: ExecutionContext, operator: object, text: str) -> None:
            if text not in self.notes:
                self.notes.append(text)

        QueryMemory._charged = charged  # type: ignore[method-assign]
        self.note, ExecutionContext.note = ExecutionContext.note, note  # type: ignore[method-assign]

    def __exit__(self, *_: object) -> None:
        QueryMemory._charged = self.original  # type: ignore[method-assign]
        ExecutionContext.note = self.note  # type: ignore[method-assign]


def on_host() -> int:
    """Return the bytes of pages in the host's memory."""
    return sum(block.n_bytes - block.device_bytes for block in list(paged._live))


def link_bytes() -> float:
    """Return how many bytes a second the link moves to the device."""
    cp, n_bytes = cupy(), 1 << 30
    pinned, to = cp.cuda.alloc_pinned_memory(n_bytes), cp.empty(n_bytes, np.uint8)
    copy = partial(cp.cuda.runtime.memcpy, to.data.ptr, pinned.ptr, n_bytes, 1)
    return n_bytes / least(copy, 3, time.perf_counter)


if __name__ == "__main__":
    sys.exit(main())
