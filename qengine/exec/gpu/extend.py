"""Rows of a plan on the device, breadth first: a frontier a level, in pieces within the memory budget.

The kernels are ``kernels/cuda/extend.cu``. A piece is a run of slots: candidates to be tested, numbered over all rows
of a frontier. What survives of a piece is a table for the next level, which is extended to the end before the next
piece.
Source: Prealloc-Combine (GSI §V).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.exec.cpu.match_plan import LEVEL, SOURCE, LevelKind, SearchMode
from qengine.exec.gpu.device import Device, cupy

__all__ = ["DeviceRows", "Extension", "Shape", "shape_of"]

_MAX_LEVELS = 64
_LANES = 32
_STEP_BYTES = 32
_SHARED_BYTES = 48 * 1024
_WARPS = 8
_MOST_SLOTS = 1 << 27
"""Slots of one piece: many enough to fill any device, few enough that a stop is seen within milliseconds."""

_LEAST_SLOTS = 1 << 10


@dataclass(frozen=True, slots=True)
class Shape:
    """What the host must know of a plan: for each level whether it binds a vertex, and its operands and column."""

    seeds: int
    walked: int
    mode: SearchMode
    vertex: tuple[bool, ...]
    operands: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def levels(self) -> int:
        """Number of levels."""
        return len(self.vertex)


@dataclass(frozen=True, slots=True)
class DeviceRows:
    """Some rows, on the device.

    ``columns``: by output column uint32 vertex ids or int64 relationship ids. ``row``: int64, the input row of each;
    None for a search without seeds. ``count``: uint64, None where rows are not counted. ``n``: how many rows.
    """

    n: int
    columns: dict[int, Any]
    row: Any | None
    count: Any | None = None


def shape_of(plan: npt.NDArray[Any]) -> Shape:
    """Read a resolved plan (a ``match_plan.PLAN`` record whose tables are on the host)."""
    header = plan[0]
    levels = _table(int(header["levels"]), LEVEL, int(header["n_levels"]))
    spans = [(int(level["sources"]["first"]), int(level["sources"]["count"])) for level in levels]
    sources = _table(int(header["sources"]), SOURCE, max((first + count for first, count in spans), default=0))
    return Shape(
        int(header["seeds"]),
        int(header["walked"]),
        SearchMode(int(header["mode"])),
        tuple(int(level["kind"]) == LevelKind.VERTEX for level in levels),
        tuple(
            int(sources[first : first + count]["lists"]["count"].sum()) + (int(level["candidates"]) != 0)
            for (first, count), level in zip(spans, levels, strict=True)
        ),
        tuple(int(level["output"]) for level in levels),
    )


def _table(address: int, record: np.dtype[Any], n: int) -> npt.NDArray[Any]:
    """Return n records that lie at an address of the host."""
    if n == 0:
        return np.empty(0, record)
    return np.ctypeslib.as_array((ctypes.c_uint8 * (record.itemsize * n)).from_address(address)).view(record)


class Extension:
    """The extension of one plan.

    Parameters
    ----------
    plan
        Device address of the ``MatchPlan``; all of its pointers are device addresses.
    shape
        Of the same plan.
    budget
        Bytes of device memory that frontiers may take.
    check
        Called between pieces; raises when the execution must stop.
    tile, window
        Slots that a warp takes at a time, and of how many rows (1 to 32) together.
    """

    def __init__(
        self,
        device: Device,
        plan: int,
        shape: Shape,
        budget: int,
        check: Callable[[], None],
        *,
        tile: int = 512,
        window: int = 32,
    ) -> None:
        self.device, self.plan, self.shape, self.check = device, np.uint64(plan), shape, check
        self.tile = tile
        self.macros = {"QE_WINDOW_ROWS": window}
        self.capacity = self._fitting(budget)
        self.tables = np.zeros((3, _MAX_LEVELS), np.uint64)  # vertices, edges, parents: qe::ExtendTables
        self.on_device = cupy().zeros((3, _MAX_LEVELS), np.uint64)
        self.ticket = cupy().zeros(1, np.uint64)
        self.overflow = cupy().zeros(1, np.int32)
        self.first_rows: Any = None  # of the first table: their input rows, and a column for each seed
        self.seed_columns: list[Any] = []
        self._kernels: dict[str, Any] = {}

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
        if first is not None:
            yield from self._extend(self.shape.seeds, first)

    # -- inside ------------------------------------------------------------------------------------------------

    def _fitting(self, budget: int) -> int:
        """Return how many slots a piece may have so that all tables fit the budget.

        A slot takes its place in the GBA; each level holds the table that it makes, and slots of the rows of its input.
        """
        shape = self.shape
        value = 4 if all(shape.vertex[shape.seeds :]) else 8
        levels = shape.levels - shape.seeds
        outputs = sum(column >= 0 for column in shape.outputs) + 1
        each = (value + 4) + levels * (value + 4 + 8 + 8) + 8 * outputs
        return max(_LEAST_SLOTS, min(_MOST_SLOTS, budget // each))

    def _first(self, seeds: Sequence[npt.NDArray[np.int64]], n: int) -> int | None:
        """Make the first table: the input rows whose seeds are admitted. Returns how many, None if none is."""
        cp = cupy()
        if not self.shape.seeds:
            return n
        given = [cp.asarray(seed) for seed in seeds]
        addresses = cp.asarray(np.array([seed.data.ptr for seed in given], np.uint64))
        sound = cp.empty(n, np.uint8)
        self._launch("extend_seeds", -(-n // _LANES), self.shape.levels, self.shape.seeds, addresses, _u64(n), sound)
        rows = cp.flatnonzero(sound)
        if not len(rows):
            return None
        self.first_rows = rows
        self.seed_columns = [column[rows].astype(np.uint32) for column in given]
        for level, column in enumerate(self.seed_columns):
            self.tables[0, level] = column.data.ptr
        return len(rows)

    def _extend(self, level: int, n: int) -> Iterator[DeviceRows]:
        """Yield the rows that stem from the n rows of the table before ``level``."""
        shape = self.shape
        counted = shape.mode is not SearchMode.ROWS
        if level == (shape.walked if counted else shape.levels):
            yield from self._emit(level, n, counted)
            return
        offsets = self._offsets(level, n)
        total = int(offsets[n])
        at = 0
        while at < total:
            table = _Table(min(self.capacity, total - at), shape.vertex[level])
            while at < total and table.room >= min(total - at, max(1, table.size // 4)):
                piece = min(total - at, table.room)
                self._fill(level, n, offsets, at, at + piece, table)
                at += piece
            if table.n:
                self._enter(level, table)
                yield from self._extend(level + 1, table.n)

    def _emit(self, level: int, n: int, counted: bool) -> Iterator[DeviceRows]:
        """Yield the rows of the table before ``level``; where they are counted, those with any completion."""
        if not counted:
            yield self._gather(level, n, None)
            return
        cp = cupy()
        counts = self._count(level, n)
        if int(self.overflow[0]) or (len(counts) and int(counts.max()) > np.iinfo(np.int64).max):
            raise OverflowError
        chosen = cp.flatnonzero(counts)
        if len(chosen):
            found = self._gather(level, len(chosen), chosen)
            yield DeviceRows(found.n, found.columns, found.row, counts[chosen])

    def _count(self, level: int, n: int) -> Any:
        """Return how many completions each row of the table before ``level`` has: uint64[n]."""
        cp, shape = cupy(), self.shape
        if level == shape.levels:
            return cp.ones(n, np.uint64)
        counts = cp.zeros(n, np.uint64)
        offsets = self._offsets(level, n)
        total = int(offsets[n])
        for at in range(0, total, self.capacity):
            end = min(total, at + self.capacity)
            if level + 1 == shape.levels:
                self._launch_tiles("extend_count", level, n, offsets, at, end, counts)
                continue
            table = _Table(end - at, shape.vertex[level])
            self._fill(level, n, offsets, at, end, table)
            if table.n:
                self._enter(level, table)
                below = self._count(level + 1, table.n)
                self._plain("extend_fold", table.n, table.parents, below, _u64(table.n), counts, self.overflow)
        return counts

    def _offsets(self, level: int, n: int) -> Any:
        """Return where the slots of each row of the table before ``level`` begin: int64[n + 1]."""
        cp = cupy()
        self.check()
        self.on_device.set(self.tables)
        offsets = cp.empty(n + 1, np.int64)
        offsets[0] = 0
        self._launch("extend_bound", -(-n // _LANES), level, level, self.on_device, _i32(level), _u64(n), offsets[1:])
        if n > 1:
            cp.cumsum(offsets[1:], out=offsets[1:])
        return offsets

    def _fill(self, level: int, n: int, offsets: Any, begin: int, end: int, table: _Table) -> None:
        """Append the extensions in slots [begin, end) to a table that has room for them."""
        cp = cupy()
        self.check()
        tiles = -(-(end - begin) // self.tile)
        values = cp.empty(tiles * self.tile, np.uint32 if table.vertex else np.int64)
        rows = cp.empty(tiles * self.tile, np.uint32)
        counts = cp.empty(tiles, np.int64)
        self._launch_tiles("extend_fill", level, n, offsets, begin, end, values, rows, counts)
        ends = cp.cumsum(counts)
        self._plain(
            "extend_link",
            tiles * _LANES,
            *(values, rows, ends, _u64(tiles), _u64(self.tile), _i32(table.vertex), _u64(table.n)),
            *(table.values if table.vertex else _u64(0), _u64(0) if table.vertex else table.values, table.parents),
        )
        table.n += int(ends[-1])

    def _enter(self, level: int, table: _Table) -> None:
        """Make a table the one of ``level``."""
        self.tables[0 if table.vertex else 1, level] = table.values.data.ptr
        self.tables[2, level] = table.parents.data.ptr

    def _gather(self, level: int, n: int, chosen: Any | None) -> DeviceRows:
        """Return whole rows of the table before ``level``: all n, or the n that are chosen (int64)."""
        cp, shape = cupy(), self.shape
        self.on_device.set(self.tables)
        columns, addresses = {}, np.zeros(_MAX_LEVELS, np.uint64)
        for k in range(level):
            if shape.outputs[k] >= 0:
                columns[shape.outputs[k]] = cp.empty(n, np.uint32 if shape.vertex[k] else np.int64)
                addresses[k] = columns[shape.outputs[k]].data.ptr
        first = cp.empty(n, np.uint32) if shape.seeds else None
        self._plain(
            "extend_gather",
            n,
            *(self.plan, self.on_device, _i32(level), _u64(n), _u64(0) if chosen is None else chosen),
            *(cp.asarray(addresses), _u64(0) if first is None else first),
        )
        return DeviceRows(n, columns, None if first is None else self.first_rows[first])

    # -- launching ---------------------------------------------------------------------------------------------

    def _launch_tiles(self, name: str, level: int, n: int, offsets: Any, begin: int, end: int, *to: Any) -> None:
        self.ticket.fill(0)
        tiles = -(-(end - begin) // self.tile)
        arguments = (self.on_device, _i32(level), _u64(n), offsets, _u64(begin), _u64(end), _u64(self.tile), *to)
        self._launch(name, tiles, level, level, *arguments, self.ticket)

    def _launch(self, name: str, warps: int, level: int, depth: int, *arguments: Any) -> None:
        """Launch a kernel of windows on at most ``warps`` warps."""
        each = _window_bytes(depth, self.shape.operands[level] if level < self.shape.levels else 0)
        together = max(1, min(_WARPS, _SHARED_BYTES // each))
        kernel = self._kernel(name)
        blocks = self.device.resident_blocks(kernel, together * _LANES, together * each)
        grid = max(1, min(blocks, -(-warps // together)))
        kernel((grid,), (together * _LANES,), (self.plan, *arguments), together * each)

    def _plain(self, name: str, threads: int, *arguments: Any) -> None:
        kernel = self._kernel(name)
        blocks = self.device.resident_blocks(kernel, 256, 0)
        kernel((max(1, min(blocks, -(-threads // 256))),), (256,), arguments)

    def _kernel(self, name: str) -> Any:
        if name not in self._kernels:
            self._kernels[name] = self.device.kernel("extend", name, self.macros)
        return self._kernels[name]


@dataclass(slots=True)
class _Table:
    """What a level is bound to in each row of a table, and the row before that it extends; ``n`` rows so far."""

    size: int
    vertex: bool
    n: int = 0
    values: Any = field(init=False)
    parents: Any = field(init=False)

    def __post_init__(self) -> None:
        self.values = cupy().empty(self.size, np.uint32 if self.vertex else np.int64)
        self.parents = cupy().empty(self.size, np.uint32)

    @property
    def room(self) -> int:
        """Rows that can be appended."""
        return self.size - self.n


def _window_bytes(depth: int, operands: int) -> int:
    """Return the shared memory of one warp, as ``window_bytes`` of ``extend.cu``."""
    size = 8 * _LANES * (depth + operands) + 8 * (_LANES + 1) + _STEP_BYTES * _LANES
    return (size + 4 * _LANES * operands + 7) & ~7


def _u64(value: int) -> Any:
    return np.uint64(value)


def _i32(value: int) -> Any:
    return np.int32(value)
