"""Calls the kernels of ``qe/walk.h``: walks of variable length and shortest paths, chunk by chunk."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from qengine import _native
from qengine._control import Status
from qengine._frozen import frozen, replace
from qengine.exec.common.merged_lists import merged_neighbours
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView
from qengine.plan.pattern import Direction, PathMode
from qengine.storage.adjacency import Adjacency, PcsrStruct

IntArray = NDArray[np.int64]
BitArray = NDArray[np.uint64]

_UNBOUNDED = 2**63 - 1


class WalkMode(IntEnum):
    """Which walks are wanted (``qe::WalkMode``)."""

    EVERY_WALK = 0
    EVERY_END = 1
    ANY_SHORTEST = 2
    ALL_SHORTEST = 3


_VERTEX_RULES = {PathMode.ACYCLIC: 1, PathMode.SIMPLE: 2}
"""``qe::VertexRule`` of the modes that have one."""


_Layer = _native.struct(
    "qe::WalkLayer",
    "PcsrStruct lists out; i8 base; p allowed; i4 is_out skip_loops two_way reserved",
    PcsrStruct=PcsrStruct,
)
_Plan = _native.struct(
    "qe::WalkPlan",
    "p forward backward; i4 n_layers mode distinct_edges lists vertices hasty; i8 vertex_count minimum maximum "
    "count rows; p starts targets forbidden_offsets forbidden end_bits through_bits; u4 end_lo end_hi",
)
_Output = _native.struct(
    "qe::WalkOutput", "p row end offsets relationships hops; i8 row_capacity id_capacity rows needed_ids"
)


_library = _native.declared("qe_walk_open p p p; qe_walk_next p p i4 p; qe_walk_close p -> none")


def pack_bits(mask: NDArray[np.bool_]) -> BitArray:
    """Return a mask as bits of 64-bit words, the first in the lowest bit."""
    packed = np.zeros(-(-len(mask) // 64) * 8, np.uint8)
    packed[: -(-len(mask) // 8)] = np.packbits(mask, bitorder="little")
    return packed.view(np.uint64)


@frozen
class WalkLists:
    """One relationship type in one stored direction: its lists, those that lead back, and the type's OUT lists.

    ``allowed``: bits by local relationship id; None for all.
    """

    forward: Adjacency
    backward: Adjacency
    out: Adjacency
    allowed: BitArray | None


class WalkSpace:
    """The hops that walks may take in a graph.

    Parameters
    ----------
    store
        The ``GraphStore``.
    types
        Indices of relationship types, each once.
    direction
        Seen from the walk's start. Undirected types go both ways in any.
    allowed
        By type index, bits by local relationship id (``pack_bits``); a type that isn't there is wholly allowed.
    through
        Bits by vertex that walks may pass between their ends; None for all.
    merged
        Whether the lists of all types are one, where only ends are asked for: without ``allowed``. Where relationships
        can be walked both ways, for the kernels of ``reach_kernel`` alone.

    Attributes
    ----------
    store
        The graph.
    lists
        What may be walked: a record for each layer.
    forward, backward
        The same as the kernels take it.
    closing
        ``backward``, or the layers that are merged in it, by which closed trails are told.
    two_way
        Whether some relationship can be walked both ways.
    """

    __slots__ = ("backward", "closing", "forward", "layers", "lists", "store", "through", "two_way",
                 "unmerged", "vertex_count")  # fmt: skip

    def __init__(
        self,
        store: ExecView,
        types: tuple[int, ...],
        direction: Direction,
        allowed: dict[int, BitArray] | None = None,
        through: BitArray | None = None,
        *,
        merged: bool = False,
    ) -> None:
        self.vertex_count: int = store.vertex_count
        self.through = through
        self.store = store
        steps = [(index, step) for index in types for step in direction.stored(store.types[index].undirected)]
        self.two_way = direction is Direction.BOTH or any(store.types[index].undirected for index in types)
        self.unmerged: tuple[WalkLists, ...] = ()
        self.forward: ctypes.Array[ctypes.Structure]
        self.backward: ctypes.Array[ctypes.Structure]
        if merged and not self.two_way:
            self._merge(steps)
            self.closing = self.backward
            return
        self.layers = len(steps)
        self.lists = tuple(
            WalkLists(
                store.adjacency(index, step),
                store.adjacency(index, step.reversed()),
                store.adjacency(index, Direction.OUT),
                (allowed or {}).get(index),
            )
            for index, step in steps
        )
        self.forward = _native.array_of(_Layer, self.layers)()
        self.backward = _native.array_of(_Layer, self.layers)()
        for place, ((index, step), lists) in enumerate(zip(steps, self.lists, strict=True)):
            edge_type = store.types[index]
            both = direction is Direction.BOTH and not edge_type.undirected
            for layers, own, towards in (
                (self.forward, lists.forward, step),
                (self.backward, lists.backward, step.reversed()),
            ):
                layers[place] = _Layer(
                    lists=own.struct,
                    out=lists.out.struct,
                    base=edge_type.base,
                    allowed=None if lists.allowed is None else lists.allowed.ctypes.data,
                    is_out=towards is Direction.OUT,
                    skip_loops=both and towards is Direction.IN,
                    two_way=both or edge_type.undirected,
                )
        self.closing = self.backward
        if merged:
            self.unmerged = self.lists  # what `closing` points to
            self._merge(steps)

    def _merge(self, steps: list[tuple[int, Direction]]) -> None:
        back = [(index, step.reversed()) for index, step in steps]
        forward, backward = (
            merged_neighbours(self.store, sorted(parts, key=lambda part: (part[0], part[1].value)))
            for parts in (steps, back)
        )
        self.layers = 1
        self.lists = (WalkLists(forward, backward, forward, None),)
        self.forward, self.backward = (
            _native.array_of(_Layer, 1)(_Layer(lists=own.struct, out=forward.struct, is_out=own is forward))
            for own in (forward, backward)
        )


@frozen
class EndFilter:
    """The vertices that walks may end on: those of ``[lo, hi)`` whose bit is set, None for all."""

    lo: int
    hi: int
    bits: BitArray | None = None

    def of(self, vertices: IntArray) -> NDArray[np.bool_]:
        """Return which of some vertices they are."""
        kept = (vertices >= self.lo) & (vertices < self.hi)
        if self.bits is not None:
            inside = np.where(kept, vertices, self.lo)
            kept &= (self.bits[inside >> 6] >> (inside & 63).astype(np.uint64) & np.uint64(1)).astype(np.bool_)
        return kept

    def admits(self, vertex: int) -> bool:
        """Tell whether a vertex is one of them."""
        if not self.lo <= vertex < self.hi:
            return False
        return self.bits is None or bool(int(self.bits[vertex >> 6]) >> (vertex & 63) & 1)


@frozen
class WalkRows:
    """The input rows of a run.

    Attributes
    ----------
    starts
        int64[rows], vertex ids, -1 for none.
    targets
        int64[rows], the only end that a row's walks may have, -1 for none; None where ends are free.
    forbidden
        int64[rows + 1] and the global relationship ids that these offsets point into: what a row's walks must
        not take. None for nothing.
    """

    starts: IntArray
    targets: IntArray | None = None
    forbidden: tuple[IntArray, IntArray] | None = None


@frozen
class WalkRules:
    """Which walks are wanted, and what of them.

    Parameters
    ----------
    mode
        ``EVERY_END`` goes without lists; up to a ``minimum`` of 1 for rows with targets only.
    minimum, maximum
        Hops; None for no maximum, not where relationships may repeat, but for shortest paths.
    lists
        Whether the relationships are wanted.
    repeats
        What a walk must not repeat: for shortest paths relationships, or nothing.
    count
        How many shortest paths, or least lengths of them, are wanted to each end. More than one length, or a
        ``minimum`` above 1, goes for rows with targets only.
    hops
        Whether the number of hops is wanted, of shortest paths.
    hasty
        Whether several shortest trails to a target are told by how they leave those before, as where a search depth
        first takes long, from the first on.
    """

    mode: WalkMode
    minimum: int
    maximum: int | None
    lists: bool
    repeats: PathMode = PathMode.TRAIL
    count: int = 1
    hops: bool = False
    hasty: bool = False


@frozen
class ChunkSize:
    """The most rows and relationships of a chunk; the first chunks are smaller, for those who want few rows."""

    rows: int = 65_536
    relationships: int = 1 << 16
    first: int = 8_192


_SIZE = ChunkSize()


@frozen
class WalkChunk:
    """Some walks: input row, end and hops (int64[n]); with lists, int64[n + 1] offsets into ``relationships``."""

    row: IntArray
    end: IntArray
    offsets: IntArray | None = None
    relationships: IntArray | None = None
    hops: IntArray | None = None


def walk_chunks(
    space: WalkSpace,
    ends: EndFilter,
    rows: WalkRows,
    context: ExecutionContext,
    rules: WalkRules,
    size: ChunkSize = _SIZE,
) -> Iterator[WalkChunk]:
    """Yield the walks of all rows, in chunks of bounded size; a consumer that stops iterating stops the work.

    Parameters
    ----------
    space, ends, rows
        Where to walk, where to end, what to start from.
    rules
        Which walks.

    Raises
    ------
    QueryInterrupted, QueryTimeout
        Within a tenth of a second.
    OutOfMemory
        Where the walk itself, or one list of relationships, exceeds the context's memory limit.
    """
    library = _library()
    arrays = [np.ascontiguousarray(rows.starts, np.int64)]
    plan = _Plan(
        forward=ctypes.addressof(space.forward),
        backward=ctypes.addressof(space.backward),
        n_layers=space.layers,
        mode=rules.mode,
        distinct_edges=rules.repeats is not PathMode.WALK,
        lists=rules.lists,
        vertices=_VERTEX_RULES.get(rules.repeats, 0),
        hasty=rules.hasty,
        vertex_count=space.vertex_count,
        minimum=rules.minimum,
        maximum=_UNBOUNDED if rules.maximum is None else rules.maximum,
        count=min(rules.count, _UNBOUNDED),
        rows=len(rows.starts),
        starts=arrays[0].ctypes.data,
        end_bits=None if ends.bits is None else ends.bits.ctypes.data,
        through_bits=None if space.through is None else space.through.ctypes.data,
        end_lo=ends.lo,
        end_hi=ends.hi,
    )
    if rows.targets is not None:
        arrays.append(np.ascontiguousarray(rows.targets, np.int64))
        plan.targets = arrays[-1].ctypes.data
    if rows.forbidden is not None:
        arrays += [np.ascontiguousarray(part, np.int64) for part in rows.forbidden]
        plan.forbidden_offsets, plan.forbidden = (array.ctypes.data for array in arrays[-2:])
    handle = ctypes.c_void_p()
    context.raise_for(library.qe_walk_open(ctypes.byref(plan), ctypes.byref(context.control), ctypes.byref(handle)))
    workers = context.threads if len(rows.starts) > 1 else 1
    outputs = _native.array_of(_Output, workers)()
    buffers = [_Buffer(size, rules.lists, rules.hops) for _ in range(workers)]
    done = ctypes.c_int32()
    try:
        while not done.value:
            for place, buffer in enumerate(buffers):
                outputs[place] = buffer.output()
            context.run(library.qe_walk_next, handle, outputs, workers, ctypes.byref(done))
            for place, buffer in enumerate(buffers):
                if outputs[place].rows:
                    yield buffer.taken(outputs[place].rows)
                elif outputs[place].needed_ids:
                    buffer.enlarge(outputs[place].needed_ids, context)
    finally:
        library.qe_walk_close(handle)


class _Buffer:
    """Where one worker writes; arrays that are handed out are not written again."""

    def __init__(self, size: ChunkSize, lists: bool, hops: bool) -> None:
        self._size = size
        self._rows = min(size.first, size.rows)
        self._ids = size.relationships if lists else 0
        self._lists = lists
        self._hops = hops
        self._arrays: list[IntArray] | None = None

    def output(self) -> ctypes.Structure:
        if self._arrays is None:
            rows, ids = self._rows, self._ids
            lengths = (rows, rows, rows + 1 if self._lists else 0, ids, rows if self._hops else 0)
            self._arrays = [np.empty(length, np.int64) for length in lengths]
        *arrays, hops = (array.ctypes.data for array in self._arrays)
        return _Output(*arrays, hops if self._hops else None, self._rows, self._ids, 0, 0)

    def taken(self, rows: int) -> WalkChunk:
        """Return what has been written, and make room for more."""
        assert self._arrays is not None
        row, end, offsets, ids, hops = self._arrays
        used = int(offsets[rows]) if self._lists else 0
        parts = [row[:rows], end[:rows], offsets[: rows + 1], ids[:used], hops[:rows]]
        if 2 * rows < self._rows and 2 * used <= self._ids:
            parts = [part.copy() for part in parts]
        else:
            self._arrays = None
            self._rows = min(4 * self._rows, self._size.rows)
        row, end, offsets, ids, hops = parts
        found = WalkChunk(row, end, hops=hops if self._hops else None)
        return replace(found, offsets=offsets, relationships=ids) if self._lists else found

    def enlarge(self, ids: int, context: ExecutionContext) -> None:
        """Make room for a list of ``ids`` relationships."""
        if context.memory_limit is not None and 8 * ids > context.memory_limit:
            context.raise_for(Status.OUT_OF_MEMORY)
        self._ids = 2 * ids
        self._arrays = None
