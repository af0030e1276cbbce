"""NetworkX."""

from __future__ import annotations

import networkx
from networkx.algorithms import isomorphism

from tests.bench.datasets import Dataset, PatternGraph
from tests.bench.engines.base import MOST_EDGES_ONE_BY_ONE, Engine, UnsupportedWorkloadError
from tests.bench.patterns import Pattern
from tests.bench.workloads import Answer, Workload


class NetworkX(Engine):
    """Triangles by its own function, all else by its monomorphism search."""

    def load(self, dataset: Dataset) -> None:
        if not isinstance(dataset, PatternGraph):
            raise UnsupportedWorkloadError("no query language")
        _, low, high = dataset.arrays()
        self._directed = networkx.DiGraph()
        self._directed.add_nodes_from(
            (vertex, {"label": label}) for vertex, label in enumerate(dataset.ranked_labels().tolist())
        )
        self._directed.add_edges_from(zip(low.tolist(), high.tolist(), strict=True))
        self._graph = self._directed.to_undirected()

    def run(self, workload: Workload) -> Answer:
        if not isinstance(workload, Pattern):
            raise UnsupportedWorkloadError("no query language")
        if workload.name == "triangle":
            return sum(networkx.triangles(self._graph).values()) // 3
        if self._graph.number_of_edges() > MOST_EDGES_ONE_BY_ONE:
            raise UnsupportedWorkloadError("visits embeddings one by one")
        pattern = networkx.DiGraph(workload.edges) if workload.oriented else networkx.Graph(workload.edges)
        for vertex, label in enumerate(workload.labels):
            pattern.nodes[vertex]["label"] = label
        matcher = (isomorphism.DiGraphMatcher if workload.oriented else isomorphism.GraphMatcher)(
            self._directed if workload.oriented else self._graph,
            pattern,
            node_match=isomorphism.categorical_node_match("label", None) if workload.labels else None,
        )
        embeddings = sum(1 for _ in matcher.subgraph_monomorphisms_iter())
        return embeddings if workload.counts_embeddings else embeddings // len(workload.automorphisms)
