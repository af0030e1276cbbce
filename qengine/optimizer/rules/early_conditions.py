"""Puts conditions that can fail, such as ``10 / n.x > 1``, at the one node or relationship that they speak of.

Why: there they are evaluated once a node, on whole columns, and the search is cut; behind the match they are evaluated
for each row, and rows can't merely be counted.
When: a conjunct that reads one node or plain relationship of the same MATCH and gives the same value each time, or is
such a condition on each element of a walk.
Wrong where the condition fails on some node that the rest of the match excludes: no row would show the error. So a
plan with this rule applied is tentative; executors look at all nodes first, and run the careful plan if one fails.
"""

from __future__ import annotations

from typing import TypeVar

from qengine._frozen import replace
from qengine.optimizer.rules.each_element import conditions_put
from qengine.optimizer.rules.tree import changes
from qengine.plan.expr import Expr
from qengine.plan.logical import Match, Operator
from qengine.plan.pattern import PatternNode, PatternRelationship, QueryGraph
from qengine.plan.traverse import only_variable

Element = TypeVar("Element", PatternNode, PatternRelationship)


@changes(Match)
def early_conditions(operator: Operator) -> Operator:
    """Apply the rule to an operator."""
    if not isinstance(operator, Match):
        return operator
    graph = _early(operator.graph)
    return operator if graph is operator.graph else replace(operator, graph=graph)


def _early(graph: QueryGraph) -> QueryGraph:
    if not graph.predicates:
        return graph
    graph = conditions_put(graph, tentative=True)
    nodes = {node.name: node for node in graph.nodes if not node.bound}
    edges = {edge.name: edge for edge in graph.relationships if not edge.bound and edge.hops is None}
    late: list[Expr] = []
    for predicate in graph.predicates:
        name = only_variable(predicate)
        if name in nodes:
            nodes[name] = _with(nodes[name], predicate)
        elif name in edges:
            edges[name] = _with(edges[name], predicate)
        else:
            late.append(predicate)
    if len(late) == len(graph.predicates):
        return graph
    return replace(
        graph,
        nodes=tuple(nodes.get(node.name, node) for node in graph.nodes),
        relationships=tuple(edges.get(edge.name, edge) for edge in graph.relationships),
        predicates=tuple(late),
    )


def _with(element: Element, predicate: Expr) -> Element:
    return replace(element, predicates=(*element.predicates, predicate))
