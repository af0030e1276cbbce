"""``Optional`` and ``Attach``: run a subplan for all rows of a batch at once, and join its rows back by ``ROW``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from qengine.exec.common.aggregates import aggregator, weights_of
from qengine.exec.common.batch import Batch
from qengine.exec.common.batch_parts import repeated_pieces, working_bytes
from qengine.exec.common.columns import (
    ArrowColumn,
    Column,
    ConstantColumn,
    IntArray,
    ListColumn,
    NodeColumn,
    RelationshipColumn,
    boolean_column,
    concatenate,
    integer_column,
    null_column,
)
from qengine.exec.common.grouping import Groups, group_rows
from qengine.exec.common.operators.stage import Build, Stage, numbered, rows_of, visible
from qengine.exec.common.runtime import Runtime
from qengine.plan import physical
from qengine.plan.expr import AggregateCall


def optional_stage(operator: physical.Optional, build: Build, first: int) -> Stage:
    """Emit each input row joined with the subplan's rows for it, or once with nulls, after the joined ones."""
    upstream = build(operator.input, first)
    inner = build(operator.inner, first)
    memory = build.runtime.memory
    weight, matches = operator.weight, operator.matched
    added = operator.columns if weight is None else (*operator.columns, weight)
    nulls = operator.columns if matches is None else (*operator.columns, matches)

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            matched = np.zeros(batch.length, dtype=np.bool_)
            for found in inner(numbered(batch)):
                rows = rows_of(found)
                assert rows is not None
                matched[rows] = True
                for offset, length in repeated_pieces(batch, rows, memory):
                    part = found.slice(offset, length)
                    columns = {name: part.columns[name] for name in added}
                    if matches is not None:
                        columns[matches] = ConstantColumn(True, length)
                    yield batch.take(rows[offset : offset + length]).with_columns(columns)
            missing = np.flatnonzero(~matched)
            if len(missing):
                filled: dict[str, Column] = dict.fromkeys(nulls, null_column(len(missing)))
                if weight is not None:
                    filled[weight] = integer_column(np.ones(len(missing), dtype=np.int64))
                yield batch.take(missing).with_columns(filled)

    return run


def attach_stage(operator: physical.Attach, build: Build, first: int) -> Stage:
    """Add whether the subplan has rows, how many, or their only column as a list.

    The subplan runs once for all rows with the same outer values, and once in all if it reads none.
    """
    upstream = build(operator.input, first)
    inner = build(operator.inner)
    runtime = build.runtime
    gather_rows = _GATHER[operator.kind]

    def gather(rows: Batch) -> Column:
        return gather_rows(inner(numbered(rows)), rows.length, operator.weight, runtime)

    def run(outer: Batch) -> Iterator[Batch]:
        alone: Column | None = None
        for batch in upstream(outer):
            if not operator.outer:
                alone = alone or gather(Batch(1, {}))
                column = alone.take(np.zeros(batch.length, dtype=np.int64))
            else:
                column = _attached(batch.select(operator.outer))
            yield batch.with_columns({operator.name: column})

    def _attached(rows: Batch) -> Column:
        if not all(map(is_exact, rows.columns.values())):
            return gather(rows)
        groups = group_rows(list(rows.columns.values()), rows.length)
        if groups.count == rows.length:
            return gather(rows)
        return gather(rows.take(groups.first)).take(groups.codes)

    return run


def is_exact(column: Column) -> bool:
    """Return whether values of the column that are grouped as equal are the same value (1 and 1.0 aren't)."""
    if isinstance(column, ArrowColumn):
        return not pa.types.is_floating(column.type)
    return isinstance(column, NodeColumn | RelationshipColumn | ConstantColumn)


def _exists(found: Iterator[Batch], count: int, weight: str | None, runtime: Runtime) -> Column:
    """Return which outer rows have rows; stops when all have."""
    matched = np.zeros(count, dtype=np.bool_)
    for batch in found:
        runtime.context.check()
        matched[_rows(batch)] = True
        if matched.all():
            break
    return boolean_column(matched)


def _count(found: Iterator[Batch], count: int, weight: str | None, runtime: Runtime) -> Column:
    every = np.arange(count, dtype=np.int64)
    counting = aggregator(AggregateCall("count", ()), runtime.context)
    totals = counting.partial(Groups(every[:0], every), [], None)
    for batch in found:
        runtime.context.check()
        weights = None if weight is None else weights_of(batch.columns[weight])
        (part,) = counting.partial(Groups(_rows(batch), every), [], weights)
        totals = counting.merge(Groups(np.tile(every, 2), every), [concatenate([*totals, part])])
    return counting.final(totals)


def _collect(found: Iterator[Batch], count: int, weight: str | None, runtime: Runtime) -> Column:
    columns: list[Column] = []
    rows: list[IntArray] = []
    with runtime.memory.holding("Collect") as holding:
        for batch in found:
            runtime.context.check()
            (name,) = visible(batch)
            columns.append(batch.columns[name])
            rows.append(_rows(batch))
            holding.add(batch.nbytes)
        if not columns:
            return ListColumn(np.zeros(count + 1, dtype=np.int64), null_column(0))
        if runtime.memory.limit is not None:
            holding.also(working_bytes(columns))
        row_of = np.concatenate(rows)
        offsets = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(row_of, minlength=count), out=offsets[1:])
        return ListColumn(offsets, concatenate(columns).take(np.argsort(row_of, kind="stable")))


def _rows(batch: Batch) -> IntArray:
    rows = rows_of(batch)
    assert rows is not None
    return rows


_GATHER: dict[str, Callable[[Iterator[Batch], int, str | None, Runtime], Column]] = {
    "exists": _exists,
    "count": _count,
    "collect": _collect,
}
