"""A symmetric matrix by descending length of rows: what triangles of pairs and closed walks are counted by."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from qengine import _native
from qengine.exec.common.relations import MATRIX, SparseMatrix
from qengine.exec.context import ExecutionContext


class RankedPairs:
    """The native index of a matrix: which vertex comes when, and the rows so; any number of threads may count by it.

    ``nbytes``: what it takes beside the matrix.

    Parameters
    ----------
    matrix
        One with ``pairs`` and without factors.
    context
        Limits for making it.
    """

    def __init__(self, matrix: SparseMatrix, context: ExecutionContext) -> None:
        self._library = _library()
        self._handle = ctypes.c_void_p()
        self._matrix = matrix  # whose arrays the index points into
        size = ctypes.c_uint64()
        record = np.array([matrix.record()], MATRIX)
        results = ctypes.byref(self._handle), ctypes.byref(size)
        context.run(self._library.qe_ranked_pairs, record.ctypes.data, *results, ctypes.byref(context.control))
        self.nbytes = size.value

    def count_triangles(self, context: ExecutionContext, out: Any) -> None:
        """Write to ``out`` (uint32, one an entry of the matrix) how many vertices are linked to both ends.

        Raises
        ------
        QueryTimeout, QueryInterrupted, OutOfMemory
            By the context's limits; the index counts as if it were made anew.
        """
        context.run(self._library.qe_triangle_counts, self._handle, out.ctypes.data, ctypes.byref(context.control))

    def corner_sums(self, context: ExecutionContext, weights: Any, wide: bool, out: Any) -> None:
        """Add to ``out``, at each vertex, the weights of the sides that lie across from it in its triangles.

        Parameters
        ----------
        weights
            One ``qe::eliminate::SideWeights`` record.
        wide
            Whether numbers have 128 bits.
        out
            A number for each vertex of the graph.

        Raises
        ------
        QueryTimeout, QueryInterrupted, ResourceError
            By the context's limits; if a number doesn't fit.
        """
        where = weights.ctypes.data, int(wide), out.ctypes.data, ctypes.byref(context.control)
        context.run(self._library.qe_triangle_corners, self._handle, *where)

    def closed_walks(self, context: ExecutionContext) -> int:
        """Return how many closed walks of four steps there are, over all vertices."""
        halves = _native.array_of(ctypes.c_uint64, 2)()
        context.run(self._library.qe_closed_walks, self._handle, halves, ctypes.byref(context.control))
        return int(halves[0] | halves[1] << 64)

    def long_walks(self, context: ExecutionContext, weights: Any | None = None) -> tuple[int, int, int]:
        """Return how many closed walks of five, of six and, weighted, of four steps there are, over all vertices.

        Those of four count as often as the vertex weighs that they begin at. The matrix has fewer than 2^32 entries.

        Parameters
        ----------
        weights
            One for each vertex of the graph (uint64), below 2^32. None: 0 each.
        """
        words = _native.array_of(ctypes.c_uint64, 6)()
        address = None if weights is None else weights.ctypes.data
        context.run(self._library.qe_long_closed_walks, self._handle, address, words, ctypes.byref(context.control))
        fives, sixes, weighted = (words[2 * k] | words[2 * k + 1] << 64 for k in range(3))
        return fives, sixes, weighted

    def __del__(self) -> None:
        if handle := getattr(self, "_handle", None):
            self._library.qe_ranked_pairs_close(handle)


_library = _native.declared(
    "qe_ranked_pairs p p p p; qe_triangle_counts p p p; qe_triangle_corners p p i4 p p; qe_closed_walks p p p; "
    "qe_long_closed_walks p p p p; qe_ranked_pairs_close p -> none"
)
