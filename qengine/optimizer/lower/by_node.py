"""Lowers an ``Aggregate`` over one pattern to sums by a node, so that no row is made to be grouped.

Where keys depend on one node and each argument on one node, sums, averages and counts of a group are sums over that
node's vertices of what elimination gives by vertex: the embeddings, and for each other node the embeddings weighted by
its values. Different, least and greatest values are found in rows of counts by two nodes, which are not kept; of a
single group by each node alone.
(Abo Khamis, Ngo and Rudra 2016: the same program over another semiring; here values are scaled to integers, so that the
terms of inclusion and exclusion cancel exactly.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import inf

from qengine._frozen import replace
from qengine.catalog.costs import costs
from qengine.catalog.view import CatalogView
from qengine.optimizer.lower.by_classes import by_classes
from qengine.optimizer.lower.demand import Demand, Duplicates
from qengine.optimizer.lower.kernel_hints import check_kernels
from qengine.optimizer.lower.match import MatchLowering
from qengine.optimizer.lower.match_state import Purpose
from qengine.optimizer.lower.matching_cost import matching_cost
from qengine.optimizer.lower.over_entries import SETUP, over_entries
from qengine.optimizer.lower.valued_entries import valued_entries
from qengine.optimizer.lower.weighed_entries import Lower, weighed_entries
from qengine.optimizer.rows import estimated_rows
from qengine.optimizer.selectivity import selectivity
from qengine.plan.expr import AggregateCall, Expr
from qengine.plan.folding import folded_variables
from qengine.plan.logical import Aggregate, Filter, Match, Operator, Project, Unit
from qengine.plan.pattern import Direction, LabelIs, LabelOr
from qengine.plan.physical import (
    AggregateByNode,
    EdgeLevel,
    Eliminate,
    HashJoin,
    NodePairs,
    NodeSums,
    Search,
    ThetaJoin,
)
from qengine.plan.traverse import free_variables, is_repeatable, operators

_SUMMED = frozenset({"count", "sum", "avg"})
_EXTREMES = frozenset({"min", "max"})
_LEAST = 1.5e6
"""Nanoseconds that rows must cost for more ways to be looked at."""
_OF_PARTS = (Search, Eliminate, HashJoin, ThetaJoin, Filter, Project, Unit)
_A_ROW = 40.0
"""Nanoseconds of gathering a row's values and adding them to its group."""
_A_FOLDED_ROW = 10.0
"""The same, of rows that are folded where they are found, which nobody writes."""
_RELATIONSHIP = 15.0
"""Nanoseconds of finding a relationship between two nodes and testing its conditions, beside what the model knows."""
_LEAST_SHARE = 1e-6
_FOLDED = 0.25
"""What finding the values at pairs takes, of what writing the pairs and handing them on does: an eighth to a fifth."""


def by_node(aggregate: Aggregate, calls: Sequence[AggregateCall], rows: Lower, catalog: CatalogView) -> Operator:
    """Return the operator that an aggregate is lowered to: what ``rows`` returns, where these cost less.

    ``calls``: the aggregates as they are computed.
    """

    def lower(each: Aggregate) -> Aggregate:
        return rows(each, calls)

    match = aggregate.input
    if not isinstance(match, Match) or match.optional or not isinstance(match.input, Unit):
        return lower(aggregate)
    graph = match.graph
    hinted = graph.hints.eliminates
    lowered = lower(_unhinted(aggregate, match) if hinted else aggregate)
    by_end = partial(_counted_by_one, catalog=catalog)
    if (with_carried := valued_entries(aggregate, lowered, calls, rows, by_end, catalog)) is not None:
        return with_carried
    budget = inf if hinted else cost_of_rows(lowered.input, catalog)
    otherwise: Operator = lowered
    keys = [expr for _, expr in aggregate.keys]
    found = _nodes(keys, calls, {node.name for node in graph.nodes})
    if not graph.hints.strategy and (entries := over_entries(lowered, catalog)) is not None and entries[1] < budget:
        otherwise, budget = entries
    elif not graph.hints.strategy and (budget := budget - _spared(lowered)) >= _LEAST:
        named = zip((name for name, _ in aggregate.aggregates), calls, strict=True)
        asked = replace(aggregate, aggregates=tuple(named))
        apart = found is None or bool(found[2])  # others are sums by a node as they are
        if (weighed := weighed_entries(asked, lowered, rows, by_end, budget, catalog, sums=apart)) is not None:
            otherwise, budget = weighed
    classed = None
    if not graph.hints.strategy and budget >= _LEAST:
        summing = partial(_valued_by_one, match, catalog=catalog)
        if (classed := by_classes(match, lowered, summing, budget, catalog)) is not None:
            otherwise, budget = classed
    if found is None:
        return lower(aggregate) if hinted else otherwise
    node, summed, met = found
    grouped = any(map(free_variables, keys))
    if met and grouped and classed is not None:  # which took less than to make the pairs and to fold them
        return otherwise
    programs: list[Eliminate] = []
    for emit, valued in _asked(node, summed, met, grouped):
        program = counted_by(match, emit, valued, budget / (_FOLDED if len(emit) > 1 else 1.0), catalog)
        if program is None or sum(map(_cost, (*programs, program))) >= budget:
            return lower(aggregate) if hinted else otherwise
        programs.append(program)
    check_kernels(graph.hints, (schedule for program in programs for schedule in program.schedules))
    counts, sums, pairs = programs[0], programs[1 : len(summed) + 1], programs[len(summed) + 1 :]
    labels = {each.name: each.labels for each in graph.nodes}
    by_sums = (NodeSums(each, labels[each], program) for each, program in zip(summed, sums, strict=True))
    by_pairs = (NodePairs(each, labels[each], program) for each, program in zip(met, pairs, strict=True))
    return AggregateByNode(lowered, node, counts, tuple(by_sums), tuple(by_pairs))


def _asked(
    node: str, summed: Sequence[str], met: Sequence[str], grouped: bool
) -> Iterator[tuple[tuple[str, ...], str | None]]:
    """Yield for each elimination the nodes that it counts by, and the one whose values it sums.

    Which vertices are met in a single group is known without those that they are met with.
    """
    yield (node,), None
    for each in summed:
        yield (node,), each
    for each in met:
        yield (node, each) if grouped else (each,), None


def _unhinted(aggregate: Aggregate, match: Match) -> Aggregate:
    """Return an aggregate whose rows need not come from an elimination."""
    graph = replace(match.graph, hints=replace(match.graph.hints, strategy=None, kernels=()))
    return replace(aggregate, input=replace(match, graph=graph))


def _nodes(
    keys: Sequence[Expr], calls: Sequence[AggregateCall], nodes: set[str]
) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
    """Return the node to sum by, the others whose values are summed, and those of which different ones are looked for.

    None where that doesn't do.
    """
    if not all(_is_summed(call) or _is_met(call) for call in calls):
        return None
    exprs = [*keys, *(arg for call in calls for arg in call.args)]
    if not all(map(is_repeatable, exprs)):
        return None
    by = frozenset[str]().union(*map(free_variables, keys))
    read = [free_variables(arg) for call in calls for arg in call.args]
    valued = sorted(frozenset[str]().union(*read))
    if len(by) > 1 or any(len(each) > 1 for each in read) or not by.union(valued) <= nodes:
        return None
    node = next(iter(by), valued[0] if valued else "")
    summed, met = (
        tuple(each for each in valued if each != node and any(kind(call) and _reads(call, each) for call in calls))
        for kind in (_is_summed, _is_met)
    )
    return (node, summed, met) if summed or met else None


def _is_summed(call: AggregateCall) -> bool:
    return call.name in _SUMMED and not call.distinct


def _is_met(call: AggregateCall) -> bool:
    return call.name in _EXTREMES or (call.name == "count" and call.distinct)


def _reads(call: AggregateCall, node: str) -> bool:
    return any(node in free_variables(arg) for arg in call.args)


def cost_of_rows(source: Operator, catalog: CatalogView) -> float:
    """Return what rows cost, made and grouped; what neither a search nor an elimination makes is not replaced."""
    match source:
        case Eliminate(search=search):
            schedule = source.schedule("cpu")
            return cost_of_rows(search, catalog) if schedule is None else schedule.cost + _grouping(search)
        case Search(cost=cost):
            looked_at = _RELATIONSHIP * _relationships(source, catalog)
            return (cost or 0.0) + looked_at + _grouping(source)
    if not all(isinstance(each, _OF_PARTS) for each in operators(source)):
        return 0.0
    return matching_cost(source, catalog) + _A_ROW * estimated_rows(source, catalog)[id(source)]


def _spared(lowered: Aggregate) -> float:
    """Return what rows of a search take less where they are folded as they are found."""
    below = lowered.input
    if not isinstance(below, Search) or not below.emit or folded_variables(lowered) is None:
        return 0.0
    a_row = costs("cpu", "search")["row"] + _A_ROW - _A_FOLDED_ROW
    return min(a_row * (below.rows or 0.0), below.cost or 0.0)


def _grouping(search: Search) -> float:
    """Return what gathering and grouping the rows of a search costs: what is only counted is one."""
    if search.count is not None and not search.emit:
        return _A_ROW
    return SETUP + _A_ROW * (search.rows or 0.0)


def _relationships(search: Search, catalog: CatalogView) -> float:
    """Return how many relationships a search is expected to look at for conditions of their own, each about once."""
    found = 0.0
    for level in search.levels:
        if isinstance(level, EdgeLevel) and level.predicates:
            share = selectivity(level.predicates, catalog, "relationship", LabelOr(tuple(map(LabelIs, level.types))))
            known = (catalog.relationship_type(name) for name in level.types)
            ways = 2.0 if level.direction is Direction.BOTH else 1.0
            every = ways * sum(each.count for each in known if each is not None)
            found = max(found, min((search.rows or 0.0) / max(share, _LEAST_SHARE), every))
    return found


def _cost(elimination: Eliminate) -> float:
    """Return what the host takes: where it doesn't eliminate, what its search does. Pairs are folded, not written."""
    schedule = elimination.schedule("cpu")
    if schedule is None:
        return elimination.search.cost or 0.0
    return (_FOLDED if len(elimination.emit) > 1 else 1.0) * schedule.cost


def _counted_by_one(match: Match, node: str, budget: float, catalog: CatalogView) -> Eliminate | None:
    return counted_by(match, (node,), None, budget, catalog)


def _valued_by_one(match: Match, node: str, valued: str, budget: float, catalog: CatalogView) -> Eliminate | None:
    return counted_by(match, (node,), valued, budget, catalog)


def counted_by(
    match: Match, emit: tuple[str, ...], valued: str | None, budget: float, catalog: CatalogView
) -> Eliminate | None:
    """Return the elimination that counts by nodes, embeddings or the values of another; None where there is none.

    Raises
    ------
    Unsupported
        Where the hints ask for one.
    """
    demand = Demand(frozenset(emit), Duplicates.COUNT)
    purpose = Purpose(emit[0], valued, budget)
    root = MatchLowering(match.graph, catalog, demand, Unit(), [], None, purpose=purpose).run().root
    if not isinstance(root, Eliminate) or root.emit != emit or not isinstance(root.input, Unit):
        return None
    return replace(root, reason="")
