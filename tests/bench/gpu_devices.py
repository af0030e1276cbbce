"""One GPU beside all of a host: ``python -m tests.bench.gpu_devices [--graphs rmat24,enron16] [--runs 5]``.

For each query milliseconds of a prepared run on the first GPU and on all, the median of some by turns, from text to
count with the graph on the devices; how many times as fast all are; and the geometric mean over those that take one
more than 20 ms. Counts of one and of all must be equal, the samples of estimates, too; a wrong one ends the command
with 1. "pieces": how many each device took. ``--devices``: names to compare, the first alone.

``--foretold`` is for one GPU: it does the pieces that two would take one after the other, and tells from what each
took when two would be done. What these have in common, memory of the host and Python's lock, is left out.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np
import pyarrow as pa

from qengine import Graph
from qengine.exec.gpu.device import usable
from qengine.plan.physical import Eliminate, Search
from qengine.plan.traverse import operators
from tests.bench import edge_labelled, gpu_graphs

PATTERNS = {
    "triangle": "(a)--(b)--(c)--(a)",
    "K4": "(a)--(b)--(c)--(d)--(a), (a)--(c), (b)--(d)",
    "4-cycle": "(a)--(b)--(c)--(d)--(a)",
    "K5": "(a)--(b)--(c)--(d)--(e)--(a), (a)--(c)--(e)--(b)--(d)--(a)",
    "diamond": "(a)--(b)--(c)--(d)--(a), (a)--(c)",
    "tailed": "(a)--(b)--(c)--(a), (a)--(d)",
    "bow tie": "(a)--(b)--(c)--(a)--(d)--(e)--(a)",
}
LABELLED = {
    "path of 5 by label": "(a:L0)--(b:L1)--(c:L2)--(d:L3)--(e:L4)",
    "square by label": "(a:L0)--(b:L1)--(c:L2)--(d:L3)--(a)",
    "K4 by label": "(a:L0)--(b:L1)--(c:L2)--(d:L3)--(a), (a)--(c), (b)--(d)",
    "six by label": "(a:L0)--(b:L1)--(c:L2)--(a), (c)--(d:L3)--(e:L4)--(c), (e)--(f:L5)",
}
ROWS = {
    "triangles of a label, rows": "MATCH (a:L0)--(b:L1)--(c:L2)--(a) RETURN a, b, c",
    "grouped": "MATCH (a:L0)--(b:L1)--(c:L2) RETURN id(c) % 100, count(*), min(id(a)), max(id(b))",
}
ESTIMATED = {"triangle": 1 << 28, "K4": 1 << 28, "4-cycle": 1 << 28}
"""Samples by Alley."""

LEAST = 20.0
"""Milliseconds of one from which a cell counts."""


@dataclass(frozen=True)
class Cell:
    """A query: what it returns on a device, to be compared, and how it is computed."""

    name: str
    run: Callable[[str], Any]
    way: str


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.gpu_devices", description=main.__doc__)
    parser.add_argument("--graphs", default="rmat24,labelled20,enron16")
    parser.add_argument("--devices", default="gpu:0,gpu", help="the two that are compared")
    parser.add_argument("--only", default="", help="queries by their names; default: all")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=240.0, help="after which no further query begins")
    parser.add_argument("--foretold", action="store_true", help="on one GPU: what two would take, by the pieces' times")
    options = parser.parse_args()
    one, all_of_them = options.devices.rsplit(",", 1)
    if options.foretold:
        foretell()
    end, wrong, speedups = time.monotonic() + options.seconds, 0, []
    print("| graph | query | count | computed by | one, ms | all, ms | times | first runs | pieces |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for name in options.graphs.split(","):
        if time.monotonic() > end:
            break
        for cell in cells(name):
            if time.monotonic() > end:
                break
            if options.only and cell.name not in options.only.split(","):
                continue
            times = measured(name, cell, (one, all_of_them), options.runs)
            wrong += times is None
            if times is not None and times[0] >= LEAST:
                speedups.append(times[0] / times[1])
    if speedups:
        mean = exp(sum(map(log, speedups)) / len(speedups))
        print(f"{len(speedups)} of {LEAST:g} ms and more: {mean:.2f} times, the least {min(speedups):.2f}")
    return 1 if wrong else 0


def measured(graph: str, cell: Cell, devices: Sequence[str], runs: int) -> tuple[float, float] | None:
    """Print a row; return the times on one and on all, None where they differ."""
    try:
        firsts, found = [], []
        for device in devices:
            seconds, value = timed(cell.run, device)
            firsts.append(seconds)
            found.append(value)
        taken: dict[str, list[float]] = {device: [] for device in devices}
        for _ in range(max(2, min(runs, int(20 / max(firsts))))):
            for device in devices:
                taken[device].append(timed(cell.run, device)[0])
    except Exception as error:
        print(f"| {graph} | {cell.name} | {type(error).__name__}: {str(error)[:300]!r} |", flush=True)
        return None
    one, several = (1e3 * statistics.median(taken[device]) for device in devices)
    right = found[0] == found[1]
    shown = f"{found[0]:,}" if isinstance(found[0], int) else str(found[0])[:40]
    first = ", ".join(f"{1e3 * each:.0f}" for each in firsts)
    print(
        f"| {graph} | {cell.name} | {shown}{'' if right else f' WRONG: {found[1]}'} | {cell.way} | {one:.3g} "
        f"| {several:.3g} | {one / several:.2f} | {first} | {PIECES.pop() if PIECES else 'one'} |",
        flush=True,
    )
    PIECES.clear()
    return (one, several) if right else None


PIECES: list[str] = []
"""What the last run with several devices said."""


def timed(run: Callable[[str], Any], device: str) -> tuple[float, Any]:
    """Return the seconds of a run, and what it gave."""
    SAVED[0], begin = 0.0, time.perf_counter()
    value = run(device)
    return time.perf_counter() - begin - SAVED[0], value


SAVED = [0.0]
"""Seconds of the last run that pieces would have run beside each other."""


def foretell() -> None:
    """Let one device do the pieces of two, and tell what that would save."""
    from qengine.exec.gpu import dealing, device

    usable, pieces = device.usable, dealing.Dealing._pieces

    def timed_pieces(self: Any, number: int) -> Iterator[Any]:
        free, spent, begin = [0.0, 0.0], 0.0, 0.0
        for each in pieces(self, number):
            begin = time.perf_counter()
            yield each
            taken = time.perf_counter() - begin
            spent += taken
            free[free.index(min(free))] += taken
        SAVED[0] += spent - max(free)

    dealing.Dealing._pieces = timed_pieces  # type: ignore[method-assign]
    dealing.Dealing.takers = lambda self, pieces: self.context.gpus[:1]  # type: ignore[method-assign]
    device.usable = lambda asked=(): (usable(asked)[0], 1) if not asked else usable(asked)


def cells(name: str) -> Iterator[Cell]:
    """Load a graph, and yield its queries."""
    if name.startswith("rmat"):
        graph = rmat(int(name.removeprefix("rmat")), 0)
        yield from (counted(graph, key, f"MATCH {pattern} RETURN count(*)") for key, pattern in PATTERNS.items())
        if len(usable()) > 1:  # where there is one, nothing can be foretold
            yield from (estimated(graph, key, samples) for key, samples in ESTIMATED.items())
    elif name.startswith("labelled"):
        graph = rmat(int(name.removeprefix("labelled")), 8)
        yield from (counted(graph, key, f"MATCH {pattern} RETURN count(*)") for key, pattern in LABELLED.items())
        yield from (listed(graph, key, text) for key, text in ROWS.items())
    else:
        graph, texts = edge_labelled.GRAPHS[name](12)
        yield from (counted(graph, f"query {number}", text) for number, text in enumerate(texts))


def rmat(scale: int, labels: int) -> Graph:
    """Return an R-MAT graph that is generated on the first device; nodes have one of so many labels, by chance."""
    begin = time.perf_counter()
    csr = gpu_graphs.rmat(scale, 16, 42)
    neighbours, offsets = csr.neighbours.get(), csr.offsets.get()
    n = csr.n
    del csr
    rows = np.repeat(np.arange(n, dtype=np.uint32), np.diff(offsets).astype(np.int64))
    once = rows < neighbours
    ends = rows[once], neighbours[once]
    if labels:
        label = np.random.default_rng(1).integers(0, labels, n)
        nodes = [(f"L{k}", pa.table({"id": np.flatnonzero(label == k)})) for k in range(labels)]
        edges = pa.table({"src": ends[0].astype(np.int64), "dst": ends[1].astype(np.int64)})
        graph = Graph.from_arrow(nodes, [("E", edges)], undirected=["E"])
    else:
        graph = Graph.from_edge_list(ends, type="E", undirected=True)
    print(f"R-MAT {scale}: {time.perf_counter() - begin:.0f} s to load", file=sys.stderr, flush=True)
    return graph


def counted(graph: Graph, name: str, text: str) -> Cell:
    """Return the cell of a count, whose rows are one number."""
    prepared = graph.prepare(text)

    def run(device: str) -> Any:
        return prepared.run(device=device, timeout=20).value()

    return Cell(name, told(run), way(graph, text))


def listed(graph: Graph, name: str, text: str) -> Cell:
    """Return the cell of rows, of which the number and a checksum are compared."""
    prepared = graph.prepare(text)

    def run(device: str) -> tuple[int, int]:
        table = prepared.run(device=device, timeout=20).to_arrow()
        numbers = [column for column in table.columns if pa.types.is_integer(column.type)]
        return table.num_rows, sum(int(np.asarray(column).astype(np.int64).sum()) for column in numbers)

    return Cell(name, told(run), way(graph, text))


def estimated(graph: Graph, name: str, samples: int) -> Cell:
    """Return the cell of an estimate, of which the samples that hit are compared."""

    def run(device: str) -> int:
        return graph.estimate(f"MATCH {PATTERNS[name]}", method="alley", samples=samples, seed=1, device=device).hits

    return Cell(f"{name}, estimated", told(run), f"{samples:,} samples")


def told(run: Callable[[str], Any]) -> Callable[[str], Any]:
    """Let what several devices did be kept in ``PIECES``."""
    from qengine.exec.gpu import dealing

    def wait(self: Any) -> None:
        original(self)
        PIECES.append(" + ".join(map(str, self.taken.values())))

    original = getattr(dealing.Dealing.wait, "original", dealing.Dealing.wait)
    wait.original = original  # type: ignore[attr-defined]
    dealing.Dealing.wait = wait  # type: ignore[method-assign]
    return run


def way(graph: Graph, text: str) -> str:
    """Return which kernels a count runs."""
    plan = graph.explain(text, device="gpu")
    found = []
    for each in operators(plan.plan.root):
        if isinstance(each, Eliminate) and (schedule := each.schedule("gpu")) is not None:
            kernels = dict.fromkeys(call.kernel for call in schedule.every if call.kernel not in ("uploaded", "dot"))
            return f"{', '.join(kernels)} ({schedule.cost / 1e6:.3g} ms expected)"
        if isinstance(each, Search):
            from qengine.plan.device_cost import device_search_cost

            cost = device_search_cost(each.shapes, each.cost, each.on_gpu)
            shape = type(each.shapes[0].shape).__name__ if len(each.shapes) == 1 else "search"
            found.append(f"{shape} ({cost / 1e6:.3g} ms expected)")
    return ", ".join(found[:1])


if __name__ == "__main__":
    sys.exit(main())
