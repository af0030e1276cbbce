"""Columns as Arrow arrays of a file, and what makes columns of the same class and the same values of them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from qengine.exec.common.columns import (
    ArrowColumn,
    Column,
    ConstantColumn,
    ListColumn,
    NodeColumn,
    ObjectColumn,
    RelationshipColumn,
)
from qengine.exec.common.map_column import MapColumn
from qengine.exec.common.property_texts import PropertyTexts
from qengine.exec.spill.values import packed, unpacked

Restore = Callable[[Any], Column]
"""Makes a column of the array that was stored of it; it is kept in memory, and with it a constant's value."""


def stored(column: Column) -> tuple[Any, Restore]:
    """Return a column as an Arrow array, and what makes the column of that. Late texts are stored as ids."""
    match column:
        case NodeColumn():
            return pa.array(column.ids), _nodes
        case RelationshipColumn():
            return pa.array(column.ids), _relationships
        case PropertyTexts(of=of):
            return pa.array(column.ids), lambda array: PropertyTexts(of, array.to_numpy())
        case ArrowColumn():
            return column.array, ArrowColumn
        case ConstantColumn(value=value):
            return pa.nulls(len(column)), lambda array: ConstantColumn(value, len(array))
        case ListColumn():
            return _stored_lists(column)
        case MapColumn(fields=fields) if fields:
            return _stored_maps(column)
    return pa.array(packed(column.values()), pa.large_binary()), _objects


def _nodes(array: Any) -> Column:
    return NodeColumn(array.to_numpy())


def _relationships(array: Any) -> Column:
    return RelationshipColumn(array.to_numpy())


def _objects(array: Any) -> Column:
    return ObjectColumn(unpacked(array.to_pylist()))


def _stored_lists(column: ListColumn) -> tuple[Any, Restore]:
    items, restore = stored(column.flat())
    mask = None if column.valid is None else pa.array(~column.valid)
    offsets = pa.array(column.offsets())

    def lists(array: Any) -> Column:
        valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
        return ListColumn(array.offsets.to_numpy().astype(np.int64), restore(array.values), valid)

    return pa.LargeListArray.from_arrays(offsets, items, mask=mask), lists


def _stored_maps(column: MapColumn) -> tuple[Any, Restore]:
    found = [stored(each) for each in column.fields.values()]
    names = [str(place) for place in range(len(found))]
    restores = dict(zip(column.fields, (restore for _, restore in found), strict=True))  # no column is kept
    mask = None if column.valid is None else pa.array(~column.valid)

    def maps(array: Any) -> Column:
        valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
        fields = {key: restore(array.field(place)) for place, (key, restore) in enumerate(restores.items())}
        return MapColumn(fields, len(array), valid)

    return pa.StructArray.from_arrays([array for array, _ in found], names, mask=mask), maps
