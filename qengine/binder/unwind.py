"""Binds UNWIND, and FOR with the items' numbers."""

from __future__ import annotations

from qengine.binder.binding import Binding
from qengine.binder.call import kept
from qengine.binder.expressions import ExpressionBinder
from qengine.binder.items import shadowed
from qengine.binder.scope import Scope, Symbol
from qengine.errors import Span
from qengine.plan.expr import Call, Expr, ListComprehension, Literal, Variable
from qengine.plan.logical import Operator, Project, Unwind
from qengine.syntax import ast
from qengine.types import INTEGER, Kind, list_of


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
