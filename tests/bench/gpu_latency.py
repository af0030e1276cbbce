"""What a query on the GPU takes besides its kernels: ``python -m tests.bench.gpu_latency [--profile]``.

Warm: from text to count with a cached plan, the median of 200, beside the time between its first kernel and the end of
its last, by events. Cold: a process that imports, loads a small graph and answers one query.
"""

from __future__ import annotations

import cProfile
import pstats
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

from qengine import Graph
from qengine.exec.gpu.device import cupy
from qengine.exec.gpu.launch import DeviceRun
from qengine.testing import generate
from tests.bench.edge_labelled import enron_queries

_RUNS = 200
TEXTS = {
    "triangle": "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a) RETURN count(*)",
    "path of labels": "MATCH (a:L1)-[:E]-(b:L2)-[:E]-(c:L3), (c)-[:E]-(d:L4) RETURN count(*)",
    "few rows": "MATCH (a:L1)-[:E]-(b:L2)-[:E]-(c:L3)-[:E]-(a) RETURN id(a), id(b), id(c)",
    "triangles by node": "MATCH (a:L1)-[:E]-(b:L2)-[:E]-(c:L3)-[:E]-(a) RETURN id(a), count(*)",
}
COLD = (
    "from qengine import Graph; import numpy as np; "
    "g = Graph.from_edge_list((np.arange(999), np.arange(1, 1000)), undirected=True); "
    "print(g.query('MATCH {} RETURN count(*)', device='{}').value())"
)


class Timed:
    """Records an event before the first launch of a query, and one after each, as long as it is entered."""

    NAMES = ("launch", "replay")

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.methods = {name: getattr(DeviceRun, name) for name in self.NAMES}

    def __enter__(self) -> Timed:
        for name in self.NAMES:
            setattr(DeviceRun, name, self.timed(self.methods[name]))
        return self

    def __exit__(self, *_: object) -> None:
        for name, method in self.methods.items():
            setattr(DeviceRun, name, method)

    def timed(self, method: Any) -> Any:
        """Return the method with its events."""

        def call(run: DeviceRun, *arguments: Any, **options: Any) -> None:
            if not self.events:
                self.mark(run)
            method(run, *arguments, **options)
            self.mark(run)

        return call

    def mark(self, run: DeviceRun) -> None:
        event = cupy().cuda.Event()
        event.record(run.stream)
        self.events.append(event)

    def milliseconds(self) -> float:
        """Return the time between the first event and the last, and forget them."""
        events, self.events = self.events, []
        return float(cupy().cuda.get_elapsed_time(events[0], events[-1]))


def warm(graph: Graph, text: str) -> tuple[float, float]:
    """Return milliseconds of a query, and of its kernels."""

    def run() -> float:
        begin = time.perf_counter()
        graph.query(text, device="gpu").fetchall()
        return (time.perf_counter() - begin) * 1e3

    whole = statistics.median([run() for _ in range(_RUNS)][_RUNS // 4 :])
    kernels = []
    with Timed() as timed:
        for _ in range(_RUNS // 4):
            run()
            kernels.append(timed.milliseconds())
    return whole, statistics.median(kernels)


def main() -> None:
    start, end = generate.to_csr(generate.rmat(12, 16, 42)).edges()
    plain = Graph.from_edge_list((start.astype(np.int64), end.astype(np.int64)), undirected=True)
    labelled, _ = enron_queries()
    print("| query | ms | kernels | besides |")
    print("| --- | --- | --- | --- |")
    for name, text in TEXTS.items():
        graph = plain if name == "triangle" else labelled
        whole, kernels = warm(graph, text)
        print(f"| {name} | {whole:.3f} | {kernels:.3f} | {whole - kernels:.3f} |", flush=True)
        if "--profile" in sys.argv:
            profile = cProfile.Profile()
            profile.enable()
            for _ in range(_RUNS):
                graph.query(text, device="gpu").fetchall()
            profile.disable()
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    for pattern in ("(a)--(b)--(c)--(a)", "(a)--(b)--(c)--(d)--(e)"):
        for device in ("gpu", "cpu"):
            for _ in range(2):
                begin = time.perf_counter()
                subprocess.run([sys.executable, "-c", COLD.format(pattern, device)], check=True, capture_output=True)
                print(f"cold process, {pattern} on the {device}: {time.perf_counter() - begin:.2f} s", flush=True)


if __name__ == "__main__":
    main()
