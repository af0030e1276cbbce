"""What an operator needs from the one below it, and what lowering gives back."""

from __future__ import annotations

from enum import Enum

from qengine._frozen import frozen, replace
from qengine.plan import expr as x
from qengine.plan.expr import Expr, Property, Variable
from qengine.plan.logical import Operator
from qengine.plan.traverse import differs_each_time, free_variables, preorder

_PLAIN = (
    x.AggregateCall, x.Call, x.Case, x.Comparison, x.ListOf, x.Literal, x.Logical, x.MapOf, x.Parameter, x.Property
)  # fmt: skip
"""Expressions whose parts are all that they read."""


class Duplicates(Enum):
    """What equal rows mean to the operator above.

    ``KEEP``: each must come. ``COUNT``: one row with a number will do. ``IGNORE``: once is enough.
    """

    KEEP = "keep"
    COUNT = "count"
    IGNORE = "ignore"


class Reads(Enum):
    """How many of its input's rows an operator reads."""

    ALL = "all"
    FETCHED = "fetched"
    """As many as the user fetches, who may want the first ones soon."""
    FEW = "few"


@frozen
class Demand:
    """The columns that are needed from an input, and what its duplicates mean.

    ``times``: for about how many outer rows a subquery is run, and for how many at ``least``. ``reads``: how many of
    the rows are read. ``exprs``: what the columns are needed for; None where that is something else, too.
    """

    columns: frozenset[str]
    duplicates: Duplicates = Duplicates.KEEP
    times: float = 1.0
    least: float = 1.0
    reads: Reads = Reads.ALL
    exprs: tuple[Expr, ...] | None = None

    def also(self, *exprs: Expr) -> Demand:
        """Return the demand with the variables of ``exprs`` added; each row is needed where one differs each time."""
        columns = self.columns.union(*map(free_variables, exprs))
        kept = self.keeping() if any(map(differs_each_time, exprs)) else self
        return replace(kept, columns=columns, exprs=None if self.exprs is None else (*self.exprs, *exprs))

    def keys_of(self, name: str) -> tuple[str, ...] | None:
        """Return which properties of a column are read, None where it is also read as a whole."""
        if self.exprs is None:
            return None
        keys: dict[str, None] = {}
        for expr in self.exprs:
            if name not in free_variables(expr):
                continue
            read = 0
            for each in preorder(expr):
                match each:
                    case Property(subject=Variable(name=of), key=key) if of == name:
                        keys[key] = None
                        read += 1
                    case Variable(name=of) if of == name:
                        read -= 1
                    case _ if not isinstance(each, _PLAIN):
                        return None
            if read:
                return None
        return tuple(keys)

    def keeping(self) -> Demand:
        """Return the demand with every row needed."""
        return self if self.duplicates is Duplicates.KEEP else replace(self, duplicates=Duplicates.KEEP)

    def reading(self, reads: Reads) -> Demand:
        """Return the demand with so many rows read."""
        return self if self.reads is reads else replace(self, reads=reads)


@frozen
class Lowered:
    """A lowered operator, its columns in order, and the column that says how often each row counts."""

    root: Operator
    columns: tuple[str, ...]
    weight: str | None = None
