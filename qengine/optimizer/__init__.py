"""From a bound plan to a physical one: matching orders, lowering, rules."""

from __future__ import annotations

from qengine.catalog.view import CatalogView
from qengine.optimizer.lower.demand import Demand
from qengine.optimizer.lower.tail import lower
from qengine.optimizer.rules import RULES
from qengine.plan.logical import LogicalPlan
from qengine.plan.physical import PhysicalPlan


def plan(logical: LogicalPlan, catalog: CatalogView) -> PhysicalPlan:
    """Return the physical plan of a bound statement.

    Raises
    ------
    Unsupported
        If no executor can run a part of it; nothing is found out later.
    """
    root = logical.root
    for rule in RULES:
        root = rule(root)
    lowered = lower(root, Demand(frozenset(logical.columns)), catalog)
    return PhysicalPlan(lowered.root, logical.columns, logical.explain)
