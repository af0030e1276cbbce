"""Cardinalities that a query brings along: patterns as text with their rows, bound against the graph's catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real

from qengine._frozen import replace
from qengine.binder import bind
from qengine.catalog.view import CatalogView
from qengine.errors import Notice, QengineError, SemanticError
from qengine.estimate import EstimateTable
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView
from qengine.optimizer.given_rows import GivenPart, GivenRows, matched_part, with_cardinalities
from qengine.plan.logical import LogicalPlan
from qengine.plan.pattern import QueryGraph
from qengine.syntax import parse

_MOST = 1e300
_MATCH = "MATCH REPEATABLE ELEMENTS "
_RETURN = "\nRETURN count(*)"


def given_rows(cardinalities: Mapping[str, float], catalog: CatalogView) -> GivenRows:
    """Read patterns, ``(a:Person)-[:KNOWS]->(b) WHERE a.age > 30``, and how many rows each has.

    Raises
    ------
    SemanticError, QuerySyntaxError
        For a text that is no pattern, or whose rows can't be used for planning, for a number below 0, and for two
        numbers for one pattern.
    """
    given = GivenRows(tuple(_part(text, rows, catalog) for text, rows in cardinalities.items()))
    for one, other in given.contradictions():
        raise SemanticError(
            f"{one.text} and {other.text} are the same part, with cardinalities {one.rows:g} and {other.rows:g}.",
            hint="Give one of them.",
            code="InvalidCardinality",
        )
    return given


def table_rows(table: EstimateTable) -> GivenRows:
    """Return what a table of estimates says of the parts of its pattern; parts that no sample hit are left out.

    Raises
    ------
    SemanticError
        If the parts can't be found again in another query.
    """
    if table.pattern is None:
        raise SemanticError(
            "These estimates can't be used for planning.",
            hint="Estimate one connected pattern, of relationships of fixed length, with conditions on single "
            "nodes and relationships alone.",
            code="InvalidCardinality",
        )
    found = ((nodes, table.rows(nodes)) for nodes in table)
    return GivenRows(
        tuple(
            GivenPart(", ".join(sorted(nodes)), _between(table.pattern, nodes), rows)
            for nodes, rows in found
            if rows is not None
        )
    )


def _between(pattern: QueryGraph, names: frozenset[str]) -> QueryGraph:
    """Return the part of a pattern between some of its nodes."""
    nodes = tuple(node for node in pattern.nodes if node.name in names)
    joined = tuple(each for each in pattern.relationships if each.start in names and each.end in names)
    return replace(pattern, nodes=nodes, relationships=joined)


def apply_cardinality_hints(
    plan: LogicalPlan,
    cardinalities: Mapping[str, float] | EstimateTable | str,
    store: ExecView,
    notices: tuple[Notice, ...],
    context: ExecutionContext,
) -> tuple[LogicalPlan, tuple[Notice, ...]]:
    """Return a plan whose matches know the cardinalities, and the notices with those about them.

    ``cardinalities``: as ``given_rows`` or ``table_rows`` read them, or "sampled".
    ``context``: the limits of the statement, which hold for sampling, too.

    Raises
    ------
    SemanticError, QuerySyntaxError
        As ``given_rows``; for another word.
    """
    if isinstance(cardinalities, EstimateTable):
        given = table_rows(cardinalities)
        left = unused(given, plan)
        return with_cardinalities(plan, given), (*notices, *(left[-1:] if len(left) == len(given.parts) else ()))
    if not isinstance(cardinalities, str):
        given = given_rows(cardinalities, store)
        return with_cardinalities(plan, given), (*notices, *unused(given, plan))
    if cardinalities != "sampled":
        raise SemanticError(
            f"There are no cardinalities {cardinalities!r}.",
            hint='Give the rows of parts of the pattern as a mapping, or "sampled".',
            code="InvalidCardinality",
        )
    from qengine.sampled import SampledRows

    return with_cardinalities(plan, SampledRows(store, context)), notices


def _part(text: str, rows: float, catalog: CatalogView) -> GivenPart:
    if isinstance(rows, bool) or not isinstance(rows, Real) or not 0 <= rows <= _MOST:
        raise SemanticError(
            f"The cardinality of {text} is {rows!r}, not a number of rows.",
            hint="Give the rows that the pattern has, or is expected to have, as a number from 0 up.",
            code="InvalidCardinality",
        )
    whole = f"{_MATCH}{text}{_RETURN}"
    try:
        statements = parse(whole)
        graph = matched_part(bind(statements[0], whole, catalog).plan) if len(statements) == 1 else None
    except QengineError as error:
        raise SemanticError(
            f"The cardinality of {text} can't be used: {error.message}",
            hint="Write one pattern, as in {'(a:Person)-[:KNOWS]->(b)': 12.0}.",
            code="InvalidCardinality",
        ) from None
    if graph is None:
        raise SemanticError(
            f"The cardinality of {text} can't be used for planning.",
            hint="Give it for one connected pattern, of relationships of fixed length, with conditions on single "
            "nodes and relationships alone.",
            code="InvalidCardinality",
        )
    return GivenPart(text, graph, float(rows))


def unused(given: GivenRows, plan: LogicalPlan) -> tuple[Notice, ...]:
    """Return a notice for each pattern that is no part of a statement."""
    return tuple(
        Notice(
            "UnusedCardinality",
            f"No pattern of the query has the part {part.text}, so that its cardinality is not used.",
            hint="A part has the same labels, types, directions and conditions, whatever its variables are called.",
        )
        for part in given.unused(plan)
    )
