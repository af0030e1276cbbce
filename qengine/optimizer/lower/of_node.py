"""Finds what subqueries of one node give for all nodes at once, so that the node is asked for it like for a property.

``WHERE EXISTS { (a)-->(x {p: 1}) }`` asks the same of an ``a`` in whatever row it comes. Applied to rows it is asked
behind the match, of all that this binds; as a condition on ``a`` alone it cuts the match's candidates, and the match is
folded or eliminated as with other conditions.
"""

from __future__ import annotations

from functools import partial

from qengine._frozen import replace
from qengine.catalog.view import CatalogView
from qengine.optimizer.lower.demand import Demand, Duplicates
from qengine.optimizer.lower.matching_cost import matching_cost
from qengine.optimizer.rules import rewritten
from qengine.plan.expr import Expr, OfNode, Subquery, Variable
from qengine.plan.fallible import can_fail, condition_can_fail
from qengine.plan.logical import Argument, Filter, Match, Operator, Project, Unit
from qengine.plan.pattern import NO_HINTS, PatternNode, QueryGraph
from qengine.plan.predicates import both, placed
from qengine.plan.traverse import free_variables, is_repeatable, preorder, substitute
from qengine.types import NODE

_MOST_HOPS = 3
_MOST_COUNTED_HOPS = 2  # numbers of more could exceed 64 bits for a node of which none is asked


class _NotAlone(Exception):
    """The subquery can't be found for all nodes at once."""


def has_subqueries(graph: QueryGraph) -> bool:
    """Tell whether a pattern's conditions have subqueries that may be found for all nodes at once."""
    return graph.hints == NO_HINTS and any(
        type(part) is Subquery for predicate in graph.predicates for part in preorder(predicate)
    )


def each_node_once(graph: QueryGraph, catalog: CatalogView) -> QueryGraph:
    """Return a pattern with subqueries of one of its new nodes as conditions on that; as it is where none can be."""
    found = graph
    for predicate in graph.predicates:
        if not any(type(part) is Subquery for part in preorder(predicate)) or condition_can_fail(predicate):
            continue
        names = free_variables(predicate)
        node = next((each for each in graph.nodes if names == {each.name} and not each.bound), None)
        if node is None:
            continue
        try:
            condition = substitute(predicate, partial(_of_node, node=node, catalog=catalog))
        except _NotAlone:
            continue
        if is_repeatable(condition):
            found = replace(found, predicates=tuple(each for each in found.predicates if each is not predicate))
            found = placed(found, condition)
    return found


def _of_node(expr: Expr, node: PatternNode, catalog: CatalogView) -> OfNode | None:
    """Return a subquery of a node as what is found for all nodes like it; None for other expressions."""
    if not isinstance(expr, Subquery):
        return None
    if expr.kind == "collect" or expr.outer != (node.name,) or can_fail(expr):
        raise _NotAlone
    plan = rewritten(expr.plan)
    while isinstance(plan, Project):
        plan = plan.input
    plan, hops = _freed(plan, node)
    if hops > (_MOST_HOPS if expr.kind == "exists" else _MOST_COUNTED_HOPS):
        raise _NotAlone
    from qengine.optimizer.lower.tail import lower

    duplicates = Duplicates.IGNORE if expr.kind == "exists" else Duplicates.COUNT
    lowered = lower(rewritten(plan), Demand(frozenset((node.name,)), duplicates), catalog)
    cost = matching_cost(lowered.root, catalog)
    subject = Variable(node.name, type=NODE)
    return OfNode(
        expr.kind, subject, lowered.root, node.name, lowered.weight, cost, type=expr.type, span=expr.span
    )  # fmt: skip


def _freed(plan: Operator, node: PatternNode) -> tuple[Operator, int]:
    """Return the plan over every node like ``node`` in place of the argument, and its number of hops.

    Raises
    ------
    _NotAlone
        If anything but matches of fixed length, and conditions, stands above the argument.
    """
    match plan:
        case Filter(predicate=predicate) if is_repeatable(predicate):
            below, hops = _freed(plan.input, node)
            return replace(plan, input=below), hops
        case Match(optional=False, graph=graph) if _is_plain(graph):
            if isinstance(plan.input, Argument):
                own = next((each for each in graph.nodes if each.name == node.name), None)
                if own is None:
                    raise _NotAlone
                labels, predicates = both(node.labels, own.labels), (*node.predicates, *own.predicates)
                freed = replace(own, labels=labels, predicates=predicates, bound=False)
                nodes = tuple(freed if each is own else each for each in graph.nodes)
                return Match(Unit(), replace(graph, nodes=nodes)), len(graph.relationships)
            below, hops = _freed(plan.input, node)
            return replace(plan, input=below), hops + len(graph.relationships)
    raise _NotAlone


def _is_plain(graph: QueryGraph) -> bool:
    edges = graph.relationships
    return (
        not graph.paths
        and graph.hints == NO_HINTS
        and all(map(is_repeatable, graph.predicates))
        and all(each.hops is None and each.chain is None and not each.bound for each in edges)
    )
