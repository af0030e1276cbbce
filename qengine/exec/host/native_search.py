"""The native search: begun, asked for rows or its total, and closed."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine.exec.common.resolve import ResolvedSearch
from qengine.exec.context import ExecutionContext
from qengine.storage.arrays import address_of

WAIT_MS = 20
"""The native search is asked again after this long, so that Python can handle Ctrl-C."""


class SearchHandle:
    """A search that native threads work at, until it is closed.

    Parameters
    ----------
    seeds
        int64[rows] for each seed level.
    rows
        Input rows, 1 for a search without seeds.
    chunk_rows
        Rows that are handed over at once.

    Raises
    ------
    QueryTimeout, QueryInterrupted, OutOfMemory, ResourceError
        By the context's limits; also from ``wait`` and ``take``.
    """

    def __init__(
        self,
        resolved: ResolvedSearch,
        seeds: Sequence[npt.NDArray[np.int64]],
        rows: int,
        context: ExecutionContext,
        chunk_rows: int,
    ) -> None:
        self._handle: ctypes.c_void_p | None = ctypes.c_void_p()
        self._library = _library()
        self._context = context
        self._n_levels = len(resolved.tables[0])
        arrays = [np.ascontiguousarray(seed, dtype=np.int64) for seed in seeds]
        addresses = _native.array_of(ctypes.c_void_p, len(arrays))(*map(address_of, arrays))
        self._keep = resolved, arrays, addresses
        status = self._library.qe_search_open(
            address_of(resolved.plan), ctypes.byref(context.control), rows, addresses, chunk_rows,
            ctypes.byref(self._handle),
        )  # fmt: skip
        context.raise_for(status)

    def wait(self, milliseconds: int = WAIT_MS) -> tuple[int, bool]:
        """Return how many rows there are to take, and whether none will follow."""
        n, done = ctypes.c_int64(), ctypes.c_int32()
        status = self._library.qe_search_wait(self._handle, milliseconds, ctypes.byref(n), ctypes.byref(done))
        self._context.raise_for(status)
        return n.value, bool(done.value)

    def take(self, n: int, width: int) -> npt.NDArray[np.int64]:
        """Return the rows that there are, int64[width, n]: input rows, outputs, counts where the search counts.

        Input rows are undefined without seeds. Many rows are read where the search wrote them, which gets that memory
        back for others once nobody reads them any more.
        """
        lent, first, capacity = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int64()
        status = self._library.qe_search_lend(
            self._handle, ctypes.byref(lent), ctypes.byref(first), ctypes.byref(capacity)
        )
        self._context.raise_for(status)
        if lent:
            return np.asarray(_Lent(lent, first.value or 0, (width, n), capacity.value))
        data = np.empty((width, n), np.int64)
        begin = address_of(data)
        columns = _native.array_of(ctypes.c_void_p, width)(*(begin + 8 * n * k for k in range(width)))
        self._context.raise_for(self._library.qe_search_take(self._handle, columns))
        return data

    def put(self, columns: Sequence[npt.NDArray[np.int64]]) -> None:
        """Give back rows of a search that neither has seeds nor counts: an array for each output."""
        arrays = [np.ascontiguousarray(each, dtype=np.int64) for each in columns]
        addresses = _native.array_of(ctypes.c_void_p, len(arrays))(*map(address_of, arrays))
        self._context.raise_for(self._library.qe_search_put(self._handle, len(arrays[0]), addresses))

    def attach(self, sink: ctypes.c_void_p) -> bool:
        """Give the rows that aren't yet taken to a native sink; False where the search has ended and few are left.

        ``wait`` then tells of the rows that the sink gives, once all are found. The sink must be freed after ``close``.
        """
        attached = ctypes.c_int32()
        self._context.raise_for(self._library.qe_search_attach(self._handle, sink, ctypes.byref(attached)))
        return bool(attached.value)

    def total(self) -> int:
        """Return the count of a search that is done and neither has seeds nor walks."""
        most = max(1, self._n_levels)
        halves = _native.array_of(ctypes.c_uint64, 2 * most)()
        n = self._library.qe_search_totals(self._handle, halves, most)
        return prod(halves[place] + (halves[place + 1] << 64) for place in range(0, 2 * n, 2))

    def close(self) -> None:
        """Stop the search if it still runs, and free it."""
        handle, self._handle = self._handle, None  # first: a signal may come in once it is freed
        if handle:
            self._library.qe_search_close(handle)

    def __del__(self) -> None:  # its threads read what it keeps, and a signal may come in before anybody would close it
        self.close()


class _Lent:
    """Rows of a search, given back when the last array over them is gone."""

    def __init__(self, lent: ctypes.c_void_p, address: int, shape: tuple[int, int], capacity: int) -> None:
        self._lent = lent
        self._return = _library().qe_search_return
        self.__array_interface__ = {
            "data": (address, False), "shape": shape, "strides": (8 * capacity, 8), "typestr": "<i8", "version": 3,
        }  # fmt: skip

    def __del__(self) -> None:
        self._return(self._lent)


_library = _native.declared(
    "qe_search_open p p i8 p i8 p; qe_search_wait p i8 p p; qe_search_take p p; qe_search_lend p p p p; "
    "qe_search_put p i8 p; qe_search_attach p p p; qe_search_return p -> none; qe_search_totals p p i4; "
    "qe_search_close p -> none"
)
