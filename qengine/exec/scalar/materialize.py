"""Turns handles of nodes, relationships and paths into the values that a result holds.

All handles of a batch of rows are gathered first, so that the store is asked once for each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from qengine.exec.interruptible import CHECKED_ITEMS, in_parts, unchecked
from qengine.exec.scalar.values import NodeHandle, PathHandle, RelationshipHandle, readable
from qengine.exec.view import ResultReader
from qengine.types import Node, Path, Relationship


def materialize(
    rows: Sequence[Sequence[Any]], store: ResultReader, check: Callable[[], None] = unchecked
) -> list[tuple[Any, ...]]:
    """Return the rows as tuples with every handle replaced, also inside lists and maps.

    ``check`` raises where the execution must stop; it is called for each part of a long list, and now and then.

    Raises
    ------
    ResourceError
        ``CountOverflow`` for a count that exceeds 64 bits: it may be compared or sorted by, but not come out.
    """
    nodes: dict[int, Node | None] = {}
    relationships: dict[int, Relationship | None] = {}
    for part in in_parts(rows, check):
        for row in part:
            _gather(row, nodes, relationships, check)
    if not nodes and not relationships:
        return [tuple(row) for row in rows]
    for ids in in_parts(list(nodes), check):
        nodes.update(zip(ids, store.nodes(ids), strict=True))
    for ids in in_parts(list(relationships), check):
        relationships.update(zip(ids, store.relationships(ids), strict=True))

    def replaced(value: Any) -> Any:
        kind = type(value)
        if kind is NodeHandle:
            return nodes[value.id]
        if kind is RelationshipHandle:
            return relationships[value.id]
        if kind is PathHandle:
            return Path(
                tuple(replaced(node) for node in value.nodes),
                tuple(replaced(relationship) for relationship in value.relationships),
            )
        if kind is list:
            if len(value) <= CHECKED_ITEMS:
                return [replaced(item) for item in value]
            return [replaced(item) for part in in_parts(value, check) for item in part]
        if kind is dict:
            return {key: replaced(item) for key, item in value.items()}
        return value

    return [tuple([replaced(value) for value in row]) for part in in_parts(rows, check) for row in part]


def _gather(
    values: Sequence[Any], nodes: dict[int, Any], relationships: dict[int, Any], check: Callable[[], None]
) -> None:
    if len(values) > CHECKED_ITEMS:
        for part in in_parts(values, check):
            _gather(part, nodes, relationships, check)
        return
    for value in values:
        kind = type(value)
        if kind is NodeHandle:
            nodes[value.id] = None
        elif kind is RelationshipHandle:
            relationships[value.id] = None
        elif kind is int:
            readable(value)
        elif kind is PathHandle:
            _gather(value.nodes, nodes, relationships, check)
            _gather(value.relationships, nodes, relationships, check)
        elif kind is list:
            _gather(value, nodes, relationships, check)
        elif kind is dict:
            _gather(tuple(value.values()), nodes, relationships, check)
