"""Matrices by descending length of rows, all together: what cliques and closed walks along several are counted by."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine.exec.common.relations import MATRIX, SparseMatrix
from qengine.exec.context import ExecutionContext

Array = npt.NDArray[Any]


class RankedMatrices:
    """The native index of matrices: which vertex comes when, and the rows so; any number of threads may count by it.

    ``nbytes``: what it takes. ``plain``: whether the matrices have no loops and repeats; else nothing may be counted.

    Parameters
    ----------
    matrices
        Without numbers.
    symmetric
        Of each whether it is the same from both ends.
    n
        The number of vertices.
    context
        Limits for making it.
    """

    def __init__(
        self, matrices: Sequence[SparseMatrix], symmetric: Sequence[bool], n: int, context: ExecutionContext
    ) -> None:
        self._library = _library()
        self._handle = ctypes.c_void_p()
        size, plain = ctypes.c_uint64(), ctypes.c_int32()
        records = np.array([each.record() for each in matrices], MATRIX)
        ways = np.array(symmetric, np.int32)
        given = records.ctypes.data, ways.ctypes.data, len(matrices), n
        results = ctypes.byref(self._handle), ctypes.byref(size), ctypes.byref(plain)
        context.run(self._library.qe_ranked_matrices, *given, *results, ctypes.byref(context.control))
        self.nbytes = size.value
        self.plain = bool(plain.value)

    @property
    def address(self) -> int:
        """Where the native index is."""
        return self._handle.value or 0

    def lists(self, n: int, context: ExecutionContext) -> tuple[Array, Array, Array, Array]:
        """Return of each vertex those before it that a matrix links it with: offsets, ids, planes; and the order.

        All by rank. Bit 2 m of ``planes``: matrix m links it with the other; bit 2 m + 1: that one with it, unless the
        matrix is symmetric. At most 8 matrices.
        """
        offsets = np.empty(n + 1, np.uint64)
        order = np.empty(n, np.uint32)
        control = ctypes.byref(context.control)
        of = self._handle, offsets.ctypes.data
        context.run(self._library.qe_ranked_lists, *of, None, None, None, control)
        ids, planes = np.empty(int(offsets[-1]), np.uint32), np.empty(int(offsets[-1]), np.uint16)
        to = ids.ctypes.data, planes.ctypes.data, order.ctypes.data
        if len(ids):
            context.run(self._library.qe_ranked_lists, *of, *to, control)
        return offsets, ids, planes, order

    def __del__(self) -> None:
        if handle := getattr(self, "_handle", None):
            self._library.qe_ranked_matrices_close(handle)


_library = _native.declared(
    "qe_ranked_matrices p p i4 u4 p p p p; qe_ranked_lists p p p p p p; qe_ranked_matrices_close p -> none"
)
