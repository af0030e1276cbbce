"""Patterns with a node that must be in a list of the rows, matched from that list, give what the reference gives."""

from __future__ import annotations

import pytest

from qengine import Graph
from qengine.optimizer.lower import members
from qengine.testing.compare import agree, difference

GIVEN = [
    "MATCH (q:A) WITH collect(q) AS items MATCH (a) WITH a, items",
    "MATCH (a:B)-[:R]-(q) WITH a, collect(q) + [null, a] AS items",
    "UNWIND [0, 3, 0] AS x OPTIONAL MATCH (q {x: x}) OPTIONAL MATCH (q)--(a) WITH a, collect(DISTINCT q) AS items",
    "MATCH (a:A) WITH a, CASE WHEN a.x > 1 THEN [a, a] END AS items",
    "MATCH (q:B) WITH collect([q, 1]) AS many MATCH (a:B) WITH a, many[0] AS items",
]
FROM_ROWS = ["(a)-[r:R]-(c)-[s:S]-(f)", "(a)-[:R*1..2]->(f:A)", "(a)-[:R]->(c), (c)<-[:S*0..1]-(f)-[:R]-(a)"]
ALONE = ["(c:A)-[r:R]-(f)", "(f:A)-[:R*0..2]->(c)", "(f)"]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "_WORTH", -1.0)
    monkeypatch.setattr(members, "_MARGIN", -1.0)


@pytest.fixture(scope="module")
def graph() -> Graph:
    nodes = [{"id": row, "labels": "AB"[row % 2], "properties": {"x": row % 4}} for row in range(8)]
    ends = [(row, (row * 5 + k) % 8) for row in range(8) for k in (0, 1, 3)] + [(1, 2), (1, 2)]
    edges = [{"type": "RS"[(start + end) % 3 == 0], "start": start, "end": end} for start, end in ends]
    return Graph.from_records(nodes, edges)


@pytest.mark.parametrize("kind", ["MATCH", "OPTIONAL MATCH"])
@pytest.mark.parametrize("pattern", [*FROM_ROWS, *ALONE])
def test_every_way_of_returning(graph: Graph, pattern: str, kind: str, always: None) -> None:
    for given in GIVEN:
        for more in ("", " AND f.x >= a.x AND f <> a"):
            for returned in ("a.x, count(*), sum(f.x)", "DISTINCT f", "a, f, size(items)"):
                agree(graph, f"{given} {kind} {pattern} WHERE f IN items{more} RETURN {returned}")


def test_plans_begin_at_the_list(graph: Graph, always: None) -> None:
    collected = "MATCH (q:A) WITH collect(q) AS items"
    alone = f"{collected} MATCH (c)-[:R]->(f) WHERE f IN items RETURN c.x, count(*)"
    assert "Members f in items" in str(graph.explain(alone))
    joined = f"{collected} MATCH (a:B) WITH a, items MATCH (a)-[:R*1..2]->(f) WHERE f IN items RETURN a.x, count(f)"
    assert "HashJoin on a emit f from f in items" in str(graph.explain(joined))
    for text in (f"/*+ order(c, f) */ {alone}", joined.replace("f IN items", "f.x IN items")):
        assert "in items" not in str(graph.explain(text))


def test_lists_of_later_batches_are_matched_from_too(always: None) -> None:
    edges = [{"type": "R", "start": row, "end": 20_000 + row % 7} for row in range(20_000)]
    large = Graph.from_records([{"id": row, "properties": {"x": row}} for row in range(20_007)], edges)
    text = "MATCH (a)-[:R]->(q) WITH a, q ORDER BY q.x, a.x WITH a, [q] AS items MATCH (a)-[:R]->(f) WHERE f IN items"
    assert "from f in items" in str(large.explain(f"{text} RETURN count(*)"))
    assert large.query(f"{text} RETURN f.x - 20000, count(*)").fetchall() == [
        (k, len(range(k, 20_000, 7))) for k in range(7)
    ]


def test_a_list_is_begun_at_where_that_is_cheaper() -> None:
    edges = [{"type": "R", "start": row % 4000, "end": (7 * row + row // 4000) % 4000} for row in range(80_000)]
    graph = Graph.from_records([{"id": row, "labels": "P", "properties": {"x": row}} for row in range(4000)], edges)
    ends = "MATCH (q:P) WHERE q.x < 3 WITH collect(q) AS items MATCH (a:P) WITH DISTINCT a, items"
    text = f"{ends} MATCH (a)-[:R]->(b)-[:R]->(f) WHERE f IN items RETURN a.x, count(*)"
    assert "from f in items" in str(graph.explain(text))
    hinted = f"/*+ order(b, f) */ {text}"
    assert "in items" not in str(graph.explain(hinted))
    found, expected = graph.query(text).fetchall(), graph.query(hinted).fetchall()
    assert difference([tuple(row) for row in expected], [tuple(row) for row in found]) is None
