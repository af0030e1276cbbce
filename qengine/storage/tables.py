"""Graphs from Arrow tables: node tables by label, relationship tables by type, ends given by the nodes' keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from qengine.errors import StorageError
from qengine.storage.arrays import Array
from qengine.storage.assemble import NodeBlock, RelationshipBlock, assemble
from qengine.storage.keys import KeyIndex, key_array
from qengine.storage.normal import normal_array
from qengine.storage.store import GraphStore

_START = ("start", "src", "source", "from")
_END = ("end", "dst", "target", "to")


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
            for labels, table in _node_tables(nodes, label_column, key)
        ],
        [
            (f"relationships {name}", name, start, end, table)
            for name, start, end, table in _relationship_tables(relationships, type_column)
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
    tables = [_NodeTable.read(place, labels, table, key) for place, labels, table in nodes]
    rows = 0
    for table in tables:
        table.first = rows
        rows += table.block.rows
    finder = _Finder(tables, guessed)
    blocks = []
    for name, type_name, start_label, end_label, source in relationships:
        table = _table(source, name)
        start, end = _end_columns(table, name)
        first, second = (
            finder.find(label, key_array(table[column], place), place)
            for label, column in ((start_label, start), (end_label, end))
            for place in (f"{name}, column {column}",)
        )
        columns = _properties(table, name, (start, end))
        blocks.append(RelationshipBlock(type_name, first, second, columns))
    return assemble([table.block for table in tables], blocks, undirected)


@dataclass
class _NodeTable:
    """One node table: ``first`` is the ordinal of its first row."""

    name: str
    block: NodeBlock
    keys: Any
    first: int = 0

    @classmethod
    def read(cls, name: str, labels: tuple[str, ...], source: Any, key: str | None) -> _NodeTable:
        table = _table(source, name)
        column = _key_column(table, key, name)
        keys = key_array(table[column], f"{name}, column {column}")
        return cls(name, NodeBlock(labels, table.num_rows, _properties(table, name)), keys)


class _Finder:
    """Finds nodes by label and key; makes an index for each label that is asked for."""

    def __init__(self, tables: Sequence[_NodeTable], guessed: bool) -> None:
        self._tables = tables
        self._guessed = guessed
        self._indexes: dict[str | None, KeyIndex] = {}
        for table in tables:  # a duplicate key is an error even where no relationship asks
            alone = KeyIndex(table.keys, self._ordinals(table), table.name)
            for label in table.block.labels:
                if sum(label in other.block.labels for other in tables) == 1:
                    self._indexes[label] = alone

    def find(self, label: str | None, keys: Any, place: str) -> Array:
        """Return the ordinals of the nodes with these keys among those with ``label`` (None: all)."""
        if label not in self._indexes:
            self._indexes[label] = self._index(label, place)
        index = self._indexes[label]
        if self._guessed and index.has_strings and pa.types.is_int64(keys.type):
            keys = keys.cast(pa.string())
        return index.find(keys, place)

    def _index(self, label: str | None, place: str) -> KeyIndex:
        own = [table for table in self._tables if label is None or label in table.block.labels]
        if not own:
            raise StorageError(f"{place}: no node has the label {label}")
        types = {table.keys.type for table in own}
        if len(types) > 1:
            raise StorageError(f"{place}: the nodes' keys have several types: {', '.join(sorted(map(str, types)))}")
        name = "nodes " + (label or "of all labels")
        return KeyIndex(
            pa.concat_arrays([table.keys for table in own]), np.concatenate([self._ordinals(one) for one in own]), name
        )

    @staticmethod
    def _ordinals(table: _NodeTable) -> Array:
        return np.arange(table.first, table.first + table.block.rows, dtype=np.uint32)


def _node_tables(nodes: Any, label_column: str | None, key: str | None) -> list[tuple[tuple[str, ...], Any]]:
    if isinstance(nodes, Mapping):
        nodes = list(nodes.items())
    if isinstance(nodes, (list, tuple)):
        named = [(labels_of(labels), table) for labels, table in nodes]
        return [(labels, _table(table, f"nodes {':'.join(labels)}")) for labels, table in named]
    table = _table(nodes, "nodes")
    if label_column is None:
        return [((), table)]
    # Keys are told apart before the table is split: errors then name the row of the table that the user has.
    own_key = _key_column(table, key, "nodes")
    keys = key_array(table[own_key], f"nodes, column {own_key}")
    KeyIndex(keys, np.arange(len(keys), dtype=np.uint32), "nodes")
    parts: dict[tuple[str, ...], Any] = {}
    for value, rows in _split(table, label_column, "nodes"):
        labels = (f"L{value}",) if isinstance(value, int) else labels_of(value or ())
        parts[labels] = pa.concat_tables([parts[labels], rows]) if labels in parts else rows
    return list(parts.items())


def _relationship_tables(relationships: Any, type_column: str | None) -> list[tuple[str, str | None, str | None, Any]]:
    if isinstance(relationships, Mapping):
        items = [
            (name, None, None, table) if isinstance(name, str) else (name[1], name[0], name[2], table)
            for name, table in relationships.items()
        ]
        return items
    if isinstance(relationships, (list, tuple)):
        return [(one[0], None, None, one[1]) if len(one) == 2 else one for one in relationships]
    if type_column is None:
        raise StorageError("relationships: a single table needs type_column", hint="Or give {type: table}.")
    table = _table(relationships, "relationships")
    found: list[tuple[str, str | None, str | None, Any]] = []
    for value, rows in _split(table, type_column, "relationships"):
        if value is None:
            raise StorageError(f"relationships: {rows.num_rows:,} rows have no type in column {type_column}")
        found.append((f"E{value}" if isinstance(value, int) else value, None, None, rows))
    return found


def _split(table: Any, column: str, place: str) -> Iterator[tuple[Any, Any]]:
    """Yield each value of a column, in the order of first appearance, with the rows that have it, without it."""
    values = normal_array(_column(table, column, place), f"{place}, column {column}")
    if pa.types.is_list(values.type):
        numbers: dict[tuple[Any, ...], int] = {}
        codes = np.array([numbers.setdefault(tuple(one or ()), len(numbers)) for one in values.to_pylist()], np.int64)
        names: list[Any] = list(numbers)
    else:
        encoded = values.dictionary_encode("encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        names = encoded.dictionary.to_pylist()
    rest = table.drop_columns([column])
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(names) + 1))
    for code, name in enumerate(names):
        yield name, rest.take(pa.array(order[bounds[code] : bounds[code + 1]]))


def labels_of(labels: str | Sequence[str]) -> tuple[str, ...]:
    """Return the labels of a table: a list of them, or a text that joins them by colons."""
    names = labels.split(":") if isinstance(labels, str) else labels
    return tuple(dict.fromkeys(name for name in names if name))


def _table(source: Any, place: str) -> Any:
    table = _arrow_table(source, place)
    twice = [name for name, count in Counter(table.column_names).items() if count > 1]
    if twice:
        raise StorageError(f"{place}: several columns are called {twice[0]}", hint="Rename all but one of them.")
    return table


def _arrow_table(source: Any, place: str) -> Any:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if not isinstance(source, Mapping) and not hasattr(source, "__arrow_c_stream__"):
        raise StorageError(
            f"{place}: {type(source).__name__} isn't a table",
            hint="Give a pyarrow, pandas or polars table, or anything with __arrow_c_stream__.",
        )
    try:
        return pa.table(dict(source) if isinstance(source, Mapping) else source)
    except pa.ArrowException as error:
        raise StorageError(
            f"{place}: it can't be made an Arrow table: {' '.join(map(str, error.args))}",
            hint="Give each column one type, or use Graph.from_records, where a property may have several.",
        ) from None


def _column(table: Any, name: str, place: str) -> Any:
    if name not in table.column_names:
        raise StorageError(f"{place}: there is no column {name}", hint=f"It has {', '.join(table.column_names)}.")
    return table[name]


def _key_column(table: Any, key: str | None, place: str) -> str:
    if not table.num_columns:
        raise StorageError(f"{place}: the table has no columns", hint="It needs a key column.")
    if key is not None:
        _column(table, key, place)
        return key
    return "id" if "id" in table.column_names else str(table.column_names[0])


def _end_columns(table: Any, place: str) -> tuple[str, str]:
    lower = {name.lower(): name for name in reversed(table.column_names)}
    for start, end in zip(_START, _END, strict=True):
        if start in lower and end in lower:
            return lower[start], lower[end]
    if table.num_columns < 2:
        raise StorageError(f"{place}: two columns with the keys of the ends are needed")
    return table.column_names[0], table.column_names[1]


def _properties(table: Any, place: str, ends: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        name: normal_array(table[name], f"{place}, column {name}") for name in table.column_names if name not in ends
    }
