"""Tables that are appended to a graph: which of their rows are nodes that there are, and which nodes their ends are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from qengine._frozen import frozen
from qengine.errors import StorageError
from qengine.storage.arrays import Array
from qengine.storage.assemble import NodeBlock, RelationshipBlock
from qengine.storage.given import arrow_table, end_columns, node_tables, relationship_tables, type_names
from qengine.storage.kernels import NO_VERTEX
from qengine.storage.keys import KeyIndex, check_found, key_array
from qengine.storage.states import Patch
from qengine.storage.tables import explained_ends, node_table, property_arrays

KEY = "id"
"""The property that is a label's key where nothing else is said."""


@frozen
class Options:
    """How tables are appended; arguments of ``Graph.append_arrow``."""

    key: str | None = None
    upsert: bool = False
    label_column: str | None = None
    type_column: str | None = None
    undirected: Iterable[str] = ()


@frozen
class Extension:
    """What is added to a graph.

    Attributes
    ----------
    nodes
        New nodes; ordinals count through the blocks.
    replaced
        Properties of nodes that there are.
    relationships
        New relationships. Their ends (int64) are numbers of nodes; ``next_node`` of the graph and an ordinal together
        stand for a new one.
    undirected
        Names of new types that have no direction.
    """

    nodes: Sequence[NodeBlock] = ()
    replaced: Sequence[Patch] = ()
    relationships: Sequence[RelationshipBlock] = ()
    undirected: frozenset[str] = field(default_factory=frozenset)


class Known(Protocol):
    """The nodes that there are before anything is appended."""

    @property
    def next_node(self) -> int:
        """The least number that no node had yet."""

    def find(self, labels: tuple[str, ...], key: str, keys: Any, place: str) -> Array:
        """Return the numbers (int64) of the nodes that have all ``labels`` and whose ``key`` is one of ``keys``.

        -1 where there is none.

        Raises
        ------
        StorageError
            For a key that several have.
        """


@dataclass
class _Nodes:
    """A node table: its block and keys; of each row the node that it is (``found``, -1 for new ones)."""

    place: str
    block: NodeBlock
    key: str
    keys: Any
    found: Array
    references: Array  # numbers of nodes that there are; from ``next_node`` on of new ones, in their order


class Tables:
    """What is given to ``Graph.append_arrow``, read and checked as a loader does.

    Attributes
    ----------
    rows
        Of all tables.
    types
        The relationships' types.
    undirected
        Names of types that are given as undirected.

    Raises
    ------
    StorageError
        As ``Graph.from_arrow``.
    """

    def __init__(self, nodes: Any, relationships: Any, options: Options) -> None:
        self.options = options
        self.nodes = [
            ("nodes " + (":".join(labels) or "without label"), labels, table)
            for labels, table in (() if _is_nothing(nodes) else node_tables(nodes, options.label_column, options.key))
        ]
        self.relationships = [
            (f"relationships {name}", name, start, end, arrow_table(table, f"relationships {name}"))
            for name, start, end, table in relationship_tables(relationships, options.type_column)
        ]
        self.types = [each[1] for each in self.relationships]
        self.undirected = type_names(options.undirected)
        if unknown := sorted(self.undirected - set(self.types)):
            raise StorageError(
                f"there is no relationship type {unknown[0]} to be undirected",
                hint=f"The types are: {', '.join(dict.fromkeys(self.types)) or 'none'}.",
            )

    @property
    def rows(self) -> int:
        """Rows of all tables."""
        return sum(table.num_rows for table in self._all())

    @property
    def nbytes(self) -> int:
        """Bytes of all tables."""
        return sum(table.nbytes for table in self._all())

    def _all(self) -> list[Any]:
        return [*(each[-1] for each in self.nodes), *(each[-1] for each in self.relationships)]


def _is_nothing(nodes: Any) -> bool:
    return isinstance(nodes, tuple | list) and not nodes


def resolved(tables: Tables, known: Known, check: Callable[[], None]) -> Extension:
    """Return what tables add to a graph.

    Parameters
    ----------
    known
        Finds nodes that there are.
    check
        Raises where the execution must stop; called for each table.

    Raises
    ------
    StorageError
        For a key that there is already where nodes are only added, one that several nodes have, one of an end that no
        node has, and what a loader refuses.
    """
    found = list(_nodes(tables, known, check))
    ends = _Ends(found, known, tables.options.key)
    blocks = []
    for place, name, start_label, end_label, table in tables.relationships:
        check()
        start, end, named = end_columns(table, place)
        with explained_ends(start, end, named):
            first, second = (
                ends.find(label, key_array(table[column], f"{place}, column {column}"), f"{place}, column {column}")
                for label, column in ((start_label, start), (end_label, end))
            )
        blocks.append(RelationshipBlock(name, first, second, property_arrays(table, place, (start, end))))
    fresh, replaced = [], []
    for each in found:
        new = each.found < 0
        if new.all():
            fresh.append(each.block)
            continue
        fresh.append(NodeBlock(each.block.labels, int(new.sum()), _filtered(each.block, new)))
        old = np.flatnonzero(~new)
        old = old[np.argsort(each.found[old])]
        columns = {name: array.take(pa.array(old)) for name, array in each.block.columns.items()}
        replaced.append(Patch(each.found[old], columns))
    return Extension(fresh, replaced, blocks, frozenset(tables.undirected))


def _filtered(block: NodeBlock, rows: Array) -> dict[str, Any]:
    mask = pa.array(rows)
    return {name: array.filter(mask) for name, array in block.columns.items()}


def _nodes(tables: Tables, known: Known, check: Callable[[], None]) -> Iterable[_Nodes]:
    first = known.next_node
    for place, labels, source in tables.nodes:
        check()
        block, key, keys = node_table(place, labels, source, tables.options.key)
        KeyIndex(keys, np.arange(len(keys), dtype=np.uint32), place)  # refuses those that occur twice
        found = known.find(labels, key, keys, place)
        there = found >= 0
        if there.any() and not tables.options.upsert:
            row = int(there.argmax())
            raise StorageError(
                f"{place}: row {row} has the key {keys[row].as_py()!r}, which node {int(found[row])} has already",
                hint="upsert=True gives that node the row's properties.",
            )
        references = np.where(there, found, first + np.cumsum(~there) - 1)
        first += int((~there).sum())
        yield _Nodes(place, block, key, keys, found, references)


class _Ends:
    """Finds the ends of relationships, among the tables' nodes and those that there were before."""

    def __init__(self, tables: Sequence[_Nodes], known: Known, key: str | None) -> None:
        self._tables = tables
        self._known = known
        self._key = key
        self._indexes: dict[str | None, tuple[KeyIndex | None, Array]] = {}

    def find(self, label: str | None, keys: Any, place: str) -> Array:
        """Return what stands for the nodes (int64) with these keys among those with ``label`` (None: all)."""
        if label not in self._indexes:
            self._indexes[label] = self._index(label, place)
        index, references = self._indexes[label]
        found = np.full(len(keys), -1, np.int64)
        if index is not None:
            ordinals = index.seek(keys, place)
            given = ordinals != NO_VERTEX
            found[given] = references[ordinals[given]]
        before = self._known.find(() if label is None else (label,), self._key_of(label), keys, place)
        twice = (before >= 0) & (found >= 0) & (before != found)
        if twice.any():
            raise several(keys[int(twice.argmax())].as_py(), label, place)
        found = np.maximum(found, before)
        check_found(found >= 0, keys, place)
        return found

    def _key_of(self, label: str | None) -> str:
        """Return the property that is the key of a label's nodes."""
        if self._key is not None:
            return self._key
        own = [each.key for each in self._tables if label is not None and label in each.block.labels]
        return own[0] if own else KEY

    def _index(self, label: str | None, place: str) -> tuple[KeyIndex | None, Array]:
        own = [each for each in self._tables if label is None or label in each.block.labels]
        own = [each for each in own if (each.found < 0).any()]  # what was there before is found there
        if not own:
            return None, np.empty(0, np.int64)
        types = {each.keys.type for each in own}
        if len(types) > 1 and pa.int64() in types:
            raise StorageError(
                f"{place}: the nodes' keys have several types: {', '.join(sorted(map(str, types)))}",
                hint="Cast them to one type, or give the labels of the relationships' ends.",
            )
        keys = [each.keys.filter(pa.array(each.found < 0)) for each in own]
        keys = [each.cast(pa.large_string()) if len(types) > 1 else each for each in keys]
        references = np.concatenate([each.references[each.found < 0] for each in own])
        name = "nodes " + (label or "of all labels")
        return KeyIndex(pa.concat_arrays(keys), np.arange(len(references), dtype=np.uint32), name), references


def several(key: Any, label: str | None, place: str) -> StorageError:
    """Return the error for a key that several nodes have."""
    nodes = "nodes" if label is None else f"nodes with the label {label}"
    return StorageError(
        f"{place}: several {nodes} have the key {key!r}", hint="Each node of one label needs a key of its own."
    )
