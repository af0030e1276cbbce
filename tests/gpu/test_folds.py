"""Aggregates folded and first rows found on a device, against the reference and the host."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph, QueryTimeout
from qengine.exec.common.operators import aggregate_entries, first_on_device, folded_rows
from qengine.exec.gpu import folds
from qengine.optimizer.lower import over_entries
from tests.property.test_aggregate_entries import ENTRIES, ROWS, agrees, queries, valued_graphs
from tests.property.test_gpu_folds import TABLES, shaped

pytestmark = pytest.mark.gpu

QUERIES = (
    "MATCH (a:P)-[k:R]->(b:P) RETURN a.id, b.g, sum(k.w), count(DISTINCT k.i), max(k.w)",
    "MATCH (a:P)-[k:R]->(b:P) RETURN avg(k.w), min(k.w), count(DISTINCT b.id), sum(a.id)",
    "MATCH (a:P)-[k:R]->(b:P) WHERE a.id < b.id AND k.w > 0 RETURN a.t, b.t, count(*), sum(k.w)",
    "MATCH (a:P)-[k:R]-(b:P) RETURN a.g, count(DISTINCT b.id), min(b.t)",
    "MATCH (a:P)-[k:R]->(b:P)-[:R]->(c:P) RETURN a.g, c.t, avg(k.w), count(DISTINCT b.id)",
    "MATCH (a:P)-[:R]->(b:P)-[m:R]->(c:P) RETURN a.id, count(DISTINCT c.id), count(*)",
    "MATCH (a:P)-[k:R]->(b:P)-[m:R]->(a) RETURN a.g, k.i, sum(m.w), count(*)",
    "MATCH (a:P) RETURN a.g, min(a.t), count(DISTINCT a.id), sum(a.id)",
)


@pytest.fixture
def at_once() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (aggregate_entries, folded_rows):
            patch.setattr(module, "DEVICE_ROWS", 0)
        for name in ("is_worth", "is_worth_on_device"):
            patch.setattr(folded_rows.FoldedRows, name, lambda self, rows: True)
        for name in ("SETUP", "_AN_ENTRY", "_AN_ELEMENT", "_COMPARED"):
            patch.setattr(over_entries, name, 0.0)
        yield patch


@settings(max_examples=100)
@given(valued_graphs(), queries(ENTRIES + ROWS), st.sampled_from(sorted(TABLES)))
def test_small_graphs_equal_reference(graph: Graph, query: str, tables: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (aggregate_entries, folded_rows):
            patch.setattr(module, "DEVICE_ROWS", 0)
        for name in ("is_worth", "is_worth_on_device"):
            patch.setattr(folded_rows.FoldedRows, name, lambda self, rows: True)
        shaped(patch, tables)
        agrees(graph, query, "gpu")


@pytest.fixture(scope="module")
def graph() -> Graph:
    random = np.random.default_rng(5)
    n, edges = 20_000, 1_000_000
    start, end = (random.integers(0, n, edges) * random.integers(0, n, edges) // n for _ in range(2))
    nodes = pa.table({"id": np.arange(n), "g": np.arange(n) % 7, "t": [f"t{k % 11}" for k in range(n)]})
    values = random.normal(size=edges) * 10.0 ** random.integers(-3, 4, edges)
    table = pa.table({"start": start, "end": end, "w": values, "i": np.arange(edges) % 5})
    return Graph.from_arrow([("P", nodes)], [("R", table)], key="id")


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize("query", QUERIES)
def test_many_rows_equal_the_host(graph: Graph, query: str, hashed: bool, at_once: pytest.MonkeyPatch) -> None:
    expected = sorted(graph.query(query, device="cpu").fetchall())
    if hashed:
        at_once.setattr(folds, "_DENSE_BYTES", 0)
        at_once.setattr(folds, "_HASHED_PIECE", 1 << 18)
        at_once.setattr(folds, "_DISTINCT_SHARE", 1 << 60)
    for _ in range(2):
        assert sorted(graph.query(query, device="gpu").fetchall()) == expected


def test_a_timeout_ends_a_fold(graph: Graph) -> None:
    query = "MATCH (a:P)-[:R]->(b:P)-[:R]->(c:P)-[k:R]->(d:P) RETURN a.g, d.t, sum(k.w)"
    with pytest.raises(QueryTimeout):
        graph.query(query, device="gpu", timeout=0.2).fetchall()


@pytest.mark.parametrize("limit", [1, 100, 5_000])
def test_first_rows_equal_the_host(graph: Graph, limit: int, at_once: pytest.MonkeyPatch) -> None:
    at_once.setattr(first_on_device, "DEVICE_ROWS", 0)
    match = "MATCH (a:P)-[k:R]->(b:P)-[:R]->(c:P) WHERE a.id % 50 = 1 AND c.id % 3 = 1"
    items = "c.t AS t, k.w AS w, a.id AS x, b.id AS y, c.id AS z, k.i AS i"
    query = f"{match} RETURN {items} ORDER BY t DESC, w, x, y, z, i LIMIT {limit}"
    assert graph.query(query, device="gpu").fetchall() == graph.query(query, device="cpu").fetchall()
