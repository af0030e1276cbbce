"""SciPy's sparse matrices."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from tests.bench.engines.algebra import Algebra

_BLOCK = 1 << 12


class SciPy(Algebra):
    """Squares go by blocks of rows, since the whole square would not fit."""

    def build(self, size: int, low: np.ndarray, high: np.ndarray) -> None:
        ones = np.ones(len(low), np.int64)
        self._upper = scipy.sparse.csr_array((ones, (low, high)), shape=(size, size))
        self._both = (self._upper + self._upper.T).tocsr()

    def triangles(self) -> int:
        return int((self._upper @ self._upper).multiply(self._upper).sum())

    def triangles_by_vertex(self) -> np.ndarray:
        found = []
        for first in range(0, self._both.shape[0], _BLOCK):
            rows = self._both[first : first + _BLOCK]
            found.append((rows @ self._both).multiply(rows).sum(axis=1) // 2)
        return np.concatenate(found)

    def diamonds(self) -> int:
        total = 0
        for first in range(0, self._both.shape[0], _BLOCK):
            rows = self._upper[first : first + _BLOCK]
            triangles = (self._both[first : first + _BLOCK] @ self._both).multiply(rows).data
            total += int((triangles * (triangles - 1) // 2).sum())
        return total

    def pairs_of_wedges(self) -> int:
        total = 0
        for first in range(0, self._both.shape[0], _BLOCK):
            wedges = (self._both[first : first + _BLOCK] @ self._both).data
            total += int((wedges * (wedges - 1) // 2).sum())
        return total
