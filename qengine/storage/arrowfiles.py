"""A graph's arrays as Arrow IPC files.

``adjacency.arrow`` has one record batch of one row for each type and direction, its arrays as list values.
``properties.arrow`` has one record batch of one row, each column the list of all values of one property; the
field's metadata says whose. So arrays of any length stand in one file, and reading is slicing the mapped file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from qengine.plan.pattern import Direction
from qengine.storage.adjacency import GROUP, Adjacency, Form
from qengine.storage.arrays import Array
from qengine.storage.blocks import BlockFile
from qengine.storage.columns import PropertyColumn
from qengine.storage.ipc_layout import check_layout
from qengine.storage.saved_columns import SavedColumn
from qengine.storage.saved_lists import Digests, ListFacts, SavedAdjacency, digests_of, well_sized
from qengine.storage.store import EdgeType, GraphStore

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


_OF_ANY_LENGTH = pa.ipc.IpcWriteOptions(allow_64bit=True)
"""Without it Arrow writes no array of 2^31 values or more; it reads them anyway."""


def write_adjacencies(store: GraphStore, file: BinaryIO) -> None:
    """Write the adjacencies of all types."""
    with pa.ipc.new_file(file, _ADJACENCY, options=_OF_ANY_LENGTH) as writer:
        for edge_type in store.types:
            for direction in (Direction.OUT, Direction.BOTH if edge_type.undirected else Direction.IN):
                one = store.adjacency(edge_type.index, direction)
                scalars = (edge_type.index, direction.value, int(one.form), one.lo, one.hi, one.home_groups, one.reason)
                columns = [pa.array([value], field.type) for value, field in zip(scalars, _ADJACENCY, strict=False)]
                for name, kind in _ARRAYS.items():
                    array = getattr(one, name)
                    if name == "groups" and array is not None:
                        array = array.view(np.uint32).reshape(-1)
                    columns.append(listed(None if array is None else pa.array(array), kind))
                writer.write_batch(pa.record_batch(columns, schema=_ADJACENCY))


def read_adjacencies(
    file: BlockFile, types: Sequence[EdgeType], vertices: int, digests: Sequence[Digests | None]
) -> list[dict[Direction, SavedAdjacency]]:
    """Read what ``write_adjacencies`` wrote; the arrays are parts of the file, checked when they are first read.

    Parameters
    ----------
    file
        The mapped file.
    types, vertices
        What the lists must fit.
    digests
        Of each type's relationships, None where there are none to compare.

    Raises
    ------
    StorageError
        If there aren't the lists of these types, or their arrays don't fit.
    """
    reader = open_batches(file)
    if not reader.schema.equals(_ADJACENCY):
        raise file.damaged("its columns aren't those of neighbour lists")
    wanted = [(edge_type, way) for edge_type in types for way in _ways(edge_type)]
    if reader.num_record_batches != len(wanted):
        raise file.damaged("it doesn't hold the lists of each type")
    plain: dict[tuple[int, Direction], Adjacency] = {}
    for number, (edge_type, way) in enumerate(wanted):
        lists = _lists(file, reader.get_batch(number), edge_type.index, way)
        what = f"relationships {edge_type.name}, direction {way.value}"
        if not (lists.lo <= lists.hi <= vertices and well_sized(lists)):
            raise file.damaged(f"{what}: its arrays don't fit each other")
        needs_ids = way is not Direction.OUT and (edge_type.parallel or edge_type.property_keys)
        if (needs_ids and lists.edge_ids is None) or (way is Direction.OUT and lists.edge_ids is not None):
            raise file.damaged(f"{what}: relationship ids are missing, or shouldn't be there")
        most = 2 * edge_type.count if way is Direction.BOTH else edge_type.count
        if not edge_type.count <= len(lists) <= most:
            raise file.damaged(f"{what}: there are {len(lists):,} entries for {edge_type.count:,} relationships")
        plain[edge_type.index, way] = lists
    found: list[dict[Direction, SavedAdjacency]] = [{} for _ in types]
    seen: list[dict[Direction, Digests]] = [{} for _ in types]
    for edge_type, way in wanted:
        facts = list_facts(edge_type, way, plain, digests[edge_type.index], seen[edge_type.index])
        found[edge_type.index][way] = SavedAdjacency(plain[edge_type.index, way], file, facts)
    return found


def list_facts(
    edge_type: EdgeType,
    way: Direction,
    lists: Mapping[tuple[int, Direction], Adjacency],
    digests: Digests | None,
    seen: dict[Direction, Digests],
) -> ListFacts:
    """Return what a type's lists in one direction are checked against; ``lists`` are of all types and directions."""
    other = Direction.BOTH if edge_type.undirected else Direction.IN
    against = lists[edge_type.index, Direction.OUT if way is Direction.IN else other]
    return ListFacts(
        edge_type.name,
        way,
        edge_type.count,
        (against.lo, against.hi),
        edge_type.undirected,
        edge_type.parallel,
        edge_type.loops,
        lists[edge_type.index, other].edge_ids is not None,
        digests,
        seen,
    )


def type_digests(store: GraphStore, edge_type: EdgeType) -> Digests:
    """Return the digests of a type's relationships."""
    lists = {(edge_type.index, way): store.adjacency(edge_type.index, way) for way in _ways(edge_type)}
    facts = list_facts(edge_type, Direction.OUT, lists, None, {})
    return digests_of(lists[edge_type.index, Direction.OUT], facts)


def open_batches(file: BlockFile) -> Any:
    """Return Arrow's reader of a mapped file whose frame is sound.

    Raises
    ------
    StorageError
        If it isn't.
    """
    check_layout(file)
    try:
        return pa.ipc.open_file(pa.BufferReader(file.buffer))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise file.damaged(f"it is no Arrow file: {error}") from None


def _ways(edge_type: EdgeType) -> tuple[Direction, Direction]:
    return Direction.OUT, Direction.BOTH if edge_type.undirected else Direction.IN


def _lists(file: BlockFile, batch: Any, index: int, way: Direction) -> Adjacency:
    """Return the lists in a batch, which must be of a type and direction."""
    row: dict[str, Any] = {}
    if batch.num_rows != 1:
        raise file.damaged("a batch of neighbour lists has more than one row")
    for name in (name for name in _ADJACENCY.names if name not in _ARRAYS):
        column = batch.column(name)
        file.check_buffers(column)
        column.validate(full=True)
        row[name] = column[0].as_py()
    arrays: dict[str, Any] = {name: _array(file, batch.column(name)) for name in _ARRAYS}
    if (row.pop("type"), row.pop("direction")) != (index, way.value) or None in row.values():
        raise file.damaged("the lists don't stand in the order of types")
    if arrays["neighbours"] is None or row["form"] not in iter(Form):
        raise file.damaged("a batch isn't of neighbour lists")
    if arrays["groups"] is not None:
        if len(arrays["groups"]) % (GROUP.itemsize // 4):
            raise file.damaged("there is a part of a hashed group")
        arrays["groups"] = arrays["groups"].view(GROUP)
    return Adjacency(form=Form(row.pop("form")), **row, **arrays)


def write_properties(store: GraphStore, file: BinaryIO) -> None:
    """Write the property columns of nodes and relationships."""
    fields, columns = [], []

    def add(entity: str, key: str, column: PropertyColumn | None) -> None:
        assert column is not None
        place = {"entity": entity, "key": key, "begin": str(column.begin)}
        columns.append(listed(column.array, column.array.type))
        fields.append(pa.field(f"{entity}.{key}", columns[-1].type, metadata=place))

    for key in store.property_keys("node"):
        add("node", key, store.node_property(key))
    for edge_type in store.types:
        for key in edge_type.property_keys:
            add(str(edge_type.index), key, store.relationship_property(edge_type.index, key))
    schema = pa.schema(fields)
    with pa.ipc.new_file(file, schema, options=_OF_ANY_LENGTH) as writer:
        if columns:
            writer.write_batch(pa.record_batch(columns, schema=schema))


def read_properties(
    file: BlockFile, types: Sequence[EdgeType], vertices: int
) -> tuple[dict[str, SavedColumn], list[dict[str, SavedColumn]]]:
    """Read what ``write_properties`` wrote: columns of nodes, and of each type.

    They are parts of the file, checked when they are first read.

    Raises
    ------
    StorageError
        If they don't fit the types, or there can't be such columns.
    """
    reader = open_batches(file)
    nodes: dict[str, SavedColumn] = {}
    relationships: list[dict[str, SavedColumn]] = [{} for _ in types]
    if reader.num_record_batches != (1 if len(reader.schema) else 0):
        raise file.damaged("it hasn't one batch of columns")
    batch: Any = reader.get_batch(0) if len(reader.schema) else None
    if batch is not None and batch.num_rows != 1:
        raise file.damaged("its batch has more than one row")
    for number, field in enumerate(reader.schema):
        entity, key, begin = _place(file, field, len(types))
        owner = nodes if entity == "node" else relationships[int(entity)]
        values = listed_values(file, batch.column(number))
        size = vertices if entity == "node" else types[int(entity)].count
        if key in owner or begin + len(values) > size or (entity != "node" and (begin or len(values) != size)):
            raise file.damaged(f"property {key}: it covers ids that there aren't")
        owner[key] = SavedColumn(begin, values, file, f"property {key}")
    if [tuple(columns) for columns in relationships] != [each.property_keys for each in types]:
        raise file.damaged("its columns aren't the properties of the relationship types")
    return nodes, relationships


def _place(file: BlockFile, field: Any, types: int) -> tuple[str, str, int]:
    """Return whose values a column has: "node" or the index of a type, the key, and the first id."""
    try:
        entity, key, begin = (field.metadata[name].decode() for name in (b"entity", b"key", b"begin"))
        known = entity == "node" or (re.fullmatch("[0-9]{1,9}", entity) and int(entity) < types)
        if known and re.fullmatch("[0-9]{1,18}", begin):
            return entity, key, int(begin)
    except (KeyError, TypeError, UnicodeDecodeError):
        pass
    raise file.damaged("a column doesn't say whose values it has")


def listed(values: Any, kind: Any) -> Any:
    """Return an array of one list of these values; of null for None."""
    if values is None:
        return pa.nulls(1, pa.large_list(kind))
    return pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values)


def listed_values(file: BlockFile, lists: Any) -> Any:
    """Return what ``listed`` was given, as it stands in the file."""
    if not pa.types.is_large_list(lists.type) or lists.null_count or lists.values.offset:
        raise file.damaged("a column isn't one list")
    return lists.values


def _array(file: BlockFile, lists: Any) -> Array | None:
    if lists.null_count:
        return None
    values = listed_values(file, lists)
    values.validate()
    if values.null_count:
        raise file.damaged("there are nulls among neighbours")
    for buffer in values.buffers():
        if buffer is not None and buffer.size:
            file.place(buffer)
    array: Array = values.to_numpy(zero_copy_only=True)
    return array
