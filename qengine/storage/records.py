"""Graphs from plain Python values: lists of nodes and relationships as mappings."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qengine.errors import StorageError
from qengine.storage.assemble import NodeBlock, RelationshipBlock, assemble
from qengine.storage.store import GraphStore
from qengine.storage.variant import from_python

_NODE = dict.fromkeys(("id", "labels", "properties"))
_RELATIONSHIP = dict.fromkeys(("type", "start", "end", "properties", "id"))  # results have ids, which are given anew


def from_records(
    nodes: Iterable[Mapping[str, Any]],
    relationships: Iterable[Mapping[str, Any]] = (),
    *,
    undirected: Iterable[str] = (),
) -> GraphStore:
    """Load a small graph from Python values, as ``Graph.from_records`` says."""
    by_labels: dict[frozenset[str], _Rows] = {}
    place: dict[Hashable, tuple[_Rows, int]] = {}
    for row, node in enumerate(nodes):
        _check_known(node, _NODE, "nodes", row)
        labels = node.get("labels", ())
        labels = (labels,) if isinstance(labels, str) else tuple(labels)
        own = by_labels.setdefault(frozenset(labels), _Rows(tuple(dict.fromkeys(labels))))
        key = node.get("id", row)
        if key in place:
            raise StorageError(
                f"nodes: row {row} has the id {key!r} that an earlier node has", hint="Give each node an id of its own."
            )
        place[key] = (own, len(own.properties))
        own.properties.append(node.get("properties") or {})
    first = 0
    for own in by_labels.values():
        own.first = first
        first += len(own.properties)

    by_type: dict[str, _Ends] = {}
    for row, edge in enumerate(relationships):
        ends = by_type.setdefault(_entry(edge, "type", row), _Ends())
        for name, ordinals in (("start", ends.start), ("end", ends.end)):
            key = _entry(edge, name, row)
            if key not in place:
                raise StorageError(f"relationships: row {row} has the {name} {key!r}, which is no node's id")
            rows, position = place[key]
            ordinals.append(rows.first + position)
        _check_known(edge, _RELATIONSHIP, "relationships", row)
        ends.properties.append(edge.get("properties") or {})
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
        undirected,
    )


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
            hint="Properties stand in a mapping of their own: 'properties': {…}.",
        )


def _columns(rows: Sequence[Mapping[str, Any]], table: str) -> dict[str, Any]:
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: from_python([row.get(key) for row in rows], f"{table}, property {key}") for key in keys}
