"""The plan of counting a statement's rows instead of returning them: what estimates start from."""

from __future__ import annotations

from qengine._frozen import replace
from qengine.catalog.view import CatalogView
from qengine.errors import Unsupported
from qengine.optimizer.endings import Ending, ending_of
from qengine.optimizer.lower.demand import Demand
from qengine.optimizer.lower.tail import lower
from qengine.optimizer.rules import rewritten_both_ways
from qengine.plan.expr import AggregateCall, Variable
from qengine.plan.logical import Aggregate, Distinct, LogicalPlan, Match, Operator, Project
from qengine.plan.physical import PhysicalPlan
from qengine.plan.traverse import rewrite_plan
from qengine.types import INTEGER

_COUNT = "count"


def plan_count(logical: LogicalPlan, catalog: CatalogView) -> PhysicalPlan:
    """Return the plan of ``count(*)`` over the statement's rows; of its count, where it ends with ``RETURN count(*)``.

    Raises
    ------
    Unsupported
        If the statement ends with another aggregate, or no executor can run a part of it.
    """
    _, root = ending_of(logical.root)
    counted = rewrite_plan(_counted(root) if isinstance(root, Aggregate) else root, _searched)
    aggregate = Aggregate(counted, (), ((_COUNT, AggregateCall("count", (), type=INTEGER)),))

    def lowered(root: Operator) -> Operator:
        return lower(rewrite_plan(root, _as_one_search), Demand(frozenset((_COUNT,))), catalog).root

    late, early = rewritten_both_ways(aggregate)
    return PhysicalPlan(lowered(early), (_COUNT,), careful=None if early is late else lowered(late))


def plan_groups(ending: Ending, below: Operator, catalog: CatalogView) -> tuple[PhysicalPlan, PhysicalPlan]:
    """Return the plan of the rows whose different ones are counted, below an aggregate, and that of their number.

    ``below``: what the ending's keys are expressions over.

    Raises
    ------
    Unsupported
        If no executor can run a part of it.
    """
    assert ending.keys is not None
    rows = Project(below, ending.keys)
    count = ((_COUNT, AggregateCall("count", (), type=INTEGER)),)
    names = Demand(frozenset(name for name, _ in ending.keys))
    careful, _ = rewritten_both_ways(rewrite_plan(rows, _searched))
    lowered = lower(rewrite_plan(careful, _as_one_search), names, catalog).root
    number, _ = rewritten_both_ways(Aggregate(Distinct(rows), (), count))
    counting = lower(number, Demand(frozenset((_COUNT,))), catalog).root
    return PhysicalPlan(Aggregate(lowered, (), count), (_COUNT,)), PhysicalPlan(counting, (_COUNT,))


def _as_one_search(operator: Operator) -> Operator:
    """Ask for a search, which can be sampled, where another way of matching might be taken."""
    if not isinstance(operator, Match):
        return operator
    hints = replace(operator.graph.hints, strategy="search", join=None)
    return replace(operator, graph=replace(operator.graph, hints=hints))


def _searched(operator: Operator) -> Operator:
    """Have a match searched: an elimination has no embeddings to sample."""
    if not isinstance(operator, Match) or operator.graph.hints.strategy is not None:
        return operator
    graph = operator.graph
    return replace(operator, graph=replace(graph, hints=replace(graph.hints, strategy="search")))


def _counted(root: Aggregate) -> Operator:
    calls = [call for _, call in root.aggregates]
    simple = not root.keys and len(calls) == 1 and calls[0].name == "count" and not calls[0].distinct
    if not simple or not all(isinstance(arg, Variable) for arg in calls[0].args):
        raise Unsupported(
            "Estimates are of numbers of rows: this query ends with another aggregate.",
            hint="End the pattern with RETURN count(*), or leave RETURN out.",
        )
    return root.input
