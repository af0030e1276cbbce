"""All connected patterns of up to 6 nodes on one graph: eliminated, as they are planned, and searched give the same."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from qengine import Graph
from qengine.errors import Unsupported
from qengine.testing.generate import rmat, to_csr

MODES = ("", "REPEATABLE ELEMENTS ", "DIFFERENT NODES ")

Edges = tuple[tuple[int, int], ...]


def connected_patterns(n: int) -> list[Edges]:
    """Return one of each connected graph of n nodes."""
    pairs = list(combinations(range(n), 2))
    images = [[pairs.index(tuple(sorted((p[a], p[b])))) for a, b in pairs] for p in permutations(range(n))]
    seen: set[int] = set()
    found = []
    for code in range(1 << len(pairs)):
        if code in seen:
            continue
        chosen = [place for place in range(len(pairs)) if code >> place & 1]
        seen |= {sum(1 << image[place] for place in chosen) for image in images}
        if _is_connected(n, edges := tuple(pairs[place] for place in chosen)):
            found.append(edges)
    return found


def _is_connected(n: int, edges: Edges) -> bool:
    reached = {0}
    for _ in range(n):
        reached |= {end for pair in edges if reached.intersection(pair) for end in pair}
    return len(reached) == n


@pytest.fixture(scope="module")
def graph() -> Graph:
    source, target = (each.astype(np.int64) for each in to_csr(rmat(6, 8, 42)).edges())
    return Graph.from_edge_list((source[source < target], target[source < target]), undirected=True)


@pytest.mark.parametrize(("n", "known"), [(3, 2), (4, 6), (5, 21), (6, 112)])
def test_all_ways_count_the_same(graph: Graph, n: int, known: int) -> None:
    patterns = connected_patterns(n)
    assert len(patterns) == known
    eliminated = 0
    for edges in patterns:
        text = ", ".join(f"({'abcdef'[a]})-[:E]-({'abcdef'[b]})" for a, b in edges)
        for mode in MODES if n < 6 else MODES[-1:]:
            query = f"MATCH {mode}{text} RETURN count(*)"
            expected = graph.query(f"/*+ search */ {query}", device="cpu").value()
            assert graph.query(query, device="cpu").value() == expected, query
            try:
                found = graph.query(f"/*+ eliminate */ {query}", device="cpu").value()
            except Unsupported:
                continue
            eliminated += 1
            assert found == expected, query
    assert eliminated >= {3: 6, 4: 18, 5: 63, 6: 103}[n]


@pytest.mark.parametrize("n", [4, 5])
def test_counts_by_each_node_are_the_same(graph: Graph, n: int) -> None:
    for edges in connected_patterns(n):
        text = ", ".join(f"({'abcdef'[a]})-[:E]-({'abcdef'[b]})" for a, b in edges)
        for name in "abcde"[:n]:
            query = f"MATCH DIFFERENT NODES {text} RETURN id({name}) AS k, count(*) ORDER BY k"
            expected = graph.query(f"/*+ search */ {query}", device="cpu").fetchall()
            try:
                found = graph.query(f"/*+ eliminate */ {query}", device="cpu").fetchall()
            except Unsupported:
                continue
            assert found == expected, query


def test_counts_around_hubs_are_the_same() -> None:
    source, target = (each.astype(np.int64) for each in to_csr(rmat(10, 12, 42)).edges())
    skewed = Graph.from_edge_list((source[source < target], target[source < target]), undirected=True)
    dense = [edges for edges in connected_patterns(5) if len(edges) > 5]
    for edges in dense:
        text = ", ".join(f"({'abcde'[a]})-[:E]-({'abcde'[b]})" for a, b in edges)
        query = f"MATCH REPEATABLE ELEMENTS {text} RETURN count(*)"
        found = skewed.query(f"/*+ eliminate */ {query}", device="cpu").value()
        assert found == skewed.query(f"/*+ search */ {query}", device="cpu").value(), query
