"""Functions of users over many rows: ``x + 1``, row by row and over arrays.

Run as ``python -m tests.bench.user_functions --rows 5000000``. Times are of the process (user and system, all threads),
the least of several turns: ``UNWIND range(1, n) AS x RETURN sum(f(x))`` and, to tell what the rest takes, ``sum(x + 1)``.
"""

from __future__ import annotations

import argparse
import time

import pyarrow.compute as pc

import qengine

_FUNCTIONS = {"x + 1": "x + 1", "vectorized": "bench.array(x)", "row by row": "bench.row(x)"}


def measure(rows: int, turns: int) -> dict[str, tuple[float, float]]:
    """Return for each way the rows a second of processor time, and of the wall clock."""
    graph = qengine.Graph()
    graph.register_function("bench.row(x :: INTEGER) :: INTEGER", lambda x: x + 1)
    graph.register_function("bench.array(x :: INTEGER) :: INTEGER", lambda x: pc.add(x, 1), vectorized=True)
    best = dict.fromkeys(_FUNCTIONS, (float("inf"), float("inf")))
    for _ in range(turns):
        for name, call in _FUNCTIONS.items():
            process, wall = time.process_time(), time.perf_counter()
            (row,) = graph.query(f"UNWIND range(1, $n) AS x RETURN sum({call})", {"n": rows}).fetchall()
            taken = time.process_time() - process, time.perf_counter() - wall
            assert row[0] == rows * (rows + 3) // 2, name
            best[name] = min(best[name][0], taken[0]), min(best[name][1], taken[1])
    return {name: (rows / process, rows / wall) for name, (process, wall) in best.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    print("| x + 1 by | M rows/s of processor time | M rows/s by the clock |\n|---|---|---|")
    for name, (process, wall) in measure(options.rows, options.turns).items():
        print(f"| {name} | {process / 1e6:.1f} | {wall / 1e6:.1f} |")


if __name__ == "__main__":
    main()
