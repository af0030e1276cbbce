"""Counts what two linked vertices have in common where the device has no room for the lists (SGSI §6).

Vertices are cut into segments. For each, what is read at random, the lists of its vertices and where these begin, is
copied to the device; then the same kernel counts as elsewhere, for all roots, but only their members in the segment.
What is read of roots comes in pieces (``list_pieces``), of which the next are copied while one is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine._frozen import frozen, replace
from qengine.exec.gpu.count_kernels import (
    SLICE_BYTES,
    DeviceView,
    Roots,
    ShapeCounter,
    ViewSpec,
    edge_task,
    room_for_copies,
)
from qengine.exec.gpu.count_policy import edge_launch, edge_limits, hub_words
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.list_pieces import HEAD_BYTES, ROOT_BYTES, Images, Piece, RootPieces, RootSlices, segments
from qengine.exec.gpu.memory import host_bytes_of
from qengine.plan.count_shapes import CountShape, EdgeShape
from qengine.plan.shares import Share

_BEGIN, _TAIL, _END = range(3)
"""Of a ``ViewSlice``."""

_ROWS_SHARE, _LEAST_WORDS = 4, 32
"""Rows of hubs take at most one part in so many of the memory, unless they are so short."""

_LEAST_SEGMENT = 1 << 12
_MOST_MEMBERS = 2**32 - 1
_WHAT = "a segment of lists"

_ROOMS, _ROOM_SHARE, _MOST_ROOM = 3, 16, 64 << 20
"""Pieces that are on the device at a time; each takes no more than one part in so many of the memory, or so many bytes,
unless one root has more.
"""

_COUNTING_SHARE, _COPYING_SHARE = 12, 3
"""Counts leave one in so many of the blocks that run at a time to copies; these have a block for so many
multiprocessors, whose reads fill the link.
"""

_THREADS = 256
_SUMS_BYTES = 32


def is_segmented(shape: CountShape[Any]) -> bool:
    """Tell whether counts of a shape's roots are sums over their members, so that these may be counted in parts."""
    return isinstance(shape, EdgeShape)


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
        """Start the count."""
        raise NotImplementedError

    def sums(self, run: DeviceRun) -> tuple[int, int]:
        """Wait, and return the sums of all segments, of which ``total_of`` makes the count."""
        raise NotImplementedError


@frozen
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
        self.admitted: RootSlices | None = None
        self.cuts: list[npt.NDArray[np.uint32]] = []
        self.pieces: list[Piece] = []
        self.pieces_of: list[range] = []

    def prepare(self, run: DeviceRun) -> bool:
        """Find slices, make rows of hubs, cut the vertices into segments; return whether the kernels can count."""
        base, shape = self.base, self.shape
        base.run, base.device = run, run.device
        words = hub_words(shape.marked.hi - shape.marked.lo)
        while words > _LEAST_WORDS and 4 * 32 * words**2 > run.free_bytes() // _ROWS_SHARE:
            words = words // 8 * 4
        self.streamed = base.view(shape.streamed, words, shape.marked.lo)
        self.admitted = admitted = self._admitted()
        self.room = max(admitted.most_bytes, min(_MOST_ROOM, run.free_bytes() // _ROOM_SHARE))
        self.rooms = [run.allocate(self.room, _WHAT) for _ in range(_ROOMS)]
        places = np.arange(self.room // ROOT_BYTES, dtype=np.uint32)
        self.places = run.upload(places, _WHAT)  # of a piece's roots
        size = self._cut()
        if size > 4 * _MOST_MEMBERS:
            return False
        self.packed = run.allocate(size, _WHAT)
        self.cuts = self._cuts(admitted)
        self.n_bytes = base.n_bytes + size + _ROOMS * self.room + places.nbytes
        self.host_bytes = base.host_bytes + host_bytes_of(self.images)
        return True

    def of_shares(self, shares: Sequence[Share]) -> list[Segmented]:
        """Return what counts shares of the roots, each of which gets its pieces."""
        made = super().of_shares(shares)
        self.crossing = _bytes_of(self.copies)
        for each in made:
            assert isinstance(each, SegmentCounter)
            each._deal()
            self.crossing += _bytes_of(each.pieces)
            each.admitted, each.cuts = None, []  # what only dealing reads
        self.admitted, self.cuts = None, []
        return made

    def start(self, run: DeviceRun) -> None:
        """Copy segments, and pieces of roots while those before are counted. Errors as of ``Segmented.start``."""
        run.clear(self.counters, self.counters_bytes)
        kernel = run.kernel("count_views", "copy_lists")
        blocks = run.device.resident_blocks(kernel, _THREADS, 0)
        lists = (int(self.streamed.view["neighbours"]),) * 2
        for (begin, end), copied, pieces in zip(self.segments, self.copies, self.pieces_of, strict=True):
            if pieces:
                image, heads = self.images.ptr + copied.at, HEAD_BYTES * (end - begin)
                members = self.packed.ptr + heads
                run.move(image, self.packed.ptr, heads)
                run.launch(kernel, blocks, _THREADS, (copied.record(image, members, lists),))
                view = moved(self.streamed, self.packed.ptr - SLICE_BYTES * begin, members)
                run.ahead((self._step(run, view, k) for k in pieces), _ROOMS)

    def sums(self, run: DeviceRun) -> tuple[int, int]:
        """Wait, and return the sum of all segments, and 0."""
        low, high = run.fetched(self.counters.ptr, 2, np.uint64).tolist()
        return low + (high << 64), 0

    def _admitted(self) -> RootSlices:
        """Return the slices of the roots that can count for anything."""
        shape, roots, run = self.shape, self.roots, self.base.run
        ids = np.arange(roots.begin, roots.end, dtype=np.uint32)
        if roots.candidates:
            run.read(roots.candidates, ids)
        kept = np.ones(len(ids), np.bool_)
        if roots.bitset and len(ids):
            words = np.empty(-(-(int(ids.max()) + 1 - roots.bitset_begin) // 64), np.uint64)
            run.read(roots.bitset, words)
            kept = np.unpackbits(words.view(np.uint8), bitorder="little")[ids - roots.bitset_begin].view(np.bool_)
        scratch = run.place(SLICE_BYTES * roots.reach, "counting", front=0)
        marked = outer = self._slices(shape.marked, ids, scratch)
        if shape.outer != shape.marked:
            outer = self._slices(shape.outer, ids, scratch)
        others = shape.outer == shape.marked and (shape.streamed.below or shape.streamed.above)
        least = shape.taken + int(others)  # a member is among the root's, and not in its own list
        kept = kept & (marked[1] - marked[0] >= least) & (outer[0] < outer[1])
        numbers = np.arange(len(ids), dtype=np.uint32)
        return RootSlices(shape.outer.list == shape.marked.list, numbers, *marked, *outer).where(kept)

    def _slices(self, spec: ViewSpec, ids: npt.NDArray[np.uint32], scratch: Any) -> list[npt.NDArray[np.uint32]]:
        """Return where some vertices' slices of a view begin and end: uint32[len(ids)] each."""
        self.base.slice(spec, scratch.ptr)
        _, slices = self.base.read_slices(moved(self.streamed, scratch.ptr, 0))
        roots = self.roots
        which = ids if roots.candidates else slice(roots.begin, roots.end)
        return [slices[which, each].copy() for each in (_BEGIN, _END)]

    def _cut(self) -> int:
        """Cut the vertices into segments, and lay out what is copied of each; return the bytes of the largest."""
        run, outer = self.base.run, self.shape.outer
        end, slices = self.base.read_slices(self.streamed)
        slices = slices[outer.lo : min(outer.hi, end)]
        lengths = slices[:, _END] - slices[:, _TAIL]
        sizes = 4 * lengths.astype(np.int64) + SLICE_BYTES
        found = segments(sizes, max(_LEAST_SEGMENT, room_for_copies(run.free_bytes())))
        images, self.copies = Images(), []
        for begin, end in found:
            heads, some = slices[begin:end].copy(), lengths[begin:end]
            (rows,) = np.nonzero(some)
            ends = np.cumsum(some, dtype=np.uint32)
            starts = ends - some
            heads[:, _BEGIN] = starts + (heads[:, _BEGIN] != heads[:, _TAIL])  # only whether there are words is asked
            begins = heads[rows, _TAIL]
            heads[:, _TAIL], heads[:, _END] = starts, ends
            self.copies.append(images.add(heads, begins, starts[rows], int(some.sum(dtype=np.int64))))
        self.segments = [(outer.lo + begin, outer.lo + end) for begin, end in found]
        self.images = self._laid_out(images.n_bytes, images.fill)
        return max((int(sizes[begin:end].sum()) for begin, end in found), default=0)

    def _cuts(self, roots: RootSlices) -> list[npt.NDArray[np.uint32]]:
        """Return for each segment, and behind the last, where what roots' lists have of it begins."""
        run = self.base.run
        slices, n = np.stack((roots.outer_begin, roots.outer_end), axis=1), len(roots.numbers)
        there, cuts = (run.place(max(1, n_bytes), "counting", front=0) for n_bytes in (slices.nbytes, 4 * n))
        run.copied(there, slices)
        kernel, lists = run.kernel("count_views", "cut_slices"), self.lists[self.shape.outer.list]["neighbours"]
        found = [roots.outer_begin]
        for _, end in self.segments:
            if n:
                given = np.uint64(lists), np.uint64(there.ptr), np.uint32(n), np.uint32(end), np.uint64(cuts.ptr)
                run.launch(kernel, -(-n // _THREADS), _THREADS, given)
            found.append(run.fetched(cuts.ptr, n, np.uint32).copy())
        return found

    def _laid_out(self, n_bytes: int, fill: Callable[[int], None]) -> Any:
        """Return a block of the host's memory with images, which ``fill`` writes to an address."""
        run = self.base.run
        return run.filled(run.place(max(1, n_bytes), "counting", front=0), n_bytes, fill)

    def _deal(self) -> None:
        """Cut the share's roots into pieces, and prepare what counts each."""
        assert self.admitted is not None
        run, shape, least = self.base.run, self.shape, None
        limits = edge_limits(shape.marked.hi - shape.marked.lo)
        if shape.streamed.below and self.admitted.is_one:
            least = shape.taken  # lesser members are sought: nothing behind the last member that has any is read
        cut = RootPieces.cut(self.admitted, self.cuts, self.roots.share, limits, self.room, least, run.context)
        self.pieces, self.pieces_of = cut.pieces, cut.of
        self.root_images = self._laid_out(cut.n_bytes, lambda address: cut.fill(address, run.context))
        numbers = np.array([each.classes for each in self.pieces], np.uint32).reshape(-1, len(limits))
        self.sizes = run.upload(numbers, "counting")
        self.counters_bytes = _SUMS_BYTES + numbers.nbytes
        self.counters = run.zeroed(self.counters_bytes, "counting")
        self.n_bytes += self.counters_bytes + numbers.nbytes
        self.host_bytes += host_bytes_of(self.root_images)
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
            most = max(1, most - most // _COUNTING_SHARE)
            made = _Counting(kernel, most, launch.threads, launch.shared, task)
            known[k, launch.threads] = made
        return replace(made, most=min(made.most, launch.blocks))

    def _step(
        self, run: DeviceRun, streamed: DeviceView, k: int
    ) -> tuple[Callable[[Any], None], Callable[[Any], None]]:
        """Return what copies a piece into the room whose turn it is, and what counts it."""
        room, piece = self.rooms[k % _ROOMS].ptr, self.pieces[k]
        markeds = room + piece.n_bytes
        outers = markeds + SLICE_BYTES * piece.n_heads
        at = markeds, outers, outers + SLICE_BYTES * piece.n_heads
        return partial(self._copy, run, piece, room, at), partial(self._count, run, streamed, k, at)

    def _copy(self, run: DeviceRun, piece: Piece, room: int, to: tuple[int, int, int], stream: Any) -> None:
        run.move(self.root_images.ptr + piece.at, room, piece.n_bytes, stream)
        marked, outer = (int(self.lists[each.list]["neighbours"]) for each in (self.shape.marked, self.shape.outer))
        record = piece.record(room, to[2], (marked, outer))
        record["markeds"], record["outers"], record["slots"] = to[0], to[1], room
        record["n_roots"] = piece.n_heads
        blocks = -(-run.device.multiprocessors // _COPYING_SHARE)
        run.launch(run.kernel("count_views", "copy_lists"), blocks, _THREADS, (record,), stream=stream)

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


def _bytes_of(pieces: Sequence[Piece]) -> int:
    """Return how many bytes of some pieces cross the link."""
    return sum(each.n_bytes + 4 * each.n_members for each in pieces)


def moved(view: DeviceView, slices: int, neighbours: int) -> DeviceView:
    """Return a view whose slices and lists are elsewhere."""
    record = view.view.copy()
    record["slices"], record["neighbours"] = slices, neighbours
    return DeviceView(record, view.hub_words)
