"""GFQL, the query language of PyGraphistry, on pandas: chains of Python, and Cypher."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import graphistry
import pandas
import polars
import pyarrow as pa
from graphistry import n

from tests.bench.capabilities.table import fails, fails_by


class Gfql:
    """Data frames of nodes and edges."""

    told: ClassVar[dict[str, str]] = {
        "estimates": "no",
        "picture": "interactive, by a hosted service",
        "parquet_in": "by pandas",
        "rollback": "no",
        "durable": "by data frames",
        "unique": "no",
        "stopped_by_time": "no",
        "stopped_by_thread": "no",
        "stopped_by_memory": "no",
        "algorithms": "by igraph, cuGraph",
        "search": "by embeddings",
    }

    def __init__(self) -> None:
        nodes = pandas.DataFrame({"id": [1, 2, 3]})
        edges = pandas.DataFrame({"s": [1, 2], "d": [2, 3], "x": [1, 2]})
        self._graph: Any = graphistry.nodes(nodes, "id").edges(edges, "s", "d")

    def _value(self, text: str, parameters: dict[str, Any] | None = None) -> Any:
        return self._graph.gfql(text, params=parameters)._nodes.iloc[0, 0]

    def schema_first(self) -> bool:
        return fails(graphistry.edges, pandas.DataFrame({"s": [1], "d": [2]}), "s", "d")

    def _in(self, frame: Any) -> bool:
        graph = graphistry.edges(frame, "s", "d").materialize_nodes()
        return not fails(graph.gfql, "MATCH (a)-[]->(b) RETURN count(*)")

    def pandas_in(self) -> bool:
        return self._in(pandas.DataFrame({"s": [1], "d": [2]}))

    def polars_in(self) -> bool:
        return self._in(polars.DataFrame({"s": [1], "d": [2]}))

    def arrow_in(self) -> bool:
        return self._in(pa.table({"s": [1], "d": [2]}))

    def arrow_out(self) -> str:
        found = self._graph.gfql("MATCH (a) RETURN a.id AS id")._nodes
        return "data frames" if isinstance(found, pandas.DataFrame) else "yes"

    def parameters(self) -> bool:
        return not fails(self._value, "MATCH (a) WHERE a.id = $x RETURN a.id", {"x": 1})

    def python_functions(self) -> bool:
        return not fails(lambda: self._graph.gfql([n({"id": lambda value: value > 1})])) and hasattr(
            self._graph, "register_function"
        )

    def notebook_cells(self) -> str:
        return "methods" if not hasattr(graphistry, "load_ipython_extension") else "yes"

    def plan(self) -> str:
        return "data" if self._graph.gfql_explain("MATCH (a)-[]->(b) RETURN count(*)") else "no"

    def different_relationships(self) -> str:
        walks = self._value("MATCH (a)-[x]-(b)-[y]-(c) WHERE a.id = 1 AND c.id = 1 RETURN count(*)")
        return "relationships differ" if walks == 0 else "anything"

    def shortest_path(self) -> bool:
        text = "MATCH p = shortestPath((a)-[*]->(b)) WHERE a.id = 1 AND b.id = 3 RETURN length(p)"
        return not fails(self._value, text) and bool(self._value(text) == 2)

    def triangle(self) -> bool:
        text = "MATCH (a)-[]->(b)-[]->(c)-[]->(a) RETURN count(*)"
        return not fails(self._value, text) and bool(self._value(text) == 0)

    def window_functions(self) -> bool:
        return not fails(self._value, "MATCH (a) RETURN row_number() OVER (ORDER BY a.id)")

    def typo(self) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return "warning" if fails_by("q", self._graph.gfql, "MATCH (a:Q) RETURN a.id") else "no"
