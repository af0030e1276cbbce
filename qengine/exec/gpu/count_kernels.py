"""Runs the counting kernels for a shape on lists that are on the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._frozen import frozen, replace
from qengine.exec.gpu.count_policy import (
    CLIQUE_LIMITS,
    TILES_AT_ONCE,
    Launch,
    clique_launch,
    edge_launch,
    edge_limits,
    filter_launch,
    house_launches,
    hub_words,
    wedge_launches,
)
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.memory import device_bytes, host_bytes_of
from qengine.plan.count_shapes import CliqueShape, CountShape, EdgeShape, HouseShape, WedgeShape
from qengine.plan.shares import ALL_ROOTS, Share

SLICE_BYTES = 16
"""Bytes of a ``ViewSlice``."""

_WARP = 32
_PACK_THREADS = 256

_MOST_MARGIN, _LEAST_MARGIN = 16 << 20, 1 << 12
"""Bytes of the device's memory that copies of lists leave for what else a query allocates: an eighth of it."""

_NEXT = 32
_COUNTERS = 128
"""Bytes of the total, and after it of each launch's counter of pieces dealt and the like."""

_UINT4 = _native.record("u4 x y z w")

VIEW = _native.record("u8 slices neighbours rows")
SLICE_BOUNDS = _native.record("u4 first end lo hi; i4 below above; u4 base hub_words")
ROOT_CLASSES = _native.record("u8 classes counts; u4 capacity unused")
EDGE_TASK = _native.record(
    "u8 roots n_roots next stop; VIEW outer marked streamed; u4 base hub_words range table; u8 total",
    VIEW=VIEW,
)
CLIQUE_TASK = _native.record(
    "u8 roots n_roots next stop; VIEW outer streamed; u4 base hub_words table capacity; u8 scratch total", VIEW=VIEW
)
ROOT_SET = _native.record("u8 candidates bitset; u4 first end bitset_begin begin taken round")
HOUSE_TASK = _native.record(
    "u8 roots n_roots next stop; VIEW whole; u8 scratch; u4 lo span table unused; u8 kept n_kept total", VIEW=VIEW
)
WEDGE_TASK = _native.record(
    "u8 roots n_roots next stop; VIEW outer inner; u8 cuts; u4 lo tile tiles table; i4 bound apart; u8 total", VIEW=VIEW
)


@frozen
class ViewSpec:
    """The members in ``[lo, hi)`` of a vertex's list, less (greater) than the vertex itself if ``below`` (``above``).

    ``list``: index into ``MatchPlan::lists``.
    """

    list: int
    lo: int
    hi: int
    below: bool = False
    above: bool = False


@frozen
class Roots:
    """The vertices ``[begin, end)``, or ``candidates`` (device address of uint32[end]; begin is 0) where not 0.

    ``bitset``: device address of the bits of admitted ids from ``bitset_begin`` on, or 0. ``reach``: one past the
    largest id that may be a root or a member of one's list. ``share``: which of them.
    """

    begin: int
    end: int
    reach: int
    candidates: int = 0
    bitset: int = 0
    bitset_begin: int = 0
    share: Share = ALL_ROOTS

    @property
    def count(self) -> int:
        """How many vertices these are at most."""
        return -(-(self.end - self.begin) // self.share.round) * self.share.taken

    def record(self) -> npt.NDArray[Any]:
        """Return the ``RootSet``."""
        ids = self.candidates, self.bitset, self.begin, self.end, self.bitset_begin
        return np.array((*ids, *self.share), ROOT_SET)


@frozen
class DeviceView:
    """A view on the device: its slices, and its rows of hubs where they are wanted."""

    view: npt.NDArray[Any]
    hub_words: int


@dataclass(eq=False)
class SharedBlocks:
    """What counters of the same shape, each of a share of the roots, make once and use one after the other."""

    views: dict[tuple[ViewSpec, int], DeviceView] = field(default_factory=dict)
    blocks: dict[tuple[str, int], Any] = field(default_factory=dict)


class ShapeCounter:
    """Counts one shape, as often as wanted. What it prepares stays on the device until it is dropped.

    Parameters
    ----------
    lists
        ``match_plan.PCSR`` records with the device's pointers, as in ``MatchPlan::lists``.
    shared
        What other counters have made, which do not run meanwhile.
    """

    has_cuts = True
    """Whether it is noted of each list where tiles of ids begin, or looked for, where roots' lists cross the link."""

    def __init__(
        self,
        lists: npt.NDArray[Any],
        shape: CountShape[ViewSpec],
        roots: Roots,
        shared: SharedBlocks | None = None,
    ) -> None:
        self.lists = lists
        self.shape = shape
        self.roots = roots
        self.n_bytes = self.host_bytes = 0
        self.blocks: list[Any] = []
        self.clean: list[tuple[Any, int]] = []  # blocks that must be zeros whenever the count starts
        self.branches: list[list[tuple[str, str, Launch, npt.NDArray[Any]]]] = []
        self.shared = shared or SharedBlocks()
        self._given = 0
        self._recorded: dict[int, Any] = {}

    def prepare(self, run: DeviceRun) -> bool:
        """Find slices, make rows of hubs, sort the roots: all that the count itself needs.

        Returns
        -------
        bool
            False where some root is too large for the kernels.
        """
        self.run = run
        self.device = run.device
        self.counters = self.allocate(_COUNTERS)
        run.clear(self.counters, _COUNTERS)
        shape = self.shape
        if isinstance(shape, EdgeShape):
            return self._prepare_edges(shape)
        if isinstance(shape, CliqueShape):
            return self._prepare_cliques(shape)
        if isinstance(shape, WedgeShape):
            return self._prepare_wedges(shape)
        return self._prepare_houses(shape)

    def clear(self, run: DeviceRun) -> None:
        """Clear what a count leaves clear unless it was stopped."""
        for block, n_bytes in self.clean:
            run.clear(block, n_bytes)

    def start(self, run: DeviceRun) -> None:
        """Start the kernels, all in one launch: classes of roots side by side, one fills another's last moments."""
        recorded = self._recorded.get(run.stop_flag)
        if recorded is None:
            branches = [partial(self._launch_all, run, [*map(self._ready, each)]) for each in self.branches]
            recorded = run.record(lambda: run.clear(self.counters, _COUNTERS), branches)
            self._recorded[run.stop_flag] = recorded
        run.replay(recorded)

    def _launch_all(self, run: DeviceRun, branch: Sequence[tuple[Any, Launch, npt.NDArray[Any]]], stream: Any) -> None:
        """Launch kernels one after the other."""
        for kernel, launch, task in branch:
            if "stop" in (task.dtype.names or ()):
                task["stop"] = run.stop_flag
            run.launch(kernel, launch.blocks, launch.threads, (task,), launch.shared, stream=stream)

    def sums(self, run: DeviceRun) -> tuple[int, int]:
        """Wait, and return two sums over the roots, which add up over shares of them (``total_of``)."""
        run.wait()
        words = np.empty(4, np.uint64)
        run.read(self.counters.ptr, words)
        low, high, *second = (int(word) for word in words)
        return low + (high << 64), second[0] + (second[1] << 64)

    def result(self, run: DeviceRun) -> int:
        """Wait, and return the count."""
        return total_of(self.shape, *self.sums(run))

    def _prepare_edges(self, shape: EdgeShape[ViewSpec]) -> bool:
        span = shape.marked.hi - shape.marked.lo
        outer, marked = self.view(shape.outer), self.view(shape.marked)
        streamed = self.view(shape.streamed, hub_words(span), shape.marked.lo)
        others = shape.outer == shape.marked and (shape.streamed.below or shape.streamed.above)
        least = shape.taken + int(others)  # a member is among the root's, and not in its own list
        classes, counts, numbers, _ = self.sort_roots(marked, outer, edge_limits(span), least)
        macros = {"QE_TAKEN": shape.taken, "QE_ORDERED": int(shape.ordered)}
        for k in reversed(range(3)):
            if numbers[k] == 0:
                continue
            launch = edge_launch(self.device, k, span, int(numbers[k]), macros)
            task = self._filled(
                edge_task(shape, launch, streamed.hub_words), classes + 4 * k * self.roots.count, counts + 4 * k
            )
            task["outer"], task["marked"], task["streamed"] = outer.view, marked.view, streamed.view
            self._add("count_edges", "count_edges", launch, task)
        return True

    def _prepare_cliques(self, shape: CliqueShape[ViewSpec]) -> bool:
        span = shape.outer.hi - shape.outer.lo
        outer = self.view(shape.outer)
        streamed = self.view(shape.streamed, hub_words(span), shape.outer.lo)
        classes, counts, numbers, largest = self.sort_roots(outer, outer, CLIQUE_LIMITS, shape.depth)
        if largest > CLIQUE_LIMITS[-1]:
            return False
        tasks: dict[int, tuple[Launch, npt.NDArray[Any]]] = {}
        for k in reversed(range(len(CLIQUE_LIMITS))):
            if numbers[k] == 0:
                continue
            room = self.run.free_bytes() // 2
            launch = clique_launch(self.device, k, span, largest, shape.depth, shape.streamed.below, room)
            if launch is None:
                return False
            task = self._task(CLIQUE_TASK, classes + 4 * k * self.roots.count, counts + 4 * k)
            if scratch := launch.values.get("scratch"):
                task["scratch"] = self._once(f"matrices {k}", launch.blocks * scratch)[0]
            tasks[k] = launch, task
        if self.run.memory.placement.is_streamed:
            streamed = self.copied(streamed)  # it gets the room that is left
        for launch, task in tasks.values():
            task["outer"], task["streamed"] = outer.view, streamed.view
            task["base"], task["hub_words"] = shape.outer.lo, streamed.hub_words
            task["table"], task["capacity"] = launch.values["table"], launch.values["capacity"]
            self._add("count_cliques", "count_cliques", launch, task)
        return True

    def _prepare_wedges(self, shape: WedgeShape[ViewSpec]) -> bool:
        outer, inner = self.view(shape.outer), self.view(shape.inner)
        lo, reach = shape.inner.lo, self.roots.reach
        launches = wedge_launches(self.device, shape.inner.hi - lo)
        classes, counts, numbers = self.weigh_roots(outer, inner, launches, 1 if shape.pairs == 2 else 2)
        for k, name in ((3, "wide"), (2, "packed"), (1, "middle"), (0, "light")):
            if numbers[k] == 0:
                continue
            launch = launches[name].compiled_for(QE_PAIRS=shape.pairs, **({} if self.has_cuts else {"QE_OVER_LINK": 1}))
            task = self._task(WEDGE_TASK, classes + 4 * k * self.roots.count, counts + 4 * k)
            task["outer"], task["inner"], task["lo"] = outer.view, inner.view, lo
            task["bound"], task["apart"] = shape.bound, int(shape.apart)
            if k < 2:
                task["table"] = launch.values["table"]
                self._add("count_wedges", "count_wedges_hashed", launch, task)
                continue
            tile, tiles = launch.values["tile"], launch.values["tiles"]
            task["tile"], task["tiles"] = tile, tiles
            if not self.has_cuts:
                self._add("count_wedges", "count_wedges_tiled", launch.compiled_for(QE_SEARCHED=TILES_AT_ONCE), task)
                continue
            cuts, known = self._once(f"cuts {tile}", 4 * reach * (tiles + 1))
            task["cuts"] = cuts
            cut = self.run.kernel("count_wedges", "cut_tiles", launch.macros)
            sizes = (np.uint32(0), np.uint32(reach), np.uint32(lo), np.uint32(tile), np.uint32(tiles))
            if not known:
                self.run.launch(cut, -(-reach // 256), 256, (inner.view, *sizes, np.uint64(cuts)))
            self._add("count_wedges", "count_wedges_tiled", launch, task)
        return True

    def _prepare_houses(self, shape: HouseShape[ViewSpec]) -> bool:
        whole = self.view(shape.whole)
        span = shape.whole.hi - shape.whole.lo
        launches = house_launches(self.device, span)
        classes, counts, numbers = self.weigh_roots(whole, whole, launches, 2)
        for k, name in ((3, "heavy"), (2, "heavy"), (1, "middle"), (0, "light")):
            if numbers[k] == 0:
                continue
            if name not in launches:
                return False
            launch = launches[name]
            task = self._task(HOUSE_TASK, classes + 4 * k * self.roots.count, counts + 4 * k)
            task["whole"], task["lo"], task["span"] = whole.view, shape.whole.lo, span
            if k < 2:
                self._add_filter(task, int(numbers[k]))
                task["next"] = self._next()
            task["table"] = launch.values.get("table", 0)
            if words := launch.values.get("scratch"):
                n_bytes = 4 * launch.blocks * words
                task["scratch"] = self._once(f"counters {k}", n_bytes)[0]
                self.clean.append((self.shared.blocks[f"counters {k}", n_bytes], n_bytes))
            name = f"count_houses_{'hashed' if k < 2 else 'array'}"
            self._add("count_houses", name, launch, task, after_last=k < 2)
        self.clear(self.run)
        return True

    def _add_filter(self, task: npt.NDArray[Any], n_roots: int) -> None:
        """Let only roots with triangles through to a task."""
        launch = filter_launch(self.device)
        kept, n_kept = self.place(4 * n_roots).ptr, self._next()
        first = task.copy()
        first["table"], first["kept"], first["n_kept"] = launch.values["table"], kept, n_kept
        self._add("count_houses", "keep_triangular", launch, first)
        task["roots"], task["n_roots"] = kept, n_kept

    def view(self, spec: ViewSpec, words: int = 0, base: int = 0) -> DeviceView:
        """Return a view's slices; with ``words`` also the rows of the hubs from ``base`` on, ``words`` words each."""
        known = self.shared.views.get((spec, words))
        if known is not None:
            return known
        reach, u32 = self.roots.reach, np.uint32
        slices = self.place(reach * SLICE_BYTES).ptr
        self.slice(spec, slices, words, base)
        record = self.lists[spec.list]
        view = np.zeros((), VIEW)
        view["slices"], view["neighbours"] = slices, record["neighbours"]
        if words:
            hubs, shared = min(32 * words, reach - base), 8 * 4 * words
            view["rows"] = rows = self.allocate(4 * hubs * words).ptr
            kernel = self.run.kernel("count_views", "hub_rows", None, shared)
            sizes = (u32(base), u32(hubs), u32(words))
            hub_arguments = (np.uint64(record["neighbours"]), np.uint64(slices), *sizes, np.uint64(rows))
            self.run.launch(kernel, -(-hubs // 8), 256, hub_arguments, shared)
        made = self.shared.views[spec, words] = DeviceView(view, words)
        return made

    def copied(self, view: DeviceView) -> DeviceView:
        """Return a view whose slices and what is read of its lists are, of the first vertices, on the device.

        Of as many as there is room for: the less their ids, the more often they are read. Half of a list, or less, is
        in a slice of lesser ids.
        """
        _, slices = self.read_slices(view)
        members = (slices[:, 2] - slices[:, 1]).astype(np.int64)
        end, free = len(slices), self.run.free_bytes()
        first = int(np.searchsorted(np.cumsum(SLICE_BYTES + 4 * members), room_for_copies(free)))
        here, all_members = int(members[:first].sum()), int(members.sum())
        sizes = SLICE_BYTES * max(1, end), 4 * max(1, all_members)
        packed = self._kept(self.run.place(sizes[0], "counting", front=SLICE_BYTES * first), sizes[0])
        lists = self._kept(self.run.place(sizes[1], "counting", by_vertex=False, front=4 * here), sizes[1])
        pack_view(self.run, view, (0, first), packed.ptr, lists.ptr)
        pack_view(self.run, view, (first, end), packed.ptr + SLICE_BYTES * first, lists.ptr, here)
        record = view.view.copy()
        record["slices"], record["neighbours"] = packed.ptr, lists.ptr
        return DeviceView(record, view.hub_words)

    def read_slices(self, view: DeviceView) -> tuple[int, npt.NDArray[np.uint32]]:
        """Return how many vertices there are up to the last whose slice has members, and all slices: uint32[n, 4].

        Columns: where a slice begins, where what is in no row of bits begins, where it ends.
        """
        slices = np.empty((self.roots.reach, SLICE_BYTES // 4), np.uint32)
        self.run.publish()
        self.run.read(int(view.view["slices"]), slices)
        (used,) = np.nonzero(slices[:, 0] < slices[:, 2])
        return (int(used[-1]) + 1 if len(used) else 0), slices

    def slice(self, spec: ViewSpec, slices: int, words: int = 0, base: int = 0) -> None:
        """Find the slices of a view, which get to an address."""
        reach = self.roots.reach
        kernel = self.run.kernel("count_views", "slice_view")
        bounds = np.array((0, reach, spec.lo, spec.hi, spec.below, spec.above, base, words), SLICE_BOUNDS)
        self.run.launch(kernel, -(-reach // 256), 256, (np.array(self.lists[spec.list]), bounds, np.uint64(slices)))

    def sort_roots(
        self, sized: DeviceView, needed: DeviceView, limits: Sequence[int], least: int
    ) -> tuple[int, int, npt.NDArray[Any], int]:
        """Sort the roots that have ``least`` members of a view, and any of ``needed``, into classes by the former.

        Returns
        -------
        tuple
            Device addresses of the classes (``roots.count`` places each) and of their sizes, the sizes, and the
            largest view.
        """
        bounds = np.zeros(4, np.uint32)
        bounds[: len(limits)] = limits
        packed = bounds.view(_UINT4).reshape(())
        sizes = (np.uint32(least), packed, np.uint32(len(limits)))
        slices = (sized.view["slices"][()], needed.view["slices"][()])
        classes, counts, numbers = self._classes("sort_roots", slices, sizes, len(limits), 1)
        return classes, counts, numbers, int(numbers[4])

    def weigh_roots(
        self, outer: DeviceView, inner: DeviceView, launches: Mapping[str, Launch], least: int
    ) -> tuple[int, int, npt.NDArray[Any]]:
        """Sort the roots into four classes by the entries of their members' inner views; return as ``sort_roots``."""
        numbers = (launches["light"].values["most"], launches["middle"].values["most"], least)
        bounds, flag = tuple(map(np.uint32, numbers)), np.uint64(self.run.stop_flag)
        return self._classes("weigh_roots", (outer.view, inner.view), bounds, 4, _WARP, flag)

    def _classes(
        self,
        kernel: str,
        before: tuple[Any, ...],
        after: tuple[Any, ...],
        n_classes: int,
        threads_a_root: int,
        *flag: np.uint64,
    ) -> tuple[int, int, npt.NDArray[Any]]:
        classes = self.place(4 * n_classes * self.roots.count).ptr
        counts = self.allocate(4 * 5)
        self.run.clear(counts, 4 * 5)
        to = np.array((classes, counts.ptr, self.roots.count, 0), ROOT_CLASSES)
        arguments = (*before, self.roots.record(), *after, to, *flag)
        blocks = -(-self.roots.count * threads_a_root // 256)
        self.run.launch(self.run.kernel("count_views", kernel), blocks, 256, arguments)
        self.run.wait()
        numbers = np.empty(5, np.uint32)
        self.run.read(counts.ptr, numbers)
        return classes, counts.ptr, numbers

    def _once(self, name: str, n_bytes: int) -> tuple[int, bool]:
        """Return the address of a block that all who share have, and whether another has made it."""
        known = (name, n_bytes) in self.shared.blocks
        if not known:
            self.shared.blocks[name, n_bytes] = self.allocate(n_bytes)
        return int(self.shared.blocks[name, n_bytes].ptr), known

    def allocate(self, n_bytes: int) -> Any:
        """Return a block that lives as long as the counter."""
        block = self.run.allocate(n_bytes, "counting")
        return self._kept(block, n_bytes)

    def place(self, n_bytes: int) -> Any:
        """Return a block as ``allocate``, of numbers by vertex, which may lie in the host's memory in part."""
        return self._kept(self.run.place(n_bytes, "counting"), n_bytes)

    def _kept(self, block: Any, n_bytes: int) -> Any:
        self.blocks.append(block)
        self.n_bytes += device_bytes(block, n_bytes)
        self.host_bytes += host_bytes_of(block)
        return block

    def _task(self, dtype: np.dtype[Any], roots: int, count: int) -> npt.NDArray[Any]:
        """Return a task with what all tasks have."""
        return self._filled(np.zeros((), dtype), roots, count)

    def _filled(self, task: npt.NDArray[Any], roots: int, count: int) -> npt.NDArray[Any]:
        """Give a task what all tasks have."""
        task["roots"], task["n_roots"], task["total"] = roots, count, self.counters.ptr
        if "next" in (task.dtype.names or ()):
            task["next"] = self._next()
        return task

    def _next(self) -> int:
        """Return the address of another 32-bit counter that is zero whenever the count starts."""
        self._given += 1
        return int(self.counters.ptr) + _NEXT + 4 * (self._given - 1)

    def _add(self, family: str, name: str, launch: Launch, task: npt.NDArray[Any], *, after_last: bool = False) -> None:
        """Add a launch; it waits for the one added last if ``after_last``. What all need is compiled side by side."""
        self.device.compile_ahead(family, launch.macros)
        if not after_last:
            self.branches.append([])
        self.branches[-1].append((family, name, launch, task))

    def _ready(self, added: tuple[str, str, Launch, npt.NDArray[Any]]) -> tuple[Any, Launch, npt.NDArray[Any]]:
        """Return the kernel of a launch that was added, and the launch, of no more blocks than run at a time."""
        family, name, launch, task = added
        kernel = self.run.kernel(family, name, launch.macros, launch.shared)
        most = self.device.resident_blocks(kernel, launch.threads, launch.shared)
        return kernel, replace(launch, blocks=max(1, min(launch.blocks, most))), task


def edge_task(shape: EdgeShape[Any], launch: Launch, hub_words: int) -> npt.NDArray[Any]:
    """Return a task of ``count_edges`` with what its shape and launch say, but for roots, views and counters."""
    task = np.zeros((), EDGE_TASK)
    task["base"], task["hub_words"] = shape.marked.lo, hub_words
    task["range"], task["table"] = launch.values["range"], launch.values["table"]
    return task


def room_for_copies(free: int) -> int:
    """Return how many of the device's free bytes copies of lists may take."""
    return max(0, free - max(_LEAST_MARGIN, min(_MOST_MARGIN, free // 8)))


def total_of(shape: CountShape[Any], first: int, second: int) -> int:
    """Return the count of a shape by the sums of all roots."""
    if isinstance(shape, HouseShape):
        return (first - 2 * second) // (2 if shape.once else 1)
    if isinstance(shape, EdgeShape) and shape.twice:
        return 2 * first
    return first


def pack_view(
    run: DeviceRun, view: DeviceView, vertices: tuple[int, int], slices: int, members: int, before: int = 0
) -> None:
    """Copy the members of a range of vertices that are in no row of bits to an address, and slices of them to another.

    ``before``: how many members are at the former address already. There must be less than 2**32 of them.
    """
    begin, end = vertices
    if begin == end:
        return
    taken = run.upload(np.array([before], np.uint32), "counting")
    given = np.uint64(view.view["neighbours"]), np.uint64(view.view["slices"]), np.uint32(begin), np.uint32(end)
    to = tuple(map(np.uint64, (slices, members, taken.ptr)))
    blocks = -(-(end - begin) * _WARP // _PACK_THREADS)
    run.launch(run.kernel("count_views", "pack_view"), blocks, _PACK_THREADS, (*given, *to))
    run.wait()
