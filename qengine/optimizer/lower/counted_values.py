"""Percentiles and deviations of a pattern: what has the values is counted by group, which needs no rows."""

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
from qengine.plan.traverse import free_variables, is_repeatable
from qengine.types import INTEGER, NODE

_REPEATED = 4.0  # how often what is counted must come in a group, in the mean
_LEAST = 1e5  # rows that are worth it
_TIMES, _VALUE = "@times", "@value"


def counted_values(operator: Aggregate, lowered: Operator, catalog: CatalogView) -> Aggregate | None:
    """Return an aggregate over one that counts values of a pattern's rows, or the nodes that have them.

    None where no percentile or deviation is asked for, values are of several variables, or too many. ``lowered``: the
    aggregate's physical form.
    """
    match, calls = operator.input, [call for _, call in operator.aggregates]
    if isinstance(lowered, AggregateEntries):
        lowered = lowered.input
    if not any(call.name in WEIGHED_VALUES for call in calls) or not isinstance(match, Match):
        return None
    if not isinstance(lowered, Aggregate):
        return None
    if match.optional or not isinstance(match.input, Unit) or any(call.distinct for call in calls):
        return None
    if not all(call.name in WEIGHED for call in calls):
        return None
    values = list(dict.fromkeys(call.args[0] for call in calls if call.args))
    names = frozenset[str]().union(*map(free_variables, values))
    exprs = [*(expr for _, expr in operator.keys), *values]
    if len(names) != 1 or not all(map(is_repeatable, exprs)):
        return None
    if any(free_variables(arg) for call in calls for arg in call.args[1:]):
        return None
    rows = estimated_rows(lowered.input, catalog)[id(lowered.input)]
    if rows < _LEAST:
        return None
    (name,) = names
    kept: tuple[str, Expr] = _VALUE, values[0]
    keys = dict(operator.keys)
    groups = different_rows(exprs, lowered.input, rows, catalog) if len(values) == 1 else inf
    if name in {node.name for node in match.graph.nodes} and name not in keys:
        apart = {each: expr for each, expr in keys.items() if free_variables(expr) != names}
        node = Variable(name, type=NODE)
        by_node = different_rows([*apart.values(), node], lowered.input, rows, catalog)
        if by_node < groups or not apart:  # of each node alone: an elimination
            groups, kept, keys = by_node, (name, node), apart
    if groups * _REPEATED > rows:
        return None
    times = AggregateCall("count", (), type=INTEGER)
    counted = Aggregate(match, (*keys.items(), kept), ((_TIMES, times),))
    given = {each: Variable(each, type=expr.type) for each, expr in counted.keys}

    def over(call: AggregateCall) -> AggregateCall:
        return call if kept[0] == name or not call.args else replace(call, args=(given[_VALUE], *call.args[1:]))

    above = tuple((each, given.get(each, expr)) for each, expr in operator.keys)
    calls_above = tuple((each, over(call)) for each, call in operator.aggregates)
    return Aggregate(counted, above, calls_above, _TIMES)
