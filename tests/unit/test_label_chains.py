"""What the planner expects of relationships of fixed length between nodes without labels, by label sets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random

import pytest

from qengine import Graph
from qengine.estimates import plan_counted
from qengine.optimizer.label_ways import label_ways
from qengine.optimizer.labels import matching_types
from qengine.plan.pattern import LabelIs
from qengine.qerror import q_error


@pytest.fixture(scope="module")
def layers() -> Iterator[Graph]:
    """Layers A to D of 300 nodes; N leads from each to the next, M within B alone, which has many; K loops on D.

    Every third node of A is an X, too; only these lead to the first 40 of B, hubs, whose M leads to each other.
    """
    source = Random(7)
    nodes, edges = [], []
    for place, label in enumerate("ABCD"):
        for k in range(300):
            labels = [label, "X"] if label == "A" and k % 3 == 0 else [label]
            labels += ["Hub"] if label == "B" and k < 40 else []
            nodes.append({"id": 300 * place + k, "labels": labels, "properties": {"n": k, "half": k % 2}})
    for place, _ in enumerate("ABC"):
        for k in range(300):
            for _ in range(4):
                low, high = (0, 40) if place == 0 and k % 3 == 0 else (40, 300)
                edges.append(
                    {"type": "N", "start": 300 * place + k, "end": 300 * (place + 1) + source.randrange(low, high)}
                )
    for k in range(300):
        for end in range(40) if k < 40 else (40 + (k - 15) % 260,):
            edges += [{"type": "M", "start": 300 + k, "end": 300 + end}] if end != k else []
    edges += [{"type": "K", "start": 900 + k, "end": 900 + (k + 1) % 300} for k in range(300)]
    yield Graph.from_records(nodes, edges)


def expected(graph: Graph, text: str) -> float:
    store = graph._store
    counted = plan_counted(store, text)
    return counted.expectation(store, 0.95).value


@pytest.mark.parametrize(
    "pattern",
    [
        "(a:A)-[:N|M*2]->(b:A)",
        "(a)-[:N*4]->(b)",
        "(a:D)-[:N|M]->(b)-->(c)",
        "(a:A)-[:N*3]->(b)-[:N]->(c)",
        "(a)-[:K*2]->(b)-[:N|M]->(c)",
        "(a:C)-[:N*2]->(b), (b)-[:K]->(c)",
        "(a:X)-[:N]->(b)-[:M]->(c)-[:N]->(d:B)",
        "(a)-[:N]->(b:X)<--(c), (a)-[:M]->(d)",
        "(a)-[:M*2]->(b)-[:N*3]->(c)",
    ],
)
def test_no_label_set_is_left(layers: Graph, pattern: str) -> None:
    text = f"MATCH {pattern} RETURN count(*)"
    assert layers.query(text).value() == 0
    assert expected(layers, text) < 1e-2


@pytest.mark.parametrize(
    ("pattern", "within"),
    [
        ("(a)-[*3]->(b)", 1.3),
        ("(a)-[*4]->(b)", 1.5),
        ("(a)-[*3]-(b)", 1.5),
        ("(a:X)-->(b)-->(c)-->(d)", 1.3),
        ("(a:A&!X)-->(b)-->(c)-->(d)", 1.5),
        ("(a)-[:N|M*3]->(b:C)", 1.3),
        ("(a)-[:N]->(b)-[:M]->(c)-[:M|N]->(d)-->(e)", 1.5),
        ("(a)-->(b)<--(c)-->(d)", 1.5),
        ("REPEATABLE ELEMENTS (a)--(b)--(c)--(d)", 1.5),
        ("(a)-->(b)-->(c)-->(d) WHERE a.half = 0 AND d.half = 1", 1.5),
        ("(a)-->(b)-->(c)-->(d), (b)-->(e)", 2.0),
    ],
)
def test_hops_go_together_by_label_sets(layers: Graph, pattern: str, within: float) -> None:
    text = f"MATCH {pattern} RETURN count(*)"
    assert q_error(layers.query(text).value(), expected(layers, text)) < within


def test_hops_of_different_kinds(layers: Graph) -> None:
    """Ways of one type and direction go on along another's, none back over the relationship that led there."""
    store = layers._store
    steps = [("N", True, False, "A"), ("N", False, True, "B"), ("N", True, False, "A"), ("M", True, True, "B")]
    ways = [label_ways(store, matching_types(store, LabelIs(type)), out, into) for type, out, into, _ in steps]
    flow = ways[0].edges * ways[0].between(LabelIs("A"), None, store)
    text = "(n0:A)"
    arrows = [("-", "->"), ("<-", "-"), ("-", "->"), ("-", "-")]
    for place, (one, other) in enumerate(pairwise([None, *ways])):
        if one is not None:
            flow = other.onward(one, flow, store)
        left, right = arrows[place]
        text += f"{left}[:{steps[place][0]}]{right}(n{place + 1})"
        count = layers.query(f"MATCH {text} RETURN count(*)").value()
        assert q_error(count, float(flow.sum())) < 1.25


@pytest.fixture(scope="module")
def orders() -> Iterator[Graph]:
    """400 customers, of whom few refer and place orders, each placed by one: one relationship in two per node."""
    source = Random(3)
    nodes = [{"id": k, "labels": ["Customer"], "properties": {"n": k}} for k in range(400)]
    nodes += [{"id": k, "labels": ["Order"], "properties": {"n": k}} for k in range(400, 1400)]
    edges = [{"type": "PLACED", "start": int(400 * source.random() ** 4), "end": k} for k in range(400, 1400)]
    for _ in range(200):
        ends = int(400 * source.random() ** 3), int(400 * source.random() ** 2)
        edges.append({"type": "REFERRED", "start": ends[0], "end": ends[1]})
    yield Graph.from_records(nodes, edges)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a)-[:PLACED]-(b)-[:REFERRED]->(c)<-[:REFERRED]-(d)",
        "(a)-[:REFERRED]-(b)-[:REFERRED]-(c)-[:PLACED]-(d)",
        "(a)-[:PLACED]->(b)<-[:PLACED]-(c)",
        "(a)<-[:PLACED]-(b), (a)-[:PLACED*2]-(w)",
        "(a)-[:PLACED]->(b), (a)-[:PLACED*2]-(w)",
        "(a)-[:PLACED|REFERRED]->(b), (b)-[:PLACED*1..2]-(w)",
    ],
)
def test_few_relationships_that_lead_to_who_has_others(orders: Graph, pattern: str) -> None:
    count = orders.query(f"MATCH {pattern} RETURN count(*)").value()
    found = expected(orders, f"MATCH {pattern}")
    assert q_error(count, found) < 2.0, (found, count)
