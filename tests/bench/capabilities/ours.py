"""qengine."""

from __future__ import annotations

import tempfile
import threading
from typing import Any, ClassVar

import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq

import qengine
from qengine import Graph
from tests.bench.capabilities.table import fails, fails_by, ids

HEAVY = "MATCH (a:H), (b:H), (c:H) WHERE a.id * b.id * c.id % 7 = 3 RETURN count(*)"
"""Of 3,000 nodes: minutes."""


class Qengine:
    """A graph in memory."""

    told: ClassVar[dict[str, str]] = {"algorithms": "no: cheapest paths alone"}

    def __init__(self) -> None:
        self._graph = Graph()
        self._graph.query("CREATE (:P {id: 1})-[:R {x: 1}]->(:P {id: 2})-[:R {x: 2}]->(:P {id: 3})")
        self._graph.query("UNWIND range(1, 3000) AS id CREATE (:H {id: id})")

    def schema_first(self) -> bool:
        return fails(Graph().query, "CREATE (:New {any: 1})")

    def _in(self, frame: Any) -> bool:
        graph = Graph.from_arrow({"P": frame})
        return ids(graph.query("MATCH (p:P) RETURN p.id")) == [1, 2, 3]

    def pandas_in(self) -> bool:
        return self._in(pandas.DataFrame({"id": [1, 2, 3]}))

    def polars_in(self) -> bool:
        return self._in(polars.DataFrame({"id": [1, 2, 3]}))

    def arrow_in(self) -> bool:
        return self._in(pa.table({"id": [1, 2, 3]}))

    def arrow_out(self) -> bool:
        return isinstance(self._graph.query("MATCH (p:P) RETURN p.id AS id").to_arrow(), pa.Table)

    def parquet_in(self) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            pq.write_table(pa.table({"id": [1, 2]}), f"{folder}/nodes_P.parquet")
            return ids(Graph.from_parquet(folder).query("MATCH (p:P) RETURN p.id")) == [1, 2]

    def parameters(self) -> bool:
        return bool(self._graph.query("RETURN $x + 1", {"x": 1}).value() == 2)

    def python_functions(self) -> bool:
        self._graph.register_function("mine.twice(x :: INTEGER) :: INTEGER", lambda x: 2 * x)
        return bool(self._graph.query("RETURN mine.twice(4)").value() == 8)

    def notebook_cells(self) -> str:
        return "`%%cypher`" if hasattr(qengine, "load_ipython_extension") else "no"

    def picture(self) -> str:
        svg = self._graph.query("MATCH p = (:P)-[:R]->() RETURN p").to_svg()
        return "SVG; a widget" if svg and svg.startswith("<svg") else "no"

    def plan(self) -> str:
        plan = self._graph.explain("MATCH (p:P) RETURN count(*)")
        return "text, picture, JSON" if plan.to_svg().startswith("<svg") and "Aggregate" in str(plan) else "text"

    def stopped_by_time(self) -> bool:
        return fails_by("timeout", lambda: self._graph.query(HEAVY, timeout=0.2).value())

    def stopped_by_thread(self) -> str:
        result = self._graph.query(HEAVY)
        timer = threading.Timer(0.2, result.cancel)
        timer.start()
        stopped = fails_by("interrupt", result.value)
        timer.join()
        return "yes, that query alone" if stopped and self._graph.query("RETURN 1").value() == 1 else "no"

    def stopped_by_memory(self) -> str:
        text = "UNWIND range(1, 3000000) AS x WITH collect(toString(x)) AS all RETURN last(all)"
        stopped = fails_by("memory", lambda: self._graph.query(text, memory_limit=50_000_000).value())
        many = "UNWIND range(1, 400000) AS x WITH x ORDER BY x % 1000 DESC, x RETURN sum(x)"
        spilt = self._graph.query(many, memory_limit=20_000_000).value() == 400_000 * 400_001 // 2
        return "yes; sorts and groups spill" if stopped and spilt else "yes" if stopped else "no"

    def rollback(self) -> bool:
        with self._graph.transaction() as transaction:
            transaction.query("CREATE (:Gone)")
            transaction.rollback()
        return bool(self._graph.query("MATCH (n:Gone) RETURN count(*)").value() == 0)

    def durable(self) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            self._graph.save(f"{folder}/g")
            with qengine.open(f"{folder}/g") as graph:
                graph.query("CREATE (:Kept)")
            with qengine.open(f"{folder}/g") as graph:
                return bool(graph.query("MATCH (n:Kept) RETURN count(*)").value() == 1)

    def unique(self) -> str:
        graph = Graph()
        graph.query("CREATE CONSTRAINT k FOR (n:K) REQUIRE n.id IS UNIQUE")
        graph.query("CREATE (:K {id: 1})")
        return "by a constraint" if fails(graph.query, "CREATE (:K {id: 1})") else "no"

    def different_relationships(self) -> str:
        """Walk over one relationship and back: a match where relationships may repeat."""
        count = [
            self._graph.query(f"MATCH {mode} (a:P {{id: 1}})-[]-(b)-[]-(c:P {{id: 1}}) RETURN count(*)").value()
            for mode in ("", "REPEATABLE ELEMENTS", "DIFFERENT NODES")
        ]
        return "relationships differ; nodes differ; anything" if count == [0, 1, 0] else str(count)

    def shortest_path(self) -> bool:
        text = "MATCH p = shortestPath((:P {id: 1})-[*]->(:P {id: 3})) RETURN length(p)"
        return bool(self._graph.query(text).value() == 2)

    def triangle(self) -> bool:
        text = "MATCH (a)-[]-(b)-[]-(c)-[]-(a) RETURN count(*)"
        return bool(self._graph.query(text).value() == 0)

    def window_functions(self) -> bool:
        return not fails(lambda: self._graph.query("MATCH (p:P) RETURN row_number() OVER (ORDER BY p.id)").fetchall())

    def estimates(self) -> str:
        found = self._graph.estimate("MATCH (a)-[]->(b)-[]->(c)", samples=1000, method="alley", seed=1)
        return "yes" if found.low <= 1 <= found.high else "no"

    def search(self) -> bool:
        graph = Graph()
        graph.query("CREATE (:D {id: 1, t: 'apples', v: [1, 0]}), (:D {id: 2, t: 'pears', v: [2, 0]})")
        graph.query("CREATE FULLTEXT INDEX texts FOR (d:D) ON EACH [d.t]")
        graph.query("CREATE VECTOR INDEX vectors FOR (d:D) ON d.v")
        near = "CALL db.index.vector.queryNodes('vectors', 1, [2, 0]) YIELD node RETURN node.id"
        words = "CALL db.index.fulltext.queryNodes('texts', 'pears') YIELD node RETURN node.id"
        return ids(graph.query(words)) == [2] and len(ids(graph.query(near))) == 1

    def typo(self) -> str:
        return "warning, with the nearest" if self._graph.query("MATCH (n:Q) RETURN n").notices else "no"
