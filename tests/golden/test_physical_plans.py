"""Queries and their physical plans in full: matching orders, levels, joins, steps of eliminations, and the ways taken.

Costs are left out: the milliseconds for which one way was preferred to another. A file's name begins with that of its
graph (``tests/replay/cases.py``).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from qengine.plan.logical import Operator
from qengine.plan.physical import Eliminate, HashJoin
from qengine.plan.text import to_text
from qengine.plan.traverse import rewrite_plan
from qengine.testing.plans import lowered
from tests.replay.cases import graph
from tests.replay.ways import ways

GOLDEN = "physical_plans"
_MILLISECONDS = re.compile(r"~?[\d,.e+-]+ ms")


def test_physical_plan(golden_case: Any) -> None:
    target = graph(golden_case.path.stem.partition("_")[0])
    plan = lowered(target, golden_case.query)
    parts = [to_text(rewrite_plan(plan.root, _timeless))]
    if plan.careful is not None:
        parts += ["where a condition fails:", to_text(rewrite_plan(plan.careful, _timeless))]
    golden_case.check("\n".join([*parts, *(f"> {line}" for line in ways(target, plan, {}))]))


def _timeless(operator: Operator) -> Operator:
    if isinstance(operator, Eliminate | HashJoin):
        return replace(operator, reason=_MILLISECONDS.sub("… ms", operator.reason))
    return operator
