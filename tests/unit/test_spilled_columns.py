"""Columns come back from where rows are kept beyond the memory limit as they were, and as compact."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from qengine.exec.common.columns import ArrowColumn, Column, ConstantColumn, ListColumn, NodeColumn, ObjectColumn
from qengine.exec.common.map_column import MapColumn
from qengine.exec.spill.columns import stored
from qengine.exec.spill.hashes import _PIECE, row_hashes

NODES = NodeColumn(np.array([3, -1, 5]))
NUMBERS = ArrowColumn(pa.array([1, None, 3]))
LISTS = ListColumn(np.array([0, 2, 2, 3]), NODES)
COLUMNS = [
    MapColumn({"a": NODES, "b": NUMBERS}, 3),
    MapColumn({"x": LISTS, "y": ObjectColumn([1, "x", None]), "z": ConstantColumn(7, 3)}, 3),
    MapColumn({"m": MapColumn({"a": NODES}, 3)}, 3, np.array([True, False, True])),
    MapColumn({}, 3),
    ListColumn(np.array([0, 1, 1, 3]), MapColumn({"a": NODES, "": NUMBERS}, 3)),
]


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("places", [slice(0, 3), slice(1, 3)])
def test_columns_come_back(column: Column, places: slice) -> None:
    column = column.slice(places.start, places.stop - places.start)
    array, restore = stored(column)
    sink = pa.BufferOutputStream()
    rows = pa.RecordBatch.from_arrays([array], names=["0"])
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    (read,) = pa.ipc.open_stream(sink.getvalue()).read_next_batch().columns
    found = restore(read)
    assert found.values() == column.values()
    assert isinstance(found, type(column)) or not getattr(column, "fields", True)
    later = restore(array.slice(1))
    assert later.values() == column.values()[1:]


def test_hashes_of_values_are_those_of_each_piece() -> None:
    values: list[object] = [{"a": k % 50, "b": [k % 7]} for k in range(2 * _PIECE + 3)]
    whole = row_hashes([ObjectColumn(values)], len(values))
    assert len(set(whole.tolist())) == 350
    assert row_hashes([ObjectColumn(values[-5:])], 5).tolist() == whole[-5:].tolist()
    assert row_hashes([ObjectColumn([])], 0).tolist() == []
