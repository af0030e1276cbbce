"""Which literals of a statement stand for nothing but a value, so that statements that differ in them share a plan.

These are the values of property maps, and what a property is compared with by ``= <> < <= > >=``, ``IN`` and the text
tests, in MATCH, in the WHERE of WITH, and in the subqueries in there and in CALL; and the values that CREATE, MERGE and
SET give to properties. All others take part in what a
statement means, and stay: in RETURN and WITH a literal is part of a column's name, in LIMIT, SKIP and hop counts of the
plan, in arithmetic of whether an expression can fail, as an index of the type of what it finds.
"""

from __future__ import annotations

from collections.abc import Iterator

from qengine.syntax import ast

_TESTS = ("STARTS WITH", "ENDS WITH", "CONTAINS")


def lifted_literals(statement: ast.Statement) -> list[ast.Expression]:
    """Return the numbers, strings and lists of such that may become parameters, in the order of the text.

    A number's sign is part of it, as the parser has it. Booleans and null are words of the language, and none of these.
    """
    return sorted(_of_body(statement.body), key=lambda each: each.span.start)


def _of_body(body: ast.Query | ast.UnionQuery) -> Iterator[ast.Expression]:
    for query in body.queries if isinstance(body, ast.UnionQuery) else (body,):
        yield from _of_clauses(query.clauses)


def _of_clauses(clauses: tuple[ast.Clause, ...]) -> Iterator[ast.Expression]:
    for clause in clauses:
        if isinstance(clause, (ast.MatchClause, ast.CreateClause)):
            for pattern in clause.patterns:
                yield from _of_elements(pattern.elements)
        if isinstance(clause, (ast.MatchClause, ast.WithClause)):
            yield from _of_condition(clause.where)
        elif isinstance(clause, ast.CallClause):
            yield from _of_body(clause.body.body)
        elif isinstance(clause, ast.MergeClause):
            yield from _of_elements(clause.pattern.elements)
            yield from _of_items((*clause.on_create, *clause.on_match))
        elif isinstance(clause, ast.SetClause):
            yield from _of_items(clause.items)
        elif isinstance(clause, ast.ForEachClause):
            yield from _of_clauses(clause.clauses)


def _of_items(items: tuple[ast.SetItem | ast.LabelsItem, ...]) -> Iterator[ast.Expression]:
    for item in items:
        if isinstance(item, ast.SetItem):
            given = item.value
            values = [value for _, value in given.entries] if isinstance(given, ast.MapLiteral) else [given]
            yield from filter(_is_scalar, values)


def _of_elements(elements: tuple[ast.Ast, ...]) -> Iterator[ast.Expression]:
    for element in elements:
        if isinstance(element, ast.QuantifiedPath):
            yield from _of_elements(element.elements)
            yield from _of_condition(element.where)
        elif isinstance(element, (ast.NodePattern, ast.RelationshipPattern)):
            properties = element.properties.entries if isinstance(element.properties, ast.MapLiteral) else ()
            yield from (value for _, value in properties if _is_scalar(value))
            yield from _of_condition(element.where)


def _of_condition(condition: ast.Expression | None) -> Iterator[ast.Expression]:
    match condition:
        case ast.Binary(op="AND" | "OR" | "XOR", left=left, right=right):
            yield from _of_condition(left)
            yield from _of_condition(right)
        case ast.Unary(op="NOT", operand=operand):
            yield from _of_condition(operand)
        case ast.Comparison(operands=operands):
            for place, operand in enumerate(operands):
                beside = operands[max(0, place - 1) : place + 2]
                others = (each for each in beside if each is not operand)
                if _is_scalar(operand) and all(isinstance(each, ast.PropertyAccess) for each in others):
                    yield operand
        case ast.Binary(op="IN", left=ast.PropertyAccess(), right=ast.ListLiteral(items=items) as listed):
            if items and all(map(_is_scalar, items)):
                yield listed
        case ast.Binary(op=op, left=ast.PropertyAccess(), right=text) if op in _TESTS and _is_scalar(text):
            yield text
        case ast.SubqueryExpression(body=body):
            yield from _of_body(body.body)
        case ast.PatternPredicate(pattern=pattern):
            yield from _of_elements(pattern.elements)


def _is_scalar(expr: ast.Expression) -> bool:
    return isinstance(expr, ast.Literal) and type(expr.value) in (int, float, str)
