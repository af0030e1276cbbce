"""The index by which triangles of pairs are counted: rows of bits, which follow from a symmetric matrix alone."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from qengine import _native
from qengine.exec.context import ExecutionContext
from qengine.exec.cpu.relations import MATRIX, SparseMatrix

__all__ = ["TriangleIndex"]


class TriangleIndex:
    """The native index of a matrix; any number of threads may count by it. ``nbytes``: what it takes.

    Parameters
    ----------
    matrix
        One with ``pairs`` and without factors.
    context
        Limits for making it.

    Raises
    ------
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits.
    """

    def __init__(self, matrix: SparseMatrix, context: ExecutionContext) -> None:
        self._library = _library()
        self._handle = ctypes.c_void_p()
        self._matrix = matrix  # whose arrays the index points into
        size = ctypes.c_uint64()
        record = np.array([matrix.record()], MATRIX)
        results = ctypes.byref(self._handle), ctypes.byref(size)
        context.run(
            self._library.qe_eliminate_triangle_index, record.ctypes.data, *results, ctypes.byref(context.control)
        )
        self.nbytes = size.value

    def count(self, context: ExecutionContext, out: Any) -> None:
        """Write to ``out`` (uint32, one an entry of the matrix) how many vertices are linked to both ends.

        Raises
        ------
        QueryTimeout, QueryInterrupted, OutOfMemory
            By the context's limits; the index counts as if it were made anew.
        """
        context.run(self._library.qe_eliminate_triangles, self._handle, out.ctypes.data, ctypes.byref(context.control))

    def __del__(self) -> None:
        if handle := getattr(self, "_handle", None):
            self._library.qe_eliminate_triangle_index_close(handle)


@cache
def _library() -> ctypes.CDLL:
    library = _native.load()
    pointer = ctypes.c_void_p
    library.qe_eliminate_triangle_index.argtypes = (pointer, pointer, pointer, pointer)
    library.qe_eliminate_triangles.argtypes = (pointer, pointer, pointer)
    library.qe_eliminate_triangle_index_close.argtypes = (pointer,)
    library.qe_eliminate_triangle_index_close.restype = None
    return library
