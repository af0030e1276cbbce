"""What an operator needs from the one below it, and what lowering gives back."""

from __future__ import annotations

from enum import Enum

from qengine._frozen import frozen, replace
from qengine.plan.expr import Expr
from qengine.plan.logical import Operator
from qengine.plan.traverse import free_variables


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
    the rows are read.
    """

    columns: frozenset[str]
    duplicates: Duplicates = Duplicates.KEEP
    times: float = 1.0
    least: float = 1.0
    reads: Reads = Reads.ALL

    def also(self, *exprs: Expr) -> Demand:
        """Return the demand with the variables of ``exprs`` added."""
        return replace(self, columns=self.columns.union(*map(free_variables, exprs)))

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
