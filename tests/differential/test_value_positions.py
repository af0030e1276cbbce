"""Every form of predicate and subquery is a value: in each position both executors say the same of it."""

from __future__ import annotations

import pytest

from qengine import Graph
from qengine.testing.compare import difference

FORMS = [
    "exists((p)-[:R]->())",
    "exists(p.k)",
    "EXISTS { (p)-[:R]->() }",
    "EXISTS { MATCH (p)-[:R]->(q) RETURN q.k AS k ORDER BY k LIMIT 1 UNION RETURN 7 AS k }",
    "COUNT { (p)-[:R]->() }",
    "COUNT { MATCH (p)-[:R]->(q) RETURN q.k AS k LIMIT 1 UNION ALL RETURN 7 AS k }",
    "COLLECT { MATCH (p)-[:R]->(q) RETURN q.k AS k ORDER BY k }",
    "COLLECT { RETURN 1 AS k LIMIT 1 UNION RETURN p.k AS k }",
    "[(p)-[:R]->(q) | q.k]",
    "p:P",
    "all(x IN [p.k] WHERE x > 0)",
]
TRUTHS = [form for form in FORMS if not form.startswith(("COUNT", "COLLECT", "["))]
POSITIONS = [
    "MATCH (p) RETURN {} AS x",
    "MATCH (p) RETURN [{}] AS x",
    "MATCH (p) RETURN {{a: {}}} AS x",
    "MATCH (p) RETURN p {{.k, x: {}}} AS x",
    "MATCH (p) RETURN ({}) = true AS x",
    "MATCH (p) RETURN ({}) IS NULL AS x",
    "MATCH (p) RETURN ({}) IN [true, 1, []] AS x",
    "MATCH (p) RETURN 1 IN [{}] AS x",
    "MATCH (p) RETURN CASE {} WHEN true THEN 'yes' WHEN 1 THEN 'one' END AS x",
    "MATCH (p) RETURN CASE p.k WHEN 1 THEN {} ELSE 0 END AS x",
    "MATCH (p) RETURN coalesce(null, {}) AS x",
    "MATCH (p) RETURN p.k AS k, {} AS x ORDER BY {}, k",
    "MATCH (p) WITH {} AS x RETURN x",
    "MATCH (p) WITH DISTINCT {} AS x RETURN x",
    "MATCH (p) RETURN {} AS x, count(*) AS n",
    "MATCH (p) RETURN count({}) AS n",
    "MATCH (p) RETURN size(collect(DISTINCT {})) AS n",
    "MATCH (p) WITH p, count(*) AS n RETURN n, {} AS x",
    "MATCH (p) WITH p, [x IN [1, 2] | {}] AS xs RETURN xs",
    "MATCH (p) RETURN reduce(t = [], x IN [1] | t + {}) AS x",
    "MATCH (p) UNWIND [{}] AS x RETURN x",
    "MATCH (p) MATCH (q {{b: {}}}) RETURN p.k, q.k",
    "MATCH (p) RETURN COUNT {{ MATCH (q {{b: {}}}) }} AS n",
    "MATCH (p) RETURN COLLECT {{ RETURN {} AS y }} AS x",
    "MATCH (p) RETURN {} AS x UNION MATCH (p) RETURN 1 AS x",
]
CONDITIONS = [
    "MATCH (p) WHERE {} RETURN p.k",
    "MATCH (p) WHERE NOT {} RETURN p.k",
    "MATCH (p) WHERE {} XOR p.k = 1 RETURN p.k",
    "MATCH (p) WITH p WHERE {} RETURN p.k",
    "MATCH (p) OPTIONAL MATCH (q) WHERE {} RETURN p.k, q.k",
    "MATCH (p) WITH p, [x IN [1, 2] WHERE {}] AS xs RETURN xs",
    "MATCH (p) RETURN any(x IN [1, 2] WHERE {}) AS x",
    "MATCH (p) RETURN CASE WHEN {} THEN 1 ELSE 2 END AS x",
    "MATCH (p) RETURN [(p)--(q) WHERE {} | 1] AS x",
    "MATCH (p) RETURN EXISTS {{ MATCH (q) WHERE {} }} AS x",
]


@pytest.fixture(scope="module")
def graph() -> Graph:
    nodes = [{"id": i, "labels": "P" if i else (), "properties": {"k": i, "b": i == 1}} for i in range(3)]
    relationships = [{"type": "R", "start": 0, "end": 1}, {"type": "R", "start": 0, "end": 2}]
    return Graph.from_records(nodes, relationships)


def _agree(graph: Graph, text: str) -> None:
    expected, found = (graph.query(text, device=device).fetchall() for device in ("reference", "cpu"))
    assert difference(expected, found, lists_ordered=False) is None, text


@pytest.mark.parametrize("position", POSITIONS)
def test_values(graph: Graph, position: str) -> None:
    for form in FORMS:
        text = position.format(*[form] * position.count("{}"))
        _agree(graph, text)


@pytest.mark.parametrize("position", CONDITIONS)
def test_conditions(graph: Graph, position: str) -> None:
    for form in TRUTHS:
        _agree(graph, position.format(form))


def test_a_pattern_in_exists_is_a_value(graph: Graph) -> None:
    rows = graph.query("MATCH (p) RETURN p.k, exists((p)-[:R]->()) AS x, exists((p)--()) = true ORDER BY x DESC, p.k")
    assert [tuple(row) for row in rows] == [(0, True, True), (1, False, True), (2, False, True)]
