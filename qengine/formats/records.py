"""Gathers nodes and relationships that come one by one, and makes them a graph column by column."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

import pyarrow as pa

from qengine._frozen import record
from qengine.errors import StorageError
from qengine.formats.parts import Builder
from qengine.storage.given import name_of
from qengine.storage.normal import normal_array
from qengine.storage.store import GraphStore
from qengine.storage.variant import concatenate, from_python

Properties: TypeAlias = Mapping[str, Any]

Columns: TypeAlias = Mapping[str, Sequence[Any] | pa.Array]
"""Values by property, one an element, of which None is absent: of Python, or an Arrow array."""


@record
class _Given:
    """Properties of elements in their order: rows that came one by one, and numbers of elements with their columns."""

    parts: list[list[Properties] | tuple[int, Columns]] = field(default_factory=list)

    def add(self, row: Properties) -> None:
        if not self.parts or not isinstance(self.parts[-1], list):
            self.parts.append([])
        last = self.parts[-1]
        assert isinstance(last, list)
        last.append(row)

    def columns(self, place: str) -> dict[str, Any]:
        """Return the properties as normal arrays."""
        pieces: dict[str, list[tuple[int, Any]]] = {}  # by property its values, each with where they begin
        count = 0
        for part in self.parts:
            size, found = (len(part), _by_key(part)) if isinstance(part, list) else part
            for key, values in found.items():
                pieces.setdefault(key, []).append((count, values))
            count += size
        for key in pieces:
            name_of(key, f"{place}: the name of a property", "Names of properties are strings.")
        return {key: _column(found, count, f"{place}, property {key}") for key, found in pieces.items()}


@record
class _InRows:
    """A property of rows, and the places of those that have it: what few have isn't looked for in all."""

    key: str
    rows: Sequence[Properties]
    places: list[int] = field(default_factory=list)

    def values(self) -> list[Any]:
        """Return the values, absent ones as None."""
        if len(self.places) == len(self.rows):
            return [row[self.key] for row in self.rows]
        found: list[Any] = [None] * len(self.rows)
        for place in self.places:
            found[place] = self.rows[place][self.key]
        return found


def _by_key(rows: Sequence[Properties]) -> dict[str, _InRows]:
    found: dict[str, _InRows] = {}
    for place, row in enumerate(rows):
        for key in row:
            if (own := found.get(key)) is None:
                own = found[key] = _InRows(key, rows)
            own.places.append(place)
    return found


def _column(pieces: Sequence[tuple[int, Any]], count: int, place: str) -> Any:
    """Return a property's values, absent where there is no piece, as one normal array."""
    arrays, values, filled = [], list[Any](), 0
    for begin, given in pieces:
        piece = given.values() if isinstance(given, _InRows) else given
        values += [None] * (begin - filled)
        if isinstance(piece, pa.Array):
            arrays += [from_python(values, place)] if values else []
            arrays.append(piece)
            values = []
        else:
            values += piece
        filled = begin + len(piece)
    values += [None] * (count - filled)
    arrays += [from_python(values, place)] if values or not arrays else []
    return concatenate([normal_array(each, place) for each in arrays])


@record
class _Nodes:
    """Nodes with the same labels."""

    keys: list[Hashable] = field(default_factory=list)
    properties: _Given = field(default_factory=_Given)


@record
class _Links:
    """Relationships of one type, directed or not."""

    start: list[Hashable] = field(default_factory=list)
    end: list[Hashable] = field(default_factory=list)
    properties: _Given = field(default_factory=_Given)


class Records:
    """Nodes with keys of any hashable kind, and relationships between keys, in any order.

    ``place`` is what errors call the source. Properties that are None are absent.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._nodes: dict[tuple[str, ...], _Nodes] = {}
        self._links: dict[tuple[str, bool], _Links] = {}

    def node(self, key: Hashable, labels: tuple[str, ...], properties: Properties) -> None:
        """Add a node."""
        own = self._nodes.get(labels)
        if own is None:
            own = self._nodes[labels] = _Nodes()
        own.keys.append(key)
        own.properties.add(properties)

    def nodes(self, labels: tuple[str, ...], keys: Sequence[Hashable], columns: Columns) -> None:
        """Add nodes with the same labels."""
        own = self._nodes.setdefault(labels, _Nodes())
        own.keys += keys
        own.properties.parts.append((len(keys), columns))

    def relationships(
        self, type: str, undirected: bool, start: Sequence[Hashable], end: Sequence[Hashable], columns: Columns
    ) -> None:
        """Add relationships of one type."""
        own = self._links.setdefault((type, undirected), _Links())
        own.start += start
        own.end += end
        own.properties.parts.append((len(start), columns))

    def relationship(
        self, type: str, start: Hashable, end: Hashable, properties: Properties, *, undirected: bool = False
    ) -> None:
        """Add a relationship."""
        own = self._links.get((type, undirected))
        if own is None:
            own = self._links[type, undirected] = _Links()
        own.start.append(start)
        own.end.append(end)
        own.properties.add(properties)

    def store(self, undirected: Iterable[str] = (), key: str | None = None) -> GraphStore:
        """Return the graph; ``key``: a property that the nodes' keys, which are strings, become.

        Raises
        ------
        StorageError
            For a key that two nodes have, an end that is none's, names that are none, values that can't be properties,
            a type with relationships both with and without direction, and a key that is a property already.
        """
        return self._built(key).store(undirected)

    def _built(self, key: str | None) -> Builder:
        builder, places = Builder(), self._numbered()
        for labels, nodes in self._nodes.items():
            for label in labels:
                name_of(label, f"{self._place}: a label", "Labels are strings.")
            keys = pa.array(list(map(places.__getitem__, nodes.keys)), pa.int64())
            columns = nodes.properties.columns(f"{self._place}: nodes")
            if key is not None:
                columns |= self._named(key, nodes, columns)
            builder.nodes(labels, columns, keys, len(nodes.keys))
        for (type, both_ways), links in self._links.items():
            name_of(type, f"{self._place}: a relationship's type", "Types are strings.")
            if both_ways and (type, False) in self._links:
                raise StorageError(
                    f"{self._place}: some relationships {type} have a direction, others none",
                    hint="Give the two kinds types of their own.",
                )
            if both_ways:
                builder.undirected.add(type)
            place = f"{self._place}: relationships {type}"
            start, end = (self._ends(keys, places, place) for keys in (links.start, links.end))
            builder.relationships(type, (start, "", place), (end, "", place), links.properties.columns(place))
        return builder

    def _named(self, key: str, nodes: _Nodes, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the nodes' keys as a property."""
        if name_of(key, "key: a property", "As in key='id'.") in columns:
            raise StorageError(f"{self._place}: nodes have a property {key} of their own", hint="Give another key=.")
        return {key: normal_array(pa.array(nodes.keys, pa.string()), self._place)}

    def _numbered(self) -> dict[Hashable, int]:
        places: dict[Hashable, int] = {}
        count = 0
        for nodes in self._nodes.values():
            count += len(nodes.keys)
            places.update(zip(nodes.keys, range(len(places), count), strict=False))
            if len(places) < count:
                raise StorageError(f"{self._place}: the key {_twice(self._nodes.values())!r} is that of two nodes")
        return places

    def _ends(self, keys: Sequence[Hashable], places: Mapping[Hashable, int], place: str) -> Any:
        try:
            return pa.array(list(map(places.__getitem__, keys)), pa.int64())
        except KeyError as error:
            raise StorageError(f"{place}: {error.args[0]!r} is no node's key", hint="Add the node.") from None


def _twice(parts: Iterable[_Nodes]) -> Hashable:
    seen: set[Hashable] = set()
    for part in parts:
        for key in part.keys:
            if key in seen:
                return key
            seen.add(key)
    return None


def add_nodes(records: Records, labels: Sequence[tuple[str, ...]], keys: Sequence[Hashable], columns: Columns) -> None:
    """Add nodes with columns of properties, whatever the labels of each."""
    for own, (given, *own_columns) in _by_kind(labels, keys, columns=columns):
        records.nodes(own, given, _present(columns, own_columns))


def add_links(
    records: Records,
    kinds: Sequence[tuple[str, bool]],
    ends: Mapping[str, Sequence[Hashable]],
    columns: Columns,
) -> None:
    """Add relationships between ``ends``, ``source`` and ``target``, whatever type each has, and whether undirected."""
    for (type, undirected), (start, end, *own) in _by_kind(kinds, ends["source"], ends["target"], columns=columns):
        records.relationships(type, undirected, start, end, _present(columns, own))


def _present(names: Iterable[str], columns: Sequence[Sequence[Any]]) -> Columns:
    """Return columns by their names, but for those of Arrow in which no value is."""
    named = zip(names, columns, strict=True)
    return {name: each for name, each in named if not isinstance(each, pa.Array) or each.null_count < len(each)}


def _by_kind(
    kinds: Sequence[Any], *given: Sequence[Any], columns: Columns
) -> Iterator[tuple[Any, list[Sequence[Any]]]]:
    """Yield each kind with what is given of the elements that are of it, and their columns."""
    every = [*given, *columns.values()]
    if len(different := dict.fromkeys(kinds)) == 1:
        yield kinds[0], every
        return
    places: dict[Any, list[int]] = {kind: [] for kind in different}
    for place, kind in enumerate(kinds):
        places[kind].append(place)
    order = [place for own in places.values() for place in own]
    rows = pa.array(order)
    every = [each.take(rows) if isinstance(each, pa.Array) else [each[row] for row in order] for each in every]
    begin = 0
    for kind, own in places.items():
        yield kind, [each[begin : begin + len(own)] for each in every]
        begin += len(own)
