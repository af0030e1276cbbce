"""What candidate graphs gain that start from signatures (GSI §III-A), over up to forty queries of a data set.

``python -m tests.bench.candidates`` prints geometric means against starting from labels alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from qengine import Graph
from qengine.estimate.candidates import CandidateGraph, build
from qengine.estimate.kernel import SampleRange, draw
from qengine.exec.candidates import level_signatures
from qengine.exec.common.resolve import resolve
from qengine.exec.context import ExecutionContext
from qengine.plan.physical import Search
from qengine.testing import generate
from qengine.testing import open_graphs as og
from qengine.testing.data import data_set
from tests.bench.timing import least


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


def gains(graph: Graph, search: Search) -> list[float]:
    """Return how many times as many entries, milliseconds and effective hits (by WanderJoin, Alley and guided picks, of
    100,000 samples) a candidate graph has that starts from signatures.
    """
    context, store = ExecutionContext(threads=1), graph._store
    bare = replace(search, levels=tuple(replace(level, predicates=()) for level in search.levels))
    resolved = resolve(store, bare, None)  # type: ignore[arg-type]  # predicates alone ask for masks
    assert resolved is not None
    found = []
    for signed in (False, True):

        def make(signed: bool = signed) -> CandidateGraph | None:
            return build(resolved, context, 1 << 40, level_signatures(store, search) if signed else None)

        made = make()
        assert made is not None
        line = [max(1.0, made.entries), least(make, 5, time.perf_counter)]
        for method, guide in (("wanderjoin", None), ("alley", None), ("alley", made.guide)):
            samples, depth = SampleRange(1, 0, 100_000), len(search.levels)
            sums = None if made.empty else draw(made.plan, method, context, samples, depth=depth, guide=guide).sums
            line.append(1.0 if sums is None else max(1.0, sums.effective_hits))
        found.append(line)
    return [after / before for before, after in zip(*found, strict=True)]


def load() -> Iterator[tuple[str, tuple[Graph, dict[str, Any]]]]:
    """Yield the data sets."""
    yield "enron16", enron16()
    for name in ("hprd", "yeast"):
        yield name, (og.labelled(name), og.query_graphs(name))


def main() -> None:
    """Print a line a data set."""
    print("| data set | queries | entries | time | WanderJoin | Alley | guided |")
    print("|---|---|---|---|---|---|---|")
    for name, (graph, queries) in load():
        chosen = dict(list(queries.items())[:: max(1, len(queries) // 40)])
        graph._store.signatures  # noqa: B018  made beforehand
        ratios = np.exp(np.mean(np.log([gains(graph, search) for search in searches(graph, chosen)]), axis=0))
        print(f"| {name} | {len(chosen)} | " + " | ".join(f"{each:.2f}" for each in ratios) + " |", flush=True)


if __name__ == "__main__":
    main()
