"""Rows of a result: columns as Python values, or as Arrow arrays.

==========================  ====================================================================
column                      Arrow type
==========================  ====================================================================
booleans, numbers, strings  bool, int64, double, string; temporal values: see ``qengine.temporal.arrow``
nodes                       struct<id: int64, labels: list<string>, properties: struct<…>>
relationships               struct<id, type: string, start, end: int64, properties: struct<…>>
paths                       struct<nodes: list<…>, relationships: list<…>>
all else                    see ``qengine.exec.arrow_values``
==========================  ====================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from qengine._limits import Limits, limited_by
from qengine.exec.arrow_values import Tell, array_of, silent, told_as_text
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import (
    ArrowColumn,
    BoolArray,
    Column,
    ConstantColumn,
    IntArray,
    ListColumn,
    NodeColumn,
    PathColumn,
    RelationshipColumn,
)
from qengine.exec.common.duration_column import DurationColumn
from qengine.exec.common.expressions.entities import label_lists, property_of, type_names
from qengine.exec.common.expressions.growth import property_bytes
from qengine.exec.common.map_column import MapColumn
from qengine.exec.common.number_column import NumberColumn
from qengine.exec.common.property_texts import PropertyTexts
from qengine.exec.context import ExecutionContext
from qengine.exec.interruptible import CHECKED_ITEMS, in_parts, unchecked
from qengine.exec.scalar.materialize import materialize
from qengine.exec.sizes import size_of
from qengine.exec.view import ExecView
from qengine.temporal.arrow import without_text

_PLAIN = frozenset((type(None), bool, int, float, str))


class ResultRows:
    """Some rows of a result.

    Parameters
    ----------
    batch
        The result's columns.
    store
        The graph, which gives labels and properties of nodes and relationships.
    limits
        What reading these obeys.
    """

    __slots__ = ("_batch", "_check", "_limits", "_store")

    def __init__(self, batch: Batch, store: ExecView, limits: Limits | None = None) -> None:
        self._batch = batch
        self._store = store
        self._limits = limits
        self._check = unchecked if limits is None else limits.check

    @property
    def length(self) -> int:
        """Number of rows."""
        return self._batch.length

    def slice(self, offset: int, length: int) -> ResultRows:
        """Return the rows ``[offset, offset + length)`` as far as there are."""
        return ResultRows(self._batch.slice(offset, length), self._store, self._limits)

    @property
    def held_bytes(self) -> int:
        """Bytes of the columns that share nothing with the arrays that ``arrow`` gives."""
        return sum(column.nbytes for column in self._batch.columns.values() if not _is_plain(column))

    def written_bytes(self) -> int:
        """Return the bytes of all columns as Arrow arrays, where each row has a copy of what it holds."""
        return sum(self._written(column) for column in self._batch.columns.values())

    def _written(self, column: Column) -> int:
        if isinstance(column, ConstantColumn):
            return size_of(column.value) * len(column)
        if isinstance(column, ListColumn):
            items = len(column.items)
            each = self._written(column.items) / items if items else 0.0
            return int(column.lengths().sum() * each) + column.starts.nbytes
        if isinstance(column, MapColumn):
            return sum(map(self._written, column.fields.values()))
        if isinstance(column, PathColumn):
            return self._written(column.nodes) + self._written(column.relationships)
        if isinstance(column, NodeColumn | RelationshipColumn):
            keys = self._store.property_keys("node" if isinstance(column, NodeColumn) else "relationship")
            return (1 + len(keys)) * 16 * len(column) + sum(property_bytes(self._store, column, key) for key in keys)
        return column.nbytes

    def values(self, name: str) -> list[Any]:
        """Return a column as Python values; nodes, relationships and paths as those of ``qengine.types``."""
        column = self._batch.columns[name]
        if isinstance(column, ArrowColumn) or (type(column) is ConstantColumn and _is_held(column.value)):
            return column.values()
        with limited_by(self._limits):
            return self._entities(column)

    def _entities(self, column: Column) -> list[Any]:
        """Return a column that may hold nodes and relationships as Python values."""
        if isinstance(column, NodeColumn):
            return self._read(self._store.nodes, column.ids)
        if isinstance(column, RelationshipColumn):
            return self._read(self._store.relationships, column.ids)
        return [value for (value,) in materialize([(value,) for value in column.values()], self._store, self._check)]

    def _read(self, read: Callable[[IntArray], list[Any]], ids: IntArray) -> list[Any]:
        if len(ids) <= CHECKED_ITEMS:
            return read(ids)
        return [entity for part in in_parts(ids, self._check) for entity in read(part)]

    def arrow(self, name: str, tell: Tell = silent) -> Any:
        """Return a column as an Arrow array (see the module); ``tell`` hears of values that change their form."""
        with limited_by(self._limits):
            return self._array(self._batch.columns[name], tell)

    def _array(self, column: Column, tell: Tell) -> Any:
        """Return a column as an array, made of those of its parts; what are Python's objects by ``array_of``."""
        if isinstance(column, ConstantColumn):
            if column.value is None:
                return pa.nulls(len(column))
            column = column.expanded()
        if isinstance(column, PropertyTexts) and isinstance(self._limits, ExecutionContext):
            return column.made(self._limits)
        if isinstance(column, ArrowColumn):
            return column.array
        if isinstance(column, NodeColumn):
            return self._nodes(column.ids, tell)
        if isinstance(column, RelationshipColumn) and (column.ids >= 0).any():
            return self._relationships(column.ids, tell)
        if isinstance(column, PathColumn):
            fields = {"nodes": column.nodes, "relationships": column.relationships}
            return self._structs(fields, None if column.nodes.valid is None else ~column.nodes.valid, tell)
        if isinstance(column, MapColumn) and column.fields:
            return self._structs(column.fields, None if column.valid is None else ~column.valid, tell)
        if isinstance(column, ListColumn):
            return _lists(column, self._array(column.flat(), tell))
        if isinstance(column, DurationColumn | NumberColumn) and (array := column.array()) is not None:
            return array
        return array_of(self._entities(column), tell)

    def _structs(self, fields: Mapping[str, Column], null: BoolArray | None, tell: Tell) -> Any:
        """Return structs of columns, each null where ``null`` is true."""
        arrays = [self._array(column, tell) for column in fields.values()]
        mask = None if null is None else pa.array(null)
        return pa.StructArray.from_arrays(arrays, names=list(fields), mask=mask)

    def _nodes(self, ids: IntArray, tell: Tell) -> Any:
        """Return nodes as structs, each property read as a column."""
        read = self._store.node_property
        columns = {key: column for key in self._store.property_keys("node") if (column := read(key)) is not None}
        properties = [told_as_text(column.take(ids), tell) for column in columns.values()]
        fields = {
            "id": pa.array(self._store.node_numbers.of(ids)),
            "labels": self._array(label_lists(self._store, ids), tell),
            "properties": pa.StructArray.from_arrays(properties, list(columns)) if columns else pa.nulls(len(ids)),
        }
        return pa.StructArray.from_arrays(list(fields.values()), names=list(fields), mask=pa.array(ids < 0))

    def _relationships(self, ids: IntArray, tell: Tell) -> Any:
        """Return relationships as structs, each property read as a column."""
        store, keys = self._store, self._store.property_keys("relationship")
        ends = np.zeros((2, len(ids)), np.int64)
        ends[:, ids >= 0] = [store.node_numbers.of(vertices) for vertices in store.endpoints(ids[ids >= 0])]
        properties = [self._relationship_property(ids, key, tell) for key in keys]
        fields = {
            "id": pa.array(store.relationship_numbers.of(ids)),
            "type": type_names(store, ids),
            "start": pa.array(ends[0]),
            "end": pa.array(ends[1]),
            "properties": pa.StructArray.from_arrays(properties, names=keys) if keys else pa.nulls(len(ids)),
        }
        return pa.StructArray.from_arrays(list(fields.values()), names=list(fields), mask=pa.array(ids < 0))

    def _relationship_property(self, ids: IntArray, key: str, tell: Tell) -> Any:
        """Return a property of relationships; where none has it here, of the type that it has elsewhere."""
        column = property_of(self._store, RelationshipColumn(ids), key)
        assert column is not None
        array = self._array(column, tell)
        if not pa.types.is_null(array.type):
            return array
        columns = (self._store.relationship_property(kind.index, key) for kind in self._store.types)
        types = {without_text(each.array.slice(0, 0)).type for each in columns if each is not None}
        return pa.nulls(len(ids), types.pop()) if len(types) == 1 else array


def result_rows(batch: Batch, store: ExecView, context: ExecutionContext) -> Iterator[ResultRows]:
    """Yield the rows of a batch; where they would take much as values, in parts."""
    memory = context.memory
    waiting = [ResultRows(batch, store, context)]
    while waiting:
        rows = waiting.pop()
        if memory.limit is not None and (size := rows.written_bytes()) > memory.batch_bytes:
            if rows.length > 1:
                half = rows.length // 2
                waiting += (rows.slice(half, rows.length - half), rows.slice(0, half))
                continue
            memory.afford(size)
        yield rows


def _is_held(value: Any) -> bool:
    """Tell whether a value comes out as it is: a plain one, but no count beyond 64 bits."""
    kind = type(value)
    return kind in _PLAIN and (kind is not int or -(2**63) <= value < 2**63)


def _is_plain(column: Column) -> bool:
    return isinstance(column, ArrowColumn) or (isinstance(column, ListColumn) and isinstance(column.items, ArrowColumn))


def _lists(column: ListColumn, items: Any) -> Any:
    """Return lists as an array: ``items`` are those of all rows, one list after the other."""
    offsets = column.offsets()
    nulls = None if column.valid is None else pa.array(~column.valid)
    if offsets[-1] >= 2**31:
        return pa.LargeListArray.from_arrays(pa.array(offsets), items, mask=nulls)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), items, mask=nulls)
