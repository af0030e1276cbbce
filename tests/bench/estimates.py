"""Accuracy of estimates on open graphs with known counts: ``python -m tests.bench.estimates [--samples N] [SET …]``.

For each data set and size of the patterns: q-errors of Alley at so many samples, plain and guided, and of what ``auto``
chooses, and how many intervals hold the truth; with options the coverage over many seeds, where samples fail, the
rates, or what the GPU does.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from qengine import Graph
from qengine.estimate.anytime import Goal
from qengine.qerror import Case, Measured, Summary, measure, summary
from qengine.testing import open_graphs as og
from tests.bench.edge_labelled import enron_queries
from tests.bench.estimates_coverage import METHODS, Cell, coverage, summed_up
from tests.bench.estimates_hard import hard
from tests.bench.timing import least

ENRON_TRUTH = {
    "q8d_0": 1_060, "q8d_1": 15_097_806, "q8d_2": 1_152_775, "q8d_3": 51_160, "q8d_4": 56_856, "q8d_5": 168_742,
    "q8d_6": 158_135, "q8d_7": 323_540, "q8s_0": 29_167_575, "q8s_1": 484_960_479, "q8s_2": 5_647_254,
    "q8s_3": 722_248_072, "q8s_4": 646_076, "q8s_5": 22_741_665, "q8s_6": 19_639_827_978, "q8s_7": 263_157,
    "q12d_0": 587_960_968, "q12d_1": 1_806_455_977, "q12d_2": 25_089_182, "q12d_3": 984_797,
    "q12d_4": 7_475_606_868, "q12s_0": 12_947_305_647, "q12s_1": 14_910_524_981,
}  # fmt: skip
LARGE = 16
PRECISE = ("alley", "guided", "auto")
COLUMNS = (
    "graph, nodes", "method", "patterns", "median q-error", "95 % below", "worst over", "worst under",
    "intervals that hold", "counted", "no hit", "ms",
)  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.estimates", description=main.__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS), help=", ".join(SETS))
    parser.add_argument("--samples", type=int, default=1_000_000, help="of each estimate (default: a million)")
    parser.add_argument("--each", type=int, default=20, help="queries of a size in a data set (default: 20)")
    parser.add_argument("--sizes", type=lambda text: set(map(int, text.split(","))), help="nodes of patterns: 4,8")
    parser.add_argument("--methods", type=lambda text: text.split(","), help=f"default: {','.join(PRECISE)}")
    parser.add_argument("--device", default="cpu", help="where samples are drawn: cpu (default), gpu, gpu:0, auto")
    parser.add_argument("--rel-error", type=float, metavar="SHARE", help="with --coverage, stop at this relative error")
    parser.add_argument("--coverage", action="store_true", help="repeat estimates with many seeds instead")
    parser.add_argument("--hard", type=float, metavar="S", help="large queries by Alley and trawling, S seconds each")
    parser.add_argument("--rates", action="store_true", help="samples a second on the enron16 queries instead")
    parser.add_argument("--gpu", action="store_true", help="samples a second on the GPU instead")
    parser.add_argument("--gpu-trawling", action="store_true", help="trawling with prefixes from the GPU instead")
    parser.add_argument("--building", action="store_true", help="building candidate graphs on host and GPU instead")
    options = parser.parse_args()
    if options.building:
        from tests.bench.estimates_gpu import building

        building()
        return
    if options.gpu_trawling:
        from tests.bench.estimates_gpu_trawling import trawling_on_gpu

        trawling_on_gpu()
        return
    if options.gpu:
        from tests.bench.estimates_gpu import rates_on_gpu

        rates_on_gpu()
        return
    if options.rates:
        rates()
        return
    cells: list[Cell] = []
    if not (options.hard or options.coverage):
        print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|", flush=True)
    for name in options.sets:
        graph, cases = SETS[name]()
        groups = [(size, spread(group, options.each)) for size, group in sorted(sizes(cases).items())]
        groups = [(size, group) for size, group in groups if not options.sizes or size in options.sizes]
        if options.hard:
            hard(name, graph, [case for size, group in groups if size >= LARGE for case in group], options.hard)
        elif options.coverage:
            chosen = [case for _, group in groups for case in group]
            goal = Goal(0.95, options.rel_error, None if options.rel_error else options.samples)
            cells += coverage(name, graph, chosen, options.methods or METHODS, goal, options.device)
        else:
            for size, group in groups:
                for method in options.methods or PRECISE:
                    found = accuracy(graph, group, method, options.samples, options.device)
                    print(line(f"{name} {size}", method, summary(found), found), flush=True)
    if cells:
        summed_up(cells)


def accuracy(graph: Graph, cases: Iterable[Case], method: str, samples: int, device: str) -> list[Measured]:
    """Estimate each case from a seed of its own: patterns that are alike shall not share samples."""
    return [
        each
        for seed, case in enumerate(cases)
        for each in measure(graph, [case], method=method, samples=samples, seed=seed, device=device)
    ]


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


def rates() -> None:
    """Print samples a second on labelled 8-vertex patterns, the candidate graph included."""
    graph, cases = SETS["enron16"]()
    for case in cases:
        found = {}
        for method in ("wanderjoin", "alley", "guided"):
            drawn = partial(graph.estimate, case.query, method=method, samples=1_000_000, seed=1)
            found[method] = 1 / least(drawn, 5, time.perf_counter)
        print(f"| {case.name} | {found['wanderjoin']:.1f} | {found['alley']:.1f} | {found['guided']:.1f} |", flush=True)


def _truths(truths: Iterator[og.Truth], wanted: str = "") -> list[Case]:
    """Return each query once: workloads repeat themselves."""
    found = {each.query: Case(each.name, each.query, each.count) for each in truths if wanted in each.name}
    return list(found.values())


def _labelled(name: str) -> Callable[[], tuple[Graph, list[Case]]]:
    return lambda: (og.labelled(name), _truths(og.labelled_truths(name), og.DIFFERENT_NODES))


def _typed(name: str) -> Callable[[], tuple[Graph, list[Case]]]:
    return lambda: (og.typed(name), _truths(og.workload_truths(name)))


def _enron16() -> tuple[Graph, list[Case]]:
    graph, queries = enron_queries()
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
