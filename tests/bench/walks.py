"""Reachability and lengths of shortest paths, beside DuckDB's recursive queries.

Run as ``python -m tests.bench.walks --scale 14,16 [--only counted]``: R-MAT graphs of edge factor 16, directed; answers
are compared. The last lines are the search by itself, of 64 starts at once: relationships times starts a second, be
they reached or not.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from qengine import Graph
from qengine._frozen import frozen
from qengine.exec.context import ExecutionContext
from qengine.exec.host.reach_kernel import LANES, Lanes, ReachRules, reach_counts
from qengine.exec.host.walk_kernel import EndFilter, WalkSpace
from qengine.plan.pattern import Direction
from qengine.testing.generate.graphs import rmat

if TYPE_CHECKING:
    import duckdb

_RUNS = 5
_SECONDS = 120


@frozen
class Question:
    """A question in both languages; its answer is one row."""

    name: str
    cypher: str
    sql: str


_REACHED = """WITH RECURSIVE r(a, b) AS (
  SELECT s, t FROM e WHERE s {starts} UNION SELECT r.a, e.t FROM r JOIN e ON r.b = e.s) """
_SET = """WITH RECURSIVE r(b) AS (
  SELECT t FROM e WHERE s {starts} UNION SELECT e.t FROM r JOIN e ON r.b = e.s) """
_HOPS = """WITH RECURSIVE r(a, b, n) USING KEY (a, b) AS (
  SELECT DISTINCT s, t, 1 FROM e WHERE s {starts} UNION
  SELECT DISTINCT r.a, e.t, r.n + 1 FROM r JOIN e ON r.b = e.s
  WHERE NOT EXISTS (FROM recurring.r AS k WHERE k.a = r.a AND k.b = e.t)) """

QUESTIONS = [
    Question("one start", "MATCH (a)-[:E*]->(b) WHERE id(a) = 5 RETURN count(DISTINCT b)",
             _SET.format(starts="= 5") + "SELECT count(*) FROM r"),
    Question("64 starts together", "MATCH (a)-[:E*]->(b) WHERE id(a) < 64 RETURN count(DISTINCT b)",
             _SET.format(starts="< 64") + "SELECT count(*) FROM r"),
    Question("counted by start", "MATCH (a)-[:E*]->(b) WHERE id(a) < 64 "
             "WITH a, count(DISTINCT b) AS n RETURN sum(n), max(n)",
             _REACHED.format(starts="< 64") + "SELECT sum(n), max(n) FROM (SELECT count(*) AS n FROM r GROUP BY a)"),
    Question("lengths", "MATCH p = shortestPath((a)-[:E*]->(b)) WHERE id(a) < 64 RETURN sum(length(p)), count(*)",
             _HOPS.format(starts="< 64") + "SELECT sum(n), count(*) FROM r"),
    Question("who leads to one", "MATCH (a) WHERE EXISTS { (a)-[:E*]->(b) WHERE id(b) = 77 } RETURN count(*)",
             "WITH RECURSIVE r(a) AS (SELECT s FROM e WHERE t = 77 UNION SELECT e.s FROM r JOIN e ON r.a = e.t) "
             "SELECT count(*) FROM r"),
]  # fmt: skip


def main() -> int:
    """Print a table for each graph; 1 where an answer differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.walks", description=main.__doc__)
    parser.add_argument("--scale", default="14,16", help="a,b; default: %(default)s")
    parser.add_argument("--only", default="", help="part of a question's name")
    options = parser.parse_args()
    wrong = 0
    for scale in map(int, options.scale.split(",")):
        draws = rmat(scale, 16, seed=42)
        graph = Graph.from_edge_list((draws.source, draws.target), type="E")
        peer = _peer(graph)
        print(f"\nR-MAT {scale}: {graph.node_count:,} nodes, {graph.relationship_count:,} relationships\n")
        print("| question | answer | qengine, ms | DuckDB, ms |\n|---|---|---|---|")
        wrong += sum(not _compared(each, graph, peer) for each in QUESTIONS if options.only in each.name)
        _kernel(graph)
    return 1 if wrong else 0


def _peer(graph: Graph) -> duckdb.DuckDBPyConnection:
    """Return a database with the relationships, as pairs of ids."""
    import duckdb

    starts, ends = graph._store.endpoints(np.arange(graph.relationship_count))
    peer = duckdb.connect(config={"threads": os.cpu_count() or 1})
    peer.register("arrow_e", pa.table({"s": starts, "t": ends}))
    peer.execute("CREATE TABLE e AS SELECT * FROM arrow_e")
    return peer


def _compared(question: Question, graph: Graph, peer: duckdb.DuckDBPyConnection) -> bool:
    """Print a row; tell whether both answers are the same."""
    ours, answer = timed(lambda: tuple(graph.query(question.cypher, timeout=_SECONDS).fetchone()))
    theirs, expected = timed(lambda: tuple(map(int, peer.execute(question.sql).fetchone() or ())))
    shown = " / ".join(f"{n:,}" for n in answer) + ("" if answer == expected else f" WRONG, not {expected}")
    print(f"| {question.name} | {shown} | {ours:.1f} | {theirs:,.0f} |", flush=True)
    return bool(answer == expected)


def timed(ask: Callable[[], Any]) -> tuple[float, Any]:
    """Return the median of some runs in milliseconds, of one where it takes long, and the answer."""
    times: list[float] = []
    while len(times) < _RUNS and sum(times) < _RUNS * 1e3:
        begin = time.perf_counter()
        answer = ask()
        times.append((time.perf_counter() - begin) * 1e3)
    return median(times), answer


def _kernel(graph: Graph) -> None:
    store = graph._store
    starts = np.random.default_rng(1).choice(store.vertex_count, LANES, replace=False)
    lanes = Lanes(np.arange(LANES + 1), starts)
    ends = EndFilter(0, store.vertex_count)
    for direction in (Direction.OUT, Direction.BOTH):
        for threads in sorted({1, os.cpu_count() or 1}):
            given = (WalkSpace(store, (0,), direction), ends, lanes, ExecutionContext(threads=threads))
            spent, found = timed(partial(reach_counts, *given, ReachRules(0, None)))
            rate = LANES * store.relationship_count / spent / 1e6
            what = f"64 starts, {direction.name.lower()}, {threads} threads"
            print(f"{what}: {int(found.sum()):,} ends, {spent:.1f} ms, {rate:.1f} G/s")


if __name__ == "__main__":
    raise SystemExit(main())
