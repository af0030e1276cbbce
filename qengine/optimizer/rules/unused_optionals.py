"""Leaves out an ``OPTIONAL MATCH`` of which nothing is read, where equal rows count once.

Why: it keeps every row and adds none that differs in what is read.
When: below ``DISTINCT`` or aggregates that don't mind repetitions, no variable of it is read, and no condition of it
can fail.
Wrong for: ``MATCH``, which drops rows without a match; ``count(*)`` above, which counts the repetitions.
"""

from __future__ import annotations

from qengine._frozen import replace
from qengine.optimizer.rules.tree import changes
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Aggregate, Distinct, Filter, Match, Operator, Project, Sort, Unwind
from qengine.plan.pattern import PatternNode, PatternRelationship
from qengine.plan.traverse import free_variables


@changes(Aggregate, Distinct)
def unused_optionals(operator: Operator) -> Operator:
    """Apply the rule below one operator."""
    if not _is_above_optional(operator):
        return operator
    match operator:
        case Distinct(input=Project()):
            needed: frozenset[str] = frozenset()
        case Aggregate(keys=keys, aggregates=calls) if all(
            call.distinct or call.name in ("min", "max") for _, call in calls
        ):
            exprs = (*(expr for _, expr in keys), *(arg for _, call in calls for arg in call.args))
            needed = frozenset().union(*map(free_variables, exprs))
        case _:
            return operator
    below = _without(operator.input, needed)
    return operator if below is operator.input else replace(operator, input=below)


def _is_above_optional(operator: Operator) -> bool:
    below = getattr(operator, "input", None)
    while below is not None:
        if isinstance(below, Match) and below.optional:
            return True
        below = getattr(below, "input", None)
    return False


def _without(operator: Operator, needed: frozenset[str]) -> Operator:
    """Return an operator, whose rows' number means nothing, without such matches; ``needed``: what is read of it."""
    match operator:
        case Project(items=items):
            needed = frozenset().union(*(free_variables(expr) for _, expr in items))
        case Filter(predicate=predicate):
            needed |= free_variables(predicate)
        case Sort(keys=keys, limit=None):
            needed = needed.union(*(free_variables(key.expr) for key in keys))
        case Unwind(expr=expr):
            needed |= free_variables(expr)
        case Match() if _is_unused(operator, needed):
            return _without(operator.input, needed)
        case Match():
            needed |= _read(operator)
        case _:
            return operator
    below = _without(operator.input, needed)
    return operator if below is operator.input else replace(operator, input=below)


def _is_unused(operator: Match, needed: frozenset[str]) -> bool:
    graph = operator.graph
    if not operator.optional or not needed.isdisjoint(graph.variables()):
        return False
    conditions = [*graph.predicates, *(each for node in graph.nodes for each in node.predicates)]
    conditions += [each for edge in graph.relationships for each in (*edge.predicates, *edge.inner)]
    return not any(map(condition_can_fail, conditions))


def _read(operator: Match) -> frozenset[str]:
    """Return the columns of its input that a match reads."""
    graph = operator.graph
    elements: list[PatternNode | PatternRelationship] = [*graph.nodes, *graph.relationships]
    names = {element.name for element in elements}
    return frozenset(names.union(*map(free_variables, graph.predicates), *(path.elements for path in graph.paths)))
