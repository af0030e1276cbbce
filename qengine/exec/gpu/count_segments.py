"""Counts what two linked vertices have in common where the device has no room for the lists (SGSI §6).

Vertices are cut into segments. For each, what is read at random, the lists of its vertices and where these begin, is
copied to the device; then the same kernel counts as elsewhere, for all roots, but only their members in the segment.
What is read of a root is read in order, from the host's memory: its list once a segment that it has members in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.exec.gpu.count_kernels import (
    SLICE_BYTES,
    DeviceView,
    Roots,
    ShapeCounter,
    Share,
    ViewSpec,
    pack_view,
    room_for_copies,
)
from qengine.exec.gpu.count_policy import hub_words
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.memory import device_bytes, host_bytes_of
from qengine.plan.count_shapes import CountShape, EdgeShape

__all__ = ["Pass", "SegmentCounter", "Segmented", "is_segmented", "moved", "segments"]

_BEGIN, _TAIL, _END = range(3)
"""Of a ``ViewSlice``."""

_CLASSES = 3
"""Of roots, by the size of the slice that is marked."""

_ROWS_SHARE, _LEAST_WORDS = 4, 32
"""Rows of hubs take at most one part in so many of the memory, unless they are so short."""

_LEAST_SEGMENT = 1 << 12
_MOST_MEMBERS = 2**32 - 1
_WHAT = "a segment of lists"


def is_segmented(shape: CountShape[Any]) -> bool:
    """Tell whether counts of a shape's roots are sums over their members, so that these may be counted in parts."""
    return isinstance(shape, EdgeShape) and shape.taken_outer is None


def segments(sizes: npt.NDArray[np.integer[Any]], most: int) -> list[tuple[int, int]]:
    """Return ranges of ids that cover all, of at most ``most`` bytes each, or one id.

    Parameters
    ----------
    sizes
        int[n]: bytes that each id takes.
    """
    sums = np.cumsum(sizes, dtype=np.int64)
    found, begin, before = [], 0, 0
    while begin < len(sums):
        end = max(begin + 1, int(np.searchsorted(sums, before + most, side="right")))
        found.append((begin, end))
        begin, before = end, int(sums[end - 1])
    return found


class Pass(ShapeCounter):
    """Counts the members of one segment. ``rooms``: blocks by size, which one pass uses after the other."""

    rooms: dict[int, Any]
    has_cuts = False

    def place(self, n_bytes: int) -> Any:
        """Return a block, which another pass has used."""
        if n_bytes not in self.rooms:
            self.rooms[n_bytes] = self.run.place(n_bytes, "counting")
        return self.rooms[n_bytes]


class Segmented:
    """Counts a shape in passes, one for each segment. Parameters as of ``ShapeCounter``."""

    def __init__(self, lists: npt.NDArray[Any], shape: CountShape[ViewSpec], roots: Roots) -> None:
        self.lists, self.roots = lists, roots
        self.base = ShapeCounter(lists, shape, roots)
        self.rooms: dict[int, Any] = {}
        self.segments: list[tuple[int, int]] = []
        self.n_bytes = self.host_bytes = 0
        self.crossing = 0
        """Bytes that a count reads over the link, at most."""
        self._last: Pass | None = None
        self._total = 0, 0

    def prepare(self, run: DeviceRun) -> bool:
        """Find slices, and cut ids into segments; return whether the kernels can count."""
        raise NotImplementedError

    def passes(self, run: DeviceRun) -> Iterator[Pass]:
        """Yield the passes, each ready to be started once those before have ended."""
        raise NotImplementedError

    def of_shares(self, shares: Sequence[Share]) -> list[Segmented]:
        """Return what counts shares of the roots, one after the other, with what is prepared here.

        Its bytes are the first's.
        """
        made = [copy(self) for _ in shares]
        for each, share in zip(made, shares, strict=True):
            each.roots = replace(self.roots, share=share)
        for each in made[1:]:
            each.n_bytes = each.host_bytes = 0
        return made

    def clear(self, run: DeviceRun) -> None:
        """Nothing must be clear when the count starts."""

    def start(self, run: DeviceRun) -> None:
        """Count the segments one after the other, and start the last.

        Raises
        ------
        OutOfMemory, QueryTimeout, QueryInterrupted
            By the run's limits.
        """
        self._total, self._last = (0, 0), None
        for each in self.passes(run):
            each.start(run)
            self._last = each

    def sums(self, run: DeviceRun) -> tuple[int, int]:
        """Wait, and return the sums of all segments, of which ``total_of`` makes the count."""
        self.finish(run)
        return self._total

    def finish(self, run: DeviceRun) -> None:
        """Wait for the pass that was started last, and take its sums up."""
        if self._last is not None:
            first, second = self._last.sums(run)
            self._total = self._total[0] + first, self._total[1] + second
            self._last = None

    def new_pass(self, run: DeviceRun, shape: CountShape[ViewSpec], roots: Roots) -> Pass:
        """Return a pass over such a shape, which isn't prepared yet."""
        made = Pass(self.lists, shape, roots)
        made.rooms, made.run, made.device = self.rooms, run, run.device
        return made


class SegmentCounter(Segmented):
    """Counts an ``EdgeShape`` as ``ShapeCounter`` does, by segments of members. Parameters as there."""

    def __init__(self, lists: npt.NDArray[Any], shape: EdgeShape[ViewSpec], roots: Roots) -> None:
        super().__init__(lists, shape, roots)
        self.shape = shape
        self.words = hub_words(shape.marked.hi - shape.marked.lo)  # by which the kernels look a view up

    def prepare(self, run: DeviceRun) -> bool:
        """Find slices, make rows of hubs, cut the vertices into segments; return whether the kernels can count."""
        base, shape = self.base, self.shape
        base.run, base.device = run, run.device
        self.marked = base.view(shape.marked)
        words = self.words
        while words > _LEAST_WORDS and 4 * 32 * words**2 > run.free_bytes() // _ROWS_SHARE:
            words = words // 8 * 4
        self.streamed = base.view(shape.streamed, words, shape.marked.lo)
        reach, slices = base.read_slices(self.marked)
        of_root = 4 * (slices[:, _END] - slices[:, _BEGIN]).astype(np.int64) + 2 * SLICE_BYTES
        read = np.concatenate(([0], np.cumsum(of_root)))
        if not self.roots.candidates:  # vertices without lists come last
            self.roots = replace(self.roots, end=min(self.roots.end, reach), reach=max(1, reach))
        end, slices = base.read_slices(self.streamed)
        begin, end = shape.outer.lo, min(shape.outer.hi, end)
        lengths = (slices[:, _END] - slices[:, _TAIL])[begin:end]
        kept = SLICE_BYTES * self.roots.reach, 4 * _CLASSES * self.roots.count
        self.outer, classes = (run.place(n_bytes, "counting") for n_bytes in kept)
        self.rooms = {kept[1]: classes}
        free = run.free_bytes()
        found = segments(4 * lengths.astype(np.int64) + SLICE_BYTES, max(_LEAST_SEGMENT, room_for_copies(free)))
        sizes = [SLICE_BYTES * (b - a) + 4 * int(lengths[a:b].sum(dtype=np.int64)) for a, b in found]
        size = max(sizes, default=0)
        if size > 4 * _MOST_MEMBERS:
            return False
        self.segments = [(begin + a, begin + b) for a, b in found]
        self.packed = run.allocate(size, _WHAT)
        self.cuts = self._cut(run)
        self.crossing = sum(sizes) + sum(self._of_roots(read, *each) for each in self.segments)
        self.n_bytes = base.n_bytes + size + device_bytes(self.outer, kept[0]) + device_bytes(classes, kept[1])
        self.host_bytes = base.host_bytes + host_bytes_of([self.outer, classes, *self.cuts])
        return True

    def passes(self, run: DeviceRun) -> Iterator[Pass]:
        """Yield the passes over segments whose lists have been copied."""
        between, reach = run.kernel("count_views", "slices_between"), self.roots.reach
        for k, (begin, end) in enumerate(self.segments):
            self.finish(run)
            members = self.packed.ptr + SLICE_BYTES * (end - begin)
            pack_view(run, self.streamed, (begin, end), self.packed.ptr, members)
            shape = replace(self.shape, outer=replace(self.shape.outer, lo=begin, hi=end))
            each = self.new_pass(run, shape, self.roots)
            cuts = np.uint64(self.cuts[k].ptr), np.uint64(self.cuts[k + 1].ptr)
            run.launch(between, -(-reach // 256), 256, (*cuts, np.uint32(reach), np.uint64(self.outer.ptr)))
            outer = int(self.lists[shape.outer.list]["neighbours"])
            each.shared.views[shape.outer, 0] = moved(self.marked, self.outer.ptr, outer)
            each.shared.views[shape.marked, 0] = self.marked
            packed = self.packed.ptr - SLICE_BYTES * begin
            each.shared.views[shape.streamed, self.words] = moved(self.streamed, packed, members)
            each.prepare(run)
            yield each

    def _cut(self, run: DeviceRun) -> list[Any]:
        """Return blocks of where each root's members in each segment begin, and where those in the last end."""
        self.base.roots = self.roots  # which are perhaps fewer
        found: list[npt.NDArray[np.uint32]] = []
        everything = [(self.segments[0][0], self.segments[-1][1])] if self.segments else []
        for begin, end in everything + self.segments:
            self.base.slice(replace(self.shape.outer, lo=begin, hi=end), self.outer.ptr)
            _, slices = self.base.read_slices(moved(self.marked, self.outer.ptr, 0))
            if found:  # a slice of no members is where the list begins
                found.append(np.maximum(found[-1], slices[:, _END]))
            else:
                found.append(slices[:, _BEGIN].copy())
        return [run.copied(run.place(each.nbytes, "counting", front=0), each) for each in found]

    def _of_roots(self, read: npt.NDArray[np.int64], begin: int, end: int) -> int:
        """Return the most bytes that are read of roots for a segment. ``read``: of all roots before each."""
        outer, last = self.shape.outer, len(read) - 1
        first = begin if outer.below else 0
        return int(read[min(end, last) if outer.above else last] - read[min(first, last)])


def moved(view: DeviceView, slices: int, neighbours: int) -> DeviceView:
    """Return a view whose slices and lists are elsewhere."""
    record = view.view.copy()
    record["slices"], record["neighbours"] = slices, neighbours
    return DeviceView(record, view.hub_words)
