"""What sets of vertices reach, and lengths of shortest paths, on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph, QueryTimeout
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.reach import reach_chunks, reach_counts
from qengine.exec.host import reach_kernel as host
from qengine.exec.host.reach_kernel import LANES, Lanes, ReachKernels, ReachRules
from qengine.exec.host.walk_kernel import EndFilter, WalkSpace
from qengine.plan.pattern import Direction, PathMode
from qengine.testing.generate.graphs import rmat
from tests.property.test_reach import check_large_graph, check_sets, check_starts

pytestmark = pytest.mark.gpu
KERNELS = ReachKernels(reach_chunks, reach_counts)

QUERIES = (
    "MATCH (a)-[:E*]->(b) WHERE id(a) < 70 RETURN count(DISTINCT b)",
    "MATCH (a)-[:E*1..3]-(b) WHERE id(a) < 70 WITH a, count(DISTINCT b) AS n RETURN sum(n), max(n), count(*)",
    "MATCH (a)-[:E*0..2]->(b) WHERE id(a) < 70 AND id(b) > 50 WITH DISTINCT a, b RETURN count(*), sum(id(b))",
    "MATCH p = shortestPath((a)-[:E*]->(b)) WHERE id(a) < 70 RETURN sum(length(p)), count(*)",
    "MATCH p = shortestPath((a)-[:E*]-(b)) WHERE id(a) < 5 RETURN sum(length(p)), count(*)",
    "MATCH (a) WHERE EXISTS { (a)-[:E*]->(b) WHERE id(b) = 77 } RETURN count(*)",
)


@pytest.mark.parametrize("repeats", list(PathMode))
@settings(max_examples=60)
@given(data=st.data())
def test_ends_and_hops_of_each_start(repeats: PathMode, data: Any) -> None:
    check_starts(repeats, data, KERNELS)


@pytest.mark.parametrize("repeats", list(PathMode))
@settings(max_examples=60)
@given(data=st.data())
def test_ends_of_sets(repeats: PathMode, data: Any) -> None:
    check_sets(repeats, data, KERNELS)


@pytest.mark.parametrize("masked", [False, True])
def test_a_large_graph(masked: bool) -> None:
    check_large_graph(ExecutionContext(), masked, KERNELS, 13)


@pytest.fixture(scope="module")
def graph() -> Graph:
    draws = rmat(16, 16, seed=42)
    return Graph.from_edge_list((draws.source, draws.target), type="E")


@pytest.mark.parametrize("text", QUERIES)
def test_queries(graph: Graph, text: str) -> None:
    assert graph.query(text, device="gpu").fetchall() == graph.query(text, device="cpu").fetchall()


@pytest.mark.parametrize("direction", [Direction.OUT, Direction.IN, Direction.BOTH])
def test_counts_and_hops_of_64_starts(graph: Graph, direction: Direction) -> None:
    store = graph._store
    starts = np.random.default_rng(1).choice(store.vertex_count, LANES, replace=False)
    given = (WalkSpace(store, (0,), direction), EndFilter(0, store.vertex_count), Lanes(np.arange(LANES + 1), starts))
    rules = ReachRules(1, None, PathMode.WALK)
    counts = host.reach_counts(*given, ExecutionContext(), rules)
    assert reach_counts(*given, ExecutionContext(), rules).tolist() == counts.tolist()
    expected, found = (
        np.sort(np.concatenate([(each.lane << 40) + (each.end << 8) + each.hops for each in chunks]))
        for chunks in (
            module(*given, ExecutionContext(), rules, hops=True) for module in (host.reach_chunks, reach_chunks)
        )
    )
    assert np.array_equal(found, expected)


def test_a_long_path_and_its_timeout() -> None:
    """A level a node: each is a few microseconds, and the limits are looked at between them."""
    n = 200_000
    graph = Graph.from_edge_list((np.arange(n), np.arange(1, n + 1)), type="E")
    text = "MATCH (a)-[:E*]->(b) WHERE id(a) = 0 RETURN count(DISTINCT b)"
    with pytest.raises(QueryTimeout):
        graph.query(text, device="gpu", timeout=0.2).fetchall()
    short = Graph.from_edge_list((np.arange(2_000), np.arange(1, 2_001)), type="E")
    assert short.query(text, device="gpu").fetchone() == short.query(text, device="cpu").fetchone()
