"""Sorting, different rows, groups and different values under a memory limit, beside DuckDB under the same.

Run as ``python -m tests.bench.spill --rows 5000000,20000000 --limits 32,100``. Each query runs in a process of its own,
which measures its peak memory beyond what it began with; results are read as Arrow batches and not kept. Answers are
compared before times are printed.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import qengine
from qengine._frozen import frozen
from tests.limits.measured import measured

Batches = Iterator[Any]
Start = Callable[["Work", int, int, str], Batches]
"""Starts a query over so many rows within so many bytes, with a directory to spill into."""

_SECONDS = 120  # after which a query's process ends
_MB = 1_000_000
_THREADS = 2
_KEY = "x * 48271 % 2147483647"  # different for each row, in no order
_FEW = "x * 48271 % 2147483647 % (($n + 3) / 4)"  # about four rows each


@frozen
class Work:
    """A query in both languages. ``ordered``: whether its first column must ascend."""

    name: str
    cypher: str
    sql: str
    ordered: bool = False


def _work(name: str, cypher: str, sql: str, ordered: bool = False) -> Work:
    rows = "(SELECT {} AS k, x FROM range(1, $n + 1) AS t(x))"
    for key, expr in (("KEYS", _KEY), ("FEW", _FEW)):
        cypher = cypher.replace(key, f"UNWIND range(1, $n) AS x WITH x, {expr} AS k")
        sql = sql.replace(key, rows.format(expr.replace("/", "//")))
    return Work(name, cypher, sql, ordered)


WORK = (
    _work("sort", "KEYS RETURN k ORDER BY k", "SELECT k FROM KEYS ORDER BY k", ordered=True),
    _work("sort, two columns", "KEYS RETURN k, x ORDER BY k", "SELECT k, x FROM KEYS ORDER BY k", ordered=True),
    _work("distinct", "KEYS RETURN DISTINCT k", "SELECT DISTINCT k FROM KEYS"),
    _work("distinct, a quarter", "FEW RETURN DISTINCT k", "SELECT DISTINCT k FROM FEW"),
    _work("groups", "KEYS RETURN k, count(*) AS c", "SELECT k, count(*) AS c FROM KEYS GROUP BY k"),
    _work("groups, sums", "FEW RETURN k, sum(x) AS s", "SELECT k, sum(x)::BIGINT AS s FROM FEW GROUP BY k"),
    _work("count distinct", "KEYS RETURN count(DISTINCT k) AS c", "SELECT count(DISTINCT k) AS c FROM KEYS"),
)


@frozen
class Outcome:
    """What one run found and took: ``answer`` is a number of its rows, its columns' sums and products."""

    answer: tuple[int, ...]
    seconds: float
    processor_seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description="rows beyond a memory limit, beside DuckDB")
    parser.add_argument("--rows", default="5000000,20000000", help="sizes")
    parser.add_argument("--limits", default="32,100", help="memory limits in MB (10⁶ bytes)")
    parser.add_argument("--only", default="", help="names of queries, separated by semicolons")
    parser.add_argument("--peers", default="duckdb")
    options = parser.parse_args()
    chosen = [work for work in WORK if not options.only or work.name in options.only.split(";")]
    engines: dict[str, Start] = {"qengine": _ours()}
    if "duckdb" in options.peers:
        engines["duckdb"] = _duckdb()
    for rows in map(int, options.rows.split(",")):
        for limit in map(int, options.limits.split(",")):
            _table(chosen, engines, rows, limit * _MB)


def _table(chosen: Sequence[Work], engines: dict[str, Start], rows: int, limit: int) -> None:
    print(f"\n{rows:,} rows, {limit // _MB} MB; seconds (of the processors), peak MB\n")
    print(f"| query | {' | '.join(f'{name} | peak' for name in engines)} | times as long |")
    print("|---" * (2 + 2 * len(engines)) + "|")
    for work in chosen:
        cells: list[str] = []
        found: list[Outcome] = []
        for start in engines.values():
            with tempfile.TemporaryDirectory() as scratch:
                run = measured(partial(_run, work, start, rows, limit, scratch), _SECONDS)
            if not isinstance(run.outcome, Outcome):
                cells += [str(run.outcome).split(":")[0], f"{run.peak / _MB:.0f}"]
                continue
            found.append(run.outcome)
            cells += [f"{run.outcome.seconds:.2f} ({run.outcome.processor_seconds:.2f})", f"{run.peak / _MB:.0f}"]
        assert len({each.answer for each in found}) <= 1, (work.name, found)
        ratio = f"{found[0].seconds / found[1].seconds:.2f}" if len(found) > 1 else ""
        print(f"| {work.name} | {' | '.join(cells)} | {ratio} |", flush=True)


def _run(work: Work, start: Start, size: int, limit: int, scratch: str) -> Outcome:
    """Read all batches; an order is checked as they come."""
    begin, used = time.perf_counter(), _processor_seconds()
    rows, last = 0, -1
    sums: list[int] = []
    for batch in start(work, size, limit, scratch):
        columns = [column.to_numpy(zero_copy_only=False).astype(np.uint64) for column in batch.columns]
        rows += len(columns[0])
        if work.ordered and len(columns[0]):
            assert last <= columns[0][0] and (columns[0][1:] >= columns[0][:-1]).all(), "out of order"
            last = int(columns[0][-1])
        both = columns[0] * (columns[-1] + np.uint64(1))
        totals = [int(each.sum(dtype=np.uint64)) for each in (*columns, both)]
        sums = [one + other & (1 << 64) - 1 for one, other in zip(sums or [0] * len(totals), totals, strict=True)]
    return Outcome((rows, *sums), time.perf_counter() - begin, _processor_seconds() - used)


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _ours() -> Start:
    graph = qengine.Graph.from_arrow({"P": pa.table({"id": [1]})}, [], key="id")
    for work in WORK:  # what is imported late is there
        for _ in graph.query(work.cypher.replace("$n", "200000"), memory_limit=4 * _MB).to_reader():
            pass

    def start(work: Work, rows: int, limit: int, scratch: str) -> Batches:
        options: dict[str, Any] = {"memory_limit": limit, "spill_directory": scratch, "threads": _THREADS}
        return iter(graph.query(work.cypher.replace("$n", str(rows)), **options).to_reader())

    return start


def _duckdb() -> Start:
    import duckdb

    duckdb.connect(":memory:").execute("SELECT 1").fetchall()

    def start(work: Work, rows: int, limit: int, scratch: str) -> Batches:
        options: dict[str, str | bool | int | float | list[str]] = {
            "threads": _THREADS, "memory_limit": f"{limit}B", "temp_directory": scratch,
        }  # fmt: skip
        connection = duckdb.connect(":memory:", config=options)
        return iter(connection.sql(work.sql.replace("$n", str(rows))).to_arrow_reader(65_536))

    return start


if __name__ == "__main__":
    os.environ.setdefault("QENGINE_CONFIG_DIR", os.devnull)
    main()
