"""Lowers groups of rows with an optional part to groups of those that have a match, and the keys of the others.

``MATCH (a) OPTIONAL MATCH (a)-->(x) RETURN a.p, count(x), max(x.q)``: rows without a match add nothing to what reads
``x`` alone, they only have groups. So the groups with a match are those of one plain pattern, for which there are more
ways than to make its rows, and the other groups are the different keys of the rows before the optional part. What takes
no notice of repetitions, and reads these rows, is an aggregate of them alone: ``count(DISTINCT a)``, ``max(a.q)``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Set

from qengine._frozen import replace
from qengine.catalog.view import CatalogView
from qengine.optimizer.rows import estimated_rows
from qengine.optimizer.rules import rewritten
from qengine.plan.expr import AggregateCall, Call, Comparison, Expr, Property, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.folding import ignores_repeats
from qengine.plan.logical import Aggregate, Match, Operator, Unit
from qengine.plan.pattern import NO_HINTS
from qengine.plan.physical import Completed
from qengine.plan.traverse import free_variables, is_repeatable

_EMPTY = {"count": 0, "sum": 0, "avg": None, "min": None, "max": None}
"""What aggregates are of no value."""
_MOST_HOPS = 1  # of what stands before the optional part: it is matched twice
_LEAST_ROWS = 2_000.0  # fewer are sooner grouped than planned in another way
_STRICT = frozenset({"+", "-", "*", "/", "%", "^", "neg"})
"""Operators that are null where an argument is."""


def matched_alone(operator: Aggregate) -> Aggregate | None:
    """Return an aggregate of the rows with a match alone; None where those without one add more than groups.

    It lacks what is aggregated of the rows before alone.
    """
    match = operator.input
    if operator.weight is not None or not (isinstance(match, Match) and match.optional):
        return None
    before = match.input
    if not isinstance(before, Match) or before.optional or not isinstance(before.input, Unit):
        return None
    if before.graph.hints != NO_HINTS or len(before.graph.relationships) > _MOST_HOPS:
        return None
    new = set(match.graph.variables())
    if any(condition_can_fail(each) for graph in (before.graph, match.graph) for each in graph.predicates):
        return None
    if not all(is_repeatable(expr) and new.isdisjoint(free_variables(expr)) for _, expr in operator.keys):
        return None
    calls = [named for named in operator.aggregates if not operator.keys or not _is_of_rows(named[1], new)]
    if not calls or not all(_adds_nothing(call, new) for _, call in calls):
        return None
    plain = rewritten(replace(operator, input=replace(match, optional=False), aggregates=tuple(calls)))
    return plain if isinstance(plain, Aggregate) else None


def completed(
    operator: Aggregate,
    lowered: Operator,
    alone: Aggregate,
    lower: Callable[[Aggregate], Operator],
    catalog: CatalogView,
) -> Operator:
    """Return the operator that an aggregate with keys is lowered to: ``lowered``, where that groups few rows.

    ``alone``: as ``matched_alone`` returns it.
    """
    rows = estimated_rows(lowered, catalog)
    if max(rows.values()) < _LEAST_ROWS:
        return lowered
    assert isinstance(operator.input, Match)
    apart = {name for name, _ in alone.aggregates}
    groups = Aggregate(
        operator.input.input, operator.keys, tuple(named for named in operator.aggregates if named[0] not in apart)
    )
    empty = tuple((name, _EMPTY[call.name]) for name, call in operator.aggregates if name in apart)
    return Completed(lowered, lower(alone), lower(groups), tuple(name for name, _ in operator.keys), empty)


def _is_of_rows(call: AggregateCall, new: Set[str]) -> bool:
    """Tell whether an aggregate is of the rows before the optional part alone, and the same however often they come."""
    return ignores_repeats([call]) and all(
        is_repeatable(arg) and new.isdisjoint(free_variables(arg)) for arg in call.args
    )


def _adds_nothing(call: AggregateCall, new: Collection[str]) -> bool:
    """Tell whether an aggregate passes over rows without a match."""
    if call.name not in _EMPTY or not call.args:
        return False
    (arg,) = call.args
    return is_repeatable(arg) and _is_null_without(arg, new)


def _is_null_without(expr: Expr, names: Collection[str]) -> bool:
    """Tell whether an expression is null where the variables ``names`` are."""
    match expr:
        case Variable(name=name):
            return name in names
        case Property(subject=subject):
            return _is_null_without(subject, names)
        case Comparison(args=(one, other)):
            return _is_null_without(one, names) or _is_null_without(other, names)
        case Call(name=name, args=args) if name in _STRICT:
            return any(_is_null_without(each, names) for each in args)
    return False
