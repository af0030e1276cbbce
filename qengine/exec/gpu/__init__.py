"""The GPU executor: the shared pipeline with matching on the device. CuPy is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator

from qengine.exec.common.few_rows import FewRows
from qengine.exec.common.results import ResultRows
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView
from qengine.plan.physical import PhysicalPlan

__all__ = ["run"]


def run(plan: PhysicalPlan, store: ExecView, context: ExecutionContext) -> Iterator[ResultRows | FewRows]:
    """Run a plan as ``qengine.exec.common.pipeline.run`` does, each ``Search``, ``Eliminate`` and ``Reach`` on the GPU,
    lengths of shortest paths, and aggregates whose keys and arguments are each of one variable, and the
    first rows of an order by such keys.

    Raises
    ------
    DeviceError
        If there is no usable device.
    """
    from qengine.exec.common import pipeline
    from qengine.exec.common.runtime import Matchers
    from qengine.exec.gpu.eliminate import run_eliminate
    from qengine.exec.gpu.first_rows import first_of_search
    from qengine.exec.gpu.fold_search import fold_search, lent_folds
    from qengine.exec.gpu.reach import reach_chunks, reach_counts
    from qengine.exec.gpu.search import run_search
    from qengine.exec.host.reach_kernel import ReachKernels

    reach = ReachKernels(reach_chunks, reach_counts)
    matchers = Matchers(run_search, run_eliminate, reach, lent_folds, fold_search, first_of_search)
    return pipeline.run(plan, store, context, matchers)
