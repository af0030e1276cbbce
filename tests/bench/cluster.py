"""How well worker processes share a query: against one process with as many threads, and against one of one thread.

``python -m tests.bench.cluster [--scale 16] [--workers 1,2] [--turns 5] [--engine processes]``: an R-MAT graph of
16 · 2^scale undirected edges is saved and opened; each query runs in one process with as many threads as there are
workers, then by the workers, of one thread each, turn by turn. By the clock the fastest turn counts, of processors'
time the mean; efficiencies are the ratios. Answers must agree.
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

from qengine import Graph, cluster
from qengine.cluster.cluster import Cluster
from qengine.testing import generate
from tests.bench.report import duration, markdown

QUERIES = {
    "triangles": "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a) RETURN count(*)",
    "triangles, a float": "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a) WHERE a.id % 32 = 0 "
    "RETURN a.id % 7 AS x, count(*) AS n, avg(b.id * 0.5) AS m ORDER BY x",
    "K4": "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a), (a)-[:E]-(d), (b)-[:E]-(d), (c)-[:E]-(d) RETURN count(*)",
}


def main() -> int:
    """Print the times and the efficiencies; fail where answers differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.cluster", description=__doc__)
    parser.add_argument("--scale", type=int, default=16)
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--engine", default="processes")
    options = parser.parse_args()
    wrong = False
    with tempfile.TemporaryDirectory() as path:
        start, end = generate.to_csr(generate.rmat(options.scale, 16, 42)).edges()
        Graph.from_edge_list((start, end), undirected=True).save(path)
        rows = []
        for workers in map(int, options.workers.split(",")):
            with cluster.open(path, options.engine, workers) as found, Graph.open(path, read_only=True) as one:
                for name, text in QUERIES.items():
                    cells, agree = _compared(found, one, text, workers, options.turns)
                    wrong |= not agree
                    print(name, workers, *cells, file=sys.stderr, flush=True)
                    rows.append([name, str(workers), *cells])
    columns = [
        "query",
        "n",
        "one process, n threads",
        "n workers",
        "its processors",
        "theirs",
        "by the clock",
        "by processors",
    ]
    columns.append("how")
    print(f"R-MAT {options.scale}, {options.engine}, {os.cpu_count()} CPUs\n\n{markdown(columns, rows)}")
    return int(wrong)


def _compared(found: Cluster, one: Graph, text: str, workers: int, turns: int) -> tuple[list[str], bool]:
    """Return the cells of a query, and whether the answers agree."""

    def threads() -> Any:
        return one.query(text, threads=workers, device="cpu").fetchall()

    def processes() -> Any:
        return found.query(text, threads=workers).fetchall()

    agree = threads() == processes()
    pairs = [(_spent(found, threads), _spent(found, processes)) for _ in range(turns)]
    walls = [min(wall for wall, _ in each) for each in zip(*pairs, strict=True)]
    cores = [sum(busy for _, busy in each) / turns for each in zip(*pairs, strict=True)]
    how = found.explain(text).dealt.partition(":")[0]
    ratios = (f"{first / max(second, 1e-9):.2f}" for first, second in (walls, cores))
    return [*map(duration, walls), *map(duration, cores), *ratios, how], agree


def _spent(found: Cluster, run: Callable[[], Any]) -> tuple[float, float]:
    """Return seconds by the clock, and of all processors together, here and in the workers."""
    busy, begin = _busy(found), time.perf_counter()
    run()
    return time.perf_counter() - begin, _busy(found) - busy


def _busy(found: Cluster) -> float:
    pids = [pid for worker in range(found._engine.workers) if (pid := found._engine.pid(worker)) is not None]
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    ticks = sum(int(each[11]) + int(each[12]) for each in fields)
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
