"""Kùzu."""

from __future__ import annotations

import tempfile
import threading
from typing import Any, ClassVar

import kuzu
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq

from tests.bench.capabilities.table import fails, fails_by, ids

HEAVY = "MATCH (a:H), (b:H), (c:H) WHERE a.id * b.id * c.id % 7 = 3 RETURN count(*)"
"""Of 3,000 nodes: minutes."""


def connection(path: str = ":memory:", **options: Any) -> Any:
    return kuzu.Connection(kuzu.Database(path, **options))


class Kuzu:
    """A database in memory."""

    told: ClassVar[dict[str, str]] = {
        "estimates": "no",
        "picture": "by a package of its own",
    }

    def __init__(self) -> None:
        self._of = connection()
        self._of.execute("CREATE NODE TABLE P(id INT64, PRIMARY KEY(id))")
        self._of.execute("CREATE REL TABLE R(FROM P TO P, x INT64)")
        self._of.execute(
            "CREATE (a:P {id: 1}), (b:P {id: 2}), (c:P {id: 3}), (a)-[:R {x: 1}]->(b), (b)-[:R {x: 2}]->(c)"
        )
        self._of.execute("CREATE NODE TABLE H(id INT64, PRIMARY KEY(id))")
        self._of.execute("UNWIND range(1, 3000) AS number CREATE (:H {id: number})")

    def _value(self, text: str, parameters: dict[str, Any] | None = None) -> Any:
        return self._of.execute(text, parameters or {}).get_next()[0]

    def schema_first(self) -> bool:
        return fails(self._of.execute, "CREATE (:New {any: 1})")

    def _in(self, frame: Any) -> bool:
        return ids(self._of.execute("LOAD FROM $frame RETURN *", {"frame": frame})) == [1, 2, 3]

    def pandas_in(self) -> bool:
        return self._in(pandas.DataFrame({"id": [1, 2, 3]}))

    def polars_in(self) -> bool:
        return self._in(polars.DataFrame({"id": [1, 2, 3]}))

    def arrow_in(self) -> bool:
        return self._in(pa.table({"id": [1, 2, 3]}))

    def arrow_out(self) -> bool:
        return isinstance(self._of.execute("MATCH (p:P) RETURN p.id").get_as_arrow(), pa.Table)

    def parquet_in(self) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            pq.write_table(pa.table({"id": [1, 2]}), f"{folder}/p.parquet")
            return ids(self._of.execute(f"LOAD FROM '{folder}/p.parquet' RETURN *")) == [1, 2]

    def parameters(self) -> bool:
        return bool(self._value("RETURN $x + 1", {"x": 1}) == 2)

    def python_functions(self) -> bool:
        self._of.create_function("twice", lambda x: 2 * x, [kuzu.Type.INT64], kuzu.Type.INT64)
        return bool(self._value("RETURN twice(4)") == 8)

    def notebook_cells(self) -> bool:
        return hasattr(kuzu, "load_ipython_extension")

    def plan(self) -> str:
        return "text" if "AGGREGATE" in self._value("EXPLAIN MATCH (p:P) RETURN count(*)") else "no"

    def stopped_by_time(self) -> bool:
        other = kuzu.Connection(self._of.database)
        other.set_query_timeout(200)
        return fails_by("interrupt", other.execute, HEAVY)

    def stopped_by_thread(self) -> str:
        timer = threading.Timer(0.2, self._of.interrupt)
        timer.start()
        stopped = fails_by("interrupt", self._of.execute, HEAVY)
        timer.join()
        return "yes, a connection's query" if stopped and self._value("RETURN 1") == 1 else "no"

    def stopped_by_memory(self) -> str:
        small = connection(buffer_pool_size=64 << 20)
        text = "UNWIND range(1, 3000000) AS x RETURN x ORDER BY x"
        return "by a buffer pool" if fails_by("buffer", small.execute, text) else "no"

    def rollback(self) -> bool:
        for text in ("BEGIN TRANSACTION", "CREATE (:P {id: 9})", "ROLLBACK"):
            self._of.execute(text)
        return bool(self._value("MATCH (n:P {id: 9}) RETURN count(*)") == 0)

    def durable(self) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            database = kuzu.Database(f"{folder}/g")
            one = kuzu.Connection(database)
            one.execute("CREATE NODE TABLE K(id INT64, PRIMARY KEY(id))")
            one.execute("CREATE (:K {id: 1})")
            one.close()
            database.close()
            return ids(connection(f"{folder}/g").execute("MATCH (k:K) RETURN k.id")) == [1]

    def unique(self) -> str:
        return "the primary key" if fails(self._of.execute, "CREATE (:P {id: 1})") else "no"

    def different_relationships(self) -> str:
        walks = self._value("MATCH (a:P {id: 1})-[]-(b)-[]-(c:P {id: 1}) RETURN count(*)")
        return "anything" if walks == 1 else "relationships differ"

    def shortest_path(self) -> bool:
        return bool(self._value("MATCH p = (:P {id: 1})-[:R* SHORTEST 1..5]->(:P {id: 3}) RETURN length(p)") == 2)

    def triangle(self) -> bool:
        return bool(self._value("MATCH (a:P)-[:R]->(b:P)-[:R]->(c:P)-[:R]->(a) RETURN count(*)") == 0)

    def window_functions(self) -> bool:
        return not fails(self._of.execute, "MATCH (p:P) RETURN row_number() OVER (ORDER BY p.id)")

    def algorithms(self) -> str:
        self._of.execute("CALL project_graph('G', ['P'], ['R'])")
        ranked = ids(self._of.execute("CALL page_rank('G') RETURN node.id, rank")) == [1, 2, 3]
        return "some, built in" if ranked else "no"

    def search(self) -> bool:
        self._of.execute("CREATE NODE TABLE D(id INT64, t STRING, v FLOAT[2], PRIMARY KEY(id))")
        for number, text in enumerate(("apples", "pears"), 1):
            self._of.execute(f"CREATE (:D {{id: {number}, t: '{text}', v: [{number}.0, 0.0]}})")
        self._of.execute("CALL CREATE_FTS_INDEX('D', 'texts', ['t'])")
        self._of.execute("CALL CREATE_VECTOR_INDEX('D', 'vectors', 'v')")
        near = "CALL QUERY_VECTOR_INDEX('D', 'vectors', [2.0, 0.0], 1) RETURN node.id"
        words = "CALL QUERY_FTS_INDEX('D', 'texts', 'pears') RETURN node.id"
        return ids(self._of.execute(words)) == [2] and len(ids(self._of.execute(near))) == 1

    def typo(self) -> str:
        return "error" if fails(self._of.execute, "MATCH (n:Q) RETURN n") else "no"
