"""A graph in parts, as files hold it: nodes by label set, relationships by type, keys beside their properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

import numpy as np
import pyarrow as pa

from qengine._frozen import frozen
from qengine.errors import StorageError
from qengine.plan.pattern import Direction
from qengine.storage.arrays import Array
from qengine.storage.assemble import NodeBlock, RelationshipBlock, assemble
from qengine.storage.columns import PropertyColumn, property_maps
from qengine.storage.given import type_names
from qengine.storage.keys import KeyIndex, no_nodes
from qengine.storage.store import GraphStore
from qengine.storage.variant import concatenate

_ROWS = 1 << 14  # whose properties are Python values at a time


@frozen
class NodePart:
    """All nodes that have exactly these labels: their numbers (int64), and a normal array for each property."""

    labels: tuple[str, ...]
    ids: Array
    columns: Mapping[str, Any] = field(default_factory=dict)

    def property_maps(self) -> Iterable[dict[str, Any]]:
        """Return the properties of each node in Python; those that are null are absent."""
        return _property_maps(self.columns, len(self.ids))


@frozen
class RelationshipPart:
    """All relationships of a type: numbers of their ends (int64), and a normal array for each property."""

    type: str
    undirected: bool
    start: Array
    end: Array
    columns: Mapping[str, Any] = field(default_factory=dict)

    def property_maps(self) -> Iterable[dict[str, Any]]:
        """Return the properties of each relationship in Python; those that are null are absent."""
        return _property_maps(self.columns, len(self.start))


def node_parts(store: GraphStore) -> Iterable[NodePart]:
    """Yield the nodes of a graph, label set by label set."""
    ranges: dict[frozenset[str], list[tuple[int, int]]] = {}
    for group in store.groups:
        if group.begin < group.end:
            ranges.setdefault(group.labels, []).append((group.begin, group.end))
    order = {label: place for place, label in enumerate(store.labels)}
    keys = store.property_keys("node")
    for labels, own in ranges.items():
        columns = {}
        for key in keys:
            column = store.node_property(key)
            if column is not None and any(column.occurs(begin, end) for begin, end in own):
                columns[key] = concatenate([column.slice(begin, end) for begin, end in own])
        ids = np.concatenate([np.arange(begin, end, dtype=np.int64) for begin, end in own])
        yield NodePart(tuple(sorted(labels, key=order.__getitem__)), store.node_numbers.of(ids), columns)


def relationship_parts(store: GraphStore) -> Iterable[RelationshipPart]:
    """Yield the relationships of a graph, type by type; types without any are left out."""
    for found in store.types:
        if not found.count:
            continue
        out = store.adjacency(found.index, Direction.OUT)
        start, end = out.owners(np.arange(found.count)), np.asarray(out.neighbours)
        columns = {}
        for key in found.property_keys:
            column = store.relationship_property(found.index, key)
            if column is not None and column.occurs(0, found.count):
                columns[key] = column.slice(0, found.count)
        first, second = (store.node_numbers.of(ends.astype(np.int64)) for ends in (start, end))
        yield RelationshipPart(found.name, found.undirected, first, second, columns)


def _property_maps(columns: Mapping[str, Any], rows: int) -> Iterable[dict[str, Any]]:
    held = {key: PropertyColumn(0, array) for key, array in columns.items()}
    for first in range(0, rows, _ROWS):
        yield from property_maps(held, np.arange(first, min(first + _ROWS, rows), dtype=np.int64))


class Builder:
    """Makes a graph of tables that come one after the other; ends may be given before the nodes that they are.

    Keys are int64 or string arrays (``storage.keys.key_array``), and are known in a space: a key is one node's there.
    """

    def __init__(self) -> None:
        self._blocks: list[NodeBlock] = []
        self._rows = 0
        self._keys: dict[str, list[tuple[Any, Array]]] = {}
        self._places: dict[str, set[str]] = {}
        self._relationships: list[tuple[str, tuple[_Ends, _Ends], Mapping[str, Any]]] = []
        self.undirected: set[str] = set()

    def nodes(
        self,
        labels: Iterable[str],
        columns: Mapping[str, Any],
        keys: Any,
        rows: int,
        space: str = "",
        place: str = "nodes",
    ) -> None:
        """Add nodes with the same labels; ``keys`` is None where they have none; ``place``: what errors call them."""
        block = NodeBlock(tuple(dict.fromkeys(labels)), rows, columns)
        if keys is not None:
            ordinals = np.arange(self._rows, self._rows + rows, dtype=np.uint32)
            self._keys.setdefault(space, []).append((keys, ordinals))
            self._places.setdefault(space, set()).add(place)
        self._blocks.append(block)
        self._rows += rows

    def relationships(
        self, type: str, start: tuple[Any, str, str], end: tuple[Any, str, str], columns: Mapping[str, Any]
    ) -> None:
        """Add relationships of a type; of each end the keys, their space, and what errors call them."""
        self._relationships.append((type, (_Ends(*start), _Ends(*end)), columns))

    def store(self, undirected: Iterable[str] = ()) -> GraphStore:
        """Return the graph.

        Raises
        ------
        StorageError
            For a key that two nodes have, or that none has.
        """
        indexes = {space: _index(parts, self._place(space, parts)) for space, parts in self._keys.items()}
        blocks = []
        for type, ends, columns in self._relationships:
            start, end = (each.found(indexes) for each in ends)
            blocks.append(RelationshipBlock(type, start, end, columns))
        both_ways = type_names(undirected) | self.undirected
        if unknown := sorted(both_ways - {block.type for block in blocks}):
            raise StorageError(f"there is no relationship type {unknown[0]} to be undirected")
        return assemble(self._blocks, blocks, both_ways)

    def _place(self, space: str, parts: list[tuple[Any, Array]]) -> str:
        """Return what errors call a space: its table, where that is one with nodes of the same labels."""
        if len(parts) == 1:
            return next(iter(self._places[space]))
        return f"nodes of the space {space}" if space else "nodes"


@frozen
class _Ends:
    """Keys of some relationships' starts or ends, the space in which nodes have them, and what errors call them."""

    keys: Any
    space: str
    place: str

    def found(self, indexes: dict[str, KeyIndex]) -> Array:
        keys, index = self.keys, indexes.get(self.space)
        if not indexes and len(keys):
            raise no_nodes(self.place)
        if index is None:
            index = indexes[self.space] = KeyIndex(pa.array([], pa.int64()), np.empty(0, np.uint32), "nodes")
        if index.has_strings is not None and index.has_strings is pa.types.is_int64(keys.type):
            if not index.has_strings:
                index = indexes[self.space] = index.as_strings()
            keys = keys.cast(pa.string())
        return index.find(keys, self.place)


def _index(parts: list[tuple[Any, Array]], place: str) -> KeyIndex:
    arrays = [keys for keys, _ in parts]
    if len({array.type for array in arrays}) > 1:
        arrays = [array.cast(pa.large_string()) for array in arrays]
    ordinals = np.concatenate([own for _, own in parts])
    return KeyIndex(pa.concat_arrays(arrays), ordinals, place)
