"""Quality of matching orders: ``python -m tests.bench.orders [--each N] [--random N] [SET …]``.

For each pattern: the time of the order that the optimizer chooses over the time of the best order that was tried.
Patterns of at most five vertices are run in every order in which each vertex is linked to one before it, larger ones in
random ones of these. Orders are forced by hints, so that everything else is the optimizer's business in all runs. Times
are CPU seconds of one thread; a run is stopped once it is clear that it is not the best.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from qengine import Graph, QueryTimeout
from qengine.testing import generate
from qengine.testing import open_graphs as og
from tests.bench.patterns import CYCLIC, Pattern

_EVERY = 5  # vertices up to which all orders are tried
_REPEATS = 3
_SLACK = 0.02  # seconds beyond the best time after which a run is stopped
_SHAPES = (
    *CYCLIC,
    Pattern("3-path", ((0, 1), (1, 2), (2, 3))),
    Pattern("3-star", ((0, 1), (0, 2), (0, 3))),
    Pattern("tailed triangle", ((0, 1), (1, 2), (0, 2), (0, 3))),
    Pattern("bowtie", ((0, 1), (1, 2), (0, 2), (0, 3), (3, 4), (0, 4))),
)


@dataclass(frozen=True)
class Outcome:
    """One pattern: CPU seconds of the chosen and of the best order, and what was best."""

    name: str
    chosen: float
    best: float
    order: str

    @property
    def ratio(self) -> float:
        return self.chosen / self.best


def main() -> None:
    """Print a line for each data set, and its worst patterns."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.orders", description=main.__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS), help=", ".join(SETS))
    parser.add_argument("--each", type=int, default=20, help="patterns of a data set (default: 20)")
    parser.add_argument("--random", type=int, default=50, help="orders of a large pattern (default: 50)")
    parser.add_argument("--limit", type=float, default=1.0, help="seconds for the chosen order (default: 1)")
    options = parser.parse_args()
    print("| set | patterns | median | 95th percentile | worst | worst of ≥ 1 ms |\n|---|---|---|---|---|---|")
    for name in options.sets:
        load, workload = SETS[name]
        graph, rng = load(), random.Random(1)
        texts = sorted(workload().items())
        rng.shuffle(texts)
        found = [measure(graph, *each, options.random, options.limit, rng) for each in texts[: options.each]]
        print(_line(name, [each for each in found if each is not None]), flush=True)


def measure(graph: Graph, name: str, text: str, most: int, limit: float, rng: random.Random) -> Outcome | None:
    """Run a pattern in the chosen order and in others; None where the chosen one takes longer than ``limit``."""
    chosen = _seconds(graph, text, limit)
    if chosen is None:
        return None
    best, best_order = chosen, "chosen"
    for order in orders(text, most, rng):
        hint = f"/*+ order({', '.join(order)}) */ "
        seconds = _seconds(graph, hint + text, best + _SLACK)
        if seconds is not None and seconds < best:
            best, best_order = seconds, " ".join(order)
    chosen = min(chosen, _seconds(graph, text, limit) or chosen)
    return Outcome(name, chosen, min(best, chosen), best_order)


def orders(text: str, most: int, rng: random.Random) -> Iterator[tuple[str, ...]]:
    """Yield connected orders of a pattern's nodes: all of a small one's, ``most`` random ones of a large one's."""
    near: dict[str, set[str]] = {}
    for one, other in re.findall(r"\((\w+)[^()]*\)(?:<?-[^()]*->?)(?=\((\w+))", text):
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)
    if len(near) <= _EVERY:
        for order in itertools.permutations(sorted(near)):
            if all(near[name].intersection(order[:place]) for place, name in enumerate(order) if place):
                yield order
        return
    for _ in range(most):
        picked = [rng.choice(sorted(near))]
        while len(picked) < len(near):
            picked.append(rng.choice(sorted({other for name in picked for other in near[name]}.difference(picked))))
        yield tuple(picked)


def _seconds(graph: Graph, text: str, limit: float) -> float | None:
    """Return the least CPU time of some runs of a query, None where the first takes longer than ``limit``."""
    query = graph.prepare(text)
    times = []
    for _ in range(_REPEATS):
        begin = time.process_time()
        try:
            query.run(timeout=2 * limit, threads=1).value()
        except QueryTimeout:
            return min(times, default=None)
        times.append(time.process_time() - begin)
        if times[-1] > limit:
            break
    return min(times)


def _line(name: str, found: list[Outcome]) -> str:
    ratios = np.array([each.ratio for each in found])
    worst = sorted(found, key=lambda each: -each.ratio)[:1]
    long = sorted((each for each in found if each.best >= 1e-3), key=lambda each: -each.ratio)[:1]
    told = [f"{each.ratio:.1f}× ({each.name}, {1e3 * each.best:.1f} ms: {each.order})" for each in (*worst, *long)]
    median, high = np.quantile(ratios, (0.5, 0.95)) if len(ratios) else (0.0, 0.0)
    return f"| {name} | {len(found)} | {median:.2f} | {high:.2f} | {' | '.join(told)} |"


def _shapes(modes: tuple[str, ...] = (og.DIFFERENT_RELATIONSHIPS, og.REPEATABLE_ELEMENTS)) -> dict[str, str]:
    def text(pattern: Pattern, mode: str) -> str:
        return og.pattern_query([None] * pattern.size, [(a, "-[:E]-", b) for a, b in pattern.edges], mode)

    return {f"{pattern.name}, {mode}": text(pattern, mode) for pattern in _SHAPES for mode in modes}


def _rmat() -> Graph:
    source, target = generate.to_csr(generate.rmat(10, 16, 42)).edges()
    return Graph.from_edge_list((source, target), undirected=True)


def _queries(name: str) -> dict[str, str]:
    return {each.name: each.query for each in og.labelled_truths(name) if each.name.endswith(og.DIFFERENT_NODES)}


def _workload(name: str) -> dict[str, str]:
    return {each.name: each.query for each in og.workload_truths(name)}


SETS: Mapping[str, tuple[Callable[[], Graph], Callable[[], dict[str, str]]]] = {
    "rmat10": (_rmat, _shapes),
    "fb15k-237": (lambda: og.typed("fb15k-237"), lambda: _workload("fb15k-237")),
    "wn18rr": (lambda: og.typed("wn18rr"), lambda: _workload("wn18rr")),
    "hprd": (lambda: og.labelled("hprd"), lambda: _queries("hprd")),
    "yeast": (lambda: og.labelled("yeast"), lambda: _queries("yeast")),
}
"""By name how a graph is loaded, and the counting texts of its patterns by name."""


if __name__ == "__main__":
    main()
