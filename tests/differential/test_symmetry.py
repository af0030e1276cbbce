"""Counting each orbit once gives what enumerating gives, whatever else the query demands of symmetric nodes."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from qengine import Graph

QUERIES = [
    "MATCH (x)-[:R]-(y), (u)-[:S]-(v) WHERE x <> u RETURN count(*)",
    "MATCH (x)-[:R]-(y), (u)-[:S]-(v) WHERE x <> u AND y <> v RETURN count(*)",
    "MATCH (x)-[:R]-(y), (u)-[:S]-(v) WHERE x <> u AND x <> v AND y <> u AND y <> v RETURN count(*)",
    "MATCH REPEATABLE ELEMENTS (a)-[:R]-(b)-[:R]-(c)-[:R]-(a), (b)-[:R]-(d)-[:R]-(c) WHERE a <> d RETURN count(*)",
    "MATCH REPEATABLE ELEMENTS (a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(a) WHERE a <> c RETURN count(*)",
    "MATCH (a)-[:R]-(b), (a)-[:S]-(c), (b)-[:S]-(d) WHERE c <> d RETURN count(*)",
    "MATCH (a)-[:R]-(b), (a)-[:S]-(c), (b)-[:S]-(d) WHERE a <> d RETURN count(*)",
    "MATCH (a)-[:R]-(b) MATCH (a)-[:S]-(x) MATCH (a)-[:S]-(y) RETURN count(*)",
    "MATCH (a)-[:R]-(b) MATCH (a)-[:S]-(x) MATCH (b)-[:S]-(z) MATCH (x)-[:R]-(u) MATCH (x)-[:R]-(v) RETURN count(*)",
]


TRIANGLE = "(a)-[:R]-(b)-[:R]-(c)-[:R]-(a)"
LISTED = [
    (f"MATCH {TRIANGLE} RETURN a, b, c", 6),
    (f"MATCH {TRIANGLE} RETURN DISTINCT c, a, b", 6),
    (f"MATCH {TRIANGLE} RETURN id(a) + 2 * id(b) + 3 * id(c) AS sum, count(*)", 6),
    (f"MATCH {TRIANGLE} WHERE id(a) < id(b) RETURN a, b, c", 6),
    (f"MATCH {TRIANGLE} WITH a, b, c WHERE id(a) + id(b) < id(c) + 5 RETURN a, b, c", 6),
    (f"MATCH {TRIANGLE} OPTIONAL MATCH (a)-[:S]-(d) WHERE id(d) > id(b) + id(c) RETURN a, b, c, d", 6),
    ("MATCH (a)-[:T]->(b)-[:T]->(c)-[:T]->(a) RETURN a, b, c", 3),
    ("MATCH (a)-[:R]-(b)-[:R]-(c) RETURN a, b, c", 2),
    ("MATCH REPEATABLE ELEMENTS (a)-[:R]-(b)-[:R]-(c) WHERE a <> c RETURN a, b, c", 2),
    ("MATCH DIFFERENT NODES (a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(a) RETURN d, b, c, a", 8),
    ("MATCH (a)-[:T]->(b)<-[:T]-(c), (b)-[:S]-(d) WHERE a <> d AND c <> d RETURN b, d, a, c", 2),
    ("UNWIND [1, 2] AS x MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(a) RETURN x, a, b, c", 6),
]
NOT_LISTED = [
    f"MATCH {TRIANGLE} RETURN a, b",
    "MATCH (a)-[r:R]-(b)-[:R]-(c)-[:R]-(a) RETURN a, b, c, r",
    "MATCH (a {id: 1})-[:R]-(b)-[:R]-(c) RETURN a, b, c",
    "MATCH REPEATABLE ELEMENTS (a)-[:R]-(b)-[:R]-(c) RETURN a, b, c",
    f"/*+ as_written */ MATCH {TRIANGLE} RETURN a, b, c",
]


@pytest.fixture(scope="module")
def graph() -> Graph:
    rng = random.Random(1)
    nodes = [{"id": i} for i in range(14)]
    pairs = [(a, b) for a in range(14) for b in range(a)]
    relationships = [{"type": kind, "start": a, "end": b} for kind in ("R", "S") for a, b in rng.sample(pairs, 24)]
    return Graph.from_records(nodes, relationships)


@pytest.mark.parametrize("query", QUERIES)
def test_counts_agree_with_the_reference(graph: Graph, query: str) -> None:
    assert graph.query(query).value() == graph.query(query, device="reference").value()


def made(undirected: list[str], parallel: bool) -> Graph:
    rng = random.Random(3)
    ends = [tuple(rng.sample(range(11), 2)) for _ in range(120)]
    ends = ends if parallel else list({frozenset(pair): pair for pair in ends}.values())
    relationships = [{"type": rng.choice("RRSTTT"), "start": a, "end": b} for a, b in ends]
    return Graph.from_records([{"id": i} for i in range(11)], relationships, undirected=undirected)


@pytest.fixture(scope="module")
def simple() -> Graph:
    return made(["R", "S"], parallel=False)


@pytest.fixture(scope="module")
def crowded() -> Graph:
    """Return a graph with parallel relationships."""
    return made([], parallel=True)


@pytest.mark.parametrize("on", ["simple", "crowded"])
@pytest.mark.parametrize("query, images", LISTED)
def test_symmetric_rows_are_found_once(request: pytest.FixtureRequest, on: str, query: str, images: int) -> None:
    graph = request.getfixturevalue(on)
    plan = str(graph.explain(query))
    compared = on == "crowded" and "≠ @" in plan  # parallel relationships
    assert compared or f"each of {images} symmetric embeddings found once" in plan, plan
    expected = graph.query(query, device="reference").fetchall()
    assert expected
    for memory_limit in (None, 1 << 21):  # chunks of few rows come image by image
        found = list(graph.query(query, memory_limit=memory_limit, threads=1))
        assert Counter(map(repr, found)) == Counter(map(repr, expected))


HOMES = "MATCH (a)-[:S]->(x)-[:T]->(n) MATCH (b)-[:S]->(y)-[:T]->(n)"


@pytest.mark.parametrize(
    ("pattern", "images"),
    [
        (f"{TRIANGLE} {HOMES}", 2),
        (f"{TRIANGLE} {HOMES} MATCH (c)-[:S]->(z)-[:T]->(n)", 6),
        (f"{TRIANGLE} MATCH (a)-[:S]->(x) MATCH (b)-[:S]->(y) MATCH (c)-[:S]->(z)", 6),
    ],
)
def test_what_goes_along_with_symmetric_nodes_may_be_one(pattern: str, images: int) -> None:
    """Friends, who differ, live in cities, which need not."""
    rng = random.Random(5)
    pairs = [(a, b) for a in range(9) for b in range(a)]
    relationships = [{"type": "R", "start": a, "end": b} for a, b in rng.sample(pairs, 22)]
    relationships += [{"type": "S", "start": a, "end": 9 + a % 4} for a in range(9)]
    relationships += [{"type": "S", "start": a, "end": 9 + (a + 1) % 4} for a in range(0, 9, 3)]
    relationships += [{"type": "T", "start": 9 + k, "end": 13 + k % 2} for k in range(4)]
    graph = Graph.from_records([{"id": i} for i in range(15)], relationships)
    names = [name for name in "abcxyzn" if f"({name})" in pattern]
    query = f"/*+ search */ MATCH {pattern} RETURN"
    plans = [str(graph.explain(f"{query} {ending}")) for ending in ("count(*)", ", ".join(names))]
    assert f"each of {images} symmetric embeddings counted once" in plans[0], plans[0]
    assert f"each of {images} symmetric embeddings found once" in plans[1], plans[1]
    expected = graph.query(f"{query} {', '.join(names)}", device="reference").fetchall()
    assert expected and graph.query(f"{query} count(*)").value() == len(expected)
    assert Counter(map(repr, graph.query(f"{query} {', '.join(names)}"))) == Counter(map(repr, expected))


@pytest.mark.parametrize("query", NOT_LISTED)
def test_what_tells_symmetric_nodes_apart_is_found_as_often_as_it_is_there(crowded: Graph, query: str) -> None:
    assert "symmetric" not in str(crowded.explain(query))
    expected = crowded.query(query, device="reference").fetchall()
    assert Counter(map(repr, crowded.query(query).fetchall())) == Counter(map(repr, expected))


def test_what_follows_a_symmetric_pattern_is_estimated_for_all_of_it(crowded: Graph) -> None:
    query = f"MATCH {TRIANGLE} OPTIONAL MATCH (a)-[:S]-(d) WHERE id(d) > id(b) - id(c) RETURN a, b, c, d"
    true = len(crowded.query(query).fetchall())
    found = crowded.estimate(query, method="wanderjoin", samples=200_000, seed=1, confidence=0.99999)
    assert not found.is_exact and found.low <= true <= found.high and found.high - found.low < true / 5


EVERY = f"MATCH {TRIANGLE} RETURN id(a) AS a, id(b) AS b, id(c) AS c"


@pytest.mark.parametrize("order", ["c, a, b", "b DESC, c, a"])
@pytest.mark.parametrize("cut", ["", " LIMIT 7", " SKIP 5", " SKIP 4 LIMIT 9"])
def test_symmetric_rows_are_sorted_and_cut(simple: Graph, order: str, cut: str) -> None:
    query = f"{EVERY} ORDER BY {order}{cut}"
    assert "6 symmetric embeddings found once" in str(simple.explain(query))
    expected = simple.query(query, device="reference").fetchall()
    assert expected and simple.query(query).fetchall() == expected


def test_symmetric_rows_are_cut_without_an_order(simple: Graph) -> None:
    every = Counter(simple.query(EVERY, device="reference").fetchall())
    for skip, limit in ((0, 1), (0, 5), (2, 8), (every.total() - 3, 8), (0, 10_000)):
        found = Counter(simple.query(f"{EVERY} SKIP {skip} LIMIT {limit}").fetchall())
        assert found.total() == min(limit, every.total() - skip) and found <= every
    distinct = simple.query(f"MATCH {TRIANGLE} WITH DISTINCT a, b, c LIMIT 8 RETURN count(*)").value()
    assert distinct == min(8, every.total())


def test_a_profile_counts_all_images(simple: Graph) -> None:
    every = simple.query(EVERY, device="reference").fetchall()
    (profile,) = simple.query(f"PROFILE {EVERY}").fetchall()
    assert profile["rows"] == len(every) and f"[rows={len(every)} expected" in profile["plan"]
    (profile,) = simple.query(f"PROFILE {EVERY} LIMIT 4").fetchall()
    assert profile["rows"] == 4
