"""The next version of a graph: a graph store made from the one before and what tables add to it, column by column.

What ``storage.successor`` does element by element is done here for whole columns: for tables of many rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import accumulate
from typing import Any

import numpy as np

from qengine._frozen import frozen
from qengine.errors import StorageError
from qengine.plan.pattern import Direction
from qengine.storage.arrays import Array
from qengine.storage.assemble import MAX_RELATIONSHIPS, NodeBlock, RelationshipBlock
from qengine.storage.columns import PropertyColumn
from qengine.storage.kernels import order_by_degree
from qengine.storage.node_layout import NodeLayout, lay_out_new
from qengine.storage.numbers import Identity, NumberList, NumberRange, Numbers, Run
from qengine.storage.patched_columns import NOTHING, extended_column
from qengine.storage.progress import Progress
from qengine.storage.spliced_type import Change, SplicedType, changed_type, new_type, sorted_type
from qengine.storage.store import EdgeType, GraphStore

__all__ = ["Extension", "Replaced", "extended"]

_NONE = np.empty(0, np.int64)


@frozen
class Replaced:
    """Properties that nodes get: their numbers (int64, each once), and normal arrays of that length; null for none."""

    nodes: Array
    columns: Mapping[str, Any]


@frozen
class Extension:
    """What is added to a graph.

    Attributes
    ----------
    nodes
        New nodes; ordinals count through the blocks.
    replaced
        Properties of nodes that there are.
    relationships
        New relationships. Their ends (int64) are numbers of nodes; ``next_node`` of the graph and an ordinal together
        stand for a new one.
    undirected
        Names of new types that have no direction.
    """

    nodes: Sequence[NodeBlock] = ()
    replaced: Sequence[Replaced] = ()
    relationships: Sequence[RelationshipBlock] = ()
    undirected: frozenset[str] = field(default_factory=frozenset)


def extended(base: GraphStore, extension: Extension) -> GraphStore:
    """Return the next version of a graph. New nodes of one label set have ascending numbers by descending degree.

    Raises
    ------
    StorageError
        If the graph would be too large.
    """
    added = _Added(base, extension)
    layout = added.layout
    ids = layout.numbers.places(added.numbers)
    nodes = _node_columns(base, extension, layout, ids)
    by_type: dict[str, list[tuple[int, RelationshipBlock]]] = {each.name: [] for each in base.types}
    first = base.next_relationship
    for block in extension.relationships:
        by_type.setdefault(block.type, []).append((first, block))
        first += len(block.start)
    made: list[_Type] = []
    total = sum(len(block.start) for block in extension.relationships)
    with Progress("Appending", total) as progress:
        for name, blocks in by_type.items():
            one = _next_type(base, name, blocks, added, undirected=name in extension.undirected)
            if one.count or one.undirected:
                made.append(one)
            progress.advance(sum(len(block.start) for _, block in blocks))
    ends = list(accumulate((each.count for each in made), initial=0))
    types = [
        EdgeType(each.name, index, begin, each.count, each.undirected, *each.facts, tuple(each.columns))
        for index, (each, begin) in enumerate(zip(made, ends, strict=False))
    ]
    next_node = base.next_node + len(added.numbers)
    identity = Identity(layout.numbers, Numbers([each.numbers for each in made]), next_node, first)
    lists, columns = [each.lists.adjacencies for each in made], [each.columns for each in made]
    store = GraphStore(layout.groups, layout.labels, types, lists, nodes, columns, identity, base.rules)
    if layout.new_ids is None:
        store.statistics.take_over(base.statistics, [each.name for each in made if each.lists.sources is None])
    return store


class _Added:
    """The new nodes: their ``numbers`` (int64) by ordinal, and where all nodes stand with them."""

    def __init__(self, base: GraphStore, extension: Extension) -> None:
        self.next_node = base.next_node
        count = sum(block.rows for block in extension.nodes)
        degrees = np.zeros(count, np.uint32)
        for block in extension.relationships:
            for ends in (block.start, block.end):
                own = ends[ends >= self.next_node] - self.next_node
                degrees += np.bincount(own, minlength=count).astype(np.uint32)
        members: dict[frozenset[str], list[Array]] = {}
        first = 0
        for node_block in extension.nodes:
            ordinals = np.arange(first, first + node_block.rows, dtype=np.uint32)
            if node_block.rows:
                members.setdefault(frozenset(node_block.labels), []).append(ordinals)
            first += node_block.rows
        last = base.groups[-1].labels if base.groups else None
        fresh: dict[frozenset[str], range] = {}
        self.numbers = np.empty(count, np.int64)
        number = self.next_node
        for labels in sorted(members, key=lambda labels: labels != last):  # as they will stand
            own = np.concatenate(members[labels])
            order_by_degree(degrees, own)
            fresh[labels] = range(number, number + len(own))
            self.numbers[own] = np.arange(number, number + len(own))
            number += len(own)
        names = dict.fromkeys(label for block in extension.nodes if block.rows for label in block.labels)
        self.layout = lay_out_new(base, fresh, names)

    def places(self, ends: Array) -> Array:
        """Return the internal ids (uint32) of ends of relationships, as an extension gives them."""
        if len(self.numbers):
            own = self.numbers[np.maximum(ends - self.next_node, 0)]
            ends = np.where(ends >= self.next_node, own, ends)
        return self.layout.numbers.places(ends).astype(np.uint32)


def _node_columns(base: GraphStore, extension: Extension, layout: NodeLayout, ids: Array) -> dict[str, PropertyColumn]:
    parts: dict[str, list[tuple[Array, Any]]] = {key: [] for key in base.property_keys("node")}
    first = 0
    for block in extension.nodes:
        own = ids[first : first + block.rows]
        first += block.rows
        for key, array in block.columns.items():
            parts.setdefault(key, []).append((own, array))
    for each in extension.replaced:
        places = layout.numbers.places(each.nodes)
        for key, array in each.columns.items():
            parts.setdefault(key, []).append((places, array))
    found = {}
    for key, own_parts in parts.items():
        old = base.node_property(key)
        if old is not None and not own_parts and layout.new_ids is None:
            found[key] = old
            continue
        origins = None if layout.new_ids is None else layout.origins
        column = extended_column(old, origins, layout.count, own_parts, whole=False)
        if column is not None:
            found[key] = column
    return found


@frozen
class _Type:
    """A type of the next version."""

    name: str
    count: int
    undirected: bool
    lists: SplicedType
    columns: Mapping[str, PropertyColumn]
    numbers: Run

    @property
    def facts(self) -> tuple[bool, bool]:
        """Whether there are parallel relationships, and self-loops."""
        return self.lists.parallel, self.lists.loops


def _next_type(
    base: GraphStore, name: str, blocks: Sequence[tuple[int, RelationshipBlock]], added: _Added, *, undirected: bool
) -> _Type:
    """Return a type with what is added to it: blocks, each with the number of its first relationship."""
    sizes = [len(block.start) for _, block in blocks]
    starts, ends = (
        np.concatenate([np.empty(0, np.uint32), *(added.places(getattr(block, end)) for _, block in blocks)])
        for end in ("start", "end")
    )
    numbers = np.concatenate([_NONE, *(np.arange(one, one + n) for (one, _), n in zip(blocks, sizes, strict=True))])
    index = base.type_index(name)
    known = None if index is None else base.types[index]
    old_count = 0 if known is None else known.count
    if old_count + len(starts) > MAX_RELATIONSHIPS:
        raise StorageError(
            f"type {name} has {old_count + len(starts):,} relationships, more than the {MAX_RELATIONSHIPS:,} possible"
        )
    keeps_ids = any(block.columns for _, block in blocks)
    sources = old_count + np.arange(len(starts), dtype=np.int64)
    if known is None:
        lists = new_type(starts, ends, sources, undirected=undirected, keeps_ids=keeps_ids)
        run = _run(numbers, lists.sources)
        columns = _relationship_columns({}, blocks, lists.sources, 0)
        return _Type(name, len(starts), undirected, lists, columns, run)
    ways = (Direction.OUT, Direction.BOTH if known.undirected else Direction.IN)
    adjacencies = {way: base.adjacency(known.index, way) for way in ways}
    read = ((key, base.relationship_property(known.index, key)) for key in known.property_keys)
    before = {key: column for key, column in read if column is not None}
    run = base.relationship_numbers.runs[known.index]
    new_ids = added.layout.new_ids
    if not len(starts) and new_ids is None:
        lists = SplicedType(adjacencies, None, known.parallel, known.loops)
        return _Type(name, known.count, known.undirected, lists, before, run)
    change = Change(_NONE, starts, ends, sources, new_ids, keeps_ids or bool(before))
    lists = changed_type(adjacencies, change, known.loops) if new_ids is None else sorted_type(adjacencies, change)
    assert lists.sources is not None
    numbers = np.concatenate((run.of(np.arange(known.count, dtype=np.int64)), numbers))[lists.sources]
    columns = _relationship_columns(before, blocks, lists.sources, known.count)
    return _Type(name, len(numbers), known.undirected, lists, columns, NumberList(lambda: numbers, len(numbers)))


def _run(numbers: Array, sources: Array | None) -> Run:
    """Return the numbers of a new type: those of one table ascend as the relationships stand."""
    if not len(numbers) or int(numbers[-1]) - int(numbers[0]) == len(numbers) - 1:
        return NumberRange(int(numbers[0]) if len(numbers) else 0, len(numbers))
    own = numbers[sources]
    return NumberList(lambda: own, len(own))


def _relationship_columns(
    before: Mapping[str, PropertyColumn],
    blocks: Sequence[tuple[int, RelationshipBlock]],
    sources: Array | None,
    old_count: int,
) -> dict[str, PropertyColumn]:
    """Return the columns of a type by local id; ``sources`` as in ``Change``."""
    assert sources is not None
    places = np.empty(len(sources), np.int64)
    places[sources] = np.arange(len(sources))
    parts: dict[str, list[tuple[Array, Any]]] = {key: [] for key in before}
    first = old_count
    for _, block in blocks:
        own = places[first : first + len(block.start)]
        first += len(block.start)
        for key, array in block.columns.items():
            parts.setdefault(key, []).append((own, array))
    origins = np.where(sources < old_count, sources, NOTHING)
    found = {}
    for key, own_parts in parts.items():
        column = extended_column(before.get(key), origins, len(sources), own_parts, whole=True)
        if column is not None:
            found[key] = column
    return found
