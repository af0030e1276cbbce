"""Graphs from Arrow tables: whatever gives them, keys of every kind, errors that name table and row."""

from __future__ import annotations

import uuid

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from qengine import Graph
from qengine.errors import StorageError
from qengine.storage import from_arrow
from qengine.types import FLOAT, INTEGER, STRING, Kind, Type, list_of

pl = pytest.importorskip("polars")


def people():
    return pa.table({"id": [7, 5, 6], "name": ["g", "e", "f"]})


def test_tables_of_several_libraries_make_one_graph():
    store = from_arrow(
        {
            "Person": pd.DataFrame({"id": [5, 6], "name": ["x", None]}),
            ":City:Place": pl.DataFrame({"code": ["a", "b"], "name": ["A", "B"]}),
        },
        [
            (
                "LIVES_IN",
                "Person",
                "City",
                pa.table({"start": [5, 6], "end": ["a", "a"], "since": pa.array([1, 2], "uint8")}),
            )
        ],
    )
    assert store.property_type("node", "name") == STRING
    assert [node.properties for node in store.nodes([0, 1, 2])] == [
        {"id": 5, "name": "x"},
        {"id": 6},
        {"code": "a", "name": "A"},
    ]
    assert [(edge.start, edge.end, edge["since"]) for edge in store.relationships([0, 1])] == [(0, 2, 1), (1, 2, 2)]


@pytest.mark.parametrize(
    ("column", "expected", "values"),
    [
        (pa.array([1, 2, 3], pa.uint16()), INTEGER, [1, 2, 3]),
        (pa.array([2**62, -(2**63), 3]), INTEGER, [2**62, -(2**63), 3]),
        (pa.array([0.5, 1, None], pa.float32()), FLOAT, [0.5, 1.0, None]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), STRING, ["a", "b", "a"]),
        (pl.Series(["a", None, "a"], dtype=pl.Categorical).to_arrow(), STRING, ["a", None, "a"]),
        (pa.array([1, 2, 3], pa.decimal128(38, 0)), INTEGER, [1, 2, 3]),
        (pc.run_end_encode(pa.array(["a", "a", "b"])), STRING, ["a", "a", "b"]),
        (
            pa.array([(0, 1, 0), None, (1, 0, 0)], pa.month_day_nano_interval()),
            Type(Kind.DURATION),
            [(0, 1, 0), None, (1, 0, 0)],
        ),
        (pa.array(["a", "b", None], pa.large_string()), STRING, ["a", "b", None]),
        (pa.array(["a", "b", None], pa.string_view()), STRING, ["a", "b", None]),
        (pa.array([[1], [], None], pa.large_list(pa.int32())), list_of(INTEGER), [[1], [], None]),
        (pa.chunked_array([[1], [2, 3]], pa.int8()), INTEGER, [1, 2, 3]),
    ],
)
def test_columns_come_as_the_types_of_the_language(column, expected, values):
    store = from_arrow({"A": pa.table({"id": [0, 1, 2], "x": column})})
    assert store.property_type("node", "x") == expected
    assert store.node_property("x").slice(0, 3).to_pylist() == values
    comparable = not isinstance(values[0], (list, tuple))
    assert store.statistics.values("node", "x").distinct == (len({*values} - {None}) if comparable else None)


def test_temporal_columns_stay_temporal():
    table = pa.table(
        {"id": [0], "d": pa.array([86_400_000], pa.date64()), "t": pa.array([1], pa.timestamp("s", "UTC"))}
    )
    store = from_arrow({"A": table})
    assert [store.property_type("node", key).kind for key in ("d", "t")] == [Kind.DATE, Kind.DATETIME]


def test_tables_may_differ_in_a_property_s_type():
    store = from_arrow([("A", people()), ("B", pa.table({"id": ["p"], "name": [1]})), ("C", pa.table({"id": [0.0]}))])
    assert store.node_property("name").slice(0, 5).to_pylist() == ["g", "e", "f", 1, None]
    assert store.node_property("id").slice(0, 5).to_pylist() == [7, 5, 6, "p", 0.0]


def test_one_table_with_labels_and_one_with_types():
    store = from_arrow(
        pa.table({"id": [1, 2, 3, 4], "kind": ["A", "B:C", None, "A"]}),
        pa.table({"from": [1, 4, 2], "to": [2, 1, 3], "kind": ["R", "S", "R"]}),
        label_column="kind",
        type_column="kind",
    )
    assert [(set(group.labels), group.end - group.begin) for group in store.groups] == [
        ({"A"}, 2),
        ({"B", "C"}, 1),
        (set(), 1),
    ]
    ids = [node["id"] for node in store.nodes(range(4))]
    edges = [(edge.type, ids[edge.start], ids[edge.end]) for edge in store.relationships(range(3))]
    assert edges == [("R", 1, 2), ("R", 2, 3), ("S", 4, 1)]


@pytest.mark.parametrize(
    ("nodes", "relationships", "message"),
    [
        ({"A": pa.table({"id": [3, 1, 3]})}, [], "nodes A: row 2 has the key 3 that row 0 has"),
        ({"A": pa.table({"id": [3, 10**12, 3]})}, [], "nodes A: row 2 has the key 3 that row 0 has"),
        ({"A": pa.table({"id": ["x", "x"]})}, [], "nodes A: row 1 has the key 'x' that row 0 has"),
        ({"A": pa.table({"id": [1, None]})}, [], "nodes A, column id: row 1 has no key"),
        ({"A": pa.table({"id": [0.5]})}, [], "nodes A, column id: keys must be integers or strings, not fractions"),
        (
            {"A": people()},
            [("R", "A", "A", pa.table({"a": [5, 6], "b": [7, 8]}))],
            "relationships R, column b: row 1 has the key 8, which is no node's",
        ),
        (
            {"A": people()},
            [("R", "A", "B", pa.table({"a": [5], "b": [7]}))],
            "relationships R, column b: no node has the label B",
        ),
        (
            {"A": people()},
            [("R", pa.table({"a": ["5"], "b": [7]}))],
            "relationships R, column a: keys of type string can't match the nodes' keys of type int64",
        ),
        ({"A": 3}, [], "nodes A: int isn't a table"),
        ({"A": pa.table([[1], [2], [3]], ["id", "x", "x"])}, [], "nodes A: several columns are called x"),
        (
            {"A": people()},
            [("R", pa.table([[5], [5], [1], [1]], ["a", "b", "w", "w"]))],
            "relationships R: several columns are called w",
        ),
        (
            {"A": pa.table({"id": [1], "x": pa.array([2**64 - 1], pa.uint64())})},
            [],
            "nodes A, column x: row 0 has 18446744073709551615, which no INTEGER of 64 bits holds",
        ),
        (
            {"A": pa.table({"id": [1], "x": [{"a": 1}]})},
            [],
            "nodes A, column x: struct<a: int64> can't be a property's type",
        ),
    ],
)
def test_bad_tables_are_refused_with_their_place(nodes, relationships, message):
    with pytest.raises(StorageError) as raised:
        from_arrow(nodes, relationships)
    assert raised.value.message == message


def test_a_frame_that_arrow_has_no_types_for_is_refused_with_its_column():
    with pytest.raises(StorageError, match=r"^Storage error: nodes A: it can't be made an Arrow table: .* column x "):
        from_arrow({"A": pd.DataFrame({"id": [1, 2], "x": [1, "y"]})})


@pytest.mark.parametrize("limit", [None, "1G"])
def test_a_pandas_index_without_a_name_is_no_property(tmp_path, limit):
    people = pd.DataFrame({"id": [1, 2, 2], "name": ["Ann", "Bob", "Bob"]}).drop_duplicates("id")
    knows = pd.DataFrame({"start": [9, 1], "end": [1, 2]}).iloc[1:]
    people.to_parquet(tmp_path / "nodes_P.parquet")
    knows.to_parquet(tmp_path / "rels_P_K_P.parquet")
    for graph in (
        Graph.from_arrow({"P": people}, [("K", "P", "P", knows)]),
        Graph.from_parquet(tmp_path, memory_limit=limit),
    ):
        assert [set(each.properties) for each in graph.schema.nodes] == [{"id", "name"}]
        assert [set(each.properties) for each in graph.schema.relationships] == [set()]
    named = Graph.from_arrow({"P": people.set_index("name")})
    assert set(named.schema.nodes[0].properties) == {"id", "name"}, "an index with a name is a column"


def test_the_names_of_an_index_of_pandas_are_columns_behind_the_others() -> None:
    frame = pd.DataFrame({"id": [3, 7], "name": ["a", "b"]})
    for index, names in ((["id"], ["name", "id"]), (["name", "id"], ["name", "id"])):
        graph = Graph.from_arrow({"P": frame.set_index(index)})
        assert list(graph.schema.nodes[0].properties) == names
        assert graph.query("MATCH (p:P) RETURN p.id, p.name ORDER BY p.id").fetchall() == [(3, "a"), (7, "b")]


def test_uuids_are_texts_as_they_are_as_parameters() -> None:
    ids = [uuid.UUID(int=5), None, uuid.UUID(int=2**128 - 1)]
    graph = Graph.from_arrow({"P": pd.DataFrame({"id": [1, 2, 3], "u": ids})})
    assert graph.query("MATCH (p:P) RETURN p.u ORDER BY p.id").fetchall() == [
        (None if each is None else str(each),) for each in ids
    ]
    assert graph.query("MATCH (p {u: $u}) RETURN p.id", {"u": ids[0]}).value() == 1
