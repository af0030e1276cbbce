"""Computes what is constant in conditions, and simplifies AND and OR by it.

Why: a condition that is always true costs nothing, one that is never true makes its match empty (``contradictions``),
and ``n.age > 60 + 5`` compares a column with a number.
When: operands are literals of one type, or numbers, and the result is a value: an integer overflow is left to fail
when run, and so are divisions by zero; floats are folded as far as results are finite and not zero, whose sign counts.
Wrong for: values of different types, whose comparison is left to the executors; powers, whose last bit may differ.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from qengine._frozen import replace
from qengine.optimizer.rules.tree import changes
from qengine.plan.constants import FALSE, TRUE, fold
from qengine.plan.expr import Expr, Literal
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Filter, Match, Operator
from qengine.plan.predicates import placed
from qengine.plan.traverse import conjuncts


@changes(Filter, Match)
def fold_constants(operator: Operator) -> Operator:
    """Apply the rule to one operator; a filter that is always true goes."""
    if isinstance(operator, Filter):
        predicate = fold(operator.predicate)
        if predicate == TRUE:
            return operator.input
        return operator if predicate is operator.predicate else replace(operator, predicate=predicate)
    if isinstance(operator, Match):
        graph = operator.graph
        nodes = tuple(_folded(node) if node.predicates else node for node in graph.nodes)
        relationships = tuple(_folded(edge) if edge.predicates else edge for edge in graph.relationships)
        predicates = _conditions(graph.predicates)
        if (
            predicates is not graph.predicates
            or any(new is not old for new, old in zip(nodes, graph.nodes, strict=True))
            or any(new is not old for new, old in zip(relationships, graph.relationships, strict=True))
        ):
            early = [each for each in predicates if not condition_can_fail(each)]
            late = tuple(each for each in predicates if each not in early)
            graph = replace(graph, nodes=nodes, relationships=relationships, predicates=late)
            return replace(operator, graph=reduce(placed, reversed(early), graph))
    return operator


def _folded(element: Any) -> Any:
    predicates = _conditions(element.predicates)
    return element if predicates is element.predicates else replace(element, predicates=predicates)


def _conditions(predicates: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Return conjuncts without those that are true; null counts as false, as nothing else is kept."""
    if not predicates:
        return predicates
    kept: list[Expr] = []
    changed = False
    for predicate in predicates:
        folded = fold(predicate)
        if isinstance(folded, Literal) and folded.value is None:
            folded = FALSE
        changed = changed or folded is not predicate
        if folded != TRUE:
            kept += conjuncts(folded)
    return tuple(kept) if changed or len(kept) != len(predicates) else predicates
