"""Checks on the tree what the grammar leaves open: which clauses may follow each other, and how deep it nests."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise

from qengine._deadline import check_planning
from qengine.errors import QuerySyntaxError, Span
from qengine.syntax import ast
from qengine.syntax.brackets import MAX_NESTING
from qengine.syntax.scanner import Token

MAX_CLAUSES = 150
"""How many clauses, WHERE, ORDER BY and the like a query may have; plans are trees that nest by clause."""

_POLLED = 1024  # nodes between two looks whether to stop

MAX_UPDATES = 10_000
"""How many clauses that update a query may have; those that follow each other are one operator."""


_UPDATING = (
    ast.CreateClause,
    ast.MergeClause,
    ast.SetClause,
    ast.RemoveClause,
    ast.DeleteClause,
    ast.ForEachClause,
)


def check_query(body: ast.Query | ast.UnionQuery, text: str) -> None:
    """Check the clauses of a statement: RETURN or a clause that updates ends each query, and nothing follows RETURN.

    Raises
    ------
    QuerySyntaxError
        At the clause that stands wrong.
    """
    for query in _queries(body):
        _check_order(query, text)
        last = query.clauses[-1]
        if isinstance(last, (ast.ReturnClause, ast.UnsupportedClause, ast.SchemaClause, *_UPDATING)):
            continue
        if isinstance(last, ast.CallClause):
            if (_is_unit(last.body.body) and not last.gives_names) or last.transactions is not None:
                continue
        elif isinstance(last, ast.ProcedureCallClause):
            if last.items is None or len(query.clauses) == 1:  # the binder knows what the procedure gives
                continue
        elif isinstance(last, ast.WithClause) and last.word == "WITH":
            word = Span(last.span.start, last.span.start + len("WITH"))
            raise _error("A query can't end with WITH.", word, text, "Write RETURN instead, or add a RETURN clause.")
        end = Span(query.span.end, query.span.end)
        raise _error("The query ends without RETURN.", end, text, "Add RETURN and what to show, for example RETURN *.")


def check_call(body: ast.Query | ast.UnionQuery, text: str) -> None:
    """Check the query inside ``CALL { … }``, which returns columns or updates.

    Raises
    ------
    QuerySyntaxError
        At the clause that stands wrong.
    """
    check_query(body, text)
    queries = _queries(body)
    units = [_is_unit(query) for query in queries]
    if any(units) and not all(units):
        message = "The queries of a UNION all return columns, or none does."
        raise _error(message, queries[units.index(True)].clauses[-1].span, text, code="DifferentColumnsInUnion")


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
        if (updating := _first_update(query)) is not None:
            word_span = _first_word(updating, text)
            message = f"{text[word_span.start : word_span.end].upper()} can't stand inside {kind} {{ … }}."
            hint = "A subquery in an expression only reads."
            raise _error(message, updating.span, text, hint, "InvalidClauseComposition")
        _check_order(query, text)
        last = query.clauses[-1]
        returns = isinstance(last, (ast.ReturnClause, ast.UnsupportedClause))
        if returns:
            continue
        if kind == "COLLECT":
            hint = f"{kind} needs a RETURN at its end."
        elif kind == "COUNT" and compares:
            hint = "UNION counts different rows: say by RETURN which are alike, or write UNION ALL to count all."
        else:
            continue
        raise _error("This subquery ends without RETURN.", last.span, text, hint)


def updates(body: ast.Query | ast.UnionQuery) -> bool:
    """Tell whether a query has a clause that updates, or commits what it does, in the queries that it calls too."""
    return any(_first_update(query) is not None for query in _queries(body))


def is_plain_labels(labels: ast.Ast) -> bool:
    """Tell whether labels are a name, or several of which all are meant: those that an element can be given."""
    if isinstance(labels, ast.LabelConjunction):
        return all(map(is_plain_labels, labels.args))
    return isinstance(labels, ast.LabelName) or (isinstance(labels, ast.LabelDynamic) and not labels.any)


def check_created(word: str, path: ast.PathPattern, text: str) -> None:
    """Check a path of CREATE or MERGE: plain elements; relationships have one type and, in CREATE, one direction.

    Raises
    ------
    QuerySyntaxError
        At the element: ``NoSingleRelationshipType``, ``RequiresDirectedRelationship``, ``CreatingVarLength``, ….
    """
    if path.selector is not None or path.path_mode is not None:
        raise _error(f"{word} makes paths; it can't select some.", path.span, text, "Write (a)-[:TYPE]->(b).")
    for element in path.elements:
        code = "UnexpectedSyntax"
        hint = "Write (a)-[:TYPE]->(b)."
        if isinstance(element, ast.RelationshipPattern):
            if element.hops is not None:
                message, code = f"{word} can't make paths of variable length.", "CreatingVarLength"
            elif element.types is None and element.name is not None:
                continue  # the binder knows whether it is a relationship of an earlier clause
            elif isinstance(element.types, ast.LabelConjunction) or not is_plain_labels(element.types or ast.Ast()):
                message, code = "A relationship to create has exactly one type.", "NoSingleRelationshipType"
            elif element.left == element.right and (word == "CREATE" or element.left):
                message, code = "A relationship to create has one direction.", "RequiresDirectedRelationship"
            elif element.where is not None:
                message = f"A pattern of {word} has no WHERE."
            else:
                continue
        elif isinstance(element, ast.NodePattern):
            if element.labels is not None and not is_plain_labels(element.labels):
                message, hint = "The labels of a node to create are names.", "Write (n:A:B)."
            elif element.where is not None:
                message = f"A pattern of {word} has no WHERE."
            else:
                continue
        else:
            message = f"A pattern of {word} has no parentheses round paths."
        raise _error(message, element.span, text, hint, code)


def _is_unit(body: ast.Query | ast.UnionQuery) -> bool:
    """Tell whether a query returns no columns."""
    last = _queries(body)[-1].clauses[-1]
    if isinstance(last, ast.ReturnClause):
        return not (last.projection.items or last.projection.star)
    return not isinstance(last, ast.UnsupportedClause)


def _first_update(query: ast.Query) -> ast.Clause | None:
    for clause in query.clauses:
        if isinstance(clause, (*_UPDATING, ast.SchemaClause)):
            return clause
        if isinstance(clause, ast.CallClause):
            if clause.transactions is not None:
                return clause
            for inner in _queries(clause.body.body):
                if (found := _first_update(inner)) is not None:
                    return found
    return None


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


_NO_CHILDREN = frozenset(
    ("Any", "bool", "bool | None", "int", "int | None", "str", "str | None", "Span", "Span | None", "tuple[str, ...]")
)
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
        parts = changes = 0
        before: ast.Clause | None = None
        for clause in query.clauses:
            changes += isinstance(clause, _UPDATING)
            parts += _parts(clause, before)
            before = clause
            if parts > MAX_CLAUSES or changes > MAX_UPDATES:
                most = f"{MAX_CLAUSES} clauses" if parts > MAX_CLAUSES else f"{MAX_UPDATES:,} clauses that update"
                message = f"The query has more than {most}."
                raise _error(message, _first_word(clause, text), text, "Split it into several queries.")
    for clause, following in pairwise(query.clauses):
        if isinstance(clause, ast.ReturnClause):
            word = _first_word(following, text)
            hint = "End the first query with ';', or write WITH instead of its RETURN."
            raise _error("Nothing may follow RETURN.", word, text, hint)
        composed = isinstance(following, ast.ShowClause) and isinstance(clause, ast.ShowClause) and clause.is_yielding
        if isinstance(clause, ast.ShowClause) and not (composed or isinstance(following, ast.ReturnClause)):
            word = _first_word(following, text)
            hint = "Only YIELD, WHERE and RETURN may follow."
            raise _error(f"{_text(word, text)} can't follow SHOW.", word, text, hint, "InvalidClauseComposition")
        if isinstance(clause, _UPDATING) and isinstance(following, _READING):
            word, earlier = _first_word(following, text), _first_word(clause, text)
            message = f"{_text(word, text)} can't follow {_text(earlier, text)} directly."
            hint = f"Write WITH * between them, or put {_text(word, text)} before {_text(earlier, text)}."
            raise _error(message, word, text, hint, "InvalidClauseComposition")


_READING = (ast.MatchClause, ast.UnwindClause, ast.CallClause, ast.ProcedureCallClause, ast.LoadCsvClause)


def _parts(clause: ast.Clause, before: ast.Clause | None) -> int:
    if isinstance(clause, _UPDATING) and isinstance(before, _UPDATING):  # they join, save where a path gets a name
        patterns = clause.patterns if isinstance(clause, ast.CreateClause) else ()
        patterns = (clause.pattern,) if isinstance(clause, ast.MergeClause) else patterns
        return int(any(path.name is not None for path in patterns))
    parts = 1 + (getattr(clause, "where", None) is not None)
    if isinstance(clause, (ast.WithClause, ast.ReturnClause)):
        body = clause.projection
        parts += body.distinct + bool(body.order) + (body.skip is not None) + (body.limit is not None)
    return parts


def _text(span: Span, text: str) -> str:
    return text[span.start : span.end].upper()


def _first_word(clause: ast.Clause, text: str) -> Span:
    start = end = clause.span.start
    while end < len(text) and text[end].isalpha():
        end += 1
    return Span(start, end)


def _error(
    message: str, span: Span, text: str, hint: str | None = None, code: str = "UnexpectedSyntax"
) -> QuerySyntaxError:
    return QuerySyntaxError(message, span=span, text=text, hint=hint, code=code)
