"""SuiteSparse:GraphBLAS through python-graphblas."""

from __future__ import annotations

import graphblas
import numpy as np
from graphblas import Matrix, binary, monoid, semiring

from tests.bench.engines.algebra import Algebra
from tests.bench.engines.base import THREADS

_BLOCK = 1 << 12


class GraphBLAS(Algebra):
    """Masked products with the plus-pair semiring, which needs no values."""

    def build(self, size: int, low: np.ndarray, high: np.ndarray) -> None:
        graphblas.ss.config["nthreads"] = THREADS
        ones = np.ones(len(low), np.int64)
        self._upper = Matrix.from_coo(low, high, ones, nrows=size, ncols=size)
        both = np.concatenate([low, high]), np.concatenate([high, low])
        self._both = Matrix.from_coo(*both, np.ones(2 * len(low), np.int64), nrows=size, ncols=size)

    def triangles(self) -> int:
        closed = self._upper.mxm(self._upper.T, semiring.plus_pair).new(mask=self._upper.S)
        return int(closed.reduce_scalar(monoid.plus).get(0))

    def triangles_by_vertex(self) -> np.ndarray:
        closed = self._both.mxm(self._both, semiring.plus_pair).new(mask=self._both.S)
        found: np.ndarray = closed.reduce_rowwise(monoid.plus).new().to_dense(fill_value=0)
        return found.astype(np.int64) // 2

    def diamonds(self) -> int:
        return _pairs(self._both.mxm(self._both, semiring.plus_pair).new(mask=self._upper.S))

    def pairs_of_wedges(self) -> int:
        total = 0
        for first in range(0, self._both.nrows, _BLOCK):
            rows = self._both[first : first + _BLOCK, :].new()
            total += _pairs(rows.mxm(self._both, semiring.plus_pair).new())
        return total


def _pairs(counts: Matrix) -> int:
    """Sum x (x - 1) / 2 over the entries."""
    squares = counts.ewise_mult(counts, binary.times).reduce_scalar(monoid.plus).get(0)
    return int(squares - counts.reduce_scalar(monoid.plus).get(0)) // 2
