"""What is counted of a type's lists between groups of vertices: a row of numbers for each pair that has any."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from qengine.storage.arrays import Array

PairCounts = tuple[int, int, int, float, float, float, float]
"""Entries, owners, the most of one owner, and the four moments of ``kernels.pair_statistics``."""

NOTHING: PairCounts = (0, 0, 0, 0.0, 0.0, 0.0, 0.0)
"""Of a pair without entries."""

POWERS = 2, 3, 2, 2
"""Of degrees, that the moments are."""

_APART = 1 << 32  # more than there are groups


class GroupPairs(Mapping[tuple[int, int], PairCounts]):
    """What is counted, by (owner's group, neighbour's group), ascending.

    Parameters
    ----------
    groups
        int64[pairs, 2]: owner's and neighbour's, ascending.
    numbers
        int64[pairs, 3]: entries, owners, the most of one owner.
    moments
        float64[pairs, 4].
    """

    __slots__ = ("_places", "groups", "moments", "numbers")

    def __init__(self, groups: Array, numbers: Array, moments: Array) -> None:
        self.groups = groups
        self.numbers = numbers
        self.moments = moments
        self._places = groups[:, 0] * _APART + groups[:, 1]

    @classmethod
    def counted(cls, numbers: Array, moments: Array) -> GroupPairs:
        """Return what ``kernels.pair_statistics`` has counted."""
        whole = numbers.astype(np.int64)
        return cls(whole[:, :2], whole[:, 2:], moments)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return int(self.groups.nbytes + self.numbers.nbytes + self.moments.nbytes + self._places.nbytes)

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return ((owner, other) for owner, other in self.groups.tolist())

    def __getitem__(self, pair: tuple[int, int]) -> PairCounts:
        place = self._place(pair)
        if place is None:
            raise KeyError(pair)
        entries, owners, most = self.numbers[place].tolist()
        pairs, triples, lesser, greater = self.moments[place].tolist()
        return entries, owners, most, pairs, triples, lesser, greater

    def __contains__(self, pair: object) -> bool:
        return isinstance(pair, tuple) and self._place(pair) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GroupPairs):
            return NotImplemented
        ours, theirs = (self._places, self.numbers, self.moments), (other._places, other.numbers, other.moments)
        return all(map(np.array_equal, ours, theirs))

    __hash__ = None  # type: ignore[assignment]

    def _place(self, pair: tuple[Any, ...]) -> int | None:
        wanted = pair[0] * _APART + pair[1]
        place = int(np.searchsorted(self._places, wanted))
        return place if place < len(self._places) and self._places[place] == wanted else None

    def turned_entries(self) -> tuple[Array, Array]:
        """Return the pairs with owner and neighbour the other way round (int64, ascending), and their entries."""
        turned = self.groups[:, 1] * _APART + self.groups[:, 0]
        order = np.argsort(turned)
        return turned[order], self.numbers[order, 0]

    def is_turned(self, other: GroupPairs) -> bool:
        """Tell whether another has as many entries for each pair, owner and neighbour the other way round."""
        places, entries = other.turned_entries()
        return np.array_equal(self._places, places) and np.array_equal(self.numbers[:, 0], entries)

    def changed(self, now: Mapping[tuple[int, int], PairCounts]) -> GroupPairs:
        """Return it with what is counted now of some pairs; those without entries are left out."""
        if not now:
            return self
        pairs = np.array(list(now), np.int64)
        numbers = np.array([each[:3] for each in now.values()], np.int64)
        moments = np.array([each[3:] for each in now.values()], np.float64)
        again, stays = pairs[:, 0] * _APART + pairs[:, 1], numbers[:, 0] > 0
        places = np.searchsorted(self._places, again)
        if stays.all() and (places < len(self)).all() and (self._places[places] == again).all():
            all_numbers, all_moments = self.numbers.copy(), self.moments.copy()
            all_numbers[places], all_moments[places] = numbers, moments
            return GroupPairs(self.groups, all_numbers, all_moments)
        kept = np.isin(self._places, again, invert=True)
        groups, numbers, moments = (
            np.concatenate((before[kept], more[stays]))
            for before, more in ((self.groups, pairs), (self.numbers, numbers), (self.moments, moments))
        )
        order = np.lexsort((groups[:, 1], groups[:, 0]))
        return GroupPairs(groups[order], numbers[order], moments[order])

    def added(self, owners: Collection[int], others: Collection[int]) -> PairCounts:
        """Return what some groups have together: as if an owner's neighbours were in each group as often as others'."""
        kept = np.isin(self.groups[:, 0], list(owners)) & np.isin(self.groups[:, 1], list(others))
        if not kept.any():
            return NOTHING
        begins = np.flatnonzero(np.diff(self.groups[kept, 0], prepend=-1))
        numbers = self.numbers[kept]
        entries, most = (int(each) for each in (numbers[:, 0].sum(), np.add.reduceat(numbers[:, 2], begins).max()))
        sources = int(np.maximum.reduceat(numbers[:, 1], begins).sum())
        pairs, triples, lesser, greater = (
            float((np.add.reduceat(column ** (1 / power), begins) ** power).sum())
            for column, power in zip(self.moments[kept].T, POWERS, strict=True)
        )
        return entries, sources, most, pairs, triples, lesser, greater

    def rows(self) -> Array:
        """Return all numbers: float64[pairs, 9]."""
        return np.concatenate((self.groups, self.numbers, self.moments), axis=1, dtype=np.float64)


NO_PAIRS = GroupPairs(np.empty((0, 2), np.int64), np.empty((0, 3), np.int64), np.empty((0, 4), np.float64))
