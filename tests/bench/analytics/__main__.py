"""The command: ``python -m tests.bench.analytics --size 2M --count 60 --seed 1``.

It draws queries, runs each on qengine and on DuckDB by turns, compares the answers and prints how many times DuckDB's
time is qengine's: the geometric mean, the worst queries, and with several sizes those whose time grows most beside
DuckDB's.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.bench.analytics.digest import agree
from tests.bench.analytics.draw import Analytical, draw
from tests.bench.analytics.forms import draw_forms
from tests.bench.analytics.replies import Request, replies
from tests.bench.analytics.report import ENGINES, Timed, report
from tests.bench.analytics.tables import SIZES, prepare
from tests.bench.runner import Limits

_MODULE = "tests.bench.analytics.worker"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 where an answer differs."""
    options = _options(arguments)
    end = time.monotonic() + options.seconds
    queries = list((draw_forms if options.forms else draw)(options.skip + options.count, options.seed))[options.skip :]
    limits = Limits(seconds=options.limit, loading=900.0, repeats=options.repeat)
    timed = []
    for size in options.size:
        for each in _timed(queries, size, prepare(options.data, size), limits, options):
            timed.append(each)
            if options.out:
                with options.out.open("a") as out:
                    out.write(f"{each.line()}\n")
            if time.monotonic() > end:
                break
    print(report(timed, options.worst))
    return 1 if any(each.wrong for each in timed) else 0


def _timed(
    queries: Sequence[Analytical], size: str, folder: Path, limits: Limits, options: argparse.Namespace
) -> Iterator[Timed]:
    told = []
    for engine in ENGINES:
        texts = ((query.cypher if engine == "qengine" else query.sql) for query in queries)
        requests = [Request(query.name, text, query.exact) for query, text in zip(queries, texts, strict=True)]
        told.append(replies(_MODULE, engine, requests, folder, limits, options.threads))
    for query, *found in zip(queries, *told, strict=True):
        yield _compared(query, size, dict(zip(ENGINES, found, strict=True)), options.measure)


def _compared(query: Analytical, size: str, found: dict[str, dict[str, Any]], measure: str) -> Timed:
    both = all("answer" in each for each in found.values())
    wrong = both and not agree(found["qengine"]["answer"], found["duckdb"]["answer"])
    detail = "; ".join(f"{engine}: {each}" for engine, each in found.items() if "answer" not in each)
    return Timed(query, size, {engine: each.get(measure) for engine, each in found.items()}, wrong, detail)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.analytics", description=main.__doc__)
    add = parser.add_argument
    add("--size", type=lambda text: text.split(","), default=["2M"], help=f"a,b of {', '.join(SIZES)} (default: 2M)")
    add("--count", type=int, default=60, help="queries (default: 60)")
    add("--skip", type=int, default=0, help="the first queries of the draw, which are left out (default: 0)")
    add("--seed", type=int, default=1, help="of the draw (default: 1)")
    add(
        "--forms", action="store_true", help="more forms than one grouping: steps, subqueries, unions, optional matches"
    )
    add("--threads", type=int, default=2, help="of each engine (default: 2)")
    add("--repeat", type=int, default=3, help="runs of which the best counts (default: 3)")
    add("--limit", type=float, default=30.0, help="seconds for one run (default: 30)")
    add("--seconds", type=float, default=float("inf"), help="after which no query is begun (default: no limit)")
    add("--measure", choices=("seconds", "processor"), default="seconds", help="by the clock or by processor time")
    add("--worst", type=int, default=15, help="queries that are listed (default: 15)")
    add("--out", type=Path, help="file to which a line of JSON is added for each query")
    add("--data", type=Path, default=Path("bench-data"), help="where the tables are kept (default: bench-data)")
    options = parser.parse_args(arguments)
    if unknown := set(options.size) - SIZES.keys():
        parser.error(f"unknown size: {', '.join(sorted(unknown))}")
    return options


if __name__ == "__main__":
    sys.exit(main())
