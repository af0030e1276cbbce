"""The GPU executor: the CPU's pipeline with matching on the device. CuPy is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator

from qengine.exec.context import ExecutionContext
from qengine.exec.cpu.results import ResultRows
from qengine.exec.view import ExecView
from qengine.plan.physical import PhysicalPlan

__all__ = ["run"]


def run(plan: PhysicalPlan, store: ExecView, context: ExecutionContext) -> Iterator[ResultRows]:
    """Run a plan as ``qengine.exec.cpu.run`` does, each ``Search`` and ``Eliminate`` on the GPU.

    Raises
    ------
    DeviceError
        If there is no usable device.
    """
    from qengine.exec import cpu
    from qengine.exec.cpu.runtime import Matchers
    from qengine.exec.gpu.eliminate import eliminates, run_eliminate
    from qengine.exec.gpu.search import run_search

    return cpu.run(plan, store, context, Matchers(run_search, run_eliminate, eliminates))
