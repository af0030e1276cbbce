"""The type of NumPy arrays in signatures, where their elements are, and sums that plans may depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

Array = np.ndarray[Any, np.dtype[Any]]


def address_of(array: Array) -> int:
    """Return where the elements of a contiguous array are: as ``array.ctypes.data``, in a sixth of its 2 µs."""
    return int(pa.py_buffer(array).address)


def dot(numbers: Array, weights: Array) -> float:
    """Return the sum of products, added up in the same order on every machine.

    NumPy's own product of two vectors is BLAS's, which adds up as many parts as there are cores.
    """
    return float((numbers * weights).sum())


MANY_RANGES = 64
"""Ranges of ids, of nodes with some labels, from which on these are told by a bit each, or read as one slice."""

_FEW_RANGES = 4  # that are looked at one by one


def in_ranges(ids: Array, ranges: Array) -> Array:
    """Return which ids lie in one of some ranges ``[begin, end)`` (k, 2), which ascend: bool."""
    if len(ranges) > _FEW_RANGES:
        places: Array = np.searchsorted(ranges.reshape(-1).astype(ids.dtype), ids, side="right")
        return (places & 1).astype(np.bool_)
    inside: Array = np.zeros(len(ids), np.bool_)
    for begin, end in ranges.tolist():
        inside |= (ids >= begin) & (ids < end)
    return inside
