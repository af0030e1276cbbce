"""Moves the conditions of filters down, into the match whose variables they read.

Why: a condition in a match cuts candidates before they are joined; above it, it reads every row.
When: a conjunct without subquery that can't fail and gives the same whenever it is evaluated. It goes through
``Project`` (with the expressions put in for the names, if they are cheap), ``Filter``, ``Sort``, ``Distinct``,
``Unwind`` if it doesn't read the item, and ``Aggregate`` where it reads grouping keys. At an ``OPTIONAL MATCH`` it goes
on if it reads only its input's columns; if it can't be true for nulls, the match isn't optional at all.
Wrong for: ``Skip`` and ``Limit``, which count the rows that come; the inside of a shortest path, which is selected
before it is filtered; conditions that can fail, which wait until everything else holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from qengine._frozen import replace
from qengine.optimizer.rules.tree import changes
from qengine.plan.expr import Call, Comparison, Expr, HasLabels, Logical, Property, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Aggregate, Distinct, Filter, Match, Operator, Project, Sort, Unwind
from qengine.plan.predicates import is_cheap, placed
from qengine.plan.traverse import conjunction, conjuncts, free_variables, is_repeatable, substitute

Conditions = Sequence[Expr]


@changes(Filter)
def push_filters(operator: Operator) -> Operator:
    """Apply the rule to one operator, whose inputs it has been applied to."""
    if not isinstance(operator, Filter):
        return operator
    parts = conjuncts(operator.predicate)
    movable = [part for part in parts if is_repeatable(part) and not condition_can_fail(part)]
    below, left = _sink(operator.input, movable)
    if len(left) == len(movable) and below is operator.input:
        return operator
    kept = [part for part in parts if part not in movable or part in left]
    return _filtered(below, kept)


def _filtered(operator: Operator, conditions: Conditions) -> Operator:
    return Filter(operator, conjunction(tuple(conditions))) if conditions else operator


def _sink(operator: Operator, conditions: Conditions) -> tuple[Operator, list[Expr]]:
    """Return the operator with the conditions in it that can be there, and the others."""
    if not conditions:
        return operator, []
    match operator:
        case Match(optional=False):
            return _into_match(operator, conditions)
        case Match():
            return _into_optional(operator, conditions)
        case Project(items=items):
            return _through(operator, conditions, dict(items))
        case Aggregate(keys=keys) if keys:
            return _through(operator, conditions, dict(keys))
        case Unwind(name=name):
            movable = [each for each in conditions if name not in free_variables(each)]
            below, above = _sink(operator.input, movable)
            left = [each for each in conditions if each not in movable]
            return (replace(operator, input=_filtered(below, above)) if movable else operator), left
        case Filter() | Sort() | Distinct():
            below, left = _sink(operator.input, conditions)
            return (operator if below is operator.input else replace(operator, input=below)), left
    return operator, list(conditions)


def _through(
    operator: Project | Aggregate, conditions: Conditions, columns: dict[str, Expr]
) -> tuple[Operator, list[Expr]]:
    """Put the conditions below the operator that computes ``columns``, what can't be there right below it."""
    moved, left = [], []
    for condition in conditions:
        names = free_variables(condition)
        if names and all(name in columns and is_cheap(columns[name]) for name in names):
            moved.append(substitute(condition, lambda e: columns.get(e.name) if isinstance(e, Variable) else None))
        else:
            left.append(condition)
    if not moved:
        return operator, left
    below, above = _sink(operator.input, moved)
    return replace(operator, input=_filtered(below, above)), left


def _into_match(operator: Match, conditions: Conditions) -> tuple[Operator, list[Expr]]:
    graph = operator.graph
    new = set(graph.variables())
    nodes = {node.name for node in graph.nodes}
    selected = any(path.selector is not None for path in graph.paths)
    outer, left = [], []
    for condition in conditions:
        names = free_variables(condition)
        if not names & new:
            outer.append(condition)
        elif selected and not names & new <= nodes:
            left.append(condition)
        else:
            graph = placed(graph, condition)
    below, above = _sink(operator.input, outer)
    if above:  # they are checked before the match
        graph = replace(graph, predicates=(*above, *graph.predicates))
    if below is operator.input and graph is operator.graph:
        return operator, left
    return replace(operator, input=below, graph=graph), left


def _into_optional(operator: Match, conditions: Conditions) -> tuple[Operator, list[Expr]]:
    new = set(operator.graph.variables())
    if any(_rejects_nulls(condition, new) for condition in conditions):
        return _into_match(replace(operator, optional=False), conditions)
    outer = [condition for condition in conditions if not free_variables(condition) & new]
    left = [condition for condition in conditions if free_variables(condition) & new]
    below, above = _sink(operator.input, outer)
    return (operator if below is operator.input else replace(operator, input=below)), [*above, *left]


def _rejects_nulls(condition: Expr, names: set[str]) -> bool:
    """Tell whether a condition is false or null wherever one of its variables among ``names`` is null."""

    def null(expr: Expr) -> bool:
        while isinstance(expr, Property):
            expr = expr.subject
        return isinstance(expr, Variable) and expr.name in names

    match condition:
        case Comparison(args=args) | Call(name="IS NOT NULL" | "STARTS WITH" | "ENDS WITH" | "CONTAINS", args=args):
            return any(map(null, args))
        case Call(name="IN", args=(subject, _)) | HasLabels(subject=subject):
            return null(subject)
        case Call(name="NOT", args=(Comparison(args=(_, _)) | HasLabels() as inner,)):  # a chain may be false for nulls
            return _rejects_nulls(inner, names)
        case Logical(op="OR", args=args):
            return all(_rejects_nulls(arg, names) for arg in args)
    return False
