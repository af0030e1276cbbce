"""Which rows of which tables the nodes and relationships of a pattern may be, and which patterns one round can find."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from qengine._frozen import frozen
from qengine.cluster.hypercube.tables import Tables
from qengine.errors import Unsupported
from qengine.plan.expr import Expr, Subquery
from qengine.plan.pattern import Direction, PatternRelationship, QueryGraph
from qengine.plan.traverse import preorder


@frozen
class Use:
    """One way in which rows of a table of relationships may be one of the pattern's.

    Attributes
    ----------
    relationship
        The number of the pattern's relationship.
    table
        The number of the table.
    first, second
        The numbers of the variables that the row's start and end are.
    conditions
        On the row, over its columns.
    """

    relationship: int
    table: int
    first: int
    second: int
    conditions: tuple[Expr, ...] = ()


def refuse_subqueries(expr: Expr) -> None:
    """Raise for an expression that has a query or a pattern in it."""
    for part in preorder(expr):
        if isinstance(part, Subquery):
            raise Unsupported(
                "Over tables patterns in expressions stand before rows are grouped, chosen or sorted.",
                span=part.span,
                hint="Ask for it in the first WITH or RETURN, or in a query of its own.",
            )


def check_graph(graph: QueryGraph) -> None:
    """Raise for patterns that cells can't find."""
    for each in graph.relationships:
        if each.repetition is not None or each.chain is not None or each.inner:
            raise Unsupported(
                "Over tables a pattern that is repeated is of one relationship, without conditions on nodes between.",
                span=graph.span,
                hint="Write out the repetitions, in one query for each number of them.",
            )
    if graph.paths:
        raise Unsupported(
            "Over tables paths have no names, modes or selectors.",
            span=graph.span,
            hint="Name nodes and relationships.",
        )
    if any(each.bound for each in graph.relationships):
        raise Unsupported("Over tables a relationship is matched once.", span=graph.span, hint="Compare properties.")


def matched(
    relationships: Mapping[int, PatternRelationship],
    number: Mapping[str, int],
    ways: Mapping[int, tuple[int, int]],
    kinds: list[frozenset[int]],
    own: frozenset[int],
    tables: Tables,
) -> list[Use]:
    """Return which rows a pattern's relationships may be, and leave each node the kinds that tables' ends admit.

    Parameters
    ----------
    relationships
        Those of the pattern, by their numbers.
    number
        Of each of its nodes' names the number of the variable.
    ways
        Of each relationship of variable length the numbers of the variables that stand for its hops' ends.
    kinds
        Of each variable the numbers of the kinds that it may be.
    own
        The variables whose kinds the pattern decides: those that it binds.
    """
    plain = {place: each for place, each in relationships.items() if place not in ways}
    while True:
        before = list(kinds)
        uses = [
            use
            for place, each in plain.items()
            for use in _uses(place, each, number[each.start], number[each.end], tables)
        ]
        uses = [use for use in uses if _fits(use, kinds, tables)]
        for place, each in plain.items():
            for variable in {number[each.start], number[each.end]} & own:
                ends = [end for use in uses if use.relationship == place for end in _ends(use, variable, tables)]
                kinds[variable] &= frozenset(ends)
        if kinds == before:
            break
    for place, (first, second) in ways.items():
        each = relationships[place]
        hops = (first, second), (number[each.start], second), (first, number[each.end])
        uses += [use for ends in hops for use in _uses(place, each, *ends, tables) if _fits(use, kinds, tables)]
    return uses


def _fits(use: Use, kinds: list[frozenset[int]], tables: Tables) -> bool:
    table = tables.relationships[use.table]
    return table.start in kinds[use.first] and table.end in kinds[use.second]


def _ends(use: Use, variable: int, tables: Tables) -> Iterable[int]:
    """Yield the kinds that a variable is in rows of a use."""
    table = tables.relationships[use.table]
    if use.first == variable:
        yield table.start
    if use.second == variable:
        yield table.end


def _uses(place: int, each: PatternRelationship, start: int, end: int, tables: Tables) -> Iterable[Use]:
    if each.direction is Direction.IN:
        start, end = end, start
    for index, table in enumerate(tables.relationships):
        fits = each.types is None or each.types.admits(frozenset((table.type,)))
        if fits and (start != end or table.start == table.end):
            yield Use(place, index, start, end)
            if each.direction is Direction.BOTH or table.undirected:
                yield Use(place, index, end, start)
