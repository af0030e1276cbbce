"""The tables of a graph that no worker holds: what kinds of nodes there are, and which relationships join them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from qengine._frozen import frozen, replace
from qengine.cluster.hypercube.sources import Source, Spread
from qengine.errors import StorageError
from qengine.storage.assemble import NodeBlock, RelationshipBlock, assemble
from qengine.storage.given import end_columns, key_column, labels_of, name_of, type_names
from qengine.storage.normal import normal_array
from qengine.storage.store import GraphStore

_ENTRIES = "Entries are (type, start labels, end labels, table); labels name one table of nodes."


@frozen
class NodeKind:
    """The nodes of one table, or, where there is none, those that relationships alone name.

    ``key``: the property that tells them apart, ``key_type`` its Arrow type. ``properties``: all, the key among them.
    ``spread``: the table.
    """

    labels: tuple[str, ...]
    key: str
    key_type: Any
    properties: tuple[str, ...]
    spread: Spread | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return _name(self.labels)


@frozen
class RelationshipTable:
    """Relationships of one type between two kinds of nodes, by their numbers.

    ``ends``: the columns with the keys of start and end. ``properties``: the other columns. ``spread``: the table.
    """

    type: str
    start: int
    end: int
    ends: tuple[str, str]
    properties: tuple[str, ...]
    spread: Spread | None
    undirected: bool = False


@frozen
class Tables:
    """All kinds of nodes, and all tables of relationships."""

    kinds: tuple[NodeKind, ...]
    relationships: tuple[RelationshipTable, ...]

    @classmethod
    def of(
        cls,
        nodes: Any,
        relationships: Any,
        look: Callable[[Source, str], Spread],
        key: str | None = None,
        undirected: Iterable[str] = (),
    ) -> Tables:
        """Look at what was given as ``cluster.tables`` says.

        Raises
        ------
        StorageError
            For sources that can't be read, columns that are missing, ends whose nodes aren't told.
        """
        both_ways = type_names(undirected)
        kinds: list[NodeKind] = []
        for labels, source in nodes.items() if isinstance(nodes, Mapping) else nodes:
            names = labels_of(labels)
            spread = look(source, _name(names))
            column = key_column(spread.schema.empty_table(), key, _name(names))
            kinds.append(NodeKind(names, column, spread.schema.field(column).type, tuple(spread.schema.names), spread))
        implied = not kinds
        found = []
        for name, start, end, source in map(_entry, _listed(relationships)):
            place = f"relationships {name}"
            spread = look(source, place)
            first, second, _ = end_columns(spread.schema.empty_table(), place)
            if implied:
                given = spread.schema.field(first).type
                kinds += [NodeKind(each, "id", given, ("id",)) for each in _missing(kinds, (start, end))]
            ends = _kind(kinds, start, place), _kind(kinds, end, place)
            rest = tuple(each for each in spread.schema.names if each not in (first, second))
            found.append(RelationshipTable(name, *ends, (first, second), rest, spread, name in both_ways))
            for number, column in zip(ends, (first, second), strict=True):
                _check_keys(kinds[number], spread.schema.field(column).type, f"{place}, column {column}")
        if unknown := sorted(both_ways - {each.type for each in found}):
            raise StorageError(f"there is no relationship type {unknown[0]} to be undirected")
        return cls(tuple(kinds), tuple(found))

    def bare(self) -> Tables:
        """Return the same without what was looked at of the tables, which may be large."""
        kinds = tuple(replace(each, spread=None) for each in self.kinds)
        return Tables(kinds, tuple(replace(each, spread=None) for each in self.relationships))

    def empty(self) -> GraphStore:
        """Return a graph without nodes that has the labels, types and properties of the tables: to bind queries."""
        nodes = []
        for kind in self.kinds:
            schema = pa.schema([(kind.key, kind.key_type)]) if kind.spread is None else kind.spread.schema
            nodes.append(NodeBlock(kind.labels, 0, _empty(schema, kind.properties)))
        none = np.zeros(0, np.uint32)
        relationships = [
            RelationshipBlock(each.type, none, none, _empty(each.spread.schema, each.properties))
            for each in self.relationships
            if each.spread is not None
        ]
        return assemble(nodes, relationships, {each.type for each in self.relationships if each.undirected})


def _listed(relationships: Any) -> list[Any]:
    if not isinstance(relationships, Mapping):
        return list(relationships)
    return [
        (name, each) if isinstance(name, str) else (name[1], name[0], name[2], each)
        for name, each in relationships.items()
    ]


def _entry(one: Any) -> tuple[str, tuple[str, ...] | None, tuple[str, ...] | None, Source]:
    """Return the type, the labels of starts and ends (None: not told), and the source of a table of relationships."""
    if not isinstance(one, list | tuple) or len(one) not in (2, 4):
        raise StorageError("relationships: an entry is of another form", hint=_ENTRIES)
    name = name_of(one[0], "relationships: a type", _ENTRIES)
    start, end = (None if each is None else labels_of(each) for each in (one[1:3] if len(one) == 4 else (None, None)))
    return name, start, end, one[-1]


def _name(labels: tuple[str, ...]) -> str:
    return f"nodes {':'.join(labels)}" if labels else "nodes without label"


def _empty(schema: Any, names: tuple[str, ...]) -> dict[str, Any]:
    table = schema.empty_table()
    return {name: normal_array(table[name], f"column {name}") for name in names}


def _missing(kinds: list[NodeKind], labels: tuple[tuple[str, ...] | None, ...]) -> list[tuple[str, ...]]:
    """Return the labels of the kinds that ends need and that aren't there yet."""
    wanted = dict.fromkeys(each or () for each in labels)
    return [each for each in wanted if all(kind.labels != each for kind in kinds)]


def _kind(kinds: list[NodeKind], labels: tuple[str, ...] | None, place: str) -> int:
    """Return the number of the kind of nodes that labels tell: that with these alone, else the one that has them."""
    exact = [number for number, kind in enumerate(kinds) if labels is not None and set(kind.labels) == set(labels)]
    found = exact or [number for number, kind in enumerate(kinds) if set(labels or ()) <= set(kind.labels)]
    if len(found) == 1:
        return found[0]
    which = "no table of nodes has" if not found else "several tables of nodes have"
    told = "of the ends aren't told" if not labels else f"{':'.join(labels)}: {which} that label"
    raise StorageError(f"{place}: the nodes {told}", hint=_ENTRIES)


def _check_keys(kind: NodeKind, given: Any, place: str) -> None:
    """Raise where the keys of ends can't be those of the nodes."""
    own = kind.key_type
    if pa.types.is_integer(own) is not pa.types.is_integer(given):
        raise StorageError(
            f"{place}: its {given} can't be keys of {kind.name}, which are {own}", hint="Cast them to one type."
        )
