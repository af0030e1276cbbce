"""Counting by extension on the GPU: against naive backtracking, and against the CPU on a labelled graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.exec.gpu import bfs_plan
from qengine.exec.gpu import search as search_module
from qengine.exec.gpu.search import run_search
from qengine.testing.generate import rmat, to_csr, vertex_labels
from tests.property.search_cases import cases, counted, expected, found

pytestmark = pytest.mark.gpu

SHAPES = (
    "(a:L0)-[:E]-(b:L1)-[:E]-(c:L2)-[:E]-(d:L3), (b)-[:E]-(e:L4)",
    "(a:L0)-[:E]-(b:L0)-[:E]-(c:L1)-[:E]-(a), (c)-[:E]-(d:L0), (c)-[:E]-(e:L0), (c)-[:E]-(f:L0)",
    "(a:L0)-[:E]-(b:L1)-[:E]-(c:L0)-[:E]-(d:L1)-[:E]-(a), (a)-[:E]-(e)",
    "(a:L7)-[:E]-(b)-[:E]-(c), (b)-[:E]-(d:L1)",
)


@pytest.mark.parametrize("whole", [True, False])
@settings(max_examples=300)
@given(case=cases(), room=st.sampled_from([1, 5000, 1 << 26]), shared=st.sampled_from([1, 1 << 14]))
def test_equals_backtracking(whole: bool, case: Any, room: int, shared: int) -> None:
    store, search, seeds, rows = counted(case) if whole else case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bfs_plan, "_SHARED_ROWS", shared)
        for name in ("_FIRST_BYTES", "_MOST_BYTES"):
            patch.setattr(bfs_plan, name, room)
        for name in ("try_count", "dfs_total"):
            patch.setattr(search_module, name, lambda *_: None)
        result = found(run_search, store, search, seeds, rows)
    assert result == expected(store, search, seeds, rows)


@pytest.fixture(scope="module")
def labelled() -> Graph:
    """An R-MAT graph of 2¹² vertices with 8 labels and a hub that neighbours all."""
    start, end = to_csr(rmat(12, 8, seed=7)).edges()
    hub = np.arange(1, 1 << 12)
    ends = np.concatenate([start, np.full_like(hub, 1 << 12)]), np.concatenate([end, hub])
    labels = vertex_labels((1 << 12) + 1, 8)
    nodes = [(f"L{k}", pa.table({"id": np.flatnonzero(labels == k)})) for k in range(8)]
    return Graph.from_arrow(nodes, [("E", pa.table(dict(zip(("src", "dst"), ends, strict=True))))], undirected=["E"])


GROUPED = (
    "MATCH {} RETURN id(a) AS a, count(*) AS n ORDER BY n DESC, a LIMIT 50",
    "MATCH {} RETURN id(b) AS b, id(a) AS a, count(*) AS n ORDER BY n DESC, a, b LIMIT 50",
    "MATCH (a:L0) WHERE EXISTS {{ {} }} RETURN count(*), sum(id(a))",
    "MATCH (a:L0) RETURN id(a) AS a, COUNT {{ {} }} AS n ORDER BY n DESC, a LIMIT 50",
)


@pytest.mark.parametrize("query", GROUPED)
@pytest.mark.parametrize("shape", SHAPES[:3])
def test_counts_by_row_are_the_cpus(labelled: Graph, shape: str, query: str) -> None:
    text = query.format(shape)
    assert labelled.query(text, device="gpu").fetchall() == labelled.query(text, device="cpu").fetchall()


@pytest.mark.parametrize("shared", [1, 1 << 14])
@pytest.mark.parametrize("mode", ["DIFFERENT NODES", "DIFFERENT RELATIONSHIPS", "REPEATABLE ELEMENTS"])
@pytest.mark.parametrize("shape", SHAPES)
def test_labelled_patterns_count_as_on_the_cpu(
    labelled: Graph, shape: str, mode: str, shared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bfs_plan, "_SHARED_ROWS", shared)
    text = f"/*+ search */ MATCH {mode} {shape} RETURN count(*) /* {shared} */"
    expected_count = labelled.query(text, device="cpu").value()
    for _ in range(2):
        assert labelled.query(text, device="gpu").value() == expected_count
