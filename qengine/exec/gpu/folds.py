"""Rows folded into groups on the device, as ``exec.host.folds`` does on the host (``kernels/cuda/fold``)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine.exec.common.dealing import computed
from qengine.exec.common.element_columns import Keyed, Numbers
from qengine.exec.common.fold_plan import (
    DISTINCT,
    GREATEST,
    LEAST,
    MOST_VARIABLES,
    PLAN,
    Condition,
    EntryLists,
    Ids,
    Task,
    column_record,
    condition_records,
    key_records,
    lists_record,
    split_columns,
    task_records,
)
from qengine.exec.common.on_device import OnDevice
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.arrays import working
from qengine.exec.gpu.fold_parts import FoldedPart, can_be_put_together, different_in, put_together
from qengine.exec.gpu.launch import DeviceRun, launch_pass
from qengine.exec.gpu.memory import Resident
from qengine.exec.gpu.predicates import device_masks
from qengine.exec.gpu.upload import resident_array
from qengine.exec.view import ExecView, MaskProvider

TABLE = _native.record("PLAN plan; u8 slots codes empty groups places; u4 copies unused", PLAN=PLAN)
"""Mirror of ``qe::fold::DeviceTable``."""

ROWS = _native.record(f"u8[{MOST_VARIABLES}] ids; u8 weights n times; u4 wide unused")
"""Mirror of ``FoldRows`` of ``kernels/cuda/fold/fold.cu``."""

_WHAT = "groups"
_DENSE_SHARE = 8
"""Of the free memory, what a table with a place for each possible group may take."""
_DENSE_BYTES = 1 << 30
_COPIED_SLOTS = 1 << 16
"""Of all copies of a table of few groups."""
_MOST_COPIES = 1 << 13
_PIECE = 1 << 26
"""Rows between two looks at the limits: some milliseconds. A multiple of the tile of ``fold_entries``."""
_HASHED_PIECE = 1 << 22
_SHARE = 1 << 10
"""Places that a warp looks over for groups."""
_DISTINCT_SHARE, _DISTINCT_BYTES = 64, 1 << 27
"""For the bits of one aggregate, an eighth of what a dense table may take: a hashed one has no room for so many."""


class DeviceFolds:
    """Makes folds on the device that a query has lent, and holds what they read there.

    Parameters
    ----------
    run
        The query's work on the device.
    store
        The graph.
    """

    def __init__(self, run: DeviceRun, store: ExecView) -> None:
        self.run = run
        self.store = store
        self._held: list[Resident] = []
        self._blocks: dict[tuple[int, int], tuple[Any, Any]] = {}  # by the host's address and bytes: array, and copy

    @property
    def distinct_bytes(self) -> int:
        """Bytes that bits of different values may take in a table."""
        return min(_DISTINCT_BYTES, self.run.free_bytes() // _DISTINCT_SHARE)

    def make(
        self,
        names: Sequence[str],
        keys: Sequence[tuple[str, Keyed]],
        tasks: Sequence[Task],
        most: int,
        rows: int,
        context: ExecutionContext,
    ) -> DeviceFold:
        """Return a fold. Parameters as of ``exec.host.folds.Fold``; ``OutOfMemory`` also of the device's memory."""
        return DeviceFold(self, names, keys, tasks, most)

    def masks(self, masks: MaskProvider) -> MaskProvider:
        """Return what evaluates predicates on the device, those of few elements as given."""
        return device_masks(masks, self.run)

    def close(self) -> None:
        """Let go of what the folds have read."""
        for resident in self._held:
            self.run.memory.unpin(resident)
        self._held.clear()
        self._blocks.clear()

    def column(self, variable: int, numbers: Numbers) -> tuple[int, ...]:
        """Return a ``COLUMN`` of numbers of a variable, with the device's addresses."""
        values, valid = 0, 0
        if numbers.values is not None:
            values = self.place(numbers.values, stored=numbers.stored)
        if numbers.validity:
            valid = self.place(np.frombuffer(numbers.keep.buffers()[0], np.uint8), stored=numbers.stored)
        return column_record(variable, numbers, values, valid)

    def uploaded(self, records: npt.NDArray[Any]) -> Any:
        """Return a block with a copy of records."""
        block = self.run.allocate(max(1, records.nbytes), _WHAT)
        self.run.write(block, records)
        return block

    def place(self, array: npt.NDArray[Any] | OnDevice, *, stored: bool) -> int:
        """Return where an array is on the device, copied there if need be; ``stored``: it is the graph's, and stays."""
        if isinstance(array, OnDevice):
            return array.address
        if not array.nbytes:
            return 0
        if stored:
            return resident_array(self.store, array, self.run, self._held, "properties")
        name = array.ctypes.data, array.nbytes
        if name not in self._blocks:
            block = self.run.allocate(array.nbytes, "values of expressions")
            self.run.write(block, array)
            self._blocks[name] = array, block
        return int(self._blocks[name][1].ptr)


class DeviceFold:
    """Groups of rows and their records on the device, as ``exec.host.folds.Fold``."""

    def __init__(
        self,
        folds: DeviceFolds,
        names: Sequence[str],
        keys: Sequence[tuple[str, Keyed]],
        tasks: Sequence[Task],
        most: int,
    ) -> None:
        self._folds = folds
        self._run = folds.run
        self._names = list(names)
        self._given = names, keys, tasks, most
        self._together: FoldedPart | None = None  # what several devices have folded
        self._places = [key.places for _, key in keys]
        self._most, self._total = most, 0
        self._columns = [1 if task.operation == DISTINCT else task.digits for task in tasks]
        self._slots = sum(task.digits for task in tasks)
        self._records = tuple(
            folds.uploaded(each) for each in (key_records(keys, self._column), task_records(tasks, self._column))
        )
        self._empty = self._folds.uploaded(_empty_record(tasks))
        self._found: tuple[Any, int] | None = None  # the places of groups in their order, and how many
        places = prod(self._places)
        self._hashed = 8 * places * self._slots > min(_DENSE_BYTES, self._run.free_bytes() // _DENSE_SHARE)
        if self._hashed:
            self._groups = self._run.zeroed(8, _WHAT)
            self._table, self._blocks = self._new_table(2 * _HASHED_PIECE, 1)
        else:
            copies = max(1, min(_MOST_COPIES, _COPIED_SLOTS // (places * self._slots)))
            self._table, self._blocks = self._new_table(places, copies)

    # ------------------------------------------------------------ rows

    def add_rows(self, columns: Sequence[Any], n: int, weights: Any | None, times: int) -> bool:
        """Fold rows that are on the device; False, and nothing done, if their weights add up to too much.

        Parameters
        ----------
        columns
            For each variable ``cupy.ndarray`` of uint32 or int64[n].
        weights
            uint64[n], how often each row counts, ``times`` as often; None: once.
        """
        total = times * (n if weights is None else self._weighed(weights, n))
        if self._total + total > self._most:
            return False
        self._total += total
        for begin, end in self._pieces(0, n):
            rows = rows_record(columns, begin, end, weights, times)
            self._pass("fold_rows", end - begin, self._table, rows)
        return True

    def add_vertices(self, begin: int, end: int, admitted: Any = None) -> None:
        """Fold vertices, as ``exec.host.folds.Fold.add_vertices``."""
        if admitted is not None and not isinstance(admitted, OnDevice):
            admitted = np.ascontiguousarray(admitted).view(np.uint8)
        wanted = 0 if admitted is None else self._folds.place(admitted, stored=False)
        for first, last in self._pieces(begin, end):
            some = np.uint64(wanted + first - begin if wanted else 0)
            self._pass("fold_vertices", last - first, self._table, np.uint64(first), np.uint64(last - first), some)

    def add_entries(self, lists: EntryLists, conditions: Sequence[Condition]) -> None:
        """Fold entries of lists, as ``exec.host.folds.Fold.add_entries``."""
        place = self._folds.place
        owned = [0 if each is None else place(each, stored=True) for each in lists.arrays[:3]]
        admitted = [0 if each is None else place(each, stored=False) for each in lists.arrays[3:]]
        record = lists_record(lists, self._names, [*owned, *admitted])
        compared = self._folds.uploaded(condition_records(conditions, self._column))
        for begin, end in self._pieces(0, int(lists.begins[-1])):
            self._pass(
                "fold_entries", end - begin, self._table, record, np.uint64(compared.ptr),
                np.int32(len(conditions)), np.uint64(begin), np.uint64(end),
            )  # fmt: skip

    # ------------------------------------------------------------ groups

    def groups(self) -> tuple[list[Ids], list[list[Ids]]]:
        """Return the codes of each key and the columns of each task, as ``exec.host.folds.Fold.groups``."""
        part = self._together or self.part()
        return _key_codes(part.codes, self._places, self._run.context), split_columns(part.columns, self._columns)

    def part(self) -> FoldedPart:
        """Return the groups of the rows that were folded here."""
        places, codes, n = self._taken()
        width = sum(self._columns)
        if not n:
            return FoldedPart(np.empty(0, np.uint64), np.empty((width, 0), np.int64), self._total)
        with self._run.context.memory.holding("Aggregate") as holding:
            holding.also(8 * n * (2 * width + 2 * len(self._places) + 3))
        columns = self._run.allocate(8 * width * n, _WHAT)
        self._pass("fold_gather", n, self._table, places, np.uint64(n), np.uint64(columns.ptr))
        found = self._run.fetched(columns.ptr, width * n, np.int64).reshape(width, n)
        named = self._run.fetched(codes.data.ptr, n, np.uint64) if self._places else np.zeros(n, np.uint64)
        return FoldedPart(named, found, self._total)

    # ------------------------------------------------------------ several devices

    @property
    def can_be_spread(self) -> bool:
        """Whether several devices can fold some of the rows each."""
        return can_be_put_together(self._given[2])

    def like(self, folds: DeviceFolds) -> DeviceFold:
        """Return the same fold, without rows, on the device of others."""
        return DeviceFold(folds, *self._given)

    def take(self, parts: Sequence[FoldedPart]) -> bool:
        """Let this have the groups of such folds in place of its own; False if weights add up to too much."""
        self._together = put_together(parts, self._given[2])
        return self._together.weight <= self._most

    # ------------------------------------------------------------

    def different(self, of: DeviceFold) -> Ids:
        """Return how many groups there are of each of another's, as ``exec.host.folds.Fold.different``."""
        if self._together is not None and of._together is not None:
            return different_in(self._together, of._together, self._places[-1])
        assert of._found is not None
        places, n = of._found
        self._merge()
        counts = self._run.zeroed(8 * int(of._table["places"][0]), _WHAT)
        self._pass("fold_different", int(self._table["places"][0]), self._table, of._table, np.uint64(counts.ptr))
        chosen = self._run.allocate(8 * max(1, n), _WHAT)
        self._pass("fold_chosen", n, np.uint64(counts.ptr), places, np.uint64(n), np.uint64(chosen.ptr))
        return self._run.fetched(chosen.ptr, n, np.int64)

    def close(self) -> None:
        """Free it."""

    def _merge(self) -> None:
        """Make one table of all copies."""
        if self._table["copies"][0] > 1:
            self._pass("fold_merge", int(self._table["places"][0]) * self._slots, self._table)
            self._table["copies"] = 1

    def _taken(self) -> tuple[Any, Any, int]:
        """Return the places of all groups, in the order of their codes, these (uint64), and how many there are."""
        table, size = self._table, int(self._table["places"][0])
        self._merge()
        shares = -(-size // _SHARE)
        sizes = np.uint64(_SHARE), np.uint64(shares)
        with working(self._run, _WHAT) as cp:
            counts = cp.empty(shares, np.int64)
            self._pass("fold_taken", 32 * shares, table, *sizes, counts)
            ends = cp.cumsum(counts)
            n = int(self._run.fetched(ends.data.ptr + 8 * (shares - 1), 1, np.int64)[0])
            places, codes = cp.empty(n, np.int64), cp.empty(n, np.uint64)
            if n:
                self._pass("fold_places", 32 * shares, table, *sizes, ends, places, codes)
            if self._hashed:
                order = cp.argsort(codes)
                places, codes = places[order], codes[order]
        self._found = places, n
        return places, codes, n

    # ------------------------------------------------------------ inside

    def _pieces(self, begin: int, end: int) -> Any:
        """Yield the parts of a range of rows; there is room for the groups of each."""
        piece = _HASHED_PIECE if self._hashed else _PIECE
        for first in range(begin, end, piece):
            last = min(end, first + piece)
            if self._hashed:
                self._reserve(last - first)
            yield first, last
            self._run.wait()

    def _reserve(self, n: int) -> None:
        """Make room for n groups more."""
        used = int(self._run.fetched(self._groups.ptr, 1, np.uint64)[0])
        wanted = int(self._table["places"][0])
        while 2 * (used + n) > wanted:
            wanted *= 2
        if wanted > self._table["places"][0]:
            before, blocks = self._table, self._blocks
            self._run.clear(self._groups, 8)
            self._table, self._blocks = self._new_table(wanted, 1)
            self._pass("fold_move", int(before["places"][0]), before, self._table)
            self._run.wait()
            blocks.clear()

    def _new_table(self, places: int, copies: int) -> tuple[Any, list[Any]]:
        """Return the record of a table without rows, and its blocks."""
        blocks = [self._run.allocate(8 * places * copies * self._slots, _WHAT)]
        if self._hashed:
            blocks.append(self._run.allocate(8 * places, _WHAT))
        table = np.zeros(1, TABLE)
        keys, tasks = self._records
        table["plan"] = (
            keys.ptr, tasks.ptr, prod(self._places), self._most, len(self._places), len(self._columns),
            self._slots, len(self._names), self._hashed, 0,
        )  # fmt: skip
        table["slots"], table["empty"] = blocks[0].ptr, self._empty.ptr
        if self._hashed:
            table["codes"], table["groups"] = blocks[1].ptr, self._groups.ptr
        table["places"], table["copies"] = places, copies
        self._pass("fold_clear", places * copies * self._slots, table)
        return table, blocks

    def _weighed(self, weights: Any, n: int) -> int:
        halves = self._run.zeroed(16, _WHAT)
        self._pass("fold_weigh", n, weights, np.uint64(n), np.uint64(halves.ptr))
        low, high = self._run.fetched(halves.ptr, 2, np.uint64).tolist()
        return int(low) + (int(high) << 32)

    def _column(self, name: str, numbers: Numbers) -> tuple[int, ...]:
        return self._folds.column(self._names.index(name), numbers)

    def _pass(self, name: str, threads: int, *arguments: Any) -> None:
        launch_pass(self._run, "fold", name, threads, *arguments)


def rows_record(columns: Sequence[Any], begin: int, end: int, weights: Any | None, times: int) -> npt.NDArray[Any]:
    """Return the ``ROWS`` record of some of the rows of device arrays: ids by variable, and how often each counts."""
    rows = np.zeros(1, ROWS)
    rows["wide"] = sum((column.dtype.itemsize == 8) << k for k, column in enumerate(columns))
    starts = [column.data.ptr + begin * column.dtype.itemsize for column in columns]
    rows["ids"][0, : len(starts)] = starts
    rows["weights"] = 0 if weights is None else weights.data.ptr + 8 * begin
    rows["n"], rows["times"] = end - begin, times
    return rows


def _empty_record(tasks: Sequence[Task]) -> Ids:
    """Return the slots of a group of no rows."""
    ends = {LEAST: np.iinfo(np.int64).max, GREATEST: np.iinfo(np.int64).min}
    return np.concatenate([np.full(task.digits, ends.get(task.operation, 0), np.int64) for task in tasks])


def _key_codes(codes: npt.NDArray[np.uint64], places: Sequence[int], context: ExecutionContext) -> list[Ids]:
    """Return the codes of each key, of those of groups."""
    if len(places) == 1:
        return [codes.view(np.int64)]
    keys: list[Ids] = []
    behind = 1
    for each in reversed(places):
        of, number = np.uint64(behind), np.uint64(each)
        keys.append(computed(len(codes), np.int64, partial(_code_of, codes, of, number), context))
        behind *= each
    return keys[::-1]


def _code_of(codes: npt.NDArray[np.uint64], behind: np.uint64, places: np.uint64, part: slice) -> npt.NDArray[Any]:
    return codes[part] // behind % places
