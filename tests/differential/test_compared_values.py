"""Counts of patterns in which two nodes' values must be the same, or must differ: the reference's counts."""

from __future__ import annotations

import pytest

from qengine import Graph
from qengine.testing.compare import agree

PATTERNS = [
    "(a)-[:R]->(b)-[:R]->(c)",
    "(a)-[:R]-(b)-[:R]-(c)",
    "(a:A)-[:R]->(b)<-[:R]-(c)-[:S]->(d)",
    "(a)-[:R]->(b)-[:S]->(c), (a)-[:R]->(c)",
    "(c)-[:R]-(x)-[:R]-(a)-[:S]-(y)",
]
CONDITIONS = [
    "a.name = c.name",
    "a.name <> c.name",
    "c.x <> a.x AND a.x < 3",
    "a.name <> c.name AND c.x <> a.x",
]
RETURNED = ["count(*)", "a.x, count(*)", "a.name, c.x, count(*)"]


@pytest.fixture(scope="module")
def graph() -> Graph:
    names = ["p", "q", None, "r", "p", "p", "q", None, "s"]
    nodes = [
        {"id": row, "labels": "AB"[row % 2], "properties": {"x": row % 5, "name": names[row]} if row else {"x": 1}}
        for row in range(9)
    ]
    ends = [(row, (row * 4 + k) % 9) for row in range(9) for k in (0, 1, 2)] + [(1, 2), (1, 2), (3, 3)]
    edges = [{"type": "RS"[(start + end) % 3 == 0], "start": start, "end": end} for start, end in ends]
    return Graph.from_records(nodes, edges)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("mode", ["", "REPEATABLE ELEMENTS ", "DIFFERENT NODES "])
def test_every_way_of_counting(graph: Graph, pattern: str, mode: str) -> None:
    eliminated = 0
    for condition in CONDITIONS:
        for returned in RETURNED:
            text = f"MATCH {mode}{pattern} WHERE {condition} RETURN {returned}"
            hinted = f"/*+ eliminate */ {text}"
            try:
                eliminated += "value of" in str(graph.explain(hinted))
            except Exception as error:
                assert "can't be counted by elimination" in str(error), text
                hinted = text
            agree(graph, text, asked=hinted)
    assert eliminated


def test_values_two_hops_apart_make_no_pairs() -> None:
    edges = [{"type": "R", "start": row % 3000, "end": (7 * row + row // 3000) % 3000} for row in range(60_000)]
    nodes = [
        {"id": row, "labels": "P", "properties": {"job": f"job {row % 20}" if row % 7 else None}} for row in range(3000)
    ]
    graph = Graph.from_records(nodes, edges)
    for op in ("=", "<>"):
        text = f"MATCH (a:P)-[:R]->(b)-[:R]->(c:P) WHERE c.job {op} a.job RETURN count(*)"
        assert "value of job" in str(graph.explain(text)), text
        grouped = (
            f"MATCH (a:P)-[:R]->(b)-[:R]->(c:P) WITH a.job AS one, c.job AS other, count(*) AS n WHERE one {op} other"
        )
        assert graph.query(text).fetchall() == graph.query(f"{grouped} RETURN sum(n)").fetchall()
