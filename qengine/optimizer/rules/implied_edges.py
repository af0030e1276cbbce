"""Leaves out a relationship to a node of which nothing is read, if another relationship of the pattern implies it.

Why: in ``MATCH (a)-[:R]->(b) MATCH (a)-[:R]->(c) RETURN DISTINCT b`` whatever is found for ``b`` will do for ``c``.
When: equal rows count once; neither the relationship nor its far end is read, and the end has no other relationship and
no condition but labels; another relationship leaves the same node in the same direction, for the same types or fewer of
them, and ends at a node with the same labels; the two may be the same one.
Wrong for: two relationships of one ``MATCH`` that must differ; ``count(*)``, which counts each pair.
"""

from __future__ import annotations

from qengine._frozen import replace
from qengine.optimizer.rules.duplicates import below_distinct
from qengine.optimizer.rules.tree import changes
from qengine.plan.logical import Aggregate, Distinct, Match, Operator
from qengine.plan.pattern import Direction, LabelExpr, MatchMode, PatternNode, PatternRelationship, QueryGraph, names_in
from qengine.plan.traverse import free_variables


@changes(Aggregate, Distinct)
def implied_edges(operator: Operator) -> Operator:
    """Apply the rule below one operator."""
    return below_distinct(operator, _without, lambda match: len(match.graph.relationships) > 1)


def _without(operator: Match, needed: frozenset[str]) -> Operator:
    graph = operator.graph
    if operator.optional or graph.mode is MatchMode.DIFFERENT_NODES:
        return operator
    read = needed.union(*map(free_variables, graph.predicates), *(path.elements for path in graph.paths))
    while (found := _implied(graph, read)) is not None:
        graph = _dropped(graph, *found)
    return operator if graph is operator.graph else replace(operator, graph=graph)


def _implied(graph: QueryGraph, read: frozenset[str]) -> tuple[str, str] | None:
    """Return a relationship that another one implies, and its far end."""
    nodes = {node.name: node for node in graph.nodes}
    for edge in graph.relationships:
        if edge.hops is not None or edge.bound or edge.predicates or edge.name in read or _must_differ(edge, graph):
            continue
        for near, far in ((edge.start, edge.end), (edge.end, edge.start)):
            end = nodes[far]
            if near == far or end.bound or end.predicates or far in read or _degree(graph, far) > 1:
                continue
            if any(_implies(other, edge, near, nodes) for other in graph.relationships if other is not edge):
                return edge.name, far
    return None


def _must_differ(edge: PatternRelationship, graph: QueryGraph) -> bool:
    return graph.mode is not MatchMode.REPEATABLE_ELEMENTS and any(
        graph.together(edge.name, other.name) for other in graph.relationships if other is not edge
    )


def _degree(graph: QueryGraph, name: str) -> int:
    return sum(name in (edge.start, edge.end) for edge in graph.relationships)


def _implies(other: PatternRelationship, edge: PatternRelationship, near: str, nodes: dict[str, PatternNode]) -> bool:
    """Tell whether a match of ``other`` is always one of ``edge`` too, with ``near`` at the same end."""
    if other.hops is not None or near not in (other.start, other.end):
        return False
    if not _type_implies(other.types, edge.types):
        return False
    if edge.direction is not Direction.BOTH and (
        other.direction is Direction.BOTH or (other.start == near) != (edge.start == near)
    ):
        return False
    far, wanted = other.end if other.start == near else other.start, edge.end if edge.start == near else edge.start
    return nodes[wanted].labels in (None, nodes[far].labels)


def _type_implies(one: LabelExpr | None, other: LabelExpr | None) -> bool:
    """Tell whether each type that satisfies an expression satisfies the other, too."""
    if other is None or one == other:
        return True
    names = {*names_in(one), *names_in(other), ""} if one is not None else {*names_in(other), ""}
    types = [frozenset((name,)) for name in names]
    return all(other.admits(each) for each in types if one is None or one.admits(each))


def _dropped(graph: QueryGraph, edge: str, node: str) -> QueryGraph:
    parts = (part - {edge, node} for part in graph.parts)
    return replace(
        graph,
        nodes=tuple(each for each in graph.nodes if each.name != node),
        relationships=tuple(each for each in graph.relationships if each.name != edge),
        parts=tuple(part for part in parts if part),
    )
