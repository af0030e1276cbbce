"""Splits chains of comparisons: ``1 < n.x < 5`` is ``1 < n.x AND n.x < 5``.

Why: each half can go where it reads, to a column or into the search, and other rules look for single comparisons.
When: a conjunct that can't fail, whose inner operands are variables, constants, parameters or properties.
Wrong for: chains below ``NOT`` or in a result, which may be null; inner operands that change or take long, which would
be evaluated twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import pairwise
from typing import TypeVar

from qengine._frozen import replace
from qengine.optimizer.rules.tree import changes
from qengine.plan.expr import Comparison, Expr
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Filter, Match, Operator
from qengine.plan.pattern import PatternNode, PatternRelationship
from qengine.plan.predicates import is_cheap, placed
from qengine.plan.traverse import conjunction, conjuncts

Element = TypeVar("Element", PatternNode, PatternRelationship)


@changes(Filter, Match)
def split_chains(operator: Operator) -> Operator:
    """Apply the rule to one operator."""
    match operator:
        case Filter(predicate=predicate):
            parts = conjuncts(predicate)
            if any(map(_splits, parts)):
                return replace(operator, predicate=conjunction(tuple(_split(parts))))
        case Match(graph=graph):
            chains = [each for each in graph.predicates if _splits(each)]
            elements: list[PatternNode | PatternRelationship] = [*graph.nodes, *graph.relationships]
            if chains or any(map(_splits, (each for element in elements for each in element.predicates))):
                graph = replace(
                    graph,
                    nodes=tuple(map(_element, graph.nodes)),
                    relationships=tuple(map(_element, graph.relationships)),
                    predicates=tuple(each for each in graph.predicates if each not in chains),
                )
                return replace(operator, graph=reduce(placed, reversed([*_split(chains)]), graph))
    return operator


def _element(element: Element) -> Element:
    return replace(element, predicates=tuple(_split(element.predicates)))


def _splits(predicate: Expr) -> bool:
    return (
        isinstance(predicate, Comparison)
        and len(predicate.ops) > 1
        and all(map(is_cheap, predicate.args[1:-1]))
        and not condition_can_fail(predicate)
    )


def _split(predicates: Iterable[Expr]) -> Iterator[Expr]:
    for predicate in predicates:
        if isinstance(predicate, Comparison) and _splits(predicate):
            for op, args in zip(predicate.ops, pairwise(predicate.args), strict=True):
                yield replace(predicate, ops=(op,), args=args)
        else:
            yield predicate
