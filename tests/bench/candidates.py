"""How few candidates a pattern's vertices have by signature, against labels and degrees alone (GSI table IV).

``python -m tests.bench.candidates`` prints for each data set the geometric means over its queries: the least
candidate set of a query by label and degree, by signature too, and how long filtering all of a query's vertices takes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from qengine import Graph
from qengine.exec.candidates import admit_by_degree, admit_by_signature
from qengine.plan.physical import Search, VertexLevel
from qengine.testing import generate
from qengine.testing import open_graphs as og
from qengine.testing.data import data_set


def enron16() -> tuple[Graph, dict[str, Any]]:
    """Load email-Enron with 16 labels, and the query graphs on it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels = generate.vertex_labels(36_692, 16, 42)
    nodes = [(f"L{k}", pa.table({"id": np.flatnonzero(labels == k)})) for k in range(16)]
    edges = pq.read_table(data_set("email-Enron") / "edges.parquet").select(["src", "dst"])
    graph = Graph.from_arrow(nodes, [("E", edges)], undirected=["E"])
    files = sorted(data_set("enron16").glob("q*"))
    return graph, {file.name: og.read_query_graph(file.read_text()) for file in files}


def searches(graph: Graph, queries: dict[str, Any]) -> Iterator[Search]:
    """Yield what each query's pattern is lowered to."""
    for labels, edges in queries.values():
        between = [(a, "-[:E]-", b) for a, b in edges]
        text = og.pattern_query([f"L{label}" for label in labels], between, og.DIFFERENT_NODES)
        physical = graph.prepare(text).plan.plan
        operator: Any = physical.root
        while not isinstance(operator, Search):
            operator = operator.input
        yield operator


def least(graph: Graph, search: Search, signature: bool) -> int:
    """Return the size of a pattern's least candidate set."""
    store = graph._store
    sizes = []
    for index, level in enumerate(search.levels):
        assert isinstance(level, VertexLevel)
        size = 0
        for begin, end in store.label_ranges(level.labels).tolist():
            admitted = np.ones(end - begin, np.bool_)
            admit_by_degree(store, search, index, begin, admitted)
            if signature:
                admit_by_signature(store, search, index, begin, admitted)
            size += int(admitted.sum())
        sizes.append(size)
    return min(sizes)


def main() -> None:
    print("| data set | queries | label and degree | signature too | times fewer | µs a query |")
    print("|---|---|---|---|---|---|")
    loads = {name: lambda name=name: (og.labelled(name), og.query_graphs(name)) for name in ("hprd", "yeast")}
    for name, load in {"enron16": enron16, **loads}.items():
        graph, queries = load()
        found = list(searches(graph, queries))
        begin = time.perf_counter()
        signatures = graph._store.signatures
        build = time.perf_counter() - begin
        plain = np.array([least(graph, each, False) for each in found])
        begin = time.perf_counter()
        filtered = np.array([least(graph, each, True) for each in found])
        seconds = time.perf_counter() - begin
        fewer = np.exp(np.mean(np.log(np.maximum(plain, 1) / np.maximum(filtered, 1))))
        print(
            f"| {name} | {len(found)} | {np.median(plain):.0f} | {np.median(filtered):.0f} | {fewer:.1f} | "
            f"{seconds / len(found) * 1e6:.0f} |  built in {build * 1e3:.1f} ms, {signatures.nbytes:,} bytes"
        )


if __name__ == "__main__":
    main()
