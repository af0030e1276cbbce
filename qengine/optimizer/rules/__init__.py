"""Rewrites of the logical plan, in order. A rule is one function in one file: operator in, operator out.

Rules are applied to every operator, inputs first, also to those of subqueries.
"""

from __future__ import annotations

from collections.abc import Callable

from qengine.optimizer.rules.early_conditions import early_conditions
from qengine.optimizer.rules.top_k import top_k
from qengine.plan.logical import Operator

Rule = Callable[[Operator], Operator]

RULES: tuple[Rule, ...] = (top_k,)

TENTATIVE: tuple[Rule, ...] = (early_conditions,)
"""Right only if no condition that they move fails on any node or relationship: see ``PhysicalPlan.careful``."""
