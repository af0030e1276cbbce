"""Our own engine, through its public API."""

from __future__ import annotations

import qengine
from tests.bench.datasets import Dataset, PatternGraph
from tests.bench.dialects import cypher_for_qengine
from tests.bench.engines.base import Engine
from tests.bench.patterns import Pattern
from tests.bench.workloads import Answer, Load, Workload


class Qengine(Engine):
    """Loads the plain graph as generated: vertex order and symmetry are its own business."""

    def __init__(self) -> None:
        self._runs = 0

    def load(self, dataset: Dataset) -> None:
        if isinstance(dataset, PatternGraph):
            self._graph = qengine.Graph.from_graph_file(dataset.folder / "graph.txt")
            self._oriented = qengine.Graph.from_edge_list(dataset.folder / "oriented.txt", type="E")
        else:
            self._graph = qengine.Graph.from_parquet(dataset.folder)

    def run(self, workload: Workload) -> Answer:
        if isinstance(workload, Pattern):
            graph = self._oriented if workload.oriented else self._graph
            embeddings = int(self._rows(graph, cypher_for_qengine(workload))[0][0])
            return embeddings if workload.counts_embeddings else embeddings // len(workload.automorphisms)
        if isinstance(workload, Load):
            return int(self._rows(self._graph, "MATCH ()-[:knows]->() RETURN count(*)")[0][0])
        return workload.answer([list(row) for row in self._rows(self._graph, workload.texts["qengine"])])

    def _rows(self, graph: qengine.Graph, text: str) -> list[qengine.Row]:
        # Plans are kept by text: another text each time, so that planning is part of what is timed, as for the peers.
        self._runs += 1
        return graph.query(f"{text} // run {self._runs}").fetchall()


class Prepared(Qengine):
    """The same, each text planned before the run that counts: as formulas over matrices are written beforehand."""

    def load(self, dataset: Dataset) -> None:
        super().load(dataset)
        self._plans: dict[tuple[int, str], qengine.Prepared] = {}

    def _rows(self, graph: qengine.Graph, text: str) -> list[qengine.Row]:
        key = id(graph), text
        if key not in self._plans:
            self._plans[key] = graph.prepare(text)
        return self._plans[key].run().fetchall()
