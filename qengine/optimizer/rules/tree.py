"""Walks over operator trees for rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from qengine.plan.logical import Operator, Union

__all__ = ["bottom_up"]


def bottom_up(operator: Operator, change: Callable[[Operator], Operator]) -> Operator:
    """Return the tree with ``change`` applied to every operator, inputs first. Chains of any length are fine."""
    chain: list[Operator] = []
    while (below := getattr(operator, "input", None)) is not None:
        chain.append(operator)
        operator = below
    if isinstance(operator, Union):
        inputs = tuple(bottom_up(each, change) for each in operator.inputs)
        if any(new is not old for new, old in zip(inputs, operator.inputs, strict=True)):
            operator = replace(operator, inputs=inputs)
    new = change(operator)
    for above in reversed(chain):
        new = change(above if new is above.input else replace(above, input=new))  # type: ignore[attr-defined, call-arg]
    return new
