"""Counts by each node of small patterns, by whatever way the planner takes, are those of the reference."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from qengine import Graph
from qengine.errors import Unsupported
from qengine.plan.elimination import AtPairs, MaskedForest, Turned
from qengine.plan.physical import Eliminate, Search
from qengine.plan.traverse import operators
from qengine.testing.plans import lowered, planned
from tests.bench.atlas.patterns import Pattern, Semantics, connected
from tests.examples import examples

FIVES = connected(5)


def drawn(seed: int, *, simple: bool, entries: int = 16) -> Graph:
    """Draw a graph of seven nodes with two labels and two types, of which ``E`` is undirected, so often drawn."""
    rng = np.random.default_rng(seed)
    nodes = [{"id": k, "labels": ("L0", "L1")[k % 2 :], "properties": {"p": k % 3}} for k in range(7)]
    pairs = rng.integers(0, 7, (entries, 2)).tolist()
    if simple:
        pairs = sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]})
    edges = [{"type": "E", "start": a, "end": b} for a, b in pairs]
    edges += [{"type": "F", "start": a, "end": b} for a, b in rng.integers(0, 7, (9, 2)).tolist()]
    return Graph.from_records(nodes, edges, undirected=("E",))


def written(pattern: Pattern, semantics: Semantics, rng: np.random.Generator) -> str:
    """Write a pattern's MATCH: some relationships of ``F`` in a direction, some nodes with a label."""
    arrows = ("-[:E]-", "-[:E]-", "-[:E]-", "-[:F]->", "<-[:F]-", "-[:F]-")
    plain = rng.integers(2) == 0
    nodes = [f"(v{k}{':L1' if not plain and rng.integers(5) == 0 else ''})" for k in range(pattern.size)]
    edges = [f"(v{a}){arrows[0 if plain else rng.integers(6)]}(v{b})" for a, b in pattern.edges]
    return f"MATCH {'' if semantics is Semantics.RELATIONSHIPS else semantics} {', '.join(nodes + edges)}"


def rows(graph: Graph, text: str, **named: Any) -> list[Any]:
    return sorted(graph.query(text, **named).fetchall(), key=repr)


def steps(graph: Graph, text: str) -> set[type]:
    """Return the forms of the steps that a query is planned to."""
    plan = lowered(graph, text)
    return {type(step) for each in operators(plan.root) if isinstance(each, Eliminate) for step in each.steps}


@pytest.mark.parametrize("seed", range(examples(8)))
@pytest.mark.parametrize("simple", [False, True], ids=["loose", "simple"])
def test_all_ways_give_what_the_reference_does(seed: int, simple: bool) -> None:
    rng = np.random.default_rng(seed)
    graph = drawn(seed, simple=simple)
    for semantics in Semantics:
        pattern = FIVES[rng.integers(len(FIVES))]
        match = written(pattern, semantics, rng)
        node = f"v{rng.integers(5)}"
        text = f"{match} RETURN id({node}) AS v, count(*) AS n"
        expected = rows(graph, text, device="reference")
        assert rows(graph, text, device="cpu") == expected, text
        assert rows(graph, f"/*+ search */ {text}", device="cpu") == expected, text
        try:
            assert rows(graph, f"/*+ eliminate */ {text}", device="cpu") == expected, text
        except Unsupported:
            continue


WHEEL = "(h)--(a)--(b)--(c)--(d)--(a), (h)--(b), (h)--(c), (h)--(d)"
K4_AND_A_PAGE = "(a)--(b)--(c)--(d)--(a)--(c), (b)--(d), (a)--(e)--(b)"
K23 = "(x)--(a)--(y), (x)--(b)--(y), (x)--(c)--(y)"
HOUSE = "(a)--(b)--(c)--(d)--(a)--(t)--(b)"


def skewed() -> Graph:
    """Draw a simple graph of sixty nodes, some of which have many neighbours."""
    rng = np.random.default_rng(3)
    pairs = sorted({(min(p), max(p)) for p in rng.zipf(1.5, (900, 2)).tolist() if p[0] != p[1] and max(p) < 60})
    edges = np.array(pairs)
    return Graph.from_edge_list((edges[:, 0], edges[:, 1]), undirected=True)


@pytest.mark.parametrize(
    ("pattern", "node", "form"),
    [(WHEEL, "a", None), (K4_AND_A_PAGE, "e", AtPairs), (K23, "a", MaskedForest), (HOUSE, "t", Turned)],
)
@pytest.mark.parametrize("mode", list(Semantics))
def test_what_hangs_at_a_pair_becomes_a_matrix(pattern: str, node: str, form: type | None, mode: Semantics) -> None:
    graph = skewed()
    named = "" if mode is Semantics.RELATIONSHIPS else mode
    text = f"MATCH {named} {pattern} RETURN id({node}) AS v, count(*) AS n"
    assert form is None or form in steps(graph, f"/*+ eliminate */ {text}")
    found = rows(graph, f"/*+ eliminate */ {text}", device="cpu")
    assert found == rows(graph, f"/*+ search */ {text}", device="cpu")
    assert sum(n for _, n in found) == graph.query(f"MATCH {named} {pattern} RETURN count(*)", device="cpu").value()


K4 = "(a)--(b)--(c)--(d)--(a)--(c), (b)--(d)"
K5 = f"{K4}, (e)--(a), (e)--(b), (e)--(c), (e)--(d)"


@pytest.mark.parametrize(
    ("row", "pattern", "node"),
    [
        ("cliques_by_vertex", K5, "a"),
        ("cliques_by_vertex", f"{K4}, (d)--(e)", "a"),
        ("cliques_by_vertex", f"{K4}, (d)--(e)", "d"),
        ("cliques_by_vertex", f"{K4}, (d)--(e)", "e"),
        ("local_sums", f"{K4}, (e)--(a), (e)--(b), (e)--(c)", "e"),
        ("triangle_corners", "(a)--(b)--(c)--(a)--(d)--(b), (a)--(e)", "c"),
    ],
)
@pytest.mark.parametrize("mode", list(Semantics))
def test_rows_give_what_a_search_does(row: str, pattern: str, node: str, mode: Semantics) -> None:
    graph = skewed()
    named = "" if mode is Semantics.RELATIONSHIPS else mode
    text = f"MATCH {named} {pattern} RETURN id({node}) AS v, count(*) AS n"
    found = rows(graph, f"/*+ kernel({row}) */ {text}", device="cpu")
    assert row in str(graph.query(f"EXPLAIN /*+ kernel({row}) */ {text}").fetchall())
    assert found == rows(graph, f"/*+ search */ {text}", device="cpu")


@pytest.mark.parametrize("size", [4, 5])
@pytest.mark.parametrize("labels", ["", ":L1"])
def test_few_cliques_by_a_node_are_searched_by_orbits(size: int, labels: str) -> None:
    graph = drawn(4, simple=True, entries=48)
    edges = ", ".join(f"(v{a})-[:E]-(v{b})" for a, b in product(range(size), repeat=2) if a < b)
    text = f"MATCH (v1{labels}), {edges} RETURN id(v0) AS v, count(*) AS n"
    (search,) = planned(graph, text, Search)
    assert search.orbits in ((2, 6) if labels else (6, 24))
    assert rows(graph, text, device="cpu") == rows(graph, text, device="reference")
