"""Cliques and closed walks along several matrices are counted as the reference and slow sums count them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations, product

import numpy as np
import pytest

from qengine import Graph, _native
from qengine.testing.plans import kernels_of
from tests.examples import examples

SEMANTICS = ("", "DIFFERENT NODES ", "REPEATABLE ELEMENTS ")
ARROWS = ("-[:R]->", "<-[:R]-", "-[:S]->", "<-[:S]-", "-[:U]-", "both")


def drawn(rng: np.random.Generator, n: int, density: float, *, loose: bool = False) -> Graph:
    """Draw a graph of two directed types and an undirected one; ``loose``: with loops and parallel relationships."""
    labels = ((), ("A",), ("B",), ("A", "B"))
    nodes = [{"id": k, "labels": labels[rng.integers(4)], "properties": {"i": int(rng.integers(3))}} for k in range(n)]
    relationships = []
    for kind, directed in (("R", True), ("S", True), ("U", False)):
        linked = rng.random((n, n)) < density
        pairs = [(a, b) for a, b in np.argwhere(linked).tolist() if a != b and (directed or a < b)]
        if loose:
            pairs += [(int(k), int(k)) for k in rng.integers(0, n, 2)] + pairs[:3]
        relationships += [{"type": kind, "start": a, "end": b, "properties": {}} for a, b in pairs]
    return Graph.from_records(nodes, relationships, undirected=("U",))


def path(one: str, arrow: str, other: str) -> str:
    return f"({one})-[:R]->({other}), ({other})-[:R]->({one})" if arrow == "both" else f"({one}){arrow}({other})"


def drawn_clique(rng: np.random.Generator, size: int, arrows: tuple[str, ...], tails: int) -> str:
    nodes = [f"(n{k}{rng.choice(('', '', ':A', ' WHERE n' + str(k) + '.i > 0'))})" for k in range(size)]
    pairs = [path(f"n{a}", str(rng.choice(arrows)), f"n{b}") for a, b in combinations(range(size), 2)]
    ends = [f"(n{rng.integers(size)})-[:R]->(t{k})" for k in range(tails)]
    return ", ".join(nodes + pairs + ends)


def count(graph: Graph, hint: str, text: str, row: str) -> int | None:
    """Return a count that is found by a row of the kernel table, None where it isn't."""
    if row not in kernels_of(graph, f"/*+ {hint} */ {text}", "cpu"):
        return None
    return int(graph.query(f"/*+ {hint} */ {text}", device="cpu").fetchall()[0][0])


def of_each_isa(find: Callable[[], int | None]) -> set[int | None]:
    """Return what is found with each set of instructions that the processor has."""
    library = _native.load()
    try:
        return {find() for isa in range(3) if library.qe_force_isa(isa) == isa}
    finally:
        library.qe_force_isa(-1)


@pytest.mark.parametrize("seed", range(examples(12)))
def test_cliques_are_those_of_the_reference(seed: int) -> None:
    """Of all directions, both ways, types, labels and conditions, with tails that weigh corners."""
    rng = np.random.default_rng(seed)
    graph = drawn(rng, 7, 0.5, loose=seed % 3 == 2)
    taken = 0
    for size in (3, 4, 4):
        pattern = drawn_clique(rng, size, ARROWS, int(rng.integers(2)) if size < 4 else 0)
        text = f"MATCH {SEMANTICS[seed % 3]}{pattern} RETURN count(*)"
        found = count(graph, "eliminate, kernel(cliques)", text, "cliques")
        if found is not None:
            taken += 1
            assert found == graph.query(text, device="reference").fetchall()[0][0], text
    assert taken or seed % 3 == 2


@pytest.mark.parametrize(("size", "density"), [(3, 0.6), (4, 0.4), (5, 0.3), (6, 0.25)])
@pytest.mark.parametrize("arrows", [("-[:U]-",), ("-[:R]->", "<-[:R]-"), ARROWS], ids=["one", "directed", "mixed"])
def test_cliques_of_many_neighbours(size: int, density: float, arrows: tuple[str, ...]) -> None:
    """Some roots have more neighbours than a word has bits."""
    rng = np.random.default_rng(size)
    graph = drawn(rng, 80, density)
    text = f"MATCH DIFFERENT NODES {drawn_clique(rng, size, arrows, 0)} RETURN count(*)"
    found = of_each_isa(lambda: count(graph, "eliminate, kernel(cliques)", text, "cliques"))
    assert found == {graph.query(f"/*+ search */ {text}", device="cpu").fetchall()[0][0]}


@pytest.mark.parametrize("size", [3, 4, 5])
def test_cliques_behind_the_first_vertices(size: int) -> None:
    """Groups of eight vertices, most of which are behind those that have rows of bits among all of the first."""
    rng = np.random.default_rng(size)
    first = np.repeat(np.arange(0, 6_000, 8), 40)
    start, end = (first + rng.integers(0, 8, len(first)) for _ in range(2))
    start, end = np.unique(np.stack([start, end])[:, start != end], axis=1)
    graph = Graph.from_edge_list((start, end), type="R")
    clique = drawn_clique(rng, size, ("-[:R]->", "<-[:R]-"), 0).replace(":A", "").split(", ")
    text = f"MATCH DIFFERENT NODES {', '.join(each for each in clique if '[' in each)} RETURN count(*)"
    found = of_each_isa(lambda: count(graph, "eliminate, kernel(cliques)", text, "cliques"))
    assert found == {graph.query(f"/*+ search */ {text}", device="cpu").fetchall()[0][0]}
    assert found != {0}


def square(one: str, two: str, three: str, four: str) -> str:
    return ", ".join(path(a, arrow, b) for a, arrow, b in zip("abcd", (one, two, three, four), "bcda", strict=True))


@pytest.mark.parametrize("arrow", ARROWS)
def test_closed_walks_are_those_of_the_reference(arrow: str) -> None:
    """Along all ways to choose matrices, which may be one another from the other end; walks meet vertices twice."""
    rng = np.random.default_rng(3)
    graphs = [drawn(rng, 6, 0.4), drawn(rng, 6, 0.4, loose=True)]
    taken = 0
    for three in list(product(ARROWS, repeat=3))[:: 216 // examples(24)]:
        for graph in graphs:
            text = f"MATCH REPEATABLE ELEMENTS {square(arrow, *three)} RETURN count(*)"
            found = count(graph, "eliminate, kernel(mixed_walks)", text, "mixed_walks")
            if found is not None:
                taken += 1
                assert found == graph.query(text, device="reference").fetchall()[0][0], text
    assert taken > 5


@pytest.mark.parametrize("arrows", list(permutations(("-[:R]->", "<-[:R]-", "-[:S]->", "both")))[::6])
def test_closed_walks_of_many_roots(arrows: tuple[str, str, str, str]) -> None:
    """More roots than are done at once, the rest one by one."""
    rng = np.random.default_rng(1)
    n = 700
    hubs = np.stack([rng.integers(0, n, 40_000), rng.integers(0, n, 40_000) // 3], axis=1)
    pairs = {(int(a), int(b)) for a, b in np.concatenate([hubs, hubs[:20_000, ::-1]]) if a != b}
    ends = sorted(pairs)
    nodes = [{"id": k, "labels": (), "properties": {}} for k in range(n)]
    relationships = [
        {"type": "RS"[k % 3 == 0], "start": a, "end": b, "properties": {}} for k, (a, b) in enumerate(ends)
    ]
    graph = Graph.from_records(nodes, relationships)
    text = f"MATCH REPEATABLE ELEMENTS {square(*arrows)} RETURN count(*)"
    found = of_each_isa(lambda: count(graph, "eliminate, kernel(mixed_walks)", text, "mixed_walks"))
    dense = {"R": np.zeros((n, n)), "S": np.zeros((n, n))}
    for k, pair in enumerate(ends):
        dense["RS"[k % 3 == 0]][pair] = 1
    matrices = {
        "-[:R]->": dense["R"],
        "<-[:R]-": dense["R"].T,
        "-[:S]->": dense["S"],
        "both": dense["R"] * dense["R"].T,
    }
    a, b, c, d = (matrices[each] for each in arrows)
    assert found == {int(((a @ b) * (c @ d).T).sum())}


@pytest.mark.parametrize("pattern", ["(a)-[:R|S]->(b)-[:R|S]->(c)-[:R|S]->(a)", square(*("-[:R|S]->",) * 4)])
def test_pairs_that_turn_out_to_be_joined_twice_are_left_to_other_kernels(pattern: str) -> None:
    graph = drawn(np.random.default_rng(4), 7, 0.5)
    text = f"MATCH REPEATABLE ELEMENTS {pattern} RETURN count(*)"
    expected = graph.query(text, device="reference").fetchall()[0][0]
    row = "mixed_walks" if "(d)" in pattern else "cliques"
    assert count(graph, f"eliminate, kernel({row})", text, row) == expected
