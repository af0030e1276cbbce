"""Counts on the device by the tree of a plan's levels (``kernels/cuda/count/count_dfs.cu``)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.errors import OutOfMemory
from qengine.exec.gpu.dfs_plan import BRANCH, MEMO, PLAN, SLICE, STATE, Tree, trees
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.memory import Resident
from qengine.exec.gpu.specialised import KernelVariant, specialised
from qengine.exec.gpu.tree_code import tree_code
from qengine.exec.gpu.upload import DevicePlan
from qengine.exec.view import ExecView

__all__ = ["counted_by_tree"]

_THREADS = 128
_LANES = 32
_SLICE_THREADS = 256
_ALIGNMENT = 256
_MOST_MEMO_BITS = 18
_MACROS: dict[str, int | str] = {}
"""The kernel's variant: measurements take others."""


@dataclass(eq=False)
class _DeviceTrees:
    """The trees of a plan on the device. ``None``: the plan has what the kernel doesn't count."""

    parts: list[_Part] | None

    @property
    def n_bytes(self) -> int:
        """Bytes that it takes on the device."""
        return sum(part.n_bytes for part in self.parts or ())


@dataclass(frozen=True)
class _Part:
    """One component: its ``TreePlan`` is at ``address`` in ``block``; tables of counts have ``2**memo_bits`` places.

    ``form``: of kernels that are compiled for such trees.
    """

    tree: Tree
    form: KernelVariant
    block: Any
    n_bytes: int
    address: int
    memo_bits: int


def counted_by_tree(store: ExecView, plan: DevicePlan, run: DeviceRun) -> int | None:
    """Return how many embeddings a plan without seeds has; None where the kernel can't tell.

    What is made of a plan that can be used again stays on the device, as long as there is room.

    Raises
    ------
    OutOfMemory, QueryTimeout, QueryInterrupted
        By the run's limits.
    ResourceError
        If a count within one root exceeds 64 bits.
    """
    with _prepared(store, plan, run) as prepared:
        if prepared.parts is None:
            return None
        total = 1
        for part in prepared.parts:
            total *= _count(part, run)
            if total == 0:
                break
        return total


@contextmanager
def _prepared(store: ExecView, plan: DevicePlan, run: DeviceRun) -> Iterator[_DeviceTrees]:
    """Lend the plan's trees, made now or by an earlier query."""
    key = (id(store), "tree", id(plan.resolved))
    resident: Resident | None = run.memory.pin(key) if plan.resolved.reusable else None
    if resident is None or resident.keep[1] is not plan:
        if resident is not None:
            run.memory.unpin(resident)
        try:
            made = _prepare(plan, run)
        except OutOfMemory:  # the general search takes less
            yield _DeviceTrees(None)
            return
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


def _prepare(plan: DevicePlan, run: DeviceRun) -> _DeviceTrees:
    found = trees(plan.resolved, plan.levels)
    if found is None or not all(_threads(tree, run) for tree in found):
        return _DeviceTrees(None)
    return _DeviceTrees([_place(tree, plan, run) for tree in found])


def _place(tree: Tree, plan: DevicePlan, run: DeviceRun) -> _Part:
    """Put a tree on the device, and cut the slices of its lists."""
    tables = {"nodes": tree.nodes, "checks": tree.checks, "views": tree.views, "ranges": tree.ranges,
              "pairs": tree.pairs, "plan": np.zeros(1, PLAN)}  # fmt: skip
    starts, size = {}, 0
    for name, table in tables.items():
        starts[name] = size
        size += _rounded(table.nbytes)
    slices, at = [], size
    for view in tree.views:
        slices.append(at)
        at += _rounded((int(view["hi"]) - int(view["lo"])) * SLICE.itemsize)
    block = run.allocate(at, "the slices of lists")
    views = tree.views
    views["slices"] = [block.ptr + start for start in slices]
    views["neighbours"] = [int(plan.lists[index]["neighbours"]) for index in views["list"].tolist()]
    form = KernelVariant.of("count_dfs", run.device.capability, {**run.device.macros, **_MACROS}, tree_code(tree))
    blocks = _kernel(tree, form, run)[1]
    memo_bits = _MOST_MEMO_BITS
    record = tables["plan"]
    for name in ("nodes", "checks", "views", "ranges", "pairs"):
        record[name] = block.ptr + starts[name]
    for name, value in tree.cuts(blocks * _threads(tree, run) // _LANES).items():
        record[name] = value
    record["memo_bits"], record["n_views"] = memo_bits, len(views)
    image = np.zeros(size, np.uint8)
    for name, table in tables.items():
        image[starts[name] : starts[name] + table.nbytes] = table.reshape(-1).view(np.uint8)
    run.write(block, image)
    address = block.ptr + starts["plan"]
    if len(views):
        cut = run.kernel("count_dfs", "tree_slices", _MACROS)
        most = max(int(view["hi"]) - int(view["lo"]) for view in views)
        run.launch(cut, -(-most // _SLICE_THREADS), _SLICE_THREADS, (np.uint64(plan.address), np.uint64(address)))
    return _Part(tree, form, block, at, address, memo_bits)


def _kernel(tree: Tree, form: KernelVariant, run: DeviceRun) -> tuple[Any, int, bool]:
    """Return the kernel, how many blocks of it run at a time, and whether it was compiled for the tree's form."""
    threads = _threads(tree, run)
    shared = _warp_bytes(tree) * threads // _LANES
    own = specialised.ready(form)
    kernel = run.kernel("count_dfs", "count_dfs", _MACROS, shared, form.code if own else "")
    return kernel, max(1, run.device.resident_blocks(kernel, threads, shared)), own


class _Watch:
    """Notes how long kernels for any tree run, and tells when those compiled for its form are there to go on."""

    def __init__(self, form: KernelVariant) -> None:
        self.form = form
        self.noted = time.perf_counter()

    def __call__(self) -> bool:
        now = time.perf_counter()
        specialised.ran(self.form, now - self.noted)
        self.noted = now
        return specialised.ready(self.form)


def _count(part: _Part, run: DeviceRun) -> int:
    warp_bytes, threads = _warp_bytes(part.tree), _threads(part.tree, run)
    memos = MEMO.itemsize * part.tree.memos << part.memo_bits
    room = run.zeroed(_rounded(STATE.itemsize) + memos, "the count and what it remembers")
    arguments = (
        np.uint64(part.address),
        np.uint64(room.ptr),
        np.uint64(room.ptr + _rounded(STATE.itemsize)),
        np.uint64(run.stop_flag),
        np.uint32(warp_bytes),
    )
    state: npt.NDArray[Any] = np.zeros(1, STATE)
    while True:
        kernel, blocks, own = _kernel(part.tree, part.form, run)
        watch = None if own else _Watch(part.form)
        run.launch(kernel, blocks, threads, arguments, warp_bytes * threads // _LANES)
        run.wait(watch)
        run.read(room.ptr, state)
        if not state["leave"][0]:
            break
        state["leave"] = 0
        run.write(room, state)
    if watch is not None:
        watch()
    run.context.raise_for(int(state["status"][0]))
    return int(state["total_low"][0]) + (int(state["total_high"][0]) << 64)


def _threads(tree: Tree, run: DeviceRun) -> int:
    """Return the threads of a block, 0 where the stack of not even one warp fits."""
    return _LANES * run.device.warps_fitting(_warp_bytes(tree), _THREADS // _LANES)


def _warp_bytes(tree: Tree) -> int:
    """Return the shared memory of one warp's stack."""
    return tree.branches * BRANCH.itemsize


def _rounded(n_bytes: int) -> int:
    return -(-n_bytes // _ALIGNMENT) * _ALIGNMENT
