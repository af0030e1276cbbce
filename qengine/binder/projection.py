"""Binds WITH and RETURN: items, grouping, DISTINCT, ORDER BY, SKIP, LIMIT, and WITH's WHERE.

The rows pass through these, as far as each is asked for::

    Aggregate → Project → Distinct → Sort → Skip → Limit → Filter → Project

ORDER BY and WHERE see the new names and, unless DISTINCT or an aggregate stands between, the old ones: then the
first ``Project`` hands on what they read and the last one drops it. New names are unique in the statement; only the
last ``Project`` of a RETURN gives the columns the names that the user asked for.
"""

from __future__ import annotations

from qengine._frozen import replace
from qengine.binder.aggregation import Grouping
from qengine.binder.binding import Binding
from qengine.binder.expressions import ExpressionBinder
from qengine.binder.inference import may_be
from qengine.binder.items import Item, aggregates, bind_items, check_names
from qengine.binder.projection_scope import ProjectionScope
from qengine.binder.scope import Scope, Symbol
from qengine.plan.expr import Call, Expr, Literal, Subquery, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Aggregate, Distinct, Filter, Limit, Operator, Project, Skip, Sort, SortKey
from qengine.plan.traverse import conjunction, conjuncts, free_variables, preorder
from qengine.syntax import ast
from qengine.types import BOOLEAN, INTEGER, Kind, Type, indefinite


def bind_with(
    binding: Binding, clause: ast.WithClause, root: Operator, scope: Scope, carried: tuple[Symbol, ...]
) -> tuple[Operator, Scope]:
    """Bind WITH; return its rows and the scope behind it. ``carried``: outer columns to hand on as well."""
    projection = clause.projection
    items = bind_items(binding, projection, scope, unique=True)
    if clause.word == "LET" and any(item.aggregates for item in items):
        message = "LET can't aggregate: it keeps each row."
        raise binding.error("InvalidAggregation", message, clause.span, "Aggregate in a WITH before it.")
    root, cut = _project(binding, projection, clause.where, root, scope, items, carried)
    check_names(binding, projection, items, scope)
    symbols = {item.alias: Symbol(item.name, item.expr.type) for item in items}
    return root, Scope(symbols, outer=scope.outer, cut=cut)


def bind_return(
    binding: Binding, clause: ast.ReturnClause, root: Operator, scope: Scope
) -> tuple[Operator, dict[str, Type]]:
    """Bind RETURN; return its rows and its columns with their types."""
    projection = clause.projection
    if not projection.items and not projection.star:  # FINISH
        return Limit(Project(root, ()), Literal(0, type=INTEGER)), {}
    if projection.star and not projection.items and not scope.symbols and scope.outer is None:
        raise binding.error("NoVariablesInScope", "RETURN * has nothing to return.", clause.span, "Name a node: (n).")
    items = bind_items(binding, projection, scope, unique=bool(projection.order or projection.groups))
    check_names(binding, projection, items, None)
    root, _ = _project(binding, projection, None, root, scope, items, ())
    if any(item.name != item.alias for item in items):
        root = _renamed(root, items)
    return root, {item.alias: item.expr.type for item in items}


def _project(
    binding: Binding,
    projection: ast.Projection,
    where: ast.Expression | None,
    root: Operator,
    scope: Scope,
    items: tuple[Item, ...],
    carried: tuple[Symbol, ...],
) -> tuple[Operator, bool]:
    """Return the projected rows, and whether they are cut off from the rows round the subquery."""
    names = {item.name for item in items}
    carried = tuple(symbol for symbol in carried if symbol.name not in names)
    given, items = _given_keys(binding, projection, scope, items)
    grouping = Grouping(binding, items, given) if given or any(item.aggregates for item in items) else None
    columns: list[tuple[str, Expr]] = grouping.columns() if grouping else [(item.name, item.expr) for item in items]
    cut = scope.cut or (grouping is not None and not grouping.keys)
    if grouping is not None:
        root = grouping.operator(root, carried)
    carried = () if cut else carried
    columns += [(symbol.name, Variable(symbol.name, type=symbol.type)) for symbol in carried]
    visible = ProjectionScope(
        binding,
        scope,
        items,
        carried={symbol.name for symbol in carried},
        grouped=grouping is not None,
        calls=grouping.calls if grouping and not projection.distinct else {},
        old_rows=grouping is None and not projection.distinct,
    )
    keys, computed = _sort_keys(binding, [(visible.sort_key(item.expression), item) for item in projection.order])
    condition = visible.condition(where) if where is not None else None
    hidden = [(name, variable) for name, variable in visible.hidden.items() if name not in dict(columns)]
    if not _emits(root, [*columns, *hidden]):
        root = Project(root, (*columns, *hidden))
    if projection.distinct:
        root = Distinct(root)
    if computed:
        before = ((name, Variable(name, type=expr.type)) for name, expr in (*columns, *hidden))
        root = Project(root, (*before, *computed))
    if keys:
        root = Sort(root, keys)
    if projection.skip is not None:
        root = Skip(root, _constant(binding, "SKIP", projection.skip, scope))
    if projection.limit is not None:
        root = Limit(root, _constant(binding, "LIMIT", projection.limit, scope))
    if condition is not None:
        root = _filtered(root, condition)
    if hidden or computed:
        root = Project(root, tuple((name, Variable(name, type=expr.type)) for name, expr in columns))
    return root, cut


def _given_keys(
    binding: Binding, projection: ast.Projection, scope: Scope, items: tuple[Item, ...]
) -> tuple[tuple[Expr, ...], tuple[Item, ...]]:
    """Return the keys of GROUP BY, expressions over the rows before or names of items, and the items.

    Items that are written as a key is mean that key, whatever the names are that they bind.
    """
    named = {item.alias: item.expr for item in items}
    keys = []
    for node in projection.groups:
        own = named.get(node.name) if isinstance(node, ast.Variable) else None
        key = ExpressionBinder(binding, scope, "GROUP BY").value(node) if own is None else own
        if aggregates(key):
            raise binding.error("InvalidAggregation", "Rows aren't grouped by an aggregate.", node.span)
        keys.append(key)
        items = tuple(replace(item, expr=key) if item.written == node else item for item in items)
    return tuple(keys), items


def _sort_keys(
    binding: Binding, items: list[tuple[Expr, ast.SortItem]]
) -> tuple[tuple[SortKey, ...], list[tuple[str, Expr]]]:
    """Return the keys of ORDER BY, two where nulls don't come where the greatest values do, and columns they read."""
    keys: list[SortKey] = []
    computed: list[tuple[str, Expr]] = []
    for expr, item in items:
        if item.nulls_first is not None and item.nulls_first is item.ascending:
            if not isinstance(expr, Variable):  # what is evaluated once stands once
                computed.append((binding.names.anonymous(), expr))
                expr = Variable(computed[-1][0], type=expr.type)
            keys.append(SortKey(Call("IS NULL", (expr,), type=BOOLEAN), not item.nulls_first))
        keys.append(SortKey(expr, item.ascending))
    return tuple(keys), computed


def _filtered(root: Operator, condition: Expr) -> Operator:
    """Return the rows for which a condition holds; parts that can fail come last, as in a match."""
    parts = conjuncts(condition)
    early = tuple(part for part in parts if not condition_can_fail(part))
    if not early or len(early) == len(parts):
        return Filter(root, condition)
    late = tuple(part for part in parts if condition_can_fail(part))
    return Filter(Filter(root, conjunction(early)), conjunction(late))


def _emits(root: Operator, columns: list[tuple[str, Expr]]) -> bool:
    """Tell whether an aggregation's columns are the wanted ones as they stand."""
    if not isinstance(root, Aggregate):
        return False
    emitted = [name for name, _ in (*root.keys, *root.aggregates)]
    return emitted == [name for name, _ in columns] and all(
        isinstance(expr, Variable) and expr.name == name for name, expr in columns
    )


def _renamed(root: Operator, items: tuple[Item, ...]) -> Operator:
    """Return the rows with the columns' names as the user gave them."""
    if isinstance(root, Project):
        names = {item.name: item.alias for item in items}
        return Project(root.input, tuple((names[name], expr) for name, expr in root.items))
    return Project(root, tuple((item.alias, item.result) for item in items))


def _constant(binding: Binding, clause: str, node: ast.Expression, scope: Scope) -> Expr:
    expr = ExpressionBinder(binding, scope, clause).value(node)
    if free_variables(expr) or any(isinstance(part, Subquery) for part in preorder(expr)):
        raise binding.error(
            "NonConstantExpression", f"{clause} can't depend on the rows.", node.span, "Use a number or a $parameter."
        )
    if not may_be(expr.type, Kind.INTEGER, Kind.NUMBER):
        raise binding.error(
            "InvalidArgumentType",
            f"{clause} takes an INTEGER, not {indefinite(expr.type)}.",
            node.span,
            "Use a whole number.",
        )
    if isinstance(expr, Literal) and isinstance(expr.value, int) and expr.value < 0:
        raise binding.error("NegativeIntegerArgument", f"{clause} can't be negative.", node.span)
    return expr
