"""networkx."""

from __future__ import annotations

import tempfile
from typing import ClassVar

import networkx as nx
import pandas

from tests.bench.capabilities.table import fails


class NetworkX:
    """Dictionaries in memory."""

    told: ClassVar[dict[str, str]] = {
        "arrow_in": "no",
        "arrow_out": "no",
        "polars_in": "no",
        "parquet_in": "by pandas",
        "parameters": "no language",
        "plan": "no language",
        "shortest_path": "a function",
        "window_functions": "no language",
        "notebook_cells": "no language",
        "different_relationships": "subgraphs, monomorphisms",
        "picture": "by matplotlib",
        "stopped_by_time": "no",
        "stopped_by_thread": "no",
        "stopped_by_memory": "no",
        "search": "no",
        "estimates": "no",
    }

    def __init__(self) -> None:
        self._graph = nx.DiGraph([(1, 2), (2, 3)])

    def schema_first(self) -> bool:
        return fails(nx.Graph().add_node, 1)

    def pandas_in(self) -> bool:
        frame = pandas.DataFrame({"source": [1], "target": [2]})
        return int(nx.from_pandas_edgelist(frame).number_of_edges()) == 1

    def python_functions(self) -> str:
        found = nx.subgraph_view(self._graph, filter_node=lambda node: node > 1)
        return "all is Python" if list(found) == [2, 3] else "no"

    def rollback(self) -> bool:
        return hasattr(self._graph, "rollback")

    def durable(self) -> str:
        with tempfile.NamedTemporaryFile(suffix=".graphml") as file:
            nx.write_graphml(self._graph, file.name)
            return "written whole" if len(nx.read_graphml(file.name)) == 3 else "no"

    def unique(self) -> str:
        self._graph.add_node(1)
        return "a node is its key" if len(self._graph) == 3 else "no"

    def triangle(self) -> str:
        return "a function" if sum(nx.triangles(self._graph.to_undirected()).values()) == 0 else "no"

    def algorithms(self) -> str:
        shares = nx.pagerank(self._graph) if not fails(nx.pagerank, self._graph) else {}
        return "hundreds" if len(shares) == 3 else "no"

    def typo(self) -> str:
        return "no" if self._graph.nodes[1].get("nmae") is None else "error"
