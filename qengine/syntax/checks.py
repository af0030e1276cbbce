"""Checks on the tree what the grammar leaves open: which clauses may follow each other, and how deep it nests."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise

from qengine._deadline import check_planning
from qengine.errors import QuerySyntaxError, Span
from qengine.syntax import ast
from qengine.syntax.brackets import MAX_NESTING
from qengine.syntax.scanner import Token

__all__ = ["MAX_CLAUSES", "check_created", "check_depth", "check_query", "check_subquery"]

MAX_CLAUSES = 150
"""How many clauses, WHERE, ORDER BY and the like a query may have; plans are trees that nest by clause."""

_POLLED = 1024  # nodes between two looks whether to stop

_READING = frozenset(("CALL", "FILTER", "FOR", "LET", "LOAD CSV", "OPTIONAL CALL", "USE"))


def check_query(body: ast.Query | ast.UnionQuery, text: str) -> None:
    """Check the clauses of a statement: RETURN ends each query, and nothing follows it.

    Raises
    ------
    QuerySyntaxError
        At the clause that stands wrong.
    """
    for query in _queries(body):
        _check_order(query, text)
        last = query.clauses[-1]
        if isinstance(last, (ast.ReturnClause, ast.UnsupportedClause)):
            continue
        if isinstance(last, ast.WithClause):
            word = Span(last.span.start, last.span.start + len("WITH"))
            raise _error("A query can't end with WITH.", word, text, "Write RETURN instead, or add a RETURN clause.")
        end = Span(query.span.end, query.span.end)
        raise _error("The query ends without RETURN.", end, text, "Add RETURN and what to show, for example RETURN *.")


def check_subquery(word: Token, body: ast.Query | ast.UnionQuery, text: str) -> None:
    """Check the query inside ``EXISTS | COUNT | COLLECT { … }``: it only reads, and returns what is asked for.

    Raises
    ------
    QuerySyntaxError
        At the clause that stands wrong.
    """
    kind = word.value.upper()
    compares = isinstance(body, ast.UnionQuery) and not all(body.all)
    for query in _queries(body):
        _check_order(query, text)
        for clause in query.clauses:
            if isinstance(clause, ast.UnsupportedClause) and clause.keyword not in _READING:
                message = f"{clause.keyword} can't stand inside {kind} {{ … }}."
                hint = "A subquery in an expression only reads."
                raise _error(message, clause.span, text, hint, "InvalidClauseComposition")
        last = query.clauses[-1]
        returns = isinstance(last, (ast.ReturnClause, ast.UnsupportedClause))
        if returns:
            continue
        if isinstance(last, ast.WithClause) or kind == "COLLECT":
            hint = f"{kind} needs a RETURN at its end."
        elif kind == "COUNT" and compares:
            hint = "UNION counts different rows: say by RETURN which are alike, or write UNION ALL to count all."
        else:
            continue
        raise _error("This subquery ends without RETURN.", last.span, text, hint)


def check_created(word: str, path: ast.PathPattern, text: str) -> None:
    """Check a path of CREATE or MERGE: relationships have one type, no quantifier and, in CREATE, one direction.

    Raises
    ------
    QuerySyntaxError
        At the relationship: ``NoSingleRelationshipType``, ``RequiresDirectedRelationship`` or ``CreatingVarLength``.
    """
    for element in path.elements:
        if not isinstance(element, ast.RelationshipPattern):
            continue
        if element.hops is not None:
            message, code = f"{word} can't make paths of variable length.", "CreatingVarLength"
        elif not isinstance(element.types, ast.LabelName):
            message, code = "A relationship to create has exactly one type.", "NoSingleRelationshipType"
        elif word == "CREATE" and element.left == element.right:
            message, code = "A relationship to create has one direction.", "RequiresDirectedRelationship"
        else:
            continue
        raise _error(message, element.span, text, "Write (a)-[:TYPE]->(b).", code)


def check_depth(statement: ast.Statement, text: str) -> None:
    """Refuse a tree that nests deeper than ``MAX_NESTING`` levels, such as a chain of ten thousand ``+``.

    Raises
    ------
    QuerySyntaxError
        At the expression that is too deep.
    """
    level: list[ast.Ast] = [statement]
    depth = 0
    while level:
        depth += 1
        if depth > MAX_NESTING:
            hint = "Split it with WITH, or put the values in a list or a parameter."
            raise _error(f"The query nests deeper than {MAX_NESTING} levels.", level[0].span, text, hint)
        children: list[ast.Ast] = []
        for place, node in enumerate(level):
            if not place % _POLLED:
                check_planning()
            for name in _child_fields(type(node)):
                if (value := getattr(node, name)) is not None:
                    _collect(value, children)
        level = children


def _collect(value: object, into: list[ast.Ast]) -> None:
    """Add the nodes of a field that have nodes below them."""
    if isinstance(value, ast.Ast):
        if _child_fields(type(value)):
            into.append(value)
    elif isinstance(value, tuple):
        for item in value:
            _collect(item, into)


_NO_CHILDREN = frozenset(("Any", "bool", "int", "int | None", "str", "str | None", "Span", "tuple[str, ...]"))
_CHILD_FIELDS: dict[type, tuple[str, ...]] = {}


def _child_fields(kind: type[ast.Ast]) -> tuple[str, ...]:
    names = _CHILD_FIELDS.get(kind)
    if names is None:
        names = tuple(field.name for field in fields(kind) if field.type not in _NO_CHILDREN)
        _CHILD_FIELDS[kind] = names
    return names


def _queries(body: ast.Query | ast.UnionQuery) -> tuple[ast.Query, ...]:
    return body.queries if isinstance(body, ast.UnionQuery) else (body,)


def _check_order(query: ast.Query, text: str) -> None:
    if len(query.clauses) > MAX_CLAUSES // 6:  # a WITH has at most so many parts
        parts = 0
        for clause in query.clauses:
            parts += _parts(clause)
            if parts > MAX_CLAUSES:
                message = f"The query has more than {MAX_CLAUSES} clauses."
                raise _error(message, _first_word(clause, text), text, "Split it into several queries.")
    for clause, following in pairwise(query.clauses):
        if isinstance(clause, ast.ReturnClause):
            word = _first_word(following, text)
            hint = "End the first query with ';', or write WITH instead of its RETURN."
            raise _error("Nothing may follow RETURN.", word, text, hint)


def _parts(clause: ast.Clause) -> int:
    parts = 1 + (getattr(clause, "where", None) is not None)
    if isinstance(clause, (ast.WithClause, ast.ReturnClause)):
        body = clause.projection
        parts += body.distinct + bool(body.order) + (body.skip is not None) + (body.limit is not None)
    return parts


def _first_word(clause: ast.Clause, text: str) -> Span:
    start = end = clause.span.start
    while end < len(text) and text[end].isalpha():
        end += 1
    return Span(start, end)


def _error(
    message: str, span: Span, text: str, hint: str | None = None, code: str = "UnexpectedSyntax"
) -> QuerySyntaxError:
    return QuerySyntaxError(message, span=span, text=text, hint=hint, code=code)
