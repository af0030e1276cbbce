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
            embeddings = self._counted(workload)
            return embeddings if workload.counts_embeddings else embeddings // len(workload.automorphisms)
        if isinstance(workload, Load):
            return int(self._rows(self._graph, "MATCH ()-[:knows]->() RETURN count(*)")[0][0])
        return workload.answer([list(row) for row in self._rows(self._graph, workload.texts["qengine"])])

    def _counted(self, pattern: Pattern) -> int:
        return int(self._rows(self._graph_of(pattern), cypher_for_qengine(pattern))[0][0])

    def _graph_of(self, pattern: Pattern) -> qengine.Graph:
        return self._oriented if pattern.oriented else self._graph

    def _rows(self, graph: qengine.Graph, text: str) -> list[qengine.Row]:
        # Plans are kept by text: another text each time, so that planning is part of what is timed, as for the peers.
        self._runs += 1
        return graph.query(f"{text} // run {self._runs}").fetchall()


class Prepared(Qengine):
    """The same, each text planned before the run that counts: as formulas over matrices are written beforehand."""

    def load(self, dataset: Dataset) -> None:
        super().load(dataset)
        self._plans: dict[str, qengine.Prepared] = {}  # by the pattern's name, or by the text

    def _counted(self, pattern: Pattern) -> int:
        if pattern.name not in self._plans:
            self._plans[pattern.name] = self._graph_of(pattern).prepare(cypher_for_qengine(pattern))
        return int(self._plans[pattern.name].run().value())

    def _rows(self, graph: qengine.Graph, text: str) -> list[qengine.Row]:
        if text not in self._plans:
            self._plans[text] = graph.prepare(text)
        return self._plans[text].run().fetchall()
