"""Maps as columns: literals, projections, and the properties and keys of nodes and relationships."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from qengine.exec.common.columns import (
    ArrowColumn,
    BoolArray,
    Column,
    ListColumn,
    NodeColumn,
    ObjectColumn,
    RelationshipColumn,
)
from qengine.exec.common.expressions.entities import property_of
from qengine.exec.common.map_column import MapColumn
from qengine.exec.common.runtime import Runtime


def _present(runtime: Runtime, subject: NodeColumn | RelationshipColumn) -> dict[str, tuple[Column, BoolArray]] | None:
    """Return the properties that one of the entities has, each with whose it is; None where they aren't told here."""
    entity = "node" if isinstance(subject, NodeColumn) else "relationship"
    found = {}
    for key in runtime.store.property_keys(entity):
        column = property_of(runtime.store, subject, key)
        if column is None:
            return None
        own = ~column.is_null()
        if own.any():
            found[key] = column, own
    return found


def _valid(subject: NodeColumn | RelationshipColumn) -> BoolArray | None:
    null = subject.is_null()
    return ~null if null.any() else None


def _properties(runtime: Runtime, subject: Column) -> Column | None:
    if isinstance(subject, MapColumn):
        return subject
    if not isinstance(subject, NodeColumn | RelationshipColumn):
        return None
    present = _present(runtime, subject)
    if present is None:
        return None
    valid = _valid(subject)
    if all(own.all() if valid is None else own[valid].all() for _, own in present.values()):
        return MapColumn({key: column for key, (column, _) in present.items()}, len(subject), valid)
    if runtime.memory.limit is not None:  # what becomes Python's objects is charged row by row
        return None
    rows = MapColumn({key: column for key, (column, _) in present.items()}, len(subject), valid).values()
    return ObjectColumn(
        [None if row is None else {key: value for key, value in row.items() if value is not None} for row in rows]
    )


def _keys(runtime: Runtime, subject: Column) -> Column | None:
    if isinstance(subject, MapColumn):
        names, own = list(subject.fields), np.ones((len(subject), len(subject.fields)), np.bool_)
        valid = subject.valid
    elif isinstance(subject, NodeColumn | RelationshipColumn):
        present = _present(runtime, subject)
        if present is None:
            return None
        names = list(present)
        own = np.array([own for _, own in present.values()], np.bool_).reshape(len(names), len(subject)).T
        valid = _valid(subject)
    else:
        return None
    if valid is not None:
        own &= valid[:, None]
    offsets = np.concatenate(([0], np.cumsum(own.sum(axis=1, dtype=np.int64))))
    items = pa.array(names, pa.string()).take(pa.array(np.nonzero(own)[1]))
    return ListColumn(offsets, ArrowColumn(items), valid)


def projected(runtime: Runtime, subject: Column, everything: bool, entries: Mapping[str, Column]) -> Column | None:
    """Return ``subject {…}``: all properties first where ``everything``, then the entries; null for null.

    None where rows have different keys, or the subject is no column of nodes, relationships or maps of the same keys.
    """
    if not isinstance(subject, NodeColumn | RelationshipColumn | MapColumn):
        return None
    first: Mapping[str, Column] = {}
    if everything:
        all_of_them = _properties(runtime, subject)
        if not isinstance(all_of_them, MapColumn):
            return None
        first = all_of_them.fields
    null = subject.is_null()
    return MapColumn({**first, **entries}, len(subject), ~null if null.any() else None)


MAPS: dict[str, Callable[..., Column | None]] = {
    "properties": _properties,
    "keys": _keys,
}
