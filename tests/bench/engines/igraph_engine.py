"""python-igraph."""

from __future__ import annotations

import igraph

from tests.bench.datasets import Dataset, PatternGraph
from tests.bench.engines.base import MOST_EDGES_ONE_BY_ONE, Engine, UnsupportedWorkloadError
from tests.bench.patterns import Pattern
from tests.bench.workloads import Answer, Workload


class IGraph(Engine):
    """Triangles by its closed formula, cliques by its clique search, all else by the VF2 matcher."""

    def load(self, dataset: Dataset) -> None:
        if not isinstance(dataset, PatternGraph):
            raise UnsupportedWorkloadError("no query language")
        size, low, high = dataset.arrays()
        self._directed = igraph.Graph(size, list(zip(low.tolist(), high.tolist(), strict=True)), directed=True)
        self._graph = self._directed.as_undirected(mode="each")
        self._labels = dataset.ranked_labels().tolist()

    def run(self, workload: Workload) -> Answer:
        if not isinstance(workload, Pattern):
            raise UnsupportedWorkloadError("no query language")
        if workload.name == "triangle":
            degree = self._graph.degree()
            wedges = sum(d * (d - 1) // 2 for d in degree)
            return round(self._graph.transitivity_undirected() * wedges / 3)
        if self._graph.ecount() > MOST_EDGES_ONE_BY_ONE:
            raise UnsupportedWorkloadError("visits embeddings one by one")
        if workload.name.endswith("-clique"):
            return len(self._graph.cliques(workload.size, workload.size))
        pattern = igraph.Graph(workload.size, workload.edges, directed=workload.oriented)
        embeddings = (self._directed if workload.oriented else self._graph).count_subisomorphisms_vf2(
            pattern,
            color1=self._labels if workload.labels else None,
            color2=list(workload.labels) or None,
        )
        return embeddings if workload.counts_embeddings else embeddings // len(workload.automorphisms)
