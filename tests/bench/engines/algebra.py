"""What the engines of linear algebra share: they count by hand-written formulas, not from a pattern."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from tests.bench.datasets import Dataset, PatternGraph
from tests.bench.engines.base import Engine, UnsupportedWorkloadError
from tests.bench.workloads import Answer, Workload


class Algebra(Engine):
    """Counts of the patterns that have a formula over the adjacency matrix; a subclass brings the products."""

    def load(self, dataset: Dataset) -> None:
        if not isinstance(dataset, PatternGraph) or dataset.label_count > 1:
            raise UnsupportedWorkloadError("algebra for one plain graph")
        self._size, self._low, self._high = dataset.arrays()
        self._out = np.bincount(self._low, minlength=self._size)
        self._in = np.bincount(self._high, minlength=self._size)
        self.build(self._size, self._low, self._high)

    def run(self, workload: Workload) -> Answer:
        match workload.name:
            case "triangle":
                return self.triangles()
            case "diamond":
                return self.diamonds()
            case "4-cycle":
                degree = self._out + self._in
                # Each pair of paths of two edges between two vertices is a cycle, met from four (ordered) pairs.
                return (self.pairs_of_wedges() - int((degree * (degree - 1) // 2).sum())) // 4
            case "tailed-triangle":
                return int(self.triangles_by_vertex() @ (self._out + self._in - 2))
            case "3-star":
                degree = self._out + self._in
                return int((degree * (degree - 1) * (degree - 2) // 6).sum())
            case "2-path":
                return int(self._in @ self._out)
            case "3-path":
                return int(self._in[self._low] @ self._out[self._high])
            case "4-path":
                before = np.bincount(self._high, self._in[self._low], self._size).astype(np.int64)
                after = np.bincount(self._low, self._out[self._high], self._size).astype(np.int64)
                return int(before @ after)
        raise UnsupportedWorkloadError("no formula")

    @abstractmethod
    def build(self, size: int, low: np.ndarray, high: np.ndarray) -> None:
        """Make the matrices from the edges, each once from low to high degree."""

    @abstractmethod
    def triangles(self) -> int:
        """Count triangles."""

    @abstractmethod
    def triangles_by_vertex(self) -> np.ndarray:
        """Count the triangles at each vertex: int64[vertices]."""

    @abstractmethod
    def diamonds(self) -> int:
        """Count, for each edge, the pairs of triangles on it."""

    @abstractmethod
    def pairs_of_wedges(self) -> int:
        """Sum x (x - 1) / 2 over all entries x of the squared adjacency matrix, its diagonal included."""
