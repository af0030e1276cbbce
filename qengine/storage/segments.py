"""What declared indexes that are searched whole are made of: segments of elements, and what has died in them since.

A segment is made once and never changes. The index of the next version has the same segments, in which the elements
that were touched are dead, and a segment more, with these as they are now. Small segments are merged: there are few.
So a version's index costs what was touched above the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qengine._cached import cached_property
from qengine.plan.pattern import LabelIs, LabelOr
from qengine.storage.arrays import Array

if TYPE_CHECKING:
    from qengine.catalog.rules import Rule
    from qengine.storage.store import GraphStore


class _Numbers:
    """The numbers of a segment's elements (int64 by row), which are found by them."""

    def __init__(self, numbers: Array) -> None:
        self.of_rows = numbers

    @cached_property
    def _sorted(self) -> tuple[Array, Array | None]:
        """The numbers, ascending, and the row of each; None where they stand so."""
        if bool((self.of_rows[1:] > self.of_rows[:-1]).all()):
            return self.of_rows, None
        order = np.argsort(self.of_rows, kind="stable")
        return self.of_rows[order], order

    def rows(self, numbers: Array) -> Array:
        """Return the rows of those of some numbers that there are."""
        known, order = self._sorted
        if not len(known):
            return np.empty(0, np.int64)
        places = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
        rows: Array = places[known[places] == numbers]
        return rows if order is None else order[rows]


class Segment:
    """Some elements: their numbers, what is known of them by row, rows that are alive.

    Parameters
    ----------
    numbers
        int64 by row, each once.
    fields
        What an index has of them, each with ``nbytes``.
    """

    __slots__ = ("_numbers", "alive", "count", "fields")

    def __init__(self, numbers: Array, fields: tuple[Any, ...]) -> None:
        self._numbers, self.fields = _Numbers(numbers), fields
        #: Which rows are (bool); None: all.
        self.alive: Array | None = None
        #: How many elements are alive.
        self.count = len(numbers)

    @property
    def numbers(self) -> Array:
        """The numbers of all elements, int64 by row."""
        return self._numbers.of_rows

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return int(self.numbers.nbytes) + sum(int(each.nbytes) for each in self.fields)

    def living(self) -> Array:
        """Return the numbers of those that are alive."""
        return self.numbers if self.alive is None else self.numbers[self.alive]

    def without(self, numbers: Array) -> Segment:
        """Return the segment in which some numbers are dead; itself where it has none of them."""
        rows = self._numbers.rows(numbers)
        if self.alive is not None:
            rows = rows[self.alive[rows]]
        if not len(rows):
            return self
        left = Segment.__new__(Segment)
        left._numbers, left.fields, left.count = self._numbers, self.fields, self.count - len(rows)
        left.alive = np.ones(len(self.numbers), np.bool_) if self.alive is None else self.alive.copy()
        left.alive[rows] = False
        return left


def following(segments: Sequence[Segment], touched: Array) -> tuple[list[Segment], Array]:
    """Return which segments a later version keeps, and the numbers of the elements that it has to read again.

    Parameters
    ----------
    touched
        int64, each once: the numbers of elements that may differ there, or not be there.
    """
    kept = sorted((each.without(touched) for each in segments), key=lambda each: each.count)
    again = [touched]
    for segment in list(kept):
        if segment.count < 2 * sum(map(len, again)) or 2 * segment.count < len(segment.numbers):
            kept.remove(segment)
            again.append(segment.living())
    return kept, np.unique(np.concatenate(again))


def pieces(store: GraphStore, rule: Rule, numbers: Array | None, most: int) -> Iterator[tuple[Array, list[Any]]]:
    """Give the ids (int64, ascending) of the elements that a rule is about, and by key their values, None for none.

    Parameters
    ----------
    numbers
        Of the elements that are wanted (int64), None for all.
    most
        So many at a time.
    """
    ids: Array | None = None
    if numbers is not None:
        known = store.node_numbers if rule.of_nodes else store.relationship_numbers
        ids = np.sort(known.places(numbers))
    for begin, end, first, column_of in _spans(store, rule):
        columns = [column_of(key) for key in rule.keys]
        if all(column is None for column in columns):
            continue
        own = None if ids is None else ids[np.searchsorted(ids, begin) : np.searchsorted(ids, end)]
        low, high = (begin, end) if own is None else (0, len(own))
        for at in range(low, high, most):
            to = min(high, at + most)
            if own is None:
                yield np.arange(at, to), [column and column.slice(at - first, to - first) for column in columns]
            else:
                yield own[at:to], [column and column.take(own[at:to] - first) for column in columns]


def _spans(store: GraphStore, rule: Rule) -> Iterator[tuple[int, int, int, Callable[[str], Any]]]:
    """Give ranges of ids, the first id that the columns of each have, and what finds these by their keys."""
    if rule.of_nodes:
        wanted = LabelOr(tuple(map(LabelIs, rule.labels)))
        for begin, end in store.label_ranges(wanted).tolist():
            yield begin, end, 0, store.node_property
        return
    for index in sorted(index for name in set(rule.labels) if (index := store.type_index(name)) is not None):
        base = store.types[index].base

        def column_of(key: str, index: int = index) -> Any:
            return store.relationship_property(index, key)

        yield base, base + store.types[index].count, base, column_of
