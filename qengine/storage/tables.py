"""Graphs from Arrow tables: node tables by label, relationship tables by type, ends given by the nodes' keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from qengine.errors import StorageError
from qengine.storage.arrays import Array
from qengine.storage.assemble import NodeBlock, RelationshipBlock, assemble
from qengine.storage.given import (
    END_NAMES,
    arrow_table,
    end_columns,
    key_column,
    node_tables,
    relationship_tables,
    type_names,
)
from qengine.storage.keys import KeyIndex, key_array, no_nodes
from qengine.storage.memory import within_memory
from qengine.storage.normal import normal_array
from qengine.storage.store import GraphStore

_ENDS = f"The ends are taken from the first two columns, {{}} and {{}}, because no two are called {END_NAMES}."
_KEY = "The key is taken from the first column, {}, because none is called id; key= names another."


@within_memory
def from_arrow(
    nodes: Any,
    relationships: Any = (),
    *,
    key: str | None = None,
    label_column: str | None = None,
    type_column: str | None = None,
    undirected: Iterable[str] = (),
) -> GraphStore:
    """Load a graph from tables, as ``Graph.from_arrow`` says."""
    return from_tables(
        [
            ("nodes " + (":".join(labels) or "without label"), labels, table)
            for labels, table in node_tables(nodes, label_column, key)
        ],
        [
            (f"relationships {name}", name, start, end, table)
            for name, start, end, table in relationship_tables(relationships, type_column)
        ],
        key,
        undirected,
    )


def from_tables(
    nodes: Iterable[tuple[str, tuple[str, ...], Any]],
    relationships: Iterable[tuple[str, str, str | None, str | None, Any]],
    key: str | None,
    undirected: Iterable[str],
    *,
    guessed: bool = False,
) -> GraphStore:
    """Load a graph from a table for each label set, and for each type (between two labels).

    Parameters
    ----------
    nodes
        What errors call the table, its labels, and the table.
    relationships
        What errors call the table, its type, the labels of its starts and ends (None for any), and the table.
    key, undirected
        As ``Graph.from_arrow`` says.
    guessed
        Whether types were found by reading text: ends that are integers can then be keys that are strings.
    """
    both_ways = type_names(undirected)
    tables = [_NodeTable.read(place, labels, table, key) for place, labels, table in nodes]
    rows = 0
    for table in tables:
        table.first = rows
        rows += table.block.rows
    finder = Finder([table.keyed for table in tables], guessed)
    blocks = []
    for name, type_name, start_label, end_label, source in relationships:
        table = arrow_table(source, name)
        start, end, named = end_columns(table, name)
        with explained_ends(start, end, named):
            first, second = (
                finder.find(label, key_array(table[column], place), place)
                for label, column in ((start_label, start), (end_label, end))
                for place in (f"{name}, column {column}",)
            )
        columns = property_arrays(table, name, (start, end))
        blocks.append(RelationshipBlock(type_name, first, second, columns))
    check_undirected(both_ways, [block.type for block in blocks])
    return assemble([table.block for table in tables], blocks, both_ways)


def check_undirected(undirected: Collection[str], types: Iterable[str]) -> None:
    """Raise a ``StorageError`` where a type that is to be undirected is none of the graph's."""
    types = list(dict.fromkeys(types))
    if unknown := sorted(set(undirected) - set(types)):
        raise StorageError(
            f"there is no relationship type {unknown[0]} to be undirected",
            hint=f"The types are: {', '.join(types) or 'none'}.",
        )


@contextmanager
def _explained(hint: str | None) -> Iterator[None]:
    """Give errors a hint more: how the columns were chosen that they are about."""
    try:
        yield
    except StorageError as error:
        error.hint = " ".join(each for each in (error.hint, hint) if each) or None
        raise


def explained_ends(start: str, end: str, named: bool) -> AbstractContextManager[None]:
    """Give errors a hint that says from which columns ends are taken, unless these are known by their names."""
    return _explained(None if named else _ENDS.format(start, end))


def explained_key(key: str | None, column: str) -> AbstractContextManager[None]:
    """Give errors a hint that says from which column keys are taken, unless ``key`` names it or it is called id."""
    return _explained(None if key is not None or column == "id" else _KEY.format(column))


def node_table(name: str, labels: tuple[str, ...], source: Any, key: str | None) -> tuple[NodeBlock, str, Any]:
    """Return a node table's block, the name of its key column, and its keys.

    Raises
    ------
    StorageError
        For a table that is none, that has no such column, and values that can't be keys or properties.
    """
    table = arrow_table(source, name)
    column = key_column(table, key, name)
    with explained_key(key, column):
        keys = key_array(table[column], f"{name}, column {column}")
    return NodeBlock(labels, table.num_rows, property_arrays(table, name)), column, keys


@dataclass
class KeyTable:
    """The keys of a node table, or of some of its rows: ``rows``, int64; None for all. ``first``: ordinal of row 0."""

    name: str
    labels: tuple[str, ...]
    keys: Any
    first: int = 0
    rows: Array | None = None

    @property
    def ordinals(self) -> Array:
        """The ordinals (uint32) of the rows."""
        if self.rows is None:
            return np.arange(self.first, self.first + len(self.keys), dtype=np.uint32)
        return (self.rows + self.first).astype(np.uint32)


@dataclass
class _NodeTable:
    """One node table: ``first`` is the ordinal of its first row."""

    name: str
    block: NodeBlock
    keys: Any
    first: int = 0

    @classmethod
    def read(cls, name: str, labels: tuple[str, ...], source: Any, key: str | None) -> _NodeTable:
        block, _, keys = node_table(name, labels, source, key)
        return cls(name, block, keys)

    @property
    def keyed(self) -> KeyTable:
        """The keys."""
        return KeyTable(self.name, self.block.labels, self.keys, self.first)


class Finder:
    """Finds nodes by label and key; makes an index for each label that is asked for.

    Parameters
    ----------
    tables
        The nodes.
    guessed
        As for ``from_tables``.

    Raises
    ------
    StorageError
        If two nodes of a table, or of a label, have one key.
    """

    def __init__(self, tables: Sequence[KeyTable], guessed: bool) -> None:
        self._tables = tables
        self._guessed = guessed
        self._indexes: dict[str | None, KeyIndex] = {}
        having = Counter(label for table in tables for label in set(table.labels))
        for table in tables:  # a duplicate key is an error even where no relationship asks
            alone = KeyIndex(table.keys, table.ordinals, table.name, table.rows)
            self._indexes |= {label: alone for label in table.labels if having[label] == 1}

    def find(self, label: str | None, keys: Any, place: str, *, first_row: int = 0, rows: Array | None = None) -> Array:
        """Return the ordinals of the nodes with these keys among those with ``label`` (None: all).

        What errors call the keys' rows: ``rows`` (int64), or from ``first_row`` on.
        """
        if label not in self._indexes:
            self._indexes[label] = self._index(label, place)
        index = self._indexes[label]
        if self._guessed and index.has_strings is not None and index.has_strings is pa.types.is_int64(keys.type):
            if not index.has_strings:
                index = self._indexes[label] = index.as_strings()
            keys = as_strings(keys)
        if rows is None and first_row:
            rows = np.arange(first_row, first_row + len(keys))
        return index.find(keys, place, rows)

    def _index(self, label: str | None, place: str) -> KeyIndex:
        own = [table for table in self._tables if label is None or label in table.labels]
        if not own:
            if label is None:
                raise no_nodes(place)
            raise StorageError(
                f"{place}: no node has the label {label}", hint="Entries are (type, start label, end label, table)."
            )
        keys = [table.keys for table in own]
        types = {each.type for each in keys}
        if len(types) > 1 and not self._guessed and pa.int64() in types:
            raise StorageError(
                f"{place}: the nodes' keys have several types: {', '.join(sorted(map(str, types)))}",
                hint="Cast them to one type, or give the labels of the relationships' ends.",
            )
        if len(types) > 1:
            keys = [as_strings(each) for each in keys]
        name = "nodes " + (label or "of all labels")
        ordinals = np.concatenate([one.ordinals for one in own])
        in_parts = any(one.rows is not None for one in own)
        return KeyIndex(pa.concat_arrays(keys), ordinals, name, ordinals.astype(np.int64) if in_parts else None)


def property_arrays(table: Any, place: str, ends: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the columns of a table but those of the ends, as normal arrays."""
    return {
        name: normal_array(table[name], f"{place}, column {name}") for name in table.column_names if name not in ends
    }


def as_strings(keys: Any) -> Any:
    """Return keys as texts: integers by their decimal digits."""
    return keys.cast(pa.large_string() if pa.types.is_large_string(keys.type) else pa.string())
