"""Turns a condition on all relationships or nodes of a walk into a condition on each, checked while walking.

Why: ``MATCH (a)-[r*]->(b) WHERE all(x IN r WHERE x.open)`` then walks only where the condition holds, instead of
giving all walks and dropping most.
When: a conjunct ``all(x IN … WHERE c)``, ``none(x IN … WHERE c)`` or ``NOT any(…)`` over a variable-length
relationship, or over ``relationships(p)`` or ``nodes(p)`` of a path of the same MATCH; ``c`` reads only ``x``. A ``c``
that can fail is put there only tentatively, and not where the input rows give a node of the path.
Wrong for: ``any`` and ``single``; a ``c`` that compares with other variables; relationships that the input rows
give; quantified paths of several relationships, which have a plan of their own; selected paths, which are chosen before
they are filtered.
"""

from __future__ import annotations

from typing import Any

from qengine._frozen import replace
from qengine.optimizer.rules.tree import changes, with_graph
from qengine.plan.expr import Expr
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Match, Operator
from qengine.plan.path_conditions import EachCondition, each_condition
from qengine.plan.pattern import PatternRelationship, QueryGraph


@changes(Match)
def each_element(operator: Operator) -> Operator:
    """Apply the rule to an operator, for conditions that can't fail."""
    return with_graph(operator, conditions_put)


def conditions_put(graph: QueryGraph, tentative: bool = False) -> QueryGraph:
    """Return the query graph with conditions on all elements of walks put at the elements; ``tentative``: all."""
    late: list[Expr] = []
    for predicate in graph.predicates:
        each = each_condition(predicate)
        new = None
        if each is not None and (tentative or not condition_can_fail(each.condition)):
            new = _put(graph, each, tentative)
        if new is None:
            late.append(predicate)
        else:
            graph = new
    return replace(graph, predicates=tuple(late)) if len(late) < len(graph.predicates) else graph


def _put(graph: QueryGraph, each: EachCondition, tentative: bool) -> QueryGraph | None:
    """Return the graph with a condition at the elements of its walk or path, None if it speaks of something else."""
    path = next((path for path in graph.paths if path.name == each.source), None)
    edges = {edge.name: edge for edge in graph.relationships}
    if path is None:
        edge = edges.get(each.source)
        if edge is None or edge.hops is None or edge.bound or edge.repetition or _selected(graph, edge.name):
            return None
        return _changed(graph, {edge.name: _at_hops(edge, each)})
    walked = [edges[name] for name in path.elements[1::2]]
    if path.selector is not None or any(edge.bound or edge.repetition for edge in walked):
        return None
    if each.of == "relationships":
        return _changed(graph, {name: _at_hops(edges[name], each) for name in path.elements[1::2]})
    nodes = {node.name: node for node in graph.nodes}
    if tentative and any(nodes[name].bound for name in path.elements[0::2]):
        return None
    changes: dict[str, Any] = {}
    for name in path.elements[0::2]:
        changes[name] = replace(nodes[name], predicates=(*nodes[name].predicates, *each.on(name)))
    for name in path.elements[1::2]:
        if edges[name].hops is not None:
            changes[name] = replace(edges[name], inner=(*edges[name].inner, *each.on(name)))
    return _changed(graph, changes)


def _selected(graph: QueryGraph, name: str) -> bool:
    return any(name in path.elements for path in graph.paths if path.selector is not None)


def _at_hops(edge: PatternRelationship, each: EachCondition) -> PatternRelationship:
    return replace(edge, predicates=(*edge.predicates, *each.on(edge.name)))


def _changed(graph: QueryGraph, changes: dict[str, Any]) -> QueryGraph:
    return replace(
        graph,
        nodes=tuple(changes.get(node.name, node) for node in graph.nodes),
        relationships=tuple(changes.get(edge.name, edge) for edge in graph.relationships),
    )
