"""Columns of results for other libraries' ``from_dlpack``."""

from __future__ import annotations

import numpy as np
import pytest

from qengine import Graph, Unsupported

GRAPH = Graph.from_records(
    [{"id": i, "properties": {"i": i, "x": i / 2, "s": str(i)}} for i in range(5)],
    [{"type": "R", "start": i, "end": (i + 1) % 5, "properties": {}} for i in range(5)],
)


def test_columns_share_their_memory() -> None:
    columns = GRAPH.query("MATCH (n) RETURN n.i AS i, n.x AS x, n.i > 2 AS b ORDER BY i").to_dlpack()
    arrays = {name: np.from_dlpack(column) for name, column in columns.items()}
    assert {name: str(array.dtype) for name, array in arrays.items()} == {"i": "int64", "x": "float64", "b": "uint8"}
    assert arrays["i"].tolist() == list(range(5))
    assert arrays["x"].tolist() == [0, 0.5, 1, 1.5, 2]
    assert arrays["b"].tolist() == [0, 0, 0, 1, 1]
    assert arrays["i"].ctypes.data == columns["i"].buffers()[1].address


def test_nodes_and_relationships_are_their_ids() -> None:
    rows = GRAPH.query("MATCH (a)-[r]->(b) RETURN a, r, b").to_dlpack()
    expected = GRAPH.query("MATCH (a)-[r]->(b) RETURN id(a), id(r), id(b)").fetchall()
    assert list(zip(*(np.from_dlpack(each).tolist() for each in rows.values()), strict=True)) == list(
        map(tuple, expected)
    )


def test_columns_of_several_batches_and_of_no_rows() -> None:
    many = GRAPH.query("UNWIND range(1, 100000) AS i RETURN i").to_dlpack()
    assert np.from_dlpack(many["i"]).sum() == 5000050000
    none = GRAPH.query("MATCH (n)-[r]->() WHERE n.i > 9 RETURN n, r, n.x AS x, null AS nothing").to_dlpack()
    assert {name: str(np.from_dlpack(each).dtype) for name, each in none.items()} == {
        "n": "int64", "r": "int64", "x": "float64", "nothing": "int64"
    }  # fmt: skip
    assert not any(map(len, none.values()))


@pytest.mark.parametrize("value", ["n.s", "[n.i]", "CASE WHEN n.i > 1 THEN n.i END"])
def test_what_is_no_array_of_numbers_is_refused(value: str) -> None:
    with pytest.raises(Unsupported, match="which DLPack can't share"):
        GRAPH.query(f"MATCH (n) RETURN {value} AS v").to_dlpack()
