"""Where the nodes of the next version of a graph stand: their label groups and internal ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qengine._cached import cached_property
from qengine._frozen import frozen, replace
from qengine.errors import StorageError
from qengine.storage.arrays import Array
from qengine.storage.assemble import MAX_VERTICES
from qengine.storage.edits import Edit, among, ascending
from qengine.storage.numbers import NumberRange, Numbers, Run
from qengine.storage.state_blocks import Part
from qengine.storage.states import NodeState, Patch
from qengine.storage.store import GraphStore, LabelGroup

_EMPTY = np.empty(0, np.int64)
_MOST_REPEATS = 16  # label groups beyond one a label set, before they are merged


@frozen
class NodeLayout:
    """The nodes of the next version.

    Attributes
    ----------
    groups
        Label groups.
    labels
        All labels.
    edit
        How nodes move; None where ids stay and no node is new.
    numbers
        The nodes' numbers.
    relabelled
        int64: the ids of nodes whose labels change where they stand.
    """

    groups: tuple[LabelGroup, ...]
    labels: tuple[str, ...]
    edit: Edit | None
    numbers: Numbers
    relabelled: Array = field(default_factory=lambda: _EMPTY)

    @property
    def count(self) -> int:
        """How many nodes there are."""
        return self.groups[-1].end if self.groups else 0

    @property
    def moves(self) -> Edit | None:
        """How nodes move, None where ids stay: new nodes have come after all others at most."""
        if self.edit is None or not (len(self.edit.removed) or (self.edit.at < self.edit.before).any()):
            return None
        return self.edit


@dataclass
class _Changes:
    """What a commit says of nodes.

    ``deleted``, ``relabelled``: old ids (int64, ascending); ``sets``: of each of the latter its label set, a place
    (int64) in ``label_sets``. ``fresh``: numbers of new nodes by label set. ``labels``: all labels as they come.
    """

    deleted: Array
    relabelled: Array
    sets: Array
    label_sets: list[frozenset[str]]
    fresh: dict[frozenset[str], Array]
    labels: dict[str, None]

    @cached_property
    def runs(self) -> list[tuple[int, int, frozenset[str]]]:
        """The relabelled nodes as runs of ids ``[begin, end)`` that follow each other, with the same label set."""
        ids = self.relabelled
        new = (np.diff(ids, prepend=-2) != 1) | (np.diff(self.sets, prepend=-1) != 0)
        begins = np.flatnonzero(new)
        ends = ids[np.append(begins[1:], len(ids)) - 1] + 1 if len(ids) else _EMPTY
        sets = map(self.label_sets.__getitem__, self.sets[begins].tolist())
        return list(zip(ids[begins].tolist(), ends.tolist(), sets, strict=True))

    @property
    def are_scattered(self) -> bool:
        """Whether there are more runs than groups are cut into."""
        ids, sets = self.relabelled, self.sets
        cuts = np.count_nonzero((ids[1:] != ids[:-1] + 1) | (sets[1:] != sets[:-1])) if len(ids) else -1
        return int(cuts) + 1 > _MOST_REPEATS


def lay_out(
    base: GraphStore,
    states: Mapping[int, NodeState | None],
    old_ids: Array,
    parts: Iterable[Part] = (),
    patches: Iterable[Patch] = (),
) -> NodeLayout:
    """Lay out the nodes of the next version.

    New nodes form groups of their own after all others, and nodes whose labels change do so where they stand, so that
    no id moves, where they are few runs of ids. Where a node is deleted, labels change at many places, or there are too
    many groups, nodes are renumbered, most of them in their old order.

    Parameters
    ----------
    base
        The version before.
    states
        What has changed, by number.
    old_ids
        int64: the id in ``base`` of each of them, -1 for new ones.
    parts
        New nodes that aren't among ``states``.
    patches
        What is done to many nodes, but for those among ``states``.

    Raises
    ------
    StorageError
        If the graph is too large for 32-bit ids.
    """
    changes = _changes(base, states, old_ids, parts, patches)
    count = base.vertex_count - len(changes.deleted) + sum(map(len, changes.fresh.values()))
    if count > MAX_VERTICES:
        raise StorageError(f"{count:,} nodes are more than the {MAX_VERTICES:,} that a graph can hold")
    many = len(base.groups) + len(changes.fresh) - len({group.labels for group in base.groups} | changes.fresh.keys())
    if not (len(changes.deleted) or changes.are_scattered) and many + 2 * len(changes.runs) <= _MOST_REPEATS:
        return _stayed(base, changes)
    return _renumbered(base, changes, merge=many > _MOST_REPEATS)


def _changes(
    base: GraphStore,
    states: Mapping[int, NodeState | None],
    old_ids: Array,
    parts: Iterable[Part],
    patches: Iterable[Patch],
) -> _Changes:
    labels = dict.fromkeys(base.labels)
    places: dict[frozenset[str], int] = {}  # of label sets, in the order in which they come
    before = [places.setdefault(group.labels, len(places)) for group in base.groups]
    known: dict[tuple[str, ...], tuple[int, frozenset[str]]] = {}
    fresh: dict[frozenset[str], list[int]] = {}
    changed: dict[int, int] = {}  # -1 for those that are deleted
    rows = zip(states.items(), old_ids.tolist(), _groups_of(base, old_ids).tolist(), strict=True)
    for (number, state), old, group in rows:
        if state is None:
            if old >= 0:
                changed[old] = -1
            continue
        found = known.get(state.labels)
        if found is None:
            own = frozenset(state.labels)
            found = known[state.labels] = places.setdefault(own, len(places)), own
            labels.update(dict.fromkeys(state.labels))
        if old < 0:
            fresh.setdefault(found[1], []).append(number)
        elif found[0] != before[group]:
            changed[old] = found[0]
    ids, sets = np.fromiter(changed, np.int64, len(changed)), np.fromiter(changed.values(), np.int64, len(changed))
    for patch in patches:
        labels.update(dict.fromkeys(patch.added))
    more = _patched(base, patches, np.sort(old_ids), before, places)
    ids, sets = np.concatenate((ids, more[0])), np.concatenate((sets, more[1]))
    if changed or (ids[1:] < ids[:-1]).any():
        order = np.argsort(ids)
        ids, sets = ids[order], sets[order]
    gone = sets < 0
    by_labels = {own: np.array(numbers, np.int64) for own, numbers in fresh.items()}
    for part in parts:
        own = frozenset(part.block.labels)
        by_labels[own] = np.concatenate((by_labels.get(own, _EMPTY), part.numbers))
        labels.update(dict.fromkeys(part.block.labels))
    return _Changes(ids[gone], ids[~gone], sets[~gone], list(places), by_labels, labels)


def _groups_of(base: GraphStore, ids: Array) -> Array:
    """Return of which label group each node is (int64)."""
    found: Array = np.searchsorted(np.array([group.end for group in base.groups], np.int64), ids, side="right")
    return found


def _patched(
    base: GraphStore,
    patches: Iterable[Patch],
    apart: Array,
    before: Sequence[int],
    places: dict[frozenset[str], int],
) -> tuple[Array, Array]:
    """Return the old ids (int64) of nodes whose labels patches change, and places of their label sets, -1 for none.

    ``apart``: ids (ascending) of nodes of which something else is said. ``before``: of each group the place of its set.
    ``places``: of label sets, to which new ones are added.
    """
    steps: list[tuple[Patch, Array]] = []
    for patch in patches:
        if patch.deleted or patch.added or patch.removed:
            ids = base.node_numbers.places(patch.numbers)
            steps.append((patch, ids[(ids >= 0) & ~among(ids, apart)]))
    if not steps:
        return _EMPTY, _EMPTY
    all_ids = steps[0][1] if len(steps) == 1 else ascending(np.concatenate([ids for _, ids in steps]))
    was = np.array(before, np.int64)[_groups_of(base, all_ids)]
    now = was.copy()
    for patch, ids in steps:
        rows: Any = slice(None) if ids is all_ids else np.searchsorted(all_ids, ids)
        sets = list(places)
        following = np.full(len(sets) + 1, -1, np.int64)  # the last for nodes that are deleted
        for place in np.flatnonzero(np.bincount(now[rows] + 1, minlength=1)[1:]).tolist() if not patch.deleted else ():
            own = sets[place].difference(patch.removed).union(patch.added)
            following[place] = places.setdefault(own, len(places))
        now[rows] = following[now[rows]]
    differ = now != was
    return all_ids[differ], now[differ]


def _stayed(base: GraphStore, changes: _Changes) -> NodeLayout:
    """Split groups where labels change, and add new nodes after all others: no id moves."""
    groups = _split(base.groups, changes.runs)
    parts: list[Array] = []
    for labels in sorted(changes.fresh, key=lambda labels: not groups or labels != groups[-1].labels):
        last = groups[-1].end if groups else 0
        _append(groups, LabelGroup(labels, last, last + len(changes.fresh[labels])))
        parts.append(changes.fresh[labels])
    added = np.concatenate((_EMPTY, *parts))
    edit = None
    if len(added):
        count = base.vertex_count
        edit = Edit(count, _EMPTY, np.full(len(added), count, np.int64), count + np.arange(len(added)))
    return replace(_layout(base, changes, groups, edit, added), relabelled=changes.relabelled)


def _split(groups: Sequence[LabelGroup], runs: Sequence[tuple[int, int, frozenset[str]]]) -> list[LabelGroup]:
    """Return the label groups with runs of nodes in groups of their own, where they stand."""
    found: list[LabelGroup] = []
    at = 0
    for group in groups:
        begin = group.begin
        while at < len(runs) and runs[at][0] < group.end:
            first, last, labels = max(runs[at][0], begin), min(runs[at][1], group.end), runs[at][2]
            _append(found, LabelGroup(group.labels, begin, first))
            _append(found, LabelGroup(labels, first, last))
            begin = last
            if runs[at][1] > group.end:
                break
            at += 1
        _append(found, LabelGroup(group.labels, begin, group.end))
    return found


def _append(groups: list[LabelGroup], group: LabelGroup) -> None:
    """Add a group after others: to the last where that has the same labels; none that is empty."""
    if groups and groups[-1].labels == group.labels:
        groups[-1] = LabelGroup(group.labels, groups[-1].begin, group.end)
    elif group.begin < group.end:
        groups.append(group)


def _renumbered(base: GraphStore, changes: _Changes, merge: bool) -> NodeLayout:
    """Leave out deleted nodes, and put those with new labels, and new ones, at the end of a group with these labels.

    ``merge``: nodes of later groups with the same label set, too.
    """
    home: dict[frozenset[str], int] = {}
    leaving = [np.sort(np.concatenate((changes.deleted, changes.relabelled)), kind="stable")]
    arriving: dict[frozenset[str], list[Array]] = {}
    for index, group in enumerate(base.groups):
        if home.setdefault(group.labels, index) != index and merge:
            members = np.arange(group.begin, group.end, dtype=np.int64)
            members = members[~among(members, leaving[0])]
            leaving.append(members)
            arriving.setdefault(group.labels, []).append(members)
    for place in np.flatnonzero(np.bincount(changes.sets)).tolist():
        arriving.setdefault(changes.label_sets[place], []).append(changes.relabelled[changes.sets == place])
    first = base.vertex_count
    for labels, numbers in changes.fresh.items():
        arriving.setdefault(labels, []).append(np.arange(first, first + len(numbers), dtype=np.int64))
        first += len(numbers)
    added = np.concatenate((_EMPTY, *changes.fresh.values()))
    removed = ascending(np.concatenate(leaving))
    groups: list[LabelGroup] = []
    at, sources = [_EMPTY], [_EMPTY]
    homes = [(group.labels, group.begin, group.end, index) for index, group in enumerate(base.groups)]
    end = base.vertex_count
    homes += [(labels, end, end, home.setdefault(labels, -1)) for labels in arriving if labels not in home]
    for labels, low, high, index in homes:
        size = high - low - int(np.searchsorted(removed, high) - np.searchsorted(removed, low))
        if home[labels] == index:
            for each in arriving.get(labels, ()):
                at.append(np.full(len(each), high, np.int64))
                sources.append(each)
                size += len(each)
        last = groups[-1].end if groups else 0
        if size:
            groups.append(LabelGroup(labels, last, last + size))
    edit = Edit(base.vertex_count, removed, np.concatenate(at), np.concatenate(sources))
    return _layout(base, changes, groups, edit, added)


def _layout(
    base: GraphStore, changes: _Changes, groups: Sequence[LabelGroup], edit: Edit | None, added: Array
) -> NodeLayout:
    numbers = base.node_numbers
    if edit is not None:
        numbers = Numbers([edit.numbers(_one_run(base), added)])
    return NodeLayout(tuple(groups), _used(changes.labels, groups), edit, numbers)


def _one_run(base: GraphStore) -> Run:
    """Return the numbers of all nodes."""
    runs = base.node_numbers.runs
    return runs[0] if len(runs) == 1 else NumberRange(0, 0)


def _used(labels: Mapping[str, None], groups: Sequence[LabelGroup]) -> tuple[str, ...]:
    """Return the labels that a group has."""
    used = frozenset().union(*(group.labels for group in groups))
    return tuple(label for label in labels if label in used)
