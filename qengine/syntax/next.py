"""``NEXT``: the rows that one query returns are what the next one begins with, as behind a WITH."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from qengine._frozen import replace
from qengine.errors import Span
from qengine.syntax import ast
from qengine.syntax.build_expressions import between, span_of
from qengine.syntax.checks import updates
from qengine.syntax.scanner import Token

_MOST_UNIONS = 6
"""UNIONs behind a NEXT, one inside the other; each query of them repeats what stands before."""


def joined_by_next(
    before: ast.Query | ast.UnionQuery,
    word: Token,
    items: Sequence[Any] | None,
    following: list[Any],
    fail: Callable[..., Exception],
) -> list[Any]:
    """Return the queries behind a NEXT, with what stands before it in front of each.

    Parameters
    ----------
    before
        The query before; one of a UNION becomes a CALL.
    items
        What YIELD names: ``YieldItem``s, or a ``*``; None without.
    following
        Queries, with whether all rows stay between two of them.
    fail
        Makes the error of a message, a place and a hint.

    Raises
    ------
    QuerySyntaxError
        Where the query before returns nothing, or would be run several times although it updates.
    """
    if len(following) > 1:
        if updates(before):
            hint = "Write CALL (*) { … UNION … } behind NEXT."
            raise fail("What updates can't stand before a UNION behind NEXT.", span_of(word), hint)
        if _unions(before) >= _MOST_UNIONS:
            raise fail("UNIONs behind NEXT nest too deep.", span_of(word), "Split the query into several.")
    clauses = [*_rows_of(before, word, fail), *_yielded(items, word)]
    return [
        ast.Query((*clauses, *each.clauses), span=between(clauses[0], each)) if isinstance(each, ast.Query) else each
        for each in following
    ]


def _rows_of(before: ast.Query | ast.UnionQuery, word: Token, fail: Callable[..., Exception]) -> list[ast.Clause]:
    if isinstance(before, ast.UnionQuery):
        for query in before.queries:
            _returned(query, word, fail)
        return [ast.CallClause(ast.Statement(before, span=before.span), (), True, span=before.span)]
    returned = _returned(before, word, fail)
    projection = replace(returned.projection, items=tuple(map(_named, returned.projection.items)))
    return [*before.clauses[:-1], ast.WithClause(projection, None, "NEXT", span=returned.span)]


def _returned(query: ast.Query, word: Token, fail: Callable[..., Exception]) -> ast.ReturnClause:
    last = query.clauses[-1]
    if isinstance(last, ast.ReturnClause) and (last.projection.items or last.projection.star):
        return last
    raise fail("NEXT goes on with what RETURN gives.", span_of(word), "End the query before it with RETURN.")


def _named(item: ast.ReturnItem) -> ast.ReturnItem:
    if item.alias is not None or isinstance(item.expression, ast.Variable):
        return item
    return replace(item, alias=item.text)


def _yielded(items: Sequence[Any] | None, word: Token) -> list[ast.Clause]:
    if items is None or isinstance(items[0], Token):
        return []
    made = tuple(
        ast.ReturnItem(ast.Variable(item.output, span=_start(item)), item.name, item.output, span=item.span)
        for item in items
    )
    projection = ast.Projection(made, span=between(made[0], made[-1]))
    return [ast.WithClause(projection, None, "NEXT", span=between(word, made[-1]))]


def _start(item: ast.YieldItem) -> Span:
    return Span(item.span.start, item.span.start + len(item.output))


def _unions(body: ast.Query | ast.UnionQuery) -> int:
    """Return how deep UNIONs nest at the beginnings of queries."""
    deep = 0
    while True:
        if isinstance(body, ast.UnionQuery):
            deep, body = deep + 1, body.queries[0]
        first = body.clauses[0]
        if not isinstance(first, ast.CallClause):
            return deep
        body = first.body.body
