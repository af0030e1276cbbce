"""Reachability and lengths of shortest paths on a GPU, beside the host that it stands in.

Run as ``python -m tests.bench.gpu_walks --scale 16,20,24``: R-MAT graphs of edge factor 16. Answers of both devices are
compared. The last lines of each are the search by itself, of 64 starts at once: relationships times starts a second, be
they reached or not.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import Any

import numpy as np

from qengine import Graph
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import reach as device_reach
from qengine.exec.host import reach_kernel as host_reach
from qengine.exec.host.reach_kernel import LANES, Lanes, ReachRules
from qengine.exec.host.walk_kernel import EndFilter, WalkSpace
from qengine.plan.pattern import Direction
from qengine.testing.generate.graphs import rmat
from tests.bench.walks import QUESTIONS, timed

_TO_ONE = "MATCH p = shortestPath((a)-[:E*]->(b)) WHERE id(a) = 5 AND id(b) = 77 RETURN length(p)"


def main() -> int:
    """Print a table for each graph; 1 where an answer differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.gpu_walks", description=main.__doc__)
    parser.add_argument("--scale", default="16,20", help="a,b; default: %(default)s")
    parser.add_argument("--kernel-only", action="store_true", help="leave the queries out")
    options = parser.parse_args()
    wrong = 0
    for scale in map(int, options.scale.split(",")):
        draws = rmat(scale, 16, seed=42)
        graph = Graph.from_edge_list((draws.source, draws.target), type="E")
        print(f"\nR-MAT {scale}: {graph.node_count:,} nodes, {graph.relationship_count:,} relationships\n", flush=True)
        if not options.kernel_only:
            print("| question | answer | GPU, ms | host, ms |\n|---|---|---|---|")
            for name, text in [*((each.name, each.cypher) for each in QUESTIONS), ("shortest to one", _TO_ONE)]:
                wrong += not _compared(name, text, graph)
        wrong += not _kernel(graph)
    return 1 if wrong else 0


def _compared(name: str, text: str, graph: Graph) -> bool:
    def ask(device: Any) -> Any:
        row = graph.query(text, timeout=120, device=device).fetchone()
        return None if row is None else tuple(row)

    (on_gpu, answer), (on_host, expected) = (timed(partial(ask, device)) for device in ("gpu", "cpu"))
    shown = str(answer) if answer == expected else f"{answer} WRONG, not {expected}"
    print(f"| {name} | {shown} | {on_gpu:.1f} | {on_host:.1f} |", flush=True)
    return bool(answer == expected)


def _kernel(graph: Graph) -> bool:
    store = graph._store
    starts = np.random.default_rng(1).choice(store.vertex_count, LANES, replace=False)
    lanes = Lanes(np.arange(LANES + 1), starts)
    ends = EndFilter(0, store.vertex_count)
    same = True
    for direction in (Direction.OUT, Direction.BOTH):
        given = (WalkSpace(store, (0,), direction), ends, lanes)
        found = []
        for name, counts, threads in (
            ("GPU", device_reach.reach_counts, 1),
            ("host", host_reach.reach_counts, os.cpu_count() or 1),
        ):
            ask = partial(counts, *given, ExecutionContext(threads=threads), ReachRules(0, None))
            ask()
            spent, answer = timed(ask)
            found.append(int(answer.sum()))
            rate = LANES * store.relationship_count / spent / 1e6
            print(f"64 starts, {direction.name.lower()}, {name}: {found[-1]:,} ends, {spent:.2f} ms, {rate:.1f} G/s")
        same &= found[0] == found[1]
    return same


if __name__ == "__main__":
    raise SystemExit(main())
