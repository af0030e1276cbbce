"""Results: rows by name, fetching, Arrow data, previews, early stop."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

import qengine
from qengine.exec.arrow_out import RowBatch
from qengine.result import Result, ResultStats

COLUMNS = ("name", "age")


def result(*batches: list[tuple[object, object]], pulled: list[int] | None = None) -> Result:
    def stream() -> Iterator[RowBatch]:
        for i, rows in enumerate(batches):
            if pulled is not None:
                pulled.append(i)
            yield RowBatch(COLUMNS, rows)

    return Result(COLUMNS, stream(), ResultStats(), None)


def test_rows_are_found_by_name_and_place() -> None:
    row = result([("Ada", 36)]).fetchone()
    assert row is not None
    assert row["name"] == row[0] == "Ada" and row.asdict() == {"name": "Ada", "age": 36}
    assert row == ("Ada", 36) and row.get("size", 7) == 7 and repr(row) == "Row(name='Ada', age=36)"
    with pytest.raises(KeyError, match="no column 'size'; there are: name, age"):
        row["size"]


def test_fetching_takes_each_row_once() -> None:
    found = result([("a", 1), ("b", 2)], [], [("c", 3)])
    assert found.fetchmany(1) == [("a", 1)]
    assert found.fetchone() == ("b", 2)
    assert found.fetchall() == [("c", 3)]
    assert found.fetchone() is None and found.fetchall() == []


def test_batches_are_pulled_when_needed() -> None:
    pulled: list[int] = []
    found = result([("a", 1)], [("b", 2)], [("c", 3)], pulled=pulled)
    assert pulled == []
    found.fetchone()
    assert pulled == [0]
    found.close()
    assert found.fetchall() == [] and pulled == [0]


def test_preview_does_not_consume() -> None:
    found = result([("a", 1)], [("b", 2)], [("c", 3)])
    assert found.fetchone() == ("a", 1)
    rows, more = found.preview(1)
    assert rows == [("b", 2)] and more
    assert found.fetchall() == [("b", 2), ("c", 3)]


def test_html_escapes() -> None:
    assert "&lt;b&gt;" in result([("<b>", 1)])._repr_html_()


def test_arrow_takes_what_is_left() -> None:
    found = result([("a", 1), ("b", 2)], [("c", None)])
    found.fetchone()
    assert found.to_arrow().to_pydict() == {"name": ["b", "c"], "age": [2, None]}


def test_a_column_of_changing_type_keeps_each_value() -> None:
    table = result([("a", 1)], [("b", "x")], [("c", 1.5)]).to_arrow()
    assert table["age"].to_pylist() == [1, "x", 1.5]
    assert [type(value) for value in table["age"].to_pylist()] == [int, str, float]


def test_stream_interface_is_arrow() -> None:
    table = pa.table(result([("a", 1)], [("b", 2)]))
    assert table.to_pydict() == {"name": ["a", "b"], "age": [1, 2]}


def test_no_rows_still_have_columns() -> None:
    assert result().to_arrow().column_names == ["name", "age"]


def test_data_frames() -> None:
    assert result([("a", 1)]).to_pandas().to_dict("list") == {"name": ["a"], "age": [1]}
    assert result([("a", 1)]).to_polars().to_dict(as_series=False) == {"name": ["a"], "age": [1]}


def test_nodes_become_structs() -> None:
    node = qengine.Node(3, ("A",), {"x": 1})
    array = RowBatch(("n",), [(node,), (None,)]).arrow("n")
    assert array.to_pylist() == [{"id": 3, "labels": ["A"], "properties": {"x": 1}}, None]
