"""Lowers what is asked of reachable nodes: by which columns they are told apart, and whether they are only counted."""

from __future__ import annotations

from collections.abc import Collection

from qengine._frozen import replace
from qengine.plan.expr import AggregateCall, Variable
from qengine.plan.fallible import can_fail
from qengine.plan.logical import Aggregate, Operator, Project
from qengine.plan.physical import Reach, Repeat
from qengine.plan.traverse import free_variables, is_repeatable


def reaching_by(root: Operator, columns: Collection[str], wanted: Collection[str]) -> tuple[Operator, list[str]]:
    """Return an operator, and its columns; if it finds ends alone, its rows are told apart by those that are read.

    ``columns``: of the operator; ``wanted``: what is read.
    """
    if isinstance(root, Reach):
        root = replace(root, by=tuple(name for name in root.by if name in wanted))
        return root, [*root.by, root.end.name]
    if isinstance(root, Repeat) and root.distinct_ends and not root.end_bound:
        by = tuple(name for name in columns if name in wanted and name != root.end.name)
        return replace(root, by=by), [*by, root.end.name]
    return root, list(columns)


def counted_ends(aggregate: Aggregate) -> Aggregate:
    """Return an aggregate whose input counts the ends of each group, where nothing else is asked of them.

    The starts of a group are followed together: so keys are computed of the starts' rows, if they may be.
    """
    reach = aggregate.input
    if not isinstance(reach, Reach) or not all(_counts(call, reach.end.name) for _, call in aggregate.aggregates):
        return aggregate
    exprs = [expr for _, expr in aggregate.keys]
    if any(free_variables(expr) - set(reach.by) for expr in exprs):
        return aggregate
    if not all(isinstance(expr, Variable) for expr in exprs):
        names = [name for name, _ in aggregate.keys]
        if reach.start in names or not all(is_repeatable(expr) and not can_fail(expr) for expr in exprs):
            return aggregate
        below = Project(reach.input, ((reach.start, Variable(reach.start)), *aggregate.keys))
        reach = replace(reach, input=below, by=tuple(names))
        aggregate = replace(
            aggregate, keys=tuple((name, Variable(name, type=expr.type)) for name, expr in aggregate.keys)
        )
    elif {expr.name for expr in exprs if isinstance(expr, Variable)} != set(reach.by):
        return aggregate
    number = f"@ends {reach.end.name}"
    calls = tuple(
        (name, AggregateCall("sum", (Variable(number, type=call.type),), type=call.type, span=call.span))
        for name, call in aggregate.aggregates
    )
    return replace(aggregate, input=replace(reach, count=number), aggregates=calls)


def _counts(call: AggregateCall, end: str) -> bool:
    """Tell whether a call counts different ends."""
    of_end = len(call.args) == 1 and isinstance(call.args[0], Variable) and call.args[0].name == end
    return call.name == "count" and call.distinct and of_end
