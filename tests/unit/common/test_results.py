"""Result columns as Python values and as Arrow arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from qengine.exec.arrow_out import array_of
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import Column, ConstantColumn, NodeColumn, from_values
from qengine.exec.common.results import ResultRows
from qengine.exec.scalar.values import NodeHandle, PathHandle, RelationshipHandle
from qengine.storage import from_records
from qengine.types import Path

STORE = from_records(
    [
        {"id": 0, "labels": ["A", "B"], "properties": {"name": "x", "many": [1, 2]}},
        {"id": 1, "labels": [], "properties": {"name": "y"}},
        {"id": 2, "labels": ["A"], "properties": {"many": []}},
    ],
    [{"type": "R", "start": 0, "end": 1, "properties": {"w": 1}}],
)
PATH = PathHandle((NodeHandle(0), NodeHandle(1)), (RelationshipHandle(0),))


def rows(column: Column) -> ResultRows:
    return ResultRows(Batch(len(column), {"x": column}), STORE)


@pytest.mark.parametrize(
    "values",
    [[1, None, 3], [0.5, None], ["a", None], [True, False], [None, None], [[1], None, []], [1, "a", 2.5], [{"a": 1}]],
)
def test_plain_values(values: list[Any]) -> None:
    found = rows(from_values(values))
    assert found.values("x") == values
    assert found.arrow("x").to_pylist() == values


def test_elements() -> None:
    nodes = rows(from_values([NodeHandle(2), None, NodeHandle(0)]))
    assert nodes.values("x") == STORE.nodes([2, -1, 0])
    (relationship,) = rows(from_values([RelationshipHandle(0)])).values("x")
    assert (relationship.type, relationship.start, relationship.properties) == ("R", 0, {"w": 1})
    path, inside = rows(from_values([PATH, {"p": [PATH]}])).values("x")
    assert isinstance(path, Path) and len(path) == 1
    assert inside == {"p": [path]}
    assert rows(from_values([PATH])).arrow("x").to_pylist()[0]["relationships"][0]["type"] == "R"


def test_nodes_in_arrow() -> None:
    array = rows(NodeColumn(np.array([2, -1, 0, 1]))).arrow("x")
    wanted = [
        None if node is None else (node.id, list(node.labels), node.properties) for node in STORE.nodes([2, -1, 0, 1])
    ]
    found = [
        None
        if node is None
        else (node["id"], node["labels"], {k: v for k, v in node["properties"].items() if v is not None})
        for node in array.to_pylist()
    ]
    assert found == wanted
    one = rows(NodeColumn(np.array([1]))).arrow("x")
    assert one.type == array.type


def test_sliced_lists_in_arrow() -> None:
    column = from_values([["a"], ["b", None], None, [], ["c"]]).slice(1, 3)
    assert rows(column).arrow("x").to_pylist() == [["b", None], None, []]


def test_constants_in_arrow() -> None:
    for value in (1, "a", None, [1, 2], True, NodeHandle(1), {"a": 1}):
        found = rows(ConstantColumn(value, 3)).arrow("x")
        assert len(found) == 3
        assert found.to_pylist() == rows(from_values([value] * 3)).arrow("x").to_pylist()
    assert array_of([None]).type == pa.null() == rows(ConstantColumn(None, 1)).arrow("x").type
