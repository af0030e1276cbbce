"""Where the nodes of the next version of a graph stand: their label groups and internal ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from qengine._frozen import frozen
from qengine.errors import StorageError
from qengine.storage.arrays import Array
from qengine.storage.assemble import MAX_VERTICES
from qengine.storage.edits import Edit, among, ascending
from qengine.storage.numbers import NumberRange, Numbers, Run
from qengine.storage.state_blocks import Part
from qengine.storage.states import NodeState
from qengine.storage.store import GraphStore, LabelGroup

__all__ = ["NodeLayout", "lay_out"]

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
    """Old ids of deleted nodes, new label sets by old id, numbers of new nodes by label set, labels as they come."""

    deleted: list[int] = field(default_factory=list)
    relabelled: dict[int, frozenset[str]] = field(default_factory=dict)
    fresh: dict[frozenset[str], Array] = field(default_factory=dict)
    labels: dict[str, None] = field(default_factory=dict)


def lay_out(
    base: GraphStore, states: Mapping[int, NodeState | None], old_ids: Array, parts: Iterable[Part] = ()
) -> NodeLayout:
    """Lay out the nodes of the next version.

    New nodes form groups of their own after all others, and few nodes whose labels change do so where they stand, so
    that no id moves. Where a node is deleted, the labels of many change, or there are too many groups, nodes are
    renumbered, most of them in their old order.

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

    Raises
    ------
    StorageError
        If the graph is too large for 32-bit ids.
    """
    changes = _changes(base, states, old_ids, parts)
    count = base.vertex_count - len(changes.deleted) + sum(map(len, changes.fresh.values()))
    if count > MAX_VERTICES:
        raise StorageError(f"{count:,} nodes are more than the {MAX_VERTICES:,} that a graph can hold")
    many = len(base.groups) + len(changes.fresh) - len({group.labels for group in base.groups} | changes.fresh.keys())
    if not changes.deleted and many + 2 * len(changes.relabelled) <= _MOST_REPEATS:
        return _stayed(base, changes)
    return _renumbered(base, changes, merge=many > _MOST_REPEATS)


def _changes(
    base: GraphStore, states: Mapping[int, NodeState | None], old_ids: Array, parts: Iterable[Part]
) -> _Changes:
    found = _Changes(labels=dict.fromkeys(base.labels))
    before = [group.labels for group in base.groups]
    ends = np.array([group.end for group in base.groups], np.int64)
    sets: dict[tuple[str, ...], frozenset[str]] = {}
    fresh: dict[frozenset[str], list[int]] = {}
    rows = zip(states.items(), old_ids.tolist(), np.searchsorted(ends, old_ids, side="right").tolist(), strict=True)
    for (number, state), old, group in rows:
        if state is None:
            if old >= 0:
                found.deleted.append(old)
            continue
        labels = sets.get(state.labels)
        if labels is None:
            labels = sets[state.labels] = frozenset(state.labels)
            found.labels.update(dict.fromkeys(state.labels))
        if old < 0:
            fresh.setdefault(labels, []).append(number)
        elif labels != before[group]:
            found.relabelled[old] = labels
    found.fresh = {labels: np.array(numbers, np.int64) for labels, numbers in fresh.items()}
    for part in parts:
        labels = frozenset(part.block.labels)
        found.fresh[labels] = np.concatenate((found.fresh.get(labels, _EMPTY), part.numbers))
        found.labels.update(dict.fromkeys(part.block.labels))
    return found


def _stayed(base: GraphStore, changes: _Changes) -> NodeLayout:
    """Split groups where labels change, and add new nodes after all others: no id moves."""
    groups = _split(base.groups, changes.relabelled)
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
    found = _layout(base, changes, groups, edit, added)
    return replace(found, relabelled=np.array(sorted(changes.relabelled), np.int64))


def _split(groups: Sequence[LabelGroup], relabelled: Mapping[int, frozenset[str]]) -> list[LabelGroup]:
    """Return the label groups with some nodes in groups of their own, where they stand."""
    found: list[LabelGroup] = []
    waiting = sorted(relabelled)
    at = 0
    for group in groups:
        begin = group.begin
        while at < len(waiting) and waiting[at] < group.end:
            id = waiting[at]
            _append(found, LabelGroup(group.labels, begin, id))
            _append(found, LabelGroup(relabelled[id], id, id + 1))
            begin, at = id + 1, at + 1
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
    leaving = [np.array(sorted((*changes.deleted, *changes.relabelled)), np.int64)]
    arriving: dict[frozenset[str], list[Array]] = {}
    for index, group in enumerate(base.groups):
        if home.setdefault(group.labels, index) != index and merge:
            members = np.arange(group.begin, group.end, dtype=np.int64)
            members = members[~among(members, leaving[0])]
            leaving.append(members)
            arriving.setdefault(group.labels, []).append(members)
    by_labels: dict[frozenset[str], list[int]] = {}
    for old, labels in sorted(changes.relabelled.items()):
        by_labels.setdefault(labels, []).append(old)
    for labels, olds in by_labels.items():
        arriving.setdefault(labels, []).append(np.array(olds, np.int64))
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
