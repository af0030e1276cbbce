"""``Skip`` and ``Limit``, each counted for every outer row of a subplan."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qengine.exec.common.batch import BATCH_ROWS, Batch
from qengine.exec.common.columns import IntArray
from qengine.exec.common.operators.stage import Build, Stage, rows_of
from qengine.exec.common.ordering import sorted_rows
from qengine.exec.common.runtime import Runtime
from qengine.exec.scalar import evaluate as scalar
from qengine.exec.scalar.values import failing_at, number_of_rows
from qengine.plan import logical
from qengine.plan.expr import Expr


def count_of(expr: Expr, clause: str, runtime: Runtime) -> int:
    """Return the value of a constant or parameter that says how many rows.

    Raises
    ------
    ExecutionError
        Where it is no integer, or negative.
    """
    with failing_at(expr.span):
        return number_of_rows(clause, scalar.compile(expr, runtime.environment)({}))


def places_within_rows(rows: IntArray, seen: IntArray) -> IntArray:
    """Return how many rows with the same outer row come before each, and count them all in ``seen``."""
    order = sorted_rows([rows], len(rows))
    ordered = rows[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    run = np.arange(len(rows)) - np.repeat(starts, np.diff(np.r_[starts, len(rows)]))
    places = np.empty(len(rows), dtype=np.int64)
    places[order] = run
    places += seen[rows]
    seen += np.bincount(rows, minlength=len(seen))
    return places


def limit_stage(operator: logical.Limit, build: Build, first: int) -> Stage:
    """Emit the first ``count`` rows and stop the input, which is asked for no more than it needs."""
    count = count_of(operator.count, "LIMIT", build.runtime)
    upstream = build(operator.input, max(1, min(first, count)))

    return lambda outer: limited(upstream(outer), count, outer.length) if count else iter(())


def limited(batches: Iterator[Batch], count: int, outer_rows: int) -> Iterator[Batch]:
    """Yield the first ``count`` rows, at least one, of batches; in a subplan of each of its outer rows."""
    left = count
    seen = np.zeros(outer_rows, dtype=np.int64)
    for batch in batches:
        rows = rows_of(batch)
        if rows is None:
            yield batch.slice(0, left)
            left -= batch.length
            if left <= 0:
                return
        else:
            kept = np.flatnonzero(places_within_rows(rows, seen) < count)
            if len(kept):
                yield batch.take(kept)
            if seen.min() >= count:
                return


def skip_stage(operator: logical.Skip, build: Build, first: int) -> Stage:
    """Emit all but the first ``count`` rows."""
    count = count_of(operator.count, "SKIP", build.runtime)
    upstream = build(operator.input, min(BATCH_ROWS, first + count))

    def run(outer: Batch) -> Iterator[Batch]:
        left = count
        seen = np.zeros(outer.length, dtype=np.int64)
        for batch in upstream(outer):
            rows = rows_of(batch)
            if rows is not None:
                kept = np.flatnonzero(places_within_rows(rows, seen) >= count)
                if len(kept):
                    yield batch.take(kept)
            elif left < batch.length:
                yield batch.slice(left, batch.length - left)
                left = 0
            else:
                left -= batch.length

    return run
