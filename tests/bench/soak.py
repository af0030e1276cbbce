"""Readers and writers in many threads, for as long as is asked for: do the sums hold, does the memory stay?

Run it as ``python -m tests.bench.soak --minutes 60 --threads 8 [--folder FOLDER]``; it prints a line a minute, and ends
with an error at the first sum that doesn't hold.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import threading
import time
from pathlib import Path

import qengine
from qengine.testing.bank import Bank, together


def main() -> None:
    """Run threads of which a quarter write, and report each minute."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.soak", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--accounts", type=int, default=1_000)
    parser.add_argument("--durability", choices=("full", "batched", "none"), default="batched")
    parser.add_argument("--folder", type=Path, help="where the opened graph lies (default: a temporary folder)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "graph"
        qengine.Graph().save(path)
        with qengine.open(path, durability=given.durability) as graph:
            bank = Bank(graph, given.accounts)
            _run(bank, given.minutes, given.threads)
            begin = time.monotonic()
            graph.checkpoint()
            print(f"checkpoint {time.monotonic() - begin:.2f} s")
        with qengine.open(path, read_only=True) as graph:
            bank.graph = graph
            bank.check()
    print(f"all sums held: {dict(bank.done)}")


def _run(bank: Bank, minutes: float, threads: int) -> None:
    ended = threading.Event()
    waits: list[float] = []

    def write(seed: int) -> None:
        chance = random.Random(seed)
        try:
            while not ended.is_set():
                bank.change(chance)
        finally:
            ended.set()

    def read() -> None:
        try:
            while not ended.is_set():
                begin = time.monotonic()
                bank.check()
                waits.append(time.monotonic() - begin)
        finally:
            ended.set()

    def report() -> None:
        begin = time.monotonic()
        for minute in range(1, int(minutes) + 2):
            ended.wait(min(60, begin + 60 * minutes - time.monotonic()))
            most, waits[:] = max(waits, default=0.0), []
            print(f"{minute:3} min  {_resident():7.1f} MiB  slowest check {most:6.3f} s  {dict(bank.done)}", flush=True)
            if ended.is_set() or time.monotonic() - begin >= 60 * minutes - 1:
                break
        ended.set()

    writers = max(1, threads // 4)
    tasks = [lambda seed=seed: write(seed) for seed in range(writers)]
    together([*tasks, *[read] * (threads - writers), report])


def _resident() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * resource.getpagesize() / 2**20


if __name__ == "__main__":
    main()
