"""From a bound plan to a physical one: matching orders, lowering, rules."""

from __future__ import annotations

from functools import reduce

from qengine.catalog.view import CatalogView
from qengine.optimizer.lower.demand import Demand
from qengine.optimizer.lower.tail import lower
from qengine.optimizer.rules import RULES, TENTATIVE, Rule
from qengine.plan.logical import LogicalPlan, Operator
from qengine.plan.physical import PhysicalPlan
from qengine.plan.traverse import rewrite_plan


def plan(logical: LogicalPlan, catalog: CatalogView) -> PhysicalPlan:
    """Return the physical plan of a bound statement.

    Raises
    ------
    Unsupported
        If no executor can run a part of it; nothing is found out later.
    """

    def lowered(root: Operator) -> Operator:
        return lower(root, Demand(frozenset(logical.columns)), catalog).root

    root = _rewritten(logical.root, RULES)
    tentative = _rewritten(root, TENTATIVE)
    careful = None if tentative is root else lowered(root)
    return PhysicalPlan(lowered(tentative), logical.columns, logical.explain, careful)


def _rewritten(root: Operator, rules: tuple[Rule, ...]) -> Operator:
    return reduce(rewrite_plan, rules, root)
