"""The first rows of a search by some order, found on the device: only they cross the link (``kernels/cuda/fold``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._frozen import frozen
from qengine.exec.common.element_columns import Numbers
from qengine.exec.common.fold_plan import COLUMN, MOST_VARIABLES
from qengine.exec.common.resolve import ResolvedSearch, resolve
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.arrays import working
from qengine.exec.gpu.dealing import each_device, shares_in_words
from qengine.exec.gpu.fold_search import columns_of, extending, lent_folds
from qengine.exec.gpu.folds import DeviceFolds, rows_record
from qengine.exec.gpu.launch import launch_pass
from qengine.exec.gpu.spread import is_spread, search_parts
from qengine.exec.view import ExecView, MaskProvider
from qengine.plan.physical import Search, check_device_levels

SORT_KEY = _native.record("COLUMN column; i4 descending unused", COLUMN=COLUMN)
"""Mirror of ``SortKey`` of ``kernels/cuda/fold/first_rows.cu``."""

_WHAT = "rows to be ordered"
_FIRST_PIECE, _MOST_PIECE = 1 << 16, 1 << 22
_GROWTH = 4
"""Rows that are looked at together: few at first, so that there soon is a bound."""
_KEPT = 1 << 16
"""Rows at least that wait to be ordered."""


def first_of_search(
    store: ExecView,
    search: Search,
    keys: Sequence[tuple[str, Numbers, bool]],
    limit: int,
    context: ExecutionContext,
    masks: MaskProvider,
) -> dict[str, npt.NDArray[np.int64]] | None:
    """Return the first rows of a search without seeds; None where there is no room, or where rows are counted.

    Parameters
    ----------
    keys
        The most significant first: a variable, the numbers of its elements, and whether they ascend. Elements without
        a number come last, or where they descend first.
    limit
        How many, at least 1.

    Returns
    -------
    dict
        The ids of what the search emits, int64, in no given order: ``limit`` rows or as many as there are, from each of
        the devices that share a search that takes long.

    Raises
    ------
    DeviceError
        If there is no usable device.
    Unsupported
        If the search has more levels than the device's kernels take.
    """
    check_device_levels(len(search.levels))
    if len({name for name, _, _ in keys}) > MOST_VARIABLES:
        return None
    wanted = _Wanted(store, keys, limit)
    if not is_spread(search, context):
        return wanted.alone(search, context, masks)
    found, taken = each_device(context, search_parts(store, search, context, masks), wanted.of)
    context.note(search, shares_in_words(taken))
    if None in found:
        return None
    none: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]  # a device may have come too late for a part
    return {name: np.concatenate(none + [each[name] for each in found if each]) for name in search.emit}


@frozen
class _Wanted:
    """Which rows are the first, and how many are wanted."""

    store: ExecView
    keys: Sequence[tuple[str, Numbers, bool]]
    limit: int

    def alone(
        self, search: Search, context: ExecutionContext, masks: MaskProvider
    ) -> dict[str, npt.NDArray[np.int64]] | None:
        """Return the first rows of a search on the current device; None as of ``first_of_search``."""
        with lent_folds(self.store, context) as lent:
            resolved = resolve(self.store, search, lent.masks(masks))
            if resolved is None:
                return {name: np.empty(0, np.int64) for name in search.emit}
            first = _First(lent, resolved.outputs, self.keys, self.limit)
            return first.rows() if self._add(lent, search, resolved, first) else None

    def of(
        self, parts: Iterator[tuple[Search, ResolvedSearch]], context: ExecutionContext
    ) -> dict[str, npt.NDArray[np.int64]] | None:
        """Return the first rows of parts of a search on the current device; None as of ``first_of_search``."""
        with lent_folds(self.store, context) as lent:
            first: _First | None = None
            for search, resolved in parts:
                first = first or _First(lent, resolved.outputs, self.keys, self.limit)
                if not self._add(lent, search, resolved, first):
                    return None
            return {} if first is None else first.rows()

    def _add(self, lent: DeviceFolds, search: Search, resolved: ResolvedSearch, first: _First) -> bool:
        with extending(lent, resolved) as extension:
            if extension is None or extension.shape.rows < extension.shape.levels:
                return False
            for rows in extension.rows([], 1):
                for columns in columns_of(rows, resolved, search, resolved.outputs):
                    first.add(columns, rows.n)
        return True


class _First:
    """The first rows so far, and the keys of the last of them."""

    def __init__(
        self, lent: DeviceFolds, names: Sequence[str], keys: Sequence[tuple[str, Numbers, bool]], limit: int
    ) -> None:
        self._lent, self._names, self._limit = lent, list(names), limit
        read = sorted({name for name, _, _ in keys})
        self._read = [self._names.index(name) for name in read]
        records = [(lent.column(read.index(name), numbers), not ascends, 0) for name, numbers, ascends in keys]
        self._block = lent.uploaded(np.array(records, SORT_KEY))
        self._keys = np.uint64(self._block.ptr), np.int32(len(keys))
        self._piece = _FIRST_PIECE
        self._ids: list[list[Any]] = [[] for _ in names]
        self._numbers: list[Any] = []  # of the same rows, int64[keys, n] each
        self._waiting = 0
        self._bound: Any = None

    def add(self, columns: Sequence[Any], n: int) -> None:
        """Look at rows: for each name ``cupy.ndarray`` of uint32 or int64[n]."""
        begin = 0
        while begin < n:
            end = min(n, begin + self._piece)
            self._add([column[begin:end] for column in columns], end - begin)
            begin, self._piece = end, min(_MOST_PIECE, _GROWTH * self._piece)

    def _add(self, columns: Sequence[Any], n: int) -> None:
        record = rows_record([columns[k] for k in self._read], 0, n, None, 1)
        with working(self._lent.run, _WHAT) as cp:
            if self._bound is None:
                chosen = cp.flatnonzero(cp.ones(n, np.uint8))
            else:
                within = cp.empty(n, np.uint8)
                launch_pass(self._lent.run, "first_rows", "first_within", n, *self._keys, record, self._bound, within)
                chosen = cp.flatnonzero(within)
            if len(chosen):
                numbers = cp.empty((int(self._keys[1]), len(chosen)), np.int64)
                launch_pass(
                    self._lent.run,
                    "first_rows",
                    "first_keys",
                    len(chosen),
                    *self._keys,
                    record,
                    chosen,
                    np.uint64(len(chosen)),
                    numbers,
                )
                self._numbers.append(numbers)
                for kept, column in zip(self._ids, columns, strict=True):
                    kept.append(column[chosen])
                self._waiting += len(chosen)
        self._lent.run.wait()
        if self._waiting > max(_KEPT, 2 * self._limit) or (self._bound is None and self._waiting >= self._limit):
            self._select()

    def _select(self) -> None:
        """Leave the first rows alone, and note the last of them."""
        with working(self._lent.run, _WHAT) as cp:
            numbers = cp.concatenate(self._numbers, axis=1)
            ids = [cp.concatenate(kept) for kept in self._ids]
            if numbers.shape[1] > self._limit:
                order = cp.lexsort(numbers[::-1])[: self._limit]
                numbers, ids = numbers[:, order], [column[order] for column in ids]
                self._bound = cp.ascontiguousarray(numbers[:, self._limit - 1])
            self._numbers, self._ids = [numbers], [[column] for column in ids]
            self._waiting = numbers.shape[1]

    def rows(self) -> dict[str, npt.NDArray[np.int64]]:
        """Return the first rows of all."""
        if not self._waiting:
            return {name: np.empty(0, np.int64) for name in self._names}
        self._select()
        found = {}
        for name, (column,) in zip(self._names, self._ids, strict=True):
            ids = self._lent.run.fetched(column.data.ptr, len(column), column.dtype.type)
            found[name] = ids.astype(np.int64)
        return found
