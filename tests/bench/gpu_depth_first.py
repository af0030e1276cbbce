"""Depth first on the GPU beside breadth first and the CPU: ``python -m tests.bench.gpu_depth_first [--scale 16]``.

A line a query: milliseconds from a prepared query's call to its result, the best of ``--runs``, depth first, breadth
first, as the executor chooses, and on all cores of the CPU; how many times longer than breadth first (to be at most 2)
and how many times sooner than the CPU (to be at least 1) depth first is. A different answer ends the command with 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from qengine import Graph, QengineError
from qengine.exec.common.runtime import Runtime
from qengine.exec.gpu import search
from qengine.testing import generate
from tests.bench.estimates import SETS

TRIANGLE = "(a)-[:E]-(b)-[:E]-(c)-[:E]-(a)"
FOUR_CLIQUE = TRIANGLE + ", (a)-[:E]-(d), (b)-[:E]-(d), (c)-[:E]-(d)"
QUERIES = {
    "triangle, counted": f"{TRIANGLE} RETURN count(*)",
    "4-clique, counted": f"{FOUR_CLIQUE} RETURN count(*)",
    "diamond, counted": f"{TRIANGLE}, (b)-[:E]-(d)-[:E]-(c) RETURN count(*)",
    "path of 2, counted": "(a)-[:E]-(b)-[:E]-(c) RETURN count(*)",
    "5-cycle with a chord, counted": "(a)-[:E]-(b)-[:E]-(c)-[:E]-(d)-[:E]-(e)-[:E]-(a), (a)-[:E]-(c) "
    "WHERE id(a) % 64 = 1 RETURN count(*)",
    "triangles by vertex": f"{TRIANGLE} RETURN id(a) AS a, count(*) AS n",
    "ends of triangles": f"{TRIANGLE} RETURN DISTINCT id(a) AS a",
    "triangles as rows": f"{TRIANGLE} RETURN id(a) AS a, id(b) AS b, id(c) AS c",
    "triangles as rows, 100,000 of them": f"{TRIANGLE} WITH a, b, c LIMIT 100000 RETURN count(*)",
    "triangles of ascending x, counted": f"{TRIANGLE} WHERE a.x < b.x AND b.x < c.x RETURN count(*)",
}


def rmat(scale: int) -> Graph:
    """Return an R-MAT graph whose nodes have a number x."""
    start, end = generate.to_csr(generate.rmat(scale, 16, 42)).edges()
    ids = np.arange(1 << scale)
    nodes = pa.table({"id": ids, "x": np.random.default_rng(1).integers(0, 1000, len(ids))})
    edges = pa.table({"src": start.astype(np.int64), "dst": end.astype(np.int64)})
    return Graph.from_arrow([("V", nodes)], [("E", edges)], undirected=["E"])


def workloads(scale: int, names: list[str]) -> Iterator[tuple[Graph, str, str]]:
    """Yield graph, name and text of each query."""
    graph = rmat(scale)
    for name, text in QUERIES.items():
        if not names or any(each in name for each in names):
            yield graph, name, f"/*+ search */ MATCH {text}"
    labelled, cases = SETS["enron16"]()
    for case in cases:
        if not names or any(each in case.name for each in names):
            yield labelled, case.name, case.query


@contextmanager
def way(name: str) -> Iterator[str]:
    """Let all searches go one way; give the device's name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Runtime, "eliminates", lambda run, each: run.matchers is None and bool(each.schedule("cpu")))
        if name == "depth first":
            for each in ("try_count", "try_total"):
                patch.setattr(search, each, lambda *_: None)
            patch.setattr(search, "has_room", lambda *_: False)
        elif name == "breadth first":
            for each in ("try_count", "dfs_total"):
                patch.setattr(search, each, lambda *_: None)
        yield "cpu" if name == "CPU" else "gpu"


def answer(table: pa.Table) -> Any:
    """Return what tells results apart whose rows come in another order."""
    sums = [pc.sum(pc.cast(table[name], pa.float64())).as_py() for name in table.column_names]
    products = 0.0
    if table.num_rows and table.num_columns > 1:
        columns = [table[name].to_numpy().astype(np.float64) for name in table.column_names]
        products = float(np.prod(np.stack(columns) % 97 + 1, axis=0).sum())
    return table.num_rows, sums, products


def timed(run: Callable[[], pa.Table], runs: int) -> tuple[Any, float]:
    """Return the answer, and the milliseconds of the best run after one that isn't counted."""
    times, table = [], run()
    for _ in range(runs):
        begin = time.perf_counter()
        table = run()
        times.append(1e3 * (time.perf_counter() - begin))
    return answer(table), min(times)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.gpu_depth_first", description=main.__doc__)
    parser.add_argument("names", nargs="*", help="parts of names; default: all")
    parser.add_argument("--scale", type=int, default=16, help="of the R-MAT graph")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds of one run")
    options = parser.parse_args()
    ways = ("depth first", "breadth first", "as chosen", "CPU")
    print(
        f"| query | {', ms | '.join(ways)}, ms | ÷ breadth first | CPU ÷ |\n|---|---|---|---|---|---|---|", flush=True
    )
    right = True
    for graph, name, text in workloads(options.scale, options.names):
        found: dict[str, Any] = {}
        best: dict[str, float] = {}
        for each in ways:
            with way(each) as device:
                try:
                    found[each], best[each] = timed(
                        lambda: graph.query(text, device=device, timeout=options.timeout).to_arrow(),  # noqa: B023
                        options.runs,
                    )
                except QengineError as error:
                    print(f"{name}, {each}: {error}", file=sys.stderr)
        same = all(one == found["CPU"] for one in found.values()) if "CPU" in found else len(found) > 0
        right = right and same
        cells = [f"{best[each]:.3g}" if each in best else "" for each in ways]
        ours = best.get("depth first", float("nan"))
        ratios = [ours / best.get("breadth first", float("nan")), best.get("CPU", float("nan")) / ours]
        print(
            f"| {name}{'' if same else ' WRONG'} | {' | '.join(cells)} | {ratios[0]:.2f} | {ratios[1]:.2f} |",
            flush=True,
        )
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
