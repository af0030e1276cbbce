"""Comprehensions, quantifiers and ``reduce`` on columns: the items of many rows' lists are one batch.

Each takes evaluated parts of its expression, and returns None for what it leaves to the row-wise evaluator: sources
that aren't lists of one kind of items, single rows whose items take too much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from qengine.exec.common.batch import Batch
from qengine.exec.common.batch_parts import by_parts
from qengine.exec.common.columns import (
    BoolArray,
    Column,
    ConstantColumn,
    IntArray,
    ListColumn,
    boolean_column,
    concatenate,
    null_column,
)
from qengine.exec.common.expressions.operand import operand
from qengine.exec.common.runtime import Runtime

_Evaluate = Callable[[Batch], Column]

_MOST_ITEMS = 1 << 17
"""That are evaluated at a time, where several rows have them."""

_FEW_ITEMS = 64
"""So many of all rows that no batch of their own is worth it."""

_BUILDING = 2
"""Times what values take until those of several pieces are one column."""

_LEAST_ROWS = 32
"""That take a step of ``reduce`` together, in the mean: fewer are quicker one by one."""


@dataclass(frozen=True)
class Items:
    """The lists of an expression, and what it reads beside their items.

    ``variable``: each item's name. ``outer``: names of the other variables that are read for each item. ``pure``:
    whether the same item gives the same, where no other variable is read.
    """

    variable: str
    outer: Sequence[str]
    pure: bool
    source: _Evaluate
    runtime: Runtime

    def lists(self, batch: Batch) -> ListColumn | None:
        """Return the lists of a batch; None where they are none, of several kinds of items, or hardly any."""
        column = self.source(batch)
        if isinstance(column, ConstantColumn):
            if type(column.value) is not list or len(column) * len(column.value) < _FEW_ITEMS:
                return None
            column = column.expanded()
        if not isinstance(column, ListColumn) or int(column.lengths().sum()) < _FEW_ITEMS:
            return None
        return column

    def over_shared(self, over: Callable[[Batch, ListColumn], Column | None]) -> Callable[[Batch], Column | None]:
        """Return what asks ``over`` of a batch's lists: of each once, where what rows that share it get is the same."""

        def columnar(batch: Batch) -> Column | None:
            lists = self.lists(batch)
            if lists is None:
                return None
            shared = lists.shared() if self.pure and not self.outer else None
            if shared is None:
                return over(batch, lists)
            found = over(batch, shared[1])
            return None if found is None else found.take(shared[0])

        return columnar

    def pieces(self, batch: Batch, lists: ListColumn) -> Iterator[tuple[IntArray, Column]]:
        """Yield the row of each item, and the items, some at a time: those of several rows, or a part of one row's.

        They are as many as may be held, each with what its row has of the outer variables.
        """
        lengths, allowed = lists.lengths(), self.runtime.memory.batch_bytes
        width = lists.items.nbytes // max(1, len(lists.items)) + 1
        most = max(1, min(_MOST_ITEMS, allowed // width))
        held = np.full(len(lists), width, np.int64)
        for name in self.outer:
            widths = batch.columns[name].widths() if name in batch.columns else None
            held += 0 if widths is None else widths
        ends, sizes, begin = np.cumsum(lengths), np.cumsum(lengths * held), 0
        while begin < len(lists):
            before = (ends[begin - 1], sizes[begin - 1]) if begin else (0, 0)
            end = np.searchsorted(ends, before[0] + most, side="right")
            end = max(begin + 1, int(min(end, np.searchsorted(sizes, before[1] + allowed, side="right"))))
            rows = lists.slice(begin, end - begin)
            assert isinstance(rows, ListColumn)
            of_row, items = np.repeat(np.arange(begin, end), lengths[begin:end]), rows.flat()
            for offset in range(0, len(of_row), most):
                self.runtime.context.check()
                yield of_row[offset : offset + most], items.slice(offset, min(most, len(of_row) - offset))
            begin = end

    def named(self, batch: Batch, rows: IntArray, items: Column, more: dict[str, Column] | None = None) -> Batch:
        """Return a batch of items, each with what its row has of the outer variables, and ``more``."""
        columns = {name: _repeated(batch.columns[name], rows) for name in self.outer if not more or name not in more}
        return Batch(len(items), columns | (more or {}) | {self.variable: items})


def _repeated(column: Column, rows: IntArray) -> Column:
    """Return a column's values at rows that ascend; a text that all have isn't copied."""
    if len(rows) > 1 and rows[0] == rows[-1] and column.widths() is not None:
        return ConstantColumn(column.slice(int(rows[0]), 1).values()[0], len(rows))
    return column.take(rows)


def _evaluated(batch: Batch, evaluate: _Evaluate, runtime: Runtime, rows: int = 0, held: int = 0) -> Column:
    """Return an expression's column for items of ``rows`` rows, of which ``held`` bytes are there already."""
    parts = []
    for _, column in by_parts(batch, evaluate, runtime.memory):
        parts.append(column)
        held += column.nbytes
        if rows:
            runtime.memory.room(rows, _BUILDING * held)
    return concatenate(parts) if parts else null_column(0)


def listed(
    items: Items, condition: Callable[[Batch], BoolArray] | None, result: _Evaluate | None
) -> Callable[[Batch], Column | None]:
    """Return ``[variable IN source WHERE condition | result]``; null for a null source."""
    if condition is None and result is None:
        return items.lists

    def over(batch: Batch, lists: ListColumn) -> Column:
        lengths, found, size = np.zeros(len(lists), np.int64), [], 0
        for of_row, values in items.pieces(batch, lists):
            inner = items.named(batch, of_row, values)
            if condition is not None:
                kept = np.flatnonzero(condition(inner))
                of_row, inner = of_row[kept], inner.take(kept)
            lengths += np.bincount(of_row, minlength=len(lists))
            values = inner.columns[items.variable]
            if result is not None:
                values = _evaluated(inner, result, items.runtime, batch.length, size)
            found.append(values)
            size += values.nbytes
            items.runtime.memory.room(batch.length, _BUILDING * size)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        return ListColumn(offsets, concatenate(found) if found else null_column(0), lists.valid)

    return items.over_shared(over)


_DECIDING = {"all": False, "any": True, "none": True, "single": True}
"""The value of the condition that decides a quantifier."""


def quantified(quantifier: str, items: Items, condition: _Evaluate) -> Callable[[Batch], Column | None]:
    """Return ``quantifier(variable IN source WHERE condition)``; null for a null source.

    As of rows: null where a null condition leaves it open.
    """
    deciding = _DECIDING[quantifier]

    def over(batch: Batch, lists: ListColumn) -> Column | None:
        decided, unknown = np.zeros(len(lists), np.int64), np.zeros(len(lists), np.bool_)
        for of_row, values in items.pieces(batch, lists):
            held = _evaluated(items.named(batch, of_row, values), condition, items.runtime)
            told = _told(held, deciding)
            if told is None:
                return None
            decided += np.bincount(of_row[told], minlength=len(lists))
            unknown[of_row[held.is_null()]] = True
        most = 1 if quantifier == "single" else 0
        over_most = decided > most
        holds = (decided == 1) if most else ~over_most
        if quantifier == "any":
            holds = over_most
        return _truths(holds, unknown & ~over_most, lists)

    return items.over_shared(over)


def _truths(holds: BoolArray, null: BoolArray, lists: ListColumn) -> Column:
    """Return truth values of lists: null for a null list, too."""
    if lists.valid is not None:
        null |= ~lists.valid
    return boolean_column(holds, null if null.any() else None)


def _told(column: Column, value: bool) -> BoolArray | None:
    """Return where a condition has a value; None where it isn't a boolean."""
    a = operand(column)
    if a.kind == "null" or not len(column):
        return np.zeros(len(column), np.bool_)
    if a.kind != "boolean":
        return None
    if a.constant:
        return np.full(len(column), a.datum.as_py() is value)
    truths: BoolArray = a.datum.fill_null(not value).to_numpy(zero_copy_only=False)
    return truths if value else ~truths


def _alike(items: Items, batch: Batch) -> ListColumn | None:
    """Return the lists of rows, if so many are about as long as the longest that steps of all rows together pay."""
    lists = items.lists(batch)
    lengths = None if lists is None else lists.lengths()
    if lengths is None or int(lengths.max(initial=0)) * _LEAST_ROWS > int(lengths.sum()):
        return None
    return lists


def reduced(accumulator: str, initial: _Evaluate, items: Items, step: _Evaluate) -> Callable[[Batch], Column | None]:
    """Return ``reduce(accumulator = initial, variable IN source | step)``; null for a null source.

    The first items of all rows make a step together, then the second ones.
    """

    def columnar(batch: Batch) -> Column | None:
        lists = _alike(items, batch)
        if lists is None:
            return None
        lengths = lists.lengths()
        longest = int(lengths.max(initial=0))
        order = np.argsort(-lengths, kind="stable")  # so that rows that go on are the first ones
        going = np.searchsorted(-lengths[order], -np.arange(longest), side="left")
        so_far, done, held = initial(batch).take(order), [], 0
        for turn, rows in enumerate(going.tolist()):
            items.runtime.context.check()
            if rows < len(so_far):
                done.append(so_far.take(np.arange(rows, len(so_far))))  # a slice would hold the others, too
                held += done[-1].nbytes
            own = order[:rows]
            values = lists.items.take(lists.starts[own] + turn)
            inner = items.named(batch, own, values, {accumulator: so_far.slice(0, rows)})
            so_far = _evaluated(inner, step, items.runtime, batch.length, held)
        result = concatenate([so_far, *reversed(done)]).take(np.argsort(order))
        if lists.valid is None:
            return result
        places = np.where(lists.valid, np.arange(len(lists)), len(lists))
        return concatenate([result, null_column(1)]).take(places)

    return columnar


def all_reduced(
    accumulator: str, initial: _Evaluate, items: Items, step: _Evaluate, condition: _Evaluate
) -> Callable[[Batch], Column | None]:
    """Return ``allReduce(accumulator = initial, variable IN source | step, condition)``; null for a null source.

    The rows make a step together, and those for which the condition is false then make no further one.
    """

    def columnar(batch: Batch) -> Column | None:
        lists = _alike(items, batch)
        if lists is None:
            return None
        lengths = lists.lengths()
        fails, unknown = np.zeros(len(lists), np.bool_), np.zeros(len(lists), np.bool_)
        going = np.flatnonzero(lengths)
        so_far = initial(batch).take(going)
        for turn in range(int(lengths.max(initial=0))):
            items.runtime.context.check()
            values = lists.items.take(lists.starts[going] + turn)
            inner = items.named(batch, going, values, {accumulator: so_far})
            so_far = _evaluated(inner, step, items.runtime)
            found = _evaluated(items.named(batch, going, values, {accumulator: so_far}), condition, items.runtime)
            failed = _told(found, value=False)
            if failed is None:
                return None
            fails[going[failed]] = True
            unknown[going[found.is_null()]] = True
            kept = np.flatnonzero(~failed & (lengths[going] > turn + 1))
            going, so_far = going[kept], so_far.take(kept)
            if not len(going):
                break
        return _truths(~fails, unknown & ~fails, lists)

    return columnar
