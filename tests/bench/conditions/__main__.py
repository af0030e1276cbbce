"""Estimates under conditions: ``python -m tests.bench.conditions [GRAPH …] [--each N]``.

Of patterns with 0 to 4 conditions, drawn from a seed: the q-errors of what the planner expects and of ``estimate`` at
some budgets, how many of its intervals hold, how long it takes, and how far its upper bound is from the count.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from qengine import Graph, Unsupported
from qengine.estimate import Estimate
from qengine.estimates import plan_counted
from qengine.qerror import q_error
from tests.bench.conditions.families import families_graph, of_families
from tests.bench.conditions.forms import FORMS, of_forms
from tests.bench.conditions.graphs import GROUNDS
from tests.bench.conditions.patterns import Drawn, drawn

_BUDGETS = (5.0, 20.0)  # milliseconds


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.conditions", description=main.__doc__)
    every = [*GROUNDS, "families", *FORMS]
    parser.add_argument("graphs", nargs="*", default=every, help=", ".join(every))
    parser.add_argument("--each", type=int, default=100, help="patterns of a graph (default: 100)")
    parser.add_argument(
        "--seed", type=int, default=1, help="of the patterns, and of the graph of families (default: 1)"
    )
    parser.add_argument(
        "--budgets", type=lambda text: [float(each) for each in text.split(",") if each], default=_BUDGETS
    )
    parser.add_argument("--truths", type=Path, help="folder to keep patterns and counts in")
    parser.add_argument("--worst", type=int, default=0, help="how many of the worst patterns to list")
    options = parser.parse_args()
    for name in options.graphs:
        if name == "families":
            graph = families_graph(options.seed)
            draw = partial(of_families, graph, options.each, options.seed)
        elif name in FORMS:
            graph = FORMS[name]()
            draw = partial(of_forms, graph, options.each, options.seed)
        else:
            ground = GROUNDS[name]()
            graph, draw = ground.graph, partial(drawn, ground, options.each, options.seed)
        cases = _kept(options.truths, name, draw)
        print(f"\n## {name}: {len(cases)} patterns", flush=True)
        _planner(graph, cases, options.worst)
        for budget in options.budgets:
            _budget(graph, cases, budget, options.worst)


def _planner(graph: Graph, cases: Sequence[Drawn], worst: int) -> None:
    store = graph._store
    errors, times = [], []
    for case in cases:
        begin = time.process_time()
        counted = plan_counted(store, case.text)
        expected = counted.ending.rows(counted.expectation(store, 0.95).value)
        times.append(time.process_time() - begin)
        errors.append((q_error(case.truth, expected), expected, case))
    _told("planner", [error for error, *_ in errors])
    _told("  of patterns with embeddings", [error for error, _, case in errors if case.truth])
    print(f"  planning: median {1e3 * sorted(times)[len(times) // 2]:.2f} ms")
    by_kind = defaultdict(list)
    for error, _, case in errors:
        for kind in set(case.kinds) or {"none"}:
            by_kind[kind].append(error)
    for kind, found in sorted(by_kind.items()):
        _told(f"  with {kind}", found)
    _list(errors, worst)


def _budget(graph: Graph, cases: Sequence[Drawn], budget: float, worst: int) -> None:
    errors, times, busy, held, zeros, ratios = [], [], [], [], 0, []
    for seed, case in enumerate(cases):
        try:
            found, seconds, processor = _timed(graph, case, budget, seed)
        except Unsupported:  # conditions on groups
            continue
        errors.append((q_error(case.truth, found.value), found.value, case))
        times.append(1e3 * seconds / budget)
        busy.append(1e3 * processor / budget)
        held.append((found.is_exact, found.low <= case.truth <= found.high))
        zeros += found.value == 0 and case.truth >= 10
        if case.truth > found.upper_bound * (1 + 1e-9):
            print(f"  BELOW THE COUNT: {found.upper_bound} < {case.truth} {case.text}")
        ratios.append(found.upper_bound / max(1, case.truth))
    _told(f"estimate, {budget:g} ms", [error for error, *_ in errors])
    _told("  of patterns with embeddings", [error for error, _, case in errors if case.truth])
    sampled = [holds for is_exact, holds in held if not is_exact]
    print(
        f"  held {sum(holds for _, holds in held) / len(errors):.1%}, of {len(sampled)} not counted {sum(sampled)}, "
        f"zeros {zeros}; time/budget {_quantiles(times)}; "
        f"of the processor {_quantiles(busy)}; bound/count {_quantiles(ratios)}"
    )
    _list(errors, worst)


def _timed(graph: Graph, case: Drawn, budget: float, seed: int) -> tuple[Estimate, float, float]:
    """Return a second estimate of a pattern with what it took, by the clock and on one thread of the processor."""
    graph.estimate(case.text, budget_ms=budget, seed=seed)
    begin, busy = time.perf_counter(), time.process_time()
    found = graph.estimate(case.text, budget_ms=budget, seed=seed + 1_000, threads=1)
    return found, time.perf_counter() - begin, time.process_time() - busy


def _told(what: str, errors: Sequence[float]) -> None:
    print(f"{what} ({len(errors)}): q-error {_quantiles(errors)}", flush=True)


def _quantiles(values: Sequence[float]) -> str:
    found = sorted(values)
    at = [found[math.ceil(share * len(found)) - 1] for share in (0.5, 0.9, 0.95, 1.0)]
    return ", ".join(
        f"{share} {value:.3g}" for share, value in zip(("median", "90 %", "95 %", "worst"), at, strict=True)
    )


def _list(errors: list[tuple[float, float, Drawn]], worst: int) -> None:
    for error, expected, case in sorted(errors, key=lambda each: -each[0])[:worst]:
        print(f"    {error:.4g}: expected {expected:.4g} of {case.truth}: {case.text}")


def _kept(folder: Path | None, name: str, draw: Callable[[], Iterable[Drawn]]) -> list[Drawn]:
    """Return patterns from a file of the folder, which is written when it isn't there."""
    file = None if folder is None else folder / f"{name}.json"
    if file is not None and file.exists():
        return [Drawn(**{**each, "kinds": tuple(each["kinds"])}) for each in json.loads(file.read_text())]
    found = list(draw())
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps([vars(each) for each in found]))
    return found


if __name__ == "__main__":
    main()
