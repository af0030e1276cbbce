"""A hash table of an array's values, which tells the rows that have one (``kernels/host/load/value_index.cpp``)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from qengine import _native
from qengine.storage.arrays import Array

INTEGERS, FLOATS, DAYS, BITS, TEXTS, LARGE_TEXTS = range(6)
"""Kinds of values, as ``qe::ValueKind``."""

_MOST_BITS = 31

ValueColumn = _native.struct("qe::ValueColumn", "p values offsets valid; u8 first n; i4 kind")
_Table = _native.struct("qe::ValueIndex", "_Column column; p starts rows alike; u4 bits", _Column=ValueColumn)

Run = Callable[..., None]
"""Calls a native function with arguments, and raises by its status; ``reads``: as of ``ExecutionContext.run``."""

Check = Callable[[int], None]
"""Raises by a native function's status."""


def value_column(array: Any, kind: int) -> ctypes.Structure:
    """Return an array as a native function reads it; it must be kept."""
    buffers = [0 if each is None else each.address for each in array.buffers()]
    if kind >= TEXTS:
        width = 8 if kind == LARGE_TEXTS else 4
        offsets = buffers[1] + width * array.offset
        return ValueColumn(buffers[2], offsets, buffers[0], array.offset, len(array), kind)
    width = {BITS: 0, DAYS: 4}.get(kind, 8)
    return ValueColumn(buffers[1] + width * array.offset, 0, buffers[0], array.offset, len(array), kind)


def key_kind(array: Any) -> int:
    """Return the kind of an array of int64 or texts."""
    return INTEGERS if pa.types.is_int64(array.type) else TEXTS if pa.types.is_string(array.type) else LARGE_TEXTS


def table_bytes(count: int) -> int:
    """Return the most bytes that the table of so many values takes."""
    buckets = 1 << _bits(count)
    return 4 * count + 8 * buckets + (buckets + 7 >> 3)


def _bits(count: int) -> int:
    """Return which power of two the number of buckets is, for so many values: one or two a bucket."""
    return max(1, min(_MOST_BITS, count.bit_length() - 1))


class ValueTable:
    """Which rows of an array have a value; null and NaN are no values. Any number of threads may ask it.

    Parameters
    ----------
    array
        Of a kind's type; it is kept.
    kind
        Which.
    control
        What the native function looks at to stop.
    run
        Calls it.

    Attributes
    ----------
    unique
        Whether no two rows have equal values.
    nbytes
        Bytes of the table.
    """

    def __init__(self, array: Any, kind: int, control: ctypes.Structure, run: Run) -> None:
        bits = _bits(len(array))
        self._array = array
        starts, rows = np.empty((1 << bits) + 1, np.uint32), np.empty(len(array), np.uint32)
        self._kept = starts, rows, np.empty((1 << bits) + 7 >> 3, np.uint8)
        self.nbytes = sum(each.nbytes for each in self._kept)
        self._index = _Table(value_column(array, kind), *(each.ctypes.data for each in self._kept), bits)
        self.address = ctypes.addressof(self._index)
        unique = ctypes.c_int32()
        arguments = ctypes.byref(self._index), ctypes.byref(unique), ctypes.byref(control)
        run(_library().qe_value_index_build, *arguments, reads=len(array))
        self.unique = bool(unique.value)

    def pairs(self, keys: ctypes.Structure, control: ctypes.Structure, check: Check) -> tuple[Array, Array]:
        """Return (uint32 each) which of some keys are found, ascending, and in which rows, ascending for each key.

        ``keys``: a ``ValueColumn`` of the same kind; what it points into must be kept until then.
        """
        room, found = int(keys.n), ctypes.c_uint64()
        while True:
            pairs = np.empty(2 * room + 1, np.uint32)
            at = pairs.ctypes.data
            where = room, at, at + 4 * room, ctypes.byref(found), ctypes.byref(control)
            check(_library().qe_value_index_find(ctypes.byref(self._index), ctypes.byref(keys), *where))
            if found.value <= room:
                return pairs[: found.value], pairs[room : room + found.value]
            room = found.value


_library = _native.declared("qe_value_index_build p p p; qe_value_index_find p p u8 p p p p")
