"""Builds the pipeline of stages that runs a physical plan, and pulls the result from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

import pyarrow as pa

from qengine.errors import InternalError
from qengine.exec.common.batch import BATCH_ROWS, LONG_ROWS, Batch, concatenate_batches
from qengine.exec.common.few_rows import FewRows, few_rows
from qengine.exec.common.masks import Masks, conditions_hold_out
from qengine.exec.common.operators.aggregate import aggregate_stage
from qengine.exec.common.operators.aggregate_by_classes import aggregate_by_classes_stage
from qengine.exec.common.operators.aggregate_by_node import aggregate_by_node_stage
from qengine.exec.common.operators.aggregate_entries import aggregate_entries_stage
from qengine.exec.common.operators.apply import attach_stage, optional_stage
from qengine.exec.common.operators.bounded import bounded_stage
from qengine.exec.common.operators.completed import completed_stage
from qengine.exec.common.operators.distinct import distinct_stage, union_stage
from qengine.exec.common.operators.few_or_many import few_or_many_stage
from qengine.exec.common.operators.join import hash_join_stage
from qengine.exec.common.operators.limit import limit_stage, skip_stage
from qengine.exec.common.operators.load_csv import load_csv_stage
from qengine.exec.common.operators.look_up import look_up_stage, relationship_scan_stage
from qengine.exec.common.operators.matching import (
    eliminate_stage,
    reach_stage,
    search_stage,
    shortest_stage,
    walk_stage,
)
from qengine.exec.common.operators.members import members_stage
from qengine.exec.common.operators.procedure_call import procedure_call_stage
from qengine.exec.common.operators.repeat import repeat_stage
from qengine.exec.common.operators.rows import argument_stage, filter_stage, project_stage, unit_stage, unwind_stage
from qengine.exec.common.operators.select_paths import select_paths_stage
from qengine.exec.common.operators.sort import sort_stage
from qengine.exec.common.operators.stage import Build, Stage
from qengine.exec.common.operators.theta_join import theta_join_stage
from qengine.exec.common.results import ResultRows, result_rows
from qengine.exec.common.runtime import Matchers, Runtime
from qengine.exec.context import ExecutionContext, OperatorStats, Status
from qengine.exec.host.count_fast_path import count_fast_path
from qengine.exec.view import ExecView
from qengine.plan import logical, physical
from qengine.plan.expr import Literal

_STAGES: dict[type[logical.Operator], Callable[[Any, Build, int], Stage]] = {
    logical.Unit: unit_stage,
    logical.Argument: argument_stage,
    logical.Filter: filter_stage,
    logical.Project: project_stage,
    logical.Aggregate: aggregate_stage,
    logical.Distinct: distinct_stage,
    logical.Sort: sort_stage,
    logical.Skip: skip_stage,
    logical.Limit: limit_stage,
    logical.Unwind: unwind_stage,
    logical.ProcedureCall: procedure_call_stage,
    logical.LoadCsv: load_csv_stage,
    logical.Union: union_stage,
    physical.Search: search_stage,
    physical.SearchPart: search_stage,
    physical.HashJoin: hash_join_stage,
    physical.ThetaJoin: theta_join_stage,
    physical.LookUp: look_up_stage,
    physical.RelationshipScan: relationship_scan_stage,
    physical.FewOrMany: few_or_many_stage,
    physical.Members: members_stage,
    physical.Eliminate: eliminate_stage,
    physical.AggregateByClasses: aggregate_by_classes_stage,
    physical.AggregateByNode: aggregate_by_node_stage,
    physical.AggregateEntries: aggregate_entries_stage,
    physical.Walk: walk_stage,
    physical.Repeat: repeat_stage,
    physical.SelectPaths: select_paths_stage,
    physical.Reach: reach_stage,
    physical.Shortest: shortest_stage,
    physical.Optional: optional_stage,
    physical.Attach: attach_stage,
    physical.Bounded: bounded_stage,
    physical.Completed: completed_stage,
}

_MANY_LONG = 16
"""Long batches that a LIMIT leaves at least where they are made: what is found beyond it is little then."""


def run(
    plan: physical.PhysicalPlan, store: ExecView, context: ExecutionContext, matchers: Matchers | None = None
) -> Iterator[ResultRows | FewRows]:
    """Run a plan lazily: each batch is computed when it is asked for.

    Parameters
    ----------
    plan
        A lowered plan.
    store
        The ``GraphStore``.
    context
        Parameters and limits; with ``profile`` set, rows and seconds of each operator are counted into it.
    matchers
        What matches patterns; None for the CPU.

    Yields
    ------
    ResultRows or FewRows
        Rows of the plan's columns.

    Raises
    ------
    ExecutionError
        Where a value makes the query fail.
    """
    if matchers is None:
        counted = count_fast_path(plan, store, context, lambda: runtime_of(store, context))
        if counted is not None:
            context.check()
            yield ResultRows(counted, store, context)
            return
    if matchers is None and (few := few_rows(plan, store, context, lambda: _at_once(plan, store, context))) is not None:
        if few.length:
            yield few
        return
    for batch in batches(plan, store, context, matchers):
        yield from result_rows(batch, store, context)


def _at_once(plan: physical.PhysicalPlan, store: ExecView, context: ExecutionContext) -> ResultRows:
    """Return all rows of a plan that has some."""
    return ResultRows(concatenate_batches(list(batches(plan, store, context))), store, context)


def batches(
    plan: physical.PhysicalPlan, store: ExecView, context: ExecutionContext, matchers: Matchers | None = None
) -> Iterator[Batch]:
    """Run a plan by a pipeline of stages; yield batches of its columns."""
    runtime = runtime_of(store, context, matchers)
    build = _Builder(runtime)
    root = plan.root
    if plan.careful is not None and not conditions_hold_out(root, store, build.masks):
        root = plan.careful
    context.handed_on = _handed_on(root) if context.gathers and context.memory_limit is None else None
    for batch in _pulled(build(root), Batch(1, {}), context):
        yield batch.select(plan.columns)


def _handed_on(root: logical.Operator) -> logical.Operator | None:
    """Return what has its rows come out as they are, all of them or surely many: a search, or what makes groups."""
    while isinstance(root, logical.Project) or _leaves_many(root):
        root = root.input
    if isinstance(root, logical.Aggregate | physical.AggregateEntries | physical.AggregateByNode):
        return root
    return root if isinstance(root, physical.Search) and isinstance(root.input, logical.Unit) else None


def _leaves_many(operator: logical.Operator) -> TypeGuard[logical.Limit]:
    return (
        isinstance(operator, logical.Limit)
        and isinstance(operator.count, Literal)
        and type(operator.count.value) is int
        and operator.count.value >= _MANY_LONG * LONG_ROWS
    )


def runtime_of(store: ExecView, context: ExecutionContext, matchers: Matchers | None = None) -> Runtime:
    """Return the runtime of an execution, whose expressions may have plans."""

    def rows_of(root: logical.Operator, runtime: Runtime) -> Iterator[Batch]:
        for batch in _Builder(runtime)(root)(Batch(1, {})):
            context.check()
            yield batch

    return Runtime(store, context, matchers, rows_of)


def _pulled(stage: Stage, rows: Batch, context: ExecutionContext) -> Iterator[Batch]:
    """Yield what a stage makes of rows, and end what the execution has on disk."""
    try:
        for batch in stage(rows):
            context.check()
            yield batch
    except (MemoryError, pa.ArrowCapacityError):
        context.raise_for(Status.OUT_OF_MEMORY)
    finally:
        context.end_spilling()


def continuing(
    operator: logical.Operator, store: ExecView, context: ExecutionContext
) -> Callable[[Batch], Iterator[Batch]]:
    """Return what runs a plan over given rows, any number of times.

    Its leaf is an ``Argument`` of their columns, or ``Unit`` for one row without columns. It yields rows of the
    operator's columns.
    """
    stage = _Builder(runtime_of(store, context))(operator)
    return lambda rows: _pulled(stage, rows, context)


class _Builder:
    """Makes the stage of each operator, and of those below it."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.masks = Masks(runtime)

    def __call__(self, operator: logical.Operator, first: int = BATCH_ROWS) -> Stage:
        make = _STAGES.get(type(operator))
        if make is None:
            raise InternalError(f"The CPU executor doesn't know the operator {type(operator).__name__}.")
        return self.measured(operator, make(operator, self, first))

    def later(self, operator: logical.Operator, first: int = BATCH_ROWS) -> Stage:
        """Return the stage of an operator that is rarely run: it is made when it is, unless a profile is to show it."""
        if self.runtime.context.profile is not None:
            return self(operator, first)

        def run(outer: Batch) -> Iterator[Batch]:
            return self(operator, first)(outer)

        return run

    def measured(self, operator: logical.Operator, stage: Stage) -> Stage:
        """Return the stage of an operator, with what it does counted where a query is profiled."""
        profile = self.runtime.context.profile
        return stage if profile is None else _measured(stage, profile.setdefault(id(operator), OperatorStats()))


def _measured(stage: Stage, stats: OperatorStats) -> Stage:
    """Return the stage with its rows, their bytes, and its seconds, those of the stages below included, counted."""

    def run(outer: Batch) -> Iterator[Batch]:
        batches = stage(outer)
        while True:
            begin = time.perf_counter()
            batch = next(batches, None)
            stats.seconds += time.perf_counter() - begin
            if batch is None:
                return
            stats.rows += batch.length
            stats.bytes += batch.nbytes
            yield batch

    return run
