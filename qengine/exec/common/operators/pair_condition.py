"""A condition on pairs of rows: what it reads of one side alone is evaluated once for each of that side's rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from qengine.errors import ExecutionError
from qengine.exec.common.batch import Batch
from qengine.exec.common.batch_parts import repeated_pieces
from qengine.exec.common.columns import BoolArray, Column, IntArray
from qengine.exec.common.expressions.compiler import compile_expression, compile_predicate
from qengine.exec.common.grouping import Groups, group_rows
from qengine.exec.common.operators.apply import is_exact
from qengine.exec.common.runtime import Runtime
from qengine.exec.memory import Oversized
from qengine.plan.expr import Expr, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.traverse import children, conjunction, conjuncts, free_variables, substitute

_ALIKE = 2  # times as many rows as are different to the condition: these alone are asked

_Holds = Callable[[Batch], BoolArray]


class PairCondition:
    """A condition on rows of two sides, without subqueries, that gives the same whenever it is evaluated."""

    def __init__(self, condition: Expr, runtime: Runtime) -> None:
        staged: tuple[list[Expr], list[Expr]] = ([], [])
        for part in conjuncts(condition):
            staged[condition_can_fail(part)].append(part)
        self._stages = [conjunction(tuple(each)) for each in staged if each]
        self._runtime = runtime
        self._parts: dict[tuple[str, ...], dict[str, tuple[Expr, Callable[[Batch], Column]]]] = {}
        self._compiled: dict[frozenset[str], list[_Holds]] = {}

    def side(self, batch: Batch) -> Batch:
        """Return what is read of a side's rows: values of parts of the condition, or what these are made of."""
        columns: dict[str, Column] = {}
        for name, (expr, evaluate) in self._parts_of(batch).items():
            column = None
            if self._runtime.memory.limit is None and not isinstance(expr, Variable):
                column = self._evaluated(evaluate, batch)
            if column is not None:
                columns[name] = column
            else:
                columns |= {each: batch.columns[each] for each in free_variables(expr)}
        return Batch(batch.length, columns)

    def alike(self, batch: Batch) -> Groups | None:
        """Return groups of rows that are the same to the condition; None where they are hardly fewer than rows."""
        columns: list[Column] = []
        for _, evaluate in self._parts_of(batch).values():
            column = self._evaluated(evaluate, batch)
            if column is None or not is_exact(column):
                return None
            columns.append(column)
        groups = group_rows(columns, batch.length)
        return groups if _ALIKE * groups.count <= batch.length else None

    def holds(self, one: Batch, here: IntArray, other: Batch, there: IntArray) -> BoolArray:
        """Return for which pairs the condition is true: rows of two sides, as ``side`` gives them."""
        stages = self._stages_over(frozenset((*one.columns, *other.columns)))
        memory, true = self._runtime.memory, np.zeros(len(here), np.bool_)
        for begin, count in repeated_pieces(one, here, memory):
            for at, number in repeated_pieces(other, there[begin : begin + count], memory):
                few = slice(begin + at, begin + at + number)
                pairs = Batch(number, one.take(here[few]).columns | other.take(there[few]).columns)
                true[few] = _all_hold(stages, pairs)
        return true

    def _parts_of(self, batch: Batch) -> dict[str, tuple[Expr, Callable[[Batch], Column]]]:
        """Return the largest parts of the condition that read these rows alone, by the names of their values."""
        names = tuple(batch.columns)
        if names not in self._parts:
            exprs = {id(each): each for stage in self._stages for each in _over(stage, names)}
            self._parts[names] = {
                f"#{number}": (expr, compile_expression(expr, self._runtime)) for number, expr in exprs.items()
            }
        return self._parts[names]

    def _evaluated(self, evaluate: Callable[[Batch], Column], batch: Batch) -> Column | None:
        """Return the values of a part; None where one can't be computed, or they take too much."""
        memory = self._runtime.memory
        mark = memory.charged
        try:
            return evaluate(batch)
        except (ExecutionError, Oversized):
            return None
        finally:
            memory.charged = mark

    def _stages_over(self, names: frozenset[str]) -> list[_Holds]:
        """Return the condition over these columns: what can't fail, and what can."""
        if names not in self._compiled:

            def given(expr: Expr) -> Expr | None:
                name = f"#{id(expr)}"
                return Variable(name, type=expr.type, span=expr.span) if name in names else None

            self._compiled[names] = [compile_predicate(substitute(each, given), self._runtime) for each in self._stages]
        return self._compiled[names]


def _all_hold(stages: Sequence[_Holds], pairs: Batch) -> BoolArray:
    """Return where all conditions are true; those that come later are asked where the others are."""
    true = stages[0](pairs)
    for holds in stages[1:]:
        kept = np.flatnonzero(true)
        if len(kept):
            true = true.copy()
            true[kept] = holds(pairs.take(kept))
    return true


def _over(condition: Expr, names: Collection[str]) -> Iterator[Expr]:
    """Yield the largest parts of a condition that read these columns alone."""
    reads = free_variables(condition)
    if reads and reads <= set(names):
        yield condition
    elif not reads.isdisjoint(names):
        for child in children(condition):
            yield from _over(child, names)
