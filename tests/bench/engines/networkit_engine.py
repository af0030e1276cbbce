"""NetworKit, which counts the triangles on every edge."""

from __future__ import annotations

import networkit
import numpy as np

from tests.bench.datasets import Dataset, PatternGraph
from tests.bench.engines.base import THREADS, Engine, UnsupportedWorkloadError
from tests.bench.workloads import Answer, Workload


class NetworKit(Engine):
    """Has no pattern matching: only what follows from the triangles on each edge."""

    def load(self, dataset: Dataset) -> None:
        if not isinstance(dataset, PatternGraph) or dataset.label_count > 1:
            raise UnsupportedWorkloadError("one plain graph only")
        networkit.setNumberOfThreads(THREADS)
        size, low, high = dataset.arrays()
        self._graph = networkit.GraphFromCoo((low, high), n=size)
        self._graph.indexEdges()

    def run(self, workload: Workload) -> Answer:
        if workload.name not in ("triangle", "diamond"):
            raise UnsupportedWorkloadError("no pattern matching")
        score = networkit.sparsification.TriangleEdgeScore(self._graph)
        on_edge = np.asarray(score.run().scores(), np.int64)
        return int(on_edge.sum()) // 3 if workload.name == "triangle" else int((on_edge * (on_edge - 1) // 2).sum())
