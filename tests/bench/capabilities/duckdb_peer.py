"""DuckDB."""

from __future__ import annotations

import tempfile
import threading
from typing import Any, ClassVar

import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq

from tests.bench.capabilities.table import fails, fails_by, ids

HEAVY = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3"


class DuckDB:
    """A database in memory."""

    told: ClassVar[dict[str, str]] = {
        "stopped_by_time": "by a thread of one's own",
        "estimates": "no",
        "algorithms": "by a community extension, from the network",
        "search": "by extensions, from the network",
        "notebook_cells": "by JupySQL",
    }

    def __init__(self) -> None:
        self._of: Any = duckdb.connect()
        self._of.execute("CREATE TABLE p(id INT PRIMARY KEY)").execute("CREATE TABLE r(a INT, b INT, x INT)")
        self._of.execute("INSERT INTO p VALUES (1), (2), (3)").execute("INSERT INTO r VALUES (1, 2, 1), (2, 3, 2)")

    def _value(self, text: str, *parameters: Any) -> Any:
        return self._of.execute(text, list(parameters)).fetchall()[0][0]

    def schema_first(self) -> str:
        return "yes, or files as they are" if fails(self._of.execute, "INSERT INTO new VALUES (1)") else "no"

    def _in(self, frame: Any) -> bool:
        self._of.register("frame", frame)
        return ids(self._of.execute("FROM frame").fetchall()) == [1, 2, 3]

    def pandas_in(self) -> bool:
        return self._in(pandas.DataFrame({"id": [1, 2, 3]}))

    def polars_in(self) -> bool:
        return self._in(polars.DataFrame({"id": [1, 2, 3]}))

    def arrow_in(self) -> bool:
        return self._in(pa.table({"id": [1, 2, 3]}))

    def arrow_out(self) -> bool:
        return isinstance(pa.table(self._of.sql("FROM p")), pa.Table)

    def parquet_in(self) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            pq.write_table(pa.table({"id": [1, 2]}), f"{folder}/p.parquet")
            return ids(self._of.execute(f"FROM '{folder}/p.parquet'").fetchall()) == [1, 2]

    def parameters(self) -> bool:
        return bool(self._value("SELECT ? + 1", 1) == 2)

    def python_functions(self) -> bool:
        self._of.create_function("twice", lambda x: 2 * x, ["BIGINT"], "BIGINT")
        return bool(self._value("SELECT twice(4)") == 8)

    def picture(self) -> bool:
        return hasattr(self._of.sql("FROM p"), "_repr_svg_")

    def plan(self) -> str:
        text = self._of.execute("EXPLAIN SELECT id % 2, count(*) FROM p GROUP BY 1").fetchall()[0][1]
        html = self._of.execute("EXPLAIN (FORMAT html) SELECT id % 2, count(*) FROM p GROUP BY 1").fetchall()[0][1]
        return "text, HTML, JSON" if "AGGREGATE" in text.upper() and "<html" in html else "text"

    def stopped_by_thread(self) -> str:
        timer = threading.Timer(0.2, self._of.interrupt)
        timer.start()
        stopped = fails_by("interrupt", self._of.execute, HEAVY)
        timer.join()
        return "yes, a connection's query" if stopped and self._value("SELECT 1") == 1 else "no"

    def stopped_by_memory(self) -> str:
        small = duckdb.connect(config={"memory_limit": "50MB", "temp_directory": ""})
        stopped = fails_by("memory", small.execute, "SELECT len(list(range::VARCHAR)) FROM range(3000000)")
        with tempfile.TemporaryDirectory() as folder:
            spilling = duckdb.connect(config={"memory_limit": "20MB", "temp_directory": folder, "threads": 1})
            text = "SELECT sum(x) FROM (SELECT range AS x FROM range(1, 400001) ORDER BY x % 1000 DESC, x LIMIT 400000)"
            spilt = not fails(spilling.execute, text)
        return "yes; sorts and groups spill" if stopped and spilt else "yes" if stopped else "no"

    def rollback(self) -> bool:
        for text in ("BEGIN", "INSERT INTO p VALUES (9)", "ROLLBACK"):
            self._of.execute(text)
        return bool(self._value("SELECT count(*) FROM p WHERE id = 9") == 0)

    def durable(self) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            with duckdb.connect(f"{folder}/g") as one:
                one.execute("CREATE TABLE k AS SELECT 1 AS id")
            with duckdb.connect(f"{folder}/g") as one:
                return ids(one.execute("FROM k").fetchall()) == [1]

    def unique(self) -> str:
        return "keys and constraints" if fails(self._of.execute, "INSERT INTO p VALUES (1)") else "no"

    def different_relationships(self) -> str:
        walks = self._value("""
            WITH e AS (SELECT a, b FROM r UNION ALL SELECT b, a FROM r)
            SELECT count(*) FROM e x JOIN e y ON x.b = y.a WHERE x.a = 1 AND y.b = 1
        """)
        return "anything, written as joins" if walks == 1 else "no"

    def shortest_path(self) -> str:
        text = """
            WITH RECURSIVE w(v, n) USING KEY (v) AS
                (SELECT 1, 0 UNION SELECT r.b, w.n + 1 FROM w JOIN r ON r.a = w.v WHERE w.n < 9)
            SELECT n FROM w WHERE v = 3
        """
        return "by recursion" if self._value(text) == 2 else "no"

    def triangle(self) -> str:
        text = "SELECT count(*) FROM r x JOIN r y ON y.a = x.b JOIN r z ON z.a = y.b AND z.b = x.a"
        return "by joins" if self._value(text) == 0 else "no"

    def window_functions(self) -> bool:
        return bool(self._of.execute("SELECT row_number() OVER (ORDER BY id) FROM p").fetchall() == [(1,), (2,), (3,)])

    def typo(self) -> str:
        try:
            self._of.execute("SELECT idd FROM p")
        except duckdb.Error as error:
            return "error, with the nearest" if '"id"' in str(error) else "error"
        return "no"
