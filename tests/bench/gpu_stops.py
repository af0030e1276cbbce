"""How late queries on the GPU end after their timeout, or an interrupt: ``python -m tests.bench.gpu_stops``.

Each query runs far longer than it is given. What is printed is by how much each ended late: the target is 0.2 s.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable

import numpy as np

from qengine import Graph, QueryInterrupted, QueryTimeout
from qengine.testing.generate import rmat, to_csr

TARGET = 0.2
GIVEN = (0.02, 0.3, 1.0)
"""Seconds: while a query is prepared, and inside of its longest kernel."""


def clique(size: int) -> str:
    """Return the pattern of so many vertices that are all linked."""
    return ", ".join(f"(v{i})--(v{j})" for i in range(size) for j in range(i))


MOST = 10.0
"""Seconds after which an interrupted query is given up."""

AGAIN = 0.01

SIX = "(a)--(b)--(c)--(d)--(a), (b)--(d)"
QUERIES = {
    "dfs, a 4-cycle": f"MATCH DIFFERENT NODES {SIX}, (a)--(e), (e)--(f)--(d) RETURN count(*)",
    "dfs, corners": f"MATCH DIFFERENT NODES {SIX}, (a)--(e)--(c), (b)--(f)--(e) RETURN count(*)",
    "count_cliques, 6": f"MATCH {clique(6)} RETURN count(*)",
    "count_cliques, 8": f"MATCH {clique(8)} RETURN count(*)",
    "count_houses": "MATCH (a)--(b)--(c)--(d)--(a), (a)--(e)--(b) RETURN count(*)",
    "count_wedges": "MATCH (a)--(b)--(c)--(d)--(a) RETURN count(*)",
    "count_edges": "MATCH (a)--(b), (a)--(c), (b)--(c), (b)--(d), (c)--(d) RETURN count(*)",
    "search, 10-clique": f"MATCH {clique(10)} RETURN count(*)",
    "extend, rows": "MATCH (a)--(b)--(c)--(d) RETURN sum(id(a) + id(d))",
    "extend, counts by row": "MATCH (a)--(b)--(c)--(a) "
    "RETURN id(a) AS a, id(b) AS b, count(*) AS n ORDER BY n DESC LIMIT 3",
    "rooted_forest": "/*+ eliminate */ MATCH REPEATABLE ELEMENTS (a)--(b)--(c)--(d)--(e)--(f)--(a) "
    "RETURN count(*)",
    "rooted_forest, by node": "/*+ eliminate */ MATCH (a)--(b)--(c)--(d)--(a), (a)--(e) "
    "RETURN id(a) AS a, count(*) AS n ORDER BY n DESC LIMIT 3",
    "closed_walks": "/*+ eliminate */ MATCH (a)--(b)--(c)--(d)--(e)--(a) RETURN count(*)",
    "triangle_counts": "/*+ eliminate */ MATCH (a)--(b)--(c)--(a), (c)--(d) WHERE id(d) > 3 RETURN count(*)",
    "triangle_weight_sums": "/*+ eliminate */ MATCH REPEATABLE ELEMENTS (a)--(b)--(c)--(a), (a)--(x), (b)--(y), "
    "(c)--(z) RETURN count(*)",
}  # fmt: skip
"""By the kernels that take longest."""

ESTIMATES = {"sample, alley": "alley", "sample, guided": "guided", "sample, wanderjoin": "wanderjoin"}


def loaded(scale: int) -> Graph:
    """Return an R-MAT graph of 2**scale vertices, 16 times as many edges."""
    start, end = to_csr(rmat(scale, 16, 42)).edges()
    return Graph.from_edge_list((start.astype(np.int64), end.astype(np.int64)), undirected=True)


def lateness(run: Callable[[float | None], object], graph: Graph, given: float, *, interrupt: bool) -> float | None:
    """Return how many seconds after its time a query ended; None where it ended by itself before that."""
    ended = threading.Event()

    def interrupts() -> None:
        if not ended.wait(given):
            graph.interrupt()
        while not ended.wait(AGAIN):  # what does not run yet is not interrupted
            graph.interrupt()

    thread = threading.Thread(target=interrupts) if interrupt else None
    begin = time.monotonic()
    try:
        if thread is not None:
            thread.start()
        run(given + MOST if interrupt else given)
    except (QueryTimeout, QueryInterrupted):
        return time.monotonic() - begin - given
    finally:
        ended.set()
        if thread is not None:
            thread.join()
    return None


def main() -> int:
    """Print a line a query; return 1 where one misses the target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=18)
    parser.add_argument("--seconds", type=float, default=240, help="stop beginning new queries after so long")
    options = parser.parse_args()
    graph, ends, missed = loaded(options.scale), time.monotonic() + options.seconds, 0
    graph.query("MATCH (a)--(b)--(c)--(a) RETURN count(*)", device="gpu").value()
    runs: dict[str, Callable[[float | None], object]] = {
        name: lambda timeout, text=text: graph.query(text, device="gpu", timeout=timeout).fetchall()  # type: ignore[misc]
        for name, text in QUERIES.items()
    }
    for name, method in ESTIMATES.items():
        runs[name] = lambda timeout, method=method: graph.estimate(  # type: ignore[misc]
            f"MATCH {clique(6)}", method=method, samples=1 << 34, device="gpu", timeout=timeout
        )
    print(f"{'late by, ms':46}" + "".join(f"{f'timeout {given}':>14}{'interrupt':>11}" for given in GIVEN))
    for name, run in runs.items():
        cells = []
        for given in GIVEN:
            for interrupt in (False, True):
                if time.monotonic() > ends:
                    cells.append("not run")
                    continue
                late = lateness(run, graph, given, interrupt=interrupt)
                missed += late is not None and late > TARGET
                cells.append("ended" if late is None else f"{1000 * late:.0f}{' !' if late > TARGET else ''}")
        print(f"{name:46}" + "".join(f"{cell:>{14 - 3 * (k % 2)}}" for k, cell in enumerate(cells)), flush=True)
    print(f"{missed} of them more than {TARGET} s late")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
