"""``Sort``: the whole input in order, or with a limit only as many rows as are asked for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qengine.exec.common.batch import BATCH_ROWS, Batch, concatenate_batches
from qengine.exec.common.batch_parts import evaluated, pieces, working_bytes
from qengine.exec.common.columns import IntArray
from qengine.exec.common.expressions.compiler import compile_expression
from qengine.exec.common.operators.first_rows import FirstRows
from qengine.exec.common.operators.limit import count_of, places_within_rows
from qengine.exec.common.operators.rows import projected_stage
from qengine.exec.common.operators.stage import Build, Stage, rows_of
from qengine.exec.common.ordering import sort_keys, sorted_rows
from qengine.exec.common.runtime import Runtime
from qengine.exec.memory import Holding
from qengine.plan import logical
from qengine.plan.expr import Expr, Variable
from qengine.plan.fallible import can_fail
from qengine.plan.traverse import is_repeatable

__all__ = ["sort_stage"]

_FEW_ROWS = 1024  # beyond those that are wanted, before they are ordered again


def sort_stage(operator: logical.Sort, build: Build, first: int) -> Stage:
    """Emit the input rows in order. Holds all of them; with a limit at most a few times as many as it says."""
    runtime = build.runtime
    memory = runtime.memory
    keys = [(compile_expression(key.expr, runtime), key.ascending) for key in operator.keys]
    limit = None if operator.limit is None else count_of(operator.limit, "LIMIT", runtime)
    firsts = _first_rows(operator, limit, runtime)
    upstream = build(operator.input) if firsts is None else _sieved(operator, firsts, build)

    def ordered(batch: Batch, holding: Holding) -> Batch:
        columns = [evaluated(batch, evaluate, memory, holding) for evaluate, _ in keys]
        if memory.limit is not None:
            holding.also(working_bytes({id(column): column for column in (*columns, *batch.columns.values())}.values()))
        arrays = sort_keys(list(zip(columns, (ascending for _, ascending in keys), strict=True)))
        rows = rows_of(batch)
        if rows is None or limit is None:
            return batch.take(sorted_rows(arrays, batch.length, limit))
        order: IntArray = sorted_rows(arrays, batch.length)
        seen = np.zeros(int(rows.max()) + 1, dtype=np.int64)
        return batch.take(order[places_within_rows(rows[order], seen) < limit])

    def ordered_aside(held: list[Batch], holding: Holding, rows: int) -> Batch:
        """Return the rows of some batches in order; the list is empty afterwards."""
        holding.also(holding.bytes)  # the rows in one piece

        def compute() -> Batch:
            whole = concatenate_batches(held)
            held.clear()
            return ordered(whole, holding)

        return runtime.context.aside(compute, rows)

    def run(outer: Batch) -> Iterator[Batch]:
        if limit == 0:
            return
        held: list[Batch] = []
        rows, last, last_bytes = 0, 0, 0
        with memory.holding("Sort") as holding:
            for batch in upstream(outer):
                runtime.context.check()
                held.append(batch)
                rows += batch.length
                holding.add(batch.nbytes)
                wide = len(held) > 1 and holding.bytes > 2 * (last_bytes + memory.batch_bytes)
                if limit is not None and (wide or _many(rows, last, limit, firsts)):
                    held = [ordered_aside(held, holding, rows)]
                    rows = last = held[0].length
                    last_bytes = held[0].nbytes
                    if firsts is not None and last == limit and rows_of(held[0]) is None:
                        row = held[0].slice(last - 1, 1)
                        firsts.tighten([evaluate(row) for evaluate, _ in keys])
                    holding.set(last_bytes)
            if not held:
                return
            whole = ordered_aside(held, holding, rows)
            holding.set(whole.nbytes)
            for offset, length in pieces(whole.length, BATCH_ROWS):
                yield whole.slice(offset, length)

    return run


def _many(rows: int, last: int, limit: int, firsts: FirstRows | None) -> bool:
    """Tell whether so many rows are to be ordered, and but the first kept, of which ``last`` are already."""
    if firsts is None:
        return rows > 2 * last + BATCH_ROWS
    return rows > 2 * last + _FEW_ROWS if last else rows >= limit


def _first_rows(operator: logical.Sort, limit: int | None, runtime: Runtime) -> FirstRows | None:
    """Return what leaves out rows below the sort, or its projection; None where each must be looked at."""
    if not limit or not operator.keys or any(can_fail(key.expr) for key in operator.keys):
        return None
    items = _harmless_items(operator)
    exprs = (items[key.expr.name] if isinstance(key.expr, Variable) and items else key.expr for key in operator.keys)
    keys = [(compile_expression(expr, runtime), key.ascending) for expr, key in zip(exprs, operator.keys, strict=True)]
    return FirstRows(keys, limit, runtime.memory)


def _harmless_items(operator: logical.Sort) -> dict[str, Expr]:
    """Return the items of a projection below, where all keys are some and rows may be left out before it; else none."""
    below = operator.input
    if not isinstance(below, logical.Project):
        return {}
    items = dict(below.items)
    whole = all(isinstance(key.expr, Variable) and key.expr.name in items for key in operator.keys)
    return items if whole and all(is_repeatable(each) and not can_fail(each) for each in items.values()) else {}


def _sieved(operator: logical.Sort, firsts: FirstRows, build: Build) -> Stage:
    """Return the stage below a sort, of the rows that can be among the first."""
    below = operator.input
    if not _harmless_items(operator):
        upstream = build(below)
        return lambda outer: firsts.of(upstream(outer))
    assert isinstance(below, logical.Project)
    upstream = build(below.input)
    return build.measured(below, projected_stage(below, lambda outer: firsts.of(upstream(outer)), build.runtime))
