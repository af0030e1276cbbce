"""What the planner expects of groups, and of their sizes, under conditions on what a node is joined with."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from qengine import Graph
from qengine.estimates import plan_counted
from qengine.qerror import q_error

N = 4_000


@pytest.fixture(scope="module")
def graph() -> Iterator[Graph]:
    """Nodes with 5 K each; those of old ones lead to old ones; 20 gems of ``n`` below 20, looked at by few, often."""
    source = Random(2)
    nodes = [{"id": k, "labels": ["P"], "properties": {"n": k, "age": k % 50, "team": k % 300}} for k in range(N)]
    edges = []
    for k in range(N):
        for _ in range(5):
            end = source.randrange(N)
            edges.append({"type": "K", "start": k, "end": end - end % 50 + (49 if k % 50 > 40 else end % 40)})
    edges += [{"type": "V", "start": 40 + k % 13, "end": source.randrange(20)} for k in range(60)]
    edges += [{"type": "V", "start": k, "end": 20 + k % 1000} for k in range(N) for _ in range(2)]
    for number, edge in enumerate(edges):
        edge["properties"] = {"w": number % 97}
    yield Graph.from_records(nodes, edges)


@pytest.mark.parametrize(
    ("pattern", "within"),
    [
        ("(a:P)-[:V]->(b) WHERE b.n < 20 WITH a AS k, count(*) AS n WHERE n > 2", 1.5),
        ("(a:P)-[:V]->(b) WHERE b.n < 20 WITH a.team AS k, count(*) AS n", 1.1),
        ("(a:P)-[r:V]->(b) WHERE b.n < 20 AND r.w < 50 WITH a AS k, count(*) AS n", 1.01),
        ("(b)<-[:V]-(a:P) WHERE b.n < 20 AND a.age > 3 WITH a AS k, count(*) AS n WHERE n > 3", 2.0),
        ("(a:P)-[:K]->(b) WHERE b.age = 49 WITH a AS k, count(*) AS n WHERE n > 3", 1.3),
        ("(a:P)-[:K]->(b) WHERE a.age < b.age AND b.age > 30 WITH a AS k, count(*) AS n WHERE n > 3", 1.5),
        ("(a:P)-[:K]-(b) WHERE NOT (a.age < 41 AND b.age < 49) WITH a AS k, count(*) AS n WHERE n > 2", 1.3),
        ("(a:P)-[:V]->(b)<-[:K]-(c) WHERE c.age < 9 WITH a AS k, count(*) AS n WHERE n > 1", 1.5),
        ("(a:P)-[:K]->(b), (a)-[:V]->(c) WHERE b.age = 49 WITH a AS k, count(*) AS n WHERE n > 8", 1.3),
    ],
)
def test_groups_are_those_that_conditions_leave(graph: Graph, pattern: str, within: float) -> None:
    count = graph.query(f"MATCH {pattern} RETURN count(*)").value()
    counted = plan_counted(graph._store, f"MATCH {pattern}")
    found = counted.ending.rows(counted.expectation(graph._store, 0.95).value)
    assert count and q_error(count, found) < within, (found, count)
