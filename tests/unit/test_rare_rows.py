"""What the planner expects of subqueries that few nodes of thousands satisfy, or all but few."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from qengine import Graph
from qengine.estimates import plan_counted
from qengine.qerror import q_error

N = 6_000


@pytest.fixture(scope="module")
def graph() -> Iterator[Graph]:
    """Nodes that know 1 to 9 others, but for 12 who know none; ten of those known by few like one of 40 rare tags."""
    source = Random(11)
    nodes = [{"id": k, "labels": ["P"], "properties": {"n": k, "h": k % 2}} for k in range(N)]
    nodes += [{"id": N + k, "labels": ["T"], "properties": {"n": k}} for k in range(40)]
    edges = []
    for k in range(N):
        known = {int(N * source.random() ** 2) for _ in range(0 if k % 500 == 7 else 1 + k % 9)}
        edges += [{"type": "K", "start": k, "end": end} for end in sorted(known)]
    edges += [{"type": "L", "start": N - 1 - 37 * k, "end": N + k % 40} for k in range(60)]
    edges += [{"type": "L", "start": 500 * k + 7, "end": N + k} for k in range(12)]
    yield Graph.from_records(nodes, edges)


@pytest.mark.parametrize(
    ("pattern", "within"),
    [
        ("(a:P) WHERE NOT EXISTS { (a)-[:K]->(b) WHERE b.n >= 0 }", 1.1),
        ("(a:P) WHERE NOT EXISTS { (a)-[:K]->(b:P)-[:K]->(c:P) WHERE c.n >= 0 }", 1.5),
        ("(x)-[:K]->(a:P)-[:K]->(y) WHERE EXISTS { (a)-[:L]->(t:T) WHERE t.n = 3 }", 1.5),
        ("(a:P) WHERE EXISTS { (a)-[:K]->(b:P)-[:L]->(t:T) WHERE t.n < 3 }", 1.1),
        ("(a:P)-[:K]->(y) WHERE EXISTS { (a)-[:K]->(b)-[:L]->(t) WHERE t.n = 1 } AND a.h = 0", 1.3),
        ("(a:P) WHERE a.h = 1 AND COUNT { (a)-[:K]->(b)-[:L]->(t:T) WHERE t.n < 9 } > 0", 1.3),
        ("(a:P)-[:L]->(t) WHERE NOT EXISTS { (a)-[:K]->(b) WHERE b.h >= 0 }", 1.1),
    ],
)
def test_few_rows_have_a_match_or_none(graph: Graph, pattern: str, within: float) -> None:
    count = graph.query(f"MATCH {pattern} RETURN count(*)").value()
    counted = plan_counted(graph._store, f"MATCH {pattern}")
    found = counted.expectation(graph._store, 0.95).value
    assert count and q_error(count, found) < within, (found, count)
