"""Lowers aggregates of one relationship of a pattern: matches are counted by its ends, which tell it.

``(a)-[k]->(b)<-[]-(c) WHERE a.city = c.city`` has many matches, and few pairs a, b. Where no two relationships of k's
type join the same nodes, a and b tell which one k is: an elimination counts the matches by them, k is looked up for
each pair, and counts as often. What is read of it and its ends is then of far fewer rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from qengine._frozen import replace
from qengine.catalog.view import CatalogView
from qengine.optimizer.labels import matching_types
from qengine.optimizer.lower.by_node import cost_of_rows, counted_by
from qengine.optimizer.lower.demand import Demand, Duplicates
from qengine.optimizer.lower.members import GivenRows, lower_match
from qengine.optimizer.lower.weighed_entries import is_plain
from qengine.plan.expr import AggregateCall
from qengine.plan.folding import WEIGHED
from qengine.plan.logical import Aggregate, Match, Operator, Unit
from qengine.plan.pattern import Direction, PatternNode, PatternRelationship
from qengine.plan.traverse import free_variables, is_repeatable

_LEAST = 1e7
"""Nanoseconds that rows must cost for another way to be looked at."""
_A_PAIR = 100.0
"""Nanoseconds of handing on a pair, and of looking its relationship up."""


def by_ends(
    aggregate: Aggregate, calls: Sequence[AggregateCall], lowered: Operator, catalog: CatalogView
) -> Aggregate | None:
    """Return an aggregate over a relationship with how often it counts; None where that isn't told, or costs more.

    ``calls``: the aggregates as they are computed; ``lowered``: the aggregate as it is lowered otherwise.
    """
    match = aggregate.input
    if not isinstance(match, Match) or match.optional or not isinstance(match.input, Unit):
        return None
    if not isinstance(lowered, Aggregate) or cost_of_rows(lowered.input, catalog) < _LEAST or not is_plain(match.graph):
        return None
    if not all(call.distinct or call.name in WEIGHED for call in calls):
        return None
    exprs = [*(expr for _, expr in aggregate.keys), *(arg for call in calls for arg in call.args)]
    read = frozenset[str]().union(*map(free_variables, exprs))
    edge = _only_relationship(match, read)
    if edge is None or not all(map(is_repeatable, exprs)) or not _told_by_ends(edge, catalog):
        return None
    ends = (edge.start, edge.end)
    budget = cost_of_rows(lowered.input, catalog)
    program = counted_by(match, ends, None, budget, catalog)
    if program is None or program.count is None or program.searches or program.schedule("cpu") is None:
        return None
    if cost_of_rows(program, catalog) + _A_PAIR * (program.search.rows or 0.0) >= budget:
        return None
    nodes = tuple(PatternNode(end, bound=True) for end in ends)
    graph = replace(match.graph, nodes=nodes, relationships=(replace(edge, predicates=()),), predicates=(), parts=())
    given = GivenRows(program, (*ends, program.count), program.count)
    found = lower_match(graph, catalog, Demand(read, Duplicates.COUNT), given)
    named = zip((name for name, _ in aggregate.aggregates), calls, strict=True)
    return Aggregate(found.root, aggregate.keys, tuple(named), found.weight)


def _only_relationship(match: Match, read: frozenset[str]) -> PatternRelationship | None:
    """Return the one relationship that is read, if nothing is but that and its ends."""
    edges = [each for each in match.graph.relationships if each.name in read]
    if len(edges) != 1 or not read <= {edges[0].name, edges[0].start, edges[0].end}:
        return None
    return edges[0]


def _told_by_ends(edge: PatternRelationship, catalog: CatalogView) -> bool:
    """Tell whether two nodes have at most one such relationship, from the first to the second."""
    types = matching_types(catalog, edge.types)
    if len(types) != 1 or edge.start == edge.end or edge.direction is not Direction.OUT:
        return False
    return not types[0].parallel and not types[0].undirected
