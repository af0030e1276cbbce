"""``Completed``: groups of matches, and those of rows without one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qengine.exec.common.batch import Batch, concatenate_batches
from qengine.exec.common.columns import Column, ConstantColumn, concatenate
from qengine.exec.common.grouping import group_rows
from qengine.exec.common.operators.stage import Build, Stage
from qengine.plan import physical


def completed_stage(operator: physical.Completed, build: Build, first: int) -> Stage:
    """Emit the groups that have a match, then the others. Holds the groups.

    Where memory is limited, the rows themselves are grouped, which may spill.
    """
    runtime = build.runtime
    names = (*operator.keys, *(name for name, _ in operator.empty))
    matched, groups = build(operator.matched, first), build(operator.groups, first)

    def run(outer: Batch) -> Iterator[Batch]:
        if runtime.memory.limit is not None:
            yield from build(operator.input, first)(outer)
            return
        found = [batch.select(names) for batch in matched(outer)]
        yield from found
        every = list(groups(outer))
        count = sum(batch.length for batch in found)
        if sum(batch.length for batch in every) > count:
            yield _added(operator, concatenate_batches(every), found, count)

    return run


def _added(operator: physical.Completed, every: Batch, found: list[Batch], count: int) -> Batch:
    """Return the groups of ``every`` that aren't among the ``count`` that were found."""
    keys = [concatenate([*(batch.columns[name] for batch in found), every.columns[name]]) for name in operator.keys]
    firsts = group_rows(keys, count + every.length).first
    missing = every.take(np.sort(firsts[firsts >= count]) - count).select(operator.keys)
    empty: dict[str, Column] = {name: ConstantColumn(value, missing.length) for name, value in operator.empty}
    return missing.with_columns(empty)
