"""What gathering statistics takes of loading a graph, in processor time and in wall time.

Run as ``python -m tests.bench.statistics_share`` it prints a line a graph: the least of several loads, and the median
share. Run it on an idle machine: what else runs takes caches and cores from both, unevenly.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

import qengine
from qengine.storage.statistics import Statistics
from qengine.testing import generate
from tests.bench import datasets
from tests.bench.datasets import PatternGraph, SocialGraph

_ASKED = 0.05

Clocks = tuple[float, float]
"""Seconds of all cores together, and of the wall."""


def main() -> None:
    parser = argparse.ArgumentParser(description="what gathering statistics takes of loading a graph")
    parser.add_argument("--data", type=Path, default=Path("bench-data"), help="where generated graphs are kept")
    parser.add_argument("--only", default="", help="graphs whose names contain this")
    parser.add_argument("--repeat", type=int, default=8)
    options = parser.parse_args()
    print(
        "| graph | loading, ms | statistics, ms | share | median | of the wall: loading | statistics | share | median |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, load in _graphs(options.data):
        if options.only in name:
            print(_row(name, [_measured(load) for _ in range(options.repeat)]), flush=True)


def _graphs(data: Path) -> Iterator[tuple[str, Callable[[], qengine.Graph]]]:
    social = SocialGraph(data, generate.SocialSize())
    yield "social graph of the `load` suite", lambda: qengine.Graph.from_parquet(_prepared(social))
    for name, graph in {
        "R-MAT 16": PatternGraph(data, 16),
        "R-MAT 18": PatternGraph(data, 18),
        "R-MAT 16, 16 labels": PatternGraph(data, 16, label_count=16),
    }.items():
        yield name, partial(_plain, graph)
        if graph.label_count == 1:
            yield f"{name}, each edge one way", partial(_oriented, graph)


def _plain(graph: PatternGraph) -> qengine.Graph:
    return qengine.Graph.from_graph_file(_prepared(graph) / "graph.txt")


def _oriented(graph: PatternGraph) -> qengine.Graph:
    return qengine.Graph.from_edge_list(_prepared(graph) / "oriented.txt", type="E")


def _prepared(dataset: SocialGraph | PatternGraph) -> Path:
    datasets.prepare(dataset)
    return dataset.folder


def _measured(load: Callable[[], qengine.Graph]) -> tuple[Clocks, Clocks]:
    """Load once; return what loading took, statistics included, and what they took."""
    with _gathering() as took:
        begin = _now()
        load()
        whole = _since(begin)
    return whole, (sum(each[0] for each in took), sum(each[1] for each in took))


@contextmanager
def _gathering() -> Iterator[list[Clocks]]:
    """Collect in this block what each gathering takes."""
    took: list[Clocks] = []
    gather = Statistics.gather

    def timed(self: Statistics) -> None:
        begin = _now()
        gather(self)
        took.append(_since(begin))

    Statistics.gather = timed  # type: ignore[method-assign]
    try:
        yield took
    finally:
        Statistics.gather = gather  # type: ignore[method-assign]


def _row(name: str, runs: list[tuple[Clocks, Clocks]]) -> str:
    cells = [name]
    for clock in range(2):
        whole, own = min(run[0][clock] for run in runs), min(run[1][clock] for run in runs)
        middle = median(run[1][clock] / run[0][clock] for run in runs)
        marked = "" if own / whole <= _ASKED else " (asked: 5 %)"
        cells += [f"{whole * 1e3:,.0f}", f"{own * 1e3:.1f}", f"{own / whole:.1%}{marked}", f"{middle:.1%}"]
    return f"| {' | '.join(cells)} |"


def _now() -> Clocks:
    return time.process_time(), time.perf_counter()


def _since(begin: Clocks) -> Clocks:
    return time.process_time() - begin[0], time.perf_counter() - begin[1]


if __name__ == "__main__":
    main()
