"""``FewOrMany``: which of two ways to go on is taken by how many rows there are."""

from __future__ import annotations

from collections.abc import Iterator

from qengine.exec.common.batch import Batch, concatenate_batches
from qengine.exec.common.operators.stage import Build, Stage
from qengine.plan import physical
from qengine.plan.logical import Operator


def few_or_many_stage(operator: physical.FewOrMany, build: Build, first: int) -> Stage:
    """Emit what comes of the rows, by the first way where they are few, else by the second. Holds few rows."""
    runtime = build.runtime
    upstream = build(operator.input, first)
    made: dict[int, Stage] = {}

    def way(operator: Operator) -> Stage:
        """Return the stage of one of the ways, made when it is first wanted and kept with what it holds."""
        if id(operator) not in made:
            made[id(operator)] = build(operator, first)
        return made[id(operator)]

    if runtime.context.profile is not None:
        way(operator.few), way(operator.many)

    def run(outer: Batch) -> Iterator[Batch]:
        held: list[Batch] = []
        rows = 0
        batches = upstream(outer)
        with runtime.memory.holding("FewOrMany") as holding:
            for batch in batches:
                held.append(batch)
                holding.add(batch.nbytes)
                rows += batch.length
                if rows > operator.most:
                    break
            else:
                if held:
                    yield from way(operator.few)(concatenate_batches(held))
                return
        many = way(operator.many)
        while held:
            yield from many(held.pop(0))
        for batch in batches:
            yield from many(batch)

    return run
