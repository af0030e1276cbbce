"""Runs logical plans row by row: each operator is a generator over dictionaries of named values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, singledispatchmethod
from itertools import islice
from typing import Any

from qengine.catalog.view import CatalogView
from qengine.errors import InternalError
from qengine.exec.context import ExecutionContext
from qengine.exec.memory import MemoryAccount
from qengine.exec.reference.graph import PlainGraph, WalkedGraph
from qengine.exec.reference.match import Matcher
from qengine.exec.scalar.aggregates import accumulator
from qengine.exec.scalar.compare import order_key, row_key
from qengine.exec.scalar.csv_rows import file_rows
from qengine.exec.scalar.environment import Environment, Row
from qengine.exec.scalar.evaluate import Evaluator, compile, compile_predicate
from qengine.exec.scalar.lists import range_of
from qengine.exec.scalar.materialize import materialize
from qengine.exec.scalar.procedures import ProcedureCaller
from qengine.exec.scalar.values import failing_at, number_of_rows
from qengine.exec.view import ExecView
from qengine.plan import logical as op
from qengine.plan.expr import Call, Expr, Subquery

_CHUNK = 256  # rows whose nodes and relationships are fetched together


def run(plan: op.LogicalPlan, store: ExecView, context: ExecutionContext) -> Iterator[tuple[Any, ...]]:
    """Give the rows of a plan, their values in the order of ``plan.columns``.

    Raises
    ------
    ExecutionError
        Where a value makes the query fail.
    QueryTimeout, QueryInterrupted
        As ``context`` says; looked at once a partial embedding and a row.
    """
    memory = MemoryAccount(None, context.check)  # limits only time: its rows are not accounted for

    def environment(subqueries: Subqueries) -> Environment:
        return Environment(store, context.parameters, subqueries=subqueries, memory=memory)

    source = Compiler(environment, cache(lambda: PlainGraph(store)), lambda: store, context).rows(plan.root)({})
    columns = plan.columns
    while chunk := [[row[name] for name in columns] for row in islice(source, _CHUNK)]:
        yield from materialize(chunk, store)


Rows = Iterator[dict[str, Any]]
Subqueries = Callable[[Subquery], Evaluator]
Source = Callable[[Row], Rows]
"""Gives an operator's rows; its argument is the outer row that an ``Argument`` leaf hands on."""


class Compiler:
    """Turns operators into generators, once a query: a subquery's plan is compiled once and run once a row.

    Parameters
    ----------
    environment
        Makes the environment of expressions of what compiles subqueries in them.
    graph
        Gives the graph that patterns are matched in, when the first is.
    version
        Returns the version of the graph that procedures read.
    context
        The limits of the execution.
    """

    _file_rows = staticmethod(file_rows)

    def __init__(
        self,
        environment: Callable[[Subqueries], Environment],
        graph: Callable[[], WalkedGraph],
        version: Callable[[], CatalogView],
        context: ExecutionContext,
    ) -> None:
        self._check = context.check
        self._context = context
        self._version = version
        self._env = environment(self._subquery)
        self._graph = graph

    @singledispatchmethod
    def rows(self, operator: op.Operator) -> Source:
        """Return the generator of an operator's rows."""
        raise InternalError(f"The reference executor doesn't know the operator {type(operator).__name__}.")

    def _items(self, items: Iterable[tuple[str, Expr]]) -> list[tuple[str, Evaluator]]:
        return [(name, compile(expr, self._env)) for name, expr in items]

    @rows.register
    def _(self, operator: op.Unit) -> Source:
        return lambda outer: iter(({},))

    @rows.register
    def _(self, operator: op.Argument) -> Source:
        return lambda outer: iter(({name: outer[name] for name in operator.columns},))

    @rows.register
    def _(self, operator: op.Match) -> Source:
        source = self.rows(operator.input)
        matcher = Matcher(operator.graph, self._graph(), self._env, self._check)
        nothing = dict.fromkeys(operator.graph.variables())

        def rows(outer: Row) -> Rows:
            for row in source(outer):
                found = False
                for embedding in matcher.embeddings(row):
                    found = True
                    yield embedding
                if operator.optional and not found:
                    yield {**row, **nothing}

        return rows

    @rows.register
    def _(self, operator: op.Filter) -> Source:
        source = self.rows(operator.input)
        holds = compile_predicate(operator.predicate, self._env)
        return lambda outer: (row for row in source(outer) if holds(row))

    @rows.register
    def _(self, operator: op.Project) -> Source:
        source = self.rows(operator.input)
        items = self._items(operator.items)
        return lambda outer: ({name: value(row) for name, value in items} for row in source(outer))

    @rows.register
    def _(self, operator: op.Aggregate) -> Source:
        source = self.rows(operator.input)
        keys = self._items(operator.keys)
        aggregates = [
            (name, call, [compile(arg, self._env) for arg in call.args]) for name, call in operator.aggregates
        ]

        def rows(outer: Row) -> Rows:
            groups: dict[Any, tuple[dict[str, Any], list[Any]]] = {}
            if not keys:
                groups[()] = ({}, [accumulator(call) for _, call, _ in aggregates])
            for row in source(outer):
                self._check()
                values = {name: value(row) for name, value in keys}
                key = row_key(values.values())
                if key not in groups:
                    groups[key] = (values, [accumulator(call) for _, call, _ in aggregates])
                times = 1 if operator.weight is None else row[operator.weight]
                for state, (_, call, args) in zip(groups[key][1], aggregates, strict=True):
                    with failing_at(call.span):
                        state.add([arg(row) for arg in args], times)
            for values, states in groups.values():
                results = {}
                for (name, call, _), state in zip(aggregates, states, strict=True):
                    with failing_at(call.span):
                        results[name] = state.result()
                yield {**values, **results}

        return rows

    @rows.register
    def _(self, operator: op.Distinct) -> Source:
        source = self.rows(operator.input)
        return lambda outer: _distinct(source(outer))

    @rows.register
    def _(self, operator: op.Sort) -> Source:
        source = self.rows(operator.input)
        keys = [(compile(key.expr, self._env), key.ascending) for key in operator.keys]
        count = None if operator.limit is None else self._count(operator.limit, "LIMIT")

        def rows(outer: Row) -> Rows:
            limit = None if count is None else count()
            found = list(source(outer))
            for value, ascending in reversed(keys):  # each sort is stable: the first key is sorted by last
                self._check()
                ranks = [order_key(value(row)) for row in found]
                order = sorted(range(len(found)), key=ranks.__getitem__, reverse=not ascending)
                found = [found[index] for index in order]
            return iter(found[:limit])

        return rows

    @rows.register
    def _(self, operator: op.Skip) -> Source:
        source, count = self.rows(operator.input), self._count(operator.count, "SKIP")
        return lambda outer: islice(source(outer), count(), None)

    @rows.register
    def _(self, operator: op.Limit) -> Source:
        source, count = self.rows(operator.input), self._count(operator.count, "LIMIT")
        return lambda outer: islice(source(outer), count())

    def _count(self, expr: Expr, clause: str) -> Callable[[], int]:
        """Return what gives a number of rows; it has no variables, and is wrong also where no row comes."""
        evaluate = compile(expr, self._env)

        def count() -> int:
            with failing_at(expr.span):
                return number_of_rows(clause, evaluate({}))

        return count

    @rows.register
    def _(self, operator: op.Unwind) -> Source:
        source = self.rows(operator.input)
        value = self._items_of(operator.expr)

        def rows(outer: Row) -> Rows:
            for row in source(outer):
                items = value(row)
                for item in () if items is None else items if type(items) in (list, range) else (items,):
                    self._check()
                    yield {**row, operator.name: item}

        return rows

    def _items_of(self, expr: Expr) -> Evaluator:
        """Return what gives the items of a list, those of ``range(…)`` without making one."""
        if not isinstance(expr, Call) or expr.name != "range":
            return compile(expr, self._env)
        args = [compile(arg, self._env) for arg in expr.args]

        def numbers(row: Row) -> range | None:
            bounds = [arg(row) for arg in args]
            with failing_at(expr.span):
                return None if None in bounds else range_of(*bounds)

        return numbers

    @rows.register
    def _(self, operator: op.ProcedureCall) -> Source:
        source = self.rows(operator.input)
        args = [compile(arg, self._env) for arg in operator.args]
        names = [name for _, name in operator.outputs]

        def rows(outer: Row) -> Rows:
            caller = ProcedureCaller(operator, self._env.store, self._version, self._context)
            for row in source(outer):
                for values in caller.rows([arg(row) for arg in args]):
                    yield {**row, **dict(zip(names, values, strict=True))}

        return rows

    @rows.register
    def _(self, operator: op.LoadCsv) -> Source:
        source = self.rows(operator.input)
        url = compile(operator.url, self._env)

        def rows(outer: Row) -> Rows:
            for row in source(outer):
                for found in self._file_rows(operator, url(row), self._context):
                    yield {**row, **dict(zip(operator.added, found, strict=True))}

        return rows

    @rows.register
    def _(self, operator: op.Union) -> Source:
        sources = [self.rows(part) for part in operator.inputs]

        def rows(outer: Row) -> Rows:
            for source in sources:
                yield from source(outer)

        return rows if operator.all else lambda outer: _distinct(rows(outer))

    def _subquery(self, expr: Subquery) -> Evaluator:
        source = self.rows(expr.plan)

        def exists(row: Row) -> bool:
            return next(source(row), None) is not None

        def count(row: Row) -> int:
            return sum(1 for _ in source(row))

        def collect(row: Row) -> list[Any]:
            return [value for found in source(row) for value in found.values()]

        return {"exists": exists, "count": count, "collect": collect}[expr.kind]


def _distinct(rows: Rows) -> Rows:
    seen = set()
    for row in rows:
        key = row_key(row[name] for name in sorted(row))
        if key not in seen:
            seen.add(key)
            yield row
