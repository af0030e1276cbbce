"""Tells a ``Sort`` below a ``Limit`` how many rows are needed.

Why: keeping the k best rows is O(n log k) time and O(k) memory instead of O(n log n) and O(n).
When: ``Limit`` stands over ``Sort`` with nothing between but ``Skip`` and ``Project``, which keep rows and order.
Wrong for: ``Limit`` over ``Distinct`` over ``Sort``, where more than k sorted rows may be needed.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from qengine.plan.expr import Call, Expr
from qengine.plan.logical import Limit, Operator, Project, Skip, Sort
from qengine.types import INTEGER


def top_k(operator: Operator) -> Operator:
    """Apply the rule to the whole tree."""
    operator = _map_inputs(operator)
    if isinstance(operator, Limit):
        return replace(operator, input=_push(operator.input, operator.count))
    return operator


def _push(operator: Operator, count: Expr) -> Operator:
    match operator:
        case Project():
            return replace(operator, input=_push(operator.input, count))
        case Skip():
            total = Call("+", (operator.count, count), type=INTEGER)
            return replace(operator, input=_push(operator.input, total))
        case Sort(limit=None):
            return replace(operator, limit=count)
        case _:
            return operator


def _map_inputs(operator: Operator) -> Operator:
    changes: dict[str, Any] = {}
    for field in fields(operator):
        value = getattr(operator, field.name)
        if isinstance(value, Operator):
            changes[field.name] = top_k(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], Operator):
            changes[field.name] = tuple(top_k(item) for item in value)
    return replace(operator, **changes) if changes else operator
