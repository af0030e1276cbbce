"""The types that the values of a property may have in a version that no store is made of yet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from qengine.storage.normal import language_type
from qengine.storage.states import Commit, NodeBlock, Patch, RelationshipBlock
from qengine.storage.store import GraphStore
from qengine.storage.variant import from_python
from qengine.types import ANY, NULL, Type, list_of

_PLAIN: dict[type, Type] = {}
"""Types of values by their classes, but for lists."""


def property_types(store: GraphStore, entity: str, key: str) -> frozenset[Type]:
    """Return the types that a property of "node" or "relationship"s has in a store; ANY of mixed columns."""
    found = store.property_type(entity, key)
    return frozenset(() if found is None else (found,))


def types_given(commit: Commit, entity: str, key: str) -> frozenset[Type]:
    """Return the types of the values of a property that elements have after a commit that has touched them."""
    if entity == "node":
        states, blocks, patches = commit.nodes, commit.node_blocks, commit.node_patches
    else:
        states, blocks, patches = commit.relationships, commit.relationship_blocks, commit.relationship_patches  # type: ignore[assignment]
    found = {value_type(state.properties[key]) for state in states.values() if state and key in state.properties}
    parts: tuple[NodeBlock | RelationshipBlock | Patch, ...] = (*blocks, *patches)
    for each in parts:
        column = each.columns.get(key)
        found.update(() if column is None else _types_in(column))
    return frozenset(found)


def value_type(value: Any) -> Type:
    """Return the type of a property's value."""
    kind = type(value)
    if kind is list:
        items = {value_type(each) for each in value}
        return list_of(items.pop() if len(items) == 1 else ANY if items else NULL)
    if (known := _PLAIN.get(kind)) is None:
        known = _PLAIN[kind] = language_type(from_python([value], "").type)
    return known


def _types_in(column: Any) -> Iterable[Type]:
    if isinstance(column, pa.Array):
        return (language_type(column.type),)
    return {value_type(each) for each in column if each is not None}
