"""The next version of a graph: a graph store made from the one before and what a transaction has changed.

What isn't touched is shared with the version before. Where ids stay, only columns with changed values and types with
changed relationships are made anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from qengine._frozen import frozen
from qengine.catalog.rules import Rules
from qengine.errors import InternalError, StorageError
from qengine.plan.pattern import Direction
from qengine.storage.adjacency import Adjacency
from qengine.storage.arrays import Array
from qengine.storage.assemble import MAX_RELATIONSHIPS
from qengine.storage.columns import PropertyColumn, property_maps
from qengine.storage.kernels import NO_VERTEX
from qengine.storage.node_layout import NodeLayout, lay_out
from qengine.storage.numbers import Identity, NumberList, Numbers, Run
from qengine.storage.patched_columns import NOTHING, patched, same_value
from qengine.storage.spliced_type import Change, SplicedType, changed_type, new_type
from qengine.storage.state_blocks import Part, parts_of, values_of
from qengine.storage.states import Commit, NodeState, RelationshipState
from qengine.storage.store import EdgeType, GraphStore

__all__ = ["successor"]

_EMPTY = np.empty(0, np.int64)


def successor(base: GraphStore, commit: Commit) -> GraphStore:
    """Return the next version of a graph.

    Labels, types and property keys that no element of those made anew has any more are gone. New types are directed;
    so that it stays undirected, a type which is that is kept without relationships too.

    Parameters
    ----------
    base
        The version before; it stays as it is.
    commit
        What has changed. Deleted nodes have no relationships left.

    Raises
    ------
    StorageError
        If the graph would be too large, or for a value that can't be a property.
    """
    old_nodes = _places(base.node_numbers, commit.nodes)
    parts = parts_of(commit.node_blocks, commit.nodes)
    layout = lay_out(base, commit.nodes, old_nodes, parts)
    nodes = _node_columns(base, layout, commit.nodes, old_nodes, parts)
    made = [each for each in _types(base, layout, commit) if each.count or each.undirected]
    types, end = [], 0
    for index, each in enumerate(made):
        facts = each.undirected, each.lists.parallel, each.lists.loops
        types.append(EdgeType(each.name, index, end, each.count, *facts, tuple(each.columns)))
        end += each.count
    identity = Identity(
        layout.numbers, Numbers([each.numbers for each in made]), commit.next_node, commit.next_relationship
    )
    adjacencies = [each.lists.adjacencies for each in made]
    columns = [each.columns for each in made]
    rules = base.rules if commit.rules is None else Rules.of(commit.rules)
    store = GraphStore(layout.groups, layout.labels, types, adjacencies, nodes, columns, identity, rules)
    if layout.new_ids is None:
        same = [each.name for each in made if each.lists.sources is None]
        store.statistics.take_over(base.statistics, same)
    return store


def _places(numbers: Numbers, wanted: Mapping[int, Any]) -> Array:
    return numbers.places(np.fromiter(wanted, np.int64, len(wanted))) if wanted else _EMPTY


# ---------------------------------------------------------------- properties


def _node_columns(
    base: GraphStore,
    layout: NodeLayout,
    states: Mapping[int, NodeState | None],
    old_ids: Array,
    parts: Sequence[Part],
) -> dict[str, PropertyColumn]:
    columns = {key: column for key in base.property_keys("node") if (column := base.node_property(key)) is not None}
    kept = [(number, state.properties) for number, state in states.items() if state is not None]
    old = old_ids[[state is not None for state in states.values()]] if states else _EMPTY
    new = layout.numbers.places([number for number, _ in kept]) if kept else _EMPTY
    changed = _differing(columns, old, new, [properties for _, properties in kept])
    # In a layout where ids stay, new nodes have no value unless it is among those that have changed.
    origins = None if layout.new_ids is None else layout.origins
    ids = np.concatenate([_EMPTY, *(layout.numbers.places(part.numbers) for part in parts)])
    return _patched(columns, origins, layout.count, changed, _placed(parts, ids), whole=False)


_Added: TypeAlias = Mapping[str, Sequence[tuple[Array, Any]]]
"""By property new ids (int64) of elements of blocks, and arrays of their values."""


def _placed(parts: Sequence[Part], ids: Array) -> _Added:
    """Return the properties of the elements of blocks, which have these new ids."""
    return {key: [(ids[places], array) for places, array in own] for key, own in values_of(parts).items()}


def _differing(
    columns: Mapping[str, PropertyColumn], old_ids: Array, new_ids: Array, properties: Sequence[Mapping[str, Any]]
) -> dict[str, dict[int, Any]]:
    """Return by key and new id the values that differ from those of the version before, None where there is none now.

    ``old_ids``: ids in the columns, -1 for new elements.
    """
    found: dict[str, dict[int, Any]] = {}
    known = np.flatnonzero(old_ids >= 0)
    before: list[Mapping[str, Any]] = [{}] * len(old_ids)
    for row, own in zip(known.tolist(), property_maps(columns, old_ids[known]), strict=True):
        before[row] = own
    for id, was, now in zip(new_ids.tolist(), before, properties, strict=True):
        for key, value in now.items():
            if key not in was or not same_value(was[key], value):
                found.setdefault(key, {})[id] = value
        for key in was:
            if key not in now:
                found.setdefault(key, {})[id] = None
    return found


def _patched(
    columns: Mapping[str, PropertyColumn],
    origins: Array | None,
    count: int,
    changed: Mapping[str, Mapping[int, Any]],
    added: _Added,
    *,
    whole: bool,
) -> dict[str, PropertyColumn]:
    found = {}
    for key in dict.fromkeys((*columns, *changed, *added)):
        values, own = changed.get(key, {}), added.get(key, ())
        column = patched(columns.get(key), origins, count, values, whole=whole, added=own)
        if column is not None:
            found[key] = column
    return found


# ---------------------------------------------------------------- relationships


@frozen
class _Made:
    """A type of the next version."""

    name: str
    count: int
    undirected: bool
    lists: SplicedType
    columns: Mapping[str, PropertyColumn]
    numbers: Run


@dataclass
class _Touched:
    """What a commit says of one type: local ids of those that go, and states of new ones and of those that stay.

    New ones are those of ``fresh``, then those of ``parts``.
    """

    gone: list[int] = field(default_factory=list)
    fresh: dict[int, RelationshipState] = field(default_factory=dict)
    kept: dict[int, RelationshipState] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)

    @property
    def new(self) -> int:
        """How many are new."""
        return len(self.fresh) + sum(part.count for part in self.parts)

    @property
    def has_properties(self) -> bool:
        """Whether a new one, or one that stays, has properties."""
        states = (*self.fresh.values(), *self.kept.values())
        return any(part.block.columns for part in self.parts) or any(each.properties for each in states)

    def numbers(self) -> Array:
        """Return the numbers of the new ones (int64)."""
        own = np.fromiter(self.fresh, np.int64, len(self.fresh))
        return np.concatenate([own, *(part.numbers for part in self.parts)])

    def ends(self) -> tuple[Array, Array]:
        """Return the numbers of the starts and ends of the new ones (int64)."""
        states, parts = self.fresh.values(), self.parts
        starts = np.fromiter((each.start for each in states), np.int64, len(states))
        ends = np.fromiter((each.end for each in states), np.int64, len(states))
        return (
            np.concatenate([starts, *(part.of(part.block.starts) for part in parts)]),
            np.concatenate([ends, *(part.of(part.block.ends) for part in parts)]),
        )


def _types(base: GraphStore, layout: NodeLayout, commit: Commit) -> Iterator[_Made]:
    touched = _touched(base, commit)
    for edge_type in base.types:
        yield _next_type(base, edge_type, layout, touched.pop(edge_type.name, _Touched()))
    for name, own in touched.items():
        yield _new_type(name, layout, own)


def _touched(base: GraphStore, commit: Commit) -> dict[str, _Touched]:
    """Sort the relationships of a commit by type; one whose type or ends change is another one with its number."""
    found: dict[str, _Touched] = {}
    ids = _places(base.relationship_numbers, commit.relationships)
    known = np.flatnonzero(ids >= 0)
    types = np.full(len(ids), NOTHING, np.int64)
    types[known] = base.type_of(ids[known])
    ends = np.full((2, len(ids)), NOTHING, np.int64)
    ends[:, known] = [base.node_numbers.of(each) for each in base.endpoints(ids[known])]
    rows = zip(ids.tolist(), types.tolist(), *ends.tolist(), strict=True)
    for (number, state), (id, index, start, end) in zip(commit.relationships.items(), rows, strict=True):
        if id >= 0:
            edge_type = base.types[index]
            own = found.setdefault(edge_type.name, _Touched())
            if state is not None and (state.type, state.start, state.end) == (edge_type.name, start, end):
                own.kept[id - edge_type.base] = state
                continue
            own.gone.append(id - edge_type.base)
        if state is not None:
            found.setdefault(state.type, _Touched()).fresh[number] = state
    for part in parts_of(commit.relationship_blocks, commit.relationships):
        found.setdefault(part.block.type, _Touched()).parts.append(part)
    return found


def _next_type(base: GraphStore, edge_type: EdgeType, layout: NodeLayout, touched: _Touched) -> _Made:
    name, index = edge_type.name, edge_type.index
    ways = (Direction.OUT, Direction.BOTH if edge_type.undirected else Direction.IN)
    adjacencies = {way: base.adjacency(index, way) for way in ways}
    read = ((key, base.relationship_property(index, key)) for key in edge_type.property_keys)
    columns = {key: column for key, column in read if column is not None}
    numbers = base.relationship_numbers.runs[index]
    lists = SplicedType(adjacencies, None, edge_type.parallel, edge_type.loops)
    keeps_ids = bool(columns) or touched.has_properties
    lacks_ids = keeps_ids and adjacencies[ways[1]].edge_ids is None
    if touched.gone or touched.new or layout.new_ids is not None or lacks_ids:
        change = _change(base, edge_type, layout, touched, keeps_ids)
        lists = changed_type(adjacencies, change, edge_type.loops)
    count = len(lists.adjacencies[Direction.OUT])
    if count > MAX_RELATIONSHIPS:
        raise StorageError(f"type {name} has {count:,} relationships, more than the {MAX_RELATIONSHIPS:,} possible")
    changed, added = _relationship_values(columns, touched, lists.sources, edge_type.count)
    origins = lists.sources
    if origins is not None:
        numbers = _numbered(numbers.of(np.arange(edge_type.count, dtype=np.int64)), touched, origins)
        origins = np.where(origins < edge_type.count, origins, NOTHING)
    own = _patched(columns, origins, count, changed, added, whole=True)
    return _Made(name, count, edge_type.undirected, lists, own, numbers)


def _new_type(name: str, layout: NodeLayout, touched: _Touched) -> _Made:
    starts, ends = _ends(layout, touched)
    count = len(starts)
    sources = np.arange(count, dtype=np.int64)
    lists = new_type(starts, ends, sources, undirected=False, keeps_ids=touched.has_properties)
    assert lists.sources is not None
    changed, added = _relationship_values({}, touched, lists.sources, 0)
    columns = _patched({}, None, count, changed, added, whole=True)
    return _Made(name, count, False, lists, columns, _numbered(_EMPTY, touched, lists.sources))


def _change(base: GraphStore, edge_type: EdgeType, layout: NodeLayout, touched: _Touched, keeps_ids: bool) -> Change:
    """Return what changes in a type's lists: relationships of nodes that have moved leave, and come again."""
    gone = np.array(sorted(touched.gone), np.int64)
    again = _of_moved(base.adjacency(edge_type.index, Direction.OUT), layout.moved, base.vertex_count)
    again = again[~np.isin(again, gone)]
    starts, ends = _ends(layout, touched)
    if len(again):
        assert layout.new_ids is not None
        old_starts, old_ends = base.endpoints(again + edge_type.base)
        starts = np.concatenate((layout.new_ids[old_starts], starts))
        ends = np.concatenate((layout.new_ids[old_ends], ends))
        if NO_VERTEX in starts or NO_VERTEX in ends:
            raise InternalError("A deleted node still has relationships.")
    sources = np.concatenate((again, edge_type.count + np.arange(touched.new)))
    removed = np.sort(np.concatenate((gone, again)))
    return Change(removed, starts, ends, sources, layout.new_ids, keeps_ids)


def _of_moved(out: Adjacency, moved: Array, vertices: int) -> Array:
    """Return the local ids of the relationships that begin or end at some vertices, ascending."""
    if not len(moved) or not len(out):
        return _EMPTY
    marked = np.zeros(vertices, np.bool_)
    marked[moved] = True
    owners, offsets = out.list_index()
    own = marked[owners : owners + len(offsets) - 1] if isinstance(owners, int) else marked[owners]
    return np.flatnonzero(marked[out.neighbours] | np.repeat(own, np.diff(offsets).astype(np.int64)))


def _ends(layout: NodeLayout, touched: _Touched) -> tuple[Array, Array]:
    """Return the starts and ends of new relationships (uint32)."""
    starts, ends = (layout.numbers.places(each) for each in touched.ends())
    if (starts < 0).any() or (ends < 0).any():
        raise InternalError("A relationship has an end that is no node.")
    return starts.astype(np.uint32), ends.astype(np.uint32)


def _relationship_values(
    columns: Mapping[str, PropertyColumn], touched: _Touched, sources: Array | None, old_count: int
) -> tuple[dict[str, dict[int, Any]], _Added]:
    """Return by key and new local id the values that differ from those of the version before, and those of blocks."""
    states = (*touched.kept.values(), *touched.fresh.values())
    if not (states or touched.parts):
        return {}, {}
    own = np.concatenate((np.fromiter(touched.kept, np.int64, len(touched.kept)), old_count + np.arange(touched.new)))
    new = own
    if sources is not None:
        places = np.empty(old_count + touched.new, np.int64)
        places[sources] = np.arange(len(sources))
        new = places[own]
    one_by_one = slice(len(states))
    old = np.where(own < old_count, own, NOTHING)[one_by_one]
    changed = _differing(columns, old, new[one_by_one], [state.properties for state in states])
    return changed, _placed(touched.parts, new[len(states) :])


def _numbered(before: Array, touched: _Touched, sources: Array) -> NumberList:
    """Return the numbers of a type's relationships: those that they had, and of new ones."""
    array = np.concatenate((before, touched.numbers()))[sources]
    return NumberList(lambda: array, len(array))
