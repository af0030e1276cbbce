"""Fast path: a lone count that is a sum over cached vectors is computed without building a pipeline."""

from __future__ import annotations

from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import Column, ConstantColumn
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView
from qengine.plan.logical import Aggregate, Unit
from qengine.plan.physical import Eliminate, PhysicalPlan


def count_fast_path(plan: PhysicalPlan, store: ExecView, context: ExecutionContext) -> Batch | None:
    """Return the only row of a plan that counts a pattern and does nothing else, where the count takes sums alone.

    None where it takes more, and where parameters have to be looked at or operators are measured.

    Raises
    ------
    QueryTimeout, QueryInterrupted, ResourceError
        As the stages would.
    """
    root = plan.root
    if type(root) is not Aggregate or root.keys or context.parameters or context.profile is not None:
        return None
    below = root.input
    if type(below) is not Eliminate or below.emit or type(below.input) is not Unit:
        return None
    if root.weight is None or root.weight != below.count or any(call.args for _, call in root.aggregates):
        return None
    from qengine.exec.host.eliminate import cached_count

    context.check()
    count = cached_count(below, store, context)
    if count is None:
        return None
    column: Column = ConstantColumn(count, 1)
    return Batch(1, dict.fromkeys(plan.columns, column))
