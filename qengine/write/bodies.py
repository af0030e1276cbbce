"""The bodies of ``FOREACH`` and ``CALL { … }`` for many rows at once: each part for all of them before the next.

That is done where it means the same (``effects``). Whatever fails on the way is taken back and goes row by row, where
errors come at their places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from qengine.exec.scalar.aggregates import Accumulator, accumulator
from qengine.exec.scalar.compare import order_key, row_key
from qengine.exec.scalar.environment import Environment
from qengine.exec.scalar.evaluate import compile
from qengine.plan import logical as op
from qengine.plan import updates as up
from qengine.plan.expr import Expr, Variable
from qengine.plan.traverse import free_variables
from qengine.storage.arrays import Array
from qengine.write import effects
from qengine.write.ahead import Ahead, values_ahead
from qengine.write.batch_steps import BatchSteps, Held
from qengine.write.column_values import Unbatched, whole_or_nothing
from qengine.write.overlay import Overlay
from qengine.write.table import Column, Plain, Rows, Table, column_of

Given: TypeAlias = Rows | Table
Body = Callable[[Table], Table]
_Compile = Callable[..., Callable[[Given], Given]]
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

    def called(self, step: up.CallSubquery, steps: _Compile, match: Callable[[op.Match], Body]) -> Body | None:
        """Return what runs the plan of a ``CALL`` for a table, and gives its rows; None where it has other parts.

        ``steps``: compiles those of updates, given values that rows have. ``match``: what finds a pattern for a table,
        row after row.
        """
        runs: list[tuple[Body, bool]] = []
        parts: list[_Part] = []
        plan: op.Operator = step.plan
        size = [0]  # rows that it is called for
        while not isinstance(plan, op.Argument):
            run = None if _renames(plan, step.outer) else self._operator(plan, steps, match, size)
            if run is None:
                return None
            runs.insert(0, (run, isinstance(plan, op.Aggregate)))
            parts[:0] = plan.steps if isinstance(plan, up.Update) else (plan,)
            plan = plan.input  # type: ignore[attr-defined]

        def whole(table: Table) -> Table:
            size[0] = len(table)
            inside = Table(len(table), {name: table.columns[name] for name in step.outer})
            inside = inside.with_column(_ROW, list(range(len(table))))
            for each, makes_rows in runs:
                if len(inside) or makes_rows:
                    inside = each(inside)
            if step.unit:
                return table
            if step.optional:
                return _with_missing(table, inside, step.columns)
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
            whole = effects.deletes_what_it_finds(parts, plain)
            if not (whole or effects.are_apart([effects.effects_of(each, given) for each in parts])):
                raise Unbatched
            with whole_or_nothing(self._overlay):
                return run(table)

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

    def _operator(
        self, plan: op.Operator, steps: _Compile, match: Callable[[op.Match], Body], size: Sequence[int]
    ) -> Body | None:
        """Return what carries out an operator, given the rows of its input; None for others.

        ``size``: how many rows the body is called for, by then.
        """
        match plan:
            case up.Update():
                ahead = values_ahead(plan.steps)
                run = _as_tables(steps(plan.steps, ahead))
                return lambda table: run(self._with_values(table, ahead.values()))
            case op.Aggregate(weight=None):
                return lambda table: self._aggregated(plan, table, size[0])
            case op.Match():
                return self._batches.match(plan) or match(plan)
            case op.Unwind(expr=expr, name=name):
                return lambda table: self._expanded(table, self._evaluated(expr, table), name)
            case op.Filter(predicate=predicate):
                return lambda table: table.take(_places_of_true(self._evaluated(predicate, table)))
            case op.Project(items=items):
                return lambda table: self._projected(items, table)
            case op.Distinct():
                return lambda table: table.take(_first_places(table))
            case op.Sort(keys=keys, limit=limit):
                ends = self._part_of_each(None, limit)
                return lambda table: ends(self._ordered(keys, table))
            case op.Skip(count=count):
                return self._part_of_each(count, None)
            case op.Limit(count=count):
                return self._part_of_each(None, count)
        return None

    def _ordered(self, keys: Iterable[op.SortKey], table: Table) -> Table:
        """Return the rows of each row of the body's in their order; each sort is stable."""
        order = np.arange(len(table))
        for key in reversed([*keys]):
            self._held.check()
            values = self._evaluated(key.expr, table)
            ranks = list(map(order_key, values))
            order = np.array(sorted(order.tolist(), key=ranks.__getitem__, reverse=not key.ascending), np.int64)
        rows = np.array(table.values(_ROW), np.int64)
        return table.take(order[np.argsort(rows[order], kind="stable")])

    def _part_of_each(self, skipped: Expr | None, kept: Expr | None) -> Body:
        """Return what leaves out the first rows of each row of the body's, and keeps so many of the others."""
        counts = [None if each is None else compile(each, self._env) for each in (skipped, kept)]

        def run(table: Table) -> Table:
            rows = np.array(table.values(_ROW), np.int64)  # ascending
            place = np.arange(len(rows)) - np.searchsorted(rows, rows)
            first, most = (None if each is None else _number(each({})) for each in counts)
            return table.take(np.flatnonzero((place >= (first or 0)) & (place < (len(rows) if most is None else most))))

        return run

    def _with_values(self, table: Table, ahead: Iterable[Ahead]) -> Table:
        """Return a table with the values that steps set, where these read the graph."""
        for each in ahead:
            try:
                table = table.with_column(each.name, self._batches.values.of_elements(each.expr, table))
            except Unbatched:  # the step evaluates it, row by row
                table = table.without({each.name})
        return table

    def _aggregated(self, plan: op.Aggregate, table: Table, size: int) -> Table:
        """Return the groups of each row of the body's, in their order."""
        calls = [call for _, call in plan.aggregates]
        groups: dict[Any, tuple[int, list[Any], list[Accumulator]]] = {}
        if not plan.keys:
            groups = {(row,): (row, [], list(map(accumulator, calls))) for row in range(size)}
        keys = [self._evaluated(expr, table) for _, expr in plan.keys] if len(table) else []
        args = [[self._evaluated(arg, table) for arg in call.args] for call in calls] if len(table) else []
        for place, row in enumerate(table.values(_ROW) if len(table) else ()):
            self._held.check()
            own = [each[place] for each in keys]
            key = (row, row_key(own)) if plan.keys else (row,)
            found = groups.get(key)
            if found is None:
                found = groups[key] = row, own, list(map(accumulator, calls))
            for state, values in zip(found[2], args, strict=True):
                state.add([each[place] for each in values])
        ordered = sorted(groups.values(), key=lambda each: each[0])
        columns: dict[str, Column] = {_ROW: [row for row, *_ in ordered]}
        for place, (name, _) in enumerate(plan.keys):
            columns[name] = column_of([own[place] for _, own, _ in ordered])
        for place, (name, _) in enumerate(plan.aggregates):
            columns[name] = column_of([states[place].result() for *_, states in ordered])
        return Table(len(ordered), columns)

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
        with suppress(Unbatched):
            found = self._batches.values.of_elements(expr, table)
            return found if isinstance(found, list) else found.values()
        evaluate, values = compile(expr, self._env), []
        for row in table.rows():
            self._held.check()
            values.append(evaluate(row))
        return values

    def _expanded(self, table: Table, lists: Iterable[Any], name: str) -> Table:
        """Return each row once for each item of its list, as a column; none for null."""
        given = [() if each is None else each for each in lists]
        if not {list, tuple}.issuperset(map(type, given)):
            raise Unbatched
        counts = np.fromiter(map(len, given), np.int64, len(given))
        self._held.look(int(counts.sum()))
        expanded = table.take(np.repeat(np.arange(len(table)), counts))
        return expanded.with_column(name, column_of(list(chain.from_iterable(given))))


def _with_missing(table: Table, inside: Table, names: Iterable[str]) -> Table:
    """Return each row of a table with the rows that a body gave for it, or with nulls where there was none."""
    rows = np.array(inside.values(_ROW), np.int64) if len(inside) else np.empty(0, np.int64)
    missing = np.setdiff1d(np.arange(len(table)), rows)
    sources = np.concatenate((np.arange(len(rows)), np.full(len(missing), -1)))
    order = np.argsort(np.concatenate((rows, missing)), kind="stable")
    found = table.take(np.concatenate((rows, missing))[order])
    for name in names:
        values = inside.values(name) if len(inside) else []
        listed = [values[place] if place >= 0 else None for place in sources[order].tolist()]
        found = found.with_column(name, column_of(listed))
    return found


def _as_tables(run: Callable[[Given], Given]) -> Body:
    def whole(table: Table) -> Table:
        found = run(table)
        return found if isinstance(found, Table) else Table.of(found)

    return whole


def _number(value: Any) -> int:
    """Return a number of rows; one that is none fails row by row."""
    if type(value) is not int or value < 0:
        raise Unbatched
    return value


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


def _first_places(table: Table) -> Array:
    """Return where each different row stands first."""
    places: dict[Any, int] = {}
    for place, values in enumerate(zip(*map(table.values, table.columns), strict=True)):
        places.setdefault(row_key(values), place)
    return np.array(list(places.values()), np.int64)


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
