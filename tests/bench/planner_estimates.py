"""What other planners expect: ``python -m tests.bench.planner_estimates [SET …]``, estimates of Kùzu, DuckDB and ours.

Each planner explains the count of a labelled pattern and says how many rows it expects below the aggregate; ours
estimates it by 10,000 samples. Kùzu has labels as properties of nodes, DuckDB beside the ends of each edge, both ways.
Q-errors are against the known counts of embeddings with different nodes, which the two engines' texts don't ask for:
that would only add conditions to what they underestimate.
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
import pyarrow.parquet as pq

from qengine import Graph
from qengine.qerror import q_error
from qengine.testing import generate
from qengine.testing import open_graphs as og
from qengine.testing.data import data_set
from tests.bench.estimates import SETS, sizes, spread

Pattern = tuple[Sequence[int], Sequence[tuple[int, int]]]  # labels of the vertices, edges
OURS = 10_000  # samples


def main() -> None:
    """Print a line for each size of the patterns."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.planner_estimates", description=main.__doc__)
    parser.add_argument("sets", nargs="*", default=["yeast", "hprd", "enron16"])
    parser.add_argument("--each", type=int, default=20, help="patterns of a size (default: 20)")
    parser.add_argument("--most", type=int, default=8, help="nodes of a pattern (default: 8)")
    options = parser.parse_args()
    print(
        "| graph, nodes | patterns | planner | median q-error | worst over | worst under |\n|---|---|---|---|---|---|"
    )
    for name in options.sets:
        graph, cases = SETS[name]()
        patterns, labels, edges = _set(name)
        planners = {"Kùzu": kuzu(labels, edges), "DuckDB": duckdb(labels, edges)}
        for size, group in sorted(sizes(cases).items()):
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


def kuzu(labels: np.ndarray, edges: pa.Table) -> Callable[[Pattern], float]:
    """Load the graph into Kùzu; return what it expects of a pattern."""
    import kuzu as engine

    connection: Any = engine.Connection(engine.Database(":memory:"))
    connection.execute("CREATE NODE TABLE V(id INT64 PRIMARY KEY, label INT64)")
    connection.execute("CREATE REL TABLE E(FROM V TO V)")
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(
            pa.table({"id": np.arange(len(labels)), "label": labels.astype(np.int64)}), f"{folder}/v.parquet"
        )
        pq.write_table(edges, f"{folder}/e.parquet")
        connection.execute(f"COPY V FROM '{folder}/v.parquet'")
        connection.execute(f"COPY E FROM '{folder}/e.parquet'")

    def expect(pattern: Pattern) -> float:
        names, pairs = pattern
        between = ", ".join(f"(v{a}:V)-[:E]-(v{b}:V)" for a, b in pairs)
        where = " AND ".join(f"v{k}.label = {label}" for k, label in enumerate(names))
        plan = connection.execute(f"EXPLAIN LOGICAL MATCH {between} WHERE {where} RETURN count(*)").get_next()[0]
        below = plan[plan.index("AGGREGATE") :]
        return float(re.findall(r"Cardinality: (\d+)", below)[1])

    return expect


def duckdb(labels: np.ndarray, edges: pa.Table) -> Callable[[Pattern], float]:
    """Load the graph into DuckDB, each edge both ways; return what it expects of a pattern."""
    import duckdb as engine

    source, target = (np.asarray(column) for column in edges.columns)
    start, end = np.concatenate([source, target]), np.concatenate([target, source])
    rows = pa.table({"a": start, "b": end, "la": labels[start], "lb": labels[end]})
    connection = engine.connect()
    connection.register("rows", rows)
    connection.execute("CREATE TABLE e AS SELECT * FROM rows; ANALYZE e")

    def expect(pattern: Pattern) -> float:
        names, pairs = pattern
        where, place = [], dict[int, str]()
        for k, (a, b) in enumerate(pairs):
            for vertex, column in ((a, "a"), (b, "b")):
                where.append(f"e{k}.l{column} = {names[vertex]}")
                if vertex in place:
                    where.append(f"e{k}.{column} = {place[vertex]}")
                place.setdefault(vertex, f"e{k}.{column}")
        tables = ", ".join(f"e e{k}" for k in range(len(pairs)))
        text = f"EXPLAIN (FORMAT json) SELECT count(*) FROM {tables} WHERE {' AND '.join(where)}"
        (_, plan) = connection.execute(text).fetchone() or ("", "[]")
        operator = json.loads(plan)[0]
        while "AGGREGATE" in operator["name"] or operator["name"] == "PROJECTION":
            operator = operator["children"][0]
        return float(operator["extra_info"].get("Estimated Cardinality", 1))

    return expect


def _ours(graph: Graph, query: str) -> float:
    return graph.estimate(query, samples=OURS, seed=1).value


def _set(name: str) -> tuple[dict[str, Pattern], np.ndarray, pa.Table]:
    """Return a data set's patterns, its vertices' labels and its edges."""
    folder: Path = data_set("email-Enron" if name == "enron16" else name)
    edges = pq.read_table(folder / "edges.parquet").select(["src", "dst"])
    if name == "enron16":
        files = sorted(data_set("enron16").glob("q*"))
        found = {file.name: og.read_query_graph(file.read_text()) for file in files}
        return found, generate.vertex_labels(36_692, 16, 42), edges
    return og.query_graphs(name), pq.read_table(folder / "vertices.parquet")["label"].to_numpy(), edges


if __name__ == "__main__":
    main()
