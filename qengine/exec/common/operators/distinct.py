"""``Distinct`` and ``Union``: each different row once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qengine.exec.common.batch import Batch, concatenate_batches
from qengine.exec.common.batch_parts import working_bytes
from qengine.exec.common.grouping import group_rows
from qengine.exec.common.operators.stage import Build, Stage
from qengine.exec.common.runtime import Runtime
from qengine.plan import logical

__all__ = ["distinct_stage", "union_stage"]


def distinct_stage(operator: logical.Distinct, build: Build, first: int) -> Stage:
    """Emit each different input row at its first place. Holds the different rows."""
    upstream = build(operator.input, first)
    return lambda outer: _distinct(upstream(outer), build.runtime, "Distinct")


def union_stage(operator: logical.Union, build: Build, first: int) -> Stage:
    """Emit the rows of all inputs, one after the other; each different one once unless ``all``."""
    stages = [build(each, first) for each in operator.inputs]

    def run(outer: Batch) -> Iterator[Batch]:
        names: list[str] | None = None
        for stage in stages:
            for batch in stage(outer):
                names = names or list(batch.columns)
                yield batch.select(names)

    return run if operator.all else lambda outer: _distinct(run(outer), build.runtime, "Union")


def _distinct(batches: Iterator[Batch], runtime: Runtime, operator: str) -> Iterator[Batch]:
    """Yield the new rows of the batches.

    Waiting rows are compared with those seen once they are as many: so each row takes part in few comparisons, and
    the first rows come at once. Batches are thinned out before they wait, unless that was of little use.
    """
    seen: Batch | None = None
    waiting: list[Batch] = []
    rows = 0
    thin = True
    limited = runtime.memory.limit is not None
    with runtime.memory.holding(operator) as holding:
        for batch in batches:
            runtime.context.check()
            if limited:
                holding.also(working_bytes(batch.columns.values()))
            own = _first_rows(batch, 0) if thin else batch
            thin = thin and 2 * own.length <= batch.length
            waiting.append(own)
            rows += own.length
            holding.add(own.nbytes)
            if seen is None or rows >= seen.length:
                if limited:
                    holding.also(_working(seen, waiting))
                seen, fresh = _joined_aside(runtime, seen, waiting)
                waiting, rows = [], 0
                holding.set(seen.nbytes)
                if fresh.length:
                    yield fresh
        if waiting:
            if limited:
                holding.also(_working(seen, waiting))
            _, fresh = _joined_aside(runtime, seen, waiting)
            if fresh.length:
                yield fresh


def _joined_aside(runtime: Runtime, seen: Batch | None, waiting: list[Batch]) -> tuple[Batch, Batch]:
    rows = sum(batch.length for batch in waiting) + (0 if seen is None else seen.length)
    return runtime.context.aside(lambda: _joined(seen, waiting), rows)


def _working(seen: Batch | None, waiting: list[Batch]) -> int:
    """Return what the comparison of waiting rows with those seen takes for a while."""
    return sum(working_bytes(batch.columns.values()) for batch in ([] if seen is None else [seen]) + waiting)


def _joined(seen: Batch | None, waiting: list[Batch]) -> tuple[Batch, Batch]:
    """Return all different rows, and those of them that weren't seen before."""
    if seen is None:
        rows = _first_rows(concatenate_batches(waiting), 0)
        return rows, rows
    fresh = _first_rows(concatenate_batches([seen, *waiting]), seen.length)
    return (concatenate_batches([seen, fresh]) if fresh.length else seen), fresh


def _first_rows(batch: Batch, start: int) -> Batch:
    """Return each different row at its first place, if that is ``start`` or later."""
    first = np.zeros(batch.length, dtype=np.bool_)
    first[group_rows(list(batch.columns.values()), batch.length).first] = True
    first[:start] = False
    return batch if first.all() else batch.take(np.flatnonzero(first))
