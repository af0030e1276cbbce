"""Relationships that earlier clauses give: a search finds others in their places, which must then be the same."""

from __future__ import annotations

from qengine._frozen import replace
from qengine.optimizer.pattern_edges import SAME
from qengine.plan.expr import Variable
from qengine.plan.pattern import PatternRelationship, QueryGraph
from qengine.plan.traverse import substitute
from qengine.types import RELATIONSHIP

__all__ = ["renamed"]


def renamed(graph: QueryGraph) -> QueryGraph:
    """Search relationships that the input gives under a name of their own, to compare them afterwards."""
    if not any(edge.bound for edge in graph.relationships):
        return graph
    edges = tuple(_renamed_edge(edge) if edge.bound else edge for edge in graph.relationships)
    return replace(graph, relationships=edges)


def _renamed_edge(edge: PatternRelationship) -> PatternRelationship:
    name = SAME + edge.name
    here = Variable(name, type=RELATIONSHIP)
    predicates = tuple(
        substitute(each, lambda expr: here if isinstance(expr, Variable) and expr.name == edge.name else None)
        for each in edge.predicates
    )
    return replace(edge, name=name, predicates=predicates)
