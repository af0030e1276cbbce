"""Which literals of a statement stand for nothing but a value, so that statements that differ in them share a plan.

These are the values of property maps, and what a property is compared with by ``= <> < <= > >=``, ``IN`` and the text
tests, in MATCH, in the WHERE of WITH, in columns that WITH and RETURN name by AS, and in the subqueries in there and in
CALL; and the values that CREATE, MERGE and SET give to properties. Texts that dates and times are made of, as in
``date('2011-01-01')``, are such values, too. All others take part in what a statement means, and stay: in RETURN and
WITH without AS a literal is part of a column's name, in LIMIT, SKIP and hop counts of the plan, in arithmetic of
whether an expression can fail, as an index of the type of what it finds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import chain

from qengine._frozen import frozen
from qengine.plan.fallible import WRITTEN
from qengine.syntax import ast

_TESTS = ("STARTS WITH", "ENDS WITH", "CONTAINS")


@frozen
class Lifted:
    """A literal, or a list of some, that may become a parameter. ``function``: what makes a value of it, or ""."""

    literal: ast.Expression
    function: str = ""


def lifted_literals(statement: ast.Statement) -> list[Lifted]:
    """Return the numbers, strings and lists of such that may become parameters, in the order of the text.

    A number's sign is part of it, as the parser has it. Booleans and null are words of the language, and none of these.
    """
    return sorted(_of_body(statement.body), key=lambda each: each.literal.span.start)


def _of_body(body: ast.Query | ast.UnionQuery) -> Iterator[Lifted]:
    for query in body.queries if isinstance(body, ast.UnionQuery) else (body,):
        yield from _of_clauses(query.clauses)


def _of_clauses(clauses: tuple[ast.Clause, ...]) -> Iterator[Lifted]:
    for clause in clauses:
        if isinstance(clause, (ast.MatchClause, ast.CreateClause)):
            for pattern in clause.patterns:
                yield from _of_elements(pattern.elements)
            yield from _of_expression(clause.where if isinstance(clause, ast.MatchClause) else None)
        elif isinstance(clause, (ast.WithClause, ast.ReturnClause)):
            yield from _of_columns(clause.projection, clause.where if isinstance(clause, ast.WithClause) else None)
        elif isinstance(clause, ast.CallClause):
            yield from _of_body(clause.body.body)
        elif isinstance(clause, ast.MergeClause):
            yield from _of_elements(clause.pattern.elements)
            yield from _of_items((*clause.on_create, *clause.on_match))
        elif isinstance(clause, ast.SetClause):
            yield from _of_items(clause.items)
        elif isinstance(clause, ast.ForEachClause):
            yield from _of_clauses(clause.clauses)


def _of_columns(projection: ast.Projection, where: ast.Expression | None) -> Iterator[Lifted]:
    """Yield the literals of WITH or RETURN: none where a column's expression stands there again, and means that column.

    With another literal it would not.
    """
    written = Counter(_nodes((projection.items, projection.order, projection.groups, where)))
    items = [item.expression for item in projection.items]
    if any(written[each] > 1 and any(isinstance(part, ast.Literal) for part in _nodes(each)) for each in items):
        return
    for item in projection.items:
        if item.alias is not None:
            yield from _of_expression(item.expression)
    yield from _of_expression(where)


def _nodes(tree: object) -> Iterator[ast.Ast]:
    """Yield all nodes of a tree, or of several in tuples."""
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        if isinstance(each, tuple):
            waiting += each
        elif isinstance(each, ast.Ast):
            yield each
            waiting += [getattr(each, field.name) for field in fields(each)]


def _of_items(items: tuple[ast.SetItem | ast.LabelsItem, ...]) -> Iterator[Lifted]:
    for item in items:
        if isinstance(item, ast.SetItem):
            given = item.value
            values = [value for _, value in given.entries] if isinstance(given, ast.MapLiteral) else [given]
            yield from _of_values(values)


def _of_elements(elements: tuple[ast.Ast, ...]) -> Iterator[Lifted]:
    for element in elements:
        if isinstance(element, ast.QuantifiedPath):
            yield from _of_elements(element.elements)
            yield from _of_expression(element.where)
        elif isinstance(element, (ast.NodePattern, ast.RelationshipPattern)):
            properties = element.properties.entries if isinstance(element.properties, ast.MapLiteral) else ()
            yield from _of_values(value for _, value in properties)
            yield from _of_expression(element.where)


def _of_expression(expr: ast.Expression | None) -> Iterator[Lifted]:
    """Yield what the conditions in an expression compare properties with."""
    match expr:
        case ast.Unary(operand=operand):
            yield from _of_expression(operand)
        case ast.Comparison(operands=operands):
            for place, operand in enumerate(operands):
                beside = operands[max(0, place - 1) : place + 2]
                others = (each for each in beside if each is not operand)
                if all(isinstance(each, ast.PropertyAccess) for each in others):
                    yield from _of_values((operand,))
                yield from _of_expression(operand)
        case ast.Binary(op="IN", left=ast.PropertyAccess(), right=ast.ListLiteral(items=items) as listed):
            if items and all(map(_is_scalar, items)):
                yield Lifted(listed)
        case ast.Binary(op=op, left=ast.PropertyAccess(), right=text) if op in _TESTS and _is_scalar(text):
            yield Lifted(text)
        case ast.Binary(left=left, right=right):
            yield from _of_expression(left)
            yield from _of_expression(right)
        case ast.FunctionCall(args=args):
            for arg in args:
                yield from _of_expression(arg)
        case ast.CaseExpression(whens=whens, otherwise=otherwise):
            for part in (*chain.from_iterable(whens), otherwise):
                yield from _of_expression(part)
        case ast.SubqueryExpression(body=body):
            yield from _of_body(body.body)
        case ast.PatternPredicate(pattern=pattern):
            yield from _of_elements(pattern.elements)


def _of_values(values: Iterable[ast.Expression]) -> Iterator[Lifted]:
    """Yield those of some values that are literals, and the texts of those that are dates or times."""
    for value in values:
        if _is_scalar(value):
            yield Lifted(value)
        elif isinstance(value, ast.FunctionCall) and len(value.args) == 1:
            function, text = value.name.lower(), value.args[0]
            if function in WRITTEN and isinstance(text, ast.Literal) and type(text.value) is str:
                yield Lifted(text, function)


def _is_scalar(expr: ast.Expression) -> bool:
    return isinstance(expr, ast.Literal) and type(expr.value) in (int, float, str)
