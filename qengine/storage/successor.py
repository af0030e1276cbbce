"""The next version of a graph: a graph store made from the one before and what a transaction has changed.

What isn't touched is shared with the version before. Where ids stay, only columns with changed values and types with
changed relationships are made anew. Versions that are made of one base one after the other share the columns and types
of which nothing else is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import eq, is_
from typing import Any, TypeAlias
from weakref import ref

import numpy as np
import pyarrow as pa

from qengine._cached import cached_property
from qengine._frozen import frozen, replace
from qengine.catalog.rules import Rules
from qengine.errors import InternalError, StorageError
from qengine.plan.pattern import Direction
from qengine.storage.arrays import Array
from qengine.storage.assemble import MAX_RELATIONSHIPS
from qengine.storage.columns import PropertyColumn
from qengine.storage.edits import NOTHING, Edit, Order, among, ascending
from qengine.storage.nature import following
from qengine.storage.node_layout import NodeLayout, lay_out
from qengine.storage.numbers import Identity, LaterNumbers, NumberRange, Numbers, Run
from qengine.storage.patched_columns import patched, same_value
from qengine.storage.spliced_type import Change, SplicedType, changed_type, new_type, relabelled_type
from qengine.storage.state_blocks import Part, parts_of, values_of
from qengine.storage.states import Commit, Patch, RelationshipState, size_of
from qengine.storage.statistics import Statistics
from qengine.storage.store import EdgeType, GraphStore

_EMPTY = np.empty(0, np.int64)
_PLAIN = frozenset((int, str, bool))  # types of values that are the same where they are equal


def successor(base: GraphStore, commit: Commit, undirected: frozenset[str] = frozenset()) -> GraphStore:
    """Return the next version of a graph: the first one that ``Successors`` make; arguments and errors as there."""
    return Successors(base).version(commit, undirected)


class Successors:
    """Makes versions of one base, one after the other; they share what their commits say in the same way.

    Parameters
    ----------
    base
        The version before; it stays as it is.
    """

    def __init__(self, base: GraphStore) -> None:
        self._base = base
        self._last: _Parts | None = None

    def version(self, commit: Commit, undirected: frozenset[str] = frozenset()) -> GraphStore:
        """Return the next version of the base.

        Labels, types and property keys that no element of those made anew has any more are gone. So that it stays
        undirected, a type which is that is kept without relationships too.

        Parameters
        ----------
        commit
            What has changed. Deleted nodes have no relationships left.
        undirected
            Names of new types that have no direction.

        Raises
        ------
        StorageError
            If the graph would be too large, or for a value that can't be a property.
        """
        base, last = self._base, self._last
        own = _parts(base, commit, undirected, last)
        layout, made = own.layout, [each for each in own.types.values() if each.count or each.undirected]
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
        store = GraphStore(layout.groups, layout.labels, types, adjacencies, own.columns, columns, identity, rules)
        doubts = {each.name: each.lists.doubts for each in made if each.lists.doubts is not None}
        nature, drift = following(base, store, size_of(commit), doubts, grows=_grows(commit))
        if nature is not None:
            store.__dict__.update(nature=nature, drift=drift)
        store.is_better_base = any(each.lists.made_anew for each in made)
        for before in (base, *(() if last is None else (last.store,))):
            store.take_over_indexes(before)
        store.version_before = ref(base)
        store.kept = base.kept.after(commit, rules)
        same = [each.name for each in made if each.lists.origin is None] if layout.moves is None else None
        found = {each.name: each.lists.changes for each in made if each.lists.changes is not None}

        def follow(statistics: Statistics) -> None:
            if same is not None:
                statistics.take_over(base.statistics, same)
            changes = {name: change for name, changed in found.items() if (change := changed()) is not None}
            if changes:
                statistics.follow(base.statistics, changes, moves=layout.moves is not None)

        store.statistics_before = follow
        self._last = replace(own, store=store)
        return store


@frozen
class _Parts:
    """What a version was made of, and how.

    ``changed``: by key and id the nodes' values that differ from the base's, but for those of blocks and patches;
    ``touched``: what the commit says of types. ``store``: the version, once it is there.
    """

    commit: Commit
    layout: NodeLayout
    changed: Mapping[str, Mapping[int, Any]]
    columns: Mapping[str, PropertyColumn]
    touched: Mapping[str, _Touched]
    types: Mapping[str, _Made]
    store: GraphStore

    def says_of_nodes(self, commit: Commit) -> bool:
        """Tell whether another commit says the same of nodes."""
        own = self.commit
        pairs = ((own.node_blocks, commit.node_blocks), (own.node_patches, commit.node_patches))
        alike = all(len(one) == len(other) and all(map(is_, one, other)) for one, other in pairs)
        return alike and _same(own.nodes, commit.nodes)

    def column(self, key: str, values: Mapping[int, Any]) -> PropertyColumn | None:
        """Return a column of nodes if these values make it of the base's where no id moves."""
        known = self.changed.get(key)
        return self.columns.get(key) if known is not None and _same(known, values) else None

    def type(self, name: str, touched: _Touched, layout: NodeLayout) -> _Made | None:
        """Return a type, of which the same is said as in this version, if it is the same by a layout, too."""
        if layout is not self.layout:
            for each in (layout, self.layout):
                if each.moves is not None or len(each.relabelled):
                    return None
            if not all(map(np.array_equal, _ends(self.layout, touched), _ends(layout, touched))):
                return None
        return self.types[name]


def _same(one: Mapping[int, Any], other: Mapping[int, Any]) -> bool:
    """Tell whether both have the very same values by the same keys, in the same order."""
    return len(one) == len(other) and all(map(eq, one, other)) and all(map(is_, one.values(), other.values()))


def _parts(base: GraphStore, commit: Commit, undirected: frozenset[str], last: _Parts | None) -> _Parts:
    """Make what a version is made of; ``last``: of the version before that was made of the same base."""
    if last is not None and last.says_of_nodes(commit):
        layout, changed, columns = last.layout, last.changed, last.columns
    else:
        old_nodes = _places(base.node_numbers, commit.nodes, base.next_node)
        blocks = parts_of(commit.node_blocks, commit.nodes)
        layout = lay_out(base, commit.nodes, old_nodes, blocks, commit.node_patches)
        changed, columns = _node_columns(base, layout, commit, old_nodes, blocks, last)
    touched, types = _touched(base, commit), {}
    names = dict.fromkeys((*(each.name for each in base.types), *touched))
    for name in names:
        own, made = touched.setdefault(name, _Touched()), None
        if last is not None and (before := last.touched.get(name)) is not None and before.says(own):
            own = touched[name] = before
            made = last.type(name, own, layout)
        if made is None and (index := base.type_index(name)) is not None:
            made = _next_type(base, base.types[index], layout, own)
        types[name] = made or _new_type(name, layout, own, undirected=name in undirected)
    return _Parts(commit, layout, changed, columns, touched, types, base)


def _places(numbers: Numbers, wanted: Mapping[int, Any], end: int) -> Array:
    """Return the ids of some numbers (int64), -1 where there are none, as for all from ``end`` on."""
    own = np.fromiter(wanted, np.int64, len(wanted))
    found = np.full(len(own), NOTHING, np.int64)
    known = own < end
    if known.any():
        found[known] = numbers.places(own[known])
    return found


# ---------------------------------------------------------------- properties


def _node_columns(
    base: GraphStore, layout: NodeLayout, commit: Commit, old_ids: Array, parts: Sequence[Part], last: _Parts | None
) -> tuple[dict[str, dict[int, Any]], dict[str, PropertyColumn]]:
    """Return what ``_differing`` does, but of properties that blocks or patches have, and the columns."""
    states = commit.nodes
    columns = {key: column for key in base.property_keys("node") if (column := base.node_property(key)) is not None}
    kept = [(number, state.properties) for number, state in states.items() if state is not None]
    old = old_ids[[state is not None for state in states.values()]] if states else _EMPTY
    new = layout.numbers.places([number for number, _ in kept]) if kept else _EMPTY
    changed = _differing(columns, old, new, [properties for _, properties in kept])
    # Where ids stay, new nodes have no value unless it is among those that have changed.
    added = _placed(parts, np.concatenate([_EMPTY, *(layout.numbers.places(part.numbers) for part in parts)]))
    _add_patched(added, commit.node_patches, layout.numbers.places, np.sort(new))
    stays = last is not None and layout.moves is None and last.layout.moves is None
    made = _patched(columns, layout.moves, layout.count, changed, added, last if stays else None, whole=False)
    return {key: values for key, values in changed.items() if key not in added}, made


def _add_patched(
    added: dict[str, list[tuple[Array, Any]]],
    patches: Iterable[Patch],
    places: Callable[[Array], Array],
    apart: Array,
) -> None:
    """Add what patches give elements that are there, but for those ``apart`` (new ids, ascending).

    ``places``: returns new ids (int64) of numbers, -1 for elements that aren't there.
    """
    for patch in patches:
        if not patch.columns:
            continue
        ids = places(patch.numbers)
        kept = (ids >= 0) & ~among(ids, apart)
        rows = None if kept.all() else pa.array(np.flatnonzero(kept))
        for key, array in patch.columns.items():
            own = (ids, array) if rows is None else (ids[kept], array.take(rows))
            added.setdefault(key, []).append(own)


_Added: TypeAlias = Mapping[str, Sequence[tuple[Array, Any]]]
"""By property new ids (int64) of elements of blocks, and arrays of their values."""


def _placed(parts: Sequence[Part], ids: Array) -> dict[str, list[tuple[Array, Any]]]:
    """Return the properties of the elements of blocks, which have these new ids."""
    return {key: [(ids[places], array) for places, array in own] for key, own in values_of(parts).items()}


def _differing(
    columns: Mapping[str, PropertyColumn], old_ids: Array, new_ids: Array, properties: Sequence[Mapping[str, Any]]
) -> dict[str, dict[int, Any]]:
    """Return by key and new id the values that differ from those of the version before, None where there is none now.

    ``old_ids``: ids in the columns, -1 for new elements.
    """
    known = np.flatnonzero(old_ids >= 0)
    rows, ids = known.tolist(), new_ids.tolist()
    found: dict[str, dict[int, Any]] = {}
    for key in dict.fromkeys((*columns, *(key for row in rows for key in properties[row]))) if rows else ():
        was: list[Any] = columns[key].values(old_ids[known]) if key in columns else [None] * len(rows)
        for row, one in zip(rows, was, strict=True):
            other = properties[row].get(key)
            if one is other or (type(one) in _PLAIN and type(other) is type(one) and one == other):
                continue
            if not same_value(one, other):
                found.setdefault(key, {})[ids[row]] = other
    for row in np.flatnonzero(old_ids < 0).tolist():
        for key, value in properties[row].items():
            found.setdefault(key, {})[ids[row]] = value
    return found


def _patched(
    columns: Mapping[str, PropertyColumn],
    origin: Edit | Order | None,
    count: int,
    changed: Mapping[str, Mapping[int, Any]],
    added: _Added,
    last: _Parts | None = None,
    *,
    whole: bool,
) -> dict[str, PropertyColumn]:
    """Return the columns of the next version. ``whole``: of relationships, whose values are given by their sources.

    ``last``: of the version before of the same base, where ids stay as they do there.
    """
    find = origin.find if whole and origin is not None else None
    found = {}
    for key in dict.fromkeys((*columns, *changed, *added)):
        values, own = changed.get(key, {}), added.get(key, ())
        column = None if last is None or own else last.column(key, values)
        column = column or patched(columns.get(key), origin, count, values, whole=whole, added=own, find=find)
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
    numbers: Run | LaterNumbers


@dataclass
class _Touched:
    """What a commit says of one type: local ids of those that go, and states of new ones and of those that stay.

    New ones are those of ``fresh``, then those of ``parts``. ``patched``: local ids (int64) of those that patches give
    properties, as arrays by key. ``placed``: where the ends of new ones were last found to be, and by which layout.
    """

    gone: list[Array] = field(default_factory=list)
    fresh: dict[int, RelationshipState] = field(default_factory=dict)
    kept: dict[int, RelationshipState] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)
    patched: list[tuple[Array, Mapping[str, Any]]] = field(default_factory=list)
    placed: tuple[NodeLayout, tuple[Array, Array]] | None = None

    def says(self, other: _Touched) -> bool:
        """Tell whether another commit, above the same base, says the same of the type; nothing said in patches is."""
        blocks = [[part.block for part in each.parts if part.rows is None] for each in (self, other)]
        return (
            not (self.patched or other.patched)
            and len(self.gone) == len(other.gone)
            and all(map(np.array_equal, self.gone, other.gone))
            and _same(self.fresh, other.fresh)
            and _same(self.kept, other.kept)
            and len(self.parts) == len(other.parts) == len(blocks[0]) == len(blocks[1])
            and all(map(is_, *blocks))
        )

    @property
    def new(self) -> int:
        """How many are new."""
        return len(self.fresh) + sum(part.count for part in self.parts)

    @property
    def has_properties(self) -> bool:
        """Whether a new one, or one that stays, has properties."""
        states = (*self.fresh.values(), *self.kept.values())
        if any(part.block.columns for part in self.parts) or any(each.properties for each in states):
            return True
        return any(array.null_count < len(array) for _, columns in self.patched for array in columns.values())

    def numbers(self) -> Array:
        """Return the numbers of the new ones (int64)."""
        own = np.fromiter(self.fresh, np.int64, len(self.fresh))
        return np.concatenate([own, *(part.numbers for part in self.parts)])

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """The numbers of the starts and ends of the new ones (int64)."""
        states, parts = self.fresh.values(), self.parts
        starts = np.fromiter((each.start for each in states), np.int64, len(states))
        ends = np.fromiter((each.end for each in states), np.int64, len(states))
        return (
            np.concatenate([starts, *(part.of(part.block.starts) for part in parts)]),
            np.concatenate([ends, *(part.of(part.block.ends) for part in parts)]),
        )


def _grows(commit: Commit) -> bool:
    """Tell whether a commit deletes no relationship."""
    return None not in commit.relationships.values() and not any(each.deleted for each in commit.relationship_patches)


def _touched(base: GraphStore, commit: Commit) -> dict[str, _Touched]:
    """Sort the relationships of a commit by type; one whose type or ends change is another one with its number."""
    found: dict[str, _Touched] = {}
    ids = _places(base.relationship_numbers, commit.relationships, base.next_relationship)
    gone = np.array([state is None for state in commit.relationships.values()], np.bool_)
    known = np.flatnonzero(ids >= 0)
    types = np.full(len(ids), NOTHING, np.int64)
    types[known] = base.type_of(ids[known])
    stays = known[~gone[known]]
    ends = [base.node_numbers.of(each).tolist() for each in base.endpoints(ids[stays])]
    before = {row: (base.types[types[row]], *each) for row, *each in zip(stays.tolist(), *ends, strict=True)}
    for row, (number, state) in enumerate(commit.relationships.items()):
        if state is None:
            continue
        if row in before:
            edge_type, start, end = before[row]
            if (state.type, state.start, state.end) == (edge_type.name, start, end):
                found.setdefault(edge_type.name, _Touched()).kept[int(ids[row]) - edge_type.base] = state
                continue
            gone[row] = True
        found.setdefault(state.type, _Touched()).fresh[number] = state
    for part in parts_of(commit.relationship_blocks, commit.relationships):
        found.setdefault(part.block.type, _Touched()).parts.append(part)
    left = np.flatnonzero(gone & (ids >= 0))
    for index in np.unique(types[left]).tolist():
        edge_type = base.types[index]
        own = ids[left[types[left] == index]] - edge_type.base
        found.setdefault(edge_type.name, _Touched()).gone.append(own)
    _sort_patches(found, base, commit.relationship_patches, np.sort(ids))
    return found


def _sort_patches(found: dict[str, _Touched], base: GraphStore, patches: Iterable[Patch], apart: Array) -> None:
    """Add what patches say of relationships by type, but of those ``apart`` (ids, ascending)."""
    for patch in patches:
        ids = base.relationship_numbers.places(patch.numbers)
        kept = (ids >= 0) & ~among(ids, apart)
        types = base.type_of(ids)
        for edge_type in base.types:
            rows = np.flatnonzero(kept & (types == edge_type.index))
            if not len(rows):
                continue
            own, local = found.setdefault(edge_type.name, _Touched()), ids[rows] - edge_type.base
            if patch.deleted:
                own.gone.append(local)
                continue
            taken = pa.array(rows)
            own.patched.append((local, {key: array.take(taken) for key, array in patch.columns.items()}))


def _next_type(base: GraphStore, edge_type: EdgeType, layout: NodeLayout, touched: _Touched) -> _Made:
    name, index = edge_type.name, edge_type.index
    ways = (Direction.OUT, Direction.BOTH if edge_type.undirected else Direction.IN)
    adjacencies = {way: base.adjacency(index, way) for way in ways}
    read = ((key, base.relationship_property(index, key)) for key in edge_type.property_keys)
    columns = {key: column for key, column in read if column is not None}
    numbers = base.relationship_numbers.run(index)
    lists = SplicedType(adjacencies, None, edge_type.parallel, edge_type.loops)
    keeps_ids = bool(columns) or touched.has_properties
    lacks_ids = keeps_ids and not adjacencies[ways[1]].has_ids
    if touched.gone or touched.new or layout.moves is not None or lacks_ids:
        starts, ends = _ends(layout, touched)
        gone = ascending(np.concatenate((_EMPTY, *touched.gone)))
        lists = changed_type(
            lists, Change(gone, starts, ends, layout.moves, layout.count, keeps_ids, layout.relabelled)
        )
    elif len(layout.relabelled):
        lists = relabelled_type(lists, layout.relabelled)
    count = len(lists.adjacencies[Direction.OUT])
    if count > MAX_RELATIONSHIPS:
        raise StorageError(f"type {name} has {count:,} relationships, more than the {MAX_RELATIONSHIPS:,} possible")
    changed, added = _relationship_values(columns, touched, edge_type.count)
    _add_patched_values(added, touched)
    own = _patched(columns, lists.origin, count, changed, added, whole=True)
    following = numbers if lists.origin is None else _following_numbers(numbers, lists.origin, touched)
    return _Made(name, count, edge_type.undirected, lists, own, following)


def _following_numbers(before: Run, origin: Edit | Order, touched: _Touched) -> LaterNumbers:
    """Return the numbers of a type's relationships, found when somebody asks for one."""
    fresh = touched.numbers()
    return LaterNumbers(lambda: origin.numbers(before, fresh), origin.count)


def _new_type(name: str, layout: NodeLayout, touched: _Touched, *, undirected: bool) -> _Made:
    starts, ends = _ends(layout, touched)
    count = len(starts)
    lists = new_type(starts, ends, keeps_ids=touched.has_properties, undirected=undirected)
    assert lists.origin is not None
    changed, added = _relationship_values({}, touched, 0)
    columns = _patched({}, lists.origin, count, changed, added, whole=True)
    numbers = _following_numbers(NumberRange(0, 0), lists.origin, touched)
    return _Made(name, count, undirected, lists, columns, numbers)


def _ends(layout: NodeLayout, touched: _Touched) -> tuple[Array, Array]:
    """Return the starts and ends of new relationships (uint32)."""
    known = touched.placed
    if known is None or known[0] is not layout:
        places = layout.numbers.places(np.concatenate(touched.ends))
        if (places < 0).any():
            raise InternalError("A relationship has an end that is no node.")
        found, half = places.astype(np.uint32), len(places) // 2
        known = touched.placed = layout, (found[:half], found[half:])
    return known[1]


def _relationship_values(
    columns: Mapping[str, PropertyColumn], touched: _Touched, old_count: int
) -> tuple[dict[str, dict[int, Any]], dict[str, list[tuple[Array, Any]]]]:
    """Return by key and source the values that differ from those of the version before, and those of blocks.

    A source is an old local id, or that of a new one.
    """
    states = (*touched.kept.values(), *touched.fresh.values())
    if not (states or touched.parts):
        return {}, {}
    own = np.concatenate((np.fromiter(touched.kept, np.int64, len(touched.kept)), old_count + np.arange(touched.new)))
    old = np.where(own < old_count, own, NOTHING)[: len(states)]
    changed = _differing(columns, old, own[: len(states)], [state.properties for state in states])
    return changed, _placed(touched.parts, own[len(states) :])


def _add_patched_values(added: dict[str, list[tuple[Array, Any]]], touched: _Touched) -> None:
    """Add what patches give relationships that stay, by key and old local ids."""
    gone = ascending(np.concatenate((_EMPTY, *touched.gone)))
    for local, columns in touched.patched:
        rows = np.flatnonzero(~among(local, gone))
        for key, array in columns.items():
            added.setdefault(key, []).append((local[rows], array.take(pa.array(rows))))
