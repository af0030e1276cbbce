"""Conditions that a relationship is there between two nodes of a match, or that none is.

``EXISTS {(a)-[:R]->(b)}`` of two nodes that at most one relationship joins that way is a relationship more of the
pattern, which need not differ from the others. ``NOT EXISTS {…}`` is asked of an elimination: counted are all
embeddings less those with the relationship.
"""

from __future__ import annotations

from collections.abc import Collection

from qengine._frozen import frozen, replace
from qengine.catalog.view import CatalogView
from qengine.optimizer.labels import satisfying_sets
from qengine.optimizer.pattern_edges import PatternEdge, pattern_edge
from qengine.optimizer.rules import rewritten
from qengine.plan.expr import Call, Expr, Subquery
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Argument, Match
from qengine.plan.pattern import MatchMode, PatternRelationship, QueryGraph

_MOST_ABSENT = 2  # each is a sign more: twice the terms


@frozen
class AbsentLink:
    """The condition that no relationship is there, as it was written, and that relationship."""

    condition: Expr
    edge: PatternEdge


def with_links(graph: QueryGraph, catalog: CatalogView) -> QueryGraph:
    """Return a match with the relationships that its conditions ask for in its pattern."""
    if graph.hints.as_written or not _is_plain(graph):
        return graph
    for condition in graph.predicates:
        if (link := _link(condition, graph, catalog)) is None:
            continue
        others = tuple(each for each in graph.predicates if each is not condition)
        names = (*(node.name for node in graph.nodes), *(edge.name for edge in graph.relationships))
        graph = replace(
            graph,
            relationships=(*graph.relationships, link),
            predicates=others,
            parts=(*(graph.parts or (frozenset(names),)), frozenset((link.name, link.start, link.end))),
        )
    return graph


def absent_links(conditions: Collection[Expr], graph: QueryGraph, catalog: CatalogView) -> tuple[AbsentLink, ...]:
    """Return the relationships that must not be there between nodes of a match, few enough to be counted with signs."""
    found = []
    for condition in conditions:
        if isinstance(condition, Call) and condition.name == "NOT":
            link = _link(condition.args[0], graph, catalog)
            if link is not None:
                found.append(AbsentLink(condition, pattern_edge(catalog, link)))
    return tuple(found) if len(found) <= _MOST_ABSENT else ()


def _is_plain(graph: QueryGraph) -> bool:
    """Tell whether a match has relationships of one hop alone."""
    return all(edge.hops is None for edge in graph.relationships) and all(path.selector is None for path in graph.paths)


def _link(condition: Expr, graph: QueryGraph, catalog: CatalogView) -> PatternRelationship | None:
    """Return the relationship that a condition asks for between two nodes of a match; None where it asks for more."""
    if not isinstance(condition, Subquery) or condition.kind != "exists":
        return None
    plan = rewritten(condition.plan)
    if not isinstance(plan, Match) or not isinstance(plan.input, Argument) or plan.optional:
        return None
    asked = plan.graph
    if len(asked.relationships) != 1 or asked.predicates or asked.paths or asked.mode is MatchMode.DIFFERENT_NODES:
        return None
    (edge,) = asked.relationships
    if edge.bound or edge.hops is not None or any(map(condition_can_fail, edge.predicates)):
        return None
    if edge.name in {each.name for each in graph.relationships} or {edge.start, edge.end} != {
        node.name for node in asked.nodes
    }:
        return None
    known = {node.name: node for node in graph.nodes}
    for node in asked.nodes:
        if not node.bound or node.name not in known or node.predicates:
            return None
        if node.labels is not None:
            here, there = (satisfying_sets(catalog, each.labels) for each in (known[node.name], node))
            if here & ~there:
                return None
    found = pattern_edge(catalog, edge)
    return None if found.multiple or not found.types else edge
