"""Walks over operator trees and their expressions for rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from qengine._deadline import check_planning
from qengine.plan.expr import Expr
from qengine.plan.logical import Filter, Match, Operator, Project, Union
from qengine.plan.pattern import PatternNode, PatternRelationship

__all__ = ["bottom_up", "with_expressions"]

Elements = TypeVar("Elements", tuple[PatternNode, ...], tuple[PatternRelationship, ...])


def bottom_up(operator: Operator, change: Callable[[Operator], Operator]) -> Operator:
    """Return the tree with ``change`` applied to every operator, inputs first. Chains of any length are fine."""
    check_planning()
    chain: list[Operator] = []
    while (below := getattr(operator, "input", None)) is not None:
        chain.append(operator)
        operator = below
    if isinstance(operator, Union):
        inputs = tuple(bottom_up(each, change) for each in operator.inputs)
        if any(new is not old for new, old in zip(inputs, operator.inputs, strict=True)):
            operator = replace(operator, inputs=inputs)
    new = change(operator)
    for above in reversed(chain):
        new = change(above if new is above.input else replace(above, input=new))  # type: ignore[attr-defined, call-arg]
    return new


def with_expressions(operator: Operator, change: Callable[[Expr], Expr]) -> Operator:
    """Return an operator with ``change`` applied to the conditions of filters and matches, and to projections."""
    match operator:
        case Filter(predicate=predicate):
            new = change(predicate)
            return operator if new is predicate else replace(operator, predicate=new)
        case Project(items=items):
            changed = tuple((name, change(expr)) for name, expr in items)
            same = all(one is other for (_, one), (_, other) in zip(changed, items, strict=True))
            return operator if same else replace(operator, items=changed)
        case Match(graph=graph):
            nodes, edges = _each(graph.nodes, change), _each(graph.relationships, change)
            predicates = _all(graph.predicates, change)
            if nodes is graph.nodes and edges is graph.relationships and predicates is graph.predicates:
                return operator
            graph = replace(graph, nodes=nodes, relationships=edges, predicates=predicates)
            return replace(operator, graph=graph)
    return operator


def _each(elements: Elements, change: Callable[[Expr], Expr]) -> Elements:
    """Return nodes or relationships with their conditions changed."""
    if not any(element.predicates for element in elements):
        return elements
    changed = []
    for element in elements:
        predicates = _all(element.predicates, change)
        changed.append(element if predicates is element.predicates else replace(element, predicates=predicates))
    same = all(one is other for one, other in zip(changed, elements, strict=True))
    return elements if same else tuple(changed)


def _all(exprs: tuple[Expr, ...], change: Callable[[Expr], Expr]) -> tuple[Expr, ...]:
    changed = tuple(map(change, exprs))
    return exprs if all(one is other for one, other in zip(changed, exprs, strict=True)) else changed
