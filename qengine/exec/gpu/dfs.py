"""Runs a plan depth first on the device: any plan, for rows, counts or existence (``kernels/cuda/search/dfs.cu``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.errors import OutOfMemory
from qengine.exec.common.match_plan import SearchMode
from qengine.exec.gpu.dfs_plan import (
    BRANCH,
    JOB,
    LANES,
    MEMO,
    PLAN,
    SLICE,
    STACK,
    STATE,
    WIDE_BRANCH,
    Tree,
    cuts,
    trees,
)
from qengine.exec.gpu.extend_search import as_emitted
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.memory import Resident, device_bytes
from qengine.exec.gpu.upload import DevicePlan
from qengine.exec.host.search import Ids, SearchChunk, one_total, scaled
from qengine.exec.view import ExecView
from qengine.plan.physical import MAX_DEVICE_LEVELS, Search

LEVEL_VARIANTS = (8, MAX_DEVICE_LEVELS)
"""The most levels of each variant of the kernel that takes any plan; stacks of the last are in device memory."""

_THREADS = 128
_SLICE_THREADS = 256
_ALIGNMENT = 256
_MOST_MEMO_BITS = 18
_FIRST_ROWS = 1 << 16
_LEAST_ROWS = 1 << 10
_FEWER = 4
_MOST_STACK_BYTES = 1 << 28
"""Of all stacks in device memory: plans of many levels run on fewer warps."""

_MACROS: dict[str, int | str] = {}
"""The kernel's variant: measurements take others."""


@dataclass(eq=False)
class _DeviceTrees:
    """The trees of a plan on the device. ``None``: it has no embedding."""

    parts: list[_Part] | None

    @property
    def n_bytes(self) -> int:
        """Bytes that it takes on the device."""
        return sum(part.n_bytes for part in self.parts or ())


@dataclass(frozen=True)
class _Part:
    """One tree, and its ``DfsPlan`` at ``address`` in ``block``. ``macros``: of the kernel that takes it.

    ``threads``: of a block. ``shared_bytes``: of a block, 0 where stacks are in device memory.
    """

    tree: Tree
    block: Any
    n_bytes: int
    address: int
    macros: dict[str, int | str]
    threads: int
    shared_bytes: int

    @property
    def branch_bytes(self) -> int:
        """Bytes of a branch of a stack."""
        return (WIDE_BRANCH if self.macros["QE_LEVELS"] else BRANCH).itemsize

    @property
    def stack_bytes(self) -> int:
        """Bytes of a stack that is saved, or given away."""
        return STACK.itemsize + self.tree.spine * self.branch_bytes


def dfs_total(store: ExecView, plan: DevicePlan, run: DeviceRun) -> int | None:
    """Return how many embeddings a plan without seeds has; None where it has rows, or levels that are not viewed.

    What is made of a plan that can be used again stays on the device, as long as there is room.

    Raises
    ------
    ResourceError
        If a count within one root exceeds 64 bits.
    """
    header = plan.resolved.plan[0]
    if header["seeds"] or header["enumerated"] or header["mode"] == SearchMode.EXISTS:
        return None
    with _prepared(store, plan, run) as prepared:
        if prepared.parts is None or any(part.tree.wide for part in prepared.parts):
            return None
        return _product(prepared.parts, plan, run)


def dfs_chunks(
    store: ExecView, plan: DevicePlan, search: Search, seeds: Sequence[Ids], rows: int, most_rows: int, run: DeviceRun
) -> Iterator[SearchChunk]:
    """Yield what a plan gives, in no fixed order, at most ``most_rows`` rows at a time.

    ``rows``: input rows, 1 without seeds. What is counted by row may come in several parts, whose counts add up. Errors
    as of ``dfs_total``.
    """
    with _prepared(store, plan, run) as prepared:
        if prepared.parts is None:
            return
        if plan.resolved.summed and not search.seeds:
            yield from one_total(_product(prepared.parts, plan, run), search)
            return
        (part,) = prepared.parts
        yield from _Launches(part, plan, run, rows, seeds).chunks(search, most_rows)


def _product(parts: Sequence[_Part], plan: DevicePlan, run: DeviceRun) -> int:
    total = 1
    for part in parts:
        total *= _Launches(part, plan, run).total()
        if total == 0:
            break
    return total


# -- what stays on the device -----------------------------------------------------------------------------------------


@contextmanager
def _prepared(store: ExecView, plan: DevicePlan, run: DeviceRun) -> Iterator[_DeviceTrees]:
    """Lend the plan's trees, made now or by an earlier query."""
    key = (id(store), "tree", id(plan.resolved), run.memory.placement)
    resident: Resident | None = run.memory.pin(key) if plan.resolved.reusable else None
    if resident is None or resident.keep[1] is not plan:
        if resident is not None:
            run.memory.unpin(resident)
        try:
            made = _prepare(plan, run, viewed=True)
        except OutOfMemory:  # without slices it takes less
            made = _prepare(plan, run, viewed=False)
        if not plan.resolved.reusable:
            yield made
            return
        run.publish()
        resident = run.memory.add(key, made, made.n_bytes, (made, plan))
        run.memory.follow(store)
    try:
        yield resident.keep[0]
    finally:
        run.memory.unpin(resident)


def _prepare(plan: DevicePlan, run: DeviceRun, viewed: bool) -> _DeviceTrees:
    found = trees(plan.resolved, plan.levels, viewed)
    return _DeviceTrees(None if found is None else [_place(tree, plan, run) for tree in found])


def _place(tree: Tree, plan: DevicePlan, run: DeviceRun) -> _Part:
    """Put a tree on the device, and cut the slices of its lists."""
    record = np.zeros(1, PLAN)
    tables = {"nodes": tree.nodes, "checks": tree.checks, "views": tree.views, "ranges": tree.ranges,
              "pairs": tree.pairs, "plan": record}  # fmt: skip
    starts, size = {}, 0
    for name, table in tables.items():
        starts[name] = size
        size += _rounded(table.nbytes)
    slices, at = [], size
    for view in tree.views:
        slices.append(at)
        at += _rounded((int(view["hi"]) - int(view["lo"])) * SLICE.itemsize)
    block = run.place(at, "the slices of lists")
    views = tree.views
    views["slices"] = [block.ptr + start for start in slices]
    views["neighbours"] = [int(plan.lists[index]["neighbours"]) for index in views["list"].tolist()]
    for name in ("nodes", "checks", "views", "ranges", "pairs"):
        record[name] = block.ptr + starts[name]
    for name in ("first", "pivot", "exists", "spine", "row_depth", "branches"):
        record[name] = getattr(tree, name)
    record["match"], record["memo_bits"], record["n_views"] = plan.address, _MOST_MEMO_BITS, len(views)
    image = np.zeros(size, np.uint8)
    for name, table in tables.items():
        image[starts[name] : starts[name] + table.nbytes] = table.reshape(-1).view(np.uint8)
    run.write(block, image)
    address = block.ptr + starts["plan"]
    macros, threads, shared_bytes = _variant(tree, len(plan.levels), run)
    if len(views):
        cut = run.kernel("dfs", "dfs_slices", macros)
        most = max(int(view["hi"]) - int(view["lo"]) for view in views)
        run.launch(cut, -(-most // _SLICE_THREADS), _SLICE_THREADS, (np.uint64(address),))
    return _Part(tree, block, device_bytes(block, at), address, macros, threads, shared_bytes)


def _variant(tree: Tree, levels: int, run: DeviceRun) -> tuple[dict[str, int | str], int, int]:
    """Return the kernel's macros, the threads of a block and its shared memory, in which the stacks fit if they can."""
    least = 0 if not tree.wide else min(each for each in LEVEL_VARIANTS if each >= levels)
    warp_bytes = tree.branches * (WIDE_BRANCH if least else BRANCH).itemsize
    warps = run.device.warps_fitting(warp_bytes, _THREADS // LANES)
    if least == LEVEL_VARIANTS[-1] or not warps:
        return {"QE_LEVELS": LEVEL_VARIANTS[-1], **_MACROS}, _THREADS, 0
    return {"QE_LEVELS": least, **_MACROS}, warps * LANES, warps * warp_bytes


# -- launches ---------------------------------------------------------------------------------------------------------


class _Launches:
    """The launches that take a tree to its end.

    Parameters
    ----------
    rows, seeds
        Of the input, where the tree begins with it.
    """

    def __init__(self, part: _Part, plan: DevicePlan, run: DeviceRun, rows: int = 1, seeds: Sequence[Ids] = ()) -> None:
        self.part, self.plan, self.run = part, plan, run
        tree = part.tree
        self.kernel = run.kernel("dfs", "dfs", part.macros, part.shared_bytes)
        self.blocks = max(1, run.device.resident_blocks(self.kernel, part.threads, part.shared_bytes))
        self.job, self.state = np.zeros(1, JOB), np.zeros(1, STATE)
        self.device_job = run.allocate(JOB.itemsize, "the search's arguments")
        self.device_state = run.allocate(STATE.itemsize, "the search's state")
        self.memos = run.zeroed(MEMO.itemsize * tree.memos << _MOST_MEMO_BITS, "remembered counts")
        self.seeds = [run.upload(np.ascontiguousarray(seed, np.int64), "the input rows") for seed in seeds]
        self.seed_table = run.upload(np.array([each.ptr for each in self.seeds] or [0], np.uint64), "the input rows")
        self.allocate()
        job, n_roots = self.job, rows if tree.n_roots is None else tree.n_roots
        for name, value in cuts(tree, n_roots, self.warps).items():
            job[name] = value
        job["plan"], job["stop"] = part.address, run.stop_flag
        for name in ("state", "memos", "gifts", "queue"):
            job[name] = getattr(self, "device_state" if name == "state" else name).ptr
        job["seeds"] = self.seed_table.ptr
        job["stacks"] = self.stacks.ptr if self.stacks is not None else 0

    @property
    def warps(self) -> int:
        """Warps of one launch."""
        return self.blocks * self.part.threads // LANES

    def allocate(self) -> None:
        """Make room for what each warp needs outside of shared memory; where it is short for fewer of them."""
        part, run = self.part, self.run
        each = part.stack_bytes * (1 if part.tree.row_depth < 0 else 3)
        each += 0 if part.shared_bytes else part.branch_bytes * part.tree.branches
        self.blocks = max(1, min(self.blocks, _MOST_STACK_BYTES // (each * part.threads // LANES)))
        self.stacks, self.saved = None, []
        while True:
            try:
                self.gifts = run.zeroed(part.stack_bytes * self.warps, "the work that warps share")
                self.queue = run.allocate(4 * self.warps, "the queue of warps without work")
                if not part.shared_bytes:
                    n_bytes = part.branch_bytes * part.tree.branches * self.warps
                    self.stacks = run.allocate(n_bytes, "the stacks of warps")
                if part.tree.row_depth >= 0:
                    n_bytes = part.stack_bytes * self.warps
                    self.saved = [run.allocate(n_bytes, "the stacks of paused warps") for _ in range(2)]
                return
            except OutOfMemory:
                self.gifts = self.queue = self.stacks = None
                self.saved = []
                if self.blocks == 1:
                    raise
                self.blocks = max(1, self.blocks // _FEWER)

    def launch(self) -> None:
        """Run the kernel until all is done, or there is no place for another row."""
        run = self.run
        run.clear(self.queue, 4 * self.warps)
        run.write(self.device_state, self.state)
        run.write(self.device_job, self.job)
        part = self.part
        run.launch(self.kernel, self.blocks, part.threads, (np.uint64(self.device_job.ptr),), part.shared_bytes)
        run.wait()
        run.read(self.device_state.ptr, self.state)
        run.context.raise_for(int(self.state["status"][0]))

    def total(self) -> int:
        """Return the count of all embeddings."""
        self.launch()
        return int(self.state["total_low"][0]) + (int(self.state["total_high"][0]) << 64)

    def chunks(self, search: Search, most_rows: int) -> Iterator[SearchChunk]:
        """Yield the rows."""
        resolved = self.plan.resolved
        tree = self.part.tree
        counting = resolved.mode is not SearchMode.EXISTS and tree.nodes["child"][tree.row_depth] >= 0
        capacity = min(_FIRST_ROWS, most_rows)
        room = _Rows.fitting(self.run, len(resolved.outputs), counting, capacity)
        while True:
            self.job["capacity"], self.job["row"], self.job["columns"] = room.capacity, room.row.ptr, room.columns.ptr
            self.job["counts"] = room.counts.ptr if room.counts is not None else 0
            self.job["saved_before"], self.job["saved"] = self.saved[1].ptr, self.saved[0].ptr
            self.job["n_saved_before"] = self.state["saved"]
            for name in ("rows", "working", "served", "waiting", "next_saved", "saved", "full"):
                self.state[name] = 0
            self.launch()
            n = min(int(self.state["rows"][0]), room.capacity)
            if n:
                yield self.taken(room, n, search)
            if not self.state["full"][0]:
                return
            self.saved.reverse()
            if room.capacity < most_rows and n == room.capacity:
                larger = min(most_rows, _FEWER * room.capacity)
                room = _Rows.fitting(self.run, len(resolved.outputs), counting, larger, room)

    def taken(self, room: _Rows, n: int, search: Search) -> SearchChunk:
        """Return the first rows of a buffer."""
        run, resolved = self.run, self.plan.resolved
        data = np.empty((1 + len(resolved.outputs), n), np.int64)
        run.read(room.row.ptr, data[0])
        for k in range(len(resolved.outputs)):
            run.read(room.columns.ptr + 8 * k * room.capacity, data[1 + k])
        count: Ids | None = None
        if room.counts is not None:
            host: npt.NDArray[np.uint64] = np.empty(n, np.uint64)
            run.read(room.counts.ptr, host)
            count = as_emitted(host, search, run)
        elif resolved.mode is SearchMode.COUNT:
            count = scaled(np.ones(n, np.int64), search)
        return SearchChunk(data[0], dict(zip(resolved.outputs, data[1:], strict=True)), count)


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
                capacity = max(_LEAST_ROWS, capacity // _FEWER)


def _rounded(n_bytes: int) -> int:
    return -(-n_bytes // _ALIGNMENT) * _ALIGNMENT
