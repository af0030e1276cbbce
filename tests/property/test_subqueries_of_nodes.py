"""Subqueries of one node, found for all nodes at once, say what they say when they are asked of each row."""

from __future__ import annotations

from itertools import cycle, product

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph
from qengine.optimizer.lower import members
from qengine.plan.physical import Attach
from qengine.plan.traverse import operators
from qengine.testing.compare import agree

_NODES, _EDGES = 40, 90
_SHAPES = {
    "node": ("(a:N)", "a.id"),
    "hop": ("(a:N)-[k:to]->(b)", "b.id"),
    "hops": ("(b:M)-[:to]-(a:N)-[:to]->(c)", "c.id"),
    "walk": ("(b:M)-[:to*1..2]->(a)", "b.id"),
    "optional": ("(b:M) OPTIONAL MATCH (b)-[:to]->(a)", "b.id"),
}
_CONDITIONS = (
    "EXISTS { (a)-[:to]->(x) }",
    "NOT EXISTS { (a)<-[l:to]-(x:M) WHERE l.x > 20 }",
    "EXISTS { (a)-[:to]->(x)-[:to]->(y:N) WHERE x.x < y.x }",
    "EXISTS { (a)-[:to]->(a) }",
    "EXISTS { (a)-[:to]->(x) WHERE x.x = a.x } AND a.x <> 3",
    "EXISTS { (a:M)-[:to]->(x) WHERE x.x > $least } OR a.x > 5",
    "EXISTS { MATCH (a)-[:to]->(x) MATCH (x)<-[:to]-(y:M) WHERE y.x > 0 }",
    "COUNT { (a)-[:to]->(x) } > 2",
    "COUNT { (a)-[:to]-(x:N) } = COUNT { (a)-[:to]->(x:N)<-[:to]-(y) }",
    "NOT EXISTS { (a)-[:to]->(x:M) } AND COUNT { (x:M)-[:to]->(a) } < 2",
)
_ENDINGS = (
    "RETURN count(*) AS n",
    "RETURN a.x AS x, count(*) AS n, min({other}) AS m",
    "RETURN a.id AS i, {other} AS j ORDER BY i, j LIMIT 7",
)


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Loops, parallel relationships, nodes without any, and values that are null."""
    dice = np.random.default_rng(8)

    def nodes(first: int) -> pa.Table:
        values = pa.array(dice.integers(-5, 9, _NODES), mask=dice.random(_NODES) < 0.2)
        return pa.table({"id": np.arange(first, first + _NODES), "x": values})

    tables = {"N": nodes(0), "M": nodes(_NODES)}
    edges = []
    for start, end in product("NM", "NM"):
        count = _EDGES if start == "N" else _EDGES // 3
        ends = {
            "start": dice.integers(0, _NODES * 3 // 4, count) + _NODES * (start == "M"),
            "end": dice.integers(0, _NODES, count) + _NODES * (end == "M"),
        }
        edges.append(("to", start, end, pa.table(ends | {"x": dice.integers(0, 50, count)})))
    return Graph.from_arrow(tables, edges, key="id")


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever can be found for all nodes is."""
    monkeypatch.setattr(members, "_WORTH_ONCE", -1.0)
    monkeypatch.setattr(members, "_cost", lambda lowered, *_: float(_attached(lowered.root)))


def _attached(root: object) -> int:
    return sum(isinstance(each, Attach) for each in operators(root))  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", _SHAPES)
def test_they_are_what_each_row_is_told(graph: Graph, always: None, shape: str) -> None:
    pattern, other = _SHAPES[shape]
    for condition, ending in zip(_CONDITIONS, cycle(_ENDINGS), strict=False):
        query = f"MATCH {pattern} WHERE {condition} {ending.format(other=other)}"
        assert "of every a" in (plan := str(graph.explain(query))), query
        assert "Attach" not in plan, query
        for least in (0, 6) if "$least" in query else (0,):
            agree(graph, query, {"least": least}, ordered="ORDER BY" in query)


@pytest.mark.parametrize(
    "condition",
    [
        "EXISTS { (a)-[:to]->(x) WHERE 10 / x.x > 1 }",
        "EXISTS { (a)-[:to]->(x) WHERE rand() < 2 }",
        "EXISTS { (a)-[:to]->(x) WHERE x.x > b.x }",
        "EXISTS { (x:M) WHERE x.x = a.x }",
        "EXISTS { (a)-[:to*1..2]->(x) }",
        "EXISTS { MATCH (a)-[:to]->(x) WITH x ORDER BY x.x LIMIT 2 WHERE x.x > 4 RETURN x }",
        "COUNT { (a)-[:to]->()-[:to]->()-[:to]->() } > 9",
        "COUNT { MATCH (a)-[:to]->(x) RETURN DISTINCT x.x } > 3",
    ],
)
def test_others_are_asked_of_rows(graph: Graph, always: None, condition: str) -> None:
    assert "of every a" not in str(graph.explain(f"MATCH (a:N)-[:to]->(b) WHERE {condition} RETURN count(*)"))


def test_few_rows_are_asked_themselves(graph: Graph) -> None:
    assert "of every a" not in str(graph.explain("MATCH (a:N) WHERE a.id = 3 AND EXISTS { (a)-->(:M) } RETURN a.x"))


def test_a_changed_graph_is_asked_anew(graph: Graph, always: None) -> None:
    changed = Graph()
    changed.query("UNWIND range(0, 9) AS i CREATE (:N {id: i})")
    query = changed.prepare("MATCH (a:N) WHERE NOT EXISTS { (a)-[:to]->(x:N) } RETURN count(*)")
    assert query.run().fetchall() == [(10,)]
    changed.query("MATCH (a:N), (b:N) WHERE b.id = a.id + 1 AND NOT EXISTS { (a)-[:to]->(:N) } CREATE (a)-[:to]->(b)")
    assert query.run().fetchall() == [(1,)]
    changed.query("MATCH (a:N) WHERE COUNT { (a)-[:to]-(:N) } = 1 DETACH DELETE a")
    assert query.run().fetchall() == [(1,)]
    assert changed.query("MATCH (a:N) RETURN count(*)").fetchall() == [(8,)]
