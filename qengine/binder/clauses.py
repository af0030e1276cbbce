"""Binds the clauses of a query one after the other, and joins queries by UNION."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import fields
from typing import Any, NoReturn

from qengine._deadline import check_planning
from qengine._frozen import frozen
from qengine.binder.binding import Binding
from qengine.binder.call import bind_reading_call, kept, with_names
from qengine.binder.expressions import ExpressionBinder
from qengine.binder.inference import join
from qengine.binder.items import alias_of, shadowed
from qengine.binder.patterns import bind_match
from qengine.binder.procedures import (
    bind_load_csv,
    bind_procedure_call,
    bind_standalone_call,
    in_subquery,
    without_rows,
)
from qengine.binder.projection import bind_return, bind_with
from qengine.binder.schema import bind_schema, bind_show, selection_of
from qengine.binder.scope import Outer, Scope, Symbol
from qengine.binder.set_operations import bind_set_operation
from qengine.binder.updates import UPDATING, Updates, is_step
from qengine.errors import Span
from qengine.plan.expr import Call, Expr, ListComprehension, Literal, Variable
from qengine.plan.logical import Match, Operator, Project, Unwind
from qengine.plan.updates import Update
from qengine.syntax import ast
from qengine.types import INTEGER, Kind, Type, list_of


def bind_unwind(
    binding: Binding, clause: ast.UnwindClause, root: Operator, scope: Scope, carried: tuple[Symbol, ...]
) -> tuple[Operator, Scope]:
    """Return the rows behind a clause, and their scope. ``carried``: outer columns to hand on as well.

    Raises
    ------
    SemanticError
        ``VariableAlreadyBound`` for names that mean something; ``InvalidArgumentType`` for what is no list.
    """
    source, item = ExpressionBinder(binding, scope, "UNWIND").items(clause.expression, "UNWIND")
    _check_new(binding, clause.name, clause.span, scope)
    symbol = Symbol(binding.names.fresh(clause.name), item)
    if clause.position is None:
        return Unwind(root, source, symbol.name), scope.with_symbols({clause.name: symbol})
    _check_new(binding, clause.position, clause.span, scope.with_symbols({clause.name: symbol}))
    position = Symbol(binding.names.fresh(clause.position), INTEGER)
    columns = kept(scope, carried)
    root = _numbered(binding, root, source, (symbol, position), columns, clause.first)
    return root, scope.with_symbols({clause.name: symbol, clause.position: position})


def _numbered(
    binding: Binding,
    root: Operator,
    source: Expr,
    symbols: tuple[Symbol, Symbol],
    columns: dict[str, Expr],
    first: int,
) -> Operator:
    """Return each row once for each place of a list, with the item there and its number."""
    item, position = symbols
    if source.type.kind is not Kind.LIST:  # a value that is no list is a list of itself
        each = binding.names.anonymous()
        source = ListComprehension(each, source, None, Variable(each, type=item.type), type=list_of(item.type))
    items = Variable(binding.names.anonymous(), type=source.type)
    place = Variable(binding.names.anonymous(), type=INTEGER)
    size = Call("size", (items,), type=INTEGER)
    places = Call("range", (_integer(0), _sum(size, -1)), type=list_of(INTEGER))
    root = Unwind(Project(root, (*columns.items(), (items.name, source))), places, place.name)
    taken = Call("[]", (items, place), type=item.type)
    number = _sum(place, first) if first else place
    return Project(root, (*columns.items(), (item.name, taken), (position.name, number)))


def _check_new(binding: Binding, name: str, span: Span, scope: Scope) -> None:
    if name in scope.symbols:
        raise binding.error(
            "VariableAlreadyBound", f"Variable `{name}` is already defined.", span, "Choose another name."
        )
    if scope.shadows(name):
        raise shadowed(binding, name, span)


def _integer(value: int) -> Literal:
    return Literal(value, type=INTEGER)


def _sum(expr: Expr, number: int) -> Expr:
    return Call("+", (expr, _integer(number)), type=INTEGER)


_HINTS = {
    "SHOW": "SHOW lists INDEXES, CONSTRAINTS, FUNCTIONS, PROCEDURES, SETTINGS, TRANSACTIONS, DATABASES and USERS; "
    "Graph.schema has labels, types and properties.",
}
_HINTS |= dict.fromkeys(
    ("CREATE", "DROP", "ALTER"),
    "There are no users, roles or databases to manage: qengine.open(…) and Graph.from_csv(…) give a graph each.",
)


@frozen
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
) -> Body:
    """Bind a query or several joined by UNION, EXCEPT or INTERSECT.

    ``leaf`` gives the first rows; ``outer`` is what a subquery stands in.
    """
    if isinstance(body, ast.Query):
        return _bind_query(binding, body, leaf, outer)
    first, *others = (_bind_branch(binding, query, leaf, outer) for query in body.queries)
    inputs = [first.root]
    for query, bound in zip(body.queries[1:], others, strict=True):
        if sorted(bound.columns) != sorted(first.columns):
            raise binding.error(
                "DifferentColumnsInUnion",
                f"The queries of {_article(body)} return different columns: {_listed(first)} and {_listed(bound)}.",
                query.clauses[-1].span,
                "Name them alike with AS.",
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
    columns = tuple(zip(first.columns, types, strict=True))
    return Body(bind_set_operation(binding, body, inputs, columns), first.columns, types)


def _article(body: ast.UnionQuery) -> str:
    return f"{'a' if body.operator == 'UNION' else 'an'} {body.operator}"


def _bind_branch(binding: Binding, query: ast.Query, leaf: Operator, outer: Outer | None) -> Body:
    """Bind a query of a UNION; without RETURN, as in EXISTS, its rows have no columns."""
    body = _bind_query(binding, query, leaf, outer)
    returns = isinstance(query.clauses[-1], ast.ReturnClause)
    return body if returns else Body(Project(body.root, ()), (), ())


def _listed(body: Body) -> str:
    return ", ".join(f"`{name}`" for name in body.columns) or "none"


def _bind_query(
    binding: Binding,
    query: ast.Query,
    leaf: Operator,
    outer: Outer | None,
) -> Body:
    last = query.clauses[-1]
    if isinstance(last, ast.ProcedureCallClause) and len(query.clauses) == 1 and outer is None and not last.optional:
        root, columns = bind_standalone_call(binding, last, leaf)
        return Body(root, tuple(columns), tuple(columns.values()))
    if not isinstance(last, ast.ReturnClause):  # it ends with a clause that updates, or stands in a subquery
        root, _ = _bind_clauses(binding, query.clauses, leaf, Scope(outer=outer), ())
        if outer is None and isinstance(last, ast.ProcedureCallClause):
            root = without_rows(binding, root)
        return Body(root, (), ())
    root, scope = _bind_clauses(binding, query.clauses[:-1], leaf, Scope(outer=outer), (last,))
    root, columns = bind_return(binding, last, root, scope)
    return Body(root, tuple(columns), tuple(columns.values()))


def _bind_clauses(
    binding: Binding, clauses: tuple[ast.Clause, ...], root: Operator, scope: Scope, behind: tuple[ast.Clause, ...]
) -> tuple[Operator, Scope]:
    """Bind clauses up to RETURN, which is ``behind`` them; return their rows and the scope behind them."""
    changes: Updates | None = None
    for place, clause in enumerate(clauses):
        check_planning()
        if isinstance(clause, ast.ProcedureCallClause) and clause.optional:
            clause = in_subquery(binding, clause)
        elif isinstance(clause, ast.CallClause) and clause.gives_names:
            clause = with_names(clause, scope)
        if isinstance(clause, UPDATING) or (isinstance(clause, ast.CallClause) and is_step(clause)):
            changes = changes or Updates.after(binding, scope)
            changes.add(clause, _bind_clauses)
            if not changes.paths:
                continue
        following = (*clauses[place + 1 :], *behind)
        if changes is not None:
            root, scope, changes = _updated(root, changes, following), changes.scope, None
        match clause:
            case ast.MatchClause():
                if clause.search is not None:
                    root, scope = bind_procedure_call(binding, clause.search, root, scope)
                graph, scope = bind_match(binding, clause, scope)
                root = Match(root, graph, clause.optional)
            case ast.UnwindClause():
                carried = _carried(scope, {clause.name, clause.position}, following) if clause.position else ()
                root, scope = bind_unwind(binding, clause, root, scope, carried)
            case ast.WithClause():
                named = {alias_of(item) for item in clause.projection.items}
                parts = (clause.where, *(item.expression for item in clause.projection.order), *following)
                root, scope = bind_with(binding, clause, root, scope, _carried(scope, named, parts))
            case ast.CallClause():
                carried = _carried(scope, set(scope.symbols), following)
                root, scope = bind_reading_call(binding, clause, root, scope, carried, _bind_clauses)
            case ast.ShowClause():
                before = tuple(scope.symbols)
                root, scope = bind_show(binding, clause, root, scope)
                if clause.selection is not None:
                    root, scope = bind_with(binding, selection_of(clause, before), root, scope, ())
            case ast.SchemaClause():
                root = Update(root, (bind_schema(binding, clause),))
            case ast.ProcedureCallClause():
                root, scope = bind_procedure_call(binding, clause, root, scope)
            case ast.LoadCsvClause():
                root, scope = bind_load_csv(binding, clause, root, scope)
            case ast.UnsupportedClause():
                _refuse(binding, clause)
    if changes is not None:
        root, scope = _updated(root, changes, behind), changes.scope
    return root, scope


def _updated(root: Operator, changes: Updates, behind: tuple[ast.Clause, ...]) -> Operator:
    """Return the rows behind clauses that update, with the paths that they name; ``behind``: the clauses after them."""
    root = Update(root, tuple(changes.steps))
    if not changes.paths:
        return root
    paths = dict(changes.paths)
    columns = kept(changes.scope, _carried(changes.scope, set(changes.symbols), behind))
    columns = {name: expr for name, expr in columns.items() if name not in paths}
    return Project(root, (*columns.items(), *changes.paths))


def _carried(scope: Scope, named: Set[str | None], behind: tuple[Any, ...]) -> tuple[Symbol, ...]:
    """Return the outer columns that a clause has to hand on, since something behind it names them."""
    outer = scope.outer
    if outer is None or scope.cut:
        return ()
    symbols = (outer.scope.find(name) for name in dict.fromkeys(_names(behind)) if name not in named)
    found = {each.name: each for symbol in symbols if symbol is not None for each in symbol.columns()}
    outer.captured.update(found)
    return tuple(found.values())


def _names(node: Any) -> Iterator[str]:
    """Yield the name of every variable and pattern element in a part of the syntax tree."""
    if isinstance(node, tuple):
        for item in node:
            yield from _names(item)
    elif isinstance(node, ast.Ast):
        if isinstance(node, (ast.Variable, ast.NodePattern, ast.RelationshipPattern)) and node.name is not None:
            yield node.name
        for part in fields(node):
            yield from _names(getattr(node, part.name))


def _refuse(binding: Binding, clause: ast.UnsupportedClause) -> NoReturn:
    raise binding.unsupported(f"{clause.keyword} isn't built yet.", clause.span, _HINTS.get(clause.keyword))
