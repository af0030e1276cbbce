"""Rewrites of the logical plan, in order. A rule is one function in one file: operator in, operator out."""

from __future__ import annotations

from collections.abc import Callable

from qengine.optimizer.rules.top_k import top_k
from qengine.plan.logical import Operator

Rule = Callable[[Operator], Operator]

RULES: tuple[Rule, ...] = (top_k,)
