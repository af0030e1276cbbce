"""Percentiles of few different values: how often each comes in a group is counted first, which needs no rows."""

from __future__ import annotations

from math import inf

from qengine._frozen import replace
from qengine.catalog.view import CatalogView
from qengine.plan.expr import AggregateCall, Expr, Property, Variable
from qengine.plan.logical import Aggregate, Match, Operator, Unit
from qengine.plan.physical import Search
from qengine.plan.traverse import free_variables, is_repeatable, operators, preorder
from qengine.types import INTEGER, Kind

__all__ = ["counted_values", "over_counts"]

_PERCENTILES = frozenset({"percentilecont", "percentiledisc"})
_WEIGHED = frozenset({"count", "sum", "avg", "min", "max"})
_REPEATED = 8.0  # how often a value must come in a group, in the mean
_VALUE, _TIMES = "@value", "@times"


def counted_values(operator: Aggregate, lowered: Operator, catalog: CatalogView) -> Aggregate | None:
    """Return what counts each different value of each group of a pattern's rows.

    None where no percentile is asked for, other values are aggregated, too, or they are too many. ``lowered``: the
    aggregate's physical form.
    """
    match, calls = operator.input, [call for _, call in operator.aggregates]
    if not any(call.name in _PERCENTILES for call in calls) or not isinstance(match, Match):
        return None
    if match.optional or not isinstance(match.input, Unit) or any(call.distinct for call in calls):
        return None
    if not all(call.name in _PERCENTILES | _WEIGHED for call in calls):
        return None
    if any(free_variables(arg) for call in calls for arg in call.args[1:]):
        return None
    values = {call.args[0] for call in calls if call.args}
    value = values.pop()
    if values or value.type.kind is not Kind.INTEGER:
        return None
    rows = max((each.rows or 0.0 for each in operators(lowered) if isinstance(each, Search)), default=0.0)
    groups = 1.0
    for expr in (*(expr for _, expr in operator.keys), value):
        groups *= _different(expr, match, catalog)
    if groups * _REPEATED > rows:
        return None
    times = AggregateCall("count", (), type=INTEGER)
    return Aggregate(match, (*operator.keys, (_VALUE, value)), ((_TIMES, times),))


def over_counts(operator: Aggregate, counted: Operator) -> Aggregate:
    """Return an aggregate over what ``counted_values`` counts."""
    keys = tuple((name, Variable(name, type=expr.type)) for name, expr in operator.keys)
    calls = tuple(
        (name, replace(call, args=(Variable(_VALUE, type=call.args[0].type), *call.args[1:])) if call.args else call)
        for name, call in operator.aggregates
    )
    return Aggregate(counted, keys, calls, _TIMES)


def _different(expr: Expr, match: Match, catalog: CatalogView) -> float:
    """Return how many values an expression of one property of a node may have; infinity where that isn't known."""
    read = {part for part in preorder(expr) if isinstance(part, Property)}
    variables = {part.name for part in preorder(expr) if isinstance(part, Variable)}
    nodes = {node.name: node.labels for node in match.graph.nodes}
    if len(read) != 1 or len(variables) != 1 or not variables <= nodes.keys() or not is_repeatable(expr):
        return inf
    (of,), (name,) = read, variables
    found = catalog.value_summaries("node", of.key, nodes[name])
    known = [each.distinct for each in found or ()]
    return sum(1.0 + each for each in known if each is not None) if known and None not in known else inf
