"""Finds the nodes that there are by their keys: in the columns of a store, or by indexes of a graph that changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine._frozen import frozen
from qengine.plan.pattern import LabelIs
from qengine.storage.arrays import Array
from qengine.storage.kernels import NO_VERTEX
from qengine.storage.keys import KeyIndex
from qengine.storage.store import GraphStore
from qengine.storage.variant import concatenate, is_variant
from qengine.temporal.arrow import to_values
from qengine.write.given_tables import several
from qengine.write.live import LiveGraph


class StoredNodes:
    """The nodes of a store (``given_tables.Known``): the column of a key is read once, for many keys."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._columns: dict[tuple[frozenset[str], str], tuple[_Keys, _Keys]] = {}

    @property
    def next_node(self) -> int:
        """The least number that no node had yet."""
        return self._store.next_node

    def find(self, labels: tuple[str, ...], key: str, keys: Any, place: str) -> Array:
        """Return the numbers of nodes by their keys, as ``Known.find``."""
        wanted = frozenset(labels), key
        if wanted not in self._columns:
            self._columns[wanted] = self._read(*wanted)
        integers, texts = self._columns[wanted]
        own = integers if pa.types.is_int64(keys.type) else texts
        if not len(own.ids):
            return np.full(len(keys), -1, np.int64)
        if own.twice is not None:
            again = pc.is_in(keys, value_set=own.twice.cast(keys.type))
            if pc.any(again).as_py():
                raise several(keys[again.index(True).as_py()].as_py(), labels[0] if labels else None, place)
        rows = own.index.seek(keys, place)
        found = rows != NO_VERTEX
        if found.all():
            return self._store.node_numbers.of(own.ids[rows])
        ids = np.full(len(keys), -1, np.int64)
        ids[found] = own.ids[rows[found]]
        return self._store.node_numbers.of(ids)

    def _read(self, labels: frozenset[str], key: str) -> tuple[_Keys, _Keys]:
        column = self._store.node_property(key)
        groups = [group for group in self._store.groups if labels <= group.labels]
        if column is None or not groups:
            return _keys(pa.array([], pa.int64()), _NONE), _keys(pa.array([], pa.string()), _NONE)
        values = concatenate([column.slice(group.begin, group.end) for group in groups])
        ids = np.concatenate([np.arange(group.begin, group.end, dtype=np.int64) for group in groups])
        return _integers(values, ids), _texts(values, ids)


_NONE = np.empty(0, np.int64)


@frozen
class _Keys:
    """The keys of one type, with the nodes that have them; ``twice``: those that several have, None for none."""

    index: KeyIndex
    ids: Array
    twice: Any


def _keys(values: Any, ids: Array) -> _Keys:
    """Return keys of nodes, of which nulls aren't any."""
    if values.null_count:
        there = values.is_valid()
        values, ids = values.drop_null(), ids[there.to_numpy(zero_copy_only=False)]
    twice = None
    if pc.count_distinct(values).as_py() < len(values):
        firsts = pc.index_in(values, value_set=values).to_numpy(zero_copy_only=False)
        again = firsts != np.arange(len(values))
        twice = values.filter(pa.array(again)).unique()
        values, ids = values.filter(pa.array(~again)), ids[~again]
    return _Keys(KeyIndex(values, np.arange(len(values), dtype=np.uint32), "nodes"), ids, twice)


def _integers(values: Any, ids: Array) -> _Keys:
    kind = values.type
    if pa.types.is_int64(kind):
        return _keys(values, ids)
    if pa.types.is_float64(kind):
        values = _whole(values)
    elif is_variant(kind):
        values = pa.array([_as_integer(each) for each in to_values(values)], pa.int64())
    else:
        values = pa.nulls(len(values), pa.int64())
    return _keys(values, ids)


def _whole(values: Any) -> Any:
    """Return floats as the integers that they are equal to, null for others."""
    plain = values.fill_null(np.nan).to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        fits = (plain == np.floor(plain)) & (plain >= -(2.0**63)) & (plain < 2.0**63)
    return pa.array(np.where(fits, plain, 0).astype(np.int64), mask=~fits)


def _as_integer(value: Any) -> int | None:
    if type(value) is int:
        return value
    return int(value) if type(value) is float and value.is_integer() and -(2.0**63) <= value < 2.0**63 else None


def _texts(values: Any, ids: Array) -> _Keys:
    kind = values.type
    if is_variant(kind):
        values = pa.array([each if type(each) is str else None for each in to_values(values)], pa.string())
    elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        values = pa.nulls(len(values), pa.string())
    return _keys(values, ids)


class LiveNodes:
    """The nodes of a graph that changes (``given_tables.Known``): each key is looked up by an index."""

    def __init__(self, graph: LiveGraph, check: Callable[[], None]) -> None:
        self._graph = graph
        self._check = check
        self._found: dict[tuple[tuple[str, ...], str, Any], int] = {}

    @property
    def next_node(self) -> int:
        """The least number that no node had yet."""
        return self._graph.overlay.next_node

    def find(self, labels: tuple[str, ...], key: str, keys: Any, place: str) -> Array:
        """Return the numbers of nodes by their keys, as ``Known.find``."""
        return np.array([self._one(labels, key, each, place) for each in keys.to_pylist()], np.int64)

    def _one(self, labels: tuple[str, ...], key: str, value: Any, place: str) -> int:
        known = self._found.get((labels, key, value))
        if known is not None:
            return known
        self._check()
        expr = LabelIs(labels[0]) if labels else None
        found = -1
        for number in self._graph.having({key: value}, expr):
            node = self._graph.overlay.node(number)
            if node is None or not set(labels) <= set(node.labels) or not _equal(node.properties.get(key), value):
                continue
            if found not in (-1, number):
                raise several(value, labels[0] if labels else None, place)
            found = number
        self._found[labels, key, value] = found
        return found


def _equal(value: Any, key: Any) -> bool:
    return value is not None and type(value) is not bool and bool(value == key)
