"""Pairs of two parts of a pattern that are compared are counted without being made: as often as in the reference."""

from __future__ import annotations

from functools import cache

import pytest

from qengine import ExecutionError, Graph
from qengine.optimizer.lower import match_pairs
from qengine.testing.compare import agree
from tests.bench.cliffs.graphs import make

QUERIES = """
MATCH (a)-->(b)<--(c) WHERE a.id < c.id RETURN count(*)
MATCH (a)-->(b)<--(c) WHERE a.v <= c.v RETURN count(*), min(a.f)
MATCH (a)--(b)--(c) WHERE a.id < c.id RETURN count(DISTINCT b)
MATCH (a)--(b)--(c) WHERE a.v <= c.v RETURN b.id, count(*)
MATCH (a)--(b)--(c) WHERE a.v >= c.v AND a <> c RETURN c.id, count(*)
MATCH (a)-->(b)-->(c)-->(d) WHERE a.v >= d.v RETURN count(*)
MATCH (a)-->(b)-->(c)-->(d) WHERE a.v >= c.v AND b.v < d.v RETURN count(*)
MATCH (a)-->(b)<--(c) WHERE c.v = a.v AND a <> c RETURN DISTINCT a.id
MATCH (a)--(b)--(c) WHERE c.v < a.v RETURN DISTINCT a.id, b.id
MATCH (a)-[r]->(b)<-[q]-(c) WHERE r.w < q.w RETURN count(*)
MATCH (a)-[r]-(b)-[q]-(c) WHERE r.k <= q.k RETURN count(*), sum(a.v)
MATCH REPEATABLE ELEMENTS (a)-[r]->(b)<-[q]-(c) WHERE r.k <= q.k RETURN count(*), sum(a.v)
MATCH DIFFERENT NODES (a)-[r]->(b)<-[q]-(c) WHERE r.k <= q.k RETURN count(*), sum(a.v)
MATCH (a)-->(b)<--(c) WHERE a.s STARTS WITH c.s AND a.t CONTAINS '1' RETURN count(*)
MATCH (a)-->(b)<--(c)<--(d) WHERE a.v < d.v AND c.v > 20 RETURN count(*)
MATCH (a)-->(b)<--(c), (b)-->(d) WHERE a.v < c.v AND d.v < a.v RETURN count(*)
MATCH (a)--(b)--(c)--(d)--(a) WHERE a.v < c.v RETURN count(*)
MATCH (a)-->(b)<--(c) WHERE a.f < c.f RETURN c.v, count(*), max(b.id)
MATCH (a)-->(b) WHERE EXISTS { (b)-->(c) WHERE c.v > a.v } RETURN a.id, b.id
MATCH (a)-[r]->(b) WHERE NOT EXISTS { (b)-[q]->(c:A) WHERE q.k >= r.k } RETURN a.id, b.id
MATCH (a)-->(b) RETURN a.id, b.id, COUNT { (b)--(c)--(d) WHERE d.v < a.v } AS n
MATCH (a)-->(b) WHERE COUNT { (b)--(c) WHERE c.v < a.v AND c <> a } > 1 RETURN a.id, b.id
MATCH (a)-->(b) OPTIONAL MATCH (b)-->(c) WHERE c.v > a.v RETURN count(c), count(*)
MATCH (a)-->(b) MATCH (b)-->(c) WHERE c.v > a.v RETURN a.id, count(*)
MATCH (a) WHERE EXISTS { (a)--(b)--(c) WHERE c.v < a.v } RETURN a.id
MATCH (a)-->(b)<--(c) WHERE a.v = c.v OR a.s = c.s RETURN count(*)
MATCH (a)--(b)--(c) WHERE a.v = c.v OR a.s = c.s OR a.f < c.f RETURN b.id, count(*)
MATCH (a)-->(b)<--(c) WHERE (a.v = c.v OR a.f = c.f) AND a.id < c.id RETURN a.v, count(*)
MATCH (a)-[r]->(b)<-[q]-(c) WHERE r.k = q.k OR a.v <= c.v RETURN count(*), sum(a.v)
MATCH (a)-->(b)<--(c) WHERE a.v + 1 = c.v OR a.v = c.v + 1 RETURN count(*)
MATCH (a)-->(b)<--(c) WHERE left(a.s, 2) = right(c.s, 2) RETURN count(*)
MATCH (a)-->(b) RETURN a.id, b.id, COUNT { (b)--(c) WHERE c.v < a.v OR c.id = a.v } AS n
MATCH (a)-->(b) WHERE a.id < 5 AND NOT EXISTS { (b)--(c) WHERE c.s STARTS WITH a.s } RETURN a.id, b.id
""".strip().splitlines()
SHAPES = ("bow tie", "clique", "loops", "parallel", "random", "nulls")


@cache
def graph(shape: str) -> Graph:
    return make(shape, 16)


@pytest.mark.parametrize("text", QUERIES)
def test_pairs_that_are_counted(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match_pairs, "_cost", lambda *_: 1e12)
    for shape in SHAPES:
        plan = str(graph(shape).explain(text))
        assert "ThetaJoin on" in plan or "SemiJoin on" in plan or "NOTHING" in plan, (shape, plan)
        for limit in (None, 1_000_000):
            agree(graph(shape), text, memory_limit=limit)


def test_pairs_around_a_hub_are_not_made() -> None:
    hub = make("star in", 3000)
    for text, way, count in (
        ("MATCH (a)-->(b)<--(c) WHERE a.id < c.id RETURN count(*)", "ranges with id", 2999 * 2998 // 2),
        ("MATCH (a)-->(b)<--(c) WHERE a.s STARTS WITH c.s RETURN count(*)", "by order", None),
        ("MATCH (a)--(b)--(c) WHERE a.v < c.v RETURN count(DISTINCT b)", "ranges with v", 1),
    ):
        assert way in str(hub.explain(text)), text
        assert count is None or hub.query(text).fetchall() == [(count,)]
    tie = make("bow tie", 8000)
    for part in ("EXISTS { (b)-->(c) WHERE c.v > a.v }", "COUNT { (b)-->(c) WHERE c.v > a.v } > 9"):
        assert "by order" in str(tie.explain(f"MATCH (a)-->(b) WHERE {part} RETURN count(*)")), part


ORDERED = """
MATCH (a)--(b)--(c)--(a) WHERE a.id < b.id AND c.id > b.id RETURN count(*)
MATCH (a)-[r]-(b)-[q]-(c) WHERE a.v < c.v RETURN a.id, c.id, count(*), sum(r.k)
MATCH (a)-->(b)-->(c)-->(d) WHERE a.v < b.v AND b.v < c.v AND c.v < d.v RETURN count(*)
MATCH (a)-->(b)-->(c)-->(d) WHERE a.v < c.v AND b.f < d.f RETURN count(*)
MATCH (a)-->(b)<--(c)-->(d) WHERE a.v = d.id RETURN count(*)
MATCH (a)-->(b)<--(c)-->(d) WHERE a.v <> d.id RETURN count(*)
MATCH (a)-->(b)-->(a), (b)-->(c) WHERE b.v < a.v AND b.v < c.v RETURN count(*)
MATCH DIFFERENT NODES (a)--(b)--(c)--(d) WHERE a.v > b.v AND a.f < b.f AND c.s < a.s RETURN count(*)
MATCH (a) OPTIONAL MATCH (a)-->(b)<--(c) WHERE c.v < a.v RETURN a.id, count(c), count(DISTINCT b)
""".strip().splitlines()


@pytest.mark.parametrize("text", ORDERED)
def test_nodes_of_which_one_has_less_need_not_be_told_apart(text: str) -> None:
    for shape in SHAPES:
        agree(graph(shape), text)


def test_relationships_between_ordered_nodes_are_not_compared() -> None:
    plan = str(graph("parallel").explain(ORDERED[0]))
    assert "≠" not in plan and "Search" in plan


@pytest.mark.parametrize("values", [(5, 6, 2**63 - 1), (2**63 - 1, 2**63 - 1, 1), (1, 2, 3)])
def test_what_fails_for_a_pair_fails(values: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that can't be computed matters where the node has a partner that nothing else rules out."""
    monkeypatch.setattr(match_pairs, "_cost", lambda *_: 1e12)
    nodes = [{"id": i, "properties": {"id": i, "v": value}} for i, value in enumerate((*values, 4, 2**63 - 1))]
    links = [{"start": i, "end": 3, "type": "R"} for i in range(3)]
    own, told = Graph.from_records(nodes, links), []
    for what, more in (("c", ""), ("c", " AND a.id + c.id < 2"), ("c:C", " AND a.v + b.v > 0")):
        text = f"MATCH (a)-->(b)<--({what}) WHERE (a.v + 1 = c.v OR a.v = c.v + 1){more} RETURN count(*)"
        for device in ("reference", "cpu"):
            try:
                told.append(own.query(text, device=device).fetchall()[0][0])
            except ExecutionError as error:
                told.append(error.code)
    assert told[0] == told[1] and (told[2] == told[3] or told[3] == told[0]) and told[4] == told[5] == 0
