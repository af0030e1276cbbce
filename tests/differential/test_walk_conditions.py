"""Conditions on every element of a walk, and walks that repeat no node: the CPU executor agrees with the reference."""

from __future__ import annotations

import itertools
import random

import pytest

from qengine import Graph
from qengine.storage import from_records
from qengine.testing.compare import agree

CHANCE = random.Random(5)
GRAPH = Graph(
    from_records(
        [{"id": i, "labels": ["A"] if i % 2 else ["B"], "properties": {"x": i % 4, "o": i != 3}} for i in range(9)],
        [
            {
                "type": CHANCE.choice("RRSU"),
                "start": CHANCE.randrange(9),
                "end": CHANCE.randrange(9),
                "properties": {"w": i % 5, "o": i % 4 != 0},
            }
            for i in range(16)
        ],
        undirected=["U"],
    )
)


def check(query: str) -> None:
    assert agree(GRAPH, query)


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a)-[r*]->(b) WHERE all(x IN r WHERE x.o) RETURN a, b, r",
        "MATCH (a)-[r*]->(b) WHERE none(x IN r WHERE x.o) RETURN a, b, r",
        "MATCH (a)-[r*..4]-(b) WHERE NOT any(x IN r WHERE x.w = 2) RETURN count(*)",
        "MATCH (a)-[r*0..]->(b) WHERE all(x IN r WHERE x.missing) RETURN a, b, r",
        "MATCH p = (a)-[*]->(b) WHERE all(x IN nodes(p) WHERE x.o) RETURN p",
        "MATCH p = (a)-[*]->(b) WHERE all(x IN nodes(p) WHERE x.o) RETURN DISTINCT b",
        "MATCH p = (a:A)-[*..4]-(b) WHERE none(x IN nodes(p) WHERE x:A AND x.x = 1) RETURN p",
        "MATCH p = (a)-[r]->(c)-[*0..2]-(b) WHERE none(x IN nodes(p) WHERE x.x = 2) RETURN p",
        "MATCH p = (a)-[r]->(c)-[*0..2]-(b) WHERE all(y IN relationships(p) WHERE y.w <> 1) RETURN p",
        "MATCH p = (a)-[*..4]-(b) WHERE all(x IN nodes(p) WHERE 10 / (x.x + 1) > 3) RETURN count(*)",
        "MATCH p = (a)-[*..4]-(b) WHERE a.x > 0 AND all(x IN nodes(p) WHERE x.x > 0 AND 10 / x.x > 3) RETURN count(*)",
        "MATCH (b:B) MATCH p = (a)-[*..4]-(b) WHERE all(x IN nodes(p) WHERE x.x <> 1) RETURN p",
        "MATCH (a) WHERE EXISTS { p = (a)-[*]->(b:A) WHERE all(x IN nodes(p) WHERE x.x <> 2) } RETURN a",
        "MATCH p = shortestPath((a)-[*]-(b)) WHERE all(x IN nodes(p) WHERE x.o) RETURN length(p), a, b",
        "MATCH p = allShortestPaths((a)-[*]-(b)) WHERE all(x IN nodes(p) WHERE x.x <> 0) RETURN p",
        "MATCH p = allShortestPaths((a)-[*]->(a)) WHERE all(x IN nodes(p) WHERE x.x <> 0) RETURN p",
        "MATCH (a:A), (b:B) MATCH p = allShortestPaths((a)-[*]-(b)) WHERE none(x IN nodes(p) WHERE x.x = 1) RETURN p",
        "MATCH p = ANY SHORTEST (a)-[*]-(b) WHERE all(x IN nodes(p) WHERE x:A) RETURN length(p), a, b",
    ],
)
def test_conditions_on_each_element(query: str) -> None:
    check(query)


@pytest.mark.parametrize(
    "query",
    [
        "(a)-[r*]->(b) RETURN a, b, r",
        "(a)-[r*..4]-(b) RETURN count(*)",
        "p = (a)-[*0..3]-(b)-[*1..2]-(c) RETURN p",
        "p = (a)-[*..4]-(a) RETURN p",
        "p = (a)-[*1..3]-(b), (c:A)-->(d) RETURN p, c, d",
        "(a)-[*1..3]-(b)-->(c) RETURN count(*)",
        "(a)-[*1..3]-(b)-->(c) RETURN DISTINCT a, c",
        "(a)-[*1..2]-(b)-[*1..2]-(a) RETURN count(*)",
        "(a)-[*2..]->(b:A) RETURN DISTINCT a",
        "(a)-[r]->(b), (a)-[s*1..2]->(b) RETURN a, b, r, s",
        "p = ANY SHORTEST (a)-[*..4]-(b) RETURN a, b, length(p)",
        "p = ALL SHORTEST (a)-[*..4]-(b), (c:B) RETURN p, c",
        "p = ACYCLIC (a)-[*1..3]->(a) RETURN size(collect(a.x))",
    ],
)
def test_different_nodes(query: str) -> None:
    check(f"MATCH DIFFERENT NODES {query}")


@pytest.mark.parametrize(
    "query",
    [
        "p = ACYCLIC (a)-[*]->(b) RETURN p",
        "p = SIMPLE (a)-[*]->(b) RETURN p",
        "p = SIMPLE (a)-[*]->(a) RETURN p",
        "ACYCLIC (a)-[*0..3]-(b) RETURN a, b",
        "SIMPLE (a)-[*2..]->(b) RETURN DISTINCT a, b",
        "p = ACYCLIC (a)-->(b)--(c)-->(d) RETURN p",
        "p = SIMPLE (a)-->(b)--(c)-->(d) RETURN count(*)",
        "p = SIMPLE (a)-->(b)--(c)-->(a) RETURN p",
        "ACYCLIC (a)-->(b)--(c)-->(a) RETURN count(*)",
        "p = SIMPLE (a)-->(b)-[*0..2]-(c) RETURN p",
        "p = ACYCLIC (a)-->(b)-[*0..2]-(c) RETURN p",
        "p = ACYCLIC (a)-->(b)-[*0..2]-(c)-->(d), SIMPLE (a)-->(e)-->(d) RETURN count(*)",
        "p = TRAIL (a)-[*..3]->(b) RETURN p",
        "REPEATABLE ELEMENTS p = TRAIL (a)-[*]->(b) RETURN p",
        "REPEATABLE ELEMENTS p = ACYCLIC (a)-[*]->(b) RETURN p",
        "REPEATABLE ELEMENTS p = TRAIL (a)-[*1..2]-(b)--(c)-[*1..2]-(d) RETURN count(*)",
        "REPEATABLE ELEMENTS p = WALK (a)-[*1..2]-(b)--(c) RETURN count(*)",
        "REPEATABLE ELEMENTS TRAIL (a)--(b)--(c) RETURN a, b, c",
        "(a)-[r]-(b) MATCH ACYCLIC (c)<-[r]-(a) RETURN a, b, c",
        "(a)-[r]-(b) OPTIONAL MATCH ACYCLIC (c)-[r]-(d), (e:A) RETURN count(*)",
        "(a)-[r*1..2]-(b) MATCH ACYCLIC (c)-[r*]-(d)-->(e) RETURN a, b, c, e",
        "ANY SHORTEST SIMPLE (a)-[r*]->(a) RETURN a, size(r)",
        "REPEATABLE ELEMENTS p = ANY SHORTEST (a)-[*]-(a) RETURN a, length(p)",
        "REPEATABLE ELEMENTS p = ALL SHORTEST (a)-[*]-(b) RETURN p",
        "(a) RETURN a, COUNT { ACYCLIC (a)-[*]->(b) } AS n, EXISTS { SIMPLE (a)-[*]->(a) } AS closed",
    ],
)
def test_path_modes(query: str) -> None:
    check(f"MATCH {query}")


def test_different_nodes_in_later_clauses() -> None:
    check("MATCH (a) WHERE EXISTS { MATCH DIFFERENT NODES (a)-[*2..]->(b:A) } RETURN a")
    check("MATCH (a)-->(b) MATCH DIFFERENT NODES (a)-[*2..3]-(b) RETURN a, b")
    check("MATCH (a)-[r]->(b) MATCH DIFFERENT NODES (a)-[r]->(b)-[*]->(c) RETURN count(*)")


def test_walks_are_cut_where_the_condition_fails() -> None:
    """In a complete graph there are more trails than could ever be listed, but few through two open nodes."""
    edges = [{"type": "R", "start": a, "end": b} for a, b in itertools.combinations(range(40), 2)]
    nodes = [{"id": i, "properties": {"i": i, "open": i < 2}} for i in range(40)]
    graph = Graph(from_records(nodes, edges, undirected=["R"]))
    query = "MATCH p = (a {i: 0})-[*]-(b) WHERE all(n IN nodes(p) WHERE n.open)"
    assert [len(row[0]) for row in graph.query(f"{query} RETURN p").fetchall()] == [1]
    assert graph.query(f"{query} RETURN count(*)").fetchall()[0][0] == 1
    some = graph.query("MATCH p = (a)-[*]-(b) WHERE none(n IN nodes(p) WHERE n.i > 30) RETURN p LIMIT 5").fetchall()
    assert len(some) == 5
    exists = "MATCH (a {i: 0}) RETURN EXISTS { p = (a)-[*2..]-(b {i: 1}) WHERE all(n IN nodes(p) WHERE n.i < 9) }"
    assert graph.query(exists).fetchall()[0][0] is True
    reached = "MATCH p = (a {i: 0})-[*]-(b) WHERE all(n IN nodes(p) WHERE n.i < 9) RETURN DISTINCT b.i AS i"
    assert sorted(row[0] for row in graph.query(reached).fetchall()) == list(range(9))
