"""Every type that an Arrow column may have: its values are kept, or it is refused by column and row."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from qengine import Graph, StorageError

D = Decimal
UNION = pa.array([0, 1, 0], pa.int8())
DENSE = pa.UnionArray.from_dense(UNION, pa.array([0, 0, 1], pa.int32()), [pa.array([1, None]), pa.array(["a"])])
CODES = pa.UnionArray.from_dense(
    pa.array([5, 7, 5], pa.int8()), pa.array([0, 0, 1], pa.int32()), [pa.array([1, None]), pa.array(["a"])], ["x", "y"],
    [5, 7],
)  # fmt: skip
SPARSE = pa.UnionArray.from_sparse(UNION, [pa.array([1, 2, None], pa.int16()), pa.array(["x", "a", "c"])])


def loaded(column: Any) -> tuple[str, list[Any]]:
    """Return the type that a column becomes, and its values."""
    graph = Graph.from_arrow({"A": pa.table({"id": list(range(len(column))), "x": column})})
    values = [row[0] for row in graph.query("MATCH (n) RETURN n.x ORDER BY n.id").fetchall()]
    return str(graph.schema.nodes[0].properties.get("x", "NULL")), values


@pytest.mark.parametrize(
    ("column", "kind", "values"),
    [
        (pa.array([1, 2**63 - 1, None], pa.uint64()), "INTEGER", [1, 2**63 - 1, None]),
        (pa.array([-5, None], pa.int8()), "INTEGER", [-5, None]),
        (pa.array([np.float16(1.5), None], pa.float16()), "FLOAT", [1.5, None]),
        (pa.array([D(5), None], pa.decimal128(38, 0)), "INTEGER", [5, None]),
        (pa.array([D(-(2**63)), D(2**63 - 1)], pa.decimal128(20, 0)), "INTEGER", [-(2**63), 2**63 - 1]),
        (pa.array([D(500), None], pa.decimal128(20, -2)), "INTEGER", [500, None]),
        (pa.array([D("1.10"), None, D("-3.25")], pa.decimal128(15, 2)), "FLOAT", [1.1, None, -3.25]),
        (pa.array([D("0.1"), D("2.2"), D("3.3")], pa.decimal128(15, 1)).slice(1, 1), "FLOAT", [2.2]),
        (pa.array([D("1.1"), None], pa.decimal128(38, 20)), "FLOAT", [1.1, None]),
        (pa.array([D("123456789012.345"), None], pa.decimal256(60, 3)), "FLOAT", [123456789012.345, None]),
        (pa.array([[D("1.1")], None, []], pa.list_(pa.decimal128(10, 2))), "LIST<FLOAT>", [[1.1], None, []]),
        (pa.array(["a", None, "b"]).dictionary_encode(), "STRING", ["a", None, "b"]),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None])), "STRING", ["a", None, None]),
        (pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array([D("1.1"), D("2.2")])), "FLOAT", [2.2, 1.1]),
        (pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), ["a", None]), "STRING", ["a", None, None]),
        (pa.array(["a", None], pa.string_view()), "STRING", ["a", None]),
        (pa.array(["a", None], pa.large_string()), "STRING", ["a", None]),
        (pa.array([[[1], [2, None]], None], pa.list_(pa.large_list(pa.int8()))), "LIST<LIST<INTEGER>>",
         [[[1], [2, None]], None]),
        (pa.array([[1], None, [2, 3]], pa.list_view(pa.int32())), "LIST<INTEGER>", [[1], None, [2, 3]]),
        (pa.array([[1], None, [2, 3]], pa.large_list_view(pa.int32())), "LIST<INTEGER>", [[1], None, [2, 3]]),
        (pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int32(), 2)).slice(1), "LIST<INTEGER>", [None, [3, 4]]),
        (pa.array([[1, 2], None, [3, 4]], pa.large_list(pa.int32())).slice(1), "LIST<INTEGER>", [None, [3, 4]]),
        (pa.array([["a"], None], pa.list_(pa.dictionary(pa.int8(), pa.string()))), "LIST<STRING>", [["a"], None]),
        (pa.nulls(2), "NULL", [None, None]),
        (pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None], pa.int8())), "BOOLEAN", [True, False, None]),
        (DENSE, "ANY", [1, "a", None]),
        (CODES, "ANY", [1, "a", None]),
        (SPARSE, "ANY", [1, "a", None]),
        (DENSE.slice(1, 2), "ANY", ["a", None]),
        (SPARSE.slice(1, 2), "ANY", ["a", None]),
        (pa.chunked_array([], pa.decimal128(5, 2)), "NULL", []),
    ],
)  # fmt: skip
def test_values_are_kept(column: Any, kind: str, values: list[Any]) -> None:
    assert loaded(column) == (kind, values)


class Periods(pa.ExtensionType):  # type: ignore[misc]
    """Integers that count months, as pandas' periods have them."""

    def __init__(self) -> None:
        super().__init__(pa.int64(), "test.period")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


PERIODS = pa.ExtensionArray.from_storage(Periods(), pa.array([600]))


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([1, None], pa.time32("s")), "LOCAL TIME"),
        (pa.array([1, None], pa.timestamp("ms")), "LOCAL DATETIME"),
        (pa.array([1, None], pa.timestamp("ns", "Europe/Berlin")), "DATETIME"),
        (pa.array([1, None], pa.timestamp("us", "+02:00")), "DATETIME"),
        (pa.array([1, None], pa.duration("s")), "DURATION"),
        (pa.array([86_400_000, None], pa.date64()), "DATE"),
        (pa.array([2**31 - 1, -(2**31)], pa.date32()), "DATE"),
        (pa.array([{"TIME": "10:00Z"}, None]), "TIME"),
        (pa.array([-31_557_014_135_596_800, 31_556_889_832_780_799], pa.timestamp("s")), "LOCAL DATETIME"),
    ],
)
def test_temporal_types_stay_temporal(column: Any, kind: str) -> None:
    assert loaded(column)[0] == kind


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([1, 2**63], pa.uint64()), "row 1 has 9223372036854775808, which no INTEGER of 64 bits holds"),
        (pa.array([D(2**63)], pa.decimal128(20, 0)), "row 0 has 9223372036854775808, which no INTEGER of 64 bits"),
        (pa.array([D(1), D(10**50)], pa.decimal256(60, 0)), "row 1 has 1000000000000000000000"),
        (pa.array([D(1), D("12345678901234567890.10")], pa.decimal128(38, 2)),
         "row 1 has 12345678901234567890.10, which no FLOAT holds"),
        (pa.array([[D(1)], [D(1), D("0.12345678901234567890")]], pa.list_(pa.decimal128(38, 20))),
         "items of its lists, one after the other: row 2 has 0.12345678901234567890, which no FLOAT holds"),
        (pa.array([{"a": 1}]), "struct<a: int64> can't be a property's type"),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())), "map<string, int32> can't be a property's type"),
        (pa.array([b"a"]), "binary can't be a property's type"),
        (pa.array([b"ab"], pa.binary(2)), "fixed_size_binary[2] can't be a property's type"),
        (pa.array([[{"a": 1}]]), "struct<a: int64> can't be a property's type"),
        (pa.array([1], pa.timestamp("s", "Mars/Base")), "There is no time zone 'Mars/Base'."),
        (pa.array([0, 2**60], pa.timestamp("s")), "row 1 has 1152921504606846976 seconds, beyond the years ±999999999"),
        (pa.array([[-(2**60)]], pa.list_(pa.timestamp("s", "UTC"))), "row 0 has -1152921504606846976 seconds, beyond"),
        (PERIODS, "extension<test.period<Periods>> can't be a property's type"),
        (pa.array([90_000], pa.time32("s")), "its time32[s] can't be read: "),
        (pa.array([86_400_001], pa.date64()), "its date64[ms] can't be read: "),
        (pa.array([{"DATETIME": "tomorrow"}]), "'tomorrow' is no date and time"),
        (pa.DictionaryArray.from_arrays(pa.array([0, 9]), pa.array(["a"]), safe=False), "can't be read: "),
        (pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")),
         "its string can't be read: "),
    ],
)  # fmt: skip
def test_what_can_not_be_kept_is_refused_by_column_and_row(column: Any, message: str) -> None:
    with pytest.raises(StorageError) as raised:
        loaded(column)
    assert raised.value.message.startswith("nodes A, column x") and message in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, D("1.5"), [2**64]])
def test_records_and_frames_refuse_what_tables_refuse(value: Any) -> None:
    with pytest.raises(StorageError, match=r"property x: .*(64 bits|Decimal)") as raised:
        Graph.from_records([{"properties": {"x": value}}])
    assert raised.value.hint
    if isinstance(value, int):
        frame = pd.DataFrame({"id": [1], "x": pd.array([value], dtype=object)})
        with pytest.raises(StorageError):
            Graph.from_arrow({"A": frame})


def test_parquet_files_are_read_as_tables_are(tmp_path: Any) -> None:
    pq.write_table(
        pa.table({"id": [1], "x": pa.array([D("1.10")], pa.decimal128(38, 2))}), tmp_path / "nodes_A.parquet"
    )
    assert Graph.from_parquet(tmp_path).query("MATCH (n) RETURN n.x").value() == 1.1
    wide = pa.array([D("12345678901234567890.10")], pa.decimal128(38, 2))
    pq.write_table(pa.table({"id": [1], "x": wide}), tmp_path / "nodes_A.parquet")
    with pytest.raises(StorageError, match=r"nodes_A.parquet, column x: row 0 has 12345678901234567890.10"):
        Graph.from_parquet(tmp_path)


def test_columns_of_all_types_can_be_split_by_labels() -> None:
    views = pa.array(["x", "y", "z"], pa.string_view())
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), pa.array(["a", "b"]))
    table = pa.table({"id": [1, 2, 3], "kind": ["A", "B", "A"], "v": views, "r": runs})
    graph = Graph.from_arrow(table, label_column="kind")
    rows = graph.query("MATCH (n:A) RETURN n.v, n.r ORDER BY n.id").fetchall()
    assert rows == [("x", "a"), ("z", "b")]


def test_a_stream_with_bad_offsets_is_refused() -> None:
    data = io.BytesIO()
    table = pa.table({"id": ["abc", "defg"]})
    with pa.ipc.new_stream(data, table.schema) as writer:
        writer.write_table(table)
    offsets = np.array([0, 3, 7], np.int32).tobytes()
    assert data.getvalue().count(offsets) == 1
    bad = data.getvalue().replace(offsets, np.array([0, 2**30, 7], np.int32).tobytes())
    with pytest.raises(StorageError, match="nodes A, column id: its string can't be read"):
        Graph.from_arrow({"A": pa.ipc.open_stream(bad)})
