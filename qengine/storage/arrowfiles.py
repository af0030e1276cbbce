"""A graph's arrays as Arrow IPC files.

``adjacency.arrow`` has one record batch of one row for each type and direction, its arrays as list values.
``properties.arrow`` has one record batch of one row, each column the list of all values of one property; the
field's metadata says whose. So arrays of any length stand in one file, and reading is slicing the mapped file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from qengine.plan.pattern import Direction
from qengine.storage.adjacency import GROUP, Adjacency, Form
from qengine.storage.arrays import Array
from qengine.storage.columns import PropertyColumn
from qengine.storage.store import GraphStore

_ARRAYS = {
    "offsets": pa.uint64(),
    "keys": pa.uint32(),
    "groups": pa.uint32(),
    "neighbours": pa.uint32(),
    "edge_ids": pa.uint32(),
}
_ADJACENCY = pa.schema(
    [
        ("type", pa.int32()),
        ("direction", pa.string()),
        ("form", pa.int32()),
        ("lo", pa.uint32()),
        ("hi", pa.uint32()),
        ("home_groups", pa.uint32()),
        ("reason", pa.string()),
        *((name, pa.large_list(kind)) for name, kind in _ARRAYS.items()),
    ]
)


def write_adjacencies(store: GraphStore, file: BinaryIO) -> None:
    """Write the adjacencies of all types."""
    with pa.ipc.new_file(file, _ADJACENCY) as writer:
        for edge_type in store.types:
            for direction in (Direction.OUT, Direction.BOTH if edge_type.undirected else Direction.IN):
                one = store.adjacency(edge_type.index, direction)
                scalars = (edge_type.index, direction.value, int(one.form), one.lo, one.hi, one.home_groups, one.reason)
                columns = [pa.array([value], field.type) for value, field in zip(scalars, _ADJACENCY, strict=False)]
                for name, kind in _ARRAYS.items():
                    array = getattr(one, name)
                    if name == "groups" and array is not None:
                        array = array.view(np.uint32).reshape(-1)
                    columns.append(_listed(None if array is None else pa.array(array), kind))
                writer.write_batch(pa.record_batch(columns, schema=_ADJACENCY))


def read_adjacencies(reader: Any) -> list[dict[Direction, Adjacency]]:
    """Read what ``write_adjacencies`` wrote; the arrays are views of the file."""
    found: dict[int, dict[Direction, Adjacency]] = {}
    for number in range(reader.num_record_batches):
        batch = reader.get_batch(number)
        row = {name: batch.column(name)[0].as_py() for name in _ADJACENCY.names if name not in _ARRAYS}
        arrays: dict[str, Any] = {name: _array(batch.column(name)) for name in _ARRAYS}
        if arrays["groups"] is not None:
            arrays["groups"] = arrays["groups"].view(GROUP)
        direction, index = Direction(row.pop("direction")), row.pop("type")
        found.setdefault(index, {})[direction] = Adjacency(form=Form(row.pop("form")), **row, **arrays)
    return [found[index] for index in sorted(found)]


def write_properties(store: GraphStore, file: BinaryIO) -> None:
    """Write the property columns of nodes and relationships."""
    fields, columns = [], []

    def add(entity: str, key: str, column: PropertyColumn | None) -> None:
        assert column is not None
        place = {"entity": entity, "key": key, "begin": str(column.begin)}
        columns.append(_listed(column.array, column.array.type))
        fields.append(pa.field(f"{entity}.{key}", columns[-1].type, metadata=place))

    for key in store.property_keys("node"):
        add("node", key, store.node_property(key))
    for edge_type in store.types:
        for key in edge_type.property_keys:
            add(str(edge_type.index), key, store.relationship_property(edge_type.index, key))
    schema = pa.schema(fields)
    with pa.ipc.new_file(file, schema) as writer:
        if columns:
            writer.write_batch(pa.record_batch(columns, schema=schema))


def read_properties(reader: Any, types: int) -> tuple[dict[str, PropertyColumn], list[Mapping[str, PropertyColumn]]]:
    """Read what ``write_properties`` wrote: columns of nodes, and of each type; they are views of the file."""
    nodes: dict[str, PropertyColumn] = {}
    relationships: list[dict[str, PropertyColumn]] = [{} for _ in range(types)]
    batch = reader.get_batch(0) if reader.num_record_batches else None
    for number, field in enumerate(reader.schema):
        place = {name.decode(): value.decode() for name, value in field.metadata.items()}
        owner = nodes if place["entity"] == "node" else relationships[int(place["entity"])]
        assert batch is not None
        owner[place["key"]] = PropertyColumn(int(place["begin"]), batch.column(number).values)
    return nodes, list(relationships)


def _listed(values: Any, kind: Any) -> Any:
    """Return an array of one list of these values; of null for None."""
    if values is None:
        return pa.nulls(1, pa.large_list(kind))
    return pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values)


def _array(lists: Any) -> Array | None:
    if lists.null_count:
        return None
    array: Array = lists.values.to_numpy(zero_copy_only=True)
    return array
