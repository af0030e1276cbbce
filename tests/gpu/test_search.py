"""The GPU's search against naive backtracking: the plans of the host search's test, and larger graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qengine import Graph, Unsupported
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import search as search_module
from qengine.exec.gpu.launch import device_run
from qengine.exec.gpu.search import run_search
from qengine.plan.pattern import Direction
from qengine.storage.adjacency import Form
from qengine.storage.pcsr_build import build_type
from qengine.testing.generate import rmat, to_csr
from tests.property.search_cases import cases, count_by_sets, dense_cases, equals_backtracking_in_chunks, found

pytestmark = pytest.mark.gpu

COUNTS = (
    "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a) RETURN count(*)",
    "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(d)-[:E]-(a), (a)-[:E]-(c), (b)-[:E]-(d) RETURN count(*)",
    "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a), (a)-[:E]-(d) RETURN count(*)",
    "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(d)-[:E]-(a) RETURN count(*)",
    "MATCH (a)-[:E]-(b)-[:E]-(c) RETURN count(*)",
    "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a) RETURN a, count(*) AS n ORDER BY n DESC, id(a) LIMIT 20",
    "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a) WITH a, b LIMIT 50000 RETURN count(*)",
)


@pytest.mark.parametrize("room", [True, False])
@settings(max_examples=400)
@given(case=cases(), chunk_rows=st.sampled_from([1, 3, 1 << 16]))
def test_equals_backtracking(room: bool, case: Any, chunk_rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if not room:  # for frontiers: depth first
            patch.setattr(search_module, "has_room", lambda *_: False)
            patch.setattr(search_module, "_total", lambda *_: None)
        assert equals_backtracking_in_chunks(case, chunk_rows)


@pytest.mark.parametrize("way", ["tree", "extension", "search"])
@settings(max_examples=30)
@given(case=dense_cases())
def test_denser_patterns(way: str, case: Any) -> None:
    store, search = case
    assume(way == "tree" or store.vertex_count <= 20)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("try_count", "try_total", *(() if way == "tree" else ("dfs_total",))):
            patch.setattr(search_module, name, lambda *_: None)
        if way == "search":
            patch.setattr(search_module, "has_room", lambda *_: False)
        result = found(run_search, store, search, [], 1)
    assert sum(row[-1] for row in result) == count_by_sets(store, search)


@pytest.fixture(scope="module")
def skewed() -> Graph:
    """An R-MAT graph of 2¹² vertices with a hub that neighbours all."""
    start, end = to_csr(rmat(12, 8, seed=7)).edges()
    hub = np.arange(1, 1 << 12)
    ends = np.concatenate([start, np.full_like(hub, 1 << 12)]), np.concatenate([end, hub])
    return Graph.from_edge_list(tuple(each.astype(np.int64) for each in ends), undirected=True)


@pytest.mark.parametrize("query", COUNTS)
def test_a_skewed_graph_counts_as_on_the_cpu(skewed: Graph, query: str) -> None:
    result = skewed.query(query, device="gpu")
    assert result.fetchall() == skewed.query(query, device="cpu").fetchall()
    assert result.stats.device == "gpu"
    assert ("Search", "gpu") in result.stats.operators


def test_rows_of_a_skewed_graph(skewed: Graph) -> None:
    query = "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a) RETURN id(a) AS a, id(b) AS b, id(c) AS c"
    keys = [(name, "ascending") for name in ("a", "b", "c")]
    on_gpu, on_cpu = (skewed.query(query, device=device).to_arrow().sort_by(keys) for device in ("gpu", "cpu"))
    assert on_gpu.equals(on_cpu)


def test_rows_stay_on_the_device(skewed: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "extended", lambda *_: pytest.fail("rows go to the host"))
    query = "MATCH (a)-[r:E]-(b)-[:E]-(c)-[:E]-(a) WITH a, r, c.id AS y RETURN a, r, y * 2 AS z"
    result = skewed.query(query, device="gpu")
    found = result.to_cupy()
    expected = {name: np.from_dlpack(each) for name, each in skewed.query(query, device="cpu").to_dlpack().items()}
    assert result.stats.rows == len(expected["a"]) > 0
    order = np.lexsort(tuple(expected.values()))
    on_host = {name: each.get() for name, each in found.items()}
    ordered = np.lexsort(tuple(on_host.values()))
    assert all((on_host[name][ordered] == expected[name][order]).all() for name in expected)
    with pytest.raises(Unsupported, match="has nulls"):
        skewed.query("MATCH (a)--(b) RETURN a, CASE WHEN a.id > 1 THEN 1 END AS x", device="gpu").to_cupy()
    assert int(skewed.query("MATCH (a) RETURN count(*) AS n", device="gpu").to_cupy()["n"][0]) == skewed.node_count


@pytest.mark.parametrize("form", list(Form))
def test_the_device_locates_as_the_host_does(form: Form) -> None:
    start, end = to_csr(rmat(10, 4, seed=3)).edges()
    lists = build_type(start.astype(np.uint32), end.astype(np.uint32), form=form).adjacencies[Direction.OUT]
    vertices = np.arange((1 << 10) + 5, dtype=np.uint32)
    struct = lists.as_struct()
    with device_run(ExecutionContext()) as run:
        names = ("offsets", "keys", "groups", "neighbours")
        blocks = {
            name: run.upload(array, name)
            for name, array in zip(names, struct.arrays, strict=False)
            if array is not None
        }
        for name, block in blocks.items():
            setattr(struct, name, block.ptr)
        pcsr, given_vertices = run.upload(np.frombuffer(bytes(struct), np.uint8), "lists"), run.upload(vertices, "ids")
        slices = run.allocate(16 * len(vertices), "slices")
        addresses = (pcsr.ptr, given_vertices.ptr, len(vertices), slices.ptr)
        run.launch(run.device.kernel("pcsr", "pcsr_locate"), 4, 128, tuple(map(np.uint64, addresses)))
        run.wait()
        host = np.empty((len(vertices), 2), np.uint64)
        run.read(slices.ptr, host)
    assert (host == np.stack(lists.locate_all(vertices), axis=1)).all()
