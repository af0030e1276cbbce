"""The command: ``python -m tests.bench.analytics --size 2M --count 60 --seed 1``.

It draws queries, runs each on qengine and on DuckDB, compares the answers and prints how many times DuckDB's time is
qengine's: the geometric mean, the worst queries, and with several sizes those whose time grows most beside DuckDB's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from pathlib import Path

from tests.bench.analytics.digest import agree
from tests.bench.analytics.draw import Analytical, draw
from tests.bench.analytics.forms import draw_forms
from tests.bench.analytics.replies import Request, replies
from tests.bench.analytics.tables import SIZES, prepare
from tests.bench.runner import Limits

_ENGINES = ("qengine", "duckdb")
_MODULE = "tests.bench.analytics.worker"


@dataclass(frozen=True)
class Timed:
    """One query at one size: seconds by engine, None where it had no answer; ``wrong``: the answers differ."""

    query: Analytical
    seconds: dict[str, float | None]
    wrong: bool
    detail: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times DuckDB's time is ours; 0 where only DuckDB has an answer, None where it has none."""
        ours, theirs = self.seconds["qengine"], self.seconds["duckdb"]
        return None if theirs is None else 0.0 if ours is None else theirs / ours


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 where an answer differs."""
    options = _options(arguments)
    queries = list((draw_forms if options.forms else draw)(options.count, options.seed))
    wrong = 0
    by_size: dict[str, list[Timed]] = {}
    for size in options.size:
        folder = prepare(options.data, size)
        limits = Limits(seconds=options.limit, loading=900.0, repeats=options.repeat)
        by_size[size] = _timed(queries, folder, limits, options.threads)
        print(f"## {size}\n\n{_report(by_size[size], options.worst)}\n", flush=True)
        wrong += sum(each.wrong for each in by_size[size])
    for small, large in pairwise(by_size):
        print(f"## Growth from {small} to {large}\n\n{_growth(by_size[small], by_size[large], options.worst)}\n")
    return 1 if wrong else 0


def _timed(queries: Sequence[Analytical], folder: Path, limits: Limits, threads: int) -> list[Timed]:
    all_replies = {}
    for engine in _ENGINES:
        texts = ((query.cypher if engine == "qengine" else query.sql) for query in queries)
        requests = [Request(query.name, text, query.exact) for query, text in zip(queries, texts, strict=True)]
        all_replies[engine] = replies(_MODULE, engine, requests, folder, limits, threads)
    timed = []
    for place, query in enumerate(queries):
        found = {engine: all_replies[engine][place] for engine in _ENGINES}
        seconds = {engine: each.get("seconds") for engine, each in found.items()}
        both = all("answer" in each for each in found.values())
        wrong = both and not agree(found["qengine"]["answer"], found["duckdb"]["answer"])
        detail = "; ".join(f"{engine}: {each}" for engine, each in found.items() if "answer" not in each)
        timed.append(Timed(query, seconds, wrong, detail))
    return timed


def _report(timed: Sequence[Timed], worst: int) -> str:
    ratios = [each.ratio for each in timed if each.ratio is not None]
    answered = [ratio for ratio in ratios if ratio > 0]
    mean = exp(sum(map(log, answered)) / max(1, len(answered)))
    lines = [
        f"{len(timed)} queries: {mean:.3g}× DuckDB in the geometric mean; slower than it: "
        f"{sum(ratio < 1 for ratio in ratios)}; without an answer: {sum(ratio == 0 for ratio in ratios)}; "
        f"wrong: {sum(each.wrong for each in timed)}.",
        "",
    ]
    lines += [f"- WRONG {each.query.cypher}\n  {each.query.sql}" for each in timed if each.wrong]
    lines += [f"- no answer: {each.query.cypher} ({each.detail})" for each in timed if each.detail]
    slowest = sorted((each for each in timed if each.ratio), key=lambda each: each.ratio or 0.0)[:worst]
    return "\n".join([*lines, *(f"- {each.ratio:.3g}× ({_ms(each)}): {each.query.cypher}" for each in slowest)])


def _growth(small: Sequence[Timed], large: Sequence[Timed], worst: int) -> str:
    grown = []
    for before, after in zip(small, large, strict=True):
        if before.ratio and after.ratio:
            grown.append((before.ratio / after.ratio, before, after))
    grown.sort(key=lambda each: -each[0])
    return "\n".join(
        f"- {times:.3g}× as much as DuckDB ({_ms(before)} → {_ms(after)}): {after.query.cypher}"
        for times, before, after in grown[:worst]
    )


def _ms(timed: Timed) -> str:
    return " / ".join(f"{1e3 * (timed.seconds[engine] or 0):.3g}" for engine in _ENGINES) + " ms"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.analytics", description=main.__doc__)
    add = parser.add_argument
    add("--size", type=lambda text: text.split(","), default=["2M"], help=f"a,b of {', '.join(SIZES)} (default: 2M)")
    add("--count", type=int, default=60, help="queries (default: 60)")
    add("--seed", type=int, default=1, help="of the draw (default: 1)")
    add(
        "--forms", action="store_true", help="more forms than one grouping: steps, subqueries, unions, optional matches"
    )
    add("--threads", type=int, default=2, help="of each engine (default: 2)")
    add("--repeat", type=int, default=3, help="runs of which the best counts (default: 3)")
    add("--limit", type=float, default=30.0, help="seconds for one run (default: 30)")
    add("--worst", type=int, default=15, help="queries that are listed (default: 15)")
    add("--data", type=Path, default=Path("bench-data"), help="where the tables are kept (default: bench-data)")
    options = parser.parse_args(arguments)
    if unknown := set(options.size) - SIZES.keys():
        parser.error(f"unknown size: {', '.join(sorted(unknown))}")
    return options


if __name__ == "__main__":
    sys.exit(main())
