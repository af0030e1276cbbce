"""Where the nodes of the next version of a graph stand: their label groups and internal ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from qengine._frozen import frozen
from qengine.errors import StorageError
from qengine.storage.arrays import Array
from qengine.storage.assemble import MAX_VERTICES
from qengine.storage.kernels import NO_VERTEX
from qengine.storage.numbers import NumberList, NumberRange, Numbers
from qengine.storage.patched_columns import NOTHING
from qengine.storage.state_blocks import Part
from qengine.storage.states import NodeState
from qengine.storage.store import GraphStore, LabelGroup

__all__ = ["NodeLayout", "lay_out", "lay_out_new"]

_NONE = np.empty(0, np.int64)
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
    origins
        int64, by new id: the old id, ``NOTHING`` for new nodes; None where ids stay and no node is new.
    new_ids
        uint32, by old id: the new id, ``NO_VERTEX`` for deleted nodes; None where ids stay.
    moved
        int64, ascending: the old ids of nodes whose new ids don't ascend with the others', and of deleted ones.
    numbers
        The nodes' numbers.
    """

    groups: tuple[LabelGroup, ...]
    labels: tuple[str, ...]
    origins: Array | None
    new_ids: Array | None
    moved: Array
    numbers: Numbers

    @property
    def count(self) -> int:
        """How many nodes there are."""
        return self.groups[-1].end if self.groups else 0


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

    New nodes form groups of their own after all others, so that nothing moves. Where a node is deleted or its labels
    change, or there are too many groups, nodes are renumbered, most of them in their old order.

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
    return _laid_out(base, _changes(base, states, old_ids, parts))


def lay_out_new(base: GraphStore, fresh: Mapping[frozenset[str], Sequence[int]], labels: Iterable[str]) -> NodeLayout:
    """Lay out the nodes of the next version where nodes are only added; errors as for ``lay_out``.

    ``fresh``: the numbers of the new nodes, by their labels. ``labels``: these labels in the order in which they come.
    """
    added = {names: np.array(numbers, np.int64) for names, numbers in fresh.items()}
    return _laid_out(base, _Changes(fresh=added, labels=dict.fromkeys((*base.labels, *labels))))


def _laid_out(base: GraphStore, changes: _Changes) -> NodeLayout:
    count = base.vertex_count - len(changes.deleted) + sum(map(len, changes.fresh.values()))
    if count > MAX_VERTICES:
        raise StorageError(f"{count:,} nodes are more than the {MAX_VERTICES:,} that a graph can hold")
    many = len(base.groups) + len(changes.fresh) - len({group.labels for group in base.groups} | changes.fresh.keys())
    if changes.deleted or changes.relabelled or many > _MOST_REPEATS:
        return _renumbered(base, changes, merge=many > _MOST_REPEATS)
    return _appended(base, changes)


def _changes(
    base: GraphStore, states: Mapping[int, NodeState | None], old_ids: Array, parts: Iterable[Part]
) -> _Changes:
    found = _Changes(labels=dict.fromkeys(base.labels))
    fresh: dict[frozenset[str], list[int]] = {}
    for (number, state), old in zip(states.items(), old_ids.tolist(), strict=True):
        if state is None:
            if old >= 0:
                found.deleted.append(old)
            continue
        labels = frozenset(state.labels)
        if old < 0:
            fresh.setdefault(labels, []).append(number)
        elif labels != frozenset(base.labels_of(old)):
            found.relabelled[old] = labels
        found.labels.update(dict.fromkeys(state.labels))
    found.fresh = {labels: np.array(numbers, np.int64) for labels, numbers in fresh.items()}
    for part in parts:
        labels = frozenset(part.block.labels)
        found.fresh[labels] = np.concatenate((found.fresh.get(labels, _NONE), part.numbers))
        found.labels.update(dict.fromkeys(part.block.labels))
    return found


def _appended(base: GraphStore, changes: _Changes) -> NodeLayout:
    """Add new nodes after all others."""
    groups = list(base.groups)
    parts: list[Array] = []
    for labels in sorted(changes.fresh, key=lambda labels: not groups or labels != groups[-1].labels):
        last = groups[-1] if groups else LabelGroup(labels, 0, 0)
        if last.labels == labels:
            groups[-1:] = [LabelGroup(labels, last.begin, last.end + len(changes.fresh[labels]))]
        else:
            groups.append(LabelGroup(labels, last.end, last.end + len(changes.fresh[labels])))
        parts.append(changes.fresh[labels])
    numbers = base.node_numbers
    origins = None
    if parts:
        added = np.concatenate(parts)
        old = np.arange(base.vertex_count, dtype=np.int64)
        origins = np.concatenate((old, np.full(len(added), NOTHING, np.int64)))
        numbers = _with(base, added)
    return NodeLayout(tuple(groups), _used(changes.labels, groups), origins, None, np.empty(0, np.int64), numbers)


def _with(base: GraphStore, added: Array) -> Numbers:
    """Return the numbers of the nodes with those of new ones after them."""
    first, last = base.vertex_count, base.vertex_count + len(added)
    if base.node_numbers.equal_ids and (added == np.arange(first, last)).all():
        return Numbers([NumberRange(0, last)])
    array = np.concatenate((base.node_numbers.of(np.arange(first, dtype=np.int64)), added))
    return Numbers([NumberList(lambda: array, last)])


def _renumbered(base: GraphStore, changes: _Changes, merge: bool) -> NodeLayout:
    """Leave out deleted nodes, and put those with new labels, and new ones, at the end of a group with these labels.

    ``merge``: nodes of later groups with the same label set, too.
    """
    stays = np.ones(base.vertex_count, np.bool_)
    stays[changes.deleted] = False
    stays[list(changes.relabelled)] = False
    arriving: dict[frozenset[str], list[Array]] = {}
    kept: dict[tuple[frozenset[str], int], Array] = {}
    first: dict[frozenset[str], int] = {}
    for index, group in enumerate(base.groups):
        members = group.begin + np.flatnonzero(stays[group.begin : group.end])
        if first.setdefault(group.labels, index) == index or not merge:
            kept[group.labels, index] = members
        else:
            stays[members] = False
            arriving.setdefault(group.labels, []).append(members)
    by_labels: dict[frozenset[str], list[int]] = {}
    for old, labels in sorted(changes.relabelled.items()):
        by_labels.setdefault(labels, []).append(old)
    for labels, olds in by_labels.items():
        arriving.setdefault(labels, []).append(np.array(olds, np.int64))
    for labels in (*arriving, *changes.fresh):
        index = first.setdefault(labels, len(base.groups))
        kept.setdefault((labels, index), np.empty(0, np.int64))
    groups: list[LabelGroup] = []
    origins, numbers = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    end = 0
    for (labels, index), members in kept.items():
        added = _NONE
        if first[labels] == index:
            members = np.concatenate((members, *arriving.get(labels, ())))
            added = changes.fresh.get(labels, _NONE)
        if len(members) or len(added):
            origins += [members, np.full(len(added), NOTHING, np.int64)]
            numbers += [base.node_numbers.of(members), added]
            groups.append(LabelGroup(labels, end, end + len(members) + len(added)))
            end = groups[-1].end
    return _layout(base, changes, groups, np.concatenate(origins), np.concatenate(numbers), np.flatnonzero(~stays))


def _layout(
    base: GraphStore, changes: _Changes, groups: list[LabelGroup], origins: Array, numbers: Array, moved: Array
) -> NodeLayout:
    new_ids = np.full(base.vertex_count, NO_VERTEX, np.uint32)
    known = np.flatnonzero(origins >= 0)
    new_ids[origins[known]] = known
    listed = Numbers([NumberList(lambda: numbers, len(numbers))])
    return NodeLayout(tuple(groups), _used(changes.labels, groups), origins, new_ids, moved, listed)


def _used(labels: Mapping[str, None], groups: Sequence[LabelGroup]) -> tuple[str, ...]:
    """Return the labels that a group has."""
    used = frozenset().union(*(group.labels for group in groups))
    return tuple(label for label in labels if label in used)
