"""The columns that WITH and RETURN make."""

from __future__ import annotations

from qengine._frozen import frozen
from qengine.binder.binding import Binding
from qengine.binder.expressions import ExpressionBinder
from qengine.binder.scope import Scope, is_hidden
from qengine.errors import SemanticError, Span
from qengine.plan.expr import AggregateCall, Expr, Property, Variable
from qengine.plan.traverse import preorder
from qengine.syntax import ast


@frozen
class Item:
    """One column: the user's name for it, its name in the plan, what was written, what it means.

    ``aggregates``: whether the expression has an aggregate in it.
    """

    alias: str
    name: str
    written: ast.Expression
    expr: Expr
    aggregates: bool

    @property
    def result(self) -> Variable:
        """The column as an expression over the projected rows."""
        return Variable(self.name, type=self.expr.type, span=self.expr.span)


def aggregates(expr: Expr) -> bool:
    """Tell whether an expression has an aggregate in it (those of its subqueries aside)."""
    return not is_plain(expr) and any(type(part) is AggregateCall for part in preorder(expr))


def is_plain(expr: Expr) -> bool:
    """Tell whether an expression is a variable or a property of one."""
    while isinstance(expr, Property):
        expr = expr.subject
    return isinstance(expr, Variable)


def bind_items(binding: Binding, projection: ast.Projection, scope: Scope, unique: bool) -> tuple[Item, ...]:
    """Bind the items of a projection, ``*`` first in the order of the names.

    With ``unique``, or where rows are grouped, a column's name is unique in the statement; a variable handed on under
    its own name stays what it was. Otherwise columns are called as the user calls them.
    """
    written = (
        [(name, ast.Variable(name)) for name in sorted(scope.symbols) if not is_hidden(name)] if projection.star else []
    )
    bound: list[tuple[str, ast.Expression, Expr, bool]] = []
    binder = ExpressionBinder(binding, scope, None)
    for alias, node in [*written, *((alias_of(item), item.expression) for item in projection.items)]:
        expr = binder.value(node)
        bound.append((alias, node, expr, aggregates(expr)))
    unique = unique or any(each for *_, each in bound)
    return tuple(
        [Item(alias, _name(binding, alias, node, expr, unique), node, expr, each) for alias, node, expr, each in bound]
    )


def _name(binding: Binding, alias: str, node: ast.Expression, expr: Expr, unique: bool) -> str:
    if not unique:
        return alias
    if isinstance(node, ast.Variable) and node.name == alias and isinstance(expr, Variable):
        return expr.name
    return binding.names.fresh(alias)


def alias_of(item: ast.ReturnItem) -> str:
    """Return the name of an item's column: its alias, the variable's name, or the text as written."""
    if item.alias is not None:
        return item.alias
    return item.expression.name if isinstance(item.expression, ast.Variable) else item.text


def check_names(binding: Binding, projection: ast.Projection, items: tuple[Item, ...], scope: Scope | None) -> None:
    """Refuse two columns of one name. ``scope``, of WITH: also what has no name, or hides one round a subquery."""
    seen = {item.alias for item in items[: len(items) - len(projection.items)]}
    for item in projection.items:
        alias = alias_of(item)
        if alias in seen:
            raise binding.error(
                "ColumnNameConflict", f"Two columns are called `{alias}`.", item.span, "Name one of them with AS."
            )
        seen.add(alias)
        if scope is None:
            continue
        if scope.shadows(alias) and item.expression != ast.Variable(alias):
            raise shadowed(binding, alias, item.span)
        if item.alias is None and not isinstance(item.expression, ast.Variable):
            raise binding.error(
                "NoExpressionAlias", "An expression in WITH needs a name.", item.span, f"Write {item.text} AS name."
            )


def shadowed(binding: Binding, name: str, span: Span) -> SemanticError:
    """Return the error that a new variable would hide one of the rows round a subquery."""
    message = f"Variable `{name}` is already defined outside the subquery."
    return binding.error("VariableAlreadyBound", message, span, "Choose another name.")
