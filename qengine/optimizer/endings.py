"""How a statement ends: in different rows, in groups, in fewer rows than its pattern has."""

from __future__ import annotations

from qengine._frozen import record
from qengine.optimizer.rows import constant_count
from qengine.plan.expr import AggregateCall, Call, Expr
from qengine.plan.logical import Aggregate, Distinct, Filter, Limit, Operator, Project, Skip, Sort
from qengine.types import BOOLEAN


@record
class Ending:
    """What is counted of a pattern's rows: all, or the different values of ``keys``; then some are left out.

    ``cuts``: one after the other, whether so many rows are left out, or are what is left.
    """

    keys: tuple[tuple[str, Expr], ...] | None = None
    cuts: tuple[tuple[bool, float], ...] = ()

    def rows(self, count: float) -> float:
        """Return how many rows are left of so many."""
        for skips, rows in self.cuts:
            count = max(count - rows, 0.0) if skips else min(count, rows)
        return count


def ending_of(root: Operator) -> tuple[Ending, Operator]:
    """Return how a statement ends, and what its rows are made from: keys are expressions over that."""
    cuts: tuple[tuple[bool, float], ...] = ()
    while True:
        match root:
            case Project() | Sort():  # a sort's own limit is that of an operator above it
                root = root.input
            case Limit() | Skip() if (count := constant_count(root.count)) is not None:
                cuts = ((isinstance(root, Skip), count), *cuts)
                root = root.input
            case Distinct(input=Project(input=below, items=items)):
                return Ending(items, cuts), below
            case Aggregate(input=below, keys=keys) if keys:
                return Ending(keys, cuts), below
            case Aggregate(input=below, keys=(), aggregates=((name, call),)) if _counts_different(call):
                there = Call("IS NOT NULL", call.args, type=BOOLEAN)
                return Ending(((name, call.args[0]),)), Filter(below, there)
            case _:
                return Ending(None, cuts), root


def _counts_different(call: AggregateCall) -> bool:
    return call.name == "count" and call.distinct and len(call.args) == 1
