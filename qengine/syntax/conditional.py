"""``WHEN … THEN … ELSE …`` between queries: the number of the branch, then each branch as a CALL for its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qengine.errors import Span
from qengine.syntax import ast
from qengine.syntax.build_expressions import between

_BRANCH = "the branch"
"""A variable's name, which nobody would write."""

Body = ast.Query | ast.UnionQuery


def conditional(
    whens: Sequence[tuple[ast.Expression, Body]], otherwise: Body | None, fail: Callable[..., Exception]
) -> ast.Query:
    """Return the query that carries out the first branch whose condition is true, else the last one if there is one.

    Raises
    ------
    QuerySyntaxError
        Where some branches return rows and others none, or not the same columns, or ``*``.
    """
    bodies = [body for _, body in whens] + ([otherwise] if otherwise is not None else [])
    span = between(whens[0][0], bodies[-1])
    numbers = [ast.Literal(number, span=span) for number in range(len(bodies))]
    branches = tuple((when, number) for (when, _), number in zip(whens, numbers, strict=False))
    case = ast.CaseExpression(None, branches, numbers[-1] if otherwise is not None else None, span=span)
    chosen = ast.Projection((ast.ReturnItem(case, _BRANCH, _BRANCH, span=span),), True, span=span)
    columns = [_columns(body, fail) for body in bodies]
    if any(each != columns[0] for each in columns):
        message = "The branches of WHEN … THEN … ELSE return different columns."
        raise fail(message, span, "Name them alike, in the same order, with AS.")
    parts = [_branch(body, columns[0], number) for body, number in zip(bodies, numbers, strict=True)]
    calls: list[Body] = [*parts]
    if columns[0]:
        calls = [ast.UnionQuery(tuple(parts), (True,) * (len(parts) - 1), span=span)] if len(parts) > 1 else calls
    clauses: list[ast.Clause] = [ast.WithClause(chosen, None, "LET", span=span)]
    clauses += [ast.CallClause(ast.Statement(each, span=span), (), True, span=span) for each in calls]
    return ast.Query((*clauses, _returning(columns[0], span)), span=span)


def _branch(body: Body, columns: Sequence[str], number: ast.Literal) -> ast.Query:
    """Return a query that has the rows of a branch if it is the chosen one."""
    span = body.span
    is_it = ast.Comparison(("=",), (ast.Variable(_BRANCH, span=span), number), span=span)
    only = ast.WithClause(ast.Projection((), True, span=span), is_it, "FILTER", span=span)
    call = ast.CallClause(ast.Statement(body, span=span), (), True, span=span)
    return ast.Query((only, call, _returning(columns, span)), span=span)


def _returning(columns: Sequence[str], span: Span) -> ast.ReturnClause:
    items = tuple(ast.ReturnItem(ast.Variable(name, span=span), name, name, span=span) for name in columns)
    return ast.ReturnClause(ast.Projection(items, span=span), span=span)


def _columns(body: Body, fail: Callable[..., Exception]) -> tuple[str, ...]:
    """Return the names of a branch's columns; none where it returns nothing."""
    last = (body.queries[0] if isinstance(body, ast.UnionQuery) else body).clauses[-1]
    if not isinstance(last, ast.ReturnClause):
        return ()
    if last.projection.star:
        raise fail("A branch of WHEN … THEN … ELSE can't return *.", last.span, "Name what it returns.")
    return tuple(item.alias or item.text for item in last.projection.items)
