"""Limits on the GPU: time, interrupts, memory that runs out at any point, and graphs that make room for others."""

from __future__ import annotations

import gc
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph, OutOfMemory, QueryInterrupted, QueryTimeout
from qengine.exec.gpu.memory import DeviceMemory, QueryMemory, bound_of, device_memory
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


GENEROUS = 1.5
"""Seconds; ``python -m tests.bench.gpu_stops`` prints how late queries end, some 20 ms."""

WORKING_BYTES = 12_000_000
"""What a search takes beside the graph, and less than a graph more."""

MIXED = (
    "MATCH (a:L0)-[:E]-(b)-[:E]-(c)-[:E]-(a) RETURN count(*)",
    "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(d:L1)-[:E]-(a) RETURN count(*)",
    "MATCH (a:L0)-[:E]-(b:L1)-[:E]-(c:L2)-[:E]-(d:L3)-[:E]-(e:L0) WHERE id(a) < 99 RETURN count(*)",
    "MATCH (a:L1)-[:E]-(b)-[:E]-(c)-[:E]-(a) RETURN id(a) AS a, count(*) AS n ORDER BY n DESC, a LIMIT 5",
    "MATCH (a)-[:E]-(b), (a)-[:E]-(c), (b)-[:E]-(c), (b)-[:E]-(d), (c)-[:E]-(d) RETURN count(*)",
    "/*+ eliminate */ MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(d)-[:E]-(a), (a)-[:E]-(e) RETURN count(*)",
)
SIX = "(a)--(b)--(c)--(d)--(a), (b)--(d)"
LONG = {
    "dfs, counting": f"MATCH DIFFERENT NODES {SIX}, (a)--(e), (e)--(f)--(d) RETURN count(*)",
    "count_cliques": "MATCH " + ", ".join(f"(v{i})--(v{j})" for i in range(8) for j in range(i)) + " RETURN count(*)",
    "count_houses": "MATCH (a)--(b)--(c)--(d)--(a), (a)--(e)--(b) RETURN count(*)",
    "dfs": CLIQUE,
    "extend": "MATCH (a)--(b)--(c)--(d) RETURN sum(id(a) + id(d))",
    "rooted_forest": "/*+ eliminate */ MATCH REPEATABLE ELEMENTS (a)--(b)--(c)--(d)--(e)--(f)--(a) "
    "RETURN count(*)",
}  # fmt: skip
"""Queries that run for seconds, by the kernel that takes them."""


def loaded(scale: int) -> Graph:
    start, end = to_csr(rmat(scale, 16, 42)).edges()
    return Graph.from_edge_list((start.astype(np.int64), end.astype(np.int64)), undirected=True)


def labelled(scale: int) -> Graph:
    """Return a graph with four labels."""
    start, end = (each.astype(np.int64) for each in to_csr(rmat(scale, 16, 42)).edges())
    nodes = [(f"L{k}", pa.table({"id": np.arange(k, 1 << scale, 4)})) for k in range(4)]
    return Graph.from_arrow(nodes, [("E", pa.table({"src": start, "dst": end}))], undirected=["E"])


@pytest.fixture(scope="module")
def large() -> Graph:
    return loaded(18)


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


@pytest.mark.parametrize("kernel", LONG)
@pytest.mark.parametrize("given", [0.05, 0.5])
def test_long_kernels_end_soon_after_their_timeout(large: Graph, kernel: str, given: float) -> None:
    begin = time.monotonic()
    try:
        large.query(LONG[kernel], device="gpu", timeout=given).fetchall()
    except QueryTimeout:
        assert time.monotonic() - begin - given < GENEROUS
    assert large.query(TRIANGLES, device="gpu").value() == large.query(TRIANGLES, device="cpu").value()


@pytest.mark.parametrize("kernel", LONG)
def test_long_kernels_can_be_interrupted(large: Graph, kernel: str) -> None:
    begin = time.monotonic()
    with interrupting(large, 0.3):
        try:
            large.query(LONG[kernel], device="gpu", timeout=60).fetchall()
        except QueryInterrupted:
            assert time.monotonic() - begin < 0.6 + GENEROUS


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


def test_an_unused_graph_makes_room_on_a_full_device(memory: DeviceMemory) -> None:
    one, other = loaded(16), loaded(16)
    expected = one.query(TRIANGLES, device="cpu").value()
    assert one.query(TRIANGLES, device="gpu").value() == expected
    memory.pool.free_all_blocks()
    limit = memory.pool.get_limit()
    memory.pool.set_limit(size=memory.pool.used_bytes() + WORKING_BYTES)
    try:
        for found in (other, one, other):
            assert found.query(TRIANGLES, device="gpu").value() == expected
    finally:
        memory.pool.set_limit(size=limit)


def test_a_limit_counts_what_the_query_uses_alone(memory: DeviceMemory) -> None:
    small, large = loaded(10), loaded(16)
    expected = small.query(TRIANGLES, device="cpu").value()
    assert large.query(TRIANGLES, device="gpu").value()
    held = sum(held_of(memory, large))
    neighbours = 2 * 4 * large.relationship_count  # bytes that any search of it reads
    assert held > neighbours
    assert small.query(TRIANGLES, device="gpu", gpu_memory_limit=held - 1).value() == expected
    expected = large.query(TRIANGLES, device="cpu").value()
    assert large.query(TRIANGLES, device="gpu", gpu_memory_limit=neighbours // 2).value() == expected
    assert sum(held_of(memory, large)) >= held  # nobody's graph left the device for that


@pytest.mark.parametrize("share", [0.5, 0.25])
@pytest.mark.parametrize(
    "query",
    [
        *(TRIANGLES, GROUPED, SUMMED, AROUND),
        "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(d) RETURN count(*)",
        "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(d)-[:E]-(a) RETURN count(*)",
        "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a), (a)-[:E]-(d), (b)-[:E]-(d), (c)-[:E]-(d) RETURN count(*)",
        "MATCH (a)-[:E]-(b)-[:E]-(c) WHERE id(a) % 20000 = 7 RETURN sum(id(b) * id(c))",
    ],
)
def test_queries_are_right_within_a_share_of_the_graph(
    large: Graph, share: float, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph's lists lie in the host's memory in part, or are copied segment by segment."""
    used: list[int] = []
    charged = QueryMemory._charged

    def noted(account: QueryMemory, more: int) -> int:
        used.append(charged(account, more))
        return used[-1]

    large.release_device()
    expected = large.query(query, device="gpu").fetchall()
    monkeypatch.setattr(QueryMemory, "_charged", noted)
    limit = int(share * 2 * 4 * large.relationship_count)
    for _ in range(2):
        assert large.query(query, device="gpu", gpu_memory_limit=limit).fetchall() == expected
    assert used or query == AROUND  # whose kernels read at random: the host runs it
    assert max(used, default=0) <= limit


def test_pages_that_a_run_has_used_stay_until_its_kernels_end(large: Graph, memory: DeviceMemory) -> None:
    """Whichever allocation fails, no kernel reads what isn't mapped any more."""
    expected = large.query(TRIANGLES, device="gpu").value()
    limit = large.relationship_count
    for number in range(12):
        large.release_device()
        memory.fail_from = memory.allocations + number
        try:
            assert large.query(TRIANGLES, device="gpu", gpu_memory_limit=limit).value() == expected
        except OutOfMemory as error:
            assert "bytes" in error.message
        finally:
            memory.fail_from = None
    assert large.query(TRIANGLES, device="gpu", gpu_memory_limit=limit).value() == expected


@pytest.mark.parametrize("limit", [200_000_000, 2_000_000_000])
def test_threads_with_limits_get_their_answers(limit: int, memory: DeviceMemory) -> None:
    """What other queries hold is not charged to a query, and little stays when all have ended."""
    graph = labelled(14)
    expected = [graph.query(text, device="cpu").fetchall() for text in MIXED]
    errors: list[object] = []

    def work(number: int) -> None:
        for turn in range(2 * len(MIXED)):
            k = (number + turn) % len(MIXED)
            given = limit if number % 3 else None
            try:
                if graph.query(MIXED[k], device="gpu", gpu_memory_limit=given).fetchall() != expected[k]:
                    errors.append(f"wrong rows of {MIXED[k]}")
            except OutOfMemory as error:
                errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert errors == []
    memory.trim()
    assert sum(held_of(memory, graph)) <= bound_of(graph.nbytes)
    graph.release_device()
    assert held_of(memory, graph) == []
    assert graph.query(MIXED[0], device="gpu").fetchall() == expected[0]


def test_what_is_free_goes_back_when_the_device_is_idle(graph: Graph, memory: DeviceMemory) -> None:
    """CuPy gives whole chunks back: what is free beside a resident in the same chunk stays."""
    graph.query(AROUND, device="gpu").value()  # what becomes resident does so here
    memory.trim()
    kept = memory.pool.total_bytes()
    chunk = memory.pool.free_bytes() + (1 << 26)  # more than fits beside a resident
    memory.pool.malloc(chunk)  # free again at once
    assert memory.pool.total_bytes() >= kept + chunk
    graph.query(AROUND, device="gpu").value()
    for _ in range(200):
        if memory.pool.total_bytes() < kept + chunk:
            break
        time.sleep(0.05)
    assert memory.pool.total_bytes() < kept + chunk


def held_of(memory: DeviceMemory, graph: Graph) -> list[int]:
    return [each.n_bytes for each in memory._residents.values() if each.key[0] == id(graph._store)]


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
