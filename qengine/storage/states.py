"""What a commit has changed, as values: whole nodes and relationships, by their numbers.

A number is an element's identity (``elementId``): it stays when a version is made anew, saved and opened, and is never
given again. Where an element stands in a version (its internal id) is another matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

from qengine._frozen import frozen

if TYPE_CHECKING:
    from qengine.storage.arrays import Array


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


Columns: TypeAlias = Mapping[str, Any]


@frozen
class NodeBlock:
    """Many new nodes, with the same labels and the numbers from ``first`` on.

    ``columns``: by property a list with the value of each of them, None for those that have none; nobody changes it. In
    a commit that is made a version at once they may be normal Arrow arrays, too.
    """

    first: int
    count: int
    labels: tuple[str, ...]
    columns: Columns

    def state(self, number: int) -> NodeState:
        """Return one of the nodes."""
        return NodeState(self.labels, _properties(self.columns, number - self.first))

    def states(self) -> Iterator[tuple[int, NodeState]]:
        """Give all nodes by their numbers."""
        return ((number, self.state(number)) for number in range(self.first, self.first + self.count))


@frozen
class RelationshipBlock:
    """Many new relationships of one type, with the numbers from ``first`` on.

    ``starts``, ``ends`` (int64): numbers of nodes. ``columns``: as of ``NodeBlock``.
    """

    first: int
    count: int
    type: str
    starts: Array
    ends: Array
    columns: Columns

    def state(self, number: int) -> RelationshipState:
        """Return one of the relationships."""
        row = number - self.first
        properties = _properties(self.columns, row)
        return RelationshipState(self.type, int(self.starts[row]), int(self.ends[row]), properties)

    def states(self) -> Iterator[tuple[int, RelationshipState]]:
        """Give all relationships by their numbers."""
        return ((number, self.state(number)) for number in range(self.first, self.first + self.count))


Block: TypeAlias = NodeBlock | RelationshipBlock


def _properties(columns: Columns, row: int) -> dict[str, Any]:
    found = ((key, values[row]) for key, values in columns.items())
    return {key: value for key, value in found if value is not None}


@frozen
class Patch:
    """What is done alike to many nodes, or to many relationships, that there are.

    ``numbers``: int64, ascending, each once. ``columns``: by property a normal Arrow array of that length, null where
    the property goes. ``added``, ``removed``: labels that nodes get and lose. ``deleted``: the elements go, and nothing
    else is said of them.
    """

    numbers: Array
    columns: Columns = field(default_factory=dict)
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    deleted: bool = False


@frozen
class Commit:
    """The elements that a transaction has touched, as they are after it, None for those that it has deleted.

    ``next_node``, ``next_relationship``: the least numbers that were never given. ``rules``: all rules that hold after
    it (``catalog.rules.Rules.rows``), None where none has changed. ``node_blocks``, ``relationship_blocks``: new
    elements that were made many at a time, in the order of their numbers. ``node_patches``, ``relationship_patches``:
    what is done to elements of the version before, one after the other. Of an element that is among ``nodes`` or
    ``relationships``, too, that is what holds.
    """

    nodes: Mapping[int, NodeState | None]
    relationships: Mapping[int, RelationshipState | None]
    next_node: int
    next_relationship: int
    rules: tuple[tuple[str, ...], ...] | None = None
    node_blocks: tuple[NodeBlock, ...] = ()
    relationship_blocks: tuple[RelationshipBlock, ...] = ()
    node_patches: tuple[Patch, ...] = ()
    relationship_patches: tuple[Patch, ...] = ()


def size_of(commit: Commit) -> int:
    """Return how many elements a commit has touched."""
    nodes = len(commit.nodes) + sum(block.count for block in commit.node_blocks)
    nodes += sum(len(patch.numbers) for patch in (*commit.node_patches, *commit.relationship_patches))
    return nodes + len(commit.relationships) + sum(block.count for block in commit.relationship_blocks)
