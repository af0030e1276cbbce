"""Fast path: a lone count, of a search or of sums over cached vectors, is found without building a pipeline."""

from __future__ import annotations

from collections.abc import Callable

from qengine._control import Status
from qengine.exec.common.aggregates import total_weight
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import Column, ConstantColumn, count_column
from qengine.exec.common.masks import Masks
from qengine.exec.common.runtime import Runtime
from qengine.exec.common.vertex_scan import counted_vertices, scanned_level
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView
from qengine.plan.logical import Aggregate, Unit
from qengine.plan.physical import Eliminate, PhysicalPlan, Search


def count_fast_path(
    plan: PhysicalPlan, store: ExecView, context: ExecutionContext, runtime_of: Callable[[], Runtime]
) -> Batch | None:
    """Return the only row of a plan that counts a pattern and does nothing else.

    None where more is done, where operators are measured, and of an elimination where it takes more than sums, or
    parameters have to be looked at. ``runtime_of``: returns the runtime of the execution.

    Raises
    ------
    QueryTimeout, QueryInterrupted, ResourceError
        As the stages would.
    """
    root = plan.root
    if type(root) is not Aggregate or root.keys or context.profile is not None or plan.careful is not None:
        return None
    below = root.input
    if not isinstance(below, Eliminate | Search) or below.emit or type(below.input) is not Unit:
        return None
    if root.weight is None or root.weight != below.count or any(call.args for _, call in root.aggregates):
        return None
    context.check()
    if isinstance(below, Search):
        count: int | None = _searched(below, runtime_of())
    else:
        count = None if context.parameters else _eliminated(below, store, context)
    if count is None:
        return None
    column: Column = ConstantColumn(count, 1)
    return Batch(1, dict.fromkeys(plan.columns, column))


def _searched(search: Search, runtime: Runtime) -> int:
    """Return how many embeddings a search without input finds."""
    from qengine.exec.host.search import run_search

    context = runtime.context
    masks = Masks(runtime)
    try:
        level = scanned_level(search, runtime)
        if level is not None:
            return counted_vertices(level, runtime, masks)
        found = run_search(runtime.store, search, (), 1, context, masks)
        return sum(total_weight(count_column(chunk.count)) for chunk in found if chunk.count is not None)
    except MemoryError:
        context.raise_for(Status.OUT_OF_MEMORY)
        raise


def _eliminated(operator: Eliminate, store: ExecView, context: ExecutionContext) -> int | None:
    from qengine.exec.host.eliminate import cached_count

    return cached_count(operator, store, context)
