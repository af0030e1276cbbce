"""Aggregates folded and first rows found by the kernels of the GPU on the host: no GPU is needed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.exec import choice
from qengine.exec.common.operators import aggregate_entries, first_on_device, folded_rows
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import first_rows, folds
from qengine.optimizer.lower import over_entries
from tests.emulator.device import Pool, device_memory, emulated, searched
from tests.examples import examples
from tests.property.test_aggregate_entries import ENTRIES, ROWS, agrees, queries, random_graph, valued_graphs

FREE = 1 << 30
TABLES = {
    "dense": {},
    "one copy": {"_MOST_COPIES": 1},
    "hashed": {"_DENSE_BYTES": 0, "_HASHED_PIECE": 1 << 10},
    "hashed, growing": {"_DENSE_BYTES": 0, "_HASHED_PIECE": 4},
    "different values apart": {"_DISTINCT_SHARE": FREE},
    "apart and hashed": {"_DISTINCT_SHARE": FREE, "_DENSE_BYTES": 0, "_HASHED_PIECE": 4},
}


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with emulated(device_memory(), free=FREE) as patch:
        patch.setattr(choice, "choose", lambda asked, *_: (asked, "as asked"))
        searched(patch)
        for module in (aggregate_entries, folded_rows):
            patch.setattr(module, "DEVICE_ROWS", 0)
        for name in ("is_worth", "is_worth_on_device"):
            patch.setattr(folded_rows.FoldedRows, name, lambda self, rows: True)
        for name in ("SETUP", "_AN_ENTRY", "_AN_ELEMENT", "_COMPARED"):
            patch.setattr(over_entries, name, 0.0)
        yield


def shaped(patch: pytest.MonkeyPatch, tables: str) -> None:
    for name, value in TABLES[tables].items():
        patch.setattr(folds, name, value)


@settings(max_examples=examples(150))
@given(valued_graphs(), queries(ENTRIES), st.sampled_from(sorted(TABLES)))
def test_entries_equal_reference(graph: Graph, query: str, tables: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        shaped(patch, tables)
        agrees(graph, query, "gpu")


@settings(max_examples=examples(150))
@given(valued_graphs(), queries(ROWS), st.sampled_from(sorted(TABLES)))
def test_rows_equal_reference(graph: Graph, query: str, tables: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        shaped(patch, tables)
        agrees(graph, query, "gpu")


@pytest.mark.parametrize("tables", sorted(TABLES))
@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("MATCH (a:P)-[k:R]->(b:P) RETURN a.id, b.g, sum(k.w), count(DISTINCT k.i)", "entries are folded on the GPU"),
        ("MATCH (a:P) RETURN a.g, min(a.t), count(DISTINCT a.id)", "entries are folded on the GPU"),
        (
            "MATCH (a:P)-[k:R]->(b:P)-[:R]->(c:P) RETURN a.g, c.t, avg(k.w), count(DISTINCT b.id)",
            "rows are folded on the GPU",
        ),
    ],
)
def test_many_rows_are_folded_on_the_device(query: str, note: str, tables: str) -> None:
    graph, _, _ = random_graph(120, 800, np.random.default_rng(2).normal(size=800))
    with pytest.MonkeyPatch.context() as patch:
        shaped(patch, tables)
        noted: list[str] = []
        patch.setattr(ExecutionContext, "note", lambda self, operator, text: noted.append(text))
        rows = graph.query(query, device="gpu").fetchall()
        assert noted == [note]
    assert sorted(rows) == sorted(graph.query(query, device="cpu").fetchall())


@pytest.mark.parametrize("query", [
    "MATCH (a:P)-[:R]->(b:P)-[:R]->(c:P) WHERE a.t <> c.t RETURN b.g, count(*), sum(c.id)",
    "MATCH (a:P)-[:R]->(b:P)-[:R]->(c:P), (a)-[:R]->(c) WHERE b.t = c.t RETURN a.g, max(c.t), count(DISTINCT b.g)",
    "MATCH (a)-[:R]->(b)-[:R]->(c), (a)-[:R]->(c) WHERE b.t <> c.t AND a.t <> c.t RETURN a.t, min(b.id)",
])  # fmt: skip
def test_rows_of_which_strings_are_compared_stay_on_the_device(query: str) -> None:
    nodes = [{"id": k, "labels": ["P"], "properties": {"id": k, "g": k % 7}} for k in range(100)]
    for node, text in zip(nodes, 20 * ["x", "é", "yy", "", None], strict=True):
        node["properties"] |= {"t": text} if text is not None else {}  # type: ignore[operator]
    ends = np.random.default_rng(4).integers(0, 100, (900, 2)).tolist()
    graph = Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in ends])
    noted: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ExecutionContext, "note", lambda self, operator, text: noted.append(text))
        rows = graph.query(query, device="gpu").fetchall()
    assert noted == ["rows are folded on the GPU"]
    agrees(graph, query, "gpu")
    assert sorted(map(repr, rows)) == sorted(map(repr, graph.query(query, device="cpu").fetchall()))


def test_vertices_that_a_key_tells_apart_are_not_folded_on_the_device() -> None:
    graph, _, _ = random_graph(150, 1_200, np.ones(1_200))
    query = "MATCH (a:P) WHERE a.id <> 7 RETURN a.id, min(a.t), count(DISTINCT a.id), count(*)"
    expected = sorted(graph.query(query, device="cpu").fetchall())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folds.DeviceFolds, "make", None)
        assert sorted(graph.query(query, device="gpu").fetchall()) == expected
        with pytest.raises(TypeError):
            graph.query("MATCH (a:P) RETURN a.g, count(*)", device="gpu").fetchall()


def test_symmetric_patterns_give_each_row_under_all_orders() -> None:
    graph, _, _ = random_graph(60, 900, np.ones(900))
    for query in (
        "MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(a) RETURN a.g, b.g, count(*), sum(c.id)",
        "MATCH (a)<-[:R]-(b)-[:R]->(c) RETURN a.t, c.t, count(*), max(b.id)",
    ):
        found = graph.query(query, device="gpu").fetchall()
        assert sorted(found) == sorted(graph.query(query, device="cpu").fetchall())


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a:P)-[k:R]->(b:P) RETURN a.id, sum(k.w)",
        "MATCH (a:P)-[:R]->()-[:R]->(b) RETURN a.id, b.g, count(*), max(b.t)",
    ],
)
def test_the_host_folds_where_the_device_has_no_room(query: str) -> None:
    graph, _, _ = random_graph(300, 3_000, np.ones(3_000))
    expected = sorted(graph.query(query, device="cpu").fetchall())
    with emulated(device_memory(Pool(1 << 19)), free=1 << 19):
        assert sorted(graph.query(query, device="gpu").fetchall()) == expected


def test_values_of_elements_that_are_not_all_in_one_range() -> None:
    nodes = pa.table({"id": range(9), "v": [float(k) if k % 2 else None for k in range(9)]})
    more = pa.table({"id": range(9, 15), "v": [0.5 * k for k in range(6)]})
    links = pa.table({"start": [k for k in range(9) for _ in range(3)], "end": [9 + k % 6 for k in range(27)]})
    graph = Graph.from_arrow([("A", nodes), ("B", more)], [("R", "A", "B", links)], key="id")
    for query in (
        "MATCH (a)-[:R]-(b) RETURN b.v, sum(a.v), count(a.v), min(a.v)",
        "MATCH (a:A|B) RETURN a.v, count(*)",
    ):
        agrees(graph, query, "gpu")


SORT_KEYS = ("a.i", "b.i", "a.v", "b.v", "b.t", "a.k", "k.i", "k.v", "a.k % 2")


@st.composite
def ordered(draw: st.DrawFn) -> str:
    """Draw a query for the first rows by some keys, in the end by all that it returns, so that ties are equal rows."""
    pattern = draw(st.sampled_from([each for each in (*ENTRIES, *ROWS) if "b" in each and "[k" in each]))
    keys = draw(st.lists(st.sampled_from(SORT_KEYS), min_size=1, max_size=3, unique=True))
    names = [f"c{place}" for place in range(len(keys))]
    ways = [f"{name}{draw(st.sampled_from(['', ' DESC']))}" for name in names]
    columns = ", ".join(f"{key} AS {name}" for key, name in zip(keys, names, strict=True))
    return f"MATCH {pattern} RETURN {columns} ORDER BY {', '.join(ways)} LIMIT {draw(st.integers(1, 9))}"


@settings(max_examples=examples(150))
@given(valued_graphs(), ordered(), st.booleans())
def test_first_rows_equal_reference(graph: Graph, query: str, small: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(first_on_device, "DEVICE_ROWS", 0)
        if small:
            for name, value in (("_FIRST_PIECE", 2), ("_MOST_PIECE", 4), ("_KEPT", 3)):
                patch.setattr(first_rows, name, value)
        agrees(graph, query, "gpu")


def test_first_rows_are_found_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_on_device, "DEVICE_ROWS", 0)
    for name, value in (("_FIRST_PIECE", 64), ("_MOST_PIECE", 256), ("_KEPT", 32)):
        monkeypatch.setattr(first_rows, name, value)
    noted: list[str] = []
    monkeypatch.setattr(ExecutionContext, "note", lambda self, operator, text: noted.append(text))
    graph, _, _ = random_graph(150, 1_200, np.random.default_rng(2).normal(size=1_200))
    keys = "c.t AS t, k.w AS w, a.id AS x, b.id AS y, c.id AS z"
    query = f"MATCH (a:P)-[k:R]->(b:P)-[:R]->(c:P) RETURN {keys} ORDER BY t DESC, w, x, y, z"
    for limit in (1, 7, 100):
        found = graph.query(f"{query} LIMIT {limit}", device="gpu").fetchall()
        assert found == graph.query(f"{query} LIMIT {limit}", device="cpu").fetchall()
    assert noted == 3 * ["the first rows are found on the GPU"]
