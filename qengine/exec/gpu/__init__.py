"""The GPU executor: the shared pipeline with matching on the device. CuPy is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TypeVar

from qengine.exec.common.few_rows import FewRows
from qengine.exec.common.results import ResultRows
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView
from qengine.plan.physical import PhysicalPlan

Rows = TypeVar("Rows")


def run(plan: PhysicalPlan, store: ExecView, context: ExecutionContext) -> Iterator[ResultRows | FewRows]:
    """Run a plan as ``qengine.exec.common.pipeline.run`` does, each ``Search``, ``Eliminate`` and ``Reach`` on the GPU,
    lengths of shortest paths, and aggregates whose keys and arguments are each of one variable, and the
    first rows of an order by such keys.

    It uses the GPUs of ``context.gpus``, all where none are named: what is expected to take long is spread over them
    (``gpu.spread``), all else runs on the first. Rows that ``context.on_device`` has got are not yielded.

    Raises
    ------
    DeviceError
        If there is no usable device, or one has failed.
    """
    from qengine.exec.common import pipeline
    from qengine.exec.common.runtime import Matchers
    from qengine.exec.gpu.device import usable
    from qengine.exec.gpu.eliminate import fold_eliminated, run_eliminate
    from qengine.exec.gpu.first_rows import first_of_search
    from qengine.exec.gpu.fold_search import fold_search, lent_folds
    from qengine.exec.gpu.reach import reach_chunks, reach_counts
    from qengine.exec.gpu.search import run_search
    from qengine.exec.host.reach_kernel import ReachKernels

    reach = ReachKernels(reach_chunks, reach_counts)
    matchers = Matchers(run_search, run_eliminate, reach, lent_folds, fold_search, fold_eliminated, first_of_search)
    context.gpus = usable(context.gpus)

    def rows() -> Iterator[ResultRows | FewRows]:
        if context.on_device is not None:
            from qengine.exec.gpu.kept_rows import kept_rows

            if (kept := kept_rows(plan, store, context)) is not None:
                context.on_device.update(kept)
                return
        yield from pipeline.run(plan, store, context, matchers)

    return _on(context.gpus[0], rows())


def _on(number: int, rows: Iterator[Rows]) -> Iterator[Rows]:
    """Yield rows that are made with a device as the current one, which it isn't for who takes them."""
    from qengine.exec.gpu.device import guarded

    try:
        while True:
            with guarded(number):
                found = next(rows, None)
            if found is None:
                return
            yield found
    finally:
        if isinstance(rows, Generator):
            with guarded(number):
                rows.close()
