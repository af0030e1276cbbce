"""Counts what two linked vertices have in common where the device has no room for the lists (SGSI §6).

Vertices are cut into segments. For each, what is read at random, the lists of its vertices and where these begin, is
copied to the device; then the same kernel counts as elsewhere, for all roots, but only their members in the segment.
What is read of roots comes in pieces (``root_pieces``): the next is copied while one is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
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
    edge_task,
    pack_view,
    room_for_copies,
)
from qengine.exec.gpu.count_policy import edge_launch, edge_limits, hub_words
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.memory import host_bytes_of
from qengine.exec.gpu.root_pieces import ROOT_BYTES, ROOT_PIECE, Piece, Pieces, RootParts, segments
from qengine.plan.count_shapes import CountShape, EdgeShape

__all__ = ["SegmentCounter", "Segmented", "is_segmented", "moved"]

_BEGIN, _TAIL, _END = range(3)
"""Of a ``ViewSlice``."""

_ROWS_SHARE, _LEAST_WORDS = 4, 32
"""Rows of hubs take at most one part in so many of the memory, unless they are so short."""

_LEAST_SEGMENT = 1 << 12
_MOST_MEMBERS = 2**32 - 1
_WHAT = "a segment of lists"

_ROOMS, _ROOM_SHARE, _MOST_ROOM = 3, 32, 32 << 20
"""Pieces that are on the device at a time; each takes no more than one part in so many of the memory, or so many bytes,
unless one root has more.
"""

_COPYING_SHARE = 12
"""One block in so many that run at a time is left to the copies."""

_COPYING_BLOCKS, _COPYING_THREADS = 3, 256
"""Of the copies: a third of a block a multiprocessor; what they have under way at a time fills the link."""

_SUMS_BYTES = 32


def is_segmented(shape: CountShape[Any]) -> bool:
    """Tell whether counts of a shape's roots are sums over their members, so that these may be counted in parts."""
    return isinstance(shape, EdgeShape) and shape.taken_outer is None


class Segmented:
    """Counts a shape in segments, one after the other. Parameters as of ``ShapeCounter``."""

    def __init__(self, lists: npt.NDArray[Any], shape: CountShape[ViewSpec], roots: Roots) -> None:
        self.lists, self.roots = lists, roots
        self.base = ShapeCounter(lists, shape, roots)
        self.segments: list[tuple[int, int]] = []
        self.n_bytes = self.host_bytes = 0
        self.crossing = 0
        """Bytes that a count reads over the link, at most."""

    def prepare(self, run: DeviceRun) -> bool:
        """Find slices, and cut ids into segments; return whether the kernels can count."""
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
        """Start the count.

        Raises
        ------
        OutOfMemory, QueryTimeout, QueryInterrupted
            By the run's limits.
        """
        raise NotImplementedError

    def sums(self, run: DeviceRun) -> tuple[int, int]:
        """Wait, and return the sums of all segments, of which ``total_of`` makes the count."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class _Counting:
    """How roots of one class are counted: by a kernel, on so many blocks at most, and by numbers of the task's."""

    kernel: Any
    most: int
    threads: int
    shared: int
    task: npt.NDArray[Any]


class SegmentCounter(Segmented):
    """Counts an ``EdgeShape`` as ``ShapeCounter`` does, by segments of members. Parameters as there."""

    def __init__(self, lists: npt.NDArray[Any], shape: EdgeShape[ViewSpec], roots: Roots) -> None:
        super().__init__(lists, shape, roots)
        self.shape = shape
        self.parts: list[RootParts] = []
        self.blocks: list[Any] = []

    def prepare(self, run: DeviceRun) -> bool:
        """Find slices, make rows of hubs, cut the vertices into segments; return whether the kernels can count."""
        base, shape = self.base, self.shape
        base.run, base.device = run, run.device
        words = hub_words(shape.marked.hi - shape.marked.lo)
        while words > _LEAST_WORDS and 4 * 32 * words**2 > run.free_bytes() // _ROWS_SHARE:
            words = words // 8 * 4
        self.streamed = base.view(shape.streamed, words, shape.marked.lo)
        end, slices = base.read_slices(self.streamed)
        begin, end = shape.outer.lo, min(shape.outer.hi, end)
        sizes = 4 * (slices[:, _END] - slices[:, _TAIL])[begin:end].astype(np.int64) + SLICE_BYTES
        del slices
        scratch = run.place(SLICE_BYTES * self.roots.reach, "counting", front=0)
        ids, admitted = self._admitted(scratch)
        self.room = max(int(admitted.sizes.max(initial=0)), min(_MOST_ROOM, run.free_bytes() // _ROOM_SHARE))
        self.rooms = [run.allocate(self.room, _WHAT) for _ in range(_ROOMS)]
        places = np.arange(self.room // ROOT_BYTES, dtype=np.uint32)
        self.places = run.upload(places, _WHAT)  # of a piece's roots
        found = segments(sizes, max(_LEAST_SEGMENT, room_for_copies(run.free_bytes())))
        size = max((int(sizes[a:b].sum()) for a, b in found), default=0)
        if size > 4 * _MOST_MEMBERS:
            return False
        self.segments = [(begin + a, begin + b) for a, b in found]
        self.packed = run.allocate(size, _WHAT)
        self.parts = [self._within(ids, admitted, scratch, *each) for each in self.segments]
        self.crossing = int(sizes.sum()) + sum(int(each.sizes.sum()) for each in self.parts)
        self.n_bytes = base.n_bytes + size + _ROOMS * self.room + places.nbytes
        self.host_bytes = base.host_bytes
        return True

    def of_shares(self, shares: Sequence[Share]) -> list[Segmented]:
        """Return what counts shares of the roots, each of which gets its pieces."""
        made = super().of_shares(shares)
        for each in made:
            assert isinstance(each, SegmentCounter)
            each._deal()
        for each in (self, *made):
            each.parts = []
        return made

    def start(self, run: DeviceRun) -> None:
        """Copy segments, and pieces of roots while those before are counted. Errors as of ``Segmented.start``."""
        run.clear(self.counters, self.counters_bytes)
        for (begin, end), pieces in zip(self.segments, self.pieces_of, strict=True):
            if pieces:
                members = self.packed.ptr + SLICE_BYTES * (end - begin)
                pack_view(run, self.streamed, (begin, end), self.packed.ptr, members)
                view = moved(self.streamed, self.packed.ptr - SLICE_BYTES * begin, members)
                run.ahead((self._step(run, view, k) for k in pieces), _ROOMS)

    def sums(self, run: DeviceRun) -> tuple[int, int]:
        """Wait, and return the sum of all segments, and 0."""
        low, high = run.fetched(self.counters.ptr, 2, np.uint64).tolist()
        return low + (high << 64), 0

    def _admitted(self, scratch: Any) -> tuple[npt.NDArray[np.uint32], RootParts]:
        """Return the roots that can count for anything, and their slices."""
        shape, roots, read = self.shape, self.roots, self.base.run.read
        ids = np.arange(roots.begin, roots.end, dtype=np.uint32)
        if roots.candidates:
            read(roots.candidates, ids)
        kept = np.ones(len(ids), np.bool_)
        if roots.bitset and len(ids):
            words = np.empty(-(-(int(ids.max()) + 1 - roots.bitset_begin) // 64), np.uint64)
            read(roots.bitset, words)
            kept = np.unpackbits(words.view(np.uint8), bitorder="little")[ids - roots.bitset_begin].view(np.bool_)
        marked, outer = (self._slices(view, ids, scratch) for view in (shape.marked, shape.outer))
        others = shape.outer == shape.marked and (shape.streamed.below or shape.streamed.above)
        least = shape.taken + int(others)  # a member is among the root's, and not in its own list
        kept = kept & (marked[1] - marked[0] >= least) & (outer[0] < outer[1])
        numbers = np.arange(len(ids), dtype=np.uint32)
        found = RootParts(numbers, *marked, *outer, is_one=shape.outer.list == shape.marked.list)
        return ids[kept], found.where(kept)

    def _within(
        self, ids: npt.NDArray[np.uint32], admitted: RootParts, scratch: Any, begin: int, end: int
    ) -> RootParts:
        """Return what is read of roots for a segment.

        Where lesser members are sought, of a root's list that is what comes before the last member that has any.
        """
        shape = self.shape
        outer_begin, outer_end = self._slices(replace(shape.outer, lo=begin, hi=end), ids, scratch)
        kept, marked_end = outer_begin < outer_end, admitted.marked_end
        if shape.streamed.below and shape.taken_marked is None and admitted.is_one:
            marked_end = np.minimum(marked_end, outer_end)
            kept &= marked_end.astype(np.int64) - admitted.marked_begin >= shape.taken
        return replace(admitted, marked_end=marked_end, outer_begin=outer_begin, outer_end=outer_end).where(kept)

    def _slices(self, spec: ViewSpec, ids: npt.NDArray[np.uint32], scratch: Any) -> list[npt.NDArray[np.uint32]]:
        """Return where some vertices' slices of a view begin and end: uint32[len(ids)] each."""
        self.base.slice(spec, scratch.ptr)
        _, slices = self.base.read_slices(moved(self.streamed, scratch.ptr, 0))
        return [slices[:, each][ids] for each in (_BEGIN, _END)]

    def _deal(self) -> None:
        """Cut the share's roots into pieces, and prepare what counts each."""
        run, share = self.base.run, self.roots.share
        limits = edge_limits(self.shape.marked.hi - self.shape.marked.lo)
        made, self.pieces_of = Pieces(limits, self.room), []
        for each in self.parts:
            turns = each.numbers % np.uint32(share.round)
            self.pieces_of.append(made.add(each.where((turns >= share.begin) & (turns < share.begin + share.taken))))
        self.pieces = made.pieces
        self.blocks = [run.copied(run.place(max(1, each.nbytes), "counting", front=0), each) for each in made.arrays()]
        numbers = np.array([each.classes for each in self.pieces], np.uint32).reshape(-1, len(limits))
        self.sizes = run.upload(numbers, "counting")
        self.counters_bytes = _SUMS_BYTES + numbers.nbytes
        self.counters = run.zeroed(self.counters_bytes, "counting")
        self.n_bytes += self.counters_bytes + numbers.nbytes
        self.host_bytes += host_bytes_of(self.blocks)
        known: dict[tuple[int, int], _Counting] = {}
        self.countings = [
            [self._counting(run, k, n, known) if n else None for k, n in enumerate(each.classes)]
            for each in self.pieces
        ]

    def _counting(self, run: DeviceRun, k: int, n: int, known: dict[tuple[int, int], _Counting]) -> _Counting:
        """Return how ``n`` roots of a piece are counted, the ``k``-th of whose classes they are."""
        shape, span = self.shape, self.shape.marked.hi - self.shape.marked.lo
        macros = {"QE_TAKEN": shape.taken, "QE_ORDERED": int(shape.ordered)}
        launch = edge_launch(run.device, len(edge_limits(span)) - 1 - k, span, n, macros)
        made = known.get((k, launch.threads))
        if made is None:
            kernel = run.kernel("count_edges", "count_edges", launch.macros, launch.shared)
            most = run.device.resident_blocks(kernel, launch.threads, launch.shared)
            task = edge_task(shape, launch, self.streamed.hub_words)
            made = _Counting(kernel, max(1, most - most // _COPYING_SHARE), launch.threads, launch.shared, task)
            known[k, launch.threads] = made
        return replace(made, most=min(made.most, launch.blocks))

    def _step(
        self, run: DeviceRun, streamed: DeviceView, k: int
    ) -> tuple[Callable[[Any], None], Callable[[Any], None]]:
        """Return what copies a piece into the room whose turn it is, and what counts it."""
        room, piece = self.rooms[k % _ROOMS].ptr, self.pieces[k]
        outers = room + SLICE_BYTES * piece.n_roots
        members = outers + SLICE_BYTES * piece.n_roots
        return partial(self._copy, run, piece, (room, outers, members)), partial(
            self._count, run, streamed, k, (room, outers, members)
        )

    def _copy(self, run: DeviceRun, piece: Piece, to: tuple[int, int, int], stream: Any) -> None:
        slots, rows, tiles = (block.ptr for block in self.blocks)
        record = np.zeros((), ROOT_PIECE)
        record["marked"], record["outer"] = (
            self.lists[view.list]["neighbours"] for view in (self.shape.marked, self.shape.outer)
        )
        record["slots"], record["rows"], record["tiles"] = (
            slots + 16 * piece.slot,
            rows + 8 * piece.row,
            tiles + 4 * piece.tile,
        )
        record["markeds"], record["outers"], record["members"] = to
        record["n_rows"], record["n_marked"] = piece.n_rows, piece.n_roots
        record["n_roots"], record["n_members"] = piece.n_roots, piece.n_members
        blocks = -(-run.device.multiprocessors // _COPYING_BLOCKS)
        given = record, np.uint64(run.stop_flag)
        run.launch(run.kernel("count_views", "copy_roots"), blocks, _COPYING_THREADS, given, stream=stream)

    def _count(self, run: DeviceRun, streamed: DeviceView, k: int, at: tuple[int, int, int], stream: Any) -> None:
        markeds, outers, members = at
        counters, first = self.counters.ptr + _SUMS_BYTES, 0
        for number, counting in enumerate(self.countings[k], len(self.countings[k]) * k):
            if counting is not None:
                task = counting.task.copy()
                task["roots"], task["n_roots"] = self.places.ptr + 4 * first, self.sizes.ptr + 4 * number
                task["next"], task["stop"], task["total"] = counters + 4 * number, run.stop_flag, self.counters.ptr
                task["outer"]["slices"], task["marked"]["slices"] = outers, markeds
                task["outer"]["neighbours"] = task["marked"]["neighbours"] = members
                task["streamed"] = streamed.view
                run.launch(counting.kernel, counting.most, counting.threads, (task,), counting.shared, stream=stream)
                first += self.pieces[k].classes[number % len(self.countings[k])]


def moved(view: DeviceView, slices: int, neighbours: int) -> DeviceView:
    """Return a view whose slices and lists are elsewhere."""
    record = view.view.copy()
    record["slices"], record["neighbours"] = slices, neighbours
    return DeviceView(record, view.hub_words)
