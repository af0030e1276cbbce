"""``Unwind`` of ``range(…)``: its numbers are made batch by batch, however many they are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qengine.errors import ExecutionError
from qengine.exec.common.batch import Batch
from qengine.exec.common.batch_parts import pieces, repeated_pieces
from qengine.exec.common.columns import IntArray, integer_column
from qengine.exec.common.expressions.compiler import compile_expression
from qengine.exec.common.operators.stage import Build, Stage
from qengine.exec.scalar.lists import count_of, range_of
from qengine.plan import logical
from qengine.plan.expr import Call

_MOST_ROWS = 2**63 - 1


def unwind_range_stage(operator: logical.Unwind, build: Build, first: int) -> Stage:
    """Emit each input row once for each number of its range; none where a bound is null."""
    call = operator.expr
    assert isinstance(call, Call)
    upstream = build(operator.input, first)
    bounds = [compile_expression(arg, build.runtime) for arg in call.args]

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            starts, steps, ends = _ranges([evaluate(batch).values() for evaluate in bounds], call)
            begins = np.concatenate(([0], ends[:-1]))
            for offset, length in pieces(int(ends[-1]), first):
                places = np.arange(offset, offset + length, dtype=np.int64)
                rows: IntArray = np.searchsorted(ends, places, side="right")
                # The number fits 64 bits, and what overflows on the way comes back.
                numbers = starts[rows] + steps[rows] * (places - begins[rows])
                for begin, count in repeated_pieces(batch, rows, build.runtime.memory):
                    some = slice(begin, begin + count)
                    yield batch.take(rows[some]).with_columns({operator.name: integer_column(numbers[some])})

    return run


def _ranges(bounds: list[list[object]], call: Call) -> tuple[IntArray, IntArray, IntArray]:
    """Return the first number and the step of each row's range, and how many numbers there are up to its end."""
    starts, steps, ends = [], [], []
    total = 0
    for row in zip(*bounds, strict=True):
        try:
            numbers = range(0) if None in row else range_of(*row)
        except ExecutionError as error:
            error.span = error.span or call.span
            raise
        total = min(total + count_of(numbers), _MOST_ROWS)
        starts.append(numbers.start)
        steps.append(numbers.step)
        ends.append(total)
    return np.array(starts, np.int64), np.array(steps, np.int64), np.array(ends, np.int64)
