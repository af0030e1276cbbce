"""``Graph.estimate_all``: every connected part of a pattern."""

from __future__ import annotations

import itertools
import json

import pytest

from qengine import Graph, Unsupported
from qengine.estimate.table import _orders
from tests.unit.test_command_line import WORLD


@pytest.fixture(scope="module")
def world() -> Graph:
    return Graph.from_csv(WORLD)


PATTERN = (
    "MATCH (a:Country)-[:borders]-(b:Country)-[:borders]-(c:Country)-[:borders]-(a), (c)-[:speaks]->(l:Language) "
    "WHERE a.population < b.population AND l.name <> 'French'"
)
PARTS = {
    "a": "MATCH (a:Country)",
    "l": "MATCH (l:Language) WHERE l.name <> 'French'",
    "a b": "MATCH (a:Country)-[:borders]-(b:Country) WHERE a.population < b.population",
    "a c": "MATCH (c:Country)-[:borders]-(a:Country)",
    "c l": "MATCH (c:Country)-[:speaks]->(l:Language) WHERE l.name <> 'French'",
    "a b c": "MATCH (a:Country)-[:borders]-(b:Country)-[:borders]-(c:Country)-[:borders]-(a) "
    "WHERE a.population < b.population",
    "a c l": "MATCH (c:Country)-[:borders]-(a:Country), (c)-[:speaks]->(l:Language) WHERE l.name <> 'French'",
    "a b c l": PATTERN,
}


def test_every_connected_part_is_estimated(world: Graph) -> None:
    table = world.estimate_all(PATTERN, samples=200_000, seed=1)
    nodes = {"a", "b", "c", "l"}
    connected = {frozenset(each) for k in range(1, 5) for each in itertools.combinations(nodes, k)}
    connected -= {frozenset(each) for each in ("al", "bl", "abl")}
    assert set(table) == connected
    for names, part in PARTS.items():
        found = table[frozenset(names.split())]
        truth = world.estimate(part, method="exact").value
        assert found.value == pytest.approx(truth, rel=0.05), names
        assert truth <= found.upper_bound * (1 + 1e-9)
        assert table.rows(frozenset(names.split())) == found.value
    assert table[frozenset("a")].is_exact and not table.notices
    assert table.rows(frozenset("al")) is None


def test_symmetric_and_parallel_patterns(world: Graph) -> None:
    pattern = "MATCH (a:Country)-[:borders]-(b)-[:borders]-(c)-[:borders]-(a)"
    table = world.estimate_all(pattern, samples=100_000, seed=1)
    assert table[frozenset("abc")].value == pytest.approx(world.estimate(pattern, method="exact").value, rel=0.05)
    edges = [{"type": "R", "start": a, "end": b} for a, b in [(0, 1), (0, 1), (1, 2), (1, 2), (2, 0), (0, 2), (1, 1)]]
    small = Graph.from_records([{"id": k} for k in range(3)], edges)
    pattern = "MATCH (a)-[:R]-(b)-[:R]-(c)"
    table = small.estimate_all(pattern, samples=100_000, seed=1)
    assert table[frozenset("abc")].value == pytest.approx(small.estimate(pattern, method="exact").value, rel=0.05)
    assert table[frozenset("ab")].value == pytest.approx(
        small.estimate("MATCH (a)-[:R]-(b)", method="exact").value, rel=0.05
    )


def test_parts_share_orders() -> None:
    names = [str(k) for k in range(6)]
    parts = {frozenset(each) for k in range(1, 7) for each in itertools.combinations(names, k)}
    orders = _orders(parts, names)
    assert {frozenset(order[:k]) for order in orders for k in range(1, len(order) + 1)} == parts
    assert len(orders) <= 30  # a set of every two-element one can begin no two orders: at least 20


def test_json_and_seeds(world: Graph) -> None:
    one, other = (world.estimate_all(PATTERN, samples=2_000, seed=3, threads=threads) for threads in (1, 2))
    assert [each.value for each in one.values()] == [each.value for each in other.values()]
    entries = json.loads(one.to_json())
    assert [frozenset(each["nodes"]) for each in entries] == list(one)
    assert all(each["low"] <= each["value"] for each in entries)
    assert "a, b" in repr(one)


def test_what_has_no_parts_is_refused(world: Graph) -> None:
    with pytest.raises(Unsupported, match="only whole rows"):
        world.estimate_all("MATCH (a:Country)-[:borders]-(b:Country) WHERE a.name < b.name")
    chain = "".join(f"(n{k})-[:borders]-" for k in range(11)) + "(z)"
    with pytest.raises(Unsupported, match="12 nodes"):
        world.estimate_all("MATCH " + chain)


@pytest.mark.parametrize(
    ("pattern", "counts"),
    [
        ("MATCH (a:Contry)-[:borders]-(b:Country)", {"a": 0, "b": 198, "a b": 0}),
        ("MATCH (a:Country)-[:borders]-(b:Country) WHERE b.populaton > 3", {"a": 198, "b": 0, "a b": 0}),
        ("MATCH (a:Country)-[:bordrs]-(b)-[:borders]-(c)", {"a b c": 0}),
    ],
)
def test_what_the_graph_does_not_have_is_warned_of(world: Graph, pattern: str, counts: dict[str, int]) -> None:
    table = world.estimate_all(pattern, samples=1_000, seed=1)
    assert {" ".join(sorted(nodes)): found.value for nodes, found in table.items()} == counts
    assert all(found.is_exact for found in table.values())
    (notice,) = table.notices
    assert notice.hint is not None and notice.hint.startswith("Did you mean")


def test_bounds_of_parts_hold_however_many_nodes_the_pattern_has(world: Graph) -> None:
    names = "abcdefgh"
    table = world.estimate_all(
        "MATCH " + "-[:borders]-".join(f"({name}:Country)" for name in names), samples=2_000, seed=1
    )
    for length in (1, 2, 3, 5):
        pattern = "-[:borders]-".join(f"({name}:Country)" for name in names[:length])
        truth = world.query(f"MATCH {pattern} RETURN count(*)").value()
        for start in range(len(names) - length + 1):
            assert truth <= table[frozenset(names[start : start + length])].upper_bound < 1e4 * truth
    assert table[frozenset(names)].value <= table[frozenset(names)].upper_bound < float("inf")


def test_levels_with_more_sources_follow_those_with_conditions() -> None:
    links = [*((0, k) for k in range(1, 300)), *itertools.combinations(range(1, 9), 2)]  # a hub, and a clique beside it
    graph = Graph.from_edge_list(tuple(zip(*links, strict=True)), undirected=True)
    pattern = "MATCH (a)--(b)--(c)--(a), (a)--(d)--(b), (c)--(d) WHERE id(d) % 2 = 0 AND id(c) % 3 > 0"
    table = graph.estimate_all(pattern, samples=200_000, seed=1)
    truth = graph.estimate(pattern, method="exact").value
    assert table[frozenset("abcd")].value == pytest.approx(truth, rel=0.2)
