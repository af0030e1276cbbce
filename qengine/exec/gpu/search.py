"""Runs a physical ``Search`` on the GPU: the same levels, seeds and rows as ``qengine.exec.host.search``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.errors import OutOfMemory
from qengine.exec.common.match_plan import SearchMode
from qengine.exec.common.resolve import ResolvedSearch, resolve
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.count import try_count
from qengine.exec.gpu.count_bfs import try_total
from qengine.exec.gpu.count_dfs import counted_by_tree
from qengine.exec.gpu.extend import block_warps, has_room, level_table
from qengine.exec.gpu.extend_search import as_emitted, extended
from qengine.exec.gpu.launch import DeviceRun, device_run
from qengine.exec.gpu.search_job import JOB, LANES, STATE, donation_bytes, frame_bytes, saved_bytes
from qengine.exec.gpu.upload import DevicePlan, device_plan
from qengine.exec.host.search import Ids, SearchChunk, completed, one_total, scaled
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.physical import Search, check_device_levels

__all__ = ["LEVEL_VARIANTS", "run_search"]

LEVEL_VARIANTS = (8, 64)
"""The most levels of each variant of the kernel."""

_THREADS = 128
_FIRST_ROWS = 1 << 16
_MOST_ROWS = 1 << 22
_LEAST_ROWS = 1 << 10
_MACROS: dict[str, int] = {}
"""Of the kernel, besides its variant: measurements take others."""


def run_search(
    store: ExecView, search: Search, seeds: Sequence[Ids], rows: int, context: ExecutionContext, masks: MaskProvider
) -> Iterator[SearchChunk]:
    """Yield the embeddings of a search for each of ``rows`` input rows, in no given order.

    Parameters and errors as in ``qengine.exec.host.search.run_search``; ``OutOfMemory`` also for the device's memory.

    Raises
    ------
    DeviceError
        If there is no usable device.
    Unsupported
        If the search has more levels than the device's kernels take.
    """
    if rows == 0:
        return
    check_device_levels(len(search.levels))
    resolved = resolve(store, search, masks)
    if resolved is None:
        return
    with device_run(context) as run, device_plan(store, resolved, run) as plan:
        inputs = rows if search.seeds else 1
        total = _total(store, plan, run)
        if total is not None:
            chunks = one_total(total, search)
        elif has_room(shape := level_table(resolved), run.free_bytes()) and block_warps(shape.warp_bytes, run.device):
            chunks = extended(plan, shape, search, seeds, inputs, run)
        else:
            chunks = _Generic(plan, search, seeds, inputs, run).found()
        yield from completed(chunks, resolved, search, seeds, rows, _most_rows(resolved, context))


def _total(store: ExecView, plan: DevicePlan, run: DeviceRun) -> int | None:
    """Return the count of a plan that has nothing else to give, None where that is left to those who give rows."""
    if plan.resolved.mode is SearchMode.EXISTS:
        return None
    total = try_count(store, plan, run)
    if total is None:
        total = try_total(plan, run)
    return counted_by_tree(store, plan, run) if total is None else total


@dataclass
class _Generic:
    """One run of the kernel that takes any plan (``kernels/cuda/search/search.cu``)."""

    plan: DevicePlan
    search: Search
    seeds: Sequence[Ids]
    rows: int
    run: DeviceRun

    def __post_init__(self) -> None:
        levels = len(self.search.levels)
        variant = min(each for each in LEVEL_VARIANTS if each >= levels)
        frames = max(1, levels - self.search.seeds)
        self.warp_bytes = frame_bytes(frames)
        device = self.run.device
        warps = max(1, device.warps_fitting(self.warp_bytes, _THREADS // LANES))
        self.threads = warps * LANES
        self.shared_bytes = warps * self.warp_bytes
        self.kernel = self.run.kernel("search", "search", {"QE_LEVELS": variant, **_MACROS}, self.shared_bytes)
        self.blocks = max(1, device.resident_blocks(self.kernel, self.threads, self.shared_bytes))
        self.stack_bytes = saved_bytes(frames)
        self.job = np.zeros(1, JOB)
        self.state = np.zeros(1, STATE)
        run = self.run
        self.device_state = run.allocate(STATE.itemsize, "the search's state")
        self.device_job = run.allocate(JOB.itemsize, "the search's arguments")
        self.donations = run.zeroed(self.warps * donation_bytes(variant), "the work that warps share")
        self.queue = run.allocate(4 * self.warps, "the queue of warps without work")
        self.uploaded = [run.upload(np.ascontiguousarray(seed, np.int64), "the input rows") for seed in self.seeds]
        pointers = np.array([block.ptr for block in self.uploaded] or [0], np.uint64)
        self.seed_table = run.upload(pointers, "the input rows")
        self.job["plan"] = self.plan.address
        self.job["seeds"] = self.seed_table.ptr
        self.job["rows"] = self.rows
        self.job["state"] = self.device_state.ptr
        self.job["donations"] = self.donations.ptr
        self.job["queue"] = self.queue.ptr
        self.job["stop"] = run.stop_flag

    @property
    def resolved(self) -> ResolvedSearch:
        """The host's plan."""
        return self.plan.resolved

    def found(self) -> Iterator[SearchChunk]:
        """Yield what the kernel finds."""
        if not self.resolved.summed:
            return self.chunks()
        return self.sums() if self.search.seeds else self.total()

    def launch(self) -> None:
        """Run the kernel until all is done, or there is no place for another row."""
        run = self.run
        run.clear(self.queue, 4 * self.warps)
        run.write(self.device_state, self.state)
        run.write(self.device_job, self.job)
        arguments = (np.uint64(self.device_job.ptr), np.uint32(self.warp_bytes))
        run.launch(self.kernel, self.blocks, self.threads, arguments, self.shared_bytes)
        run.wait()
        run.read(self.device_state.ptr, self.state)
        run.context.raise_for(int(self.state["status"][0]))

    def total(self) -> Iterator[SearchChunk]:
        """Yield the count of all embeddings."""
        self.launch()
        total = int(self.state["total_low"][0]) + (int(self.state["total_high"][0]) << 64)
        yield from one_total(total, self.search)

    def sums(self) -> Iterator[SearchChunk]:
        """Yield the count of each input row."""
        counts = self.run.zeroed(8 * self.rows, "the counts")
        self.job["counts"] = counts.ptr
        self.launch()
        host = np.empty(self.rows, np.uint64)
        self.run.read(counts.ptr, host)
        row = np.flatnonzero(host)
        if len(row):
            yield SearchChunk(row, {}, self.counted(host[row]))

    def chunks(self) -> Iterator[SearchChunk]:
        """Yield the rows of the enumerated levels, chunk by chunk."""
        counting = self.plan.resolved.plan["enumerated"][0] < len(self.search.levels)
        capacity = min(_FIRST_ROWS, _most_rows(self.resolved, self.run.context))
        room = _Rows.fitting(self.run, len(self.resolved.outputs), counting, capacity)
        stacks = [self.run.allocate(self.stack_bytes * self.warps, "the stacks of paused warps") for _ in range(2)]
        while True:
            self.job["capacity"] = room.capacity
            self.job["row"] = room.row.ptr
            self.job["columns"] = room.columns.ptr
            if room.counts is not None:
                self.job["counts"] = room.counts.ptr
                self.run.clear(room.counts, 8 * room.capacity)
            self.job["saved_before"], self.job["saved"] = stacks[1].ptr, stacks[0].ptr
            self.job["n_saved_before"] = self.state["saved"]
            for name in ("rows", "working", "served", "waiting", "next_saved", "saved", "full"):
                self.state[name] = 0
            self.launch()
            n = min(int(self.state["rows"][0]), room.capacity)
            if n:
                yield from self.taken(room, n)
            if not self.state["full"][0]:
                return
            stacks.reverse()
            if room.capacity < _most_rows(self.resolved, self.run.context) and n == room.capacity:
                larger = min(_most_rows(self.resolved, self.run.context), 4 * room.capacity)
                room = _Rows.fitting(self.run, len(self.resolved.outputs), counting, larger, room)

    @property
    def warps(self) -> int:
        """Warps of one launch."""
        return self.blocks * self.threads // LANES

    def taken(self, room: _Rows, n: int) -> Iterator[SearchChunk]:
        """Yield the first rows of a full buffer."""
        run, outputs = self.run, self.resolved.outputs
        data = np.empty((1 + len(outputs), n), np.int64)
        run.read(room.row.ptr, data[0])
        for k in range(len(outputs)):
            run.read(room.columns.ptr + 8 * k * room.capacity, data[1 + k])
        count = None
        if room.counts is not None:
            host = np.empty(n, np.uint64)
            run.read(room.counts.ptr, host)
            kept = np.flatnonzero(host)
            if not len(kept):
                return
            data, host = data[:, kept], host[kept]
            count = self.counted(host)
        elif self.resolved.mode is SearchMode.COUNT:
            count = scaled(np.ones(n, np.int64), self.search)
        yield SearchChunk(data[0], dict(zip(outputs, data[1:], strict=True)), count)

    def counted(self, host: npt.NDArray[np.uint64]) -> Ids | None:
        """Return counts as they are emitted."""
        return None if self.resolved.mode is SearchMode.EXISTS else as_emitted(host, self.search, self.run)


@dataclass
class _Rows:
    """A buffer for rows on the device. ``counts``: None where nothing is counted."""

    capacity: int
    row: Any
    columns: Any
    counts: Any

    @classmethod
    def fitting(
        cls, run: DeviceRun, outputs: int, counting: bool, capacity: int, smaller: _Rows | None = None
    ) -> _Rows:
        """Return a buffer for so many rows, for fewer where the device's memory is short, or the smaller one."""
        while True:
            try:
                return cls(
                    capacity,
                    run.allocate(8 * capacity, "rows"),
                    run.allocate(8 * capacity * outputs, "rows"),
                    run.allocate(8 * capacity, "the counts of rows") if counting else None,
                )
            except OutOfMemory:
                if smaller is not None:
                    return smaller
                if capacity <= _LEAST_ROWS:
                    raise
                capacity = max(_LEAST_ROWS, capacity // 4)


def _most_rows(resolved: ResolvedSearch, context: ExecutionContext) -> int:
    """Rows of one chunk, so that they take at most a quarter of the host's memory limit."""
    limit = context.memory_limit
    if limit is None:
        return _MOST_ROWS
    return max(1, min(_MOST_ROWS, limit // 4 // (8 * (len(resolved.outputs) + 2))))
