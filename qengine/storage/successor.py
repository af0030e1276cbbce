"""The next version of a graph: a graph store made from the one before and what a transaction has changed.

What isn't touched is shared with the version before. Where ids stay, only columns with changed values and types with
changed relationships are made anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qengine._frozen import frozen
from qengine.catalog.rules import Rules
from qengine.errors import InternalError, StorageError
from qengine.plan.pattern import Direction
from qengine.storage.arrays import Array
from qengine.storage.assemble import MAX_RELATIONSHIPS
from qengine.storage.columns import PropertyColumn
from qengine.storage.edits import NOTHING, Edit, Order
from qengine.storage.node_layout import NodeLayout, lay_out
from qengine.storage.numbers import Identity, NumberRange, Numbers, Run
from qengine.storage.patched_columns import patched, same_value
from qengine.storage.spliced_type import Change, SplicedType, changed_type, new_type, relabelled_type
from qengine.storage.states import Commit, NodeState, RelationshipState
from qengine.storage.store import EdgeType, GraphStore

__all__ = ["successor"]

_EMPTY = np.empty(0, np.int64)
_PLAIN = frozenset((int, str, bool))  # types of values that are the same where they are equal


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
    layout = lay_out(base, commit.nodes, old_nodes)
    nodes = _node_columns(base, layout, commit.nodes, old_nodes)
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
    if layout.moves is None:
        same = [each.name for each in made if each.lists.origin is None]
        store.statistics.take_over(base.statistics, same)
    changes = {each.name: each.lists.changes for each in made if each.lists.changes is not None}
    if changes:
        store.statistics.follow(base.statistics, changes)
    return store


def _places(numbers: Numbers, wanted: Mapping[int, Any]) -> Array:
    return numbers.places(np.fromiter(wanted, np.int64, len(wanted))) if wanted else _EMPTY


# ---------------------------------------------------------------- properties


def _node_columns(
    base: GraphStore, layout: NodeLayout, states: Mapping[int, NodeState | None], old_ids: Array
) -> dict[str, PropertyColumn]:
    columns = {key: column for key in base.property_keys("node") if (column := base.node_property(key)) is not None}
    kept = [(number, state.properties) for number, state in states.items() if state is not None]
    old = old_ids[[state is not None for state in states.values()]] if states else _EMPTY
    new = layout.numbers.places([number for number, _ in kept]) if kept else _EMPTY
    changed = _differing(columns, old, new, [properties for _, properties in kept])
    # Where ids stay, new nodes have no value unless it is among those that have changed.
    return _patched(columns, layout.moves, layout.count, changed, whole=False)


def _differing(
    columns: Mapping[str, PropertyColumn], old_ids: Array, new_ids: Array, properties: Sequence[Mapping[str, Any]]
) -> dict[str, dict[int, Any]]:
    """Return by key and new id the values that differ from those of the version before, None where there is none now.

    ``old_ids``: ids in the columns, -1 for new elements.
    """
    found: dict[str, dict[int, Any]] = {}
    known = np.flatnonzero(old_ids >= 0)
    rows = known.tolist()
    for key in dict.fromkeys((*columns, *(key for own in properties for key in own))):
        was: list[Any] = [None] * len(properties)
        if key in columns and rows:
            for row, value in zip(rows, columns[key].values(old_ids[known]), strict=True):
                was[row] = value
        now = [own.get(key) for own in properties]
        differ = [
            row
            for row, (one, other) in enumerate(zip(was, now, strict=True))
            if one is not other
            and not (type(one) in _PLAIN and type(other) is type(one) and one == other)
            and not same_value(one, other)
        ]
        if differ:
            ids = new_ids[differ].tolist()
            found[key] = {id: now[row] for id, row in zip(ids, differ, strict=True)}
    return found


def _patched(
    columns: Mapping[str, PropertyColumn],
    origin: Edit | Order | None,
    count: int,
    changed: Mapping[str, Mapping[int, Any]],
    *,
    whole: bool,
) -> dict[str, PropertyColumn]:
    found = {}
    for key in dict.fromkeys((*columns, *changed)):
        column = patched(columns.get(key), origin, count, changed.get(key, {}), whole=whole)
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
    """What a commit says of one type: local ids of those that go, and states of new ones and of those that stay."""

    gone: list[int] = field(default_factory=list)
    fresh: dict[int, RelationshipState] = field(default_factory=dict)
    kept: dict[int, RelationshipState] = field(default_factory=dict)


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
    return found


def _next_type(base: GraphStore, edge_type: EdgeType, layout: NodeLayout, touched: _Touched) -> _Made:
    name, index = edge_type.name, edge_type.index
    ways = (Direction.OUT, Direction.BOTH if edge_type.undirected else Direction.IN)
    adjacencies = {way: base.adjacency(index, way) for way in ways}
    read = ((key, base.relationship_property(index, key)) for key in edge_type.property_keys)
    columns = {key: column for key, column in read if column is not None}
    numbers = base.relationship_numbers.runs[index]
    lists = SplicedType(adjacencies, None, edge_type.parallel, edge_type.loops)
    keeps_ids = bool(columns) or any(each.properties for each in (*touched.fresh.values(), *touched.kept.values()))
    lacks_ids = keeps_ids and not adjacencies[ways[1]].has_ids
    if touched.gone or touched.fresh or layout.moves is not None or lacks_ids:
        starts, ends = _ends(layout, touched.fresh)
        gone = np.array(sorted(touched.gone), np.int64)
        lists = changed_type(
            lists, Change(gone, starts, ends, layout.moves, layout.count, keeps_ids, layout.relabelled)
        )
    elif len(layout.relabelled):
        lists = relabelled_type(lists, layout.relabelled)
    count = len(lists.adjacencies[Direction.OUT])
    if count > MAX_RELATIONSHIPS:
        raise StorageError(f"type {name} has {count:,} relationships, more than the {MAX_RELATIONSHIPS:,} possible")
    changed = _relationship_values(columns, touched, lists.origin, edge_type.count)
    if lists.origin is not None:
        numbers = lists.origin.numbers(numbers, np.fromiter(touched.fresh, np.int64, len(touched.fresh)))
    own = _patched(columns, lists.origin, count, changed, whole=True)
    return _Made(name, count, edge_type.undirected, lists, own, numbers)


def _new_type(name: str, layout: NodeLayout, touched: _Touched) -> _Made:
    starts, ends = _ends(layout, touched.fresh)
    count = len(starts)
    lists = new_type(starts, ends, keeps_ids=any(state.properties for state in touched.fresh.values()))
    assert lists.origin is not None
    columns = _patched({}, None, count, _relationship_values({}, touched, lists.origin, 0), whole=True)
    numbers = lists.origin.numbers(NumberRange(0, 0), np.fromiter(touched.fresh, np.int64, count))
    return _Made(name, count, False, lists, columns, numbers)


def _ends(layout: NodeLayout, fresh: Mapping[int, RelationshipState]) -> tuple[Array, Array]:
    """Return the starts and ends of new relationships (uint32)."""
    ends = [layout.numbers.places([getattr(each, end) for each in fresh.values()]) for end in ("start", "end")]
    if any((each < 0).any() for each in ends):
        raise InternalError("A relationship has an end that is no node.")
    return ends[0].astype(np.uint32), ends[1].astype(np.uint32)


def _relationship_values(
    columns: Mapping[str, PropertyColumn], touched: _Touched, origin: Edit | Order | None, old_count: int
) -> dict[str, dict[int, Any]]:
    """Return by key and new local id the values that differ from those of the version before."""
    states = (*touched.kept.values(), *touched.fresh.values())
    if not states:
        return {}
    own = np.concatenate((np.fromiter(touched.kept, np.int64), old_count + np.arange(len(touched.fresh))))
    new = own if origin is None else origin.find(own)
    old = np.where(own < old_count, own, NOTHING)
    return _differing(columns, old, new, [state.properties for state in states])
