"""Orders of many joins, with estimates and without: ``python -m tests.bench.joins [--queries N] [--persons N]``.

Queries of 5 to 12 joins over tables whose columns and relationships go together, as ``examples/duckdb_orders.py`` draws
them, counted. Each runs as planned, as planned for a graph that has no summaries and no samples of values, and in other
orders (all connected ones of up to five nodes, else random ones): which tells what the orders without estimates lose at
most. CPU seconds of one thread, by turns, the least of some.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from qengine import Graph, Prepared, QengineError
from tests.bench.orders import orders

sys.path.append(str(Path(__file__).parents[2] / "examples"))

_TURNS = 5
_LONG = 5.0  # seconds by the clock, from which on an order is given up
_LEAST = 0.5  # milliseconds: of what takes less nothing is told


def main() -> None:
    """Print a line for each query, and what all of them say."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.joins", description=main.__doc__)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--persons", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random", type=int, default=20, help="orders tried of a large pattern (default: 20)")
    options = parser.parse_args()
    duckdb_orders = import_module("duckdb_orders")
    tables = duckdb_orders.tables(options.persons)
    graph, plain = _graph(tables), without_estimates(_graph(tables))
    source, rows = random.Random(options.seed), []
    print("| joins | with, ms | without | best | planning with | without | pattern |\n|---|---|---|---|---|---|---|")
    for query in duckdb_orders.drawn(graph, options.queries, options.seed):
        text = f"{query.pattern()} RETURN count(*)"
        known, other = graph.prepare(text), plain.prepare(text)
        seconds = _by_turns([known, other])
        best = min(seconds)
        for order in orders(query.pattern(), options.random, source):
            best = min(best, _least(graph.prepare(f"/*+ order({', '.join(order)}) */ {text}"), best))
        planning = [_planning(each.prepare, text) for each in (graph, plain)]
        rows.append((*seconds, best, *planning))
        told = " | ".join(f"{1e3 * each:.2f}" for each in rows[-1])
        print(f"| {query.joins} | {told} | {query.pattern()} |", flush=True)
    found = np.array([row for row in rows if max(row[:2]) >= _LEAST / 1e3])
    with_, without, best = found[:, :3].T
    for name, ratio in (
        ("with / without", with_ / without),
        ("without / best", without / best),
        ("with / best", with_ / best),
    ):
        print(
            f"{name}: {len(found)} of {_LEAST} ms and more, geometric mean {np.exp(np.log(ratio).mean()):.2f}, "
            f"median {np.median(ratio):.2f}, 95 % {np.quantile(ratio, 0.95):.2f}, most {ratio.max():.2f}, "
            f"over 1.2: {(ratio > 1.2).sum()}"
        )
    print("sums, ms: " + ", ".join(f"{1e3 * each:.0f}" for each in found.sum(axis=0)))


def without_estimates(graph: Graph) -> Graph:
    """Return the graph without what is known of values and of how degrees go together: counts alone are left."""
    statistics: Any = graph._store.statistics

    def nothing(*_: Any, **__: Any) -> None:
        return None

    statistics.samples = type(
        "NoSamples", (), dict.fromkeys(("nodes", "relationships", "at_nodes", "wedges"), staticmethod(nothing))
    )()
    statistics.value_summaries = nothing
    return graph


def _graph(tables: dict[str, pa.Table]) -> Graph:
    nodes = {name: tables[name] for name in ("Person", "Tag")}
    return Graph.from_arrow(
        nodes, [("knows", "Person", "Person", tables["knows"]), ("likes", "Person", "Tag", tables["likes"])], key="id"
    )


def _by_turns(queries: list[Prepared]) -> list[float]:
    for each in queries:
        _once(each)
    turns = [[_once(each) for each in queries] for _ in range(_TURNS)]
    return [min(times) for times in zip(*turns, strict=True)]


def _least(query: Prepared, best: float) -> float:
    try:
        first = _once(query)
    except QengineError:
        return np.inf
    return min(first, *(_once(query) for _ in range(_TURNS - 1))) if first < 1.5 * best else first


def _once(query: Prepared) -> float:
    begin = time.process_time()
    query.run(timeout=_LONG, threads=1, device="cpu").value()
    return time.process_time() - begin


def _planning(prepare: Callable[[str], object], text: str) -> float:
    times = []
    for turn in range(1, _TURNS):
        begin = time.process_time()
        prepare(text + " " * turn)
        times.append(time.process_time() - begin)
    return min(times)


if __name__ == "__main__":
    main()
