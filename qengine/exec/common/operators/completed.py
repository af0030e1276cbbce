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
    """Emit all groups, with what those have that have a match. Holds the groups.

    Where memory is limited, the rows themselves are grouped, which may spill.
    """
    runtime = build.runtime
    matched, groups = build(operator.matched, first), build(operator.groups, first)

    def run(outer: Batch) -> Iterator[Batch]:
        if runtime.memory.limit is not None:
            yield from build(operator.input, first)(outer)
            return
        found, every = list(matched(outer)), list(groups(outer))
        if every:
            yield _completed(operator, concatenate_batches(every), found)

    return run


def _completed(operator: physical.Completed, every: Batch, found: list[Batch]) -> Batch:
    """Return the groups of ``every`` with the columns of those that were found, or without a value of these."""
    count = sum(batch.length for batch in found)
    keys = [concatenate([*(batch.columns[name] for batch in found), every.columns[name]]) for name in operator.keys]
    groups = group_rows(keys, count + every.length)
    places = np.minimum(groups.first[groups.codes[count:]], count)
    columns: dict[str, Column] = {}
    for name, value in operator.empty:
        parts = [*(batch.columns[name] for batch in found), ConstantColumn(value, 1)]
        columns[name] = concatenate(parts).take(places)
    return every.with_columns(columns)
