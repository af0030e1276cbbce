"""Counts ways round a square where the device has no room for the lists: by segments of the vertex opposite the root.

Pairs of ways are pairs for one such vertex, so that counts of segments add up. Of each list the members in a segment
are copied to the device, from where the copy for the segment before ended: all lists are read once, in order. Roots'
own lists are read again for each segment, and where a segment has more ids than counters, for each few tiles of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine._frozen import replace
from qengine.exec.gpu.count_kernels import SLICE_BYTES, Roots, ShapeCounter, ViewSpec, room_for_copies
from qengine.exec.gpu.count_policy import TILES_AT_ONCE, wedge_launches
from qengine.exec.gpu.count_segments import Segmented, moved
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.list_pieces import segments
from qengine.exec.gpu.memory import device_bytes, host_bytes_of
from qengine.plan.count_shapes import WedgeShape

_END = 2
"""Of a ``ViewSlice``, which begins with where it begins."""

_CLASSES = 4
"""Of roots, by the ways that begin there."""

_CURSOR_BYTES = 8
_THREADS, _WARP = 256, 32
_LEAST_SEGMENT = 1 << 10
_WHAT = "a segment of lists"


class Pass(ShapeCounter):
    """Counts the members of one segment. ``rooms``: blocks by size, which one pass uses after the other."""

    rooms: dict[int, Any]
    has_cuts = False

    def place(self, n_bytes: int) -> Any:
        """Return a block, which another pass has used."""
        if n_bytes not in self.rooms:
            self.rooms[n_bytes] = self.run.place(n_bytes, "counting")
        return self.rooms[n_bytes]


class ColumnCounter(Segmented):
    """Counts a ``WedgeShape`` as ``ShapeCounter`` does, by segments of columns. Parameters as there."""

    def __init__(self, lists: npt.NDArray[Any], shape: WedgeShape[ViewSpec], roots: Roots) -> None:
        super().__init__(lists, shape, roots)
        self.shape = shape
        self.rooms: dict[int, Any] = {}
        self._last: Pass | None = None
        self._total = 0, 0

    def prepare(self, run: DeviceRun) -> bool:
        """Find slices, and cut the ids into segments; return whether the kernels can count."""
        base, shape, reach = self.base, self.shape, self.roots.reach
        base.run, base.device = run, run.device
        self.outer, self.inner = base.view(shape.outer), base.view(shape.inner)
        lo, hi = shape.inner.lo, min(shape.inner.hi, reach)
        entries = self._entries(run, lo, hi)
        kept = _CURSOR_BYTES * reach, 4 * _CLASSES * self.roots.count
        self.cursors, classes = (run.place(n_bytes, "counting") for n_bytes in kept)
        self.rooms = {kept[1]: classes}
        slices = SLICE_BYTES * reach
        self.slices = run.place(slices, _WHAT, front=2 * run.free_bytes() // 3)  # what is read at random
        free = run.free_bytes()
        most = max(_LEAST_SEGMENT, room_for_copies(free))
        found = segments(4 * entries.astype(np.int64), most)
        sizes = [4 * int(entries[a:b].sum(dtype=np.int64)) for a, b in found]
        size = max(sizes, default=0)
        if size >= 1 << 34:
            return False
        self.segments = [(lo + a, lo + b) for a, b in found]
        self.members = run.allocate(max(4, size), _WHAT)
        self.crossing = sum(sizes) + self._of_roots()
        placed = (self.slices, slices), (self.cursors, kept[0]), (classes, kept[1])
        self.n_bytes = base.n_bytes + size + sum(device_bytes(*each) for each in placed)
        self.host_bytes = base.host_bytes + host_bytes_of([block for block, _ in placed])
        return True

    def start(self, run: DeviceRun) -> None:
        """Count the segments one after the other, and start the last. Errors as of ``Segmented.start``."""
        self._total, self._last = (0, 0), None
        for each in self._passes(run):
            each.start(run)
            self._last = each

    def sums(self, run: DeviceRun) -> tuple[int, int]:
        """Wait, and return the sums of all segments."""
        self._finish(run)
        return self._total

    def _finish(self, run: DeviceRun) -> None:
        """Wait for the pass that was started last, and take its sums up."""
        if self._last is not None:
            first, second = self._last.sums(run)
            self._total = self._total[0] + first, self._total[1] + second
            self._last = None

    def _passes(self, run: DeviceRun) -> Iterator[Pass]:
        """Yield the passes over segments whose columns have been copied, each to be started once those before ended."""
        pack = run.kernel("count_views", "pack_columns")
        for k, (lo, hi) in enumerate(self.segments):
            self._finish(run)
            taken = run.zeroed(4, "counting")
            to = (self.cursors.ptr, self.slices.ptr, self.members.ptr, taken.ptr)
            reach = self.roots.reach
            given = self.inner.view, np.uint32(reach), np.uint32(hi), np.uint32(k == 0), *map(np.uint64, to)
            run.launch(pack, -(-reach * _WARP // _THREADS), _THREADS, given)
            shape = replace(self.shape, inner=replace(self.shape.inner, lo=lo, hi=hi))
            each = Pass(self.lists, shape, self._roots(hi))
            each.rooms, each.run, each.device = self.rooms, run, run.device
            each.shared.views[shape.outer, 0] = self.outer
            each.shared.views[shape.inner, 0] = moved(self.inner, self.slices.ptr, self.members.ptr)
            each.prepare(run)
            yield each

    def _entries(self, run: DeviceRun, lo: int, hi: int) -> npt.NDArray[np.uint32]:
        """Return how often each id is a member of an inner slice: uint32[hi - lo]."""
        counts = run.zeroed(4 * max(1, hi - lo), "counting")
        reach = self.roots.reach
        lists = np.uint64(self.inner.view["neighbours"]), np.uint64(self.inner.view["slices"])
        given = *lists, np.uint32(reach), np.uint32(lo), np.uint64(counts.ptr)
        run.launch(run.kernel("count_views", "column_sizes"), -(-reach * _WARP // _THREADS), _THREADS, given)
        return run.fetched(counts.ptr, hi - lo, np.uint32)

    def _roots(self, hi: int) -> Roots:
        """Return the roots that ways into a segment up to ``hi`` begin at."""
        if self.shape.bound <= 0 or self.roots.candidates:
            return self.roots
        return replace(self.roots, end=max(self.roots.begin, min(self.roots.end, hi)))

    def _of_roots(self) -> int:
        """Return the most bytes that are read of roots' lists for all segments."""
        _, slices = self.base.read_slices(self.outer)
        lengths = (slices[:, _END] - slices[:, 0]).astype(np.int64)
        threads = wedge_launches(self.base.device, 1)["packed"].threads
        kept = np.minimum(lengths, threads)  # a member a thread
        once, again = (np.concatenate(([0], np.cumsum(4 * each))) for each in (kept, lengths - kept))
        found = 0
        for lo, hi in self.segments:
            tiles = wedge_launches(self.base.device, hi - lo)["packed"].values["tiles"]
            end = -1 if self.roots.candidates else self._roots(hi).end
            found += (1 + -(-tiles // TILES_AT_ONCE)) * int(once[end]) + (1 + tiles) * int(again[end])
        return found
