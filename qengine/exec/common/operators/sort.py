"""``Sort``: the whole input in order, or with a limit only as many rows as are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from qengine.exec.common.batch import BATCH_ROWS, Batch, concatenate_batches
from qengine.exec.common.batch_parts import by_parts, fitting, pieces, working_bytes
from qengine.exec.common.columns import Column, IntArray
from qengine.exec.common.expressions.compiler import compile_expression
from qengine.exec.common.operators.diverted_first_rows import diverted_first_rows
from qengine.exec.common.operators.first_on_device import first_on_device
from qengine.exec.common.operators.first_rows import FirstRows
from qengine.exec.common.operators.limit import count_of, limited, places_within_rows
from qengine.exec.common.operators.rows import projected_stage
from qengine.exec.common.operators.stage import Build, Stage, rows_of
from qengine.exec.common.ordering import sort_keys, sorted_rows
from qengine.exec.common.runtime import Runtime
from qengine.exec.memory import Holding
from qengine.exec.spill.merge import SortedRuns
from qengine.plan import logical
from qengine.plan.expr import Expr, Variable
from qengine.plan.fallible import can_fail
from qengine.plan.traverse import bound_names, free_variables, is_repeatable, preorder, substitute

_HIDDEN = "#key"
_FEW_ROWS = 1024  # beyond those that are wanted, before they are ordered again


def sort_stage(operator: logical.Sort, build: Build, first: int) -> Stage:
    """Emit the input rows in order. Holds all of them, with a limit at most a few times as many as it says; what the
    memory limit leaves no room for is spilled as sorted runs, and merged.
    """
    runtime = build.runtime
    limit = None if operator.limit is None else count_of(operator.limit, "LIMIT", runtime)
    firsts = _first_rows(operator, limit, build)
    upstream = build(operator.input) if firsts is None else _sieved(operator, firsts, build)
    sorting = _Sorting(operator, limit, runtime)

    def run(outer: Batch) -> Iterator[Batch]:
        if limit == 0:
            return
        held: list[Batch] = []
        runs = sorting.runs()
        rows, last, last_bytes, working = 0, 0, 0, 0
        with runtime.memory.holding("Sort") as holding:
            for batch in sorting.keyed(fitting(upstream(outer), holding)):
                runtime.context.check()
                if held and holding.bytes + batch.nbytes + working + sorting.working(batch) > holding.share():
                    runs.add(sorting.ordered_aside(held, holding, rows), holding)
                    rows = last = last_bytes = working = 0
                held.append(batch)
                rows += batch.length
                working += sorting.working(batch)
                holding.add(batch.nbytes)
                wide = len(held) > 1 and holding.bytes > 2 * (last_bytes + runtime.memory.batch_bytes)
                if limit is not None and (wide or _many(rows, last, limit, firsts)):
                    held = [sorting.ordered_aside(held, holding, rows)]
                    rows = last = held[0].length
                    last_bytes, working = held[0].nbytes, sorting.working(held[0])
                    if firsts is not None and last == limit and rows_of(held[0]) is None:
                        firsts.tighten(sorting.keys_of(held[0].slice(last - 1, 1)))
                    holding.set(last_bytes)
            if not held:
                return
            whole = sorting.ordered_aside(held, holding, rows)
            holding.set(whole.nbytes)
            if not runs:
                yield from sorting.emitted(iter((whole,)))
                return
            runs.add(whole, holding)
            del whole
            ordered = sorting.emitted(runs.merged(holding))
            yield from ordered if limit is None else limited(ordered, limit, outer.length)

    return run


class _Sorting:
    """The order of a ``Sort``, by keys that its batches carry as columns: their own, or hidden ones."""

    def __init__(self, operator: logical.Sort, limit: int | None, runtime: Runtime) -> None:
        self._operator = operator
        self._limit = limit
        self._runtime = runtime
        self._evaluate = [compile_expression(key.expr, runtime) for key in operator.keys]
        self._names = [
            key.expr.name if isinstance(key.expr, Variable) else f"{_HIDDEN}{place}"
            for place, key in enumerate(operator.keys)
        ]

    def keyed(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the rows of batches with their keys."""
        for batch in batches:
            for part, keys in by_parts(batch, self._keys, self._runtime.memory):
                yield part.with_columns(dict(zip(self._names, keys, strict=True)))

    def _keys(self, batch: Batch) -> list[Column]:
        return [evaluate(batch) for evaluate in self._evaluate]

    def keys_of(self, batch: Batch) -> list[Column]:
        """Return the keys, the most significant first."""
        return [batch.columns[name] for name in self._names]

    def working(self, batch: Batch) -> int:
        """Return what it takes for a while to order these rows among others."""
        return batch.nbytes + working_bytes(batch.columns.values()) if self._runtime.memory.limit is not None else 0

    def _order(self, batch: Batch, limit: int | None = None) -> IntArray:
        ascending = [key.ascending for key in self._operator.keys]
        arrays = sort_keys(list(zip(self.keys_of(batch), ascending, strict=True)))
        return sorted_rows(arrays, batch.length, limit)

    def _ordered(self, batch: Batch) -> Batch:
        rows = rows_of(batch)
        if rows is None or self._limit is None:
            return batch.take(self._order(batch, self._limit))
        order = self._order(batch)
        seen = np.zeros(int(rows.max()) + 1, dtype=np.int64)
        return batch.take(order[places_within_rows(rows[order], seen) < self._limit])

    def ordered_aside(self, held: list[Batch], holding: Holding, rows: int) -> Batch:
        """Return the rows of some batches in order, those beyond the limit left out; the list is empty afterwards."""
        holding.also(sum(map(self.working, held)))

        def compute() -> Batch:
            whole = concatenate_batches(held)
            held.clear()
            return self._ordered(whole)

        return self._runtime.context.aside(compute, rows)

    def runs(self) -> SortedRuns:
        """Return a place on disk for rows in order."""
        return SortedRuns(self._names, self._order, self._runtime.context, self._operator)

    def emitted(self, ordered: Iterator[Batch]) -> Iterator[Batch]:
        """Yield rows in order, without hidden keys."""
        hidden = {name for name in self._names if name.startswith(_HIDDEN)}
        for batch in ordered:
            shown = batch.select(name for name in batch.columns if name not in hidden)
            for offset, length in pieces(batch.length, BATCH_ROWS):
                yield shown.slice(offset, length)


def _many(rows: int, last: int, limit: int, firsts: FirstRows | None) -> bool:
    """Tell whether so many rows are to be ordered, and but the first kept, of which ``last`` are already."""
    if firsts is None:
        return rows > 2 * last + BATCH_ROWS
    return rows > 2 * last + _FEW_ROWS if last else rows >= limit


def _first_rows(operator: logical.Sort, limit: int | None, build: Build) -> FirstRows | None:
    """Return what leaves out rows below the sort, or its projection; None where each must be looked at."""
    if not limit or not operator.keys or any(can_fail(key.expr) for key in operator.keys):
        return None
    found = _keys_below(operator)
    exprs = [key.expr for key in operator.keys] if found is None else found
    keys = [(expr, key.ascending) for expr, key in zip(exprs, operator.keys, strict=True)]
    compiled = [(compile_expression(expr, build.runtime), ascending, free_variables(expr)) for expr, ascending in keys]
    below = operator.input
    rows = below.input if found is not None and isinstance(below, logical.Project) else below
    sooner = first_on_device(rows, keys, limit, build) or diverted_first_rows(rows, keys, limit, build)
    return FirstRows(compiled, limit, build.runtime.context, sooner)


def _keys_below(operator: logical.Sort) -> list[Expr] | None:
    """Return the keys by columns below a projection, where rows may be left out before it; None where they may not."""
    below = operator.input
    if not isinstance(below, logical.Project):
        return None
    if any(bound_names(part) for key in operator.keys for part in preorder(key.expr)):
        return None
    items = dict(below.items)
    if not all(is_repeatable(each) and not can_fail(each) for each in items.values()):
        return None
    if not all(free_variables(key.expr) <= items.keys() for key in operator.keys):
        return None
    return [substitute(key.expr, lambda part: _item(part, items)) for key in operator.keys]


def _item(part: Expr, items: Mapping[str, Expr]) -> Expr | None:
    return items[part.name] if isinstance(part, Variable) else None


def _sieved(operator: logical.Sort, firsts: FirstRows, build: Build) -> Stage:
    """Return the stage below a sort, of the rows that can be among the first."""
    below = operator.input
    if _keys_below(operator) is None:
        return firsts.stage(below, build)
    assert isinstance(below, logical.Project)
    return build.measured(below, projected_stage(below, firsts.stage(below.input, build), build.runtime))
