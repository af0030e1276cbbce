"""Limits on the GPU: time, interrupts, memory that runs out at any point, and graphs that make room for others."""

from __future__ import annotations

import gc
import threading
import time

import numpy as np
import pytest

from qengine import Graph, OutOfMemory, QueryInterrupted, QueryTimeout
from qengine.exec.gpu.memory import DeviceMemory, device_memory
from qengine.testing.generate import rmat, to_csr
from tests.interrupts import interrupting

pytestmark = pytest.mark.gpu

CLIQUE = "MATCH " + ", ".join(f"(v{i})-[:E]-(v{j})" for i in range(10) for j in range(i)) + " RETURN count(*)"
ROWS = "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(d) RETURN a, b, c, d"
TRIANGLES = "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a) RETURN count(*)"
PAIRS = "MATCH (a)-[:E]-(b) RETURN id(a) AS a, id(b) AS b ORDER BY a, b"
GROUPED = "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a) RETURN a, count(*) AS n ORDER BY n DESC LIMIT 3"
SUMMED = "/*+ eliminate */ MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a), (c)-[:E]-(d) WHERE id(d) > 3 RETURN count(*)"
AROUND = "/*+ eliminate */ MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(d)-[:E]-(a), (a)-[:E]-(e) RETURN count(*)"


WORKING_BYTES = 12_000_000
"""What a search takes beside the graph, and less than a graph more."""


def loaded(scale: int) -> Graph:
    start, end = to_csr(rmat(scale, 16, 42)).edges()
    return Graph.from_edge_list((start.astype(np.int64), end.astype(np.int64)), undirected=True)


@pytest.fixture(scope="module")
def graph() -> Graph:
    found = loaded(13)
    found.query(TRIANGLES, device="gpu").value()  # compiles, and copies the graph
    return found


@pytest.fixture
def memory() -> DeviceMemory:
    return device_memory()


@pytest.mark.parametrize("query", [CLIQUE, ROWS])
def test_a_timeout_fires_inside_the_kernel(graph: Graph, query: str) -> None:
    begin = time.monotonic()
    with pytest.raises(QueryTimeout, match="longer than its timeout"):
        graph.query(query, device="gpu", timeout=0.3).fetchall()
    assert time.monotonic() - begin < 5
    assert graph.query(TRIANGLES, device="gpu").value() == graph.query(TRIANGLES, device="cpu").value()


def test_interrupt_from_another_thread(graph: Graph) -> None:
    with interrupting(graph), pytest.raises(QueryInterrupted):
        graph.query(CLIQUE, device="gpu").fetchall()


def test_a_limit_stops_early(graph: Graph) -> None:
    assert len(graph.query(ROWS + " LIMIT 10", device="gpu", timeout=20).fetchall()) == 10


@pytest.mark.parametrize("query", [TRIANGLES, GROUPED, PAIRS, SUMMED, AROUND])
def test_every_allocation_may_fail(memory: DeviceMemory, query: str) -> None:
    """Whichever allocation is the first that fails: a clear error, and the next run is as if nothing had happened."""
    small = loaded(8)
    expected = small.query(query, device="cpu").fetchall()
    for number in range(100):
        memory.fail_from = first = memory.allocations + number
        try:
            assert small.query(query, device="gpu").fetchall() == expected
        except OutOfMemory as error:
            assert "bytes" in error.message
        finally:
            memory.fail_from = None
        if memory.allocations <= first:
            break
    assert 0 < number < 99
    assert small.query(query, device="gpu").fetchall() == expected


def test_a_memory_limit_is_an_error_with_sizes(graph: Graph) -> None:
    with pytest.raises(OutOfMemory, match=r"gpu_memory_limit, 1,000 bytes"):
        graph.query(TRIANGLES, device="gpu", gpu_memory_limit=1000).value()


def test_an_unused_graph_makes_room(memory: DeviceMemory) -> None:
    one, other = loaded(16), loaded(16)
    expected = one.query(TRIANGLES, device="cpu").value()
    assert one.query(TRIANGLES, device="gpu").value() == expected
    limit = memory.pool.used_bytes() + WORKING_BYTES
    for found in (other, one, other):
        assert found.query(TRIANGLES, device="gpu", gpu_memory_limit=limit).value() == expected
        assert memory.pool.used_bytes() <= limit


def test_a_graph_that_is_gone_leaves_the_device(memory: DeviceMemory) -> None:
    gc.collect()
    kept = memory.resident_bytes()
    found = loaded(10)
    found.query(TRIANGLES, device="gpu").value()
    assert memory.resident_bytes() > kept
    del found
    gc.collect()
    assert memory.resident_bytes() == kept


def test_queries_of_several_threads(graph: Graph) -> None:
    expected = graph.query(GROUPED, device="cpu").fetchall()
    found: list[object] = []

    def work() -> None:
        found.extend(graph.query(GROUPED, device="gpu").fetchall() == expected for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [True] * 20
