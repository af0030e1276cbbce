"""What a commit has changed, as values: whole nodes and relationships, by their numbers.

A number is an element's identity (``elementId``): it stays when a version is made anew, saved and opened, and is never
given again. Where an element stands in a version (its internal id) is another matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from qengine._frozen import frozen

if TYPE_CHECKING:
    from qengine.storage.state_blocks import NodeBlock, RelationshipBlock

__all__ = ["Commit", "NodeState", "RelationshipState"]


@frozen
class NodeState:
    """A node: its labels in the order in which it got them, and its properties, none of them null.

    Values are those that evaluation has: None, bool, int, float, str, ``qengine.temporal`` values, lists of such.
    """

    labels: tuple[str, ...]
    properties: Mapping[str, Any]


@frozen
class RelationshipState:
    """A relationship: its type, the numbers of its start and end, and its properties, none of them null."""

    type: str
    start: int
    end: int
    properties: Mapping[str, Any]


@frozen
class Commit:
    """The elements that a transaction has touched, as they are after it, None for those that it has deleted.

    ``next_node``, ``next_relationship``: the least numbers that were never given. ``rules``: all rules that hold after
    it (``catalog.rules.Rules.rows``), None where none has changed. ``node_blocks``, ``relationship_blocks``: new elements
    that were made many at a time, in the order of their numbers; of one that is among ``nodes`` or ``relationships``,
    too, that is what holds.
    """

    nodes: Mapping[int, NodeState | None]
    relationships: Mapping[int, RelationshipState | None]
    next_node: int
    next_relationship: int
    rules: tuple[tuple[str, ...], ...] | None = None
    node_blocks: tuple[NodeBlock, ...] = ()
    relationship_blocks: tuple[RelationshipBlock, ...] = ()
