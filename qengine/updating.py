"""Carries out one statement that changes the graph, over what the writer has touched."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from qengine._gc import gc_paused
from qengine.catalog.rules import Rules
from qengine.errors import ExecutionError, QengineError, QueryInterrupted, Unsupported
from qengine.exec.context import ExecutionContext
from qengine.plan.column_types import column_types
from qengine.planned import Planned
from qengine.result import Result, ResultBatch, ResultStats
from qengine.statements import named_parameters
from qengine.write.execute import execute
from qengine.write.execution import Execution
from qengine.write.overlay import Changes
from qengine.write.versions import Writer

if TYPE_CHECKING:
    from qengine.plan.physical import PhysicalPlan
    from qengine.storage.store import GraphStore


def carried_out(
    planned: Planned,
    params: Mapping[str, Any] | None,
    device: str,
    context: ExecutionContext,
    writer: Writer,
    commit: Callable[[], None] | None,
) -> Result:
    """Carry out a statement over a writer's overlay; where it fails, what it has done is taken back.

    ``commit``: ends a transaction in its middle, where it is one of its own.
    """
    assert planned.parts is not None
    context.parameters = {**named_parameters(planned.text, planned.parameters, params), **planned.values}
    overlay = writer.overlay
    overlay.changes = Changes()
    parts = None if device == "reference" else planned.parts
    shown: dict[int, PhysicalPlan] | None = None
    if planned.logical.explain == "profile":
        context.profile, shown = {}, {}
    mark = overlay.mark()
    begin = time.perf_counter()
    context.text = planned.text
    try:
        rules = overlay.rules
        with gc_paused():
            rows = execute(planned.logical, parts, overlay, Execution(context, commit, writer.sealed, shown))
        if overlay.rules is not rules:
            _check_new(rules, writer, context)
    except BaseException as error:
        overlay.take_back(min(mark, overlay.mark()))
        raise _told(error, planned, context) from None
    finally:
        context.text = ""
    stats = ResultStats(
        device="reference" if parts is None else "cpu", device_reason="what changes a graph runs on the host"
    )
    stats.seconds = time.perf_counter() - begin
    stats.changes, stats.rows = overlay.changes, len(rows)
    if shown is not None:
        return _profiled(planned, shown, stats, context, writer.overlay.base.store)
    columns = planned.logical.columns
    types = partial(column_types, planned.logical.root)
    return Result(columns, _batches(columns, rows), stats, None, planned.notices, None, types)


def _batches(columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Iterator[ResultBatch]:
    if not rows or not columns:
        return iter(())
    from qengine.exec.arrow_out import RowBatch

    return iter((RowBatch(columns, rows),))


def _profiled(
    planned: Planned, shown: dict[int, PhysicalPlan], stats: ResultStats, context: ExecutionContext, store: GraphStore
) -> Result:
    """Return the result of PROFILE for a statement that was carried out; ``shown``: how its parts were read."""
    from qengine.explain import Explanation, profiled_rows
    from qengine.plan.physical import PhysicalPlan
    from qengine.update_plans import profiled_root

    logical, profile = planned.logical, context.profile
    assert profile is not None
    plan = PhysicalPlan(profiled_root(logical.root, shown, profile), logical.columns, logical.explain)
    explanation = Explanation(plan, store, "cpu", stats.device_reason, planned.notices)
    explanation.profile = profile
    return profiled_rows(explanation, stats)


def _check_new(before: Rules, writer: Writer, context: ExecutionContext) -> None:
    """Check the graph against the constraints that weren't there before."""
    from qengine.rule_checks import check_graph

    for rule in writer.overlay.rules.constraints:
        if rule not in before.all:
            check_graph(rule, writer.sealed(), context)


def _told(error: BaseException, planned: Planned, context: ExecutionContext) -> BaseException:
    """Return an error as the user is told of it."""
    if isinstance(error, QengineError):
        return planned.at(error)
    if isinstance(error, KeyboardInterrupt):
        context.interrupt()
        return QueryInterrupted("The query was interrupted; nothing was changed.", code="Interrupted")
    if isinstance(error, RecursionError):
        return Unsupported("The statement nests deeper than the calls that Python allows from here.")
    if isinstance(error, MemoryError):
        return ExecutionError("The statement needs more memory than the machine has.", code="OutOfMemory")
    return error
