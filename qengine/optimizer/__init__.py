"""From a bound plan to a physical one: matching orders, lowering, rules."""

from __future__ import annotations

from collections.abc import Iterator

from qengine.catalog.view import CatalogView
from qengine.optimizer.lower.demand import Demand, Reads
from qengine.optimizer.lower.tail import lower
from qengine.optimizer.memory import remembering
from qengine.optimizer.rules import rewritten_both_ways, steps
from qengine.optimizer.unused_hints import unused_hints
from qengine.plan.logical import LogicalPlan, Operator
from qengine.plan.physical import PhysicalPlan

__all__ = ["plan", "plan_steps", "unused_hints"]


def plan(logical: LogicalPlan, catalog: CatalogView) -> PhysicalPlan:
    """Return the physical plan of a bound statement.

    Raises
    ------
    Unsupported
        If no executor can run a part of it; nothing is found out later.
    """

    def lowered(root: Operator) -> Operator:
        return lower(root, Demand(frozenset(logical.columns), reads=Reads.FETCHED), catalog).root

    root, early = rewritten_both_ways(logical.root)
    with remembering():
        careful = None if early is root else lowered(root)
        return PhysicalPlan(lowered(early), logical.columns, logical.explain, careful)


def plan_steps(logical: LogicalPlan, catalog: CatalogView) -> Iterator[tuple[str, Operator]]:
    """Yield the plan of a bound statement as it was bound, after each rule that changes it, and lowered."""
    yield "bound", logical.root
    yield from steps(logical.root)
    yield "lowered", plan(logical, catalog).root
