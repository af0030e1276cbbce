"""Aggregates over a node that a value of another one tells: folded with what has the value, against the reference."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from qengine import Graph
from qengine.optimizer import elimination
from qengine.optimizer.lower import by_node, valued_entries
from qengine.plan.physical import AggregateEntries
from qengine.testing.compare import agree
from qengine.testing.plans import planned

_CARRYING = ("(a:P), (c:C)", "(b:P)-[k:R]->(a:P), (c:C)")
_OTHERS = ("(a:P)-[k:R]-(b:P), (c:C)", "(a:P)-[:R]->(b:P)-[:R]->(d), (c:C)")
_EQUATIONS = ("c.t = a.t", "a.i = c.i", "c.b = a.b", "c.t = toUpper(a.t)", "c.f = a.f", "c.m = a.m", "c.i = a.f")
_RESULTS = (
    "count(*) AS n",
    "a.j AS x, count(*) AS n, sum(c.i) AS s, max(c.t) AS t",
    "c.t AS x, count(c.f) AS n, avg(c.f) AS f, percentileDisc(a.j, 0.5) AS p",
    "c AS x, count(DISTINCT a.j) AS n",
    "a AS x, count(c) AS n, min(c.i) AS d",
)


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Persons with values that cities have, one of them twice, or none; and links between persons."""
    dice = np.random.default_rng(5)
    texts = ["U", "V", "W", "X", None, "X"]
    cities = [
        {"t": text, "i": k if k != 2 else None, "b": [True, False, None][min(k, 2)], "f": k / 2, "m": [k, "k"][k % 2]}
        for k, text in enumerate(texts)
    ]
    nodes = [{"id": k, "labels": ("C",), "properties": each} for k, each in enumerate(cities)]
    nodes.append({"id": 6, "labels": ("D",), "properties": {"t": "U", "i": 1}})
    for k in range(7, 40):
        values = {"t": [*"UVWXYu", None][k % 7], "i": k % 8, "b": k % 3 > 0, "f": k % 4 / 2, "m": k % 5, "j": k % 3}
        nodes.append({"id": k, "labels": ("P",), "properties": values})
    links = [{"type": "R", "start": int(a), "end": int(b)} for a, b in dice.integers(7, 40, (40, 2))]
    return Graph.from_records(nodes, links)


@pytest.mark.parametrize(("pattern", "equation"), list(product(_CARRYING + _OTHERS, _EQUATIONS)))
def test_what_a_value_tells_is_folded_with_its_bearer(graph: Graph, pattern: str, equation: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(valued_entries, "matching_cost", lambda *_: 1e12)
        patch.setattr(valued_entries, "_ONE", 3.0)  # that there is one alone is seen when a query runs
        patch.setattr(by_node, "cost_of_rows", lambda *_: 1e12)
        patch.setattr(elimination, "_LEAST", 0.0)
        for condition, result in product(("", " AND a.j > 0 AND c.i < 4"), _RESULTS):
            query = f"MATCH {pattern} WHERE {equation}{condition} RETURN {result}"
            folded = planned(graph, query, AggregateEntries)
            assert pattern in _OTHERS or folded[0].by_value, query
            agree(graph, query)


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a:P), (c:C) WHERE c.t = a.t AND c.i < a.j RETURN a.j, count(*)",
        "MATCH (a:P), (c:C)-[:R]->() WHERE c.t = a.t RETURN a.j, count(*)",
        "MATCH (a:P), (c:C) WHERE c.t = a.t RETURN a.j, sum(c.i * a.j)",
        "MATCH (a:P), (c:C) WHERE a.t = c.t + c.i RETURN a.j, count(*)",
    ],
)
def test_what_more_is_asked_of_is_looked_up(graph: Graph, query: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(valued_entries, "matching_cost", lambda *_: 1e12)
        assert not any(each.by_value for each in planned(graph, query, AggregateEntries)), query
    agree(graph, query)


def test_a_value_of_two_nodes_makes_rows(graph: Graph) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(valued_entries, "matching_cost", lambda *_: 1e12)
        patch.setattr(valued_entries, "_ONE", 3.0)
        query = "MATCH (a:P), (c:C) WHERE c.t = a.t RETURN count(*)"
        agree(graph, query)
        assert "rows are made" in str(graph.query(f"PROFILE {query}").fetchall())
