"""Counts labelled patterns: ``python -m tests.bench.edge_labelled [--graphs enron,…] [--devices cpu,gpu]``.

enron, gowalla and watdiv have labels on nodes and relationships, as GSI was tested; they follow Zipf's law. A query is
what a random walk from a random node passes until it has seen 12 nodes: these nodes, and the relationships that it
took; counted with DIFFERENT NODES. enron16 and fb15k-237 have queries of their own. Times are of a prepared query from
call to count, the least of ``--repeat`` runs, and the first one; the GPU's counts are compared with the CPU's, and a
wrong one ends the command with 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from qengine import Graph
from qengine.storage.kernels import sort_lists
from qengine.testing import generate
from qengine.testing import open_graphs as og
from qengine.testing.data import data_set

SIZE = 12
_STEPS = 2_000
"""A walk that has not seen so many nodes after so many steps is in too small a component."""
_PART = 1 << 20
"""Labels that a thread draws at a time."""


@dataclass(frozen=True)
class Labelled:
    """Edges of ``n`` nodes, and labels from 0 on. ``directed``: whether patterns ask for the direction."""

    n: int
    source: npt.NDArray[Any]
    target: npt.NDArray[Any]
    node_labels: npt.NDArray[np.int16]
    edge_labels: npt.NDArray[np.int16]
    directed: bool

    def load(self) -> Graph:
        """Load it: labels ``V0``, …, types ``T0``, …"""
        by_label = np.argsort(self.node_labels, kind="stable")
        cuts = np.searchsorted(self.node_labels[by_label], np.arange(1, int(self.node_labels.max()) + 1))
        nodes = [(f"V{k}", pa.table({"id": ids})) for k, ids in enumerate(np.split(by_label, cuts))]
        by_type = np.argsort(self.edge_labels, kind="stable")
        cuts = np.searchsorted(self.edge_labels[by_type], np.arange(1, int(self.edge_labels.max()) + 1))
        types = [
            (f"T{k}", pa.table({"src": self.source[rows], "dst": self.target[rows]}))
            for k, rows in enumerate(np.split(by_type, cuts))
        ]
        return Graph.from_arrow(nodes, types, undirected=[] if self.directed else [name for name, _ in types])

    def queries(self, count: int, seed: int) -> list[str]:
        """Return the texts of random-walk queries."""
        both = [np.concatenate(pair).astype(np.uint32) for pair in permutations((self.source, self.target))]
        offsets, ends, order = sort_lists(both[0], 0, self.n, both[1], order=True)
        random, found = np.random.default_rng(seed), []
        while len(found) < count:
            walk = self._walk(random, order, ends, offsets)
            if walk is not None:
                found.append(self._text(*walk))
        return found

    def _walk(self, random: Any, order: Any, ends: Any, offsets: Any) -> tuple[dict[int, int], set[int]] | None:
        """Return the nodes that a walk saw, numbered in their order, and the edges that it took."""
        at = int(random.integers(self.n))
        seen, taken = {at: 0}, set()
        for _ in range(_STEPS):
            if len(seen) == SIZE:
                return seen, taken
            if offsets[at] == offsets[at + 1]:
                return None
            slot = int(random.integers(offsets[at], offsets[at + 1]))
            taken.add(int(order[slot]) % len(self.source))
            at = int(ends[slot])
            seen.setdefault(at, len(seen))
        return None

    def _text(self, seen: dict[int, int], taken: set[int]) -> str:
        head = ">" if self.directed else ""
        edges = [
            (seen[int(self.source[e])], f"-[:T{self.edge_labels[e]}]-{head}", seen[int(self.target[e])])
            for e in sorted(taken)
        ]
        return og.pattern_query([f"V{self.node_labels[node]}" for node in seen], edges, og.DIFFERENT_NODES)


def _zipf(random: Any, kinds: int, n: int) -> npt.NDArray[np.int16]:
    """Return n labels below ``kinds``, number k in proportion to 1 / (k + 1)."""
    ends = np.cumsum(1 / np.arange(1, kinds + 1))
    drawn, labels = random.random(n), np.empty(n, np.int16)

    def label(begin: int) -> None:
        part = slice(begin, begin + _PART)
        labels[part] = np.searchsorted(ends / ends[-1], drawn[part], side="right")

    with ThreadPoolExecutor() as threads:
        list(threads.map(label, range(0, n, _PART)))
    return labels


def _labelled(source: Any, target: Any, n: int, kinds: tuple[int, int], directed: bool = False) -> Labelled:
    random = np.random.default_rng(42)
    return Labelled(n, source, target, _zipf(random, kinds[0], n), _zipf(random, kinds[1], len(source)), directed)


def enron() -> Labelled:
    """Return email-Enron with 10 labels of nodes and 100 of edges."""
    import pyarrow.parquet as pq

    edges = pq.read_table(data_set("email-Enron") / "edges.parquet")
    source, target = (edges[name].to_numpy() for name in ("src", "dst"))
    return _labelled(source, target, 1 + int(max(source.max(), target.max())), (10, 100))


def gowalla() -> Labelled:
    """Return an R-MAT graph as large as gowalla, 2**18 nodes and 1.9 M edges, with 100 labels of each."""
    source, target = generate.to_csr(generate.rmat(18, 8, 42)).edges()
    return _labelled(source, target, 1 << 18, (100, 100))


def watdiv(share: int = 1) -> Labelled:
    """Return a graph like WatDiv's RDF data: 10 M nodes of 1,000 classes, 109 M directed edges of 86 kinds.

    Each kind leads from its classes' nodes to those of others; few nodes are the ends of many edges.
    """
    random = np.random.default_rng(7)
    n, m = 10_000_000 // share, 109_000_000 // share
    source = random.integers(0, n, m, dtype=np.uint32)
    target = (n * random.random(m, np.float32) ** 2).astype(np.uint32) % np.uint32(n)
    kept = source != target
    return _labelled(source[kept], target[kept], n, (1000, 86), directed=True)


def generated(data: Labelled, count: int) -> tuple[Graph, list[str]]:
    """Load a graph, and draw its queries."""
    return data.load(), data.queries(count, 42)


def enron_queries() -> tuple[Graph, dict[str, Any]]:
    """Load email-Enron with 16 labels, and the query graphs on it."""
    import pyarrow.parquet as pq

    labels = generate.vertex_labels(36_692, 16, 42)
    nodes = [(f"L{k}", pa.table({"id": np.flatnonzero(labels == k)})) for k in range(16)]
    edges = pq.read_table(data_set("email-Enron") / "edges.parquet").select(["src", "dst"])
    graph = Graph.from_arrow(nodes, [("E", edges)], undirected=["E"])
    files = sorted(data_set("enron16").glob("q*"))
    return graph, {file.name: og.read_query_graph(file.read_text()) for file in files}


def enron16(count: int) -> tuple[Graph, list[str]]:
    """Return email-Enron with 16 labels and the queries whose counts are known."""
    graph, queries = enron_queries()
    texts = [
        og.pattern_query([f"L{label}" for label in labels], [(a, "-[:E]-", b) for a, b in edges], og.DIFFERENT_NODES)
        for name, (labels, edges) in queries.items()
        if name not in ("q12d_5", "q12d_6", "q12d_7", *(f"q12s_{k}" for k in range(2, 8)))
    ]
    return graph, texts[:count]


def freebase(count: int) -> tuple[Graph, list[str]]:
    """Return fb15k-237 and its workload."""
    return og.typed("fb15k-237"), [truth.query for truth in og.workload_truths("fb15k-237")][:count]


GRAPHS: dict[str, Callable[[int], tuple[Graph, list[str]]]] = {
    "enron": lambda count: generated(enron(), count),
    "gowalla": lambda count: generated(gowalla(), count),
    "watdiv": lambda count: generated(watdiv(), count),
    "watdiv10": lambda count: generated(watdiv(10), count),
    "enron16": enron16,
    "fb15k-237": freebase,
}


def timed(prepared: Any, device: str, repeat: int) -> tuple[int, float, float]:
    """Return a query's count, and milliseconds of the quickest run and of the first."""
    taken = []
    for _ in range(repeat):
        begin = time.perf_counter()
        count = prepared.run(device=device).value()
        taken.append((time.perf_counter() - begin) * 1e3)
    return count, min(taken), taken[0]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.edge_labelled", description=main.__doc__)
    parser.add_argument("--graphs", default="enron,gowalla", help=f"of {', '.join(GRAPHS)}")
    parser.add_argument("--devices", default="cpu,gpu", help="cpu, gpu or both, the CPU first")
    parser.add_argument("--queries", type=int, default=100, help="at most, of a graph")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--each", action="store_true", help="show every query")
    options = parser.parse_args()
    names = options.graphs.split(",")
    if unknown := [name for name in names if name not in GRAPHS]:
        parser.error(f"there is no graph {unknown[0]!r}; choose from {', '.join(GRAPHS)}")
    devices, wrong = options.devices.split(","), 0
    print("| graph | device | queries | mean ms | median | 95 % below | worst | first runs, mean | largest count |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in names:
        begin = time.perf_counter()
        graph, texts = GRAPHS[name](options.queries)
        queries = [graph.prepare(text) for text in texts]
        print(f"{name}: ready in {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
        counts: dict[str, list[int]] = {}
        for device in devices:
            found = [timed(each, device, options.repeat) for each in queries]
            counts[device] = [count for count, _, _ in found]
            times = np.array([ms for _, ms, _ in found])
            shown = [times.mean(), np.median(times), np.quantile(times, 0.95), times.max()]
            shown.append(np.mean([first for _, _, first in found]))
            print(
                f"| {name} | {device} | {len(found)} | {' | '.join(f'{ms:.3g}' for ms in shown)} "
                f"| {max(counts[device]):,} |",
                flush=True,
            )
            if options.each:
                for k, (count, ms, first) in enumerate(found):
                    print(f"  {k}: {count:,} in {ms:.3g} ms, first {first:.3g}: {queries[k].text}", file=sys.stderr)
        different = [k for k, pair in enumerate(zip(*counts.values(), strict=True)) if len(set(pair)) > 1]
        wrong += len(different)
        for k in different:
            print(f"WRONG: {[each[k] for each in counts.values()]} of {queries[k].text}")
    if wrong:
        print(f"{wrong} counts are WRONG")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
