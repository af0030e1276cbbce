"""Where equal rows count once: the operators below ``DISTINCT`` and below aggregates that don't mind repetitions."""

from __future__ import annotations

from collections.abc import Callable

from qengine._frozen import replace
from qengine.plan.logical import Aggregate, Distinct, Filter, Match, Operator, Project, Sort, Unwind
from qengine.plan.pattern import PatternNode, PatternRelationship
from qengine.plan.traverse import free_variables

Change = Callable[[Match, frozenset[str]], Operator]


def below_distinct(operator: Operator, change: Change, may_change: Callable[[Match], bool]) -> Operator:
    """Return an operator with ``change`` applied to the matches below it whose rows' number means nothing to it.

    ``may_change`` tells of a match whether to look what is read of it, which takes longer. ``change`` gets a match and
    the names of those of its columns that are read above it; what it gives instead must have these columns, and the
    same different rows in them.
    """
    if not _is_above(operator, may_change):
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
    below = _changed(operator.input, needed, change)
    return operator if below is operator.input else replace(operator, input=below)


def _is_above(operator: Operator, may_change: Callable[[Match], bool]) -> bool:
    below = getattr(operator, "input", None)
    while below is not None:
        if isinstance(below, Match) and may_change(below):
            return True
        below = getattr(below, "input", None)
    return False


def _changed(operator: Operator, needed: frozenset[str], change: Change) -> Operator:
    match operator:
        case Project(items=items):
            needed = frozenset().union(*(free_variables(expr) for _, expr in items))
        case Filter(predicate=predicate):
            needed |= free_variables(predicate)
        case Sort(keys=keys, limit=None):
            needed = needed.union(*(free_variables(key.expr) for key in keys))
        case Unwind(expr=expr):
            needed |= free_variables(expr)
        case Match():
            new = change(operator, needed)
            if not isinstance(new, Match) or new is operator.input:
                return _changed(new, needed, change)
            operator, needed = new, needed | _read(new)
        case _:
            return operator
    below = _changed(operator.input, needed, change)
    return operator if below is operator.input else replace(operator, input=below)


def _read(operator: Match) -> frozenset[str]:
    """Return the columns of its input that a match reads."""
    graph = operator.graph
    elements: list[PatternNode | PatternRelationship] = [*graph.nodes, *graph.relationships]
    names = {element.name for element in elements}
    return frozenset(names.union(*map(free_variables, graph.predicates), *(path.elements for path in graph.paths)))
