"""Names: which are visible where, and the columns that they stand for.

The user may give one name to different things one after the other; in a plan every name means one thing. So a
``Scope`` maps the user's names to ``Symbol`` objects, whose ``name`` is a column, unique in the statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from qengine._frozen import frozen, record
from qengine.plan.expr import Expr
from qengine.plan.traverse import free_variables
from qengine.types import ANY, Type


@frozen
class Symbol:
    """What a name stands for: a column of the rows (or a comprehension's variable) and its static type.

    ``value``: what it is, where it isn't the column itself but is computed from it.
    """

    name: str
    type: Type
    value: Expr | None = None

    def columns(self) -> Iterator[Symbol]:
        """Yield the columns that it is read from."""
        if self.value is None:
            yield self
        else:
            yield from (Symbol(name, ANY) for name in sorted(free_variables(self.value)))


def hidden_name(function: str) -> str:
    """Return what a scope calls the column that a function without arguments reads; no variable can have the name."""
    return f"\0{function}"


def is_hidden(name: str) -> bool:
    """Tell whether a name is one of ``hidden_name``."""
    return name.startswith("\0")


@record
class Names:
    """Gives out the statement's column names: the user's own where it is free, and ``@1``, ``@2``, … for the rest."""

    taken: set[str] = field(default_factory=set)
    counter: int = 0

    def fresh(self, wanted: str) -> str:
        """Return ``wanted``, or ``wanted@2``, ``wanted@3``, … if it is taken."""
        name, number = wanted, 1
        while name in self.taken:
            number += 1
            name = f"{wanted}@{number}"
        self.taken.add(name)
        return name

    def anonymous(self) -> str:
        """Return a name for what the user gave none."""
        self.counter += 1
        return self.fresh(f"@{self.counter}")


@record
class Outer:
    """The rows round a subquery: their scope, and which of their columns the subquery has read so far."""

    scope: Scope
    captured: dict[str, Symbol] = field(default_factory=dict)


@frozen
class Scope:
    """The names visible at one place of a query.

    ``parent`` is the scope of the same rows round a comprehension. ``outer`` is the scope round a subquery: what
    is found there is noted as captured. ``cut``: the outer rows' columns did not come through an aggregation.
    """

    symbols: Mapping[str, Symbol] = field(default_factory=dict)
    parent: Scope | None = None
    outer: Outer | None = None
    cut: bool = False

    def find(self, name: str) -> Symbol | None:
        """Return what ``name`` stands for, None if nothing does."""
        scope: Scope | None = self
        while scope is not None:
            symbol = scope.symbols.get(name)
            if symbol is not None:
                return symbol
            if scope.outer is not None and not scope.cut:
                symbol = scope.outer.scope.find(name)
                if symbol is not None:
                    scope.outer.captured.update((each.name, each) for each in symbol.columns())
                return symbol
            scope = scope.parent
        return None

    def is_cut_off(self, name: str) -> bool:
        """Tell whether ``name`` would be visible, had an aggregation not cut off the outer rows."""
        scope: Scope | None = self
        while scope is not None:
            if scope.outer is not None:
                found = scope.outer.scope.find(name) is not None
                return found if scope.cut else scope.outer.scope.is_cut_off(name)
            scope = scope.parent
        return False

    def shadows(self, name: str) -> bool:
        """Tell whether a new variable ``name`` would hide one of the rows round the subquery."""
        if self.outer is None or self.cut or name in self.symbols:
            return False
        return self.outer.scope.find(name) is not None

    def visible(self) -> Iterator[str]:
        """Yield all visible names, nearest first."""
        scope: Scope | None = self
        while scope is not None:
            yield from (name for name in scope.symbols if not is_hidden(name))
            if scope.outer is not None and not scope.cut:
                yield from scope.outer.scope.visible()
            scope = scope.parent

    def with_symbols(self, symbols: Mapping[str, Symbol]) -> Scope:
        """Return the scope of the same rows with more (or changed) columns."""
        return Scope({**self.symbols, **symbols}, self.parent, self.outer, self.cut)

    def inside(self, symbols: Mapping[str, Symbol]) -> Scope:
        """Return the scope inside a comprehension that binds ``symbols``."""
        return Scope(symbols, parent=self)
