"""Makes one match of a match and the one that feeds it.

Why: one query graph has one matching order, best over all clauses, and what is only counted is counted at once, where
a match on each row of another one can only go on from what that found.
When: both have the same mode and only relationships of fixed length; relationships need not differ across them
(``QueryGraph.parts``). A ``Project`` between them that only drops columns goes: what is above drops them anyway.
Wrong for: ``OPTIONAL MATCH``; shortest paths, selected before the next match; relationships given by the first match,
which the second only tests; patterns too large to be searched as one.
"""

from __future__ import annotations

from qengine._frozen import replace
from qengine.optimizer.rules.tree import changes
from qengine.plan.expr import Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Match, Operator, Project
from qengine.plan.pattern import PatternNode, QueryGraph
from qengine.plan.predicates import both

_ELEMENTS = 30


@changes(Match)
def merge_matches(operator: Operator) -> Operator:
    """Apply the rule to one operator, whose input it has been applied to."""
    if not isinstance(operator, Match) or operator.optional:
        return operator
    below = operator.input
    while isinstance(below, Project) and _only_drops(below):
        below = below.input
    if not isinstance(below, Match) or below.optional or not _can_merge(below.graph, operator.graph):
        return operator
    return Match(below.input, _merged(below.graph, operator.graph))


def _only_drops(operator: Project) -> bool:
    return all(isinstance(expr, Variable) and expr.name == name for name, expr in operator.items)


def _can_merge(first: QueryGraph, second: QueryGraph) -> bool:
    relationships = (*first.relationships, *second.relationships)
    return (
        first.mode is second.mode
        and len(first.nodes) + len(second.nodes) + len(relationships) <= _ELEMENTS
        and all(edge.hops is None for edge in relationships)
        and all(path.selector is None for path in (*first.paths, *second.paths))
        and not any(edge.bound for edge in second.relationships)
    )


def _merged(first: QueryGraph, second: QueryGraph) -> QueryGraph:
    nodes = {node.name: node for node in first.nodes}
    for node in second.nodes:
        nodes[node.name] = _same_node(nodes[node.name], node) if node.name in nodes else node
    return QueryGraph(
        tuple(nodes.values()),
        (*first.relationships, *second.relationships),
        (*first.paths, *second.paths),
        tuple(sorted((*first.predicates, *second.predicates), key=condition_can_fail)),
        first.mode,
        (*_parts(first), *_parts(second)),
        first.hints,
        second.span if first.span is None or second.span is None else first.span.to(second.span),
    )


def _same_node(first: PatternNode, second: PatternNode) -> PatternNode:
    labels = both(first.labels, second.labels)
    return replace(first, labels=labels, predicates=(*first.predicates, *second.predicates))


def _parts(graph: QueryGraph) -> tuple[frozenset[str], ...]:
    names = (*(node.name for node in graph.nodes), *(edge.name for edge in graph.relationships))
    return graph.parts or (frozenset(names),)
