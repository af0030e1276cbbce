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

from qengine._frozen import replace
from qengine.errors import OutOfMemory
from qengine.exec.common.match_plan import LEVEL, RANGE
from qengine.exec.common.resolve import ResolvedSearch
from qengine.exec.gpu.count_columns import ColumnCounter
from qengine.exec.gpu.count_kernels import Roots, ShapeCounter, SharedBlocks, ViewSpec, total_of
from qengine.exec.gpu.count_segments import SegmentCounter, Segmented, is_segmented
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.placement import Use
from qengine.exec.gpu.upload import DevicePlan
from qengine.exec.view import ExecView
from qengine.plan.count_shapes import CliqueShape, Component, CountShape, EdgeShape, View, WedgeShape, with_views
from qengine.plan.physical import Search
from qengine.plan.shares import ALL_ROOTS, Share

_ROOM = 256
_MOST_ENTRIES = 2**32 - 1
"""Of one list: the kernels' slices have 32-bit ends."""


@dataclass(eq=False)
class CountedPlan:
    """A plan's counters, ready to run again.

    ``counters``: of each component, or of each share of its only one's roots; None where it has no such shape.
    """

    counters: Sequence[ShapeCounter | Segmented] | None
    uploaded: list[Any]
    lock: threading.Lock = field(default_factory=threading.Lock)
    running: bool = False
    """Under way; or stopped on its way, where nobody has the lock."""

    @property
    def n_bytes(self) -> int:
        """Bytes that it takes on the device."""
        return sum(counter.n_bytes for counter in self.counters or ())

    @property
    def host_bytes(self) -> int:
        """Bytes that it takes in the host's memory."""
        return sum(counter.host_bytes for counter in self.counters or ())


def try_count(store: ExecView, shapes: Sequence[Component[View]], plan: DevicePlan, run: DeviceRun) -> int | None:
    """Return how many embeddings a plan of these shapes has; None without any, or where their kernels don't fit.

    The counters of a plan that can be used again stay on the device, as long as there is room.
    """
    found = _sums(store, shapes, plan, run, (ALL_ROOTS,), slice(None)) if shapes else None
    if found is None:
        return None
    return prod(total_of(each.shape, *sums) for each, sums in zip(shapes, found, strict=True))


def share_sums(
    store: ExecView, shape: Component[View], plan: DevicePlan, run: DeviceRun, shares: Sequence[Share], place: int
) -> tuple[int, int] | None:
    """Return what one of some shares of the roots of a plan of one shape adds to the sums of ``total_of``.

    None, and errors, as of ``try_count``. What all shares need is made with the first of them.
    """
    found = _sums(store, (shape,), plan, run, shares, slice(place, place + 1))
    return None if found is None else found[0]


Sums = list[tuple[int, int]]


def _sums(
    store: ExecView,
    shapes: Sequence[Component[View]],
    plan: DevicePlan,
    run: DeviceRun,
    shares: Sequence[Share],
    which: slice,
) -> Sums | None:
    """Return the sums of some of a plan's counters."""
    resolved = plan.resolved
    key = (id(store), "count", id(resolved), len(shares), run.memory.placement)
    resident = run.memory.pin(key) if resolved.reusable else None
    if resident is not None:
        try:
            made, _, parts = resident.keep
            if parts == plan.parts:  # else lists that it reads have been evicted, and are elsewhere now
                return _counted(made, run, which)
        finally:
            run.memory.unpin(resident)
    try:
        made = _prepared(store, shapes, plan, run, shares)
    except OutOfMemory:  # the general search takes less
        return None
    if not resolved.reusable:
        return _counted(made, run, which)
    resident = run.memory.add(key, made, made.n_bytes, (made, resolved, plan.parts))
    run.memory.follow(store)
    try:
        return _counted(made, run, which)
    finally:
        run.memory.unpin(resident)


def _counted(plan: CountedPlan, run: DeviceRun, which: slice) -> Sums | None:
    if plan.counters is None:
        return None
    room = run.allocate(_ROOM, "the count")  # nothing is counted beyond the limit, also where all is there already
    with run.alone(plan.lock):
        if plan.running:
            for counter in plan.counters:
                counter.clear(run)
        plan.running = True
        for counter in plan.counters[which]:
            counter.start(run)
        found = [counter.sums(run) for counter in plan.counters[which]]
        plan.running = False
    del room
    return found


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


def _prepared(
    store: ExecView, shapes: Sequence[Component[View]], plan: DevicePlan, run: DeviceRun, shares: Sequence[Share]
) -> CountedPlan:
    made = CountedPlan(None, [])
    parts = components(store, shapes, plan.resolved)
    if parts is None or any(int(each["n_entries"]) > _MOST_ENTRIES for each in plan.lists):
        return made
    counters: list[ShapeCounter | Segmented] = []
    crossing: list[tuple[int, int]] = []
    for part in parts:
        roots, shared = _roots(plan, part, run, made.uploaded), SharedBlocks()
        segmented = _segmented(plan.lists, part.shape, roots, run)
        if segmented is not None:
            if not segmented.prepare(run):
                return made
            counters += segmented.of_shares(shares)
            crossing.append((len(segmented.segments), segmented.crossing))
            continue
        for share in shares:
            counter = ShapeCounter(plan.lists, part.shape, replace(roots, share=share), shared)
            if not counter.prepare(run):
                return made
            counters.append(counter)
    made.counters = counters
    if crossing:
        plan.made["segments"] = tuple(map(sum, zip(*crossing, strict=True)))
    return made


def use_of(search: Search) -> Use:
    """Return how lists are read that the device has no room for: by some shapes' kernels whole copies or segments."""
    shapes = [each.shape for each in search.shapes]
    if shapes and all(isinstance(each, CliqueShape) for each in shapes):
        return Use.COPIES
    if shapes and all(isinstance(each, CliqueShape) or is_segmented(each) for each in shapes):
        return Use.SEGMENTS
    if shapes and all(isinstance(each, CliqueShape | WedgeShape) or is_segmented(each) for each in shapes):
        return Use.COLUMNS
    return Use.SEARCH


def _segmented(lists: npt.NDArray[Any], shape: CountShape[ViewSpec], roots: Roots, run: DeviceRun) -> Segmented | None:
    """Return what counts a shape in segments, where its lists lie in the host's memory; None where they don't."""
    if run.memory.placement.is_streamed:
        if isinstance(shape, EdgeShape) and is_segmented(shape):
            return SegmentCounter(lists, shape, roots)
        if isinstance(shape, WedgeShape):
            return ColumnCounter(lists, shape, roots)
    return None


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
        return Roots(0, n, reach, candidates=_placed(plan, int(level["candidates"]), 4 * n, run, uploaded))
    if level["bitset"]:
        first = int(level["bitset_begin"])
        bits = _placed(plan, int(level["bitset"]), -(-(end - first) // 64) * 8, run, uploaded)
        return Roots(begin, end, reach, bitset=bits, bitset_begin=first)
    return Roots(begin, end, reach)


def _ranges(header: Any, levels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the ranges of all levels."""
    return _table(header, "ranges", RANGE, max(int(each["first"] + each["count"]) for each in levels["ranges"]))


def _placed(plan: DevicePlan, address: int, n_bytes: int, run: DeviceRun, uploaded: list[Any]) -> int:
    """Return where an array that a resolved search holds is on the device, copied there if it isn't."""
    if any(address == each.address for each in plan.resolved.lent):
        return address
    block = run.upload(np.frombuffer(ctypes.string_at(address, n_bytes), np.uint8), "the vertices to begin with")
    uploaded.append(block)
    return int(block.ptr)


def _table(header: Any, name: str, dtype: np.dtype[Any], n: int) -> npt.NDArray[Any]:
    return np.frombuffer(ctypes.string_at(int(header[name]), n * dtype.itemsize), dtype)
