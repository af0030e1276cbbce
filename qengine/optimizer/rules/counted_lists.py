"""Counts values instead of collecting them, where of the list only the size is asked for.

Why: ``size(collect(x))`` holds every value in memory; ``count(x)`` holds a number, and can be told without rows.
When: a ``Project`` or an ``Aggregate`` above an ``Aggregate``, and what filters, orders and cuts its rows between, use
what ``collect`` gives in ``size(…)`` alone, or once in ``size([v IN … WHERE condition on v])``. Both leave out null,
and DISTINCT means the same.
Wrong for: ``size(collect(x)), collect(x)[0]``, where the list is needed; a condition that fails, or that reads more
than its variable: there it may be asked of other values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from qengine._frozen import replace
from qengine.optimizer.rules.tree import changes
from qengine.plan.expr import AggregateCall, Call, Case, Expr, ListComprehension, Literal, Subquery, Variable
from qengine.plan.fallible import can_fail, condition_can_fail
from qengine.plan.logical import Aggregate, Filter, Limit, Operator, Project, Skip, Sort
from qengine.plan.traverse import free_variables, is_repeatable, preorder, rewrite, substitute
from qengine.types import INTEGER, NULL


@changes(Project, Aggregate, reading=(AggregateCall,))
def counted_lists(operator: Operator) -> Operator:
    """Apply the rule to one operator."""
    if not isinstance(operator, Project | Aggregate):
        return operator
    readers: list[Operator] = [operator]
    below = operator.input
    while isinstance(below, Filter | Sort | Skip | Limit):
        readers.append(below)
        below = below.input
    if not isinstance(below, Aggregate):
        return operator
    exprs, calls, numbers = [expr for each in readers for expr in _read(each)], list(below.aggregates), []
    for place, (name, call) in enumerate(calls):
        if call.name != "collect" or len(call.args) != 1:
            continue
        sizes = [part for expr in exprs for part in preorder(expr) if _is_size(part, name)]
        uses = sum(_uses(expr, name) for expr in exprs)
        counted = _counted(call, name, sizes) if sizes and len(sizes) == uses else None
        if counted is not None:
            calls[place] = name, counted
            numbers.append(name)
    if not numbers:
        return operator
    root: Operator = replace(below, aggregates=tuple(calls))
    for each in reversed(readers):
        root = _reading(each, root, partial(_as_number, names=numbers))
    return root


def _read(operator: Operator) -> list[Expr]:
    """Return the expressions that an operator evaluates."""
    match operator:
        case Project(items=items):
            return [expr for _, expr in items]
        case Aggregate(keys=keys, aggregates=calls):
            return [expr for _, expr in (*keys, *calls)]
        case Filter(predicate=predicate):
            return [predicate]
        case Sort(keys=keys):
            return [key.expr for key in keys]
    return []


def _reading(operator: Operator, below: Operator, change: Callable[[Expr], Expr]) -> Operator:
    """Return an operator over another input, with its expressions changed."""

    def changed(named: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
        return tuple((name, rewrite(expr, change)) for name, expr in named)

    match operator:
        case Project(items=items):
            return replace(operator, input=below, items=changed(items))
        case Aggregate(keys=keys, aggregates=calls):
            return replace(operator, input=below, keys=changed(keys), aggregates=changed(calls))
        case Filter(predicate=predicate):
            return replace(operator, input=below, predicate=rewrite(predicate, change))
        case Sort(keys=keys):
            return replace(operator, input=below, keys=tuple(replace(k, expr=rewrite(k.expr, change)) for k in keys))
    return replace(operator, input=below)


def _uses(expr: Expr, name: str) -> int:
    """Return how often an expression reads a variable, a subquery once for all that it does."""
    parts = preorder(expr)
    return sum(isinstance(each, Variable | Subquery) and name in free_variables(each) for each in parts)


def _as_value(expr: Expr, variable: str, value: Expr) -> Expr | None:
    return value if isinstance(expr, Variable) and expr.name == variable else None


def _as_number(expr: Expr, names: Sequence[str]) -> Expr:
    return next((Variable(name, type=INTEGER) for name in names if _is_size(expr, name)), expr)


def _is_size(expr: Expr, name: str) -> bool:
    match expr:
        case Call(name="size", args=(Variable(name=of),)):
            return of == name
        case Call(name="size", args=(ListComprehension(source=Variable(name=of), variable=variable),)):
            return of == name and variable != name
    return False


def _counted(call: AggregateCall, name: str, sizes: Sequence[Expr]) -> AggregateCall | None:
    """Return the count whose value all of some sizes are, None where there is none."""
    (value,) = call.args
    lists = [each.args[0] for each in sizes if isinstance(each, Call)]
    condition: Expr | None = None
    if len(lists) == 1 and isinstance(lists[0], ListComprehension):
        variable = lists[0].variable
        read = [part for part in (lists[0].condition, lists[0].result) if part is not None]
        if not all(free_variables(part) <= {variable} and is_repeatable(part) for part in read):
            return None
        put_in = partial(_as_value, variable=variable, value=value)
        if not is_repeatable(value) or any(can_fail(substitute(part, put_in)) for part in read):
            return None
        condition = None if lists[0].condition is None else substitute(lists[0].condition, put_in)
        if condition is not None and condition_can_fail(condition):
            return None
    elif any(isinstance(each, ListComprehension) for each in lists):
        return None
    if condition is not None:
        value = Case(((condition, value),), Literal(None, type=NULL), type=value.type)
    return replace(call, name="count", args=(value,), type=INTEGER)
