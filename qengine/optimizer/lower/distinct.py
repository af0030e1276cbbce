"""Different rows of a match as groups without aggregates: those are folded as the rows are found, or need none."""

from __future__ import annotations

from qengine.optimizer.lower.demand import Demand, Reads
from qengine.plan.logical import Aggregate, Distinct, Filter, Match, Operator, Project, Unit
from qengine.plan.physical import AggregateEntries, Eliminate, HashJoin, Search
from qengine.plan.traverse import free_variables, is_repeatable, operators

_ROWS, _ENTRIES = 1e7, 1e8
"""Rows of a search, and entries of lists, that are grouped soon enough for the first row to be given."""


def distinct_as_groups(operator: Distinct, demand: Demand) -> Aggregate | None:
    """Return an aggregate that emits the same rows, where these are values of one variable each of a match.

    None where few rows are read, for groups come at the end.
    """
    below = operator.input
    if demand.reads is Reads.FEW or not isinstance(below, Project) or not below.items:
        return None
    if not all(len(free_variables(expr)) == 1 and is_repeatable(expr) for _, expr in below.items):
        return None
    source = below.input
    while isinstance(source, Filter):
        source = source.input
    if not isinstance(source, Match) or source.optional or not isinstance(source.input, Unit):
        return None
    if any(each.hops is not None for each in source.graph.relationships):  # walks may be many, and their ends few
        return None
    return Aggregate(below.input, below.items, ())


def is_read_soon(root: Operator) -> bool:
    """Tell whether the rows that are grouped are known to be so few that nobody waits for them."""
    rows = [each.rows for each in operators(root) if isinstance(each, Search | HashJoin)]
    rows += [each.search.rows for each in operators(root) if isinstance(each, Eliminate)]
    most = _ENTRIES if isinstance(root, AggregateEntries) else _ROWS
    return all(each is not None and each <= most for each in rows)
