"""Binds subqueries in expressions: EXISTS, COUNT, COLLECT, pattern predicates and pattern comprehensions.

Each becomes a ``Subquery`` whose plan starts at an ``Argument`` with the outer columns that it reads.
"""

from __future__ import annotations

from typing import Literal

from qengine.binder.clauses import bind_body
from qengine.binder.expressions import ExpressionBinder
from qengine.binder.inference import list_type
from qengine.binder.patterns import bind_match
from qengine.binder.scope import Outer, Scope
from qengine.errors import Span
from qengine.plan.expr import Call, Expr, Subquery
from qengine.plan.logical import Argument, Match, Operator, Project
from qengine.plan.traverse import started
from qengine.syntax import ast
from qengine.types import BOOLEAN, INTEGER, Type


def bind_pattern_predicate(binder: ExpressionBinder, node: ast.PatternPredicate) -> Expr:
    """Bind a path pattern in a boolean place; it may name no new variable."""
    for element in node.pattern.elements:
        name = element.name if isinstance(element, (ast.NodePattern, ast.RelationshipPattern)) else None
        if name is not None and binder.scope.find(name) is None:
            hint = "A pattern predicate names no new variable: EXISTS { … } may."
            raise binder.binding.undefined(name, element.span, binder.scope, hint)
    outer = Outer(binder.scope)
    clause = ast.MatchClause((node.pattern,), span=node.span)
    graph, _ = bind_match(binder.binding, clause, Scope(outer=outer))
    return _subquery("exists", Match(Argument(()), graph), outer, BOOLEAN, node.span)


def bind_pattern_comprehension(binder: ExpressionBinder, node: ast.PatternComprehension) -> Expr:
    """Bind ``[(a)-->(b) WHERE … | result]``: a list with the result for each match."""
    outer = Outer(binder.scope)
    clause = ast.MatchClause((node.pattern,), node.where, span=node.span)
    graph, scope = bind_match(binder.binding, clause, Scope(outer=outer))
    result = ExpressionBinder(binder.binding, scope, "a pattern comprehension").divided(node.where, node.result)
    plan = Project(Match(Argument(()), graph), ((binder.binding.names.anonymous(), result),))
    return _subquery("collect", plan, outer, list_type(result.type), node.span)


def bind_subquery(binder: ExpressionBinder, node: ast.SubqueryExpression) -> Expr:
    """Bind ``EXISTS | COUNT | COLLECT { … }`` with a pattern or a full query inside."""
    outer = Outer(binder.scope)
    bound = bind_body(binder.binding, node.body.body, Argument(()), outer)
    if node.kind == "exists":
        return _subquery("exists", bound.root, outer, BOOLEAN, node.span)
    if node.kind == "count":
        return _subquery("count", bound.root, outer, INTEGER, node.span)
    if len(bound.columns) != 1:
        kind = node.kind.upper()
        raise binder.binding.error(
            "InvalidArgumentType",
            f"{kind} {{ … }} must return exactly one column.",
            node.span,
            "RETURN one expression.",
        )
    collected = _subquery("collect", bound.root, outer, list_type(bound.types[0]), node.span)
    if node.kind == "collect":
        return collected
    return Call("VALUE", (collected,), type=bound.types[0], span=node.span)


def _subquery(
    kind: Literal["exists", "count", "collect"], plan: Operator, outer: Outer, type: Type, span: Span
) -> Subquery:
    """Return the subquery whose plan starts with the outer columns that binding it has captured."""
    columns = tuple(outer.captured)
    return Subquery(kind, started(plan, Argument(columns)), columns, type=type, span=span)
