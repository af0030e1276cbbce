"""The process of one engine: ``python -m tests.bench.network.worker ENGINE FOLDER THREADS``.

Requests and replies are those of `tests.bench.analytics.worker`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.bench.analytics.worker import Run, into_qengine, serve
from tests.bench.network.loading import into_duckdb, into_kuzu


def _duckdb(folder: Path, threads: int) -> Run:
    connection = into_duckdb(folder, threads)
    return lambda text: connection.sql(text).to_arrow_table()


def _kuzu(folder: Path, threads: int) -> Run:
    connection = into_kuzu(folder, threads)
    return lambda text: connection.execute(text).get_as_arrow()


if __name__ == "__main__":
    engine, folder, threads = sys.argv[1:]
    ways = {"qengine": into_qengine, "duckdb": _duckdb, "kuzu": _kuzu}
    serve(lambda: ways[engine](Path(folder), int(threads)))
