"""Elimination around many roots at once against products of matrices: closed walks of dense graphs and of a hub."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from qengine import Graph

Counts = npt.NDArray[np.object_]


def dense(n: int, seed: int) -> tuple[Graph, Counts, Counts]:
    """Make a directed graph R and an undirected one U, each of half of all pairs, and their matrices; "A" is even."""
    rng = np.random.default_rng(seed)
    directed = rng.random((n, n)) < 0.5
    np.fill_diagonal(directed, False)
    upper = np.triu(rng.random((n, n)) < 0.5, 1)
    nodes = [{"id": k, "labels": ("A",) if k % 2 == 0 else ("B",)} for k in range(n)]
    pairs = [("R", *pair) for pair in np.argwhere(directed).tolist()]
    pairs += [("U", *pair) for pair in np.argwhere(upper).tolist()]
    graph = Graph.from_records(nodes, [{"type": kind, "start": a, "end": b} for kind, a, b in pairs], undirected=("U",))
    return graph, directed.astype(object), (upper | upper.T).astype(object)


def closed(*steps: Counts) -> int:
    """Count closed walks of these steps."""
    product = steps[0]
    for step in steps[1:]:
        product = product @ step
    return int(np.trace(product))


def counted(graph: Graph, pattern: str) -> object:
    return graph.query(f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS {pattern} RETURN count(*)", device="cpu").value()


@pytest.mark.parametrize("n", [49, 64])
def test_circles_of_a_dense_graph(n: int) -> None:
    graph, directed, both = dense(n, n)
    turned = directed.T
    even = np.diag([int(k % 2 == 0) for k in range(n)]).astype(object)
    tail = np.diag((both @ both).sum(axis=1))
    cases = {
        "(a)-[:U]-(b)-[:U]-(c)-[:U]-(d)-[:U]-(e)-[:U]-(a)": closed(*[both] * 5),
        "(a)-[:U]-(b)-[:U]-(c)-[:U]-(d)-[:U]-(e)-[:U]-(f)-[:U]-(a)": closed(*[both] * 6),
        "(a:A)-[:U]-(b)-[:U]-(c:A)-[:U]-(d)-[:U]-(e)-[:U]-(f)-[:U]-(a)": closed(even, both, both, even, *[both] * 4),
        "(a)-[:R]->(b)-[:R]->(c)-[:R]->(d)-[:R]->(e)-[:R]->(f)-[:R]->(a)": closed(*[directed] * 6),
        "(a)-[:R]->(b)<-[:R]-(c)-[:R]->(d)-[:U]-(e)<-[:R]-(f)-[:U]-(a)": closed(
            directed, turned, directed, both, turned, both
        ),
        "(a)-[:U]-(b)-[:U]-(c)-[:U]-(d)-[:U]-(e)-[:U]-(f)-[:U]-(a), (d)-[:U]-(x)-[:U]-(y)": closed(
            *[both] * 3, tail, *[both] * 3
        ),
    }
    for pattern, count in cases.items():
        assert counted(graph, pattern) == count, pattern


def test_numbers_beyond_32_bits() -> None:
    n = 1800
    spokes = [(0, k) for k in range(1, n)]
    rim = [(k, k % (n - 1) + 1) for k in range(1, n)]
    both = np.zeros((n, n), np.int64)
    for a, b in spokes + rim:
        both[a, b] = both[b, a] = 1
    graph = Graph.from_records(
        [{"id": k} for k in range(n)],
        [{"type": "U", "start": a, "end": b} for a, b in spokes + rim],
        undirected=("U",),
    )
    square = both.astype(np.float64) @ both  # small enough to be exact
    fourth = square @ square
    steps = "-[:U]-".join(f"(n{k % 8})" for k in range(9))
    assert counted(graph, steps) == sum(int(value) ** 2 for value in fourth.ravel().tolist())
