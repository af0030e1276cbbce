"""Rows of a plan on the device, breadth first: a frontier a level, in pieces within the memory budget.

The kernels are ``kernels/cuda/search/extend.cu``. A piece is a run of slots: candidates to be tested, numbered over all
rows of a frontier. What survives of a piece is a table for the next level, which is extended to the end before the next
piece.
Source: Prealloc-Combine (GSI §V).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._frozen import frozen, replace
from qengine.errors import OutOfMemory
from qengine.exec.common.match_plan import LevelKind, SearchMode
from qengine.exec.common.resolve import ResolvedSearch
from qengine.exec.gpu.arrays import working
from qengine.exec.gpu.device import cupy
from qengine.exec.gpu.launch import DeviceRun
from qengine.exec.gpu.properties import DeviceProperties
from qengine.plan.physical import MAX_DEVICE_LEVELS

_LANES = 32
_STEP_BYTES = 32
_SHARED_BYTES = 48 * 1024
"""Of a block that has several warps."""

_WARPS = 8
_THREADS = 256
_FIRST_SLOTS = 1 << 22
MOST_SLOTS = 1 << 27
"""Slots of one piece: few at first, so that the first rows come soon; in the end many enough to fill any device, and
few enough that a stop is seen within milliseconds."""

_GROWTH = 4
_LEAST_SLOTS = 1 << 10
_NULL = np.uint64(0)

SLOT_TILES = _native.record("u8 offsets ticket n begin end tile; i4 level unused")
"""Mirror of ``SlotTiles`` of ``kernels/cuda/search/extend.cu``."""

SURVIVORS = _native.record("u8 values rows ends tiles tile")
"""Mirror of ``Survivors``."""


@frozen
class LevelTable:
    """What the host must know of a plan: for each level whether it binds a vertex, and its operands and column."""

    seeds: int
    enumerated: int
    mode: SearchMode
    vertex: tuple[bool, ...]
    operands: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def levels(self) -> int:
        """Number of levels."""
        return len(self.vertex)

    @property
    def rows(self) -> int:
        """Levels that a row has: all where rows are wanted, else those before the first that is only counted."""
        return self.levels if self.mode is SearchMode.ROWS and self.enumerated > self.seeds else self.enumerated

    @property
    def warp_bytes(self) -> int:
        """Shared memory that a warp takes at most."""
        return max(window_bytes(depth, operands) for depth, operands in enumerate((*self.operands, 0)))


@frozen
class DeviceRows:
    """Some rows, on the device.

    ``columns``: by output column uint32 vertex ids or int64 relationship ids. ``row``: int64, the input row of each;
    None for a search without seeds. ``count``: uint64, None where rows are not counted. ``n``: how many rows.
    """

    n: int
    columns: dict[int, Any]
    row: Any | None
    count: Any | None = None


def level_table(resolved: ResolvedSearch) -> LevelTable:
    """Return the shape of a resolved plan."""
    header, levels, sources = resolved.plan[0], resolved.tables[0], resolved.tables[1]
    spans = [(int(level["sources"]["first"]), int(level["sources"]["count"])) for level in levels]
    return LevelTable(
        int(header["seeds"]),
        int(header["enumerated"]),
        SearchMode(int(header["mode"])),
        tuple(int(level["kind"]) == LevelKind.VERTEX for level in levels),
        tuple(
            int(sources[first : first + count]["lists"]["count"].sum()) + (int(level["candidates"]) != 0)
            for (first, count), level in zip(spans, levels, strict=True)
        ),
        tuple(int(level["output"]) for level in levels),
    )


class Extension:
    """The extension of one plan.

    Parameters
    ----------
    run
        The query's work on the device.
    plan
        Device address of the ``MatchPlan``; all of its pointers are device addresses.
    shape
        Of the same plan, with no more than one level that is only counted.
    budget
        Bytes of device memory that frontiers may take.
    most_slots, first_slots
        Slots of one piece at most, and of the first: few where someone waits for the first rows.
    tile, window
        Slots that a warp takes at a time, and of how many rows (1 to 32) together.
    """

    def __init__(
        self,
        run: DeviceRun,
        plan: int,
        shape: LevelTable,
        budget: int,
        *,
        most_slots: int = MOST_SLOTS,
        first_slots: int = _FIRST_SLOTS,
        tile: int = 1024,
        window: int = _LANES,
    ) -> None:
        self.run, self.plan, self.shape = run, np.uint64(plan), shape
        self.tile = tile
        self.macros = {"QE_WINDOW_ROWS": window}
        self.most_slots = max(_LEAST_SLOTS, min(most_slots, _fitting(shape, budget)))
        self.slots = min(self.most_slots, first_slots)
        self.tables = np.zeros((3, MAX_DEVICE_LEVELS), np.uint64)  # vertices, edges, parents: qe::ExtendTables
        self.reported = np.frombuffer(cupy().cuda.alloc_pinned_memory(8), np.int64, 1)
        self.first_rows: Any = None  # of the first table: their input rows, and a column for each seed
        self.seed_columns: list[Any] = []
        self.kernels: dict[tuple[str, int, int], tuple[Any, int]] = {}
        with self._working() as cp:
            self.on_device = cp.zeros((3, MAX_DEVICE_LEVELS), np.uint64)
            self.ticket = cp.zeros(1, np.uint64)

    def rows(self, seeds: Sequence[npt.NDArray[np.int64]], n: int) -> Iterator[DeviceRows]:
        """Yield all rows, in an order that depends on the plan alone.

        Parameters
        ----------
        seeds
            int64[n] for each seed: vertex ids, -1 for null.
        n
            Input rows; 1 without seeds.
        """
        first = self._first(seeds, n)
        if first:
            yield from self._extend(self.shape.seeds, first)

    # -- inside ------------------------------------------------------------------------------------------------

    def _first(self, seeds: Sequence[npt.NDArray[np.int64]], n: int) -> int:
        """Make the first table: the input rows whose seeds are admitted. Returns how many."""
        if not self.shape.seeds:
            return n
        with self._working() as cp:
            given = [cp.asarray(seed) for seed in seeds]
            addresses = cp.asarray(np.array([seed.data.ptr for seed in given], np.uint64))
            sound = cp.empty(n, np.uint8)
            levels = self.shape.levels
            self._launch("extend_seeds", -(-n // _LANES), levels, self.shape.seeds, addresses, np.uint64(n), sound)
            self.first_rows = cp.flatnonzero(sound)
            self.seed_columns = [column[self.first_rows].astype(np.uint32) for column in given]
            for level, column in enumerate(self.seed_columns):
                self.tables[0, level] = column.data.ptr
            return len(self.first_rows)

    def _extend(self, level: int, n: int) -> Iterator[DeviceRows]:
        """Yield the rows that stem from the n rows of the table before ``level``."""
        shape = self.shape
        if level == shape.rows:
            whole = level == shape.levels and shape.mode is SearchMode.ROWS
            found = self._gather(level, n) if whole else self._counted(level, n)
            if found.n:
                yield found
            self.slots = min(self.most_slots, self.slots * _GROWTH)
            return
        offsets, total = self._offsets(level, n)
        at = 0
        while at < total:
            table, at = self._next_table(level, n, offsets, at, total)
            if table.n:
                self._enter(level, table)
                yield from self._extend(level + 1, table.n)

    def _next_table(self, level: int, n: int, offsets: Any, at: int, total: int) -> tuple[_Table, int]:
        """Make a table of extensions in the slots from ``at`` on; return it, and where its slots end.

        Where the device's memory is short the table becomes smaller.
        """
        while True:
            table = None
            try:
                with self._working() as cp:
                    table = _Table(cp, min(self.slots, total - at), self.shape.vertex[level])
                while at < total and table.room >= min(total - at, max(1, table.size // 4)):
                    piece = min(total - at, table.room)
                    self._fill(level, n, offsets, at, at + piece, table)
                    at += piece
                return table, at
            except OutOfMemory:
                if self.slots <= _LEAST_SLOTS:
                    raise
                self.slots = self.most_slots = max(_LEAST_SLOTS, self.slots // _GROWTH)
                if table is not None and table.n:
                    return table, at

    def _counted(self, level: int, n: int) -> DeviceRows:
        """Return those of n rows that have any completion, with how many."""
        counts = self._counts(level, n)
        with self._working() as cp:
            chosen = cp.flatnonzero(counts)
            return replace(self._gather(level, len(chosen), chosen), count=counts[chosen])

    def _counts(self, level: int, n: int) -> Any:
        """Return how many completions each of the n rows of the table before ``level`` has (uint64[n])."""
        if level == self.shape.levels:
            with self._working() as cp:
                return cp.ones(n, np.uint64)
        offsets, total = self._offsets(level, n)
        with self._working() as cp:
            counts = cp.zeros(n, np.uint64)
            for at in range(0, total, self.most_slots):
                self._launch_tiles("extend_count", level, n, offsets, at, min(total, at + self.most_slots), counts)
                self.run.wait()
            return counts

    def _offsets(self, level: int, n: int) -> tuple[Any, int]:
        """Return where the slots of each row of the table before ``level`` begin (int64[n + 1]), and their number."""
        with self._working() as cp:
            self.on_device.set(self.tables)
            offsets = cp.empty(n + 1, np.int64)
            offsets[:1] = 0
            self._launch(
                "extend_bound",
                -(-n // _LANES),
                level,
                level,
                self.on_device,
                np.int32(level),
                np.uint64(n),
                offsets[1:],
            )
            cp.cumsum(offsets[1:], out=offsets[1:])
            return offsets, self._tell(offsets[n:])

    def _fill(self, level: int, n: int, offsets: Any, begin: int, end: int, table: _Table) -> None:
        """Append the extensions in slots [begin, end) to a table that has room for them."""
        with self._working() as cp:
            tiles = -(-(end - begin) // self.tile)
            values = cp.empty(tiles * self.tile, np.uint32 if table.vertex else np.int64)
            rows = cp.empty(tiles * self.tile, np.uint32)
            counts = cp.empty(tiles, np.int64)
            self._launch_tiles("extend_fill", level, n, offsets, begin, end, values, rows, counts)
            ends = cp.cumsum(counts)
            addresses = (each.data.ptr for each in (values, rows, ends))
            self._launch_plain(
                "extend_link",
                tiles * _LANES,
                np.array((*addresses, tiles, self.tile), SURVIVORS),
                np.int32(table.vertex),
                np.uint64(table.n),
                *((table.values, _NULL) if table.vertex else (_NULL, table.values)),
                table.parents,
            )
            table.n += self._tell(ends[-1:])

    def _enter(self, level: int, table: _Table) -> None:
        """Make a table the one of ``level``."""
        self.tables[0 if table.vertex else 1, level] = table.values.data.ptr
        self.tables[2, level] = table.parents.data.ptr

    def _gather(self, level: int, n: int, chosen: Any | None = None) -> DeviceRows:
        """Return whole rows of the table before ``level``: all n, or the n that are chosen (int64)."""
        shape = self.shape
        with self._working() as cp:
            self.on_device.set(self.tables)
            columns, addresses = {}, np.zeros(MAX_DEVICE_LEVELS, np.uint64)
            for k in range(level):
                if shape.outputs[k] >= 0:
                    columns[shape.outputs[k]] = cp.empty(n, np.uint32 if shape.vertex[k] else np.int64)
                    addresses[k] = columns[shape.outputs[k]].data.ptr
            first = cp.empty(n, np.uint32) if shape.seeds else None
            if n:
                self._launch_plain(
                    "extend_gather",
                    n,
                    *(self.plan, self.on_device, np.int32(level), np.uint64(n), _NULL if chosen is None else chosen),
                    *(cp.asarray(addresses), _NULL if first is None else first),
                )
            return DeviceRows(n, columns, None if first is None else self.first_rows[first])

    # -- the device --------------------------------------------------------------------------------------------

    def _working(self) -> AbstractContextManager[Any]:
        return working(self.run, "frontiers of rows")

    def _tell(self, number: Any) -> int:
        """Wait, and return the first of an array's numbers (int64)."""
        self._launch_plain("extend_report", 1, number, np.uint64(self.reported.ctypes.data))
        self.run.wait()
        return int(self.reported[0])

    def _launch_tiles(self, name: str, level: int, n: int, offsets: Any, begin: int, end: int, *to: Any) -> None:
        """Launch a kernel over tiles of slots [begin, end)."""
        self.ticket.fill(0)
        tiles = -(-(end - begin) // self.tile)
        slots = (offsets.data.ptr, self.ticket.data.ptr, n, begin, end, self.tile, level, 0)
        arguments = (self.on_device, np.array(slots, SLOT_TILES), *to, np.uint64(self.run.stop_flag))
        self._launch(name, tiles, level, level, *arguments)

    def _launch(self, name: str, warps: int, level: int, depth: int, *arguments: Any) -> None:
        """Launch a kernel whose warps keep rows of ``depth`` values in shared memory, on at most ``warps`` warps."""
        each = window_bytes(depth, self.shape.operands[level] if level < self.shape.levels else 0)
        together = block_warps(each, self.run.device)
        self._start(name, -(-warps // together), together * _LANES, (self.plan, *arguments), together * each)

    def _launch_plain(self, name: str, wanted: int, *arguments: Any) -> None:
        """Launch a kernel of independent threads, ``wanted`` of them where the device runs so many."""
        self._start(name, -(-wanted // _THREADS), _THREADS, arguments, 0)

    def _start(self, name: str, blocks: int, threads: int, arguments: Sequence[Any], shared_bytes: int) -> None:
        """Launch a kernel on at least one block, and not more than the device runs at a time."""
        key = name, threads, shared_bytes
        if key not in self.kernels:
            kernel = self.run.kernel("extend", name, self.macros, shared_bytes)
            self.kernels[key] = kernel, self.run.device.resident_blocks(kernel, threads, shared_bytes)
        kernel, most = self.kernels[key]
        self.run.launch(kernel, max(1, min(blocks, most)), threads, arguments, shared_bytes)


class _Table:
    """What a level is bound to in each row of a table, and the row before that it extends; ``n`` rows so far."""

    def __init__(self, cp: Any, size: int, vertex: bool) -> None:
        self.size, self.vertex, self.n = size, vertex, 0
        self.values = cp.empty(size, np.uint32 if vertex else np.int64)
        self.parents = cp.empty(size, np.uint32)

    @property
    def room(self) -> int:
        """Rows that can be appended."""
        return self.size - self.n


def block_warps(warp_bytes: int, device: DeviceProperties) -> int:
    """Return how many warps with so much shared memory each a block has, 0 where not even one fits."""
    return min(_WARPS, _SHARED_BYTES // warp_bytes) or device.warps_fitting(warp_bytes, 1)


def has_room(shape: LevelTable, free: int) -> bool:
    """Tell whether so many bytes of memory have room for frontiers; who walks depth first needs none."""
    return _fitting(shape, free // 2) >= _LEAST_SLOTS


def _fitting(shape: LevelTable, budget: int) -> int:
    """Return how many slots a piece may have so that all tables fit the budget.

    A slot takes its place in the GBA; each level holds the table that it makes, and slots of the rows of its input.
    """
    value = 4 if all(shape.vertex[shape.seeds :]) else 8
    outputs = sum(column >= 0 for column in shape.outputs) + 1
    each = (value + 4) + (shape.levels - shape.seeds) * (value + 4 + 8) + 8 * outputs
    return budget // each


def window_bytes(depth: int, operands: int) -> int:
    """Return the shared memory of one warp, as ``window_bytes`` of ``kernels/cuda/search/extend_window.cuh``."""
    size = 8 * _LANES * (depth + operands) + 8 * (_LANES + 1) + _STEP_BYTES * _LANES
    return (size + 4 * _LANES * operands + 7) & ~7
