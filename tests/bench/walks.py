"""Reachability and lengths of shortest paths: the host beside DuckDB's recursive queries, or a GPU beside the host.

Run as ``python -m tests.bench.walks --scale 14,16 [--only counted] [--device gpu]``: R-MAT graphs of edge factor 16,
directed; answers are compared. The last lines are the search by itself, of 64 starts at once: relationships times
starts a second, be they reached or not.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from qengine import Graph
from qengine._frozen import frozen
from qengine.exec.context import ExecutionContext
from qengine.exec.host.reach_kernel import LANES, Lanes, ReachRules, reach_counts
from qengine.exec.host.walk_kernel import EndFilter, WalkSpace
from qengine.plan.pattern import Direction
from qengine.testing.generate.graphs import rmat

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
    Question("shortest to one", "MATCH p = shortestPath((a)-[:E*]->(b)) WHERE id(a) = 5 AND id(b) = 77 "
             "RETURN length(p)", _HOPS.format(starts="= 5") + "SELECT n FROM r WHERE b = 77"),
]  # fmt: skip


Ask = Callable[[Question], Any]


def main() -> int:
    """Print a table for each graph; 1 where an answer differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.walks", description=main.__doc__)
    parser.add_argument("--scale", default="14,16", help="a,b; default: %(default)s")
    parser.add_argument("--only", default="", help="part of a question's name; none of it: the search alone")
    parser.add_argument("--device", default="cpu", choices=("cpu", "gpu"))
    options = parser.parse_args()
    wrong = 0
    for scale in map(int, options.scale.split(",")):
        draws = rmat(scale, 16, seed=42)
        graph = Graph.from_edge_list((draws.source, draws.target), type="E")
        peer = _peer(graph) if options.device == "cpu" else partial(_asked, graph, "cpu")
        print(f"\nR-MAT {scale}: {graph.node_count:,} nodes, {graph.relationship_count:,} relationships\n", flush=True)
        print(f"| question | answer | {options.device}, ms | peer, ms |\n|---|---|---|---|")
        for question in QUESTIONS:
            if options.only in question.name:
                wrong += not _compared(question, partial(_asked, graph, options.device), peer)
        wrong += not _kernel(graph, options.device)
    return 1 if wrong else 0


def _peer(graph: Graph) -> Ask:
    """Return what asks a database with the relationships, as pairs of ids."""
    import duckdb

    starts, ends = graph._store.endpoints(np.arange(graph.relationship_count))
    peer = duckdb.connect(config={"threads": os.cpu_count() or 1})
    peer.register("arrow_e", pa.table({"s": starts, "t": ends}))
    peer.execute("CREATE TABLE e AS SELECT * FROM arrow_e")
    return lambda question: tuple(map(int, peer.execute(question.sql).fetchone() or ()))


def _asked(graph: Graph, device: str, question: Question) -> Any:
    return tuple(graph.query(question.cypher, timeout=_SECONDS, device=device).fetchone() or ())


def _compared(question: Question, ask: Ask, peer: Ask) -> bool:
    """Print a row; tell whether both answers are the same."""
    (ours, answer), (theirs, expected) = (timed(partial(each, question)) for each in (ask, peer))
    shown = " / ".join(f"{n:,}" for n in answer) + ("" if answer == expected else f" WRONG, not {expected}")
    print(f"| {question.name} | {shown} | {ours:.1f} | {theirs:,.1f} |", flush=True)
    return bool(answer == expected)


def timed(ask: Callable[[], Any]) -> tuple[float, Any]:
    """Return the median of some runs in milliseconds, of one where it takes long, and the answer."""
    times: list[float] = []
    while len(times) < _RUNS and sum(times) < _RUNS * 1e3:
        begin = time.perf_counter()
        answer = ask()
        times.append((time.perf_counter() - begin) * 1e3)
    return median(times), answer


def _kernel(graph: Graph, device: str) -> bool:
    """Print rates of the search by itself; tell whether each way finds as much."""
    cores = os.cpu_count() or 1
    ways: list[tuple[str, Any, int]] = [(f"{n} threads", reach_counts, n) for n in sorted({1, cores})]
    if device == "gpu":
        from qengine.exec.gpu import reach

        ways = [("GPU", reach.reach_counts, 1), ways[-1]]
    store, same = graph._store, True
    lanes = Lanes(np.arange(LANES + 1), np.random.default_rng(1).choice(store.vertex_count, LANES, replace=False))
    for direction in (Direction.OUT, Direction.BOTH):
        given = (WalkSpace(store, (0,), direction), EndFilter(0, store.vertex_count), lanes)
        found = set()
        for name, counts, threads in ways:
            ask = partial(counts, *given, ExecutionContext(threads=threads), ReachRules(0, None))
            ask()
            spent, answer = timed(ask)
            found.add(total := int(answer.sum()))
            rate = LANES * store.relationship_count / spent / 1e6
            print(f"64 starts, {direction.name.lower()}, {name}: {total:,} ends, {spent:.2f} ms, {rate:.1f} G/s")
        same &= len(found) == 1
    return same


if __name__ == "__main__":
    raise SystemExit(main())
