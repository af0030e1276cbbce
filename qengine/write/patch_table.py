"""Patches above a version: what is done to many of its elements alike, kept as numbers and columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from qengine.plan.pattern import LabelExpr, LabelIs
from qengine.storage.arrays import Array
from qengine.storage.edits import among, ascending
from qengine.storage.states import NodeState, Patch, RelationshipState
from qengine.storage.variant import concatenate, is_present
from qengine.temporal.arrow import to_values

_S = TypeVar("_S", NodeState, RelationshipState)
_NONE = np.empty(0, np.int64)
_KNOWN = 4096  # elements that are kept as they were made
_APART = 8  # patches that are kept apart, before those that are alike become one


class PatchTable:
    """Patches in their order, of nodes or of relationships; changed by whoever has them, who then says so.

    Attributes
    ----------
    by_place
        The patches; those at lower places come first.
    size, nbytes
        How many elements all patches name, and bytes of their arrays.
    keys, labels
        Properties and labels that they change.
    deletes
        Whether one deletes elements.
    known
        Elements of the base as patches make them, some of those that were asked for last.
    """

    def __init__(self) -> None:
        self.by_place: dict[int, Patch] = {}
        self.changed()

    def changed(self) -> None:
        """Take note that patches came or went."""
        self._patches = [self.by_place[place] for place in sorted(self.by_place)]
        self.size = sum(len(each.numbers) for each in self._patches)
        self.nbytes: int = sum(
            each.numbers.nbytes + sum(c.nbytes for c in each.columns.values()) for each in self._patches
        )
        self.keys = frozenset(key for each in self._patches for key in each.columns)
        self.labels = frozenset(label for each in self._patches for label in (*each.added, *each.removed))
        self.deletes = any(each.deleted for each in self._patches)
        self.known: dict[int, Any] = {}

    def __bool__(self) -> bool:
        return bool(self.by_place)

    def __iter__(self) -> Iterator[Patch]:
        return iter(self._patches)

    @property
    def next_place(self) -> int:
        """A place behind all others."""
        return max(self.by_place, default=-1) + 1

    @property
    def numbers(self) -> Array:
        """int64, ascending: all elements that patches name."""
        return ascending(np.concatenate([_NONE, *(each.numbers for each in self._patches)]))

    def concern(self, keys: Collection[str] | None, labels: Collection[str] | None) -> bool:
        """Tell whether elements may differ from the version in what there is of them, in some keys or labels.

        None: in any keys, or labels.
        """
        if not self.by_place:
            return False
        if keys is None or labels is None:
            return True
        return self.deletes or not (self.keys.isdisjoint(keys) and self.labels.isdisjoint(labels))

    def applied(self, states: dict[int, Any]) -> dict[int, Any]:
        """Return elements of the base, by their numbers, which ascend, as patches make them; None for deleted ones."""
        apply_patches(states, self._patches)
        if len(self.known) + len(states) > _KNOWN:
            self.known = {}
        self.known.update((number, state) for number, state in states.items() if state is not None)
        return states

    def names(self, number: int) -> bool:
        """Tell whether a patch names an element."""
        return any(row_in(each, number) >= 0 for each in self._patches)

    def deletes_one(self, number: int) -> bool:
        """Tell whether a patch deletes an element."""
        return any(each.deleted and row_in(each, number) >= 0 for each in self._patches)

    def deleted(self, numbers: Array) -> Array:
        """Tell which of some elements patches delete."""
        found = np.zeros(len(numbers), np.bool_)
        for each in self._patches:
            if each.deleted:
                found |= among(numbers, each.numbers)
        return found

    def has_label(self, numbers: Array, label: str, before: Array) -> Array:
        """Tell which nodes have a label, given which have it in the version."""
        found = before.copy()
        for each in self._patches:
            if label in each.added or label in each.removed:
                found[among(numbers, each.numbers)] = label in each.added
        return found

    def has_value(self, numbers: Array, key: str, before: Array) -> Array:
        """Tell which elements have a property, given which have it in the version."""
        found = before.copy()
        for each in self._patches:
            if key in each.columns:
                rows, hits = _rows(each, numbers)
                found[hits] = is_present(each.columns[key].take(pa.array(rows)))
        return found

    def values(self, numbers: Array, key: str, before: Any) -> Any:
        """Return the values of a property of elements, given those in the version: normal Arrow arrays."""
        found = before
        for each in self._patches:
            if key in each.columns:
                rows, hits = _rows(each, numbers)
                if len(hits):
                    places = np.arange(len(numbers))
                    places[hits] = len(numbers) + rows
                    found = concatenate([found, each.columns[key]]).take(pa.array(places))
        return found

    def join(self) -> None:
        """Make one of patches that follow each other and are alike, where there are many."""
        if len(self._patches) <= _APART:
            return
        joined: list[list[Patch]] = []
        for each in self._patches:
            if joined and _kind(joined[-1][0]) == _kind(each):
                joined[-1].append(each)
            else:
                joined.append([each])
        self.by_place = dict(enumerate(map(_joined, joined)))
        self.changed()


def _kind(patch: Patch) -> tuple[Any, ...]:
    columns = tuple((key, array.type) for key, array in patch.columns.items())
    return columns, patch.added, patch.removed, patch.deleted


def _joined(patches: Sequence[Patch]) -> Patch:
    """Return patches of one kind as one; of an element that several name the last counts."""
    first = patches[0]
    if len(patches) == 1:
        return first
    numbers = np.concatenate([each.numbers for each in patches])
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    order = order[np.append(ordered[1:] != ordered[:-1], True)]
    rows = pa.array(order)
    columns = {key: concatenate([each.columns[key] for each in patches]).take(rows) for key in first.columns}
    return Patch(numbers[order], columns, first.added, first.removed, first.deleted)


def names_in(expr: LabelExpr | None) -> Collection[str] | None:
    """Return the labels on which it depends whether a node satisfies an expression; None for any."""
    if expr is None:
        return ()
    return (expr.name,) if isinstance(expr, LabelIs) else None


def apply_patches(states: dict[int, _S | None], patches: Iterable[Patch]) -> None:
    """Put in place of elements what patches make of them, by their numbers, which ascend."""
    numbers = np.fromiter(states, np.int64, len(states))
    for patch in patches:
        rows, hits = _rows(patch, numbers)
        if not len(rows):
            continue
        taken = pa.array(rows)
        values = {key: to_values(array.take(taken)) for key, array in patch.columns.items()}
        for place, number in enumerate(numbers[hits].tolist()):
            state = states[number]
            if state is not None:
                new = {key: column[place] for key, column in values.items()}
                states[number] = None if patch.deleted else _after(state, patch, new)


def _after(state: Any, patch: Patch, values: dict[str, Any]) -> Any:
    properties = state.properties
    if values:
        properties = {key: value for key, value in {**properties, **values}.items() if value is not None}
    if isinstance(state, RelationshipState):
        return RelationshipState(state.type, state.start, state.end, properties)
    labels = tuple(dict.fromkeys((*(label for label in state.labels if label not in patch.removed), *patch.added)))
    return NodeState(labels, properties)


def picked(patch: Patch, rows: Array) -> Patch:
    """Return what a patch says at some rows (int64, ascending)."""
    taken = pa.array(rows)
    columns = {key: array.take(taken) for key, array in patch.columns.items()}
    return Patch(patch.numbers[rows], columns, patch.added, patch.removed, patch.deleted)


def row_in(patch: Patch, number: int) -> int:
    """Return the row of a patch that names an element, -1 for none."""
    row = int(np.searchsorted(patch.numbers, number))
    return row if row < len(patch.numbers) and patch.numbers[row] == number else -1


def _rows(patch: Patch, numbers: Array) -> tuple[Array, Array]:
    """Return the rows of a patch that name some of some elements, and places of these (int64 each)."""
    if not len(patch.numbers):
        return _NONE, _NONE
    rows = np.minimum(np.searchsorted(patch.numbers, numbers), len(patch.numbers) - 1)
    hits = np.flatnonzero(patch.numbers[rows] == numbers)
    return rows[hits], hits
