"""Closed walks among the steps of an elimination: how many lead from each vertex back to it, along one matrix."""

from __future__ import annotations

from qengine._frozen import frozen
from qengine.plan.elimination import Arm, Around, Step

__all__ = ["ClosedWalks", "closed_walks"]


@frozen
class ClosedWalks:
    """``length`` steps (4 or 5) along the matrix that the step ``matrix`` is."""

    matrix: int
    length: int


def closed_walks(step: Step) -> ClosedWalks | None:
    """Return which closed walks a step sums up around each vertex, whatever it multiplies them by, or None."""
    if not isinstance(step, Around) or not step.arms or (matrix := step.arms[0].start) is None:
        return None
    neighbours, beyond = Arm(matrix, None, (), matrix), Arm(None, None, (0,), matrix)
    if step.arms == (neighbours, Arm(None, None, (0, 0), None)) and step.tops == (1,):
        return ClosedWalks(matrix, 4)
    if step.arms == (neighbours, beyond, Arm(None, None, (0, 1), None)) and step.tops == (2,):
        return ClosedWalks(matrix, 5)
    return None
