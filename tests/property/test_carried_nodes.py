"""Aggregates over a node that an end of entries has one of: folded with the entries, against the reference."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from qengine import Graph
from qengine.optimizer import elimination
from qengine.optimizer.lower import by_node
from qengine.plan.physical import AggregateEntries
from qengine.plan.traverse import operators
from qengine.testing.compare import agree
from qengine.testing.plans import lowered, planned

_PATTERNS = (
    "(a:P)-[k:R]->(b:P)-[:H]->(c:C)",
    "(c:C)<-[:H]-(a:P)-[k:R]->(b:P)",
    "(a:P)-[k:R]-(b:P)-[:H]->(c)",
    "(a:P)-[k:R]->(b:P)-[:H]->(c:C)-[:I]->(d)",
)
_RESULTS = (
    "c.i AS x, k.w AS y, count(*) AS n",
    "c.t AS x, a.i AS y, count(*) AS n, max(c.i) AS m, count(DISTINCT c.t) AS d",
    "k.w AS x, sum(c.i) AS s, avg(c.f) AS f, min(c.t) AS t, count(c.f) AS p",
    "c AS x, k.w AS y, count(DISTINCT a.i) AS n, count(DISTINCT c) AS d",
)


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Persons, most of them with one home: a C or a D; links between persons; cities in countries and regions."""
    dice = np.random.default_rng(4)
    cities = [
        {"i": k % 4 if k % 5 else None, "f": [0.5, None, 2.0][k % 3], "t": ["x", "y", None, "z"][k % 4]}
        for k in range(9)
    ]
    nodes = [{"id": k, "labels": ("C" if k % 4 else "D",), "properties": each} for k, each in enumerate(cities)]
    nodes += [{"id": k, "labels": ("P",), "properties": {"i": k % 3}} for k in range(9, 40)]
    homes = [{"type": "H", "start": k, "end": int(dice.integers(0, 9))} for k in range(9, 40) if k % 6]
    within = [{"type": "I", "start": k, "end": (k * 7) % 9} for k in range(9) for _ in range(k % 3)]
    beyond = [{"type": "J", "start": k, "end": 40 + k % 3} for k in range(9) if k != 4]
    beyond += [{"type": "K", "start": k, "end": 40 + k % 3} for k in (0, 4)]
    regions = ({"i": 0, "f": 0.5, "t": "e"}, {"t": "f"}, {"i": 2})
    nodes += [{"id": 40 + k, "labels": ("E" if k else "F",), "properties": each} for k, each in enumerate(regions)]
    links = [
        {"type": "R", "start": int(a), "end": int(b), "properties": {"w": int(a + b) % 3}}
        for a, b in dice.integers(9, 40, (120, 2))
    ]
    return Graph.from_records(nodes, [*homes, *within, *beyond, *links])


@pytest.mark.parametrize(("pattern", "result"), list(product(_PATTERNS, _RESULTS)))
def test_what_an_end_has_one_of_is_folded_with_the_entries(graph: Graph, pattern: str, result: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_node, "cost_of_rows", lambda *_: 1e12)
        patch.setattr(elimination, "_LEAST", 0.0)
        for where in ("", " WHERE a.i < b.i AND k.w > 0", " WHERE c.i > 0"):
            query = f"MATCH {pattern}{where} RETURN {result}"
            folded = planned(graph, query, AggregateEntries)
            assert folded and (folded[0].carried or "k." not in result), query
            agree(graph, query)


@pytest.mark.parametrize(
    "chain", ["-[:H]->(x)-[:J]->(c:E)", "-[:H]->(x:C)-[:J]->(c)", "-[:H]->(x:C)-[:J]->(:E)<-[:K]-(c)"]
)
@pytest.mark.parametrize("result", _RESULTS)
def test_so_is_what_that_has_one_of(graph: Graph, chain: str, result: str) -> None:
    for where in ("", " WHERE k.w > 0", " WHERE c.i > 0", " WHERE x.i > 0"):
        query = f"MATCH (a:P)-[k:R]->(b:P){chain}{where} RETURN {result}"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(by_node, "cost_of_rows", lambda *_: 1e12)
            patch.setattr(elimination, "_LEAST", 0.0)
            (folded,) = planned(graph, query, AggregateEntries)
            assert len(folded.carried) >= 2 and bool(folded.counts) == ("x." in where or "c." in where), query
            agree(graph, query)


def test_a_relationship_that_leads_to_its_own_start_is_no_two_steps() -> None:
    nodes = [{"id": k, "labels": ("P",), "properties": {"i": k}} for k in range(6)]
    ends = [("R", 0, 1), ("R", 1, 2), ("R", 2, 3), ("H", 1, 4), ("H", 4, 5), ("H", 2, 2), ("H", 3, 5)]
    graph = Graph.from_records(nodes, [{"type": kind, "start": a, "end": b} for kind, a, b in ends])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_node, "cost_of_rows", lambda *_: 1e12)
        patch.setattr(elimination, "_LEAST", 0.0)
        for mode in ("", "DIFFERENT NODES ", "REPEATABLE ELEMENTS "):
            query = f"MATCH {mode}(a)-[k:R]->(b)-[:H]->(c)-[:H]->(d) RETURN c.i AS i, id(k) AS k, count(*) AS n"
            found = planned(graph, query, AggregateEntries)
            assert found or mode.startswith("DIFFERENT"), query
            assert all(bool(each.counts) != mode.startswith("REPEATABLE") for each in found), query
            agree(graph, query)


def test_an_end_with_several_carries_none() -> None:
    nodes = [{"id": k, "labels": ("P",), "properties": {"i": k}} for k in range(6)]
    ends = [("R", 0, 1), ("R", 1, 2), ("R", 2, 3), ("H", 2, 4), ("H", 2, 5), ("H", 3, 4)]
    graph = Graph.from_records(nodes, [{"type": kind, "start": a, "end": b} for kind, a, b in ends])
    query = "MATCH (a)-[k:R]->(b)-[:H]->(c) RETURN id(k) AS k, sum(c.i) AS s"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_node, "cost_of_rows", lambda *_: 1e12)
        patch.setattr(elimination, "_LEAST", 0.0)
        plan = lowered(graph, query)
        assert not any(isinstance(each, AggregateEntries) and each.carried for each in operators(plan.root))
        assert sorted(row[1] for row in graph.query(query).fetchall()) == [4, 9]
