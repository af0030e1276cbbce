"""A graph that changes: a version, and above it what was touched since. One writer has it; nothing here is locked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeAlias, TypeVar

import numpy as np

from qengine._frozen import record
from qengine.catalog.rules import Rules
from qengine.plan.pattern import LabelExpr
from qengine.storage.arrays import Array
from qengine.storage.states import Commit, NodeBlock, NodeState, Patch, RelationshipBlock, RelationshipState
from qengine.types import Type
from qengine.write.base import Base
from qengine.write.block_table import BlockLinks, BlockTable, BlockValues, place_of
from qengine.write.patch_table import PatchTable, apply_patches
from qengine.write.touched import TouchedValues
from qengine.write.value_types import property_types, types_given

_K = TypeVar("_K")
_V = TypeVar("_V")
_State: TypeAlias = NodeState | RelationshipState | None
_ABSENT: Any = object()
_NO_LABELS: tuple[str, ...] = ()
_NO_PROPERTIES: Mapping[str, Any] = {}
_AT_ONCE = 4096  # elements of patches that are read together


@record
class Changes:
    """What a statement has done, as counts."""

    nodes_created: int = 0
    nodes_deleted: int = 0
    relationships_created: int = 0
    relationships_deleted: int = 0
    properties_set: int = 0
    labels_added: int = 0
    labels_removed: int = 0
    indexes_added: int = 0
    indexes_removed: int = 0
    constraints_added: int = 0
    constraints_removed: int = 0

    def __repr__(self) -> str:
        done = [f"{each.name}={count}" for each in fields(self) if (count := getattr(self, each.name))]
        return f"Changes({', '.join(done)})"

    def __str__(self) -> str:
        """Return what was done in words, as "2 nodes created, 1 property set"."""
        counts = ((each.name, getattr(self, each.name)) for each in fields(self))
        return ", ".join(_told(name, count) for name, count in counts if count) or "no changes"


def _told(name: str, count: int) -> str:
    things, done = name.split("_")
    return f"{count:,} {things if count != 1 else _ONE[things]} {done}"


def _fewest(values: BlockValues[Any], wanted: Mapping[str, Any], touched: Mapping[int, object]) -> list[int]:
    """Return the elements of blocks that have the rarest of some values, but for those touched one by one."""
    found = min((values.places(key).all_of(place_of(value)) for key, value in wanted.items()), key=len)
    return [number for number in found if number not in touched]


_ONE = {
    "nodes": "node",
    "relationships": "relationship",
    "properties": "property",
    "labels": "label",
    "indexes": "index",
    "constraints": "constraint",
}


class Overlay:
    """The elements of a base that were touched, as they are now, and those that were added.

    Elements are known by their numbers. Whatever changes is noted, so that it can be taken back to a mark. New ones
    that were made many at a time stay blocks, and what is done to many of the base alike stays a patch, until what
    patches change is asked for in a way that goes element by element. What is touched one by one goes before both.

    Attributes
    ----------
    base
        The version below.
    changes
        Counts since they were last begun anew.
    programs
        Statements that were compiled for it, by what they are known by (``write.execute``).
    """

    def __init__(self, base: Base) -> None:
        self.base = base
        self.changes = Changes()
        self.programs: dict[Any, Any] = {}
        #: Differs after each change.
        self.clock = 0
        self.next_node, self.next_relationship = base.next_node, base.next_relationship
        self._undo: list[tuple[dict[Any, Any], Any, Any]] = []
        self.values = TouchedValues(self._undo)
        self.relationship_values = TouchedValues(self._undo)
        self.node_blocks: BlockTable[NodeBlock] = BlockTable()
        self.relationship_blocks: BlockTable[RelationshipBlock] = BlockTable()
        self.node_patches, self.relationship_patches = PatchTable(), PatchTable()
        self.block_values = BlockValues(self.node_blocks)
        self._block_relationship_values = BlockValues(self.relationship_blocks)
        self._block_links = BlockLinks(self.relationship_blocks)
        self._rules = {"now": base.store.rules, "committed": base.store.rules}
        self._nodes: dict[int, NodeState | None] = {}
        self._relationships: dict[int, RelationshipState | None] = {}
        self._gone: dict[int, RelationshipState] = {}  # deleted, not of the base: their types may still be asked for
        self._added: dict[int, dict[int, None]] = {}  # relationships of each node that are not in the base
        self._pairs: dict[tuple[int, int], dict[int, None]] = {}
        self._labels: dict[str, dict[int, None]] = {}  # touched nodes that have a label
        self._own_nodes: dict[int, None] = {}
        self._own_relationships: dict[int, None] = {}
        self._own_node_blocks: dict[int, None] = {}
        self._own_relationship_blocks: dict[int, None] = {}
        self._own_node_patches: dict[int, None] = {}
        self._own_relationship_patches: dict[int, None] = {}

    # ------------------------------------------------------------ reading

    @property
    def touched(self) -> int:
        """How many elements are above the base."""
        one_by_one = len(self._nodes) + len(self._relationships)
        together = self.node_blocks.size + self.relationship_blocks.size
        return one_by_one + together + self.node_patches.size + self.relationship_patches.size

    @property
    def nodes_above(self) -> int:
        """How many nodes are above the base, those that were deleted too."""
        return len(self._nodes) + self.node_blocks.size + self.node_patches.size

    @property
    def relationships_above(self) -> int:
        """How many relationships are above the base, those that were deleted too."""
        return len(self._relationships) + self.relationship_blocks.size + self.relationship_patches.size

    @property
    def in_blocks(self) -> int:
        """How many elements its blocks have."""
        return self.node_blocks.size + self.relationship_blocks.size

    @property
    def in_patches(self) -> int:
        """How many bytes its patches have."""
        return self.node_patches.nbytes + self.relationship_patches.nbytes

    @property
    def relationships_apart(self) -> bool:
        """Whether relationships are touched one by one, or are new."""
        return bool(self._relationships or self.relationship_blocks)

    def node(self, number: int) -> NodeState | None:
        """Return a node, None where there is none."""
        found: NodeState | None = self._nodes.get(number, _ABSENT)
        if found is not _ABSENT:
            return found
        if number >= self.base.next_node:
            return self._of_node_block(number)
        state = self.base.node(number)
        return self._patched(self.node_patches, number, state) if self.node_patches.by_place else state

    @staticmethod
    def _patched(table: PatchTable, number: int, state: Any) -> Any:
        """Return what patches make of an element of the base."""
        if state is None:
            return None
        if (known := table.known.get(number)) is not None:
            return known
        return table.applied({number: state})[number] if table.names(number) else state

    def _of_node_block(self, number: int) -> NodeState | None:
        block = self.node_blocks.of(number)
        return None if block is None else block.state(number)

    def read_ahead(self, nodes: Sequence[int], relationships: Sequence[int]) -> None:
        """Read elements that will be asked for together."""
        following = self.base.next_node
        if nodes := [number for number in nodes if number < following and number not in self._nodes]:
            self.base.read_nodes(nodes)
            if self.node_patches.by_place:
                self.node_patches.applied({number: self.base.node(number) for number in sorted(nodes)})
        following, touched = self.base.next_relationship, self._relationships
        if relationships := [number for number in relationships if number < following and number not in touched]:
            self.base.read_relationships(relationships)

    def relationship(self, number: int) -> RelationshipState | None:
        """Return a relationship, None where there is none."""
        found: RelationshipState | None = self._relationships.get(number, _ABSENT)
        if found is not _ABSENT:
            return found
        if number < self.base.next_relationship:
            state = self.base.relationship(number)
            return (
                self._patched(self.relationship_patches, number, state) if self.relationship_patches.by_place else state
            )
        return self._of_relationship_block(number)

    def _of_relationship_block(self, number: int) -> RelationshipState | None:
        block = self.relationship_blocks.of(number)
        return None if block is None else block.state(number)

    def known_relationship(self, number: int) -> RelationshipState | None:
        """Return a relationship; one that was deleted, since the base or since the writer began, without properties."""
        return self.relationship(number) or self._gone.get(number) or self._without_properties(number)

    def _without_properties(self, number: int) -> RelationshipState | None:
        state = self.base.relationship(number)
        return None if state is None else RelationshipState(state.type, state.start, state.end, _NO_PROPERTIES)

    def touched_node(self, number: int) -> NodeState | bool | None:
        """Return a node that was touched, None for one that was deleted, False for one that is as in the base."""
        found: NodeState | None = self._nodes.get(number, _ABSENT)
        if found is not _ABSENT:
            return found
        if number >= self.base.next_node:
            return self._of_node_block(number) or False
        return self.node(number) if self.node_patches.by_place and self.node_patches.names(number) else False

    def touched_relationship(self, number: int) -> RelationshipState | bool | None:
        """Return a relationship that was touched, None for one that was deleted, False for one as in the base."""
        found: RelationshipState | None = self._relationships.get(number, _ABSENT)
        if found is not _ABSENT:
            return found
        if number >= self.base.next_relationship:
            return self._of_relationship_block(number) or False
        patches = self.relationship_patches
        return self.relationship(number) if patches.by_place and patches.names(number) else False

    def touched_nodes(
        self, keys: Collection[str] | None = None, labels: Collection[str] | None = None
    ) -> Mapping[int, NodeState | None]:
        """Return the nodes that were touched one by one.

        All others of the base are as there in some properties and labels (None: in all of them), and none is gone.
        """
        if self.node_patches.by_place and self.node_patches.concern(keys, labels):
            self._take_apart_nodes()
        return self._nodes

    def touched_relationships(self, keys: Collection[str] | None = None) -> Mapping[int, RelationshipState | None]:
        """Return the relationships that were touched one by one, as ``touched_nodes`` does nodes."""
        if self.relationship_patches.by_place and self.relationship_patches.concern(keys, ()):
            self._take_apart_relationships()
        return self._relationships

    def are_touched(self, numbers: Array) -> bool:
        """Tell whether some of these nodes were touched one by one."""
        return bool(self._nodes) and any(number in self._nodes for number in numbers.tolist())

    def are_apart(self, numbers: Array, *, nodes: bool) -> Array:
        """Tell which elements are touched one by one, or in blocks: all others are of the base, or of patches."""
        touched, following = (self._nodes, self.base.next_node)
        if not nodes:
            touched, following = self._relationships, self.base.next_relationship  # type: ignore[assignment]
        found: Array = numbers >= following
        return found | np.isin(numbers, np.fromiter(touched, np.int64, len(touched))) if touched else found

    def property_types(self, entity: str, key: str) -> frozenset[Type]:
        """Return the types that the values of a property have, perhaps some more."""
        return property_types(self.base.store, entity, key) | types_given(self.above(), entity, key)

    def added(self, node: int) -> Iterator[tuple[int, RelationshipState]]:
        """Give the relationships of a node that are not in the base."""
        for number in (*self._added.get(node, ()), *self._block_links.of(node)):
            state = self.relationship(number)
            if state is not None:
                yield number, state

    def added_between(self, one: int, other: int) -> Iterator[tuple[int, RelationshipState]]:
        """Give the relationships between two nodes that are not in the base, first those from ``one``."""
        for pair in ((one, other), (other, one)) if one != other else ((one, other),):
            for number in (*self._pairs.get(pair, ()), *self._block_links.between(*pair)):
                state = self.relationship(number)
                if state is not None:
                    yield number, state

    def added_from(self, start: int, end: int, type: str) -> Iterator[int]:
        """Give the numbers of the relationships of a type from one node to another that are not in the base."""
        pair = start, end
        for number in (*self._pairs.get(pair, ()), *self._block_links.between(*pair)):
            state = self.relationship(number)
            if state is not None and state.type == type:
                yield number

    @property
    def rules(self) -> Rules:
        """The rules that hold."""
        return self._rules["now"]

    def touched_since(self, mark: int) -> tuple[dict[int, None], dict[int, None]]:
        """Return the numbers of the nodes and the relationships that were touched one by one since a mark."""
        nodes: dict[int, None] = {}
        relationships: dict[int, None] = {}
        for table, key, _ in self._undo[mark:]:
            if table is self._nodes:
                nodes[key] = None
            elif table is self._relationships:
                relationships[key] = None
        return nodes, relationships

    def patches_since(self, mark: int) -> tuple[list[Patch], list[Patch]]:
        """Return the patches of nodes and of relationships that were made since a mark."""
        tables = self.node_patches.by_place, self.relationship_patches.by_place
        nodes, relationships = (
            dict.fromkeys(key for table, key, _ in self._undo[mark:] if table is own and key in own) for own in tables
        )
        return [tables[0][place] for place in nodes], [tables[1][place] for place in relationships]

    def blocks_since(self, mark: int) -> tuple[list[NodeBlock], list[RelationshipBlock]]:
        """Return the blocks that were made or changed since a mark."""
        tables = self.node_blocks.by_first, self.relationship_blocks.by_first
        nodes, relationships = (
            dict.fromkeys(key for table, key, _ in self._undo[mark:] if table is own and key in own) for own in tables
        )
        return [tables[0][first] for first in nodes], [tables[1][first] for first in relationships]

    def labelled(self, label: str) -> list[int]:
        """Return the touched nodes that have a label."""
        self.touched_nodes((), (label,))
        blocks = (block for block in self.node_blocks if label in block.labels)
        return [*self._labels.get(label, ()), *self._untouched(blocks)]

    def block_nodes(self, expr: LabelExpr | None) -> Iterator[int]:
        """Give the nodes of blocks that satisfy a label expression, but for those that were touched one by one."""
        return self._untouched(
            block for block in self.node_blocks if expr is None or expr.admits(frozenset(block.labels))
        )

    def _untouched(self, blocks: Iterable[NodeBlock]) -> Iterator[int]:
        for block in blocks:
            yield from (n for n in range(block.first, block.first + block.count) if n not in self._nodes)

    def nodes_with(self, key: str, value: Any) -> list[int]:
        """Return the nodes above the base that have a value of a property."""
        self.touched_nodes((key,), ())
        found = list(self.values.having(key, value, self._nodes)) if self._nodes else []
        return found + _fewest(self.block_values, {key: value}, self._nodes) if self.node_blocks else found

    def nodes_having(self, wanted: Mapping[str, Any]) -> list[int]:
        """Return the nodes above the base whose properties equal some values; perhaps others."""
        self.touched_nodes(wanted, ())
        return self.values.find(wanted, self._nodes) + _fewest(self.block_values, wanted, self._nodes)

    def relationships_having(self, wanted: Mapping[str, Any]) -> list[int]:
        """Return the relationships above the base whose properties equal some values; perhaps others."""
        touched = self.touched_relationships(wanted)
        found = self.relationship_values.find(wanted, touched)
        return found + _fewest(self._block_relationship_values, wanted, touched)

    def has_relationships(self, node: int) -> bool:
        """Tell whether a node, which may be deleted, is an end of a relationship."""
        if next(self.added(node), None) is not None:
            return True
        return any(self._is_there(link[0]) for link in self.base.incident(node))

    def _is_there(self, number: int) -> bool:
        """Tell whether a relationship of the base was not deleted."""
        touched = self._relationships.get(number, _ABSENT)
        return touched is not None if touched is not _ABSENT else not self.relationship_patches.deletes_one(number)

    # ------------------------------------------------------------ changing

    def mark(self) -> int:
        """Return where to take changes back to."""
        return len(self._undo)

    def take_back(self, mark: int) -> None:
        """Take back what was changed since a mark."""
        if len(self._undo) <= mark:
            return
        self.values.taken_back(mark)
        self.relationship_values.taken_back(mark)
        self.clock += 1
        blocks = len(self.node_blocks.by_first), len(self.relationship_blocks.by_first)
        patches = len(self.node_patches.by_place), len(self.relationship_patches.by_place)
        while len(self._undo) > mark:
            table, key, old = self._undo.pop()
            if old is _ABSENT:
                table.pop(key, None)
            else:
                table[key] = old
        if any(blocks):
            self.node_blocks.changed()
            self.relationship_blocks.changed()
        for each, before in zip((self.node_patches, self.relationship_patches), patches, strict=True):
            if before or each:
                each.changed()

    @property
    def is_changed(self) -> bool:
        """Whether anything was changed since the last commit."""
        own = self._own_nodes or self._own_relationships or self._own_node_blocks or self._own_relationship_blocks
        patched = self._own_node_patches or self._own_relationship_patches
        return bool(own or patched or self._rules["now"] is not self._rules["committed"])

    def uncommitted(self) -> Commit:
        """Return what was changed since the last commit."""
        return Commit(
            {number: self._nodes[number] for number in self._own_nodes},
            {number: self._relationships[number] for number in self._own_relationships},
            self.next_node,
            self.next_relationship,
            self._rules_unlike(self._rules["committed"]),
            *self._own_blocks(),
            *self._own_patches(),
        )

    def _own_blocks(self) -> tuple[tuple[NodeBlock, ...], tuple[RelationshipBlock, ...]]:
        nodes, relationships = self._own_node_blocks, self._own_relationship_blocks
        if not (nodes or relationships):
            return (), ()
        return (
            tuple(self.node_blocks.by_first[first] for first in nodes),
            tuple(self.relationship_blocks.by_first[first] for first in relationships),
        )

    def _own_patches(self) -> tuple[tuple[Patch, ...], tuple[Patch, ...]]:
        nodes, relationships = self._own_node_patches, self._own_relationship_patches
        if not (nodes or relationships):
            return (), ()
        return (
            tuple(self.node_patches.by_place[place] for place in sorted(nodes)),
            tuple(self.relationship_patches.by_place[place] for place in sorted(relationships)),
        )

    def above(self) -> Commit:
        """Return all that is above the base."""
        rules = self._rules_unlike(self.base.store.rules)
        blocks = tuple(self.node_blocks), tuple(self.relationship_blocks)
        blocks += tuple(self.node_patches), tuple(self.relationship_patches)  # type: ignore[assignment]
        nodes, relationships = dict(self._nodes), dict(self._relationships)
        return Commit(nodes, relationships, self.next_node, self.next_relationship, rules, *blocks)

    def _rules_unlike(self, before: Rules) -> tuple[tuple[str, ...], ...] | None:
        now = self._rules["now"]
        return None if now is before or now == before else now.rows()

    def committed(self) -> None:
        """Take note that what was changed stays; it can't be taken back any more."""
        self._own_nodes, self._own_relationships = {}, {}
        self._own_node_blocks, self._own_relationship_blocks = {}, {}
        if self._own_node_patches or self._own_relationship_patches:
            self._own_node_patches, self._own_relationship_patches = {}, {}
            self.node_patches.join()
            self.relationship_patches.join()
        self._rules["committed"] = self._rules["now"]
        self._undo.clear()
        self.values.committed()
        self.relationship_values.committed()

    def ended(self) -> None:
        """Take back what wasn't committed: the writer ends."""
        self.take_back(0)
        if self._gone:
            self._gone = {}

    def create_node(self, labels: tuple[str, ...], properties: Mapping[str, Any]) -> int:
        """Make a node and return its number."""
        number = self.next_node
        self.next_node += 1
        self._put_node(number, NodeState(labels, properties))
        self.changes.nodes_created += 1
        self.changes.labels_added += len(labels)
        self.changes.properties_set += len(properties)
        return number

    def create_relationship(self, type: str, start: int, end: int, properties: Mapping[str, Any]) -> int:
        """Make a relationship between two nodes that there are, and return its number."""
        number = self.next_relationship
        self.next_relationship += 1
        state = RelationshipState(type, start, end, properties)
        self._put_relationship(number, state)
        self._link(number, state)
        self.changes.relationships_created += 1
        self.changes.properties_set += len(properties)
        return number

    def create_nodes(self, labels: tuple[str, ...], count: int, columns: Mapping[str, list[Any]]) -> int:
        """Make nodes with the same labels; return the first one's number. ``columns``: as of ``NodeBlock``."""
        block = NodeBlock(self.next_node, count, labels, columns)
        self.next_node += count
        self.clock += 1
        self._put(self.node_blocks.by_first, block.first, block)
        self.node_blocks.added(block)
        self._put(self._own_node_blocks, block.first, None)
        self.changes.nodes_created += count
        self.changes.labels_added += count * len(labels)
        self.changes.properties_set += sum(count - column.count(None) for column in columns.values())
        return block.first

    def create_relationships(self, type: str, starts: Array, ends: Array, columns: Mapping[str, list[Any]]) -> int:
        """Make relationships of a type between nodes that there are; return the first one's number.

        ``starts``, ``ends`` (int64), ``columns``: as of ``RelationshipBlock``.
        """
        count = len(starts)
        block = RelationshipBlock(self.next_relationship, count, type, starts, ends, columns)
        self.next_relationship += count
        self.clock += 1
        self._put(self.relationship_blocks.by_first, block.first, block)
        self.relationship_blocks.added(block)
        self._put(self._own_relationship_blocks, block.first, None)
        self.changes.relationships_created += count
        self.changes.properties_set += sum(count - column.count(None) for column in columns.values())
        return block.first

    def uncommitted_blocks(self) -> list[NodeBlock]:
        """Return the blocks of nodes that were made since the last commit."""
        return [self.node_blocks.by_first[first] for first in self._own_node_blocks]

    def set_block_column(self, first: int, key: str, values: list[Any], count: int) -> None:
        """Give the nodes of an uncommitted block other values of a property; ``count``: as ``set_node_properties``."""
        block = self.node_blocks.by_first[first]
        columns = {**block.columns, key: values}
        self.clock += 1
        self._put(self.node_blocks.by_first, first, NodeBlock(first, block.count, block.labels, columns))
        self.node_blocks.replaced()
        self.changes.properties_set += count

    def patch_nodes(self, patch: Patch, **counts: int) -> None:
        """Do something to many nodes, none of which is apart or gone; ``counts``: what is added to ``changes``."""
        self._put_patch(self.node_patches, self._own_node_patches, patch, counts)

    def patch_relationships(self, patch: Patch, **counts: int) -> None:
        """Do something to many relationships, as ``patch_nodes``."""
        self._put_patch(self.relationship_patches, self._own_relationship_patches, patch, counts)

    def _put_patch(self, table: PatchTable, own: dict[int, None], patch: Patch, counts: Mapping[str, int]) -> None:
        self.clock += 1
        place = table.next_place
        self._put(table.by_place, place, patch)
        self._put(own, place, None)
        table.changed()
        for name, count in counts.items():
            setattr(self.changes, name, getattr(self.changes, name) + count)

    def _take_apart_nodes(self) -> None:
        """Keep the nodes of patches one by one."""
        table = self.node_patches
        own = self._own_numbers(table, self._own_node_patches)
        for first in range(0, len(numbers := table.numbers), _AT_ONCE):
            part = [number for number in numbers[first : first + _AT_ONCE].tolist() if number not in self._nodes]
            self.read_ahead(part, [])
            states = {number: self.base.node(number) for number in part}
            apply_patches(states, table)
            for number, state in states.items():
                self._put_node(number, state, own=number in own)
        self._drop_all(table, self._own_node_patches)

    def _take_apart_relationships(self) -> None:
        """Keep the relationships of patches one by one."""
        table, touched = self.relationship_patches, self._relationships
        own = self._own_numbers(table, self._own_relationship_patches)
        for first in range(0, len(numbers := table.numbers), _AT_ONCE):
            part = [number for number in numbers[first : first + _AT_ONCE].tolist() if number not in touched]
            self.read_ahead([], part)
            states = {number: self.base.relationship(number) for number in part}
            apply_patches(states, table)
            for number, state in states.items():
                self._put_relationship(number, state, own=number in own)
        self._drop_all(table, self._own_relationship_patches)

    @staticmethod
    def _own_numbers(table: PatchTable, own: Iterable[int]) -> frozenset[int]:
        return frozenset(number for place in own for number in table.by_place[place].numbers.tolist())

    def _drop_all(self, table: PatchTable, own: dict[int, None]) -> None:
        for place in list(table.by_place):
            self._drop(table.by_place, place)
            self._drop(own, place)
        table.changed()

    def _link(self, number: int, state: RelationshipState) -> None:
        for end in (state.start, state.end):
            self._enter(self._added, end, number)
        self._enter(self._pairs, (state.start, state.end), number)

    def delete_node(self, number: int) -> None:
        """Take a node away, if it is still there; its relationships stay."""
        known = self.touched_node(number)
        if known is not None and (known is not False or self.base.node_place(number) >= 0):
            self._put_node(number, None)
            self.changes.nodes_deleted += 1

    def delete_relationship(self, number: int) -> None:
        """Take a relationship away, if it is still there."""
        state = self.relationship(number)
        if state is not None:
            self._delete(number, state.type, state.start, state.end)

    def delete_relationships_of(self, node: int) -> None:
        """Take away the relationships that a node is an end of."""
        names = self.base.store.types
        for number, index, start, end in list(self.base.incident(node)):
            if self._is_there(number):
                self._delete(number, names[index].name, start, end)
        self.delete_added_of(node)

    def delete_added_of(self, node: int) -> None:
        """Take away the relationships that a node is an end of and that aren't in the base."""
        for number, state in list(self.added(node)):
            self._delete(number, state.type, state.start, state.end)

    def _delete(self, number: int, type: str, start: int, end: int) -> None:
        if number >= self.base.next_relationship:
            self._put(self._gone, number, RelationshipState(type, start, end, _NO_PROPERTIES))
        self._put_relationship(number, None)
        self.changes.relationships_deleted += 1

    def set_node_properties(self, number: int, state: NodeState, properties: Mapping[str, Any], count: int) -> None:
        """Give a node other properties.

        ``state``: what it is. ``count``: how many properties were set, for the statement's counts.
        """
        self._put_node(number, NodeState(state.labels, properties))
        self.changes.properties_set += count

    def set_relationship_properties(
        self, number: int, state: RelationshipState, properties: Mapping[str, Any], count: int
    ) -> None:
        """Give a relationship other properties, as ``set_node_properties``."""
        self._put_relationship(number, RelationshipState(state.type, state.start, state.end, properties))
        self.changes.properties_set += count

    def set_labels(self, number: int, labels: tuple[str, ...]) -> None:
        """Give a node other labels."""
        state = self.node(number)
        assert state is not None
        self.changes.labels_added += len(set(labels) - set(state.labels))
        self.changes.labels_removed += len(set(state.labels) - set(labels))
        self._put_node(number, NodeState(labels, state.properties))

    def set_rules(self, rules: Rules) -> None:
        """Let other rules hold."""
        before = self.rules.all
        added = [each for each in rules.all if each not in before]
        removed = [each for each in before if each not in rules.all]
        self.clock += 1
        self._put(self._rules, "now", rules)
        self.changes.constraints_added += sum(each.is_constraint for each in added)
        self.changes.indexes_added += sum(not each.is_constraint for each in added)
        self.changes.constraints_removed += sum(each.is_constraint for each in removed)
        self.changes.indexes_removed += sum(not each.is_constraint for each in removed)

    # ------------------------------------------------------------ inside

    def _put(self, table: dict[_K, _V], key: _K, value: _V) -> None:
        self._undo.append((table, key, table.get(key, _ABSENT)))
        table[key] = value

    def _drop(self, table: dict[_K, _V], key: _K) -> None:
        if key in table:
            self._undo.append((table, key, table[key]))
            del table[key]

    def _enter(self, table: dict[_K, dict[int, None]], key: _K, number: int) -> None:
        """Put a number among those of a key."""
        found, undo = table.get(key), self._undo
        if found is None:
            found = table[key] = {}
            undo.append((table, key, _ABSENT))
        undo.append((found, number, found.get(number, _ABSENT)))
        found[number] = None

    def _put_node(self, number: int, state: NodeState | None, *, own: bool = True) -> None:
        old = self._nodes.get(number)
        before = _NO_LABELS if old is None else old.labels
        after = _NO_LABELS if state is None else state.labels
        if before != after:
            for label in before:
                self._drop(self._labels[label], number)
            for label in after:
                self._enter(self._labels, label, number)
        self._put_values(self.values, number, old, state)
        self.clock += 1
        self._put(self._nodes, number, state)
        if own:
            self._put(self._own_nodes, number, None)

    def _put_values(self, values: TouchedValues, number: int, old: _State, new: _State) -> None:
        before, after = None if old is None else old.properties, None if new is None else new.properties
        for bucket, enters in values.places(before, after):
            if enters:
                self._put(bucket, number, None)
            else:
                self._drop(bucket, number)

    def _put_relationship(self, number: int, state: RelationshipState | None, *, own: bool = True) -> None:
        self._put_values(self.relationship_values, number, self._relationships.get(number), state)
        self.clock += 1
        self._put(self._relationships, number, state)
        if own:
            self._put(self._own_relationships, number, None)
