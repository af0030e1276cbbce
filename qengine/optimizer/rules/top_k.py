"""Tells a ``Sort`` below a ``Limit`` how many rows are needed.

Why: keeping the k best rows is O(n log k) time and O(k) memory instead of O(n log n) and O(n).
When: ``Limit`` stands over ``Sort`` with nothing between but ``Skip`` and ``Project``, which keep rows and order.
Wrong for: ``Limit`` over ``Distinct`` over ``Sort``, where more than k sorted rows may be needed.
"""

from __future__ import annotations

from qengine._frozen import replace
from qengine.optimizer.rules.tree import changes
from qengine.plan.expr import Call, Expr, Literal
from qengine.plan.logical import Limit, Operator, Project, Skip, Sort
from qengine.types import INTEGER


@changes(Limit)
def top_k(operator: Operator) -> Operator:
    """Apply the rule to one operator."""
    if isinstance(operator, Limit):
        below = _push(operator.input, operator.count)
        return operator if below is operator.input else replace(operator, input=below)
    return operator


def added(skipped: Expr, count: Expr) -> Expr:
    """Return how many rows are needed to skip some and give so many: no more than there can be."""
    if isinstance(skipped, Literal) and isinstance(count, Literal) and type(skipped.value) is type(count.value) is int:
        return Literal(min(skipped.value + count.value, 2**63 - 1), type=INTEGER)
    return Call("+", (skipped, count), type=INTEGER)


def _push(operator: Operator, count: Expr) -> Operator:
    match operator:
        case Project():
            below = _push(operator.input, count)
            return operator if below is operator.input else replace(operator, input=below)
        case Skip():
            below = _push(operator.input, added(operator.count, count))
            return operator if below is operator.input else replace(operator, input=below)
        case Sort(limit=None):
            return replace(operator, limit=count)
        case _:
            return operator
