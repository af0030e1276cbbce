"""What the planner expects of squares, of several types, of different pairs, and of what subqueries count."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from qengine import Graph
from qengine.catalog.view import Incidence
from qengine.estimates import plan_counted
from qengine.qerror import q_error

N = 1_200
_COMMUNITY = 12


@pytest.fixture(scope="module")
def communities() -> Iterator[Graph]:
    """Communities of 12 that know each other, mostly; each likes what its community does; S goes where K does, twice.

    ``n`` is a key, ``c`` the community; every tenth node has 30 L to anyone, the others 1.
    """
    source = Random(5)
    nodes = [{"id": k, "labels": ["P"], "properties": {"n": k, "c": k // _COMMUNITY, "h": k % 10}} for k in range(N)]
    nodes += [{"id": N + k, "labels": ["T"], "properties": {"n": k}} for k in range(100)]
    edges = []
    for k in range(N):
        begin = k - k % _COMMUNITY
        near = source.sample([each for each in range(begin, begin + _COMMUNITY) if each != k], 5)
        ends = [*near, source.randrange(N)]
        edges += [{"type": "K", "start": k, "end": end} for end in ends]
        edges += [{"type": "S", "start": k, "end": end} for end in near[:2]]
        tags = {N + (begin // _COMMUNITY + step) % 100 for step in source.sample(range(6), 3)}
        edges += [{"type": "likes", "start": k, "end": tag} for tag in tags]
        edges += [{"type": "L", "start": k, "end": source.randrange(N)} for _ in range(30 if k % 10 == 0 else 1)]
    yield Graph.from_records(nodes, edges)


def expected(graph: Graph, text: str) -> float:
    counted = plan_counted(graph._store, text)
    return counted.ending.rows(counted.expectation(graph._store, 0.95).value)


@pytest.mark.parametrize(
    ("pattern", "within"),
    [
        ("(a)-[:K]->(b)-[:K]->(c), (a)-[:K]->(d)-[:K]->(c)", 1.6),
        ("(a)-[:K]->(b)-[:K]->(c)-[:K]->(d)-[:K]->(a)", 1.6),
        ("(a)-[:K]-(b)-[:K]-(c)-[:K]-(d)-[:K]-(a)", 1.6),
        ("REPEATABLE ELEMENTS (a)-[:K]->(b)<-[:K]-(c)-[:K]->(d)<-[:K]-(a)", 1.6),
        ("(a:P)-[:likes]->(t)<-[:likes]-(b)<-[:K]-(c)-[:K]->(a)", 1.6),
        ("(a:P)-[:likes]->(t)<-[:likes]-(b)-[:likes]->(s:T)<-[:likes]-(a)", 1.6),
        ("(a)-[:K]->(b)-[:K]->(c), (a)-[:S]->(d)-[:K]->(c)", 1.6),
        ("(a)-[:K]->(b)-[:K]->(c), (a)-[:K]->(d)-[:K]->(c) WHERE a.h < 5 AND c.h < 2", 2.0),
        ("(a)-[:K]->(b)-[:K]->(c)-[:L]->(e), (a)-[:K]->(d)-[:K]->(c)", 2.0),
        ("(a)-[:K]->(b)-[:K]->(c), (a)-[:K]->(d)-[:K]->(c), (a)-[:K]->(e)-[:K]->(c)", 1.3),
        ("(a)-[:K]->(b)-[:K]->(c), (a)-[:K]->(d)-[:K]->(c), (a)-[:K]->(e)-[:K]->(c), (a)-[:K]->(f)-[:K]->(c)", 1.6),
        ("(a)-[:K]->(b)-[:K]->(c)-[:K]->(d)-[:K]->(a), (b)-[:K]->(e)-[:K]->(f)-[:K]->(c)", 1.6),
        ("(a)-[:K]->(b)-[:S]->(c)-[:K]->(d)-[:K]->(a), (a)-[:S]->(e)-[:K]->(f)-[:K]->(b)", 1.6),
        ("(a)-[:K]->(b)-[:K]->(c)-[:K]->(d)-[:K]->(a), (b)-[:K]->(e)-[:K]->(f)-[:K]->(c) WHERE a.c = b.c", 2.0),
        ("(a)-[:likes]->(t:T)<-[:likes]-(b)-[:likes]->(s:T)<-[:likes]-(a), (c)-[:likes]->(t), (c)-[:likes]->(s)", 1.6),
        ("(a)-[:K]->(b)-[:K]->(c)-[:K]->(a), (b)-[:K]->(d)-[:K]->(c)", 2.0),
        ("(a)-[:K|S]->(b)<-[:K|S]-(c)", 1.2),
        ("(a)-[:L|S]-(b)-[:L|S]-(c)", 1.2),
        ("(a)-->(b)-->(c)", 1.2),
        ("(a)-[:K]->(b) WHERE COUNT { (a)-[:L]->(x) } > 20", 1.2),
        ("(a)-[:K]->(b) WHERE COUNT { (b)-[:L]->(x) } < 2", 1.2),
        ("(a)-[:K]->(b) WHERE COUNT { (b)-[:L]->(x) } = 30", 1.2),
        ("(a)-[:K]->(b) WHERE 5 >= COUNT { (b)-[:L]->(x) WHERE x.h < 5 }", 1.3),
        ("(a)-[:K]->(b) WHERE COUNT { (b)-[:L]->(x)-[:K]->(y) } > 100", 1.3),
        ("(a)-[:K]->(b)-[:S]->(c) WITH DISTINCT b AS x, a.n AS y", 1.3),
        ("(a)-[:K]->(b)-[:S]->(c) WITH DISTINCT b, a", 1.3),
        ("(a)-[r:K]->(b)-[:S]->(c) WITH DISTINCT b, r", 1.3),
        ("(a)-[:K]->(b)-[:L]->(c) WHERE a.h = 0 WITH DISTINCT a, b", 1.3),
        ("(a)-[:K]->(b)-[:S]->(c) WITH DISTINCT c AS x, a.h AS y LIMIT 50", 1.01),
        ("(a)-[:K]->(b) WHERE toString(a.n) STARTS WITH '1' AND toString(b.h) = '3'", 1.2),
        ("(a)-[:K]->(b) WHERE toUpper(toString(a.n)) ENDS WITH '7'", 1.2),
        ("(a)-[:K]->(b) OPTIONAL MATCH (b)-[:L]->(c) WHERE b.h IS NULL", 1.3),
        ("(a)-[:K]->(b) WHERE a.h = 3 OPTIONAL MATCH (b)-[:L]->(c) WHERE b.h = 2 AND c.h = 1", 1.2),
        ("(a)-[:L]->(t)<-[:L]-(b) WHERE a.n IN [41, 42, 43] AND b.h = 0", 1.6),
    ],
)
def test_expectations(communities: Graph, pattern: str, within: float) -> None:
    text = f"MATCH {pattern} RETURN count(*)"
    assert q_error(communities.query(text).value(), expected(communities, text)) < within


def test_outer_nodes_are_joined_again(communities: Graph) -> None:
    """Pairs of relationships with the same ends are those of squares; the middle node itself is one more way."""
    text = "MATCH (a)-[:K]->(b)-[:K]->(c), (a)-[:K]->(d)-[:K]->(c) RETURN count(*)"
    store = communities._store
    sample = store.wedge_sample("P", *_kinds(), apart="relationships")
    again = store.joined_again(sample, *_kinds(True), apart=True)
    assert again is not None
    count = communities.query(text).value()
    assert q_error(count, sample.total * again) < 1.2
    assert (store.joined_again(sample, *_kinds(True), apart=False) or 0.0) >= again + 0.99


def _kinds(turned: bool = False) -> tuple[Incidence, Incidence]:
    into, out = Incidence(("K",), False, True, "P"), Incidence(("K",), True, False, "P")
    return (out, into) if turned else (into, out)
