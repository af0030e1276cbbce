"""How a ``ThetaJoin`` finds rows that may join: by keys that both have, or by an order in which one lies between two.

A finder takes one way. It looks at the build side's rows once, at each batch of the input's, and tells pairs of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from qengine._frozen import frozen
from qengine.errors import ExecutionError
from qengine.exec.common.batch import Batch
from qengine.exec.common.batch_parts import by_parts
from qengine.exec.common.columns import (
    BoolArray,
    Column,
    ConstantColumn,
    IntArray,
    ListColumn,
    concatenate,
    from_values,
    null_column,
    numbers_from,
)
from qengine.exec.common.expressions.compiler import compile_expression, compile_predicate
from qengine.exec.common.order_words import NUMBER, Ordered, OrderWords, order_words, with_offset
from qengine.exec.common.runtime import Runtime
from qengine.exec.spill.hashes import row_hashes
from qengine.plan.expr import Comparison, Expr, Variable
from qengine.plan.physical import Between, SharedKeys
from qengine.plan.traverse import conjunction

Pairs = tuple[IntArray, IntArray]
"""Rows of the input and rows of the build side."""

_UNUSED_BITS = 1  # of a hash, so that no key is below 0
_FIRST_FOUND = 16  # pairs of a row that needs one, before others are looked for

_VAST = 2.0**62  # integers from here on may differ by more than 64 bits hold: their difference is an error


class Found(Protocol):
    """What a way finds in the rows of a batch.

    ``wild``, ``built_wild``: rows of either side that may join any others. ``exact``: whether what is found is just
    what the way says.
    """

    wild: BoolArray
    built_wild: BoolArray
    exact: bool

    def pairs(self, room: int, done: BoolArray | None) -> Iterator[Pairs]:
        """Yield each pair of rows that the way finds once, at most ``room`` at a time; no wild rows.

        ``done``: rows of the input whose other pairs may be left out, as the caller sets it meanwhile; or None.
        """

    def count(self) -> IntArray | None:
        """Return how many partners each row of the input has, where that is told without pairs."""

    def holds(self, rows: IntArray, built: IntArray) -> BoolArray:
        """Return which pairs the way finds."""


class Finder(Protocol):
    """One way. ``nbytes``: what it holds of the build side's rows."""

    nbytes: int

    def build(self, rows: Batch) -> None:
        """Take the build side's rows."""

    def find(self, batch: Batch) -> Found:
        """Look for partners of the input's rows."""


def finder(way: SharedKeys | Between, runtime: Runtime) -> Finder:
    """Return what finds partners in one way."""
    return _ByKeys(way, runtime) if isinstance(way, SharedKeys) else _ByOrder(way, runtime)


class _Values:
    """Evaluates an expression for rows; where it can't be computed a row's value is null, and the row wild."""

    def __init__(self, expr: Expr, runtime: Runtime) -> None:
        self._evaluate = compile_expression(expr, runtime)
        self._memory = runtime.memory

    def __call__(self, batch: Batch) -> tuple[Column, BoolArray]:
        """Return the values of all rows, and which are wild."""
        try:
            parts = [column for _, column in by_parts(batch, self._evaluate, self._memory)]
        except ExecutionError:
            if batch.length == 1:
                return null_column(1), np.ones(1, np.bool_)
            half = batch.length // 2
            (one, wild), (other, more) = self(batch.slice(0, half)), self(batch.slice(half, batch.length - half))
            return concatenate([one, other]), np.concatenate([wild, more])
        return concatenate(parts), np.zeros(batch.length, np.bool_)


# ------------------------------------------------------------ keys


@frozen
class _Keys:
    """The different keys of each of n rows, ascending: row i's are at ``offsets[i]`` to ``offsets[i + 1]``.

    ``rows``: whose each key is. ``wild``: rows that may join any others, and have none.
    """

    keys: IntArray
    rows: IntArray
    offsets: IntArray
    wild: BoolArray

    def has(self, rows: IntArray, keys: IntArray) -> BoolArray:
        """Return whether each of some rows has the key beside it: all are looked up in halves at once."""
        low, high = self.offsets[rows], self.offsets[rows + 1]
        ends = high
        for _ in range(int((high - low).max(initial=0)).bit_length()):
            open_ = low < high
            middle = (low + high) // 2
            less = open_ & (self.keys[np.minimum(middle, len(self.keys) - 1)] < keys)
            low, high = np.where(less, middle + 1, low), np.where(open_ & ~less, middle, high)
        inside = low < ends
        found: BoolArray = inside & (self.keys[np.where(inside, low, 0)] == keys) if len(self.keys) else inside
        return found


def _hashed(batch: Batch, values: Sequence[_Values]) -> tuple[IntArray, Sequence[Column], BoolArray]:
    """Return a key for each row, -1 where a value is null, the values, and which rows are wild, whose key is -1."""
    columns, wilds = zip(*(each(batch) for each in values), strict=True)
    return _hashes(columns), columns, np.logical_or.reduce(wilds)


def _hashes(columns: Sequence[Column]) -> IntArray:
    """Return what is the same for equal values of columns, -1 where one is null."""
    keys = (row_hashes(columns, len(columns[0])) >> np.uint64(_UNUSED_BITS)).astype(np.int64)
    for column in columns:
        keys[column.is_null()] = -1
    return keys


def _keys(values: Sequence[_Values], batch: Batch, items: bool) -> _Keys:
    count = batch.length
    if items:
        column, wild = values[0](batch)
        rows, column, strange = _items(column)
        keys, wild = _hashes([column]), wild | strange
    else:
        keys, _, wild = _hashed(batch, values)
        rows = np.arange(count)
    if (keys < 0).any():
        rows, keys = rows[keys >= 0], keys[keys >= 0]
    if items:
        order = np.lexsort((keys, rows))
        rows, keys = rows[order], keys[order]
        new = np.ones(len(rows), np.bool_)
        new[1:] = (np.diff(rows) != 0) | (np.diff(keys) != 0)
        rows, keys = rows[new], keys[new]
    offsets = np.searchsorted(rows, np.arange(count + 1))
    return _Keys(keys, rows, offsets, wild)


def _items(column: Column) -> tuple[IntArray, Column, BoolArray]:
    """Return whose each item of a column of lists is, the items, and which rows are no lists."""
    count = len(column)
    strange = np.zeros(count, np.bool_)
    if isinstance(column, ConstantColumn) and column.value is not None:
        column = column.expanded()
    if not isinstance(column, ListColumn):
        values = column.values()
        strange[:] = [value is not None and type(value) is not list for value in values]
        lists = [value if type(value) is list else [] for value in values]
        rows = np.repeat(np.arange(count), [len(each) for each in lists])
        return rows, from_values([item for each in lists for item in each]), strange
    return np.repeat(np.arange(count), column.lengths()), column.flat(), strange


class _ByKeys:
    """Finds rows that have a key of each other's. Equal values have the same key; so may others."""

    def __init__(self, way: SharedKeys, runtime: Runtime) -> None:
        self._way = way
        self._left, self._right = ([_Values(each, runtime) for each in side] for side in (way.left, way.right))
        self.nbytes = 0

    def build(self, rows: Batch) -> None:
        self._built = built = _keys(self._right, rows, self._way.right_items)
        order = np.argsort(built.keys)
        self._sorted, self._rows = built.keys[order], built.rows[order]
        self.nbytes = 4 * built.keys.nbytes + built.offsets.nbytes

    def find(self, batch: Batch) -> Found:
        several = self._way.left_items and self._way.right_items
        given = _keys(self._left, batch, self._way.left_items)
        begins = np.searchsorted(self._sorted, given.keys, side="left")
        lengths = np.searchsorted(self._sorted, given.keys, side="right") - begins
        return _FoundByKeys(given, self._built, self._rows, begins, lengths, several)


class _FoundByKeys:
    exact = False

    def __init__(
        self, given: _Keys, built: _Keys, order: IntArray, begins: IntArray, lengths: IntArray, several: bool
    ) -> None:
        self._given, self._built, self._order = given, built, order
        self._begins, self._lengths = begins, lengths
        self._several = several
        self.wild, self.built_wild = given.wild, built.wild

    def pairs(self, room: int, done: BoolArray | None) -> Iterator[Pairs]:
        given = self._given
        for here, places in _spans(given.rows, self._begins, self._lengths, room, done):
            rows, built = given.rows[here], self._order[places]
            if self._several:  # a pair is found by each key that both have: the least counts
                first = ~self._shares(rows, built, given.keys[here])
                rows, built = rows[first], built[first]
            if len(rows):
                yield rows, built

    def count(self) -> IntArray | None:
        return None

    def holds(self, rows: IntArray, built: IntArray) -> BoolArray:
        return self._shares(rows, built, None)

    def _shares(self, rows: IntArray, built: IntArray, below: IntArray | None) -> BoolArray:
        """Return which pairs of rows share a key, less than the one beside them."""
        given = self._given
        lengths = given.offsets[rows + 1] - given.offsets[rows]
        pair = np.repeat(np.arange(len(rows)), lengths)
        keys = given.keys[numbers_from(given.offsets[rows], lengths)]
        if below is not None:
            less = keys < below[pair]
            pair, keys = pair[less], keys[less]
        found = np.zeros(len(rows), np.bool_)
        found[pair[self._built.has(built[pair], keys)]] = True
        return found


# ------------------------------------------------------------ order


class _Groups:
    """Rows of one side by the values of some expressions; rows of the other find the group with theirs."""

    def __init__(self, batch: Batch, values: Sequence[_Values], runtime: Runtime) -> None:
        equations = [Comparison(("=",), (Variable(f"one {k}"), Variable(f"other {k}"))) for k in range(len(values))]
        self._equal = compile_predicate(conjunction(tuple(equations)), runtime)
        keys, columns, self.wild = _hashed(batch, values)
        self._keys, first, codes = np.unique(keys, return_index=True, return_inverse=True)
        self._columns = [column.take(first) for column in columns]
        #: int64, the group of each row, below 0 for none.
        self.codes: IntArray = np.where(keys < 0, -1, codes)
        #: Whether rows of a group have equal values.
        self.exact = bool(self._are_equal(columns, self.codes)[self.codes >= 0].all())

    def find(self, batch: Batch, values: Sequence[_Values]) -> tuple[IntArray, BoolArray]:
        """Return the group of each row, below 0 for none, and which rows may be in any."""
        keys, columns, wild = _hashed(batch, values)
        if not len(self._keys):
            return np.full(batch.length, -1), wild
        codes = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        codes = np.where((self._keys[codes] == keys) & (keys >= 0), codes, -1)
        return np.where(self._are_equal(columns, codes), codes, -1), wild

    def _are_equal(self, columns: Sequence[Column], codes: IntArray) -> BoolArray:
        """Return which rows have the values of the first row of a group."""
        rows = np.flatnonzero(codes >= 0)
        pairs: dict[str, Column] = {f"one {k}": column.take(rows) for k, column in enumerate(columns)}
        pairs |= {f"other {k}": column.take(codes[rows]) for k, column in enumerate(self._columns)}
        found = np.zeros(len(codes), np.bool_)
        if len(rows):
            found[rows] = self._equal(Batch(len(rows), pairs))
        return found


class _ByOrder:
    """Finds rows of one side whose value lies between bounds of the other's: in the order of these values."""

    def __init__(self, way: Between, runtime: Runtime) -> None:
        self._way = way
        self._runtime = runtime
        self._point = _Values(way.point, runtime)
        self._parts = [None if each is None else _Values(each, runtime) for each in (way.base, way.low, way.high)]
        left, right = ((), ()) if way.within is None else (way.within.left, way.within.right)
        keys = (left, right) if way.of_input else (right, left)
        self._point_keys, self._bound_keys = ([_Values(each, runtime) for each in side] for side in keys)
        self.nbytes = 0

    def build(self, rows: Batch) -> None:
        if self._way.of_input:
            self._rows = rows
            self._bounds = self._bounded(rows)
            self.nbytes = 64 * rows.length
        else:
            self._points = self._sorted(rows)
            self.nbytes = 48 * rows.length

    def find(self, batch: Batch) -> Found:
        way = self._way
        if way.of_input:
            bounding, (ordered, groups, wild), bounds = self._rows, self._sorted(batch), self._bounds
        else:
            bounding, (ordered, groups, wild), bounds = batch, self._points, self._bounded(batch)
        low, high, strange = bounds
        codes, exact = None, way.base is None
        if groups is not None:
            codes, unknown = groups.find(bounding, self._bound_keys)
            strange, exact = strange | unknown, exact and groups.exact
        begins, ends, told = ordered.between(low, high, way.strict, way.prefix, codes)
        ends = np.where(strange, begins, ends)
        return _FoundByOrder(ordered.order, begins, ends, exact and told, wild, strange, way.of_input)

    def _sorted(self, batch: Batch) -> tuple[Ordered, _Groups | None, BoolArray]:
        column, wild = self._point(batch)
        words = order_words(column)
        if self._way.base is not None:
            wild = wild | _is_strange(column, words)
        groups = None
        if self._way.within is not None:
            groups = _Groups(batch, self._point_keys, self._runtime)
            wild = wild | groups.wild
        codes = None if groups is None else groups.codes
        if wild.any():
            codes = np.where(wild, -1, 0 if codes is None else codes)
        return Ordered(words, codes), groups, wild

    def _bounded(self, batch: Batch) -> tuple[OrderWords | None, OrderWords | None, BoolArray]:
        """Return bounds as they are ordered, and rows that may join any others."""
        wild = np.zeros(batch.length, np.bool_)
        found: list[OrderWords | None] = []
        for values in self._parts:
            if values is None:
                found.append(None)
                continue
            column, failed = values(batch)
            words = order_words(column)
            found.append(words)
            wild |= failed
            if self._way.base is not None:
                wild |= _is_strange(column, words)
        base, low, high = found
        if base is not None:
            low = low and with_offset(base, low, -1.0)
            high = high and with_offset(base, high, 1.0)
        return low, high, wild


def _is_strange(column: Column, words: OrderWords) -> BoolArray:
    """Return which values a difference may not be told of: vast numbers, NaN, and what is no number nor null."""
    numbers = words.classes == NUMBER
    strange: BoolArray = numbers & (np.abs(words.words) >= _VAST)
    return strange | ~(numbers | column.is_null()) if not numbers.all() else strange


class _FoundByOrder:
    def __init__(
        self,
        order: IntArray,
        begins: IntArray,
        ends: IntArray,
        exact: bool,
        wild: BoolArray,
        bounds_wild: BoolArray,
        of_input: bool,
    ) -> None:
        self._order, self._begins, self._ends = order, begins, ends
        self._of_input = of_input
        self.exact = exact
        self.wild, self.built_wild = (wild, bounds_wild) if of_input else (bounds_wild, wild)
        self._place: IntArray | None = None

    def pairs(self, room: int, done: BoolArray | None) -> Iterator[Pairs]:
        bounding = np.arange(len(self._begins))
        done = None if self._of_input else done
        for one, places in _spans(bounding, self._begins, self._ends - self._begins, room, done):
            yield (self._order[places], one) if self._of_input else (one, self._order[places])

    def count(self) -> IntArray | None:
        if not self.exact:
            return None
        if not self._of_input:
            return self._ends - self._begins
        steps = np.bincount(self._begins, minlength=len(self._order) + 1)
        steps -= np.bincount(self._ends, minlength=len(self._order) + 1)
        counts = np.zeros(len(self.wild), np.int64)
        counts[self._order] = np.cumsum(steps)[: len(self._order)]
        return counts

    def holds(self, rows: IntArray, built: IntArray) -> BoolArray:
        points, bounds = (rows, built) if self._of_input else (built, rows)
        if self._place is None:
            self._place = np.full(int(max(self._order.max(initial=-1), points.max(initial=-1))) + 1, -1)
            self._place[self._order] = np.arange(len(self._order))
        place = self._place[np.minimum(points, len(self._place) - 1)]
        place = np.where(points < len(self._place), place, -1)
        found: BoolArray = (place >= self._begins[bounds]) & (place < self._ends[bounds])
        return found


def _spans(
    rows: IntArray, begins: IntArray, lengths: IntArray, room: int, done: BoolArray | None
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield which of some spans of places, and each place in it, at most ``room`` at a time.

    ``rows``: whose each span is. ``done``: rows whose other places may be left out; of each span only some are yielded
    before this is asked again.
    """
    which = np.flatnonzero(lengths)
    offset, width = 0, _FIRST_FOUND if done is not None else int(lengths.max(initial=0))
    while len(which):
        taken = np.minimum(lengths[which] - offset, width)
        sums = np.cumsum(taken)
        total = int(sums[-1])
        for begin in range(0, total, room):
            end = min(total, begin + room)
            first, behind = np.searchsorted(sums, begin, side="right"), np.searchsorted(sums, end) + 1
            before = sums[first:behind] - taken[first:behind]
            counts = np.minimum(sums[first:behind], end) - np.maximum(before, begin)
            shift = begins[which[first:behind]] + offset - before
            yield np.repeat(which[first:behind], counts), np.arange(begin, end) + np.repeat(shift, counts)
        offset, width = offset + width, 4 * width
        which = which[lengths[which] > offset]
        if done is not None:
            which = which[~done[rows[which]]]
