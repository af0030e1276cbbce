"""What patterns and expressions read of a version that is no store: a store, and what was touched above it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Protocol

from qengine.plan.pattern import LabelExpr
from qengine.storage.states import NodeState, RelationshipState
from qengine.types import Type
from qengine.write.base import Base


class Readable(Protocol):
    """An ``Overlay`` as readers see it, or a ``PendingVersion``. Elements are known by their numbers."""

    base: Base

    @property
    def nodes_above(self) -> int:
        """How many nodes there are above the base, or a little more."""

    @property
    def relationships_above(self) -> int:
        """How many relationships there are above the base, or a little more."""

    def node(self, number: int) -> NodeState | None:
        """Return a node, None where there is none."""

    def relationship(self, number: int) -> RelationshipState | None:
        """Return a relationship, None where there is none."""

    def known_relationship(self, number: int) -> RelationshipState | None:
        """Return a relationship, also one that was deleted in the same transaction."""

    def touched_node(self, number: int) -> NodeState | bool | None:
        """Return a node above the base, None for one that was deleted, False for one that is as in the base."""

    def touched_relationship(self, number: int) -> RelationshipState | bool | None:
        """Return a relationship above the base, None for one that was deleted, False for one as in the base."""

    def touched_nodes(
        self, keys: Collection[str] | None = None, labels: Collection[str] | None = None
    ) -> Mapping[int, NodeState | None]:
        """Return the nodes above the base that are kept one by one.

        All others of the base are as there in some properties and labels (None: in all of them), and none is gone.
        """

    def touched_relationships(self, keys: Collection[str] | None = None) -> Mapping[int, RelationshipState | None]:
        """Return the relationships above the base that are kept one by one, as ``touched_nodes`` does nodes."""

    def property_types(self, entity: str, key: str) -> frozenset[Type]:
        """Return the types that the values of a property of "node" or "relationship"s have, perhaps some more."""

    def added(self, node: int) -> Iterator[tuple[int, RelationshipState]]:
        """Give the relationships of a node that are not in the base."""

    def added_between(self, one: int, other: int) -> Iterator[tuple[int, RelationshipState]]:
        """Give the relationships between two nodes that are not in the base, first those from ``one``."""

    def labelled(self, label: str) -> list[int]:
        """Return the nodes above the base that have a label."""

    def block_nodes(self, expr: LabelExpr | None) -> Iterator[int]:
        """Give the nodes above the base that satisfy a label expression and aren't kept one by one."""

    def nodes_having(self, wanted: Mapping[str, Any]) -> list[int]:
        """Return the nodes above the base whose properties equal some values; perhaps others."""

    def nodes_with(self, key: str, value: Any) -> list[int]:
        """Return the nodes above the base that have a value of a property, and no others."""

    def relationships_having(self, wanted: Mapping[str, Any]) -> list[int]:
        """Return the relationships above the base whose properties equal some values; perhaps others."""
