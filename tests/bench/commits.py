"""Statements a second that change an opened graph, by durability and threads, and how long a log takes to open.

Run as ``python -m tests.bench.commits --folder DIR``, with a folder on the disk that is meant. Each statement creates
one person with three properties, and is a transaction of its own. Wall time: the syncs of the disk are part of it; all
are measured by turns. Beside it the processor time of a statement, which other work disturbs less.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

import qengine
from qengine.write.log import Durability
from tests.bench.timing import least, seconds

CREATE = "CREATE (:Person {name: $name, age: $age, score: $score})"


def main() -> None:
    parser = argparse.ArgumentParser(description="how fast an opened graph is changed")
    parser.add_argument("--folder", type=Path, help="on the disk that is measured; default: that of temporary files")
    parser.add_argument("--nodes", type=int, default=100_000, help="of the graph before")
    parser.add_argument("--statements", type=int, default=1_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        path = Path(scratch) / "graph"
        committing(path, options.nodes, options.statements, options.repeat)
        opening(path, options.nodes, options.statements * 20, options.repeat)


def committing(path: Path, nodes: int, count: int, repeat: int) -> None:
    """Print statements a second."""
    made(nodes).save(path)
    ways: list[tuple[Durability | None, int]] = [
        (None, 1),
        ("none", 1),
        ("batched", 1),
        ("full", 1),
        ("full", 8),
        ("full", 64),
    ]
    took: dict[tuple[Durability | None, int], list[float]] = {way: [] for way in ways}
    computed: dict[tuple[Durability | None, int], list[float]] = {way: [] for way in ways}
    for _ in range(repeat):
        for durability, threads in ways:
            graph = made(nodes) if durability is None else qengine.open(path, durability=durability)
            with graph:
                graph.query(CREATE, given(0))
                own = count // 10 if durability == "full" and threads == 1 else count // threads
                begin = time.process_time()
                took[durability, threads].append(own * threads / changed(graph, own, threads))
                computed[durability, threads].append((time.process_time() - begin) / (own * threads))
                if durability is not None:
                    graph.checkpoint()
    print("| statements, one transaction each | a second, median | least | most | µs of processor |")
    print("|---|---|---|---|---|")
    for (durability, threads), rates in took.items():
        own_time = 1e6 * median(computed[durability, threads])
        name = "in memory" if durability is None else f'`durability="{durability}"`'
        cells = [f"{of(rates):,.0f}" for of in (median, min, max)]
        print(f"| {name}, threads: {threads} | " + " | ".join(cells) + f" | {own_time:.0f} |")


def opening(path: Path, nodes: int, count: int, repeat: int) -> None:
    """Print how long opening and the first query take with a log and after its checkpoint."""
    made(nodes).save(path)
    with qengine.open(path, durability="none") as graph:
        changed(graph, count, 1)
    with_log = least(lambda: first_query(path), repeat, time.perf_counter)
    with qengine.open(path) as graph:
        checkpoint = seconds(graph.checkpoint, time.perf_counter)
    without = least(lambda: first_query(path), repeat, time.perf_counter)
    print(f"\n| {count:,} statements in the log | ms |\n|---|---|")
    for what, took in (("open and count", with_log), ("checkpoint", checkpoint), ("open and count after it", without)):
        print(f"| {what} | {took * 1e3:,.1f} |")


def made(nodes: int) -> qengine.Graph:
    return qengine.Graph.from_records([{"labels": ["Person"], "properties": given(number)} for number in range(nodes)])


def given(number: int) -> dict[str, object]:
    return {"name": f"Name {number}", "age": number % 90, "score": number / 7}


def changed(graph: qengine.Graph, count: int, threads: int) -> float:
    """Change a graph so often by each of some threads; return the seconds."""

    def work() -> None:
        for number in range(count):
            graph.query(CREATE, given(number))

    def all_work() -> None:
        workers = [threading.Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    return seconds(all_work, time.perf_counter)


def first_query(path: Path) -> None:
    with qengine.open(path) as graph:
        graph.query("MATCH (n:Person) RETURN count(*)").value()


if __name__ == "__main__":
    main()
