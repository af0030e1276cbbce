"""Graphs from plain Python values: lists of nodes and relationships as mappings."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qengine._elsewhere import KEYWORDS
from qengine.errors import StorageError
from qengine.storage.assemble import NodeBlock, RelationshipBlock, assemble
from qengine.storage.given import name_of, type_names
from qengine.storage.memory import within_memory
from qengine.storage.store import GraphStore
from qengine.storage.variant import from_python

_NODE = dict.fromkeys(("id", "labels", "properties"))
_RELATIONSHIP = dict.fromkeys(("type", "start", "end", "properties", "id"))  # results have ids, which are given anew
_LABELS = "Give a name, as in 'labels': 'Person', or a list of names."
_PROPERTIES = "Properties stand in a mapping of their own: 'properties': {…}."
_TYPE = "Give a name, as in 'type': 'KNOWS'."


@within_memory
def from_records(
    nodes: Iterable[Mapping[str, Any]],
    relationships: Iterable[Mapping[str, Any]] = (),
    *,
    undirected: Iterable[str] = (),
) -> GraphStore:
    """Load a small graph from Python values, as ``Graph.from_records`` says."""
    both_ways = type_names(undirected)
    by_labels: dict[frozenset[str], _Rows] = {}
    place: dict[Hashable, tuple[_Rows, int]] = {}
    for row, node in enumerate(_records(nodes, "nodes")):
        _check_known(node, _NODE, "nodes", row)
        labels = _labels(node.get("labels", ()), row)
        own = by_labels.setdefault(frozenset(labels), _Rows(labels))
        key = node.get("id", row)
        if _known(key, place, f"nodes: row {row} has the id"):
            raise StorageError(
                f"nodes: row {row} has the id {key!r} that an earlier node has", hint="Give each node an id of its own."
            )
        place[key] = (own, len(own.properties))
        own.properties.append(_properties(node, "nodes", row))
    first = 0
    for own in by_labels.values():
        own.first = first
        first += len(own.properties)

    by_type: dict[str, _Ends] = {}
    for row, edge in enumerate(_records(relationships, "relationships")):
        _check_known(edge, _RELATIONSHIP, "relationships", row)
        kind = name_of(_entry(edge, "type", row), f"relationships: the type of row {row}", _TYPE)
        ends = by_type.setdefault(kind, _Ends())
        for name, ordinals in (("start", ends.start), ("end", ends.end)):
            key = _entry(edge, name, row)
            if not _known(key, place, f"relationships: row {row} has the {name}"):
                raise StorageError(
                    f"relationships: row {row} has the {name} {key!r}, which is no node's id", hint="Add the node."
                )
            rows, position = place[key]
            ordinals.append(rows.first + position)
        ends.properties.append(_properties(edge, "relationships", row))
    return assemble(
        [NodeBlock(own.labels, len(own.properties), _columns(own.properties, "nodes")) for own in by_labels.values()],
        [
            RelationshipBlock(
                name,
                np.array(ends.start, np.uint32),
                np.array(ends.end, np.uint32),
                _columns(ends.properties, f"relationships {name}"),
            )
            for name, ends in by_type.items()
        ],
        both_ways,
    )


def of_types(undirected: Iterable[str]) -> GraphStore:
    """Return a graph that is empty but for types without direction, which relationships to come may have."""
    names = type_names(undirected)
    none = np.empty(0, np.uint32)
    return assemble([], [RelationshipBlock(name, none, none) for name in names], names)


@dataclass
class _Rows:
    """The nodes of one label set: ``first`` is the ordinal of the first."""

    labels: tuple[str, ...]
    properties: list[Mapping[str, Any]] = field(default_factory=list)
    first: int = 0


@dataclass
class _Ends:
    """The relationships of one type."""

    start: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    properties: list[Mapping[str, Any]] = field(default_factory=list)


def _records(given: Any, table: str) -> Iterable[Any]:
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable) or hasattr(given, "columns"):
        raise StorageError(
            f"{table}: a {type(given).__name__} isn't a list of mappings",
            hint="Tables and data frames are Graph.from_arrow's.",
        )
    return given


def _known(key: Any, place: Mapping[Hashable, Any], what: str) -> bool:
    """Tell whether a node has an id.

    Raises
    ------
    StorageError
        For what can't be hashed.
    """
    try:
        return key in place
    except TypeError:
        raise StorageError(
            f"{what} {key!r:.80}, which can't be one", hint="Ids are hashable: integers, strings, tuples."
        ) from None


def _labels(labels: Any, row: int) -> tuple[str, ...]:
    names = (labels,) if isinstance(labels, str) else labels
    if not isinstance(names, Collection) or isinstance(names, Mapping | bytes):
        raise StorageError(f"nodes: row {row} has the labels {labels!r:.80}", hint=_LABELS)
    return tuple(dict.fromkeys(name_of(name, f"nodes: a label of row {row}", _LABELS) for name in names))


def _properties(record: Mapping[str, Any], table: str, row: int) -> Mapping[str, Any]:
    found = record.get("properties")
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise StorageError(
            f"{table}: row {row} has properties that are a {type(found).__name__}, not a mapping",
            hint="Give them as 'properties': {'name': 'Ada'}.",
        )
    return found


def _entry(edge: Mapping[str, Any], name: str, row: int) -> Any:
    if name not in edge:
        raise StorageError(f"relationships: row {row} has no {name!r}", hint="It needs type, start and end.")
    return edge[name]


def _check_known(record: Mapping[str, Any], known: Mapping[str, None], table: str, row: int) -> None:
    """Raise for an entry that would be left out, such as a property beside ``properties``."""
    if not isinstance(record, Mapping):
        kind = type(record).__name__
        raise StorageError(
            f"{table}: row {row} is a {kind}, not a mapping", hint=f"Its entries are {', '.join(known)}."
        )
    if not record.keys() <= known.keys():
        name = next(name for name in record if name not in known)
        raise StorageError(
            f"{table}: row {row} has {name!r}, which is none of {', '.join(known)}",
            hint="".join(f"Write {each!r}. " for each in KEYWORDS.get(name, ()) if each in known) + _PROPERTIES,
        )


def _columns(rows: Sequence[Mapping[str, Any]], table: str) -> dict[str, Any]:
    keys = dict.fromkeys(key for row in rows for key in row)
    for key in keys:
        name_of(key, f"{table}: the name of a property", "Names of properties are strings.")
    return {key: from_python([row.get(key) for row in rows], f"{table}, property {key}") for key in keys}
