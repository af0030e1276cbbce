"""Binds a statement: the entry of the binder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qengine._frozen import frozen
from qengine.binder.binding import Binding
from qengine.binder.clauses import bind_body
from qengine.binder.hints import with_hints
from qengine.catalog.procedures import Procedures
from qengine.catalog.view import CatalogView
from qengine.errors import Notice, Span
from qengine.plan.comparisons import ComparedParameter
from qengine.plan.logical import LogicalPlan, Unit
from qengine.plan.pattern import NO_HINTS, Hints
from qengine.syntax import ast

_NO_EFFECT = {
    "options": ("The options behind CYPHER change nothing.", "Graph.query takes options of its own, as device."),
    "planner": ("USING changes nothing: the optimizer chooses.", "Write a hint, as /*+ order(a, b) */."),
    "concurrent": ("CONCURRENT changes nothing: the transactions follow each other.", None),
    "retry": ("RETRY changes nothing: no other transaction is in the way.", None),
    "graph": ("USE changes nothing: there is one graph.", "qengine.open(…) and Graph.from_csv(…) give one each."),
}
"""What is said of each kind of remark, and what to do instead."""

_OLD = {
    "parameter": ("{name} is how Neo4j 3 writes a parameter.", "Write $name."),
    "octal": ("A number that begins with 0 is decimal; it was octal in Neo4j 4.", "Write 0o777 for an octal one."),
    "extract": ("extract() is of Neo4j 3.", "Write [x IN list | …]."),
    "filter": ("filter() is of Neo4j 3.", "Write [x IN list WHERE …]."),
    "|:": ("The ':' behind '|' is of Neo4j 4.", "Write [:A|B]."),
    "create unique": ("CREATE UNIQUE is of Neo4j 3, and carried out as MERGE.", "Write MERGE (a)-[:TYPE]->(b)."),
    "btree": ("BTREE indexes are of Neo4j 4: this is a RANGE index.", "Write CREATE INDEX."),
    "index on": ("INDEX ON :Label(property) is of Neo4j 3.", "Write CREATE INDEX name FOR (n:Label) ON (n.property)."),
    "assert": ("ASSERT is of Neo4j 4.", "Write CREATE CONSTRAINT name FOR (n:Label) REQUIRE n.property IS UNIQUE."),
    "procedure": ("This procedure is of Neo4j 3 and 4.", "Write SHOW, CREATE or DROP, and INDEX or CONSTRAINT."),
    "db.schema": ("db.schema() is of Neo4j 3.", "Write CALL db.schema.visualization()."),
    "verbose": ("VERBOSE is of Neo4j 4.", "Write YIELD * behind SHOW."),
    "brief": ("BRIEF is of Neo4j 4.", "Leave it out."),
}
"""The same of forms that older versions of Neo4j had and today's refuse."""


@frozen
class BoundStatement:
    """A statement's logical plan, warnings about names that the graph doesn't have, its hints, compared parameters."""

    plan: LogicalPlan
    notices: tuple[Notice, ...]
    hints: Hints = NO_HINTS
    compared: tuple[ComparedParameter, ...] = ()


def bind(
    statement: ast.Statement,
    text: str,
    catalog: CatalogView,
    parameters: Mapping[str, Any] | None = None,
    *,
    explaining: bool = False,
    lifted: Mapping[Span, str] | None = None,
    procedures: Procedures | None = None,
) -> BoundStatement:
    """Resolve the names of a statement against a graph's catalogue, check it, and return its logical plan.

    Parameters
    ----------
    statement
        What the parser made of ``text``.
    text
        The whole text that the spans point into.
    catalog
        The graph's schema.
    parameters
        The parameters that will be given; a missing one is an error. None: not known yet.
    explaining
        Its plan is asked for, as EXPLAIN and PROFILE in the statement do: warn also of what may take long.
    lifted
        Places of literals that become parameters of their types, with the parameters' names; ``binder.lifting`` says of
        which literals that is right.

    procedures
        Those that it may call; None: there are none.

    Raises
    ------
    SemanticError
        If the statement means nothing; ``code`` is the name that the openCypher TCK gives to the kind of error.
    Unsupported
        If it is legal, but not built.
    """
    explaining = explaining or statement.explain is not None
    binding = Binding(text, catalog, parameters, explaining, lifted or {}, procedures=procedures or Procedures())
    for remark in statement.remarks:
        code, said = ("OldForm", _OLD) if remark.kind in _OLD else ("NoEffect", _NO_EFFECT)
        message, advice = said[remark.kind]
        binding.notice(code, remark.kind, message, remark.span, advice)
    body = bind_body(binding, statement.body, Unit())
    root, hints = with_hints(body.root, statement.hints, text) if statement.hints else (body.root, NO_HINTS)
    plan = LogicalPlan(root, body.columns, statement.explain)
    return BoundStatement(plan, tuple(binding.notices.values()), hints, tuple(binding.compared))
