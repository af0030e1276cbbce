"""Counts of patterns that are sums of closed walks, against powers of a dense matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from qengine import Graph
from qengine.plan.elimination import ForestNode, RootedForest
from qengine.plan.kernels.shapes import ClosedWalks, closed_walks
from qengine.testing.generate import rmat, to_csr

RING = "MATCH /*+ eliminate */ REPEATABLE ELEMENTS (a)--(b)--(c)--(d)--"


@pytest.fixture(scope="module")
def ends() -> npt.NDArray[Any]:
    return np.stack([np.asarray(each) for each in to_csr(rmat(9, 8, seed=5)).edges()])


@pytest.fixture(scope="module")
def graph(ends: npt.NDArray[Any]) -> Graph:
    return Graph.from_edge_list((ends[0], ends[1]), undirected=True)


@pytest.fixture(scope="module")
def adjacency(ends: npt.NDArray[Any]) -> npt.NDArray[Any]:
    one, other = ends
    linked = np.zeros((ends.max() + 1,) * 2)  # what powers of it come to is exact in 53 bits
    linked[one, other] = linked[other, one] = 1
    return linked


@pytest.mark.parametrize("threads", [1, 2])
def test_rings(graph: Graph, adjacency: npt.NDArray[Any], threads: int) -> None:
    for length, rest in ((4, "(a)"), (5, "(e)--(a)"), (6, "(e)--(f)--(a)")):
        found = graph.query(f"{RING}{rest} RETURN count(*)", threads=threads).value()
        assert found == np.trace(np.linalg.matrix_power(adjacency, length)), length


@pytest.mark.parametrize("leaves", [1, 2, 5])  # of five leaves the weights have more than 32 bits
def test_leaves_of_a_ring(graph: Graph, adjacency: npt.NDArray[Any], leaves: int) -> None:
    tails = "".join(f", (a)--(l{k})" for k in range(leaves))
    walks = np.diag(np.linalg.matrix_power(adjacency, 4)).astype(np.int64).tolist()
    degrees = adjacency.sum(axis=0).astype(np.int64).tolist()
    expected = sum(walk * degree**leaves for walk, degree in zip(walks, degrees, strict=True))
    assert graph.query(f"{RING}(a){tails} RETURN count(*)").value() == expected
    assert leaves < 5 or max(degrees) ** leaves > 2**32


def test_walks_by_the_opposite_corner_are_a_sum_by_their_own() -> None:
    start = ForestNode(0, None, (), 0)
    by_root = RootedForest((start, ForestNode(None, None, (0, 0), None)), (1,), 3)
    by_corner = RootedForest((start, ForestNode(None, 3, (0, 0), None)), (1,), None)
    assert closed_walks(by_root) == closed_walks(by_corner) == ClosedWalks(0, 4, 3)
    both = RootedForest(by_corner.nodes, (1,), 3)
    assert closed_walks(both) is None


def test_longer_walks_have_no_weights() -> None:
    arms = (ForestNode(0, None, (), 0), ForestNode(None, None, (0,), 0), ForestNode(None, None, (1, 1), None))
    assert closed_walks(RootedForest(arms, (2,), None)) == ClosedWalks(0, 6, None)
    assert closed_walks(RootedForest(arms, (2,), 3)) is None
