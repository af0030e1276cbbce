"""Puts conditions that can fail, such as ``10 / n.x > 1``, at the one node or relationship that they speak of.

Why: there they are evaluated once a node, on whole columns, and the search is cut; behind the match they are evaluated
for each row, and rows can't merely be counted.
When: a conjunct that reads one node or plain relationship of the same MATCH and gives the same value each time, or is
such a condition on each element of a walk. Of what compares two elements of a match of several relationships, each side
is put at its element as a value that must be there: an elimination may then evaluate it for all of these.
Wrong where the condition fails on some node that the rest of the match excludes: no row would show the error. So a
plan with this rule applied is tentative; executors look at all nodes first, and run the careful plan if one fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from qengine._frozen import replace
from qengine.optimizer.rules.each_element import conditions_put
from qengine.optimizer.rules.tree import changes, with_graph
from qengine.plan.expr import Call, Comparison, Expr
from qengine.plan.fallible import can_fail
from qengine.plan.logical import Match, Operator
from qengine.plan.pattern import PatternNode, PatternRelationship, QueryGraph
from qengine.plan.traverse import comparisons_in, only_variable
from qengine.types import BOOLEAN

Element = TypeVar("Element", PatternNode, PatternRelationship)


@changes(Match)
def early_conditions(operator: Operator) -> Operator:
    """Apply the rule to an operator."""
    return with_graph(operator, _early)


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
    there = _values_there(graph, late) if len(graph.relationships) > 1 else []
    for name, condition in there:
        if name in nodes and condition not in nodes[name].predicates:
            nodes[name] = _with(nodes[name], condition)
        elif name in edges and condition not in edges[name].predicates:
            edges[name] = _with(edges[name], condition)
    if len(late) == len(graph.predicates) and not there:
        return graph
    return replace(
        graph,
        nodes=tuple(nodes.get(node.name, node) for node in graph.nodes),
        relationships=tuple(edges.get(edge.name, edge) for edge in graph.relationships),
        predicates=tuple(late),
    )


def _values_there(graph: QueryGraph, predicates: Sequence[Expr]) -> list[tuple[str, Expr]]:
    """Return for sides of comparisons that may fail that they must not be null, with the names of their elements.

    None where the input rows give nodes, or an element has conditions, by which few may be found.
    """
    elements: dict[str | None, PatternNode | PatternRelationship] = {node.name: node for node in graph.nodes}
    elements |= {edge.name: edge for edge in graph.relationships}
    if any(node.bound for node in graph.nodes) or any(edge.hops is not None for edge in graph.relationships):
        return []
    found: list[tuple[str, Expr]] = []
    for each in (part for predicate in predicates for part in comparisons_in(predicate)):
        names = [only_variable(side) for side in each.args] if isinstance(each, Comparison) else []
        if not isinstance(each, Comparison) or len(set(names)) < 2 or not all(name in elements for name in names):
            continue
        failing = [(str(name), side) for name, side in zip(names, each.args, strict=True) if can_fail(side)]
        if not any(elements[name].predicates for name, _ in failing):
            found += [(name, Call("IS NOT NULL", (side,), type=BOOLEAN)) for name, side in failing]
    return found


def _with(element: Element, predicate: Expr) -> Element:
    return replace(element, predicates=(*element.predicates, predicate))
