"""A device that runs CUDA kernels on the host (``warps.h``): its memory is the host's.

It has one multiprocessor of the smallest GPU that is supported, and that one's instructions: what asks for more shared
memory fails, and so does a kernel that writes beyond what its launch has asked for.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from qengine.errors import QueryTimeout
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import (
    arrays,
    device,
    extend,
    fold_search,
    host_rows,
    kept_rows,
    reach,
    sampled_neighbours,
    search,
    spread,
)
from qengine.exec.gpu.compiled import source_path
from qengine.exec.gpu.device import PLAIN_SHARED_BYTES
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.memory import DeviceMemory, QueryMemory
from qengine.exec.gpu.paged import DEVICE, HOST, OUT_OF_MEMORY, Location, NoPages, PagedBlock, Pages
from qengine.exec.gpu.placement import STREAMED, Placement, Use
from qengine.exec.gpu.properties import DeviceProperties
from qengine.exec.memory import Holding
from tests.devices import RTX_2070
from tests.emulator.arrays import DeviceArray, Stream, cupy, current_device
from tests.emulator.building import compiled

WARPS = 4
SMALL = replace(RTX_2070, multiprocessors=1)
ARCHITECTURE = 10 * SMALL.instructions


class Full(Exception):
    """The emulated device has no memory left."""


class Block:
    """A block of memory, filled with what nobody should read."""

    def __init__(self, pool: Pool, n_bytes: int) -> None:
        self.pool = pool
        self.bytes = np.full(n_bytes, 0xA5, np.uint8)
        self.ptr = self.bytes.ctypes.data
        pool.used += n_bytes

    def __del__(self) -> None:
        self.pool.used -= len(self.bytes)

    def hold(self, other: Any) -> Block:
        self.held = other
        return self

    def memset_async(self, value: int, n_bytes: int, stream: object) -> None:
        self.bytes[:n_bytes] = value


class Pool:
    """Stands in for ``cupy.cuda.MemoryPool``."""

    def __init__(self, size: int | None = None) -> None:
        self.size = size
        self.used = 0
        self.trimmed = 0

    def malloc(self, n_bytes: int) -> Block:
        if self.size is not None and self.used + n_bytes > self.size:
            raise Full
        return Block(self, n_bytes)

    def used_bytes(self) -> int:
        return self.used

    def free_all_blocks(self) -> None:
        self.trimmed += 1


class Paged(PagedBlock):
    """A block of pages of the emulated device and of the host: all are the host's."""

    def memset_async(self, value: int, n_bytes: int, stream: object) -> None:
        ctypes.memset(self.ptr, value, n_bytes)


@dataclass
class EmulatedPages(Pages):
    """Stands in for ``Pages``, with small pages, of which the pool has the device's."""

    number: int = 0
    size: int = 64
    pool: Pool = field(default_factory=Pool)
    made: list[tuple[int, int]] = field(default_factory=list)
    """Of each block the bytes on the device and in the host's memory."""

    def make(self, runs: Sequence[tuple[int, bool]]) -> PagedBlock:
        assert all(n_bytes and n_bytes % self.size == 0 for n_bytes, _ in runs)
        here = sum(n_bytes for n_bytes, on_device in runs if on_device)
        if self.pool.size is not None and self.pool.used + here > self.pool.size:
            raise NoPages("The pool", OUT_OF_MEMORY)
        memory = Block(Pool(), sum(n_bytes for n_bytes, _ in runs))
        self.made.append((here, len(memory.bytes) - here))
        places = tuple((n_bytes, Location(DEVICE if on_device else HOST)) for n_bytes, on_device in runs)
        return Paged(memory.ptr, places, memory)

    def trim(self) -> None:
        pass


class HalfPlaced(QueryMemory):
    """The account of a query whose arrays lie half in the host's memory."""

    def expect(self, n_bytes: int, vertices: int, use: Use = Use.SEARCH) -> None:
        self.placement = STREAMED if use in (Use.COPIES, Use.SEGMENTS, Use.COLUMNS) else Placement(0.5, 0.5)


class HalfMemory(DeviceMemory):
    """An allocator whose queries' arrays lie half in the host's memory, so that tests of kernels test that, too."""

    def account(self, limit: int | None, host: Holding | None = None) -> QueryMemory:
        return HalfPlaced(self, limit, host)


def device_memory(pool: Pool | None = None) -> DeviceMemory:
    """Return an allocator of the emulated device; without a given pool arrays lie half in the host's memory."""
    if pool is not None:
        return DeviceMemory(pool, Full, Block.hold)
    pool = Pool(SMALL.memory_bytes)
    return HalfMemory(pool, Full, Block.hold, pages=EmulatedPages(pool=pool), capacity=pool.size)


KERNELS = {
    "count_cliques": ("count_cliques",),
    "count_edges": ("count_edges",),
    "count_houses": ("count_houses_array", "keep_triangular", "count_houses_hashed"),
    "count_views": ("slice_view", "copy_lists", "cut_slices", "pack_view", "column_sizes", "pack_columns", "hub_rows",
                    "sort_roots", "weigh_roots"),
    "count_wedges": ("cut_tiles", "count_wedges_tiled", "count_wedges_hashed"),
    "dfs": ("dfs_slices", "dfs"),
    "extend": ("extend_seeds", "extend_bound", "extend_fill", "extend_link", "extend_gather", "extend_count",
               "extend_report"),
    "count_bfs": ("count_bfs",),
    "first_rows": ("first_within", "first_keys"),
    "fold": ("fold_rows", "fold_weigh", "fold_vertices", "fold_entries", "fold_clear", "fold_move", "fold_merge",
             "fold_taken", "fold_places", "fold_gather", "fold_different", "fold_chosen"),
    "pcsr_build": ("pcsr_pairs", "pcsr_unpack", "pcsr_starts", "pcsr_dense", "pcsr_homes", "pcsr_ranks", "pcsr_empty",
                   "pcsr_groups", "pcsr_move"),
    "predicates": ("predicate_holds", "predicate_bits", "predicate_counts", "predicate_places"),
    "reach": ("reach_start", "reach", "reach_forget", "reach_found", "reach_count"),
    "row_numbers": ("row_numbers",),
    "sample": ("sample_walks",),
    "sample_order": ("sample_roots", "sample_windows"),
    "sampled_neighbours": ("sampled_counts", "sampled_neighbours"),
    "sample_packed": ("sample_walks",),
    "signature": ("signature_build",),
}  # fmt: skip
"""The families and their kernels."""

OF_WARPS = {"keep_triangular"}
OF_BLOCKS = {"count_houses_array", "count_wedges_tiled"}
"""Kernels that only variants with QE_TEAM_WARP have, and only those without."""

PASSES = frozenset({
    "column_sizes", "copy_lists", "cut_slices", "cut_tiles", "dfs_slices", "hub_rows", "pack_columns",
    "pack_view", "slice_view", "sort_roots",
    "eliminate_add", "eliminate_counts", "eliminate_gather", "eliminate_join", "eliminate_lengths", "eliminate_message",
    "eliminate_mirror",
    "eliminate_ones", "eliminate_owners", "eliminate_present", "eliminate_product", "eliminate_sums", "eliminate_term",
    "eliminate_turned",
    "extend_bound", "extend_gather", "extend_link", "extend_seeds", "extend_report", "guide_temper",
    "first_keys", "first_within",
    "fold_chosen", "fold_clear", "fold_different", "fold_entries", "fold_gather", "fold_merge", "fold_move",
    "fold_places", "fold_rows", "fold_taken", "fold_vertices", "fold_weigh",
    "pcsr_dense", "pcsr_empty", "pcsr_groups", "pcsr_homes", "pcsr_locate", "pcsr_move", "pcsr_pairs", "pcsr_ranks",
    "pcsr_starts", "pcsr_unpack", "signature_build", "triangle_ends", "triangle_link_places",
    "predicate_bits", "predicate_counts", "predicate_holds", "predicate_places",
    "reach_count", "reach_forget", "reach_found", "reach_start", "row_numbers", "sample_roots",
    "sample_windows",
    "sampled_counts", "sampled_neighbours",
    "links_sizes", "pair_ends", "pair_rows", "triangle_roots", "triangle_rows", "triangle_sides",
    "vector_weights",
})  # fmt: skip
"""Kernels that go once over arrays and have no stop flag: ``kernels/cuda/base/stop.cuh`` says which may do so."""

SHAPES = {"count_cliques", "count_edges", "count_houses", "count_views", "count_wedges"}
"""Families in a namespace, with variables of a block, which runs alone here."""


@functools.cache
def library(family: str, macros: tuple[tuple[str, int | str], ...], preface: str) -> ctypes.CDLL:
    """Compile a family for the host."""
    other = OF_BLOCKS if ("QE_TEAM_WARP", 1) in macros else OF_WARPS
    kernels = [k for k in KERNELS[family] if k not in other]
    source = source_path(family)
    lines = [
        '#include "on_host.h"',
        preface,
        f'#include "{source.parent.name}/{source.name}"',
        "using namespace qe;" if family in SHAPES else "",
        *(f"QE_ON_HOST({name})" for name in kernels),
    ]
    given = [f"-D{name}={value}" for name, value in macros if name != "QE_ARCHITECTURE"]
    given += ["-D__shared__=static"] if family in SHAPES else []
    return compiled("\n".join(lines), dict(macros).get("QE_ARCHITECTURE", ARCHITECTURE), given)


MOST_WORK = 1 << 18
"""Steps (basic blocks) that a lane makes at most between two looks of its warp at the stop flag, and after it was told
to stop: up to two milliseconds on a GPU. Constants bound what the kernels do between two calls: pairs of roots of few
members, a window of entries, a walk's levels with few places. Here lists are long from 128 entries on, and every call
looks."""


@dataclass
class Seen:
    """What launches of a kernel have done: how often they looked at the stop flag, the most work between and after."""

    looks: int = 0
    between: int = 0
    after: int = 0


class Kernel:
    """A kernel of a library for the host. ``stop_at``: from this look of a launch on the stop flag is set; 0: never."""

    _one: ClassVar[threading.Lock] = threading.Lock()  # of all: a library has one block's memory
    seen: ClassVar[dict[str, Seen]] = {}
    stop_at: ClassVar[int] = 0
    stopped: ClassVar[bool] = False
    """Whether a launch since the last wait was stopped."""

    def __init__(self, library: ctypes.CDLL, name: str, shared_bytes: int = 0) -> None:
        self.name = name
        self._most_shared = max(shared_bytes, PLAIN_SHARED_BYTES)
        self._function = getattr(library, f"{name}_on_host")
        self._watch, self._fill, self._overrun = (
            getattr(library, f"emulator_{each}") for each in ("watch", "fill", "overrun")
        )
        self._overrun.restype = ctypes.c_bool

    def __call__(self, blocks: int, threads: int, arguments: Any, shared_bytes: int = 0) -> None:
        assert shared_bytes <= self._most_shared, f"{self.name} has not asked for so much shared memory"
        with self._one:
            self._run(blocks, threads, arguments, shared_bytes)

    def _run(self, blocks: int, threads: int, arguments: Any, shared_bytes: int) -> None:
        found = (ctypes.c_int64 * 3)()
        self._watch(ctypes.c_int64(self.stop_at), found)
        self._fill()
        self._function(blocks, threads, arguments)
        assert not self._overrun(ctypes.c_size_t(shared_bytes)), f"{self.name} writes beyond its shared memory"
        self._watch(ctypes.c_int64(0), found)
        seen = self.seen.setdefault(self.name, Seen())
        seen.looks += found[0]
        Kernel.stopped |= 0 < self.stop_at <= found[0]
        seen.between, seen.after = max(seen.between, found[1]), max(seen.after, found[2])
        if self.name not in PASSES:
            most = max(found[1:])
            assert most <= MOST_WORK, f"{self.name} makes {most:,} steps in some loop without a look at its stop flag"


@dataclass(frozen=True)
class EmulatedDevice(DeviceProperties):
    """Stands in for ``Device``."""

    number: int = 0

    def compile_ahead(self, family: str, macros: Mapping[str, int | str]) -> None:
        pass

    def resident_blocks(self, kernel: Kernel, threads: int, shared_bytes: int) -> int:
        return 1


class EmulatedRun:
    """Stands in for ``DeviceRun``. ``free``: bytes of memory that it says are free; without any nothing is extended.

    ``properties``: of its device.
    """

    stream = Stream()

    def __init__(
        self, context: ExecutionContext, memory: DeviceMemory, free: int = 0, properties: DeviceProperties = SMALL
    ) -> None:
        self.context = context
        self.memory = memory.account(context.gpu_memory_limit, context.memory.holding("The GPU's part of the query"))
        self.free = free
        self.flag = np.zeros(1, np.int32)
        self.device = EmulatedDevice(**asdict(properties), number=current_device())

    @property
    def stop_flag(self) -> int:
        return self.flag.ctypes.data

    def kernel(
        self,
        family: str,
        name: str,
        macros: Mapping[str, int | str] | None = None,
        shared_bytes: int = 0,
        preface: str = "",
    ) -> Any:
        self.device.check_shared(name, shared_bytes)
        given = {"QE_ARCHITECTURE": 10 * self.device.instructions, **(macros or {})}
        return Kernel(self.library(family, given, preface), name, shared_bytes)

    def library(self, family: str, macros: Mapping[str, int | str], preface: str) -> ctypes.CDLL:
        """Return a family's kernels."""
        return library(family, tuple(macros.items()), preface)

    def allocate(self, n_bytes: int, what: str) -> Block:
        return self.memory.allocate(n_bytes, what)

    alone = DeviceRun.alone

    place, copied, filled = DeviceRun.place, DeviceRun.copied, DeviceRun.filled

    def zeroed(self, n_bytes: int, what: str, *, placed: bool = False) -> Any:
        block = self.place(n_bytes, what) if placed else self.allocate(n_bytes, what)
        self.clear(block, n_bytes)
        return block

    def clear(self, block: Any, n_bytes: int) -> None:
        block.memset_async(0, n_bytes, None)

    def upload(self, host: Any, what: str) -> Block:
        block = self.allocate(host.nbytes, what)
        self.write(block, host)
        return block

    def write(self, block: Any, host: Any) -> None:
        assert host.nbytes <= (block.n_bytes if isinstance(block, PagedBlock) else len(block.bytes))
        ctypes.memmove(block.ptr, host.ctypes.data, host.nbytes)

    def publish(self) -> None:
        self.wait()

    def read(self, address: int, host: Any) -> None:
        ctypes.memmove(host.ctypes.data, address, host.nbytes)

    def copy_from(self, number: int, address: int, to: Any, n_bytes: int) -> None:
        ctypes.memmove(to.ptr, address, n_bytes)

    def move(self, address: int, to: int, n_bytes: int, stream: Any = None) -> None:
        ctypes.memmove(to, address, n_bytes)

    def fetched(self, address: int, n: int, kind: type) -> Any:
        self.wait()
        host = np.empty(n, kind)
        self.read(address, host)
        return host

    def free_bytes(self) -> int:
        left = self.memory.left_bytes()
        return self.free if left is None else min(left, self.free)

    def launch(
        self,
        kernel: Any,
        blocks: int,
        threads: int,
        arguments: Sequence[Any],
        shared_bytes: int = 0,
        *,
        together: bool = False,
        stream: Any = None,
    ) -> None:
        given = [np.uint64(each.data.ptr) if isinstance(each, DeviceArray) else each for each in arguments]
        held = [np.atleast_1d(each) for each in given]
        addresses = (ctypes.c_void_p * len(held))(*(each.ctypes.data for each in held))
        kernel(blocks, min(threads, 32 * WARPS) if together else threads, addresses, shared_bytes)

    def side_by_side(self, first: Callable[[Any], None], second: Callable[[Any], None]) -> None:
        first(self.stream)
        second(self.stream)

    def ahead(self, steps: Iterable[tuple[Callable[[Any], None], Callable[[Any], None]]], rooms: int) -> None:
        filled: deque[Callable[[Any], None]] = deque()
        for fill, use in steps:
            if len(filled) == rooms:
                filled.popleft()(self.stream)
            fill(self.stream)
            filled.append(use)
        for use in filled:
            use(self.stream)

    def record(self, first: Callable[[], None], branches: Sequence[Callable[[Any], None]]) -> Any:
        return first, branches

    def replay(self, recorded: Any) -> None:
        first, branches = recorded
        first()
        for branch in branches:
            branch(None)

    def wait(self) -> None:
        self.context.check()
        self.flag[0] = 0
        if Kernel.stopped:
            Kernel.stopped = False
            raise QueryTimeout("The kernels were stopped.")


def searched(patch: pytest.MonkeyPatch) -> None:
    """Let the device search what it would eliminate; the host goes on eliminating."""
    patch.setattr(Runtime, "eliminates", lambda runtime, each: runtime.matchers is None and bool(each.schedule("cpu")))


def pretended(patch: pytest.MonkeyPatch, count: int = 1, properties: DeviceProperties = SMALL) -> None:
    """Let so many emulated devices be found."""
    patch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: count)
    patch.setattr(device, "cupy", lambda: cupy)
    patch.setattr(device, "properties_of", lambda number: properties)
    patch.setattr(device, "_devices", {})
    patch.setattr(device, "_lost", {})


@contextmanager
def emulated(
    memory: DeviceMemory, free: int = 0, properties: DeviceProperties = SMALL, more: Sequence[DeviceMemory] = ()
) -> Iterator[pytest.MonkeyPatch]:
    """Let searches run on the emulated device, with so much of its memory free; ``more``: memories of further ones."""
    memories = [memory, *more]

    @contextmanager
    def run(context: ExecutionContext) -> Iterator[EmulatedRun]:
        yield EmulatedRun(context, memories[current_device()], free, properties)

    with pytest.MonkeyPatch.context() as patch:
        pretended(patch, len(memories), properties)
        for module in (fold_search, reach, sampled_neighbours, search, spread):
            patch.setattr(module, "device_run", run)
        for module in (arrays, extend, host_rows, kept_rows, sampled_neighbours):
            patch.setattr(module, "cupy", lambda: cupy)
        yield patch
