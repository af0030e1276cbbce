"""Finds conditions that nothing satisfies, so that their match isn't run at all.

Why: the rows are known to be none; neither candidates nor joins are needed.
When: a condition is the literal false (or null), another's negation, ``IN []``, or ``x < x``; label expressions exclude
each other (``:A&!A``); an element's property must equal two values, lie in an empty range, or be null and compared.
Wrong for: ranges over values of different types, which only compare as null; ``n.x <> n.x``, which NaN satisfies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from qengine._frozen import replace
from qengine.optimizer.rules.tree import changes
from qengine.plan.constants import FALSE
from qengine.plan.expr import Call, Comparison, Expr, HasLabels, ListOf, Literal, Property, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Filter, Limit, Match, Operator
from qengine.plan.pattern import LabelAny, LabelExpr, LabelIs, QueryGraph, names_in
from qengine.plan.predicates import both, label_condition
from qengine.plan.traverse import conjuncts, is_repeatable, only_variable
from qengine.types import BOOLEAN, INTEGER, NODE, RELATIONSHIP, STRING

_NAMES = 6  # label expressions over more names are not looked through
_NO_NAN = (NODE, RELATIONSHIP, INTEGER, STRING, BOOLEAN)  # NaN differs from itself
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


@changes(Filter, Match)
def contradictions(operator: Operator) -> Operator:
    """Apply the rule to one operator."""
    match operator:
        case Filter(input=below, predicate=predicate) if _never(predicate):
            return Limit(below, Literal(0, type=INTEGER))
        case Match(graph=graph) if graph.predicates != (FALSE,) and _impossible(graph):
            return replace(operator, graph=replace(graph, predicates=(FALSE,)))
    return operator


def _impossible(graph: QueryGraph) -> bool:
    if FALSE in graph.predicates or _excluded(graph.predicates):
        return True
    elements = [(node.labels, node.predicates) for node in graph.nodes]
    elements += [(edge.types, edge.predicates) for edge in graph.relationships if edge.hops is None]
    return any(
        _no_labels(labels) or (predicates and (FALSE in predicates or _excluded(predicates) or _no_values(predicates)))
        for labels, predicates in elements
    )


def _never(predicate: Expr) -> bool:
    """Tell whether a filter lets no row through."""
    if isinstance(predicate, Literal):
        return predicate.value in (False, None)
    parts = conjuncts(predicate)
    if len(parts) == 1:
        return _excluded(parts)
    labels: dict[str | None, LabelExpr | None] = {}
    for part in parts:
        if isinstance(part, (HasLabels, Call)):
            name = only_variable(part)
            labels[name] = both(labels.get(name), label_condition(part))
    return _excluded(parts) or _no_values(parts) or any(map(_no_labels, labels.values()))


def _no_labels(labels: LabelExpr | None) -> bool:
    """Tell whether no set of labels satisfies the expression."""
    if labels is None or isinstance(labels, (LabelIs, LabelAny)):
        return False
    names = sorted(set(names_in(labels)))
    if len(names) > _NAMES:
        return False
    sets = product((False, True), repeat=len(names))
    return not any(
        labels.admits(frozenset(name for name, has in zip(names, each, strict=True) if has)) for each in sets
    )


def _excluded(predicates: Sequence[Expr]) -> bool:
    """Tell whether a condition excludes another, or admits nothing by itself."""
    for predicate in predicates:
        match predicate:
            case Call(name="NOT", args=(arg,)):
                excluded = arg in predicates and is_repeatable(arg) and not condition_can_fail(arg)
            case Call(name="IS NULL", args=(Property() as subject,)):
                excluded = any(_needs(each, subject) for each in predicates)
            case Call(name="IN", args=(_, ListOf(items=()))):
                excluded = not condition_can_fail(predicate)
            case Comparison(ops=("<" | ">" | "<>" as op,), args=(one, other)) if one == other:
                differs = op != "<>" or one.type in _NO_NAN
                excluded = differs and is_repeatable(one) and not condition_can_fail(predicate)
            case _:
                excluded = False
        if excluded:
            return True
    return False


def _needs(predicate: Expr, subject: Expr) -> bool:
    """Tell whether a condition is never true where ``subject`` is null."""
    match predicate:
        case Comparison(args=args) | Call(name="IS NOT NULL", args=args):
            return subject in args
        case Call(name="IN", args=(first, _)):
            return first == subject
    return False


def _no_values(predicates: Iterable[Expr]) -> bool:
    """Tell whether comparisons of one property with numbers, or with strings, leave no value."""
    bounds: dict[tuple[str, str, type], list[tuple[str, int | float | str]]] = {}
    for predicate in predicates:
        match predicate:
            case Comparison(ops=(op,), args=(Property(subject=Variable(name=name), key=key), Literal(value=value))):
                pass
            case Comparison(ops=(op,), args=(Literal(value=value), Property(subject=Variable(name=name), key=key))):
                op = _FLIPPED.get(op, op)
            case _:
                continue
        if op in _FLIPPED and type(value) in (int, float, str):
            kind = str if isinstance(value, str) else float
            bounds.setdefault((name, key, kind), []).append((op, value))
    return any(_empty(each) for each in bounds.values() if len(each) > 1)


def _empty(bounds: list[tuple[str, int | float | str]]) -> bool:
    """Tell whether the bounds, all numbers or all strings, exclude each other in pairs."""
    lower = [(value, op == ">") for op, value in bounds if op in (">", ">=", "=")]
    upper = [(value, op == "<") for op, value in bounds if op in ("<", "<=", "=")]
    return any(
        low > high or (low == high and (above or below))  # type: ignore[operator]
        for low, above in lower
        for high, below in upper
    )
