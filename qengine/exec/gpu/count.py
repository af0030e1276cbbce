"""Counts on the device by the kernels made for a plan's shape, where it has one."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.errors import OutOfMemory
from qengine.exec.common.match_plan import LEVEL, RANGE
from qengine.exec.common.resolve import ResolvedSearch
from qengine.exec.gpu.count_kernels import Roots, ShapeCounter, ViewSpec
from qengine.exec.gpu.count_segments import SegmentCounter, is_segmented
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.placement import STREAMED
from qengine.exec.gpu.upload import DevicePlan
from qengine.exec.view import ExecView
from qengine.plan.count_shapes import Component, View, with_views

__all__ = ["CountedPlan", "components", "try_count"]

_ROOM = 256
_MOST_ENTRIES = 2**32 - 1
"""Of one list: the kernels' slices have 32-bit ends."""


@dataclass(eq=False)
class CountedPlan:
    """A plan's counters, ready to run again. ``counters``: None where it has no such shape."""

    counters: Sequence[ShapeCounter | SegmentCounter] | None
    uploaded: list[Any]
    lock: threading.Lock = field(default_factory=threading.Lock)
    running: bool = False
    """Under way; or stopped on its way, where nobody has the lock."""

    @property
    def n_bytes(self) -> int:
        """Bytes that it takes on the device."""
        return sum(counter.n_bytes for counter in self.counters or ())


def try_count(store: ExecView, shapes: Sequence[Component[View]], plan: DevicePlan, run: DeviceRun) -> int | None:
    """Return how many embeddings a plan of these shapes has; None without any, or where their kernels can't tell.

    The counters of a plan that can be used again stay on the device, as long as there is room.

    Raises
    ------
    OutOfMemory, QueryTimeout, QueryInterrupted
        By the run's limits.
    """
    resolved = plan.resolved
    if not shapes:
        return None
    key = (id(store), "count", id(resolved))
    resident = run.memory.pin(key) if resolved.reusable else None
    if resident is not None:
        try:
            made, _, parts = resident.keep
            if parts == plan.parts:  # else lists that it reads have been evicted, and are elsewhere now
                return _counted(made, run)
        finally:
            run.memory.unpin(resident)
    try:
        made = _prepared(store, shapes, plan, run)
    except OutOfMemory:  # the general search takes less
        return None
    if not resolved.reusable:
        return _counted(made, run)
    resident = run.memory.add(key, made, made.n_bytes, (made, resolved, plan.parts))
    run.memory.follow(store)
    try:
        return _counted(made, run)
    finally:
        run.memory.unpin(resident)


def _counted(plan: CountedPlan, run: DeviceRun) -> int | None:
    if plan.counters is None:
        return None
    room = run.allocate(_ROOM, "the count")  # nothing is counted beyond the limit, also where all is there already
    with run.alone(plan.lock):
        if plan.running:
            for counter in plan.counters:
                counter.clear(run)
        plan.running = True
        for counter in plan.counters:
            counter.start(run)
        found = [counter.result(run) for counter in plan.counters]
        plan.running = False
    del room
    return None if None in found else prod(each for each in found if each is not None)


def components(
    store: ExecView, shapes: Sequence[Component[View]], resolved: ResolvedSearch
) -> list[Component[ViewSpec]] | None:
    """Return shapes of the lists of a graph; None where the vertices of some labels are in several ranges."""
    header = resolved.plan[0]
    levels = _table(header, "levels", LEVEL, int(header["n_levels"]))
    if any(int(level["ranges"]["count"]) != 1 for level in levels):
        return None

    def seen(view: View) -> ViewSpec:
        ((lo, hi),) = store.label_ranges(view.labels).tolist()
        index = store.type_index(view.type)
        assert index is not None
        return ViewSpec(resolved.lists[index, view.direction], lo, hi, view.below, view.above)

    return [Component(with_views(each.shape, seen), each.root) for each in shapes]


def _prepared(store: ExecView, shapes: Sequence[Component[View]], plan: DevicePlan, run: DeviceRun) -> CountedPlan:
    made = CountedPlan(None, [])
    parts = components(store, shapes, plan.resolved)
    if parts is None or any(int(each["n_entries"]) > _MOST_ENTRIES for each in plan.lists):
        return made
    counters: list[ShapeCounter | SegmentCounter] = []
    for part in parts:
        made_of = SegmentCounter if run.memory.placement == STREAMED and is_segmented(part.shape) else ShapeCounter
        counter = made_of(plan.lists, part.shape, _roots(plan, part, run, made.uploaded))
        if not counter.prepare(run):
            return made
        counters.append(counter)
    made.counters = counters
    segmented = [each for each in counters if isinstance(each, SegmentCounter)]
    if segmented:
        plan.made["segments"] = sum(len(each.segments) for each in segmented), sum(each.crossing for each in segmented)
    return made


def _roots(plan: DevicePlan, part: Component[ViewSpec], run: DeviceRun, uploaded: list[Any]) -> Roots:
    """Return the vertices of the component's first level; its bitset or candidates are copied to the device."""
    header = plan.resolved.plan[0]
    levels = _table(header, "levels", LEVEL, int(header["n_levels"]))
    level = levels[part.root]
    at = int(level["ranges"]["first"])
    begin, end = (int(bound) for bound in _table(header, "ranges", RANGE, at + 1)[at])
    reach = max(int(span["end"]) for span in _ranges(header, levels))
    if level["candidates"]:
        n = int(level["n_candidates"])
        return Roots(0, n, reach, candidates=_copied(int(level["candidates"]), 4 * n, run, uploaded))
    if level["bitset"]:
        first = int(level["bitset_begin"])
        bits = _copied(int(level["bitset"]), -(-(end - first) // 64) * 8, run, uploaded)
        return Roots(begin, end, reach, bitset=bits, bitset_begin=first)
    return Roots(begin, end, reach)


def _ranges(header: Any, levels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the ranges of all levels."""
    return _table(header, "ranges", RANGE, max(int(each["first"] + each["count"]) for each in levels["ranges"]))


def _copied(address: int, n_bytes: int, run: DeviceRun, uploaded: list[Any]) -> int:
    block = run.upload(np.frombuffer(ctypes.string_at(address, n_bytes), np.uint8), "the vertices to begin with")
    uploaded.append(block)
    return int(block.ptr)


def _table(header: Any, name: str, dtype: np.dtype[Any], n: int) -> npt.NDArray[Any]:
    return np.frombuffer(ctypes.string_at(int(header[name]), n * dtype.itemsize), dtype)
