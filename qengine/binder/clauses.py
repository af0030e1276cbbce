"""Binds the clauses of a query one after the other, and joins queries by UNION."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from qengine.binder.binding import Binding
from qengine.binder.expressions import ExpressionBinder
from qengine.binder.inference import item_type, join, may_be
from qengine.binder.patterns import bind_match
from qengine.binder.projection import bind_return, bind_with
from qengine.binder.scope import Outer, Scope, Symbol
from qengine.plan.expr import Variable
from qengine.plan.logical import Match, Operator, Project, Union, Unwind
from qengine.syntax import ast
from qengine.types import Kind, Type

_HINTS = {
    "CREATE": "graphs are read only: build one with qengine.Graph.from_records(…) and the like",
    "CALL": "write the subquery as MATCH … WITH …, or as COLLECT { … }",
    "LOAD CSV": "load files with qengine.Graph.from_csv(…)",
    "FOR": "write UNWIND list AS item",
    "LET": "write WITH *, expression AS name",
    "FILTER": "write WITH * WHERE condition",
}
_HINTS |= dict.fromkeys(("MERGE", "SET", "DELETE", "DETACH DELETE", "REMOVE", "FOREACH", "INSERT"), _HINTS["CREATE"])


@dataclass(frozen=True, slots=True)
class Body:
    """A bound query: its operators, and the columns and types that it returns."""

    root: Operator
    columns: tuple[str, ...]
    types: tuple[Type, ...]


def bind_body(
    binding: Binding,
    body: ast.Query | ast.UnionQuery,
    leaf: Operator,
    outer: Outer | None = None,
    carried: tuple[Symbol, ...] = (),
) -> Body:
    """Bind a query or several joined by UNION.

    ``leaf`` gives the first rows. For a subquery: ``outer`` is what it stands in, ``carried`` the outer columns that
    its WITH clauses hand on.
    """
    if isinstance(body, ast.Query):
        return _bind_query(binding, body, leaf, outer, carried)
    if len(set(body.all)) > 1:
        raise binding.error(
            "InvalidClauseComposition", "UNION and UNION ALL can't be mixed", body.span, "use one of the two throughout"
        )
    first, *others = (_bind_query(binding, query, leaf, outer, carried) for query in body.queries)
    inputs = [first.root]
    for query, bound in zip(body.queries[1:], others, strict=True):
        if sorted(bound.columns) != sorted(first.columns):
            raise binding.error(
                "DifferentColumnsInUnion",
                f"the queries of a UNION return different columns: {_listed(first)} and {_listed(bound)}",
                query.clauses[-1].span,
                "name them alike with AS",
            )
        root = bound.root
        if bound.columns != first.columns:
            root = Project(root, tuple((name, Variable(name)) for name in first.columns))
        inputs.append(root)
    places = [[bound.columns.index(name) for name in first.columns] for bound in others]
    types = tuple(
        join([type, *(bound.types[order[i]] for bound, order in zip(others, places, strict=True))])
        for i, type in enumerate(first.types)
    )
    return Body(Union(tuple(inputs), body.all[0]), first.columns, types)


def _listed(body: Body) -> str:
    return ", ".join(f"`{name}`" for name in body.columns)


def _bind_query(
    binding: Binding,
    query: ast.Query,
    leaf: Operator,
    outer: Outer | None,
    carried: tuple[Symbol, ...],
) -> Body:
    root, scope = leaf, Scope(outer=outer)
    for clause in query.clauses:
        match clause:
            case ast.MatchClause():
                graph, scope = bind_match(binding, clause, scope)
                root = Match(root, graph, clause.optional)
            case ast.UnwindClause():
                root, scope = _bind_unwind(binding, clause, root, scope)
            case ast.WithClause():
                root, scope = bind_with(binding, clause, root, scope, carried)
            case ast.ReturnClause():  # the parser lets nothing follow it
                root, columns = bind_return(binding, clause, root, scope)
                return Body(root, tuple(columns), tuple(columns.values()))
            case ast.UnsupportedClause():
                _refuse(binding, clause)
    return Body(root, (), ())  # only in subqueries


def _bind_unwind(binding: Binding, clause: ast.UnwindClause, root: Operator, scope: Scope) -> tuple[Operator, Scope]:
    source = ExpressionBinder(binding, scope, "UNWIND").value(clause.expression)
    if not may_be(source.type, Kind.LIST):
        raise binding.error(
            "InvalidArgumentType", f"UNWIND takes a LIST, not a {source.type}", clause.expression.span, "write [ … ]"
        )
    if clause.name in scope.symbols:
        raise binding.error(
            "VariableAlreadyBound", f"variable `{clause.name}` is already defined", clause.span, "choose another name"
        )
    symbol = Symbol(binding.names.fresh(clause.name), item_type(source.type))
    return Unwind(root, source, symbol.name), scope.with_symbols({clause.name: symbol})


def _refuse(binding: Binding, clause: ast.UnsupportedClause) -> NoReturn:
    raise binding.unsupported(f"{clause.keyword} isn't built yet", clause.span, _HINTS.get(clause.keyword))
