"""Quantified path patterns: both executors agree with each other, and with the same query over variable length."""

from __future__ import annotations

import random

import pytest

from qengine import Graph, ResourceError
from qengine.testing.compare import agree, difference
from qengine.testing.random_graph import random_graph
from qengine.testing.random_repeats import random_repeat

CHANCE = random.Random(7)
GRAPH = Graph.from_records(
    [{"id": i, "labels": ["A"] if i % 2 else ["B"], "properties": {"x": i % 4}} for i in range(8)],
    [
        {
            "type": CHANCE.choice("RS"),
            "start": CHANCE.randrange(8),
            "end": CHANCE.randrange(8),
            "properties": {"w": i % 3},
        }
        for i in range(14)
    ],
)


@pytest.mark.parametrize(
    ("quantified", "plain"),
    [
        ("(x) ((a)-[r:R]->(b)){1,3} (y) RETURN x, y, r", "(x)-[r:R*1..3]->(y) RETURN x, y, r"),
        ("p = (x) ((a)-[r:R]->(b))+ (y) RETURN p", "p = (x)-[r:R*1..]->(y) RETURN p"),
        ("(x) ((a)-[r]->(b)){2} (y) RETURN a, b", "p = (x)-[*2]->() RETURN nodes(p)[..-1] AS a, nodes(p)[1..] AS b"),
        (
            "p = (x) ((a:A)-[r]->(b)){1,3} (y) RETURN p",
            "p = (x)-[*1..3]->(y) WHERE all(n IN nodes(p)[..-1] WHERE n:A) RETURN p",
        ),
        (
            "p = (x) ((a)<-[r]-(b:A {x: 1})){,3} (y) RETURN p",
            "p = (x)<-[*0..3]-(y) WHERE all(n IN nodes(p)[1..] WHERE n:A AND n.x = 1) RETURN p",
        ),
        (
            "p = ((a)-[r {w: 1}]->(b WHERE b.x <> 2) WHERE a.x < b.x){1,3} RETURN p",
            "p = ()-[r*1..3 {w: 1}]->() "
            "WHERE all(q IN r WHERE startNode(q).x < endNode(q).x AND endNode(q).x <> 2) RETURN p",
        ),
        (
            "p = (x) ((a)-[r]->(b) WHERE a.x >= x.x){1,3} RETURN p",
            "p = (x)-[r*1..3]->() WHERE all(q IN r WHERE startNode(q).x >= x.x) RETURN p",
        ),
        (
            "p = ((a)-[r]->(b)){2} ((c)-[s]->(d)){0,1} (e)-->(f) RETURN p, size(c) AS c",
            "p = ()-[*2]->()-[s*0..1]->()-->() RETURN p, size(s) AS c",
        ),
        (
            "ANY SHORTEST (x:A) ((a)-[r]->(b WHERE b.x <> 2))+ (y:B) RETURN x, y, size(a) AS n",
            "p = shortestPath((x:A)-[*]->(y:B)) WHERE all(r IN relationships(p) WHERE endNode(r).x <> 2) "
            "RETURN x, y, length(p) AS n",
        ),
        ("(x) ((a)-[r]-(b)){1,2} (y) WHERE size(b) = 2 RETURN x, y, r", "(x)-[r*2]-(y) RETURN x, y, r"),
        (
            "(x) ((a)-[r]->(a)){1,2} (y) RETURN x, y, r",
            "(x)-[r*1..2]->(y) WHERE all(q IN r WHERE startNode(q) = endNode(q)) RETURN x, y, r",
        ),
        (
            "(x) RETURN x, COUNT { (x) ((a:B)-->(b)){1,2} () } AS n",
            "(x) RETURN x, COUNT { p = (x)-[*1..2]->() WHERE all(n IN nodes(p)[..-1] WHERE n:B) } AS n",
        ),
        (
            "(x) ((a)-->(b)){2} (y) WITH a, count(*) AS c RETURN [n IN a | n.x] AS xs, sum(c) AS c",
            "(x)-->(b)-->(y) RETURN [x.x, b.x] AS xs, count(*) AS c",
        ),
        (
            "(x) ((a)-->(b)){2} (y) WHERE EXISTS { (x)-->(z) WHERE z IN b } RETURN x, b",
            "p = (x)-[*2]->(y) WHERE EXISTS { (x)-->(z) WHERE z IN nodes(p)[1..] } RETURN x, nodes(p)[1..] AS b",
        ),
        ("(x) ((a)-->(b)){2} (y) RETURN *", "p = (x)-[*2]->(y) RETURN nodes(p)[..-1] AS a, nodes(p)[1..] AS b, x, y"),
        ("ACYCLIC (x) ((a)-->(b))+ (y) RETURN x, y", "ACYCLIC (x)-[*]->(y) RETURN x, y"),
    ],
)
def test_agreement(quantified: str, plain: str) -> None:
    expected = GRAPH.query(f"MATCH {plain}").fetchall()
    assert expected
    for device in ("cpu", "reference"):
        assert difference(expected, GRAPH.query(f"MATCH {quantified}", device=device).fetchall()) is None


def test_group_variables_are_null_where_an_optional_match_finds_nothing() -> None:
    assert [tuple(row) for row in GRAPH.query("OPTIONAL MATCH (x:None) ((a)-->(b)){2} (y) RETURN a, b")] == [
        (None, None)
    ]


def test_a_condition_that_can_fail_is_asked_of_the_ends_that_are_found_alone() -> None:
    graph = Graph()
    graph.query("CREATE (:N {x: 1})-[:R]->(:N {x: 2})-[:R]->(:N {x: 3}), (:N {x: 0})")
    text = "MATCH (a:N) ((u)-->(v)-->(w)){1,2} (b:N) WHERE 6 / b.x > 1 RETURN b.x"
    for device in ("cpu", "reference"):
        assert [tuple(row) for row in graph.query(text, device=device)] == [(3,)]


@pytest.mark.parametrize("selector", ["", "SHORTEST 2 ", "SHORTEST 2 GROUPS ", "ALL SHORTEST "])
def test_a_path_of_different_nodes_may_end_where_it_starts(selector: str) -> None:
    """With a loop, with two relationships that lead back, and of length 0."""
    links = [{"type": "R", "start": start, "end": end} for start, end in ((1, 1), (2, 3), (3, 2), (2, 2))]
    graph = Graph.from_records([{"properties": {"k": k}} for k in range(4)], links)
    counts = []
    for part in ("-[r:R]->", "((a)-[r:R]->(b) WHERE a.k <= 3)", "((a)-[r:R]-(b)-[s:R]->(c))"):
        for times in ("" if part[0] == "-" else "{1}", "+", "{0,2}"):
            shown = "size(r)" if times else "r"
            text = f"MATCH DIFFERENT NODES {selector}(n){part}{times}(n) RETURN n.k AS k, {shown}"
            counts.append(len(agree(graph, text)))
    assert min(counts) == 2


@pytest.mark.parametrize("block", range(4))
def test_random_repetitions(block: int) -> None:
    """Of several relationships, with group variables, names of parts, conditions, ``?``, modes and selectors."""
    for number in range(12 * block, 12 * block + 12):
        described = random_graph(f"repeats {number // 4}", most_nodes=6, most_relationships=8)
        graph, text = Graph(described.store()), random_repeat(number, described)
        agree(graph, text)


@pytest.mark.slow
def test_many_random_repetitions() -> None:
    for number in range(20_000):
        described = random_graph(f"repeats {number // 4}", most_nodes=6, most_relationships=8)
        graph, text = Graph(described.store()), random_repeat(number, described)
        try:
            expected = graph.query(text, device="reference", timeout=5).fetchall()
        except ResourceError:  # endless walks take the reference long
            continue
        assert difference(expected, graph.query(text, device="cpu").fetchall()) is None, text
