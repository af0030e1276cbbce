"""Which rows of which tables the nodes and relationships of a pattern may be, and which patterns one round can find."""

from __future__ import annotations

from collections.abc import Iterable

from qengine._frozen import frozen
from qengine.cluster.hypercube.tables import Tables
from qengine.errors import Unsupported
from qengine.plan.expr import Expr, Subquery
from qengine.plan.pattern import Direction, PatternRelationship, QueryGraph
from qengine.plan.traverse import preorder

__all__ = ["Use", "check_pattern", "matched", "refuse_subqueries"]

_MOST_VARIABLES = 40


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
                "Over tables there are no subqueries or patterns in expressions.",
                span=part.span,
                hint="Match that pattern in a query of its own.",
            )


def check_pattern(graph: QueryGraph) -> None:
    """Raise for patterns that one round can't find."""
    if any(each.hops is not None or each.repetition is not None for each in graph.relationships):
        raise Unsupported(
            "Over tables the length of a pattern is fixed.",
            span=graph.span,
            hint="Write out the relationships, in one query for each length.",
        )
    if graph.paths:
        raise Unsupported(
            "Over tables paths have no names, modes or selectors.",
            span=graph.span,
            hint="Name nodes and relationships.",
        )
    if len(graph.nodes) > _MOST_VARIABLES:
        raise Unsupported(f"Over tables a pattern has at most {_MOST_VARIABLES} nodes.", span=graph.span)
    for expr in graph.predicates:
        refuse_subqueries(expr)
    reached = {graph.nodes[0].name}
    for _ in graph.nodes:
        reached |= {
            end for each in graph.relationships if {each.start, each.end} & reached for end in (each.start, each.end)
        }
    apart = [each.name for each in graph.nodes if each.name not in reached]
    if apart:
        name = "a node" if apart[0].startswith("@") else apart[0]
        raise Unsupported(
            f"Over tables a pattern is connected, but nothing joins {name} to the rest.",
            span=graph.span,
            hint="Join them by a relationship, or match each part in a query of its own.",
        )


def matched(
    graph: QueryGraph, variables: tuple[str, ...], tables: Tables
) -> tuple[tuple[frozenset[int], ...], tuple[Use, ...]]:
    """Return which kinds of nodes each variable may be, and which rows each relationship, as the tables' ends tell."""
    number = {name: place for place, name in enumerate(variables)}
    kinds = [
        frozenset(
            place
            for place, kind in enumerate(tables.kinds)
            if node.labels is None or node.labels.admits(frozenset(kind.labels))
        )
        for node in graph.nodes
    ]
    while True:
        before = list(kinds)
        uses = [
            use
            for place, each in enumerate(graph.relationships)
            for use in _uses(place, each, number, tables)
            if tables.relationships[use.table].start in kinds[use.first]
            and tables.relationships[use.table].end in kinds[use.second]
        ]
        for place, each in enumerate(graph.relationships):
            for name in (each.start, each.end):
                ends = [
                    end
                    for use in uses
                    if use.relationship == place
                    for end, variable in (
                        (tables.relationships[use.table].start, use.first),
                        (tables.relationships[use.table].end, use.second),
                    )
                    if variable == number[name]
                ]
                kinds[number[name]] &= frozenset(ends)
        if kinds == before:
            return tuple(kinds), tuple(dict.fromkeys(uses))


def _uses(place: int, each: PatternRelationship, number: dict[str, int], tables: Tables) -> Iterable[Use]:
    start, end = number[each.start], number[each.end]
    for index, table in enumerate(tables.relationships):
        fits = each.types is None or each.types.admits(frozenset((table.type,)))
        if fits and (start != end or table.start == table.end):
            yield Use(place, index, start, end)
            if each.direction is Direction.BOTH or table.undirected:
                yield Use(place, index, end, start)
