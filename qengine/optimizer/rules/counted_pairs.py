"""Counts different pairs without a row for each: for each ``a`` how many different ``c`` it comes with.

Why: ``WITH DISTINCT a, c RETURN count(*)`` keeps as many groups as pairs, around a hub the square of its neighbours;
how many different nodes one node comes with is counted without them.
When: rows of a match of several relationships are made different by two items, one of which is a node that the match
binds, and the other reads another element alone; above it ``count(*)`` is the only aggregate, and its keys read the
other item alone.
Wrong for: what may be null, which ``count(DISTINCT …)`` doesn't count; keys that read both items.
"""

from __future__ import annotations

from qengine._frozen import replace
from qengine.optimizer.rules.tree import changes
from qengine.plan.expr import AggregateCall, Expr, Variable
from qengine.plan.logical import Aggregate, Distinct, Match, Operator, Project
from qengine.plan.traverse import free_variables, only_variable
from qengine.types import INTEGER

_NUMBER = "@different"


@changes(Aggregate)
def counted_pairs(operator: Operator) -> Operator:
    """Apply the rule to one operator."""
    match operator:
        case Aggregate(input=Distinct(input=Project(input=Match() as pattern, items=items)), keys=keys, weight=None):
            pass
        case _:
            return operator
    counted = (call for _, call in operator.aggregates)
    if len(items) != 2 or not operator.aggregates or not all(_counts_rows(call) for call in counted):
        return operator
    read = frozenset().union(*(free_variables(expr) for _, expr in keys))
    found = next((pair for pair in (items, items[::-1]) if _is_counted(*pair, read, pattern)), None)
    if found is None:
        return operator
    key, (_, node) = found
    different = AggregateCall("count", (node,), distinct=True, type=INTEGER)
    pairs = Aggregate(pattern, (key,), ((_NUMBER, different),))
    total = AggregateCall("sum", (Variable(_NUMBER, type=INTEGER),), type=INTEGER)
    return replace(operator, input=pairs, aggregates=tuple((name, total) for name, _ in operator.aggregates))


def _counts_rows(call: AggregateCall) -> bool:
    return call.name == "count" and not call.args


def _is_counted(key: tuple[str, Expr], item: tuple[str, Expr], read: frozenset[str], pattern: Match) -> bool:
    """Tell whether one item's values are counted by another's."""
    nodes = {node.name for node in pattern.graph.nodes if not node.bound}
    element = only_variable(key[1])
    if pattern.optional or len(pattern.graph.relationships) < 2 or item[0] in read or element is None:
        return False
    return isinstance(item[1], Variable) and item[1].name in nodes and element != item[1].name
