"""Stages that look at one batch at a time: the leaves, ``Filter``, ``Project``, ``Unwind``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from qengine.exec.cpu.batch import BATCH_ROWS, Batch
from qengine.exec.cpu.columns import Column, ConstantColumn, IntArray, ListColumn, from_many
from qengine.exec.cpu.expressions.compiler import compile_expression, compile_predicate
from qengine.exec.cpu.operators.stage import ROW, Build, Stage, pieces
from qengine.exec.cpu.operators.unwind_range import unwind_range_stage
from qengine.exec.scalar.values import wrong_argument
from qengine.plan import logical
from qengine.plan.expr import Call, Variable

__all__ = ["argument_stage", "filter_stage", "project_stage", "unit_stage", "unwind_stage"]

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
    upstream = build(operator.input, min(BATCH_ROWS, first * _FILTER_SHARE))
    holds = compile_predicate(operator.predicate, build.runtime)

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            kept = np.flatnonzero(holds(batch))
            if len(kept) == batch.length:
                yield batch
            elif len(kept):
                yield batch.take(kept)

    return run


def project_stage(operator: logical.Project, build: Build, first: int) -> Stage:
    """Emit the named expressions for each input row."""
    upstream = build(operator.input, first)
    items = [(name, compile_expression(expr, build.runtime)) for name, expr in operator.items]
    grown = [name for name, expr in operator.items if not isinstance(expr, Variable)]
    memory = build.runtime.memory

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            columns = {name: evaluate(batch) for name, evaluate in items}
            if memory.limit is not None:  # a batch has few rows, but they may hold any text
                with memory.holding("Project") as holding:
                    holding.set(sum(columns[name].nbytes for name in grown))
            if ROW in batch.columns:
                columns[ROW] = batch.columns[ROW]
            yield Batch(batch.length, columns)

    return run


def unwind_stage(operator: logical.Unwind, build: Build, first: int) -> Stage:
    """Emit each input row once for each item of its list, cut so that a long list makes many batches."""
    if isinstance(operator.expr, Call) and operator.expr.name == "range":
        return unwind_range_stage(operator, build, first)
    upstream = build(operator.input, first)
    evaluate = compile_expression(operator.expr, build.runtime)

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            lists = _lists(evaluate(batch), operator, build.runtime.context.check)
            lengths = lists.lengths()
            ends = np.cumsum(lengths)
            # The k-th row of all comes from the item that is as far behind its list's start as k is behind ends[i - 1].
            shifts = lists.starts - (ends - lengths)
            for offset, length in pieces(int(ends[-1]), first):
                places = np.arange(offset, offset + length, dtype=np.int64)
                rows: IntArray = np.searchsorted(ends, places, side="right")
                items = lists.items.take(places + shifts[rows])
                yield batch.take(rows).with_columns({operator.name: items})

    return run


def _lists(column: Column, operator: logical.Unwind, check: Callable[[], None]) -> ListColumn:
    """Return a column of lists with null as the empty list."""
    if isinstance(column, ListColumn):
        return column
    if isinstance(column, ConstantColumn) and type(column.value) is list:
        every = np.zeros(len(column), dtype=np.int64)
        items = from_many(column.value, check)
        return ListColumn(every, items).over(every, every + len(items), None)
    values = column.values()
    offsets = np.zeros(len(values) + 1, dtype=np.int64)
    items_of_all: list[object] = []
    for row, value in enumerate(values):
        if type(value) is list:
            items_of_all += value
        elif value is not None:
            error = wrong_argument("UNWIND", "a list", value)
            error.span = operator.expr.span
            raise error
        offsets[row + 1] = len(items_of_all)
    return ListColumn(offsets, from_many(items_of_all, check))
