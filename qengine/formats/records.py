"""Gathers nodes and relationships that come one by one, and makes them a graph column by column."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

import pyarrow as pa

from qengine._frozen import record
from qengine.errors import StorageError
from qengine.formats.parts import Builder
from qengine.storage.given import name_of
from qengine.storage.normal import normal_array
from qengine.storage.store import GraphStore
from qengine.storage.variant import from_python

__all__ = ["Properties", "Records"]

Properties: TypeAlias = Mapping[str, Any]


@record
class _Nodes:
    """Nodes with the same labels."""

    keys: list[Hashable] = field(default_factory=list)
    properties: list[Properties] = field(default_factory=list)


@record
class _Links:
    """Relationships of one type, directed or not."""

    start: list[Hashable] = field(default_factory=list)
    end: list[Hashable] = field(default_factory=list)
    properties: list[Properties] = field(default_factory=list)


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
        own.properties.append(properties)

    def nodes(self, labels: tuple[str, ...], keys: Sequence[Hashable], properties: Sequence[Properties]) -> None:
        """Add nodes with the same labels."""
        own = self._nodes.setdefault(labels, _Nodes())
        own.keys += keys
        own.properties += properties

    def relationships(
        self,
        type: str,
        undirected: bool,
        start: Sequence[Hashable],
        end: Sequence[Hashable],
        properties: Sequence[Properties],
    ) -> None:
        """Add relationships of one type."""
        own = self._links.setdefault((type, undirected), _Links())
        own.start += start
        own.end += end
        own.properties += properties

    def relationship(
        self, type: str, start: Hashable, end: Hashable, properties: Properties, *, undirected: bool = False
    ) -> None:
        """Add a relationship."""
        own = self._links.get((type, undirected))
        if own is None:
            own = self._links[type, undirected] = _Links()
        own.start.append(start)
        own.end.append(end)
        own.properties.append(properties)

    def store(self, undirected: Iterable[str] = ()) -> GraphStore:
        """Return the graph.

        Raises
        ------
        StorageError
            For a key that two nodes have, an end that is none's, names that are none, values that can't be properties,
            and a type with relationships both with and without direction.
        """
        return self._built().store(undirected)

    def _built(self) -> Builder:
        builder, places = Builder(), self._numbered()
        for labels, nodes in self._nodes.items():
            for label in labels:
                name_of(label, f"{self._place}: a label", "Labels are strings.")
            keys = pa.array(list(map(places.__getitem__, nodes.keys)), pa.int64())
            builder.nodes(labels, _columns(nodes.properties, f"{self._place}: nodes"), keys, len(nodes.keys))
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
            builder.relationships(type, (start, "", place), (end, "", place), _columns(links.properties, place))
        return builder

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


def _columns(rows: Sequence[Properties], place: str) -> dict[str, Any]:
    """Return the properties of rows as normal arrays."""
    keys: dict[str, None] = {}
    for row in rows:
        keys.update(dict.fromkeys(row))
    for key in keys:
        name_of(key, f"{place}: the name of a property", "Names of properties are strings.")
    found = {}
    for key in keys:
        place_of = f"{place}, property {key}"
        found[key] = normal_array(from_python([row.get(key) for row in rows], place_of), place_of)
    return found
