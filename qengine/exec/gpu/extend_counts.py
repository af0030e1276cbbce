"""Extension whose last levels are only counted, however many: for each row, by the plan's tree of counts.

Rows are counted together (``count_bfs``) as many at a time as its tables have room for. One row that is too many
for them is extended by one more level, in pieces, and what these rows have is counted in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from qengine.errors import OutOfMemory
from qengine.exec.common.match_plan import SearchMode
from qengine.exec.context import Status
from qengine.exec.gpu.bfs_plan import TABLE, BfsPlan, Outcome, bfs_plan
from qengine.exec.gpu.count_bfs import room_for, run_steps
from qengine.exec.gpu.extend import Extension, LevelTable
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.upload import DevicePlan

_GROWTH = 4
_FEWER = 8
_FIRST_SLOTS = 1 << 10
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MOST = 2**64 - 1


class CountingExtension(Extension):
    """The extension of one plan, as ``Extension``; any number of levels may be only counted.

    Parameters
    ----------
    plan
        On the device.
    options
        As for ``Extension``.

    Raises
    ------
    ResourceError
        From ``rows``, if the completions of one row exceed 64 bits.
    """

    def __init__(self, run: DeviceRun, plan: DevicePlan, shape: LevelTable, budget: int, **options: int) -> None:
        super().__init__(run, plan.address, shape, budget, **options)
        self.device_plan = plan
        self.once = shape.mode is SearchMode.EXISTS
        self.together: dict[int, int] = {}
        if self.once and not shape.rows:  # the first embedding is all that is wanted
            self.slots = min(self.slots, _FIRST_SLOTS)

    def _counts(self, level: int, n: int) -> Any:
        """Return how many completions each row has; where it is enough, some number that is not 0 if there is any."""
        remaining = self.shape.levels - level
        if remaining == 0 or (remaining == 1 and not self.once):
            return super()._counts(level, n)
        with self._working() as cp:
            counts = cp.zeros(n, np.uint64)
        at = 0
        while at < n:
            some = min(self.together.get(level, n), n - at)
            if level and self._count_together(level, at, counts[at : at + some]):
                at += some
                self.together[level] = _GROWTH * some
            elif some > 1:
                self.together[level] = -(-some // _FEWER)
            else:
                with self._rows_from(level, at):
                    found = self._count_below(level)
                with self._working():
                    counts[at : at + 1].fill(np.uint64(found))
                at += 1
        return counts

    def _count_together(self, level: int, at: int, counts: Any) -> bool:
        """Fill in the counts of rows from ``at`` on; False where there is no room."""
        steps = self._steps(level)
        if steps is None:
            return True
        while True:
            wanted = steps.n_bytes
            room = room_for(wanted, self.run)
            with self._rows_from(level, at), self._working() as cp:
                weights = cp.empty(len(counts), np.uint64)
                given = self._given(level, counts, weights)
                try:
                    outcome, _, _ = run_steps(
                        self.device_plan.address, steps, self.run, room, given, len(counts), self.once
                    )
                except OutOfMemory:
                    return False
            if outcome is Outcome.TOO_MANY:
                self.run.context.raise_for(Status.OVERFLOW)
            if outcome is Outcome.DONE:
                return True
            if room < wanted or not steps.grow():
                return False

    def _steps(self, level: int) -> BfsPlan | None:
        """Return the steps that count the completions of rows that end before a level."""
        key = f"completions {level}"
        made = self.device_plan.made
        if key not in made:
            made[key] = bfs_plan(self.device_plan.resolved, level)
        steps: BfsPlan | None = made[key]
        return steps

    def _given(self, level: int, counts: Any, weights: Any) -> Any:
        """Return the tables that bind the levels before a level."""
        given = np.zeros(level + 1, TABLE)
        for name, column in (("vertices", 0), ("edges", 1), ("parents", 2)):
            given[name][1:] = self.tables[column, :level]
        given["parents"][1 : self.shape.seeds + 1] = 0
        given["counts"][level], given["weights"][level] = counts.data.ptr, weights.data.ptr
        return given

    @contextmanager
    def _rows_from(self, level: int, at: int) -> Iterator[None]:
        """Take the rows of the table before ``level`` from ``at`` on for the whole table."""
        kept = self.tables.copy()
        seeds = self.shape.seeds
        vertices, edges, parents = self.tables
        if level > seeds:
            parents[level - 1] += np.uint64(4 * at)
            if self.shape.vertex[level - 1]:
                vertices[level - 1] += np.uint64(4 * at)
            else:
                edges[level - 1] += np.uint64(8 * at)
        else:
            vertices[:seeds] += np.uint64(4 * at)
        try:
            yield
        finally:
            self.tables[:] = kept

    def _count_below(self, level: int) -> int:
        """Return how many completions the first row has, extended by a level in pieces."""
        offsets, total = self._offsets(level, 1)
        at = found = 0
        while at < total and not (self.once and found):
            table, at = self._next_table(level, 1, offsets, at, total)
            if table.n:
                self._enter(level, table)
                found += self._sum(self._counts(level + 1, table.n))
            if self.once:
                self.slots = min(self.most_slots, _GROWTH * self.slots)
        if found > _MOST:
            self.run.context.raise_for(Status.OVERFLOW)
        return found

    def _sum(self, counts: Any) -> int:
        """Return the sum of uint64 numbers, exactly."""
        with self._working() as cp:
            low, high = cp.cumsum(counts & _LOW)[-1:], cp.cumsum(counts >> _HALF)[-1:]
            return self._tell(low.view(np.int64)) + (self._tell(high.view(np.int64)) << 32)
