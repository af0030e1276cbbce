"""The process of one engine: ``python -m tests.bench.analytics.worker ENGINE FOLDER THREADS``.

It loads the folder's Parquet files, then reads a query from each line of standard input, as JSON with ``text``,
``exact`` and the ``limit`` in seconds, and runs it once. For the load and for every run it writes a line of JSON: the
seconds, of a run those of all processors too, and a summary of the answer, or ``failed`` with a reason.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from tests.bench.analytics.digest import digest

Run = Callable[[str], pa.Table]


def serve(load: Callable[[], Run]) -> None:
    """Load, then answer each line of standard input, as the module says."""
    out = os.fdopen(os.dup(1), "w", buffering=1)  # engines must not write into the protocol
    os.dup2(2, 1)
    signal.signal(signal.SIGALRM, _stopped)
    begin = time.perf_counter()
    run = load()
    out.write(json.dumps({"seconds": time.perf_counter() - begin, "answer": None}) + "\n")
    for line in sys.stdin:
        request = json.loads(line)
        begin, spent = time.perf_counter(), time.process_time()
        try:
            signal.setitimer(signal.ITIMER_REAL, request["limit"])
            try:
                table = run(request["text"])
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            took = {"seconds": time.perf_counter() - begin, "processor": time.process_time() - spent}
            reply = took | {"answer": digest(table, request["exact"])}
        except Exception as error:
            reply = {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
        out.write(json.dumps(reply) + "\n")


def _stopped(number: int, frame: object) -> None:
    raise TimeoutError("the time limit")


def into_qengine(folder: Path, threads: int) -> Run:
    """Load a folder; every text is planned anew each time, as by peers."""
    import qengine

    graph = qengine.Graph.from_parquet(folder)
    runs = 0

    def run(text: str) -> pa.Table:
        nonlocal runs
        runs += 1
        return graph.query(f"{text} // run {runs}", threads=threads).to_arrow()

    return run


def _duckdb(folder: Path, threads: int) -> Run:
    import duckdb

    connection = duckdb.connect(":memory:", config={"threads": threads})
    for file in folder.glob("*.parquet"):
        kind, *words = file.stem.split("_")
        table = "_".join(words if kind == "nodes" else words[1:-1])
        connection.execute(f"CREATE TABLE \"{table}\" AS FROM read_parquet('{file}')")
    return lambda text: connection.sql(text).to_arrow_table()


if __name__ == "__main__":
    engine, folder, threads = sys.argv[1:]
    ways = {"qengine": into_qengine, "duckdb": _duckdb}
    serve(lambda: ways[engine](Path(folder), int(threads)))
