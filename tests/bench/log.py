"""Commits a second that the log takes, by durability, beside the disk's syncs; and how fast they are replayed.

Run as ``python -m tests.bench.log --folder DIR``, with a folder on the disk that is meant. A small commit sets one node
with three properties, a large one a thousand. What waits for the disk is measured by turns, in wall time; the rest in
processor time, the least of several runs.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from qengine.storage import from_records, save
from qengine.storage.states import Commit, NodeState
from qengine.write.encoding import decode, encode
from qengine.write.folder import open_for_reading, open_for_writing
from qengine.write.log import Durability
from tests.bench.timing import Clock, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description="how fast commits are logged and replayed")
    parser.add_argument("--folder", type=Path, help="on the disk that is measured; default: that of temporary files")
    parser.add_argument("--commits", type=int, default=20_000)
    parser.add_argument("--synced", type=int, default=50, help="commits of a thread that wait for the disk")
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        waiting(Path(scratch), options.synced, options.repeat)
        computing(Path(scratch), made(1), "small", options.commits, options.repeat)
        computing(Path(scratch), made(1000), "large", options.commits // 500, options.repeat)


def waiting(path: Path, count: int, repeat: int) -> None:
    """Print what waits for the disk, by turns: what else uses it changes."""
    one = made(1)
    data = encode(one)
    works = {f"{len(data)} bytes to a file, and a sync": (count, partial(raw, path / "raw", data, count))}
    for threads in (1, 8, 64):
        works[f"full, threads: {threads}"] = count * threads, partial(logged, path, one, (count, threads), "full")
    took: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeat):
        for name, (_, work) in works.items():
            took[name].append(work(time.perf_counter))
    print("| waiting for the disk | a second, median | least | most |\n|---|---|---|---|")
    for name, (total, _) in works.items():
        print(f"| {name} | " + " | ".join(f"{total / of(took[name]):,.0f}" for of in (median, max, min)) + " |")


def computing(path: Path, one: Commit, name: str, count: int, repeat: int) -> None:
    """Print what processor time the rest takes, the least of some runs."""
    data = encode(one)
    works = {
        "encode": partial(seconds, partial(times, count, partial(encode, one))),
        "decode": partial(seconds, partial(times, count, partial(decode, data))),
        "batched": partial(logged, path, one, (count, 1), "batched"),
        "none": partial(logged, path, one, (count, 1), "none"),
        "replay": partial(seconds, partial(replay, path / "graph")),
    }
    print(f"\n| {name} commits, processor time | a second | MB/s |\n|---|---|---|")
    for what, work in works.items():
        took = min(work(time.process_time) for _ in range(repeat))
        print(f"| {what} | {count / took:,.0f} | {count * len(data) / took / 1e6:,.1f} |", flush=True)


def made(nodes: int) -> Commit:
    states = {
        number: NodeState(("Person",), {"name": f"Name {number}", "age": number % 90, "score": number / 7})
        for number in range(nodes)
    }
    return Commit(states, {}, nodes, 0)


def raw(path: Path, data: bytes, count: int, clock: Clock) -> float:
    """Append and sync without the log: what the disk gives."""
    with open(path, "ab", buffering=0) as file:

        def work() -> None:
            file.write(data)
            os.fsync(file.fileno())

        return seconds(partial(times, count, work), clock)


def logged(path: Path, one: Commit, by: tuple[int, int], durability: Durability, clock: Clock) -> float:
    """Commit so often by each of so many threads to a new log, make sure that all is on the disk; return the time."""
    save(from_records([{"id": 1}]), path / "graph")
    with open_for_writing(path / "graph", durability)[2] as folder:
        count, threads = by

        def work() -> None:
            workers = [threading.Thread(target=times, args=(count, commit)) for _ in range(threads)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            folder.log.sync()

        commit = partial(folder.log.commit, one)
        return seconds(work, clock)


def replay(path: Path) -> None:
    open_for_reading(path)[2].close()


def times(count: int, work: Callable[[], object]) -> None:
    for _ in range(count):
        work()


if __name__ == "__main__":
    main()
