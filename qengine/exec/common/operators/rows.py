"""Stages that look at one batch at a time: the leaves, ``Filter``, ``Project``, ``Unwind``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from qengine.errors import ExecutionError
from qengine.exec.common.batch import BATCH_ROWS, Batch
from qengine.exec.common.batch_parts import by_parts, pieces, repeated_pieces
from qengine.exec.common.columns import (
    Column,
    ConstantColumn,
    IntArray,
    ListColumn,
    ObjectColumn,
    from_many,
    from_values,
    integer_column,
)
from qengine.exec.common.expressions.compiler import compile_expression, compile_predicate
from qengine.exec.common.map_column import maps_of
from qengine.exec.common.operators.stage import ROW, Build, Stage
from qengine.exec.common.runtime import Runtime
from qengine.exec.memory import Holding, MemoryAccount
from qengine.exec.scalar.lists import count_of, range_of
from qengine.exec.sizes import size_of
from qengine.plan import logical
from qengine.plan.expr import Call, Variable

_MOST_ROWS = 2**63 - 1


def unwind_range_stage(operator: logical.Unwind, build: Build, first: int) -> Stage:
    """Emit each input row once for each number of its range; none where a bound is null."""
    call = operator.expr
    assert isinstance(call, Call)
    upstream = build(operator.input, first)
    bounds = [compile_expression(arg, build.runtime) for arg in call.args]

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            starts, steps, ends = _ranges([evaluate(batch).values() for evaluate in bounds], call)
            begins = np.concatenate(([0], ends[:-1]))
            for offset, length in pieces(int(ends[-1]), first):
                places = np.arange(offset, offset + length, dtype=np.int64)
                rows: IntArray = np.searchsorted(ends, places, side="right")
                # The number fits 64 bits, and what overflows on the way comes back.
                numbers = starts[rows] + steps[rows] * (places - begins[rows])
                for begin, count in repeated_pieces(batch, rows, build.runtime.memory):
                    some = slice(begin, begin + count)
                    yield batch.take(rows[some]).with_columns({operator.name: integer_column(numbers[some])})

    return run


def _ranges(bounds: list[list[object]], call: Call) -> tuple[IntArray, IntArray, IntArray]:
    """Return the first number and the step of each row's range, and how many numbers there are up to its end."""
    starts, steps, ends = [], [], []
    total = 0
    for row in zip(*bounds, strict=True):
        try:
            numbers = range(0) if None in row else range_of(*row)
        except ExecutionError as error:
            error.span = error.span or call.span
            raise
        total = min(total + count_of(numbers), _MOST_ROWS)
        starts.append(numbers.start)
        steps.append(numbers.step)
        ends.append(total)
    return np.array(starts, np.int64), np.array(steps, np.int64), np.array(ends, np.int64)


_FILTER_SHARE = 8  # rows that a filter asks for, for each one that is wanted of it


def unit_stage(operator: logical.Unit, build: Build, first: int) -> Stage:
    """Emit one row without columns (for each outer row)."""
    return lambda outer: iter([_restricted(outer, ())])


def argument_stage(operator: logical.Argument, build: Build, first: int) -> Stage:
    """Emit the outer rows, restricted to the operator's columns."""
    return lambda outer: iter([_restricted(outer, operator.columns)])


def _restricted(outer: Batch, names: tuple[str, ...]) -> Batch:
    return outer.select((*names, ROW) if ROW in outer.columns else names)


def filter_stage(operator: logical.Filter, build: Build, first: int) -> Stage:
    """Emit the input rows for which the predicate is true."""
    return filtered_stage(operator, build(operator.input, min(BATCH_ROWS, first * _FILTER_SHARE)), build.runtime)


def filtered_stage(operator: logical.Filter, upstream: Stage, runtime: Runtime) -> Stage:
    """Emit the rows of a stage for which the predicate of a ``Filter`` is true."""
    holds = compile_predicate(operator.predicate, runtime)

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            runtime.context.check()  # nobody else does while none is kept
            kept = np.flatnonzero(holds(batch))
            if len(kept) == batch.length:
                yield batch
            elif len(kept):
                yield batch.take(kept)

    return run


def project_stage(operator: logical.Project, build: Build, first: int) -> Stage:
    """Emit the named expressions for each input row."""
    return projected_stage(operator, build(operator.input, first), build.runtime)


def projected_stage(operator: logical.Project, upstream: Stage, runtime: Runtime) -> Stage:
    """Emit the expressions of a ``Project`` for each row of a stage."""
    items = [(name, compile_expression(expr, runtime)) for name, expr in operator.items]
    grown = [name for name, expr in operator.items if not isinstance(expr, Variable)]
    memory = runtime.memory

    def projected(batch: Batch) -> Batch:
        columns = {name: evaluate(batch) for name, evaluate in items}
        if ROW in batch.columns:
            columns[ROW] = batch.columns[ROW]
        return Batch(batch.length, columns)

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            for _, found in by_parts(batch, projected, memory):
                if memory.limit is None:
                    yield found
                    continue
                with memory.holding("Project") as holding:
                    holding.set(sum(found.columns[name].nbytes for name in grown))
                    yield found

    return run


def unwind_stage(operator: logical.Unwind, build: Build, first: int) -> Stage:
    """Emit each input row once for each item of its list, cut so that a long list makes many batches."""
    if isinstance(operator.expr, Call) and operator.expr.name == "range":
        return unwind_range_stage(operator, build, first)
    memory = build.runtime.memory
    upstream = build(operator.input, first)
    evaluate = compile_expression(operator.expr, build.runtime)

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            for part, column in by_parts(batch, evaluate, memory):
                with memory.holding("Unwind") as holding:
                    if memory.limit is not None:
                        holding.set(column.nbytes)
                    yield from unwound(part, column, holding)

    def unwound(batch: Batch, column: Column, holding: Holding) -> Iterator[Batch]:
        lists = _lists(column, operator, holding, memory)
        lengths = lists.lengths()
        ends = np.cumsum(lengths)
        # The k-th row of all comes from the item that is as far behind its list's start as k is behind ends[i - 1].
        shifts = lists.starts - (ends - lengths)
        for offset, length in pieces(int(ends[-1]), first):
            places = np.arange(offset, offset + length, dtype=np.int64)
            rows: IntArray = np.searchsorted(ends, places, side="right")
            places += shifts[rows]
            given = Batch(len(lists.items), {operator.name: lists.items})
            for begin, count in repeated_pieces(batch, rows, memory):
                chosen = slice(begin, begin + count)
                for at, number in repeated_pieces(given, places[chosen], memory):
                    few = slice(begin + at, begin + at + number)
                    items = _densest(_at(lists.items, places[few]))
                    yield batch.take(rows[few]).with_columns({operator.name: items})

    return run


def _at(items: Column, places: IntArray) -> Column:
    """Return the items at places, most often one behind the other."""
    if (np.diff(places) == 1).all():
        return items.slice(int(places[0]), len(places))
    return items.take(places)


def _densest(items: Column) -> Column:
    """Return items that are Python objects as a column of the densest kind."""
    if not isinstance(items, ObjectColumn):
        return items
    return maps_of(items.objects) or from_values(items.objects)


def _lists(column: Column, operator: logical.Unwind, holding: Holding, memory: MemoryAccount) -> ListColumn:
    """Return a column of lists: null as the empty list, another value as a list of itself.

    Many or large items stay Python objects.
    """
    if isinstance(column, ListColumn):
        return column
    if isinstance(column, ConstantColumn) and type(column.value) is list:
        every = np.zeros(len(column), dtype=np.int64)
        return ListColumn(every, _items(column.value, memory)).over(every, every + len(column.value), None)
    values = column.values()
    offsets = np.zeros(len(values) + 1, dtype=np.int64)
    items_of_all: list[object] = []
    for row, value in enumerate(values):
        if type(value) is list:
            holding.add(8 * len(value))
            items_of_all += value
        elif value is not None:
            items_of_all.append(value)
        offsets[row + 1] = len(items_of_all)
    return ListColumn(offsets, _items(items_of_all, memory))


def _items(items: list[Any], memory: MemoryAccount) -> Column:
    """Return items as a column, which is a copy unless they are many or large."""
    if memory.limit is None or (len(items) <= BATCH_ROWS and size_of(items) <= memory.batch_bytes):
        return from_many(items, memory.check)
    return ObjectColumn(items)
