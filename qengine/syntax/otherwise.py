"""``OTHERWISE`` between two queries: the rows of the second one where the first has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qengine.syntax import ast
from qengine.syntax.build_expressions import span_of
from qengine.syntax.checks import updates
from qengine.syntax.scanner import Token


def otherwise(
    before: ast.Query | ast.UnionQuery, word: Token, following: ast.Query, fail: Callable[..., Exception]
) -> list[Any]:
    """Return the queries of a UNION ALL: those before, and the following one with a condition in front of it.

    The condition is that no row exists before. Between two queries stands what joins them.

    Raises
    ------
    QuerySyntaxError
        Where the query before updates: it would be run twice. Where a UNION before returns ``*``.
    """
    if updates(before):
        raise fail("What updates can't stand before OTHERWISE.", span_of(word), "Write two statements.")
    found = ast.SubqueryExpression("exists", ast.Statement(before, span=before.span), span=before.span)
    absent = ast.Unary("NOT", found, span=before.span)
    only = ast.WithClause(ast.Projection((), True, span=span_of(word)), absent, "FILTER", span=span_of(word))
    second = ast.Query((only, *following.clauses), span=following.span)
    joined = ("UNION", True)
    if isinstance(before, ast.Query):
        return [before, joined, second]
    if before.operator == "UNION" and all(before.all):
        parts = [part for query in before.queries for part in (query, joined)]
        return [*parts, second]
    return [_as_query(before, word, fail), joined, second]


def _as_query(before: ast.UnionQuery, word: Token, fail: Callable[..., Exception]) -> ast.Query:
    """Return the query that has the rows of several."""
    last = before.queries[0].clauses[-1]
    if not isinstance(last, ast.ReturnClause) or last.projection.star:
        raise fail("OTHERWISE goes on where RETURN gives no row.", span_of(word), "Name what each query returns.")
    names = [item.alias or item.text for item in last.projection.items]
    items = tuple(ast.ReturnItem(ast.Variable(name, span=last.span), name, name, span=last.span) for name in names)
    call = ast.CallClause(ast.Statement(before, span=before.span), (), True, span=before.span)
    return ast.Query((call, ast.ReturnClause(ast.Projection(items, span=last.span), span=last.span)), span=before.span)
