"""What ORDER BY and WITH's WHERE see: the new columns, and the old ones where these still exist."""

from __future__ import annotations

from collections.abc import Mapping

from qengine._cached import cached_property
from qengine.binder.aggregation import ambiguous
from qengine.binder.binding import Binding
from qengine.binder.expressions import ExpressionBinder
from qengine.binder.items import Item, aggregates, is_plain
from qengine.binder.scope import Scope, Symbol
from qengine.errors import SemanticError
from qengine.plan.expr import AggregateCall, Expr, Subquery, Variable
from qengine.plan.traverse import bound_names, free_variables, preorder, substitute
from qengine.syntax import ast


class ProjectionScope:
    """Binds expressions that stand behind a projection; ``hidden``: columns beside the items that were asked for."""

    def __init__(
        self,
        binding: Binding,
        scope: Scope,
        items: tuple[Item, ...],
        *,
        carried: set[str],
        grouped: bool,
        calls: Mapping[AggregateCall, str],
        old_rows: bool,
    ) -> None:
        """Begin with no column asked for.

        ``carried``: outer columns beside the items. ``grouped``: the projection aggregates. ``calls``: columns of
        aggregates that are at hand. ``old_rows``: the old columns can still be read (no DISTINCT, no aggregate).
        """
        self.binding, self.scope, self.items = binding, scope, items
        self.carried, self.grouped, self.calls, self.old_rows = carried, grouped, calls, old_rows
        self.hidden: dict[str, Variable] = {}

    @cached_property
    def _visible(self) -> Scope:
        """The names before the projection, and those of its columns."""
        return self.scope.with_symbols({item.alias: Symbol(item.name, item.expr.type) for item in self.items})

    @cached_property
    def _new(self) -> set[str]:
        return {item.name for item in self.items} | self.carried

    @cached_property
    def _item_of(self) -> dict[Expr, Item]:
        return {item.expr: item for item in reversed(self.items)}

    @cached_property
    def _written(self) -> dict[ast.Expression, Item]:
        return {item.written: item for item in reversed(self.items)}

    def sort_key(self, node: ast.Expression) -> Expr:
        """Bind an expression of ORDER BY."""
        return self._column(node) or self._resolve(self._binder(None if self.grouped else "this ORDER BY").value(node))

    def condition(self, node: ast.Expression) -> Expr:
        """Bind the WHERE behind WITH."""
        return self._resolve(self._binder("WHERE").condition(node))

    def _binder(self, forbidden: str | None) -> ExpressionBinder:
        return ExpressionBinder(self.binding, self._visible, forbidden)

    def _column(self, node: ast.Expression) -> Expr | None:
        """Return the column that has just this expression, even where its alias hides a variable in it."""
        same = None if isinstance(node, ast.Variable) else self._written.get(node)
        return None if same is None else same.result

    def _resolve(self, expr: Expr) -> Expr:
        """Express ``expr`` by the columns behind the projection."""
        new = self._new
        if isinstance(expr, Variable) and expr.name in new:
            return expr
        results = self._item_of
        local = {name for part in preorder(expr) for name in bound_names(part)}
        mixed = aggregates(expr)

        def choose(part: Expr) -> Expr | None:
            if isinstance(part, Variable) and (part.name in new or part.name in local):
                return part
            item = results.get(part)
            if item is not None:
                if mixed and part is not expr and not item.aggregates and not is_plain(part):
                    raise ambiguous(self.binding, part)
                return item.result
            if isinstance(part, AggregateCall):
                return self._call(part, new)
            if isinstance(part, Variable):
                self._old(part, part)
            elif isinstance(part, Subquery):
                for name in part.outer:
                    if name not in new and name not in local:
                        self._old(Variable(name), part)
                return part
            return None

        return substitute(expr, choose)

    def _call(self, call: AggregateCall, new: set[str]) -> Expr:
        name = self.calls.get(call)
        if name is not None:
            column = Variable(name, type=call.type, span=call.span)
            if name not in new:
                self.hidden[name] = column
            return column
        for part in preorder(call):
            if isinstance(part, Variable) and part.name in free_variables(call) - new:
                raise self._invisible(part, part)
        raise self.binding.error(
            "InvalidAggregation",
            "ORDER BY can only use aggregates that the projection computes.",
            call.span,
            "Add it to the projection, and order by its name.",
        )

    def _old(self, variable: Variable, place: Expr) -> None:
        if not self.old_rows:
            raise self._invisible(variable, place)
        self.hidden[variable.name] = Variable(variable.name, type=variable.type)

    def _invisible(self, variable: Variable, place: Expr) -> SemanticError:
        name = variable.name.partition("@")[0] or variable.name
        columns = ", ".join(f"`{item.alias}`" for item in self.items)
        cause = "an aggregate" if self.grouped else "DISTINCT"
        return self.binding.error(
            "UndefinedVariable",
            f"Variable `{name}` is not visible behind {cause}.",
            place.span,
            f"Only the projected columns are: {columns}.",
        )
