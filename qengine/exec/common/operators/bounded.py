"""``Bounded``: the first rows of an order, looked for within a bound by its first key."""

from __future__ import annotations

from collections.abc import Iterator

from qengine.exec.common.batch import Batch
from qengine.exec.common.operators.limit import count_of
from qengine.exec.common.operators.stage import ROW, Build, Stage
from qengine.plan import physical


def bounded_stage(operator: physical.Bounded, build: Build, first: int) -> Stage:
    """Emit the rows within the bound where they are enough, else those without one. Holds the former."""
    runtime = build.runtime
    wanted = count_of(operator.count, "LIMIT", runtime)
    bounded = build(operator.bounded, first)

    def rows(outer: Batch) -> Iterator[Batch]:
        return build(operator.input, first)(outer)

    def run(outer: Batch) -> Iterator[Batch]:
        if ROW in outer.columns:  # each outer row would need enough
            yield from rows(outer)
            return
        with runtime.memory.holding("Bounded") as holding:
            held = []
            for batch in bounded(outer):
                holding.add(batch.nbytes)
                held.append(batch)
            if sum(batch.length for batch in held) >= wanted:
                yield from held
                return
        runtime.context.note(operator, "too few rows within the bound: all are ordered")
        yield from rows(outer)

    return run
