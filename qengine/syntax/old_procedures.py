"""Reads calls of procedures of Neo4j 3 and 4 that stand for commands of today."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TypeGuard

from qengine.errors import Span
from qengine.syntax import ast
from qengine.syntax.shown_columns import shown_columns

RENAMED = {"db.schema": "db.schema.visualization"}
"""Procedures that have another name today, by their old ones in lower case."""

_SHOWN = {"db.indexes": "INDEXES", "db.constraints": "CONSTRAINTS"}
_MADE = {
    "db.createindex": ("RANGE", "NODE"),
    "db.createuniquepropertyconstraint": ("UNIQUENESS", "NODE"),
    "db.createnodekey": ("KEY", "NODE"),
    "db.index.fulltext.createnodeindex": ("FULLTEXT", "NODE"),
    "db.index.fulltext.createrelationshipindex": ("FULLTEXT", "RELATIONSHIP"),
    "db.index.vector.createnodeindex": ("VECTOR", "NODE"),
    "db.index.vector.createrelationshipindex": ("VECTOR", "RELATIONSHIP"),
}
"""The kind of rule that each makes, and of what."""
_CONSTRAINTS = ("UNIQUENESS", "KEY")
_OLDEST = re.compile(r":`?([^`(]+)`?\(([^)]+)\)")  # :Label(property, …), as Neo4j 3 names what an index is of


def command_of(
    name: str, args: Sequence[ast.Expression], items: Sequence[ast.YieldItem] | None, span: Span
) -> ast.Clause | None:
    """Return the command that a call stands for; None for other calls, and where something isn't written out.

    ``items``: what YIELD names, none of them for all, None where there is no YIELD.
    """
    called = name.lower()
    if called in _SHOWN and not args:
        return _show(_SHOWN[called], items, None, span)
    if called == "db.indexdetails" and len(args) == 1:
        return _show("INDEXES", items, args[0], span)
    given = [_written(each) for each in args]
    if items is not None or not given or not isinstance(given[0], str):
        return None
    if called == "db.index.fulltext.drop" and len(given) == 1:
        return ast.SchemaClause(True, False, given[0], False, span=span)
    if called not in _MADE:
        return None
    kind, entity = _MADE[called]
    oldest = _OLDEST.fullmatch(given[0])
    if oldest is not None:
        given[:1] = ["", [oldest[1]], [each.strip(" `") for each in oldest[2].split(",")]]
    if len(given) < 3:
        return None
    labels, keys = ([each] if isinstance(each, str) else each for each in given[1:3])
    if not (_are_names(labels) and _are_names(keys)):
        return None
    type = json.dumps(labels) if kind == "FULLTEXT" and len(labels) > 1 else ""
    if kind == "VECTOR" and str(given[-1]).upper() == "EUCLIDEAN":
        type = "EUCLIDEAN"
    label = labels[0]
    return ast.SchemaClause(
        False, kind in _CONSTRAINTS, given[0], False, kind, entity, label, tuple(keys), type, span=span
    )


def _show(what: str, items: Sequence[ast.YieldItem] | None, name: ast.Expression | None, span: Span) -> ast.ShowClause:
    """Return a SHOW, of the one of a name where there is a name."""
    columns = shown_columns(what, whole=items is not None)
    named = tuple(
        ast.ReturnItem(ast.Variable(each.output, span=each.span), each.name, each.output, span=each.span)
        for each in items or ()
    )
    where = None if name is None else ast.Comparison(("=",), (ast.Variable("name", span=span), name), span=span)
    selection = ast.WithClause(ast.Projection(named, not named, span=span), where, span=span)
    return ast.ShowClause(what, (), (), columns, selection if named or where else None, items is not None, span=span)


def _written(expression: ast.Expression) -> object:
    """Return the value of a literal or of a list of literals, None for what is neither."""
    if isinstance(expression, ast.ListLiteral):
        return [_written(each) for each in expression.items]
    return expression.value if isinstance(expression, ast.Literal) else None


def _are_names(found: object) -> TypeGuard[list[str]]:
    return isinstance(found, list) and bool(found) and all(isinstance(each, str) for each in found)
