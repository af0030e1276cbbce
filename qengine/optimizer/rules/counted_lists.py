"""Counts values instead of collecting them, where of the list only the size is asked for.

Why: ``size(collect(x))`` holds every value in memory; ``count(x)`` holds a number, and can be told without rows.
When: a ``Project`` right above an ``Aggregate`` uses what ``collect`` gives in ``size(…)`` alone, or once in
``size([v IN … WHERE condition on v])``. Both leave out null, and DISTINCT means the same.
Wrong for: ``size(collect(x)), collect(x)[0]``, where the list is needed; a condition that fails, or that reads more
than its variable: there it may be asked of other values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from qengine._frozen import replace
from qengine.optimizer.rules.tree import changes
from qengine.plan.expr import AggregateCall, Call, Case, Expr, ListComprehension, Literal, Variable
from qengine.plan.fallible import can_fail, condition_can_fail
from qengine.plan.logical import Aggregate, Operator, Project
from qengine.plan.traverse import free_variables, is_repeatable, preorder, rewrite, substitute
from qengine.types import INTEGER, NULL


@changes(Project, reading=(AggregateCall,))
def counted_lists(operator: Operator) -> Operator:
    """Apply the rule to one operator."""
    if not isinstance(operator, Project) or not isinstance(operator.input, Aggregate):
        return operator
    aggregate = operator.input
    items, calls = operator.items, list(aggregate.aggregates)
    for place, (name, call) in enumerate(calls):
        if call.name != "collect" or len(call.args) != 1:
            continue
        sizes = [part for _, expr in items for part in preorder(expr) if _is_size(part, name)]
        uses = sum(_uses(expr, name) for _, expr in items)
        counted = _counted(call, name, sizes) if sizes and len(sizes) == uses else None
        if counted is not None:
            calls[place] = name, counted
            items = tuple((each, rewrite(expr, partial(_as_number, name=name))) for each, expr in items)
    if items is operator.items:
        return operator
    return replace(operator, items=items, input=replace(aggregate, aggregates=tuple(calls)))


def _uses(expr: Expr, name: str) -> int:
    return sum(isinstance(part, Variable) and part.name == name for part in preorder(expr))


def _as_value(expr: Expr, variable: str, value: Expr) -> Expr | None:
    return value if isinstance(expr, Variable) and expr.name == variable else None


def _as_number(expr: Expr, name: str) -> Expr:
    return Variable(name, type=INTEGER) if _is_size(expr, name) else expr


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
