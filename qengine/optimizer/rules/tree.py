"""Walks over operator trees and their expressions for rules, and which of these a rule may change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from qengine._deadline import check_planning
from qengine._frozen import replace
from qengine.plan.expr import Expr
from qengine.plan.logical import Filter, Match, Operator, Project, Union
from qengine.plan.pattern import PatternNode, PatternRelationship, QueryGraph

_POLLED = 1024  # nodes between two looks whether to stop

Elements = TypeVar("Elements", tuple[PatternNode, ...], tuple[PatternRelationship, ...])


class Rule(Protocol):
    """Returns an operator changed, or as it is; inputs it has been applied to already.

    ``of``: the operators that it may change. ``reading``: expressions one of which must be in the plan as it was bound;
    none: any will do.
    """

    __name__: str
    of: frozenset[type[Operator]]
    reading: frozenset[type[Expr]]

    def __call__(self, operator: Operator, /) -> Operator:
        """Apply the rule to one operator."""


def changes(
    *operators: type[Operator], reading: tuple[type[Expr], ...] = ()
) -> Callable[[Callable[[Operator], Operator]], Rule]:
    """Make a function a rule that changes these operators alone: a plan without them is not looked through for it."""

    def decorate(function: Any) -> Rule:
        function.of, function.reading = frozenset(operators), frozenset(reading)
        rule: Rule = function
        return rule

    return decorate


def nodes_in(plan: Any) -> list[Any]:
    """Return all nodes of a plan, of operators and expressions, those of subqueries too, and what tuples hold."""
    found = [plan]
    for place, node in enumerate(found):  # which grows meanwhile
        if not place % _POLLED:
            check_planning()
        if type(node) is tuple:
            found += node
        else:  # the items of tuples may be no nodes
            for name in getattr(node, "child_fields", ()):
                if part := getattr(node, name):
                    found.append(part)
    return found


def by_class(nodes: Iterable[Any]) -> dict[type, list[Any]]:
    """Return nodes by their classes."""
    found: dict[type, list[Any]] = {}
    for node in nodes:
        found.setdefault(type(node), []).append(node)
    return found


def reached(operator: Operator) -> dict[type, list[Any]]:
    """Return the operators that ``bottom_up`` comes to, by their classes."""
    found = [operator]
    for each in found:  # which grows meanwhile
        if type(each) is Union:
            found += each.inputs
        elif (below := getattr(each, "input", None)) is not None:
            found.append(below)
    return by_class(found)


def would_change(rule: Rule, found: Mapping[type, Sequence[Operator]]) -> bool:
    """Tell whether a rule changes one of a plan's operators as they are, which ``reached`` has found."""
    for kind in rule.of:
        if kind in found:
            check_planning()
            for each in found[kind]:
                if rule(each) is not each:
                    return True
    return False


def bottom_up(operator: Operator, change: Rule) -> Operator:
    """Return the tree with ``change`` applied to every operator, inputs first. Chains of any length are fine."""
    of = change.of
    check_planning()
    chain: list[Operator] = []
    while (below := getattr(operator, "input", None)) is not None:
        chain.append(operator)
        operator = below
    if isinstance(operator, Union):
        inputs = tuple(bottom_up(each, change) for each in operator.inputs)
        if any(new is not old for new, old in zip(inputs, operator.inputs, strict=True)):
            operator = replace(operator, inputs=inputs)
    new = change(operator) if type(operator) in of else operator
    for above in reversed(chain):
        if new is not above.input:  # type: ignore[attr-defined]
            above = replace(above, input=new)
        new = change(above) if type(above) in of else above
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


def with_graph(operator: Operator, change: Callable[[QueryGraph], QueryGraph]) -> Operator:
    """Return a match with ``change`` applied to its query graph; another operator as it is."""
    if type(operator) is not Match:
        return operator
    graph = change(operator.graph)
    return operator if graph is operator.graph else replace(operator, graph=graph)


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
