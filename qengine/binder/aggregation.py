"""Grouping: the items without aggregates are the keys, or those of GROUP BY; the rest is computed for each group.

``RETURN a.x, a.x + count(*)`` becomes ``Aggregate(keys a.x; count(*))`` and a ``Project`` of the sum. Besides
aggregates an expression may read constants and keys that are variables or properties; anything else has no one value
in its group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from qengine._frozen import record
from qengine.binder.binding import Binding
from qengine.binder.items import Item, is_plain
from qengine.binder.scope import Symbol
from qengine.errors import SemanticError
from qengine.plan.expr import AggregateCall, Expr, Property, Subquery, Variable
from qengine.plan.logical import Aggregate, Operator
from qengine.plan.traverse import bound_names, preorder, substitute


@record
class Grouping:
    """How the items of one projection are grouped.

    ``given``: the keys of GROUP BY; without it, the items without aggregates are. ``keys`` maps a key's expression to
    its column, ``calls`` an aggregate to its column. ``added``: keys that only subqueries need, under the outer names
    that their plans read.
    """

    binding: Binding
    items: tuple[Item, ...]
    given: tuple[Expr, ...] = ()
    keys: dict[Expr, str] = field(default_factory=dict)
    calls: dict[AggregateCall, str] = field(default_factory=dict)
    added: dict[str, Variable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for item in self.items:
            if not item.aggregates and (not self.given or item.expr in self.given):
                self.keys.setdefault(item.expr, item.name)
            elif isinstance(item.expr, AggregateCall):
                self.calls.setdefault(item.expr, item.name)
        for key in self.given:
            if key not in self.keys:
                self.keys[key] = key.name if isinstance(key, Variable) else self.binding.names.anonymous()
        mixed = (item.expr for item in self.items if item.aggregates and not isinstance(item.expr, AggregateCall))
        for part in (part for expr in mixed for part in preorder(expr)):
            if isinstance(part, AggregateCall) and part not in self.calls:
                self.calls[part] = self.binding.names.anonymous()

    def columns(self) -> list[tuple[str, Expr]]:
        """Return the items as expressions over the groups."""
        return [(item.name, self._over_groups(item)) for item in self.items]

    def operator(self, root: Operator, carried: tuple[Symbol, ...]) -> Operator:
        """Return the aggregation; call it after ``columns``. ``carried`` are columns with one value in all rows."""
        keys = {name: expr for expr, name in self.keys.items()}
        if keys:
            keys |= self.added
            keys |= {symbol.name: Variable(symbol.name, type=symbol.type) for symbol in carried}
        return Aggregate(root, tuple(keys.items()), tuple((name, call) for call, name in self.calls.items()))

    def _over_groups(self, item: Item) -> Expr:
        of: Mapping[Any, str] = self.calls if isinstance(item.expr, AggregateCall) else self.keys
        if (name := of.get(item.expr)) is not None:
            return Variable(name, type=item.expr.type, span=item.expr.span)
        local = {name for part in preorder(item.expr) for name in bound_names(part)}

        def choose(part: Expr) -> Expr | None:
            if isinstance(part, AggregateCall):
                return Variable(self.calls[part], type=part.type, span=part.span)
            if part in self.keys and (self.given or is_plain(part)):
                return Variable(self.keys[part], type=part.type, span=part.span)
            if is_plain(part):
                *properties, variable = _chain(part)
                known = any(each in self.keys for each in (*properties, variable))
                if not known and isinstance(variable, Variable) and variable.name not in local:
                    raise ambiguous(self.binding, part)
            if isinstance(part, Subquery):
                self._keep_outer(part, local)
                return part
            return None

        return substitute(item.expr, choose)

    def _keep_outer(self, subquery: Subquery, local: set[str]) -> None:
        variables = {key.name: key for key in self.keys if isinstance(key, Variable)}
        for name in subquery.outer:
            if name in variables:
                self.added[name] = variables[name]
            elif name not in local:
                raise ambiguous(self.binding, subquery)


def _chain(expr: Expr) -> Iterator[Expr]:
    """Yield ``a.b.c``, then ``a.b``, then ``a``."""
    while isinstance(expr, Property):
        yield expr
        expr = expr.subject
    yield expr


def ambiguous(binding: Binding, part: Expr) -> SemanticError:
    """Return the error of an expression that has no one value in its group."""
    return binding.error(
        "AmbiguousAggregationExpression",
        f"{binding.quoted(part.span)} is neither a grouping key nor inside an aggregate.",
        part.span,
        "Group by it in a WITH before, or aggregate it, for example with max().",
    )
