"""What a graph holds, for reading: labels and relationship types with their properties and ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from qengine import _html
from qengine._arguments import tells_arguments
from qengine._elsewhere import no_attribute
from qengine._frozen import frozen
from qengine._printable import printable_line
from qengine.plan.rule_text import rule_statement
from qengine.types import Type

if TYPE_CHECKING:
    from qengine.storage.store import GraphStore

_MANY = 12
"""Pairs of label sets that a relationship type connects: more are told by single labels."""


@frozen(held=True)
class NodeSchema:
    """The nodes with exactly these labels: how many, and their properties."""

    labels: tuple[str, ...]
    count: int
    properties: Mapping[str, Type]


@frozen(held=True)
class RelationshipSchema:
    """A relationship type: how many, which label sets it connects, and its properties."""

    type: str
    count: int
    undirected: bool
    endpoints: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    properties: Mapping[str, Type]


@frozen(held=True)
class Schema:
    """All label sets and relationship types of a graph, and the statements that make its indexes and constraints."""

    nodes: tuple[NodeSchema, ...]
    relationships: tuple[RelationshipSchema, ...]
    rules: tuple[str, ...] = ()

    @classmethod
    def of(cls, store: GraphStore) -> Schema:
        """Read the schema off a graph."""
        columns = {key: column for key in store.property_keys("node") if (column := store.node_property(key))}
        ends = np.array([group.end for group in store.groups], np.int64)
        first: dict[tuple[str, ...], int] = {}  # the first group with each label set
        of = [first.setdefault(store.group_labels(group), group) for group in range(len(ends))]
        counts = dict.fromkeys(first.values(), 0)
        types: dict[int, dict[str, Type]] = {group: {} for group in counts}
        for group, own in zip(store.groups, of, strict=True):
            counts[own] += group.end - group.begin
        for key, column in columns.items():
            for number in column.ranges(ends):
                types[of[number]][key] = column.type
        nodes = (NodeSchema(labels, counts[group], types[group]) for labels, group in first.items())
        relationships = tuple(_relationships(store, index, of) for index in range(len(store.types)))
        return cls(tuple(nodes), relationships, tuple(map(rule_statement, store.rules.all)))

    if not TYPE_CHECKING:  # for type checkers there are no others

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute("schema", name, dir(type(self)))

    def __call__(self) -> NoReturn:  # noqa: D102 (who calls it is told that it is no method)
        raise TypeError("a schema is no method; write graph.schema, without parentheses")

    def __repr__(self) -> str:
        lines = (text if count is None else f"{text}  {count:,}" for text, count in self._entries())
        return "\n".join(map(printable_line, lines)) or "an empty graph"

    def _repr_html_(self) -> str:
        entries = ((_html.Code(text), "" if count is None else f"{count:,}") for text, count in self._entries())
        return _html.table(("pattern", "count"), entries)

    @tells_arguments
    def to_text(self, *, counts: bool = False) -> str:
        """Return the schema as a text for people and for language models that write queries.

        Patterns of nodes with the types of their properties, patterns of relationships, and what there is to know of
        directions and rules; ``counts``: how many there are of each, too.
        """
        lines = [
            printable_line(text) + (f"  # {count:,}" if counts and count is not None else "")
            for text, count in self._entries()
        ]
        first, last = len(self.nodes), len(lines) - len(self.rules)
        undirected = ", ".join(printable_line(each.type) for each in self.relationships if each.undirected)
        parts = [
            ("Nodes and their properties:", lines[:first]),
            ("Relationships and their properties:", lines[first:last]),
            ("Types without a direction, written -[:TYPE]-:", [undirected] if undirected else []),
            ("Indexes and constraints:", lines[last:]),
        ]
        return "\n\n".join("\n".join((title, *found)) for title, found in parts if found) or "an empty graph"

    def _entries(self) -> Iterator[tuple[str, int | None]]:
        """Yield a pattern for each label set and each pair of ends, with its count where it is the first of a type.

        Where a type has many pairs they are told by single labels, those with the same at the other end in one pattern.
        The rules come last.
        """
        for node in self.nodes:
            name = _labels(node.labels)
            yield f"({name}{_properties(node.properties, bool(name))})", node.count
        for edge in self.relationships:
            inside = f"[:{edge.type}{_properties(edge.properties, True)}]"
            arrow = f"-{inside}-" if edge.undirected else f"-{inside}->"
            for number, (start, end) in enumerate(_ends(edge.endpoints)):
                yield f"({start}){arrow}({end})", edge.count if number == 0 else None
        for rule in self.rules:
            yield rule, None


def _relationships(store: GraphStore, index: int, of: Sequence[int]) -> RelationshipSchema:
    """Describe a type; ``of``: by group of nodes the first with the same labels."""
    edge_type = store.types[index]
    found = ((of[start], of[end]) for start, end in store.statistics.pairs(index))
    pairs = {pair if not edge_type.undirected else _sorted(pair) for pair in found}
    endpoints = tuple((store.group_labels(start), store.group_labels(end)) for start, end in sorted(pairs))
    keys = {key: store.relationship_property(index, key) for key in edge_type.property_keys}
    properties = {key: column.type for key, column in keys.items() if column is not None}
    return RelationshipSchema(edge_type.name, edge_type.count, edge_type.undirected, endpoints, properties)


def _ends(endpoints: Sequence[tuple[Sequence[str], Sequence[str]]]) -> Iterator[tuple[str, str]]:
    """Yield the ends of a type's patterns as texts."""
    if len(endpoints) <= _MANY:
        for start, end in endpoints or (((), ()),):
            yield _labels(start), _labels(end)
        return
    behind: dict[str, set[str]] = {}
    for start, end in endpoints:
        for label in start or ("",):
            behind.setdefault(label, set()).update(end or ("",))
    together: dict[frozenset[str], set[str]] = {}
    for label, found in behind.items():
        together.setdefault(frozenset(found), set()).add(label)
    for others, labels in together.items():
        for one in _alternatives(labels):
            for other in _alternatives(others):
                yield one, other


def _labels(labels: Sequence[str]) -> str:
    return "".join(f":{label}" for label in labels)


def _alternatives(labels: Set[str]) -> list[str]:
    """Return a text for any of some labels, and one for no label (an empty one)."""
    named = "|".join(sorted(labels - {""}))
    return [f":{named}"] * bool(named) + [""] * ("" in labels)


def _sorted(pair: tuple[int, int]) -> tuple[int, int]:
    return min(pair), max(pair)


def _properties(types: Mapping[str, Type], after_name: bool) -> str:
    if not types:
        return ""
    inside = ", ".join(f"{key}: {type_}" for key, type_ in types.items())
    return (" " if after_name else "") + "{" + inside + "}"
