"""The GPU's count by a tree of levels, its kernels run on the host: no GPU is needed, only a compiler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.errors import OutOfMemory, ResourceError
from qengine.exec import choice
from qengine.exec.gpu import dfs, dfs_plan
from qengine.exec.gpu import search as search_module
from qengine.exec.gpu.search import run_search
from qengine.testing.generate import rmat, to_csr
from tests.emulator.device import WARPS, device_memory, emulated, searched
from tests.property.search_cases import count_by_sets, dense_cases, found

PATTERNS = (
    "(a)--(b)--(c)--(a)",
    "(a:L0)--(b:L1)--(c:L0)--(d)",
    "(a)--(b), (a)--(c), (b)--(c), (b)--(d), (c)--(d)",
    "(a)--(b)--(c)--(d)--(a)",
    "(a:L1)--(b)--(c)--(d)--(e:L0)",
    "(a)--(b)--(c)--(a), (c)--(d)--(e)--(c)",
    "(a:L0)--(b), (a)--(c:L1), (a)--(d)",
    "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)",
    "(a)--(b)--(c)--(a), (b)--(f:L1)--(e), (c)--(g:L0)--(h:L1)",
    "(a)--(b) WHERE id(a) % 3 = 1",
    "(a)--(b)--(c)--(a) WHERE a.x < 5",
    "(a)--(b)--(c)--(d) WHERE c.x <> 7 AND d.x < 4",
)
small_cases = dense_cases((6, 20))
memory = device_memory()
MODES = ("DIFFERENT NODES", "DIFFERENT RELATIONSHIPS", "REPEATABLE ELEMENTS")


@pytest.fixture(scope="module", autouse=True)
def counted() -> Iterator[list[int | None]]:
    """What the kernel has counted since the test began; None for a plan that it doesn't take."""
    seen: list[int | None] = []

    def count(*given: Any) -> int | None:
        seen.append(dfs.dfs_total(*given))
        return seen[-1]

    with emulated(memory) as patch:
        patch.setattr(choice, "choose", lambda asked, *_: (asked, "as asked"))
        for name in ("try_count", "try_total"):
            patch.setattr(search_module, name, lambda *_, **__: None)
        patch.setattr(search_module, "dfs_total", count)
        patch.setattr(dfs, "_THREADS", 32 * WARPS)
        patch.setattr(dfs, "_MOST_MEMO_BITS", 5)  # tables that are soon full
        yield seen


@settings(max_examples=20)
@given(small_cases, st.sampled_from([1, 3]), st.sampled_from([1, 4, 1000]))
def test_equals_sets(counted: list[int | None], case: Any, parts: int, hubs: int) -> None:
    store, search = case
    counted.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dfs_plan, "_PARTS", parts)
        patch.setattr(dfs_plan, "_HUBS", hubs)
        result = found(run_search, store, search, [], 1)
    assert sum(row[-1] for row in result) == count_by_sets(store, search)
    assert None not in counted


@pytest.fixture(scope="module")
def labelled() -> Graph:
    """A skewed graph of 32 vertices with two labels, and values 0 to 9."""
    start, end = to_csr(rmat(5, 3, 42)).edges()
    nodes = [(f"L{k}", pa.table({"id": np.arange(k, 32, 2), "x": np.arange(k, 32, 2) * 7 % 10})) for k in range(2)]
    edges = pa.table({"src": start.astype(np.int64), "dst": end.astype(np.int64)})
    return Graph.from_arrow(nodes, [("E", edges)], undirected=["E"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_count_as_on_the_cpu(
    labelled: Graph, pattern: str, mode: str, counted: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dfs_plan, "_HUBS", 4)
    monkeypatch.setattr(dfs_plan, "_PARTS", 3)
    counted.clear()
    text = f"MATCH {mode} {pattern} RETURN count(*)"
    assert labelled.query(text, device="gpu").value() == labelled.query(text, device="cpu").value()
    assert None not in counted and len(counted) == 1


def test_a_product_beyond_64_bits_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    searched(monkeypatch)
    graph = Graph.from_edge_list((np.zeros(100, np.int64), np.arange(1, 101)), undirected=True)
    star = ", ".join(f"(a)--(v{k})" for k in range(10))
    with pytest.raises(ResourceError, match="64 bits"):
        graph.query(f"MATCH REPEATABLE ELEMENTS {star} RETURN count(*)", device="gpu").value()


@pytest.mark.parametrize(("nodes", "warps", "shared"), [(6, 4, True), (30, 2, True), (60, 4, False)])
def test_long_patterns_have_as_many_warps_as_shared_memory_has_room_for(
    nodes: int, warps: int, shared: bool, counted: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 64 KB; where not even one fits stacks are in device memory."""
    searched(monkeypatch)
    variant, seen = dfs._variant, []
    monkeypatch.setattr(dfs, "_variant", lambda *given: (seen.append(variant(*given)), seen[-1])[1])
    graph = Graph.from_edge_list((np.arange(70), np.arange(1, 71)))
    counted.clear()
    path = "-->".join(f"(v{k})" for k in range(nodes))
    text = f"MATCH REPEATABLE ELEMENTS {path} RETURN count(*)"
    assert graph.query(text, device="gpu").value() == 72 - nodes
    assert [(threads, n_bytes > 0) for _, threads, n_bytes in seen] == [(32 * warps, shared)]
    assert counted == [72 - nodes]


def test_what_it_does_not_count_is_left_to_the_general_search(labelled: Graph, counted: list[int | None]) -> None:
    counted.clear()
    text = "MATCH (a)--(b)--(c)--(a) WHERE a.x < b.x RETURN count(*)"
    assert labelled.query(text, device="gpu").value() == labelled.query(text, device="cpu").value()
    assert counted == [None]


def test_a_plan_is_laid_out_again_after_the_device_was_full(labelled: Graph, counted: list[int | None]) -> None:
    text = "MATCH (a:L0)--(b:L0)--(c:L1)--(a) RETURN count(*) + 1"
    memory.fail_from = memory.allocations + 1  # after the plan's
    try:
        with pytest.raises(OutOfMemory, match="bytes"):
            labelled.query(text, device="gpu").value()
    finally:
        memory.fail_from = None
    counted.clear()
    assert labelled.query(text, device="gpu").value() == labelled.query(text, device="cpu").value()
    assert len(counted) == 1 and None not in counted
