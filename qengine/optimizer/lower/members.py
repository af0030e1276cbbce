"""Lowers a ``Match`` that looks for a node in a list of its rows, ``WHERE f IN nodes``: perhaps from the list's nodes.

Why: most of what is matched from elsewhere may end at nodes that the list doesn't have.
When: the list is a column of the rows. Where these give no node of the pattern, each row is joined with each different
node of its list (``Members``), which seeds the search. Where they do, the pattern is matched from the nodes of all
lists, once, and joined with the rows by the nodes that these give; whether the node is in a row's own list is asked
afterwards. Both are lowered as usual, and compared with a match that asks it of each row's matches.
"""

from __future__ import annotations

from dataclasses import field

from qengine._frozen import frozen, replace
from qengine.catalog.view import CatalogView
from qengine.optimizer.lower.demand import Demand, Lowered
from qengine.optimizer.lower.match import MatchLowering
from qengine.optimizer.lower.matching_cost import matching_cost
from qengine.optimizer.lower.of_node import each_node_once, has_subqueries
from qengine.optimizer.rows import list_length
from qengine.plan.expr import Call, Expr, Subquery, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Argument, Filter, Operator, Project
from qengine.plan.pattern import NO_HINTS, QueryGraph
from qengine.plan.physical import HashJoin, Members
from qengine.plan.traverse import free_variables, preorder
from qengine.types import Kind

_MARGIN = 2.0  # so much cheaper it must be to begin at the list
_WORTH = 2e6  # nanoseconds of a match for which another way is looked for
_WORTH_ONCE = 3e5  # the same where subqueries may be found for all nodes at once


@frozen
class GivenRows:
    """The rows that a match is applied to: their plan, its columns, and the one that says how often each counts.

    ``outer``: where the plan is an ``Argument``, that of the rows it stands for. ``taken``: as in ``MatchLowering``.
    """

    root: Operator
    columns: tuple[str, ...]
    weight: str | None = None
    outer: Operator | None = None
    taken: frozenset[str] = field(default_factory=frozenset)


@frozen
class _Membership:
    """``name``: a node of the pattern that must be in the list of the column ``items``, as ``predicate`` says."""

    name: str
    items: str
    predicate: Expr


def lower_match(graph: QueryGraph, catalog: CatalogView, demand: Demand, given: GivenRows) -> Lowered:
    """Return a match over the rows, lowered."""
    plain = _lowered(graph, catalog, demand, given)
    if has_subqueries(graph) and (cost := _cost(plain, given, catalog, demand)) > _WORTH_ONCE:
        once = each_node_once(graph, catalog)
        other = plain if once is graph else _lowered(once, catalog, demand, given)
        if _cost(other, given, catalog, demand) < cost:
            return other
    found = _membership(graph, given)
    if found is None:
        return plain
    cost = _cost(plain, given, catalog, demand)
    if cost < _WORTH:
        return plain
    rest = replace(graph, predicates=tuple(each for each in graph.predicates if each is not found.predicate))
    length = list_length(given.outer or given.root, found.items, catalog)
    if any(node.bound for node in graph.nodes):
        joined = _joined(rest, found, catalog, replace(demand, times=length), given)
    else:
        members = Members(given.root, found.items, found.name, length)
        seeded = replace(given, root=members, columns=(*given.columns, found.name))
        joined = _lowered(_given(rest, found.name), catalog, demand, seeded)
    if joined is None or _cost(joined, given, catalog, demand) * _MARGIN > cost:
        return plain
    return joined


def _cost(lowered: Lowered, given: GivenRows, catalog: CatalogView, demand: Demand) -> float:
    return matching_cost(lowered.root, catalog, demand.times, given.root, given.outer)


def _lowered(graph: QueryGraph, catalog: CatalogView, demand: Demand, given: GivenRows) -> Lowered:
    return MatchLowering(graph, catalog, demand, given.root, list(given.columns), given.weight, taken=given.taken).run()


def _membership(graph: QueryGraph, given: GivenRows) -> _Membership | None:
    """Return a condition that a node of the pattern is in a list of the rows; None where a hint says how to match."""
    if graph.hints is not NO_HINTS:
        return None
    free = {node.name for node in graph.nodes if not node.bound}
    for predicate in graph.predicates:
        match predicate:
            case Call(name="IN", args=(Variable(name=name), Variable(name=items) as listed)) if (
                name in free and items in given.columns and listed.type is not None and listed.type.kind is Kind.LIST
            ):
                return _Membership(name, items, predicate)
    return None


def _given(graph: QueryGraph, name: str, freed: bool = False) -> QueryGraph:
    """Return a pattern that is given this node; ``freed``: and none else."""
    nodes = tuple(replace(node, bound=node.name == name or (node.bound and not freed)) for node in graph.nodes)
    return replace(graph, nodes=nodes)


def _joined(
    rest: QueryGraph, found: _Membership, catalog: CatalogView, demand: Demand, given: GivenRows
) -> Lowered | None:
    """Return the match from the lists' nodes, joined with the rows; None where it reads more of these."""
    keys = tuple(node.name for node in rest.nodes if node.bound)
    others = set(given.columns).difference(keys)
    elements = [each for node in rest.nodes for each in node.predicates]
    elements += [each for edge in rest.relationships for each in edge.predicates]
    if (
        any(edge.bound for edge in rest.relationships)
        or any(path.selector is not None for path in rest.paths)
        or any(free_variables(each) & others for each in elements)
        or any(isinstance(part, Subquery) for each in rest.predicates for part in preorder(each))
    ):
        return None
    late = [each for each in rest.predicates if free_variables(each) & others or condition_can_fail(each)]
    needed = demand.also(found.predicate, *late).columns.union(keys).difference(others)
    alone = _given(
        replace(rest, predicates=tuple(each for each in rest.predicates if each not in late)), found.name, True
    )
    seeds = GivenRows(Argument((found.name,)), (found.name,), taken=given.taken.union(given.columns))
    side = _lowered(alone, catalog, replace(demand, columns=needed, exprs=None), seeds)
    emit = tuple(name for name in side.columns if name in needed.difference(keys) or name == side.weight)
    root: Operator = HashJoin(given.root, side.root, keys, emit, seeds=(found.items, found.name))
    for condition in (found.predicate, *sorted(late, key=condition_can_fail)):
        root = Filter(root, condition)
    columns = (*given.columns, *emit)
    if side.weight is None or given.weight is None:
        return Lowered(root, columns, side.weight or given.weight)
    kept = tuple(name for name in columns if name not in (side.weight, given.weight))
    product = Call("*", (Variable(given.weight), Variable(side.weight)))
    items = (*((name, Variable(name)) for name in kept), (side.weight, product))
    return Lowered(Project(root, items), (*kept, side.weight), side.weight)
