"""Elimination on graphs of twins and hubs: counts against an oracle, and work that doesn't grow with pairs of nodes."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.errors import ResourceError
from qengine.testing.compare import agree
from tests.examples import examples
from tests.limits.looks import watched

Counts = npt.NDArray[np.int64]

RINGS = tuple(range(3, 9))
# Each an edge list: rings, with and without a chord or a tail, and three ways between two corners.
SHAPES = ("ab bc cd da", "ab bc cd da ac", "ab bc cd de ea", "ab bc cd da ae", "ab bc ad dc ae ec")
MODES = ("REPEATABLE ELEMENTS ", "", "DIFFERENT NODES ")


def pattern(shape: str, arrow: str = "--") -> str:
    return ", ".join(f"({a}){arrow}({b})" for a, b in shape.split())


def ring(length: int) -> str:
    corners = "abcdefgh"[:length]
    return "--".join(f"({corner})" for corner in corners + "a")


def eliminated(graph: Graph, text: str, result: str) -> list[tuple[Any, ...]]:
    return graph.query(f"/*+ eliminate */ MATCH {text} RETURN {result}", device="cpu").fetchall()


def undirected(adjacency: Counts) -> Graph:
    """Make a graph of a symmetric matrix of 0 and 1."""
    pairs = np.argwhere(np.triu(adjacency.astype(bool))).tolist()
    relationships = [{"type": "U", "start": a, "end": b} for a, b in pairs]
    nodes = [{"id": k, "properties": {"k": k}} for k in range(len(adjacency))]
    return Graph.from_records(nodes, relationships, undirected=("U",))


def hubs(n: int, count: int, seed: int) -> Counts:
    """Make a sparse random graph, and some hubs: the first is linked to all others, the next to most."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < 1.5 / n, 1)
    for hub in range(count):
        upper[hub, hub + 1 :] |= rng.random(n - hub - 1) < (1.0 if hub == 0 else 0.8)
    return (upper | upper.T).astype(np.int64)


def star(leaves: int) -> Graph:
    return Graph.from_edge_list((np.zeros(leaves, np.int64), np.arange(1, leaves + 1)), undirected=True)


# ---------------------------------------------------------------- twins


@st.composite
def blown_up(draw: st.DrawFn) -> tuple[Graph, Graph, list[int]]:
    """Make a small graph, another in which some of its nodes have many twins, and how many each node became."""
    n = draw(st.integers(2, 4))
    kinds = draw(st.sampled_from(["U", "R", "UR", "RR"]))  # R twice: parallel relationships
    vertex = st.integers(0, n - 1)
    triples = draw(st.lists(st.tuples(st.sampled_from(kinds), vertex, vertex), min_size=1, max_size=6))
    triples = [(kind, a, b) for kind, a, b in triples if a != b] or [(kinds[0], 0, 1)]
    copies = [draw(st.sampled_from([1, 2, 20])) for _ in range(n)]
    first = [sum(copies[:k]) for k in range(n)]
    spread = [
        {"type": kind, "start": first[a] + i, "end": first[b] + j}
        for kind, a, b in triples
        for i in range(copies[a])
        for j in range(copies[b])
    ]
    small = Graph.from_records(
        [{"id": k, "properties": {"k": k}} for k in range(n)],
        [{"type": kind, "start": a, "end": b} for kind, a, b in triples],
        undirected=("U",),
    )
    nodes = [{"id": first[k] + i, "properties": {"k": k}} for k in range(n) for i in range(copies[k])]
    return small, Graph.from_records(nodes, spread, undirected=("U",)), copies


@given(blown_up(), st.sampled_from(SHAPES), st.booleans())
@settings(max_examples=40, deadline=None)
def test_walks_among_twins(graphs: tuple[Graph, Graph, list[int]], shape: str, conditions: bool) -> None:
    """Each homomorphism to the small graph stands for as many as there are choices of its images' copies."""
    small, large, copies = graphs
    arrow = "--" if "U" in small.relationship_types else "-->"
    text = pattern(shape, arrow) + (" WHERE b.k <> 1" if conditions else "")
    names = sorted(set(shape.replace(" ", "")))
    rows = small.query(
        f"MATCH REPEATABLE ELEMENTS {text} RETURN {', '.join(f'{name}.k' for name in names)}", device="reference"
    ).fetchall()
    by_first: Counter[int] = Counter()
    for row in rows:
        by_first[row[0]] += prod(copies[k] for k in row)
    found = dict(eliminated(large, f"REPEATABLE ELEMENTS {text}", "a.k, count(*)"))
    assert found == dict(by_first)
    assert eliminated(large, f"REPEATABLE ELEMENTS {text}", "count(*)") == [(by_first.total(),)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", MODES)
def test_complete_bipartite_graphs(shape: str, mode: str) -> None:
    sides = np.zeros((12, 12), np.int64)
    sides[:2, 2:] = sides[2:, :2] = 1
    graph = undirected(sides)
    text = f"{mode}{pattern(shape)}"
    expected = graph.query(f"MATCH {text} RETURN a.k, count(*)", device="reference").fetchall()
    assert sorted(eliminated(graph, text, "a.k, count(*)")) == sorted(expected)


# ---------------------------------------------------------------- hubs


@pytest.mark.parametrize(("n", "count"), [(300, 1), (200, 3)])
@pytest.mark.parametrize("length", RINGS)
def test_rings_around_hubs(n: int, count: int, length: int) -> None:
    adjacency = hubs(n, count, seed=length)
    graph = undirected(adjacency)
    degrees = adjacency.sum(axis=1)
    powers = [np.eye(n, dtype=np.int64)]
    for _ in range(length):
        powers.append(powers[-1] @ adjacency)
    by_corner = powers[length].diagonal().tolist()
    text = f"REPEATABLE ELEMENTS {ring(length)}"
    found = dict(eliminated(graph, text, "a.k, count(*)"))
    assert found == {k: number for k, number in enumerate(by_corner) if number}
    assert eliminated(graph, text, "count(*)") == [(sum(by_corner),)]
    weighted = (adjacency @ np.diag(degrees) @ adjacency @ np.diag(adjacency @ degrees) @ powers[length - 2]).diagonal()
    found = dict(eliminated(graph, f"{text}, (b)--(x), (c)--(y)--(z)", "a.k, count(*)"))
    assert found == {k: number for k, number in enumerate(weighted.tolist()) if number}


@pytest.mark.parametrize("ways", [2, 3, 5])
def test_ways_between_two_corners_around_hubs(ways: int) -> None:
    adjacency = hubs(300, 2, seed=ways)
    graph = undirected(adjacency)
    expected = ((adjacency @ adjacency) ** ways).sum(axis=1).tolist()
    text = "REPEATABLE ELEMENTS " + ", ".join(f"(a)--(w{k})--(z)" for k in range(ways))
    assert dict(eliminated(graph, text, "a.k, count(*)")) == dict(enumerate(expected))


def test_numbers_of_128_bits_around_a_hub() -> None:
    """Around the hub are n^4 walks, more than 64 bits hold, of which none has different nodes."""
    graph = star(1 << 17)
    ways = ", ".join(f"(a)--(w{k})--(z)" for k in range(4))
    for result, empty in (("count(*)", [(0,)]), ("a.id, count(*)", [])):
        assert eliminated(graph, f"DIFFERENT NODES {ways}", result) == empty
        with pytest.raises(ResourceError, match="exceeds 64 bits"):
            eliminated(graph, f"REPEATABLE ELEMENTS {ways}", result)


# ---------------------------------------------------------------- work


def looks_for(graph: Graph, text: str) -> int:
    with watched() as looks:
        graph.query(f"/*+ eliminate */ MATCH {text}", device="cpu", threads=1).fetchall()
    return looks.count


@pytest.mark.parametrize("shape", ["ab bc cd da", "ab bc cd de ea", "ab bc cd da ae", "ab bc ad dc ae ec"])
def test_leaves_of_a_star_are_one_root(shape: str) -> None:
    """A worker looks at the clock every four roots, but messages every 64 rows only."""
    leaves = 1 << 13
    assert looks_for(star(leaves), f"REPEATABLE ELEMENTS {pattern(shape)} RETURN a.id, count(*)") < leaves / 16


def test_leaves_of_a_star_meet_the_same() -> None:
    leaves = 1 << 13
    assert looks_for(star(leaves), "(a)--(b)--(c) RETURN a.id, count(DISTINCT c), max(c.id)") < leaves / 16


def test_hubs_are_pushed_once() -> None:
    """A worker looks at the clock every four roots, and after each row of a hub that it pushes."""
    adjacency = hubs(6000, 1, seed=4)
    text = f"REPEATABLE ELEMENTS {ring(4)} RETURN a.k, count(*)"
    assert looks_for(undirected(adjacency), text) < 6000 / 4 + 20


def test_counts_of_a_large_star() -> None:
    n = 1 << 19
    graph = star(n)
    hub = graph.query("MATCH (a)--(b) RETURN a, count(*) AS n ORDER BY n DESC LIMIT 1").fetchall()[0][1]
    assert hub == n
    for half in (2, 3):
        text = ring(2 * half)
        total = graph.query(f"MATCH REPEATABLE ELEMENTS {text} RETURN count(*)").value()
        assert total == 2 * n**half  # each closed walk is at the hub every other step
        by = graph.query(
            f"MATCH REPEATABLE ELEMENTS {text} RETURN a.id, count(*) AS n ORDER BY n DESC LIMIT 2"
        ).fetchall()
        assert [count for _, count in by] == [n**half, n ** (half - 1)]
    assert graph.query(f"MATCH {ring(4)} RETURN count(*)").value() == 0


@st.composite
def hubs_and_leaves(draw: st.DrawFn) -> Graph:
    """Make two hubs of 34 leaves in all, a few relationships more, loops or parallel ones among them, and values."""
    leaves = range(2, 36)
    second = draw(st.integers(0, 34))
    edges = [(k, int(k - 2 < second and k % 2)) for k in leaves]
    turned = draw(st.integers(0, 34))
    edges = [(b, a) if k < turned else (a, b) for k, (a, b) in enumerate(edges)]
    vertex = st.integers(0, 8)
    edges += draw(st.lists(st.tuples(vertex, vertex), max_size=5))
    values = draw(st.lists(st.sampled_from([None, 1, 2, 3]), min_size=36, max_size=36))
    nodes = [{"id": k, "labels": ["AB"[k % 3 == 0]], "properties": {"k": k, "v": values[k]}} for k in range(36)]
    return Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in edges])


@settings(max_examples=examples(60))
@given(
    hubs_and_leaves(),
    st.sampled_from(["(a)-->(b)<--(c)", "(a)--(b)--(c)", "(a:A)--(b)--(c)", "(a)--(b)--(c:B)"]),
    st.sampled_from(MODES),
    st.sampled_from([
        "WITH DISTINCT a, c RETURN count(*)", "WITH DISTINCT a.v AS v, c RETURN v, count(*)",
        "WITH DISTINCT a, c RETURN c.v, count(*)", "WITH DISTINCT a, c WHERE a.v > 1 RETURN count(*)",
        "RETURN a.k, count(DISTINCT c), min(c.k), max(c.k)", "RETURN a.k, min(c.v), max(c.v), count(DISTINCT c.v)",
    ]),
)  # fmt: skip
def test_what_twins_meet_is_what_each_meets_by_itself(graph: Graph, text: str, mode: str, end: str) -> None:
    agree(graph, f"MATCH {mode}{text} {end}", asked=f"/*+ eliminate */ MATCH {mode}{text} {end}")
