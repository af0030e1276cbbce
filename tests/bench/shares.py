"""Patterns over tables: what is sent against what was expected, and times against Spark's own joins.

``python -m tests.bench.shares [--engine processes] [--cells 8] [--queries triangle,…] [--joins]``: the tables are
Parquet files of an R-MAT graph for each of triangle and 4-cycle, and of a social graph for the others. A first query
warms up; each then runs once by the clock and by processors' time (this process and all below it: Spark's JVM, Ray's
workers that it has begun). Answers must be those of the graph as a whole. ``--joins``: triangle and 4-cycle as joins
of two frames each, by Spark. Spark is ``local[2]``: two executor threads in one process.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from qengine import Graph, cluster
from qengine.testing import generate
from qengine.testing.generate.social import SocialSize, social, write_social
from tests.bench.report import duration, markdown

_SCALES = {"triangle": 13, "4-cycle": 11}
_SOCIAL = SocialSize(20_000, 200_000, 100, 40_000, 500, 150_000)

QUERIES = {
    "triangle": "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a) RETURN count(*)",
    "4-cycle": "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(d)-[:E]-(a) RETURN count(*)",
    "labelled path of 4": "MATCH (c:City)<-[:lives_in]-(p:Person)-[:knows]->(q:Person)-[:likes]->(o:Post)"
    " WHERE o.score > 0.5 RETURN count(*)",
    "grouped path": "MATCH (c:City)<-[:lives_in]-(p:Person)-[:knows]->(q:Person)-[:likes]->(o:Post)"
    " RETURN c.name, count(*) AS n ORDER BY n DESC, c.name LIMIT 5",
    "LSQB 1": "MATCH (c:City)<-[:lives_in]-(p:Person)-[:likes]->(o:Post)-[:has_tag]->(t:Tag) RETURN count(*)",
    "LSQB 2": "MATCH (p:Person)-[:knows]-(q:Person)-[:likes]->(o:Post)<-[:likes]-(p) RETURN count(*)",
    "LSQB 3": "MATCH (c:City)<-[:lives_in]-(p:Person)-[:knows]-(q:Person)-[:knows]-(r:Person)-[:knows]-(p), "
    "(q)-[:lives_in]->(c)<-[:lives_in]-(r) RETURN count(*)",
    "LSQB 4": "MATCH (t:Tag)<-[:has_tag]-(o:Post)<-[:likes]-(p:Person)-[:lives_in]->(c:City) RETURN count(*)",
    "LSQB 5": "MATCH (t:Tag)<-[:has_tag]-(o:Post)<-[:likes]-(p:Person)-[:likes]->(u:Post)-[:has_tag]->(v:Tag)"
    " WHERE t <> v RETURN count(*)",
    "LSQB 6": "MATCH (p:Person)-[:knows]-(q:Person)-[:knows]-(r:Person)-[:likes]->(o:Post)"
    " WHERE p <> r RETURN count(*)",
    "LSQB 7": "MATCH (t:Tag)<-[:has_tag]-(o:Post)<-[:likes]-(p:Person) OPTIONAL MATCH (p)-[:lives_in]->(c:City)"
    " OPTIONAL MATCH (p)<-[:knows]-(q:Person) RETURN count(*), count(q)",
    "LSQB 8": "MATCH (t:Tag)<-[:has_tag]-(o:Post)<-[:likes]-(p:Person)-[:likes]->(u:Post)-[:has_tag]->(v:Tag)"
    " WHERE NOT (u)-[:has_tag]->(t) AND t <> v RETURN count(*)",
    "LSQB 9": "MATCH (p:Person)-[:knows]-(q:Person)-[:knows]-(r:Person)-[:likes]->(o:Post)"
    " WHERE NOT (p)-[:knows]-(r) AND p <> r RETURN count(*)",
}


def main() -> int:
    """Print the table; fail where answers differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.shares", description=__doc__)
    parser.add_argument("--engine", default="processes")
    parser.add_argument("--cells", type=int, default=8)
    parser.add_argument("--queries", default=",".join(QUERIES))
    parser.add_argument("--joins", action="store_true")
    options = parser.parse_args()
    if "spark" in options.engine or options.joins:
        _spark()
    rows, wrong = [], False
    columns = ["query", "answer", "shares", "expected", "sent", "sent/expected", "fullest/mean", "clock", "processors"]
    with tempfile.TemporaryDirectory() as path:
        made: dict[str, dict[str, Any]] = {}
        for name in options.queries.split(","):
            which = name if name in _SCALES else "social"
            given = made.setdefault(which, _tables(Path(path), which))
            right = given["whole"].query(QUERIES[name]).fetchall()
            if "graph" not in given:
                given["graph"] = cluster.tables(**given["tables"], engine=options.engine, cells=options.cells)
                given["graph"].query(QUERIES[name]).fetchall()
            result = given["graph"].query(QUERIES[name])
            found, clock, busy = _spent(result.fetchall)
            told = result.plan.to_json()
            wrong |= found != right
            sent, expected = told["sent"], told["expected_bytes"]
            row = [name, str(found[0]) if found == right else f"WRONG: {found[0]}, not {right[0]}"]
            row.append("·".join(map(str, told["shares"].values())))
            row += [f"{expected / 1e6:.2f} MB", f"{sent['bytes'] / 1e6:.2f} MB", f"{sent['bytes'] / expected:.2f}"]
            row += [f"{sent['fullest'] * sent['cells'] / sent['bytes']:.2f}", duration(clock), duration(busy)]
            if options.joins and name in _SCALES:
                count, joined, joined_busy = _spent(lambda name=name, given=given: _joins(name, given["file"]))
                wrong |= count != right[0][0]
                row += [duration(joined), duration(joined_busy), f"{joined / clock:.2f}", f"{joined_busy / busy:.2f}"]
            elif options.joins:
                row += [""] * 4
            rows.append(row)
            print(*row, file=sys.stderr, flush=True)
        for given in made.values():
            given["graph"].close()
    if options.joins:
        columns += ["joins, clock", "joins, processors", "by the clock", "by processors"]
    print(f"{options.engine}, {options.cells} cells, {os.cpu_count()} CPUs\n\n{markdown(columns, rows)}")
    return int(wrong)


def _tables(path: Path, which: str) -> dict[str, Any]:
    """Write tables; return what opens them, and the graph as a whole."""
    folder = path / which
    folder.mkdir(exist_ok=True)
    if which == "social":
        write_social(folder, social(_SOCIAL))
        return {"tables": {"nodes": str(folder)}, "whole": Graph.from_parquet(folder)}
    start, end = generate.to_csr(generate.rmat(_SCALES[which], 16, 42)).edges()
    file = str(folder / "edges.parquet")
    table = pa.table({"start": pa.array(start, pa.int64()), "end": pa.array(end, pa.int64())})
    pq.write_table(table, file, row_group_size=1 << 16)
    whole = Graph.from_edge_list((start, end), undirected=True)
    return {"tables": {"relationships": [("E", file)], "undirected": ["E"]}, "whole": whole, "file": file}


def _spark() -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "3g")
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4", "spark.log.level": "ERROR"}
    for key, value in {**settings, "spark.ui.showConsoleProgress": "false"}.items():
        builder = builder.config(key, value)
    builder.getOrCreate()


def _joins(name: str, file: str) -> int:
    """Count by Spark's binary joins: triangles are wedges that an edge closes, 4-cycles are two wedges."""
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import col

    edges = SparkSession.getActiveSession().read.parquet(file)  # type: ignore[union-attr]
    both = edges.union(edges.select(col("end").alias("start"), col("start").alias("end")))
    first = both.select(col("start").alias("a"), col("end").alias("b"))
    second = both.select(col("start").alias("b"), col("end").alias("c"))
    wedges = first.join(second, "b").where(col("a") != col("c"))
    if name == "triangle":
        return wedges.join(both.select(col("start").alias("c"), col("end").alias("a")), ["a", "c"]).count()
    other = wedges.select(col("a"), col("c"), col("b").alias("d"))
    return wedges.join(other, ["a", "c"]).where(col("b") != col("d")).count()


def _spent(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what a call gives, its seconds by the clock, and those of all processors."""
    busy, begin = _busy(), time.perf_counter()
    found = run()
    return found, time.perf_counter() - begin, _busy() - busy


def _busy() -> float:
    """Return the seconds of processors that this process and all below it have taken."""
    stats: dict[int, list[str]] = {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                stats[int(each.name)] = (each / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
    below, before = {os.getpid()}, 0
    while len(below) > before:
        before = len(below)
        below |= {pid for pid, each in stats.items() if int(each[1]) in below}
    return sum(sum(map(int, stats[pid][11:15])) for pid in below if pid in stats) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
