"""What other planners expect: ``python -m tests.bench.planner_estimates [SET …]``, estimates of Kùzu, DuckDB and ours.

Each planner explains the count of a pattern and says how many rows it expects below the aggregate; ours estimates it by
10,000 samples. Kùzu has labels as properties of nodes, DuckDB beside the ends of each edge, undirected edges both ways;
each type of edges is a table of its own. Q-errors of labelled patterns are against the known counts of embeddings with
different nodes, which the two engines' texts don't ask for: that would only add conditions to what they underestimate.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from qengine import Graph
from qengine.qerror import q_error
from qengine.testing import generate
from qengine.testing import open_graphs as og
from qengine.testing.data import data_set
from tests.bench.estimates import SETS, sizes, spread

Pattern = tuple[Sequence[int | None], Sequence[tuple[int, int, int]]]  # labels of the vertices; ends and types of edges
OURS = 10_000  # samples
TYPED = ("fb15k-237", "wn18rr")


def main() -> None:
    """Print a line for each size of the patterns."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.planner_estimates", description=main.__doc__)
    parser.add_argument("sets", nargs="*", default=["yeast", "enron16", "fb15k-237", "wn18rr"])
    parser.add_argument("--each", type=int, default=20, help="patterns of a size (default: 20)")
    parser.add_argument("--most", type=int, default=8, help="nodes of a pattern (default: 8)")
    options = parser.parse_args()
    print(
        "| graph, nodes | patterns | planner | median q-error | worst over | worst under |\n|---|---|---|---|---|---|"
    )
    for name in options.sets:
        graph, cases = SETS[name]()
        patterns, labels, edges = _set(name)
        directed = name in TYPED
        planners = {"Kùzu": kuzu(labels, edges, directed), "DuckDB": duckdb(labels, edges, directed)}
        as_theirs = [case for case in cases if og.DIFFERENT_RELATIONSHIPS not in case.name]
        for size, group in sorted(sizes(as_theirs).items()):
            if size > options.most:
                continue
            chosen = [case for case in spread(group, options.each) if case.truth]
            for planner, expect in {**planners, "qengine": None}.items():
                over, under = [1.0], [1.0]  # where there is none
                for case in chosen:
                    if expect is not None:
                        found = expect(patterns[case.name.split(" ")[0]])
                    else:
                        found = _ours(graph, case.query)
                    truth = float(case.truth or 0)
                    (over if found > truth else under).append(q_error(truth, found))
                median = float(np.median(over[1:] + under[1:]))
                figures = f"{median:.3g} | {max(over):.3g} | {max(under):.3g}"
                print(f"| {name} {size} | {len(chosen)} | {planner} | {figures} |", flush=True)


def kuzu(labels: np.ndarray, edges: dict[int, pa.Table], directed: bool) -> Callable[[Pattern], float]:
    """Load the graph into Kùzu; return what it expects of a pattern. ``edges``: src and dst of each type."""
    import kuzu as engine

    connection: Any = engine.Connection(engine.Database(":memory:"))
    connection.execute("CREATE NODE TABLE V(id INT64 PRIMARY KEY, label INT64)")
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(
            pa.table({"id": np.arange(len(labels)), "label": labels.astype(np.int64)}), f"{folder}/v.parquet"
        )
        connection.execute(f"COPY V FROM '{folder}/v.parquet'")
        for kind, table in edges.items():
            pq.write_table(table, f"{folder}/{kind}.parquet")
            connection.execute(f"CREATE REL TABLE T{kind}(FROM V TO V)")
            connection.execute(f"COPY T{kind} FROM '{folder}/{kind}.parquet'")

    def expect(pattern: Pattern) -> float:
        names, triples = pattern
        end = "->" if directed else "-"
        between = ", ".join(f"(v{a}:V)-[:T{kind}]{end}(v{b}:V)" for a, b, kind in triples)
        where = [f"v{k}.label = {label}" for k, label in enumerate(names) if label is not None]
        text = f"{between} WHERE {' AND '.join(where)}" if where else between
        plan = connection.execute(f"EXPLAIN LOGICAL MATCH {text} RETURN count(*)").get_next()[0]
        below = plan[plan.index("AGGREGATE") :]
        return float(re.findall(r"Cardinality: (\d+)", below)[1])

    return expect


def duckdb(labels: np.ndarray, edges: dict[int, pa.Table], directed: bool) -> Callable[[Pattern], float]:
    """Load the graph into DuckDB; return what it expects of a pattern. ``edges``: src and dst of each type."""
    import duckdb as engine

    connection = engine.connect()
    for kind, table in edges.items():
        start, end = (np.asarray(column) for column in table.columns)
        if not directed:
            start, end = np.concatenate([start, end]), np.concatenate([end, start])
        rows = pa.table({"a": start, "b": end, "la": labels[start], "lb": labels[end]})
        connection.register("rows", rows)
        connection.execute(f"CREATE TABLE t{kind} AS SELECT * FROM rows; ANALYZE t{kind}")

    def expect(pattern: Pattern) -> float:
        names, triples = pattern
        where, place = [], dict[int, str]()
        for k, (a, b, _) in enumerate(triples):
            for vertex, column in ((a, "a"), (b, "b")):
                if names[vertex] is not None:
                    where.append(f"e{k}.l{column} = {names[vertex]}")
                if vertex in place:
                    where.append(f"e{k}.{column} = {place[vertex]}")
                place.setdefault(vertex, f"e{k}.{column}")
        tables = ", ".join(f"t{kind} e{k}" for k, (_, _, kind) in enumerate(triples))
        text = f"EXPLAIN (FORMAT json) SELECT count(*) FROM {tables} WHERE {' AND '.join(where)}"
        (_, plan) = connection.execute(text).fetchone() or ("", "[]")
        operator = json.loads(plan)[0]
        while "AGGREGATE" in operator["name"] or operator["name"] == "PROJECTION":
            operator = operator["children"][0]
        return float(operator["extra_info"].get("Estimated Cardinality", 1))

    return expect


def _ours(graph: Graph, query: str) -> float:
    return graph.estimate(query, samples=OURS, seed=1).value


def _set(name: str) -> tuple[dict[str, Pattern], np.ndarray, dict[int, pa.Table]]:
    """Return a data set's patterns, the labels of its vertices, and the edges of each type, 0 where there are none."""
    folder: Path = data_set("email-Enron" if name == "enron16" else name)
    edges = pq.read_table(folder / "edges.parquet")
    if name in TYPED:
        return (
            _workload(folder),
            _labels(folder),
            {
                kind: edges.filter(pc.equal(edges["label"], kind)).select(["src", "dst"])
                for kind in sorted(set(edges["label"].to_pylist()))
            },
        )
    edges = edges.select(["src", "dst"])
    if name == "enron16":
        files = sorted(data_set("enron16").glob("q*"))
        found = {file.name: og.read_query_graph(file.read_text()) for file in files}
        labels = generate.vertex_labels(36_692, 16, 42)
    else:
        found, labels = og.query_graphs(name), _labels(folder)
    patterns: dict[str, Pattern] = {
        query: (wanted, [(a, b, 0) for a, b in pairs]) for query, (wanted, pairs) in found.items()
    }
    return patterns, labels, {0: edges}


def _labels(folder: Path) -> np.ndarray:
    return np.asarray(pq.read_table(folder / "vertices.parquet")["label"])


def _workload(folder: Path) -> dict[str, Pattern]:
    """Return the patterns of a workload by name."""
    found: dict[str, Pattern] = {}
    for line in (folder / "workload.jsonl").read_text().splitlines():
        entry = json.loads(line)
        size = 1 + max(max(a, b) for a, b, _ in entry["edges"])
        found[entry["id"]] = ([entry["vertex_labels"].get(str(k)) for k in range(size)], entry["edges"])
    return found


if __name__ == "__main__":
    main()
