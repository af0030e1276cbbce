"""Folds entries with nodes that a value of one of their vertices tells, so that no row is made to look these up.

In ``(a:Person), (c:City) WHERE c.name = a.city`` each ``a`` has one ``c`` at most where names of cities are different:
then a row is an ``a``, and what is read of ``c`` is a value of that. Whether they differ is seen when the query runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from qengine._frozen import replace
from qengine.catalog.view import CatalogView
from qengine.optimizer.labels import vertex_count
from qengine.optimizer.lower.equations import is_simple
from qengine.optimizer.lower.matching_cost import matching_cost
from qengine.optimizer.lower.over_entries import over_entries
from qengine.optimizer.lower.weighed_entries import Counted, Lower, weighed_entries
from qengine.optimizer.rows import estimated_rows
from qengine.optimizer.selectivity import selectivity
from qengine.plan.access import equality
from qengine.plan.expr import AggregateCall, Comparison, Expr, Parameter, Property, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Aggregate, Match
from qengine.plan.pattern import NO_HINTS, MatchMode, PatternNode, QueryGraph
from qengine.plan.physical import AggregateEntries, CarriedByValue
from qengine.plan.traverse import free_variables, only_variable

_ONE = 1.02
"""Nodes of a value, in the mean, where each is expected to be another one's."""
_A_VALUE = 4.0
"""Nanoseconds of finding the node that a vertex carries, and of noting whether there is one."""
_A_ROW = 40.0
"""Nanoseconds of gathering a row's values and adding them to its group."""


def valued_entries(
    aggregate: Aggregate,
    lowered: Aggregate,
    calls: Sequence[AggregateCall],
    rows: Lower,
    counted: Counted,
    catalog: CatalogView,
) -> AggregateEntries | None:
    """Return what folds entries with what they carry by value instead of an aggregate's rows.

    None where there is none, or rows cost less.

    Parameters
    ----------
    aggregate, calls
        The aggregate of one pattern, and the calls that it is computed by.
    lowered
        The aggregate as it is lowered to rows.
    rows, counted
        As ``lower`` and ``counted`` of ``weighed_entries``.
    """
    match = aggregate.input
    assert isinstance(match, Match)
    graph, carried = _without_carried(match.graph, catalog)
    if not carried:
        return None
    budget = matching_cost(lowered.input, catalog)
    budget += _A_ROW * estimated_rows(lowered.input, catalog)[id(lowered.input)]
    budget -= _A_VALUE * catalog.vertex_count * len(carried)
    named = zip((name for name, _ in aggregate.aggregates), calls, strict=True)
    core = replace(aggregate, input=replace(match, graph=graph), aggregates=tuple(named))
    if graph.relationships[1:]:
        weighed = weighed_entries(core, lowered, rows, counted, budget, catalog, valued=carried)
        return None if weighed is None else weighed[0]
    found = over_entries(rows(core, calls), catalog, carried)
    if found is None or found[1] >= budget:
        return None
    return AggregateEntries(lowered, found[0].input, carried=carried)


def _without_carried(graph: QueryGraph, catalog: CatalogView) -> tuple[QueryGraph, tuple[CarriedByValue, ...]]:
    """Return a pattern without the nodes that others carry by a value, and these."""
    bound = any(node.bound for node in graph.nodes) or any(each.bound for each in graph.relationships)
    if bound or graph.paths or graph.hints != NO_HINTS or graph.mode is MatchMode.DIFFERENT_NODES:
        return graph, ()
    if any(map(condition_can_fail, graph.predicates)):
        return graph, ()
    found: list[CarriedByValue] = []
    for predicate in graph.predicates:
        bearers = {each.bearer for each in found}
        for node in graph.nodes:
            carried = None if node.name in bearers else _carried(graph, node, predicate, catalog)
            if carried is not None:
                graph = _without(graph, node, predicate)
                found.append(carried)
                break
    return graph, tuple(found)


def _carried(graph: QueryGraph, node: PatternNode, predicate: Expr, catalog: CatalogView) -> CarriedByValue | None:
    """Return a node as what another one carries by an equation; None where there may be several, or more is asked."""
    asked = equality(predicate, node.name)
    if asked is None or asked.identity or not is_simple(asked.value):
        return None
    bearer = only_variable(asked.value)
    if bearer == node.name or not any(each.name == bearer for each in graph.nodes):
        return None
    if any(node.name in (each.start, each.end) for each in graph.relationships):
        return None
    if any(node.name in free_variables(each) for each in graph.predicates if each is not predicate):
        return None
    if any(map(condition_can_fail, node.predicates)) or catalog.property_type("node", asked.key) is None:
        return None
    one = Comparison(("=",), (Property(Variable(node.name), asked.key), Parameter("")))
    count = vertex_count(catalog, node.labels)
    if not catalog.is_key(asked.key) and count * selectivity((one,), catalog, "node", node.labels) > _ONE:
        return None
    assert bearer is not None
    return CarriedByValue(node.name, node.labels, node.predicates, bearer, asked.key, asked.value)


def _without(graph: QueryGraph, node: PatternNode, predicate: Expr) -> QueryGraph:
    """Return a pattern without a node, and the only predicate that reads it."""
    return replace(
        graph,
        nodes=tuple(each for each in graph.nodes if each is not node),
        predicates=tuple(each for each in graph.predicates if each is not predicate),
        parts=tuple(part - {node.name} for part in graph.parts),
    )
