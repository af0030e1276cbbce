"""Accuracy of estimates on open graphs with known counts: ``python -m tests.bench.estimates [--samples N] [SET …]``.

For each data set and size of the patterns: q-errors of Alley at so many samples, plain and guided, and of what ``auto``
chooses, how many intervals hold the truth; with options the coverage over many seeds, the rates, or what Kùzu's and
DuckDB's planners expect of the same patterns.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from qengine import Graph, estimates
from qengine.estimate.result import Sums, interval
from qengine.estimate.sampler import PatternSampler, TrawlingSampler
from qengine.estimate.space import Space, make_space
from qengine.estimate.target import Target, target_of
from qengine.exec.context import ExecutionContext
from qengine.qerror import Case, Measured, Summary, measure, summary
from qengine.testing import open_graphs as og
from tests.bench.candidates import enron16
from tests.bench.estimates_hard import hard

ENRON_TRUTH = {
    "q8d_0": 1_060, "q8d_1": 15_097_806, "q8d_2": 1_152_775, "q8d_3": 51_160, "q8d_4": 56_856, "q8d_5": 168_742,
    "q8d_6": 158_135, "q8d_7": 323_540, "q8s_0": 29_167_575, "q8s_1": 484_960_479, "q8s_2": 5_647_254,
    "q8s_3": 722_248_072, "q8s_4": 646_076, "q8s_5": 22_741_665, "q8s_6": 19_639_827_978, "q8s_7": 263_157,
    "q12d_0": 587_960_968, "q12d_1": 1_806_455_977, "q12d_2": 25_089_182, "q12d_3": 984_797,
    "q12d_4": 7_475_606_868, "q12s_0": 12_947_305_647, "q12s_1": 14_910_524_981,
}  # fmt: skip
COVERAGE_SEEDS = 1_000
COVERAGE_SAMPLES = 10_000
COVERAGE_HAULS = 32
LARGE = 16


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.estimates", description=main.__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS), help=", ".join(SETS))
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--each", type=int, default=20, help="queries of a size in a data set (default: 20)")
    parser.add_argument("--coverage", action="store_true", help="repeat estimates with many seeds instead")
    parser.add_argument("--hard", type=float, metavar="S", help="large queries by Alley and trawling, S seconds each")
    parser.add_argument("--rates", action="store_true", help="samples a second on the enron16 queries instead")
    parser.add_argument("--gpu", action="store_true", help="samples a second on the GPU instead")
    parser.add_argument("--building", action="store_true", help="building candidate graphs on host and GPU instead")
    options = parser.parse_args()
    if options.building:
        from tests.bench.estimates_gpu import building

        building()
        return
    if options.gpu:
        from tests.bench.estimates_gpu import rates_on_gpu

        rates_on_gpu()
        return
    if options.rates:
        rates()
        return
    for name in options.sets:
        graph, cases = SETS[name]()
        groups = sorted(sizes(cases).items())
        if options.hard:
            large = [case for size, group in groups if size >= LARGE for case in spread(group, options.each)]
            hard(name, graph, large, options.hard)
            continue
        if options.coverage:
            coverage(name, graph, [each for _, group in groups for each in spread(group, options.each)])
            continue
        for size, group in groups:
            chosen = spread(group, options.each)
            for method in ("alley", "guided", "auto"):
                found = [
                    each
                    for seed, case in enumerate(chosen)  # workloads repeat themselves: samples shall not
                    for each in measure(graph, [case], method=method, samples=options.samples, seed=seed)
                ]
                print(line(f"{name} {size}", method, summary(found), found), flush=True)


def sizes(cases: Iterable[Case]) -> dict[int, list[Case]]:
    """Group cases by the number of their pattern's nodes."""
    groups: dict[int, list[Case]] = defaultdict(list)
    for case in cases:
        groups[len({part.split(")")[0].split(":")[0] for part in case.query.split("(")[1:]} - {"*"})].append(case)
    return groups


def spread(cases: list[Case], most: int) -> list[Case]:
    """Return so many cases, evenly spread."""
    return cases[:: max(1, -(-len(cases) // most))]


def line(name: str, method: str, found: Summary, measured: list[Measured]) -> str:
    """Return one line of the accuracy table."""
    exact = sum(each.estimate.is_exact for each in measured)
    missed = sum(each.estimate.hits == 0 and not each.estimate.is_exact for each in measured)
    return (
        f"| {name} | {method} | {found.cases} | {found.median:.3f} | {found.p95:.3g} | {found.worst_over:.3g} "
        f"| {found.worst_under:.3g} | {found.held / found.cases:.0%} | {exact} | {missed} "
        f"| {1e3 * found.seconds / found.cases:.0f} |"
    )


def coverage(name: str, graph: Graph, cases: list[Case]) -> None:
    """Print how often intervals of 95 % hold the truth, and fall below it, over many seeds of each case."""
    for case in cases:
        target = target_of(estimates._plan(graph, case.query).physical.root)
        context = ExecutionContext(threads=1)
        space = make_space(target, graph._store, context, COVERAGE_SAMPLES, None, guided=True)
        if space is None or case.truth is None or target.tail is not None:
            continue
        for method in ("wanderjoin", "alley", "guided", "trawling"):
            found = (_drawn(method, target, space, graph, context, seed) for seed in range(COVERAGE_SEEDS))
            bounds = ((*interval(sums, 0.95), sums.hits) for sums in found)
            print(
                covered(name, case, method, [(low, min(high, space.bound), hits) for low, high, hits in bounds]),
                flush=True,
            )
        found_by_auto = [
            graph.estimate(case.query, samples=COVERAGE_SAMPLES, seed=seed, threads=1) for seed in range(COVERAGE_SEEDS)
        ]
        exact = sum(each.is_exact for each in found_by_auto)
        if exact < COVERAGE_SEEDS:
            intervals = [(each.low, each.high, each.hits) for each in found_by_auto]
            print(covered(name, case, f"auto ({exact} counted)", intervals), flush=True)


def _drawn(method: str, target: Target, space: Space, graph: Graph, context: ExecutionContext, seed: int) -> Sums:
    if method == "trawling":
        return TrawlingSampler(target, space, context, seed, guided=False).draw(0, COVERAGE_HAULS)
    return PatternSampler(target, space, context, seed, graph._store, method).draw(0, COVERAGE_SAMPLES)


def covered(name: str, case: Case, method: str, intervals: list[tuple[float, float, int]]) -> str:
    """Return one line of the table of coverage; ``intervals``: low, high and hits of each."""
    n = len(intervals)
    assert case.truth is not None
    held = sum(low <= case.truth <= high for low, high, _ in intervals) / n
    below = sum(high < case.truth for _, high, _ in intervals) / n
    hits = sum(hits for _, _, hits in intervals) / n
    return f"| {name} {case.name} | {method} | {hits:.0f} | {held:.1%} | {below:.1%} |"


def rates() -> None:
    """Print samples a second on labelled 8-vertex patterns, the candidate graph included."""
    graph, cases = SETS["enron16"]()
    for case in cases:
        found = {}
        for method in ("wanderjoin", "alley", "guided"):
            best = float("inf")
            for _ in range(5):
                begin = time.perf_counter()
                graph.estimate(case.query, method=method, samples=1_000_000, seed=1)
                best = min(best, time.perf_counter() - begin)
            found[method] = 1 / best
        print(f"| {case.name} | {found['wanderjoin']:.1f} | {found['alley']:.1f} | {found['guided']:.1f} |", flush=True)


def _truths(truths: Iterator[og.Truth], wanted: str = "") -> list[Case]:
    return [Case(each.name, each.query, each.count) for each in truths if wanted in each.name]


def _labelled(name: str) -> Callable[[], tuple[Graph, list[Case]]]:
    return lambda: (og.labelled(name), _truths(og.labelled_truths(name), og.DIFFERENT_NODES))


def _typed(name: str) -> Callable[[], tuple[Graph, list[Case]]]:
    return lambda: (og.typed(name), _truths(og.workload_truths(name)))


def _enron16() -> tuple[Graph, list[Case]]:
    graph, queries = enron16()
    cases = []
    for name, truth in ENRON_TRUTH.items():
        labels, edges = queries[name]
        between = [(a, "-[:E]-", b) for a, b in edges]
        text = og.pattern_query([f"L{label}" for label in labels], between, og.DIFFERENT_NODES)
        cases.append(Case(name, text, truth))
    return graph, cases


def _lsqb() -> tuple[Graph, list[Case]]:
    name = "ldbc-snb-sf01"
    return og.property_graph(name), _truths(og.lsqb_truths(name, "truth_lsqb_style_duckdb.csv", "lsqb-sfexample"))


SETS: dict[str, Callable[[], tuple[Graph, list[Case]]]] = {
    "hprd": _labelled("hprd"),
    "yeast": _labelled("yeast"),
    "fb15k-237": _typed("fb15k-237"),
    "wn18rr": _typed("wn18rr"),
    "lsqb": _lsqb,
    "enron16": _enron16,
}


if __name__ == "__main__":
    main()
