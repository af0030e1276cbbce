"""Aggregates of which what they are of is counted by group first, which needs no rows.

Percentiles and deviations take how often each value comes. Keys and arguments of several variables are evaluated once
for all rows that agree in what they read of each: ``CASE WHEN a.age < b.age THEN …`` for each two ages.
"""

from __future__ import annotations

from math import inf

from qengine._frozen import replace
from qengine.catalog.view import CatalogView
from qengine.optimizer.group_counts import different_rows
from qengine.optimizer.rows import estimated_rows
from qengine.plan.expr import AggregateCall, Expr, Variable
from qengine.plan.folding import WEIGHED, WEIGHED_VALUES
from qengine.plan.logical import Aggregate, Match, Operator, Unit
from qengine.plan.physical import AggregateEntries
from qengine.plan.traverse import free_variables, is_repeatable, substitute
from qengine.types import INTEGER, NODE

_REPEATED = 4.0  # how often what is counted must come in a group, in the mean
_LEAST = 1e5  # rows that are worth it
_TIMES, _VALUE, _PART = "@times", "@value", "@part"
_COUNTED = ((_TIMES, AggregateCall("count", (), type=INTEGER)),)


def counted_values(operator: Aggregate, lowered: Operator, catalog: CatalogView) -> Aggregate | None:
    """Return an aggregate over one that counts what a pattern's rows are aggregated by; None where that isn't worth it.

    ``lowered``: the aggregate's physical form.
    """
    match, calls = operator.input, [call for _, call in operator.aggregates]
    if isinstance(lowered, AggregateEntries):
        lowered = lowered.input
    if not isinstance(match, Match) or not isinstance(lowered, Aggregate):
        return None
    if match.optional or not isinstance(match.input, Unit):
        return None
    exprs = [*(expr for _, expr in operator.keys), *(call.args[0] for call in calls if call.args)]
    mixed = any(len(free_variables(expr)) > 1 for expr in exprs)
    if not mixed and not any(call.name in WEIGHED_VALUES for call in calls):
        return None
    if not all(call.name in WEIGHED or (mixed and call.distinct) for call in calls):
        return None
    if not all(map(is_repeatable, exprs)) or any(free_variables(arg) for call in calls for arg in call.args[1:]):
        return None
    below = lowered.input
    rows = estimated_rows(below, catalog)[id(below)]
    if rows < _LEAST:
        return None
    if mixed:
        return _of_parts(operator, match, below, rows, catalog)
    return _of_values(operator, match, below, rows, catalog)


def _of_parts(
    operator: Aggregate, match: Match, below: Operator, rows: float, catalog: CatalogView
) -> Aggregate | None:
    """Return an aggregate of expressions over what they read of each variable, which is counted."""
    names = frozenset(match.graph.variables())
    parts: dict[Expr, Variable] = {}

    def part(expr: Expr) -> Expr | None:
        read = free_variables(expr)
        if len(read) != 1 or not read <= names:
            return None
        return parts.setdefault(expr, Variable(f"{_PART} {len(parts)}", type=expr.type))

    keys = tuple((name, substitute(expr, part)) for name, expr in operator.keys)
    calls = tuple(
        (name, replace(call, args=tuple(substitute(arg, part) for arg in call.args)))
        for name, call in operator.aggregates
    )
    given = {each.name for each in parts.values()}
    if not all(free_variables(expr) <= given for _, expr in (*keys, *calls)):
        return None
    if different_rows(list(parts), below, rows, catalog) * _REPEATED > rows:
        return None
    counted = Aggregate(match, tuple((each.name, expr) for expr, each in parts.items()), _COUNTED)
    return Aggregate(counted, keys, calls, _TIMES)


def _of_values(
    operator: Aggregate, match: Match, below: Operator, rows: float, catalog: CatalogView
) -> Aggregate | None:
    """Return an aggregate over counts of values, or of the nodes that have them; None where they are of several."""
    calls = [call for _, call in operator.aggregates]
    values = list(dict.fromkeys(call.args[0] for call in calls if call.args))
    names = frozenset[str]().union(*map(free_variables, values))
    if len(names) != 1 or any(call.distinct for call in calls):
        return None
    exprs = [*(expr for _, expr in operator.keys), *values]
    (name,) = names
    kept: tuple[str, Expr] = _VALUE, values[0]
    keys = dict(operator.keys)
    groups = different_rows(exprs, below, rows, catalog) if len(values) == 1 else inf
    if name in {node.name for node in match.graph.nodes} and name not in keys:
        apart = {each: expr for each, expr in keys.items() if free_variables(expr) != names}
        node = Variable(name, type=NODE)
        by_node = different_rows([*apart.values(), node], below, rows, catalog)
        if by_node < groups or not apart:  # of each node alone: an elimination
            groups, kept, keys = by_node, (name, node), apart
    if groups * _REPEATED > rows:
        return None
    counted = Aggregate(match, (*keys.items(), kept), _COUNTED)
    given = {each: Variable(each, type=expr.type) for each, expr in counted.keys}

    def over(call: AggregateCall) -> AggregateCall:
        return call if kept[0] == name or not call.args else replace(call, args=(given[_VALUE], *call.args[1:]))

    above = tuple((each, given.get(each, expr)) for each, expr in operator.keys)
    calls_above = tuple((each, over(call)) for each, call in operator.aggregates)
    return Aggregate(counted, above, calls_above, _TIMES)
