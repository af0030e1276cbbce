"""Functions of users over many rows: ``x + 1``, row by row and over arrays.

Run as ``python -m tests.bench.user_functions --rows 5000000``. Times are of whole statements, the least of several
turns: of the process (user and system, all threads) and by the clock. ``x + 1`` as the operator tells what the rest
takes.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import qengine

_CALLS = {"operator": "{} + 1", "vectorized": "bench.array({})", "row by row": "bench.row({})"}
_TEXTS = {
    "numbers of a range, summed": "UNWIND range(1, {rows}) AS x RETURN sum({call})",
    "a property of nodes, summed": "MATCH (n:N) RETURN sum({call})",
    "a property of nodes, compared": "MATCH (n:N) WHERE {call} > 1 RETURN count(*)",
}


def measure(rows: int, turns: int) -> dict[tuple[str, str], tuple[float, float]]:
    """Return for each statement and way the rows a second of processor time, and of the wall clock."""
    graph = qengine.Graph()
    graph.append_arrow(nodes={"N": pa.table({"x": np.arange(1, rows + 1)})})
    graph.register_function("bench.row(x :: INTEGER) :: INTEGER", lambda x: x + 1)
    graph.register_function("bench.array(x :: INTEGER) :: INTEGER", lambda x: pc.add(x, 1), vectorized=True)
    best: dict[tuple[str, str], tuple[float, float]] = {}
    for _ in range(turns):
        for told, text in _TEXTS.items():
            for name, call in _CALLS.items():
                statement = text.format(rows=rows, call=call.format("x" if "UNWIND" in text else "n.x"))
                process, wall = time.process_time(), time.perf_counter()
                (row,) = graph.query(statement).fetchall()
                taken = time.process_time() - process, time.perf_counter() - wall
                assert row[0] == (rows if "count" in text else rows * (rows + 3) // 2), statement
                known = best.get((told, name), (float("inf"), float("inf")))
                best[told, name] = min(known[0], taken[0]), min(known[1], taken[1])
    return {key: (rows / process, rows / wall) for key, (process, wall) in best.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    print("| rows | x + 1 by | M rows/s of processor time | M rows/s by the clock |\n|---|---|---|---|")
    for (told, name), (process, wall) in measure(options.rows, options.turns).items():
        print(f"| {told} | {name} | {process / 1e6:.1f} | {wall / 1e6:.1f} |")


if __name__ == "__main__":
    main()
