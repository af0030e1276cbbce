"""``ThetaJoin``: the build side's rows are held; each batch of the input's finds those that may join, and asks them.

Where the build side doesn't fit it lies in a file, and each batch meets a part of it after the other (a block nested
loop, but within a block partners are found as in memory).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from qengine._frozen import frozen
from qengine.exec.common.batch import BATCH_ROWS, Batch, concatenate_batches
from qengine.exec.common.batch_parts import repeated_pieces
from qengine.exec.common.columns import BoolArray, IntArray, integer_column
from qengine.exec.common.operators.pair_condition import PairCondition
from qengine.exec.common.operators.partners import Finder, Found, Pairs, finder
from qengine.exec.common.operators.stage import Build, Stage
from qengine.exec.common.runtime import Runtime
from qengine.exec.memory import Holding
from qengine.exec.spill.rows import SpilledRows
from qengine.plan import physical
from qengine.plan.expr import Comparison, Expr, Logical
from qengine.plan.traverse import conjunction
from qengine.types import BOOLEAN

_LEAST_PAIRS = 256
_PAIR = 512  # this part of the memory limit is how many pairs are asked at a time
_ROW = 128  # bytes a row, for each way, while what finds it is made


def theta_join_stage(operator: physical.ThetaJoin, build: Build, first: int) -> Stage:
    """Emit the joined rows. Holds the build side for as long as the query runs: a subplan asks for it again."""
    upstream = build(operator.input, first)
    return _ThetaJoin(operator, upstream, build(operator.build), build.runtime, first).run


@frozen
class _Part:
    """Rows of the build side, what the condition reads of them, and what finds them.

    ``overlaps``: what finds those that several ways find.
    ``apart``: what finds rows that aren't joined. ``weights``: how many rows each stands for; None for one.
    """

    rows: Batch
    read: Batch
    finders: Sequence[Finder]
    apart: Sequence[Finder] = ()
    overlaps: Sequence[Finder] = ()
    weights: IntArray | None = None


class _ThetaJoin:
    def __init__(
        self, operator: physical.ThetaJoin, upstream: Stage, other: Stage, runtime: Runtime, first: int
    ) -> None:
        self._operator, self._runtime = operator, runtime
        self._upstream, self._other = upstream, other
        self._condition = PairCondition(operator.condition, runtime)
        equal = tuple(conjunction(tuple(map(_equation, each.left, each.right))) for each in operator.apart)
        same = Logical("OR", equal, type=BOOLEAN) if len(equal) > 1 else conjunction(equal)
        self._equal = PairCondition(same, runtime) if equal else None
        self._finders = len(operator.ways) + len(operator.apart) + len(operator.overlaps)
        self._pairs = not (operator.semi or operator.count)
        self._holding = runtime.memory.holding("ThetaJoin")
        self._built: _Part | SpilledRows | None = None
        limit = runtime.memory.limit
        most = BATCH_ROWS if limit is None else min(BATCH_ROWS, max(_LEAST_PAIRS, limit // _PAIR))
        self._room = min(most, max(_LEAST_PAIRS, 4 * first))
        self._most = most

    def run(self, outer: Batch) -> Iterator[Batch]:
        """Emit the joined rows."""
        batches = self._upstream(outer)
        for batch in batches:
            if self._built is None:
                self._built = self._hold(self._other(Batch(1, {})))
            if isinstance(self._built, SpilledRows):
                yield from self._joined_on_disk(chain((batch,), batches), self._built)
                return
            if not self._built.rows.length:
                return
            yield from self._joined(batch, self._built) if self._pairs else self._counted(batch, self._built)

    def _joined_on_disk(self, batches: Iterator[Batch], built: SpilledRows) -> Iterator[Batch]:
        """Emit the joined rows of all batches, for a part of the build side after the other."""
        probing = SpilledRows(self._runtime.context, self._operator)
        for batch in batches:
            probing.write(batch)
        counts: list[IntArray] = []
        for part in self._parts(built):
            for place, batch in enumerate(probing.batches(again=True)):
                if self._pairs:
                    yield from self._joined(batch, part)
                    continue
                if place == len(counts):
                    counts.append(np.zeros(batch.length, np.int64))
                    self._holding.add(counts[-1].nbytes)
                counts[place] += self._partners(batch, part)
        if not self._pairs:
            for batch, numbers in zip(probing.batches(), counts, strict=True):
                yield from self._with_partners(batch, numbers)
            self._holding.set(0)
        probing.remove()

    # ------------------------------------------------------------ the build side

    def _hold(self, batches: Iterator[Batch]) -> _Part | SpilledRows:
        """Return the build side's rows: in memory, or in a file where the memory limit leaves no room."""
        held: list[Batch] = []
        spilled: SpilledRows | None = None
        for batch in batches:
            self._runtime.context.check()
            if spilled is None and held and self._needed([*held, batch]) > self._holding.share():
                spilled = SpilledRows(self._runtime.context, self._operator)
                for each in held:
                    spilled.write(each)
                held.clear()
                self._holding.set(0)
            if spilled is None:
                held.append(batch)
                self._holding.add(batch.nbytes)
            else:
                spilled.write(batch)
        return self._part(held, self._holding) if spilled is None else spilled

    def _needed(self, held: Sequence[Batch]) -> int:
        """Return what it takes to hold rows, in one piece, and what finds them."""
        return sum(2 * each.nbytes + _ROW * self._finders * each.length for each in held)

    def _part(self, held: list[Batch], holding: Holding) -> _Part:
        """Return rows with what finds them; the list is empty afterwards."""
        if not held:
            return _Part(Batch(0, {}), Batch(0, {}), ())
        holding.also(holding.bytes)  # the rows in one piece
        rows = concatenate_batches(held)
        held.clear()
        weights = None
        if not (self._pairs or self._operator.told) and (alike := self._condition.alike(rows)) is not None:
            rows, weights = rows.take(alike.first), np.bincount(alike.codes)
        operator = self._operator
        finders, apart, overlaps = (
            [finder(way, self._runtime) for way in ways] for ways in (operator.ways, operator.apart, operator.overlaps)
        )
        holding.add(_ROW * self._finders * rows.length)
        for each in (*finders, *apart, *overlaps):
            each.build(rows)
        holding.set(rows.nbytes + sum(each.nbytes for each in (*finders, *apart, *overlaps)))
        return _Part(rows, self._condition.side(rows), finders, apart, overlaps, weights)

    def _parts(self, built: SpilledRows) -> Iterator[_Part]:
        """Yield the build side's rows, as many at a time as fit."""
        held: list[Batch] = []
        with self._runtime.memory.holding("ThetaJoin") as holding:
            for batch in built.batches(again=True):
                if held and self._needed([*held, batch]) > holding.share():
                    yield self._part(held, holding)
                    holding.set(0)
                held.append(batch)
                holding.add(batch.nbytes)
            yield self._part(held, holding)

    # ------------------------------------------------------------ pairs

    def _joined(self, batch: Batch, part: _Part) -> Iterator[Batch]:
        given, memory = part.rows.select(self._operator.emit), self._runtime.memory
        for rows in self._slices(batch):
            found, told = self._found(rows, part)
            for here, there in self._true(rows, part, found, told, None):
                for begin, count in repeated_pieces(rows, here, memory):
                    chosen = slice(begin, begin + count)
                    for at, number in repeated_pieces(given, there[chosen], memory):
                        few = slice(begin + at, begin + at + number)
                        yield rows.take(here[few]).with_columns(given.take(there[few]).columns)

    def _counted(self, batch: Batch, part: _Part) -> Iterator[Batch]:
        for rows in self._slices(batch):
            yield from self._with_partners(rows, self._partners(rows, part))

    def _with_partners(self, batch: Batch, counts: IntArray) -> Iterator[Batch]:
        """Yield the rows of a batch that have partners, and how many."""
        kept = np.flatnonzero(counts)
        if len(kept):
            rows = batch if len(kept) == batch.length else batch.take(kept)
            count = self._operator.count
            yield rows if count is None else rows.with_columns({count: integer_column(counts[kept])})

    def _partners(self, batch: Batch, part: _Part) -> IntArray:
        """Return how many partners each row has; where it is only asked whether there is one, at least so many."""
        alike = None if self._operator.told else self._condition.alike(batch)
        rows = batch if alike is None else batch.take(alike.first)
        found, told = self._found(rows, part)
        counts = self._told(rows, part, found) if told else None
        if counts is not None:
            counts = counts - self._excepted(rows, part, found)
        else:
            counts = np.zeros(rows.length, np.int64)
            done = np.zeros(rows.length, np.bool_) if self._operator.semi else None
            for here, there in self._true(rows, part, found, told, done):
                weights = None if part.weights is None else part.weights[there]
                counts += np.bincount(here, weights, rows.length).astype(np.int64)
                if done is not None:
                    done |= counts > 0
        return counts if alike is None else counts[alike.codes]

    def _told(self, batch: Batch, part: _Part, found: Sequence[Found]) -> IntArray | None:
        """Return how many partners any of the ways finds, where that is told without pairs."""
        overlaps = [each.find(batch) for each in part.overlaps]
        if not all(each.exact for each in overlaps):
            return None
        total = np.zeros(batch.length, np.int64)
        for sign, each in zip((*(1 for _ in found), *self._operator.signs), (*found, *overlaps), strict=True):
            counts = each.count()
            if counts is None:
                return None
            total += sign * counts
        return total

    def _excepted(self, batch: Batch, part: _Part, found: Sequence[Found]) -> IntArray:
        """Return how many of the partners that the ways find each row isn't joined with."""
        counts = np.zeros(batch.length, np.int64)
        if self._equal is not None:
            same = [each.find(batch) for each in part.apart]
            own, other = self._equal.side(batch), self._equal.side(part.rows)
            for here, there in self._candidates(same, part.rows.length, None):
                self._runtime.context.check()
                kept = np.logical_or.reduce([each.holds(here, there) for each in found])
                here, there = here[kept], there[kept]
                counts += np.bincount(here[self._equal.holds(own, here, other, there)], minlength=batch.length)
        return counts

    def _slices(self, batch: Batch) -> Iterator[Batch]:
        for offset in range(0, batch.length, self._most):
            yield batch.slice(offset, self._most)

    def _found(self, batch: Batch, part: _Part) -> tuple[list[Found], bool]:
        """Return what each way finds, and whether that is all that is asked."""
        found = [each.find(batch) for each in part.finders]
        wild = any(each.wild.any() or each.built_wild.any() for each in found)
        return found, self._operator.told and all(each.exact for each in found) and not wild

    def _true(
        self, batch: Batch, part: _Part, found: Sequence[Found], told: bool, done: BoolArray | None
    ) -> Iterator[Pairs]:
        """Yield the pairs for which the condition is true; none of rows that are ``done``, as the caller sets it."""
        own = None
        for here, there in self._candidates(found, part.rows.length, done):
            self._runtime.context.check()
            if done is not None:
                left = ~done[here]
                here, there = here[left], there[left]
            if len(here) and not told:
                own = own or self._condition.side(batch)
                true = self._condition.holds(own, here, part.read, there)
                here, there = here[true], there[true]
            if len(here):
                yield here, there
        self._room = min(self._most, 4 * self._room)

    def _candidates(self, found: Sequence[Found], count: int, done: BoolArray | None) -> Iterator[Pairs]:
        """Yield each pair of rows that any way finds once."""
        wild = np.logical_or.reduce([each.wild for each in found])
        built_wild = np.logical_or.reduce([each.built_wild for each in found])
        some = bool(wild.any() or built_wild.any())
        if some:
            yield from self._any_others(wild, built_wild, count)
        for place, each in enumerate(found):
            for here, there in each.pairs(self._room, done):
                if some or place:
                    new = ~(wild[here] | built_wild[there])
                    for other in found[:place]:
                        new &= ~other.holds(here, there)
                    here, there = here[new], there[new]
                yield here, there

    def _any_others(self, wild: BoolArray, built_wild: BoolArray, count: int) -> Iterator[Pairs]:
        """Yield the pairs of rows of which one may join any others."""
        others = np.flatnonzero(built_wild)
        for row in range(len(wild)):
            built = np.arange(count) if wild[row] else others
            for begin in range(0, len(built), self._room):
                part = built[begin : begin + self._room]
                yield np.full(len(part), row), part


def _equation(left: Expr, right: Expr) -> Expr:
    return Comparison(("=",), (left, right), type=BOOLEAN)
