"""Matrices of relationships as they are, or seen from the other end, on the device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from qengine.exec.gpu.eliminate_matrix import DeviceMatrix, uploaded
from qengine.exec.gpu.elimination_steps import DeviceSteps
from qengine.plan.elimination import Matrix
from qengine.plan.kernels.mixed_walks import Way


def matrix_along(steps: DeviceSteps, given: Mapping[Way, DeviceMatrix], way: Way) -> DeviceMatrix:
    """Return a matrix by its place, maybe seen from the other end; ``given``: those that steps have.

    Raises
    ------
    OutOfMemory
        If it doesn't fit.
    """
    if way in given:
        return given[way]
    step = steps.steps[way[0]]
    assert isinstance(step, Matrix)
    turned = replace(step, relations=tuple(each.reversed() for each in step.relations)) if way[1] else step
    return uploaded(steps.relations, turned, steps.run, steps.held, steps.wide)
