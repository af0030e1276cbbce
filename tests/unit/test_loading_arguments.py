"""Whatever is given to a loader, it loads or is refused with a StorageError that has a hint; flags by a TypeError."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from qengine import Graph, StorageError

pl = pytest.importorskip("polars")

NODES = pa.table({"id": [1, 2]})
EDGES = pa.table({"start": [1], "end": [2]})


def strange(folder: Path) -> list[Any]:
    """Return values of all kinds, some of them right in one place or another."""
    return [
        None, 0, -1, 2.5, True, "", "KNOWS", "a\0b", "ü" * 5000, b"x", float("nan"), (), [], {}, set(), (1,), [None],
        ["a"], ("a", "b"), [("a", "b")], {"a": 1}, {1: 2}, frozenset({1}), iter([1]), range(3), object(), Graph,
        datetime.date(2020, 1, 1), {"A": NODES}, {"A": None}, [("A", NODES)], [(1, NODES)], [("R", NODES, 1)],
        ("R", "A", "A", EDGES), [("R", "A", "A", EDGES)], [("R", "N", "N", EDGES)], [("R", "A", EDGES)],
        [("R", 1, 2, EDGES)], [("R", EDGES, "A", "A")], {"R": EDGES}, {("A", "R", "A"): EDGES}, {("A", "R"): EDGES},
        {5: EDGES}, {None: EDGES}, NODES, EDGES, pd.DataFrame({"a": [1], "b": [2]}), pd.DataFrame(),
        pd.DataFrame({"a": [1, "x"]}), pl.DataFrame({"a": [1]}), pd.Series([1]), pl.Series([1]), np.arange(4),
        np.zeros((2, 2)), pa.array([1]), pa.scalar(1), pa.table({"id": pa.array([{"a": 1}])}), pa.table({}),
        pa.table([[1], [2]], ["x", "x"]), [{"id": 1}], [{"id": []}], [{"id": 1, "labels": 3}], [{"labels": [1]}],
        [{"properties": 3}], [{"properties": {1: 2}}], [{"type": 1, "start": 0, "end": 0}],
        [{"type": "x", "start": [], "end": 0}], str(folder), folder, [folder], folder / "nodes_A.csv",
        folder / "edges.txt", [folder / "nodes_A.csv"], "/nowhere",
    ]  # fmt: skip


ONE: dict[str, Callable[[Any, Path], Graph]] = {
    "undirected records": lambda a, _: Graph.from_records([], [], undirected=a),
    "key": lambda a, _: Graph.from_arrow({"A": NODES}, key=a),
    "type_column": lambda a, _: Graph.from_arrow(NODES, EDGES, type_column=a),
    "undirected tables": lambda a, _: Graph.from_arrow({"A": NODES}, {"R": EDGES}, undirected=a),
    "csv": lambda a, _: Graph.from_csv(a),
    "csv key": lambda a, folder: Graph.from_csv(folder, key=a),
    "csv undirected": lambda a, folder: Graph.from_csv(folder, undirected=a),
    "parquet": lambda a, _: Graph.from_parquet(a),
    "edge list": lambda a, _: Graph.from_edge_list(a),
    "edge list type": lambda a, _: Graph.from_edge_list(([1], [2]), type=a),
    "edge list label": lambda a, _: Graph.from_edge_list(([1], [2]), label=a),
    "edge list undirected": lambda a, _: Graph.from_edge_list(([1], [2]), undirected=a),
    "graph file": lambda a, _: Graph.from_graph_file(a),
}
TWO: dict[str, Callable[[Any, Any], Graph]] = {
    "records": Graph.from_records,
    "tables": Graph.from_arrow,
    "label_column": lambda a, b: Graph.from_arrow(NODES, label_column=a, key=b),
    "two arrays": lambda a, b: Graph.from_edge_list((a, b)),
}


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    (tmp_path / "nodes_A.csv").write_text("id\n1\n")
    (tmp_path / "edges.txt").write_text("1 2\n")
    return tmp_path


def is_clean(load: Callable[[], Graph]) -> bool:
    """Tell whether a graph is loaded; what else happens is a StorageError with a hint."""
    try:
        load()
    except StorageError as error:
        assert error.hint
        return False
    except TypeError as error:
        assert "`undirected`" in str(error)
        return False
    return True


@pytest.mark.parametrize("name", ONE)
def test_one_strange_argument(name: str, folder: Path) -> None:
    loaded = [is_clean(lambda value=value: ONE[name](value, folder)) for value in strange(folder)]
    assert not all(loaded) and len(loaded) > 60


@pytest.mark.parametrize("name", TWO)
def test_two_strange_arguments(name: str, folder: Path) -> None:
    values = strange(folder)
    for shift in (0, 1, 7, 23):
        for one, other in zip(values, values[shift:] + values[:shift], strict=True):
            is_clean(lambda one=one, other=other: TWO[name](one, other))


@pytest.mark.parametrize(
    ("relationships", "message"),
    [
        ([("R", "N", "N")], "relationships: entry 0 has 3 parts, where 2 or 4 are wanted"),
        (("R", "A", "A", EDGES), "relationships: entry 0 is 'R', where 2 or 4 are wanted"),
        ([("R", "A", EDGES, "A")], "relationships R: a Table is neither a label nor a list of labels"),
        ({("A", "R"): EDGES}, "relationships: ('A', 'R') is no type"),
        ([(3, EDGES)], "relationships: the type of entry 0 is 3, not a name"),
    ],
)
def test_wrong_shapes_are_told_with_the_right_ones(relationships: Any, message: str) -> None:
    with pytest.raises(StorageError) as raised:
        Graph.from_arrow({"A": NODES}, relationships)
    assert raised.value.message == message
    assert '("KNOWS", "Person", "Person", table)' in str(raised.value.hint)


def test_ends_that_are_in_no_named_columns_are_explained() -> None:
    table = pa.table({"weight": [0.5], "a": [1], "b": [2]})
    with pytest.raises(StorageError, match="column weight: keys must be integers or strings, not fractions") as raised:
        Graph.from_arrow({"A": NODES}, {"R": table})
    assert raised.value.hint == (
        "Make them integers or strings. The ends are taken from the first two columns, weight and a, because no two "
        "are called start/end or src/dst or source/target or from/to."
    )
    with pytest.raises(StorageError, match="column x: keys must be") as raised:
        Graph.from_arrow({"A": pa.table({"x": [0.5], "code": [1]})})
    assert "The key is taken from the first column, x, because none is called id" in str(raised.value.hint)


def test_tables_of_two_columns_are_edge_lists() -> None:
    frame = pd.DataFrame({"to": ["b", "c"], "from": ["a", "b"]})
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        graph = Graph.from_edge_list(table)
        found = graph.query("MATCH (a)-[:E]->(b) RETURN a.id, b.id ORDER BY a.id").fetchall()
        assert found == [("a", "b"), ("b", "c")]
    with pytest.raises(StorageError, match="the table has 3 columns, not two") as raised:
        Graph.from_edge_list(frame.assign(weight=1.0))
    assert "Graph.from_arrow" in str(raised.value.hint)


def test_types_that_are_not_there_can_not_be_undirected() -> None:
    with pytest.raises(StorageError, match="there is no relationship type KNOW to be undirected"):
        Graph.from_arrow({"A": NODES}, {"KNOWS": EDGES}, undirected=["KNOW"])
    with pytest.raises(StorageError, match="undirected is 'KNOWS', not a list of names"):
        Graph.from_arrow({"A": NODES}, {"KNOWS": EDGES}, undirected="KNOWS")
