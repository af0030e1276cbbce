"""The bodies of ``FOREACH`` and ``CALL { … }`` for many rows at once: each part for all of them before the next.

That is done where it means the same (``effects``). Whatever fails on the way is taken back and goes row by row, where
errors come at their places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from qengine.errors import QengineError, ResourceError
from qengine.exec.scalar.environment import Environment
from qengine.exec.scalar.evaluate import compile
from qengine.plan import logical as op
from qengine.plan import updates as up
from qengine.plan.expr import Expr, Variable
from qengine.plan.traverse import free_variables
from qengine.storage.arrays import Array
from qengine.write import effects
from qengine.write.batch_steps import BatchSteps, Held
from qengine.write.column_values import Unbatched
from qengine.write.overlay import Overlay
from qengine.write.table import Column, Plain, Rows, Table, column_of

__all__ = ["Bodies", "Body"]

Given: TypeAlias = Rows | Table
Body = Callable[[Table], Table]
_Compile = Callable[[Iterable[up.Step]], Callable[[Given], Given]]
_Part: TypeAlias = op.Operator | up.Step
_ROW = " row"  # a column: of which row of the table a row is
_VALUES = frozenset((bool, int, float, str, type(None)))


class Bodies:
    """Compiles bodies.

    Parameters
    ----------
    overlay, environment
        What is changed, and what expressions read of it.
    batches
        What finds nodes by keys, and has values.
    held
        Raises where the execution must stop, or holds too much.
    """

    def __init__(self, overlay: Overlay, environment: Environment, batches: BatchSteps, held: Held) -> None:
        self._overlay, self._env, self._batches, self._held = overlay, environment, batches, held

    def for_each(self, step: up.ForEach, steps: Callable[[Given], Given]) -> Body:
        """Return what carries out a ``FOREACH`` for a table, and gives the table; ``steps``: what is inside."""

        def run(table: Table) -> Table:
            ahead = self._batches.ahead.get(id(step.items))
            if ahead is not None and ahead.name in table.columns:
                lists = table.values(ahead.name)
            else:
                lists = self._evaluated(step.items, table)
            expanded = self._expanded(table, lists, step.name)
            if len(expanded):
                steps(expanded)
            return table

        return self._attempted((step.items, *step.steps), run)

    def called(self, step: up.CallSubquery, steps: _Compile) -> Body | None:
        """Return what runs the plan of a ``CALL`` for a table, and gives its rows; None where it has other parts.

        ``steps``: compiles those of updates.
        """
        runs: list[Body] = []
        parts: list[_Part] = []
        plan: op.Operator = step.plan
        while not isinstance(plan, op.Argument):
            run = None if step.optional or _renames(plan, step.outer) else self._operator(plan, steps)
            if run is None:
                return None
            runs.insert(0, run)
            parts[:0] = plan.steps if isinstance(plan, up.Update) else (plan,)
            plan = plan.input  # type: ignore[attr-defined]

        def whole(table: Table) -> Table:
            inside = Table(len(table), {name: table.columns[name] for name in step.outer})
            inside = inside.with_column(_ROW, list(range(len(table))))
            for each in runs:
                if len(inside):
                    inside = each(inside)
            if step.unit:
                return table
            if not len(inside):
                return Table(0, {})
            found = table.take(np.array(inside.values(_ROW), np.int64))
            for name in step.columns:
                found = found.with_column(name, inside.columns[name])
            return found

        return self._attempted(parts, whole)

    def _attempted(self, parts: Sequence[_Part | Expr], run: Body) -> Body:
        """Return what runs a body, if its parts are apart, and takes back what it has done where that fails."""

        def attempt(table: Table) -> Table:
            plain = frozenset(name for name, column in table.columns.items() if _is_plain(column))
            given = effects.Given(plain, partial(self._keys, table))
            if not effects.are_apart([effects.effects_of(each, given) for each in parts]):
                raise Unbatched
            overlay = self._overlay
            mark, changes = overlay.mark(), replace(overlay.changes)
            try:
                return run(table)
            except ResourceError:
                raise
            except (QengineError, Unbatched):
                overlay.take_back(mark)
                overlay.changes = changes
                raise Unbatched from None

        return attempt

    def _keys(self, table: Table, expr: Expr) -> frozenset[str] | None:
        """Return the keys of the maps that an expression gives, None where it can't be told before."""
        if not free_variables(expr) <= table.columns.keys():
            return None
        try:
            return frozenset(self._batches.values.maps(self._batches.values.of(expr, table)))
        except Unbatched:
            return None

    # ------------------------------------------------------------ operators

    def _operator(self, plan: op.Operator, steps: _Compile) -> Body | None:
        """Return what carries out an operator, given the rows of its input; None for others."""
        match plan:
            case up.Update():
                return _as_tables(steps(plan.steps))
            case op.Match():
                return self._batches.match(plan)
            case op.Unwind(expr=expr, name=name):
                return lambda table: self._expanded(table, self._evaluated(expr, table), name)
            case op.Filter(predicate=predicate):
                return lambda table: table.take(_places_of_true(self._evaluated(predicate, table)))
            case op.Project(items=items):
                return lambda table: self._projected(items, table)
        return None

    def _projected(self, items: Iterable[tuple[str, Expr]], table: Table) -> Table:
        columns: dict[str, Column] = {_ROW: table.columns[_ROW]}
        for name, expr in items:
            if isinstance(expr, Variable):
                columns[name] = table.columns[expr.name]
            else:
                columns[name] = column_of(self._evaluated(expr, table))
        return Table(len(table), columns)

    def _evaluated(self, expr: Expr, table: Table) -> list[Any]:
        with suppress(Unbatched):
            return self._batches.values.of(expr, table)
        evaluate, found = compile(expr, self._env), []
        for row in table.rows():
            self._held.check()
            found.append(evaluate(row))
        return found

    def _expanded(self, table: Table, lists: Iterable[Any], name: str) -> Table:
        """Return each row once for each item of its list, as a column; none for null."""
        given = [() if each is None else each for each in lists]
        if not {list, tuple}.issuperset(map(type, given)):
            raise Unbatched
        counts = np.fromiter(map(len, given), np.int64, len(given))
        self._held.look(int(counts.sum()))
        expanded = table.take(np.repeat(np.arange(len(table)), counts))
        return expanded.with_column(name, column_of(list(chain.from_iterable(given))))


def _as_tables(run: Callable[[Given], Given]) -> Body:
    def whole(table: Table) -> Table:
        found = run(table)
        return found if isinstance(found, Table) else Table.of(found)

    return whole


def _renames(plan: op.Operator, names: Iterable[str]) -> bool:
    """Tell whether an operator gives other columns the names of those of the outer row."""
    match plan:
        case op.Unwind(name=name):
            return name in names
        case op.Project(items=items):
            return any(name in names and not _is_named(expr, name) for name, expr in items)
    return False


def _is_named(expr: Expr, name: str) -> bool:
    return isinstance(expr, Variable) and expr.name == name


def _places_of_true(values: Iterable[Any]) -> Array:
    return np.array([place for place, value in enumerate(values) if value is True], np.int64)


def _is_plain(column: Column) -> bool:
    """Tell whether a column's values have no elements in them: maps of such values, or such values themselves."""
    if isinstance(column, list):
        return all(_has_no_elements(each) for each in column)
    return isinstance(column, Plain)


def _has_no_elements(value: Any) -> bool:
    if type(value) is dict:
        return all(map(_has_no_elements, value.values()))
    if type(value) is list:
        return _VALUES.issuperset(map(type, value)) or all(map(_has_no_elements, value))
    return type(value) in _VALUES
