"""What expressions read of nodes and relationships: properties, labels, types, ids and ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from qengine.exec.common.columns import (
    ArrowColumn,
    BoolArray,
    Column,
    ConstantColumn,
    IntArray,
    ListColumn,
    NodeColumn,
    RelationshipColumn,
    boolean_column,
    concatenate,
    from_arrow,
    integer_column,
    null_column,
)
from qengine.exec.common.duration_column import DurationColumn
from qengine.exec.common.expressions import temporal
from qengine.exec.common.map_column import MapColumn
from qengine.exec.common.point_column import PointColumn
from qengine.exec.common.property_texts import PropertyTexts, TextProperty
from qengine.exec.common.runtime import Runtime
from qengine.exec.common.text_rows import TextRows
from qengine.exec.view import ExecView
from qengine.plan.pattern import LabelExpr
from qengine.storage.arrays import in_ranges
from qengine.storage.normal import is_string


def property_of(store: ExecView, subject: Column, key: str) -> Column | None:
    """Return a property of nodes or relationships, or a field of maps, dates and times: null where it is absent."""
    if isinstance(subject, NodeColumn):
        column = store.node_property(key)
        if column is None:
            return null_column(len(subject))
        if is_string(column.arrow_type):
            of = TextProperty(store, column, (key,))
            return PropertyTexts(of, None if subject.bounds else subject.ids, subject.bounds)
        if subject.bounds is not None:
            return from_arrow(column.slice(*subject.bounds))
        return from_arrow(column.take(subject.ids))
    if isinstance(subject, RelationshipColumn):
        return _relationship_property(store, subject, key)
    if isinstance(subject, TextRows | MapColumn | DurationColumn | PointColumn):
        return subject.field(key)
    if isinstance(subject, ArrowColumn) and (found := temporal.field_of(subject, key)) is not None:
        return found
    return _null_for_null(subject)


def _relationship_property(store: ExecView, subject: RelationshipColumn, key: str) -> Column:
    if subject.bounds is not None:
        index = int(store.type_of(np.array([subject.bounds[0]]))[0])
        return _of_type(store, index, key, subject)
    ids = subject.ids
    if (only := _only_type(store, ids)) is not None:
        return _of_type(store, only, key, subject)
    index_of = _types(store, ids)
    parts: list[Column] = []
    rows: list[IntArray] = []
    for index in range(-1, len(store.types)):
        inside = np.flatnonzero(index_of == index)
        if len(inside):
            rows.append(inside)
            parts.append(_of_type(store, index, key, RelationshipColumn(ids[inside])))
    if len(parts) <= 1:
        return parts[0] if parts else null_column(0)
    places = np.empty(len(ids), dtype=np.int64)
    places[np.concatenate(rows)] = np.arange(len(ids))
    return concatenate(parts).take(places)


def _of_type(store: ExecView, index: int, key: str, subject: RelationshipColumn) -> Column:
    """Return a property of relationships of one type; -1 is that of nulls."""
    column = None if index < 0 else store.relationship_property(index, key)
    if column is None:
        return null_column(len(subject))
    base = store.types[index].base
    if subject.bounds is not None:
        begin, end = (each - base for each in subject.bounds)
        if is_string(column.arrow_type):
            return PropertyTexts(TextProperty(store, column, (index, key)), None, (begin, end))
        return from_arrow(column.slice(begin, end))
    ids = subject.ids - base if base else subject.ids
    if is_string(column.arrow_type):
        return PropertyTexts(TextProperty(store, column, (index, key)), ids)
    return from_arrow(column.take(ids))


def _only_type(store: ExecView, ids: IntArray) -> int | None:
    """Return the type that all relationships have; None where they have several, or one is null."""
    if not len(ids):
        return None
    low, high = int(ids.min()), int(ids.max())
    if low < 0:
        return None
    first, last = store.type_of(np.array([low, high])).tolist()
    return int(first) if first == last else None


def _types(store: ExecView, ids: IntArray) -> IntArray:
    """Return the type index of each relationship, -1 for null."""
    index = np.full(len(ids), -1, dtype=np.int64)
    present = ids >= 0
    index[present] = store.type_of(ids[present])
    return index


def _null_for_null(subject: Column) -> Column | None:
    is_null = (isinstance(subject, ConstantColumn) and subject.value is None) or (
        isinstance(subject, ArrowColumn) and pa.types.is_null(subject.type)
    )
    return null_column(len(subject)) if is_null else None


def has_labels(runtime: Runtime, subject: Column, labels: LabelExpr) -> Column | None:
    """Return whether nodes have the labels, or relationships the type."""
    store = runtime.store
    if isinstance(subject, NodeColumn):
        ranges = store.label_ranges(labels)
        if subject.bounds is not None:
            return boolean_column(within(*subject.bounds, ranges))
        return boolean_column(in_ranges(subject.ids, ranges), subject.nulls())
    if isinstance(subject, RelationshipColumn):
        matching = np.isin(_types(store, subject.ids), store.matching_types(labels))
        return boolean_column(matching, subject.nulls())
    return _null_for_null(subject)


def within(begin: int, end: int, ranges: IntArray, dtype: Any = np.bool_) -> Any:
    """Return which ids of ``[begin, end)`` lie in one of the ranges ``[low, high)`` (k, 2), as ones of a type."""
    inside = np.zeros(end - begin, dtype)
    for low, high in ranges.tolist():
        inside[max(0, low - begin) : max(0, high - begin)] = 1
    return inside


def _nulls(ids: IntArray) -> BoolArray | None:
    nulls = ids < 0
    return nulls if nulls.any() else None


def _id(runtime: Runtime, subject: Column) -> Column | None:
    store = runtime.store
    if isinstance(subject, NodeColumn):
        return integer_column(store.node_numbers.of(subject.ids), subject.nulls())
    if isinstance(subject, RelationshipColumn):
        return integer_column(store.relationship_numbers.of(subject.ids), subject.nulls())
    return _null_for_null(subject)


def _element_id(runtime: Runtime, subject: Column) -> Column | None:
    numbers = _id(runtime, subject)
    return ArrowColumn(numbers.array.cast(pa.string())) if isinstance(numbers, ArrowColumn) else numbers


def _type(runtime: Runtime, subject: Column) -> Column | None:
    if not isinstance(subject, RelationshipColumn):
        return _null_for_null(subject)
    return ArrowColumn(type_names(runtime.store, subject.ids))


def type_names(store: ExecView, ids: IntArray) -> Any:
    """Return the type of each relationship as an Arrow array of strings, null for null."""
    kinds = _types(store, ids)
    present = kinds[kinds >= 0]
    first, last = (int(present.min()), int(present.max())) if len(present) else (0, -1)
    names = pa.array([kind.name for kind in store.types[first : last + 1]], pa.string())
    return names.take(pa.array(kinds - first, mask=_nulls(ids)))


def label_lists(store: ExecView, ids: IntArray) -> ListColumn:
    """Return the labels of each vertex, null for null."""
    groups = [group for group in store.groups if group.begin < group.end]
    names = [store.labels_of(group.begin) for group in groups]
    offsets = np.cumsum([0, *map(len, names), 0], dtype=np.int64)
    flat = pa.array([label for labels in names for label in labels], pa.string())
    by_group = ListColumn(offsets, ArrowColumn(flat), np.arange(len(groups) + 1) < len(groups))
    begins = np.array([group.begin for group in groups], dtype=np.int64)
    group_of = np.searchsorted(begins, ids, side="right") - 1
    found = by_group.take(np.where(ids < 0, len(groups), group_of))
    assert isinstance(found, ListColumn)
    return found


def _labels(runtime: Runtime, subject: Column) -> Column | None:
    return label_lists(runtime.store, subject.ids) if isinstance(subject, NodeColumn) else _null_for_null(subject)


def _end(which: int) -> Callable[[Runtime, Column], Column | None]:
    def function(runtime: Runtime, subject: Column) -> Column | None:
        if not isinstance(subject, RelationshipColumn):
            return _null_for_null(subject)
        ends = np.full(len(subject), -1, dtype=np.int64)
        present = subject.ids >= 0
        ends[present] = runtime.store.endpoints(subject.ids[present])[which]
        return NodeColumn(ends)

    return function


ENTITIES: dict[str, Callable[..., Column | None]] = {
    "id": _id,
    "elementid": _element_id,
    "type": _type,
    "labels": _labels,
    "startnode": _end(0),
    "endnode": _end(1),
}
