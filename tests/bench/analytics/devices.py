"""The drawn queries on one core, on all of them, and on a GPU: ``python -m tests.bench.analytics.devices --size 20M``.

It prints how many times as fast each query is by more threads, and by the GPU beside the most threads, and compares all
answers. Plans are those of the first run; the best of several counts, planning left out where the plan is kept.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log

import pyarrow as pa

import qengine
from tests.bench.analytics.digest import agree, digest
from tests.bench.analytics.draw import Analytical, draw
from tests.bench.analytics.tables import SIZES, tables

_SMALL = 0.005
"""Seconds under which it doesn't matter whether a query takes less on more cores."""


@dataclass(frozen=True)
class Way:
    """Where a query runs: its ``name``, and the options of ``Graph.query``."""

    name: str
    device: str
    threads: int


@dataclass(frozen=True)
class Timed:
    """One query: by the name of each way the best of its seconds and the first of them, None where it failed."""

    query: Analytical
    best: dict[str, float | None]
    first: dict[str, float | None]
    wrong: bool
    said: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 where an answer differs."""
    options = _options(arguments)
    ways = [Way(f"{threads} threads", "cpu", threads) for threads in options.threads]
    if options.gpu:
        ways.append(Way("GPU", "gpu", max(options.threads)))
    if options.auto:
        ways.append(Way("auto", "auto", max(options.threads)))
    begin = time.perf_counter()
    made = tables(options.size)
    print(f"tables made in {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
    begin = time.perf_counter()
    graph = _loaded(made)
    print(f"graph loaded in {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
    timed = []
    stop = time.perf_counter() + options.seconds
    for query in draw(options.count, options.seed):
        if time.perf_counter() > stop:
            break
        timed.append(_timed(query, graph, ways, options))
        shown = "  ".join(f"{name}: {_ms(each)}" for name, each in timed[-1].best.items())
        print(
            f"{query.name}  {shown}  {'WRONG ' if timed[-1].wrong else ''}{timed[-1].said} {query.cypher}", flush=True
        )
    for base, other in pairwise(ways):
        print(f"\n{_report(timed, base.name, other.name)}", flush=True)
    for base in ways[-2:] if options.profile else ():
        _profile(timed, base, graph, options)
    return 1 if any(each.wrong for each in timed) else 0


def _loaded(made: dict[str, pa.Table]) -> qengine.Graph:
    nodes = {name.removeprefix("nodes_"): table for name, table in made.items() if name.startswith("nodes_")}
    relationships = []
    for name in made.keys() - {f"nodes_{label}" for label in nodes}:
        _, start, *words, end = name.split("_")
        relationships.append(("_".join(words), start, end, made[name]))
    return qengine.Graph.from_arrow(nodes, sorted(relationships, key=lambda each: each[0]), key="id")


def _timed(query: Analytical, graph: qengine.Graph, ways: Sequence[Way], options: argparse.Namespace) -> Timed:
    best: dict[str, float | None] = {}
    first: dict[str, float | None] = {}
    answers, said = [], ""
    for way in ways:
        seconds = []
        try:
            for _ in range(options.repeat):
                begin = time.perf_counter()
                result = graph.query(query.cypher, device=way.device, threads=way.threads, timeout=options.limit)
                table = result.to_arrow()
                seconds.append(time.perf_counter() - begin)
            answers.append(digest(table, query.exact))
        except qengine.QengineError as error:
            said += f"[{way.name}: {type(error).__name__}]"
        best[way.name] = min(seconds[1:] or seconds, default=None)
        first[way.name] = seconds[0] if seconds else None
    wrong = any(not agree(answers[0], other) for other in answers[1:])
    return Timed(query, best, first, wrong, said)


def _profile(timed: Sequence[Timed], way: Way, graph: qengine.Graph, options: argparse.Namespace) -> None:
    """Print the profiles of the queries that take longest by a way."""
    longest = sorted(timed, key=lambda each: -(each.best[way.name] or 0))[: options.profile]
    for each in longest:
        given = {"device": way.device, "threads": way.threads, "timeout": options.limit}
        print(f"\n{way.name}, {each.query.name}: {_ms(each.best[way.name])}", flush=True)
        print(graph.query(f"PROFILE {each.query.cypher}", **given), flush=True)


def _report(timed: Sequence[Timed], base: str, other: str) -> str:
    """Say how many times as fast ``other`` is as ``base``, and of which queries it is least."""
    ratios = []
    for each in timed:
        before, after = each.best[base], each.best[other]
        if before is not None and after is not None:
            ratios.append((before / after, each))
    ratios.sort(key=lambda pair: pair[0])
    long = [pair for pair in ratios if (pair[1].best[other] or 0) >= _SMALL]
    mean = exp(sum(log(ratio) for ratio, _ in ratios) / max(1, len(ratios)))
    of_long = exp(sum(log(ratio) for ratio, _ in long) / max(1, len(long)))
    lines = [
        f"{other} beside {base}: {mean:.3g} times as fast in the geometric mean of {len(ratios)}, {of_long:.3g} of the "
        f"{len(long)} that take 5 ms or more; no answer: {len(timed) - len(ratios)}; "
        f"wrong: {sum(each.wrong for each in timed)}. The least:",
        "",
    ]
    lines += [
        f"- {ratio:.3g} ({_ms(each.best[base])} → {_ms(each.best[other])}): {each.query.cypher}"
        for ratio, each in long[:20]
    ]
    return "\n".join(lines)


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1e3 * seconds:.3g} ms"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.analytics.devices", description=main.__doc__)
    add = parser.add_argument
    add("--size", choices=SIZES, default="20M", help="of the graph (default: %(default)s)")
    add("--count", type=int, default=60, help="queries (default: %(default)s)")
    add("--seed", type=int, default=1, help="of the draw (default: %(default)s)")
    cores = f"1,{os.cpu_count()}"
    add("--threads", type=lambda text: [*map(int, text.split(","))], default=cores, help="a,b (default: %(default)s)")
    add("--gpu", action="store_true", help="run each on a GPU, too")
    add("--auto", action="store_true", help="run each where it is best by cost, too")
    add("--profile", type=int, default=0, help="show profiles of so many by the last way (default: %(default)s)")
    add("--repeat", type=int, default=3, help="runs (default: %(default)s)")
    add("--limit", type=float, default=20.0, help="seconds for one run (default: %(default)s)")
    add("--seconds", type=float, default=3600.0, help="for all queries (default: %(default)s)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
