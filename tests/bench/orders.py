"""Quality of matching orders: ``python -m tests.bench.orders [--each N] [--random N] [SET …]``; and planning times.

``--planning`` gives planning times alone, of larger patterns than can be run in many orders.

For each pattern: the time of the order that the optimizer chooses over the time of the best order that was tried.
Patterns of at most five vertices are run in every order in which each vertex is linked to one before it, larger ones in
random ones of these. Orders are forced by hints, so that everything else is the optimizer's business in all runs. Times
are CPU seconds of one thread, after a run that isn't timed; those of the chosen and of the best order are taken in
turns at the end; an order is given up once it is clear that it is not the best. Planning is from text to plan, CPU
seconds too.

Patterns whose chosen order takes longer than ``--limit`` are a table of their own: each of ``--slow`` orders is run
once, for three times as long as the best before it. A chosen order that doesn't end within ``--most`` counts as long.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from qengine import Graph, Prepared, QueryTimeout, Unsupported
from qengine.syntax import parse
from qengine.testing import generate
from qengine.testing import open_graphs as og
from qengine.testing.data import data_set
from qengine.testing.generate.raw import RawStream
from tests.bench.conditions.graphs import GROUNDS, Ground
from tests.bench.conditions.patterns import drawn
from tests.bench.patterns import CYCLIC, Pattern

_EVERY = 5  # vertices up to which all orders are tried
_REPEATS = 3
_TURNS = 5  # of the chosen and the best order
_LARGEST = 16  # vertices
_HOPELESS = 1.5  # times the best: an order that takes longer is run once
_SLACK = 0.02  # seconds beyond the best time after which a run is stopped
_PATIENCE = 20.0  # seconds of the clock for one of a process that shares its cores
_SLOWER = 3.0  # times the best of a slow pattern's orders that another may take
_SHAPES = (
    *CYCLIC,
    Pattern("3-path", ((0, 1), (1, 2), (2, 3))),
    Pattern("3-star", ((0, 1), (0, 2), (0, 3))),
    Pattern("tailed triangle", ((0, 1), (1, 2), (0, 2), (0, 3))),
    Pattern("bowtie", ((0, 1), (1, 2), (0, 2), (0, 3), (3, 4), (0, 4))),
)


@dataclass(frozen=True)
class Outcome:
    """One pattern: CPU seconds of the chosen and of the best order, what was best, and seconds of planning."""

    name: str
    chosen: float
    best: float
    order: str
    planning: float

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
    parser.add_argument("--slow", type=int, default=20, help="orders of a pattern over the limit (default: 20)")
    parser.add_argument("--most", type=float, default=20.0, help="seconds for its chosen one (default: 20)")
    parser.add_argument("--planning", action="store_true", help="time planning of patterns of 10 to 40 vertices alone")
    parser.add_argument("--verbose", action="store_true", help="print a line for each pattern, too")
    options = parser.parse_args()
    if options.planning:
        planning()
        return
    print("| set | patterns | median | 95th percentile | planning: median, worst | worst | worst of ≥ 1 ms |")
    print("|---|---|---|---|---|---|---|")
    everything: list[Outcome] = []
    slow: list[Outcome] = []
    for name in options.sets:
        load, workload = SETS[name]
        graph, rng = load(), random.Random(1)
        texts = sorted(workload().items())
        rng.shuffle(texts)
        measured = []
        for each, text in texts[: options.each]:
            outcome = measure(graph, each, text, options.random, options.limit, rng)
            if outcome is None and options.slow:
                slow.append(measure_slow(graph, f"{name} {each}", text, options.slow, options.most, rng))
            if options.verbose:
                print(f"{each}: {outcome or slow[-1:] or 'over the limit'}", file=sys.stderr, flush=True)
            measured += [outcome] if outcome is not None else []
        everything += measured
        print(_line(name, measured), flush=True)
    print(_line("all", everything))
    print("\n| pattern over the limit | chosen | best of the others | ratio |\n|---|---|---|---|")
    for each in slow:
        print(f"| {each.name} | {each.chosen:.2f} s | {each.best:.2f} s: {each.order} | {each.ratio:.1f} |")
    if slow:
        print(_line("all, with those", [*everything, *slow]))


def measure(graph: Graph, name: str, text: str, most: int, limit: float, rng: random.Random) -> Outcome | None:
    """Run a pattern in the chosen order and in others; None where the chosen one takes longer than ``limit``."""
    planned = least(graph.prepare, text)
    query = graph.prepare(text)
    try:
        _once(query, _PATIENCE * limit)  # what is made when it is first asked for
    except QueryTimeout:
        return None
    chosen = _seconds(query, limit)
    if chosen is None:
        return None
    best, best_order = chosen, "chosen"
    for order in orders(text, most, rng):
        query = graph.prepare(f"/*+ order({', '.join(order)}) */ {text}")
        seconds = _seconds(query, best + _SLACK, _HOPELESS * best)
        if seconds is not None and seconds < best:
            best, best_order = seconds, " ".join(order)
    if best_order != "chosen":
        first = graph.prepare(text)
        second = graph.prepare(f"/*+ order({best_order.replace(' ', ', ')}) */ {text}")
        turns = [(_once(first), _once(second)) for _ in range(_TURNS)]
        chosen, best = (min(times) for times in zip(*turns, strict=True))
    return Outcome(name, chosen, min(best, chosen), best_order, planned)


def measure_slow(graph: Graph, name: str, text: str, most: int, limit: float, rng: random.Random) -> Outcome:
    """Run a pattern once in the chosen order, for ``limit`` seconds of the clock, and once in ``most`` others."""
    planned = least(graph.prepare, text)
    query = graph.prepare(text)
    try:
        _once(query, limit)  # what is made when it is first asked for
        clock = time.perf_counter()
        chosen = _once(query, limit)
    except QueryTimeout:
        clock, chosen = time.perf_counter() - limit, limit
    patience = time.perf_counter() - clock
    best, best_order = chosen, "chosen"
    for order in itertools.islice(orders(text, most, rng), most):
        query = graph.prepare(f"/*+ order({', '.join(order)}) */ {text}")
        clock = time.perf_counter()
        try:
            seconds = _once(query, min(_SLOWER * patience, limit))
        except QueryTimeout:
            continue
        if seconds < best:
            best, best_order, patience = seconds, " ".join(order), time.perf_counter() - clock
    return Outcome(name, chosen, best, best_order, planned)


def planning(each: int = 20) -> None:
    """Print what planning large patterns takes, and of it reading the text: the median and the most of ``each``."""
    print("| patterns | vertices | number | planning: median, worst | reading: median, worst |")
    print("|---|---|---|---|---|")
    for name, graph, texts in _large(each):
        refused = [not _planned(graph, text) for text in texts.values()]  # statistics are made when first asked for
        sizes = sorted({len(nodes(text)) for text in texts.values()})
        plans = [1e3 * least(partial(_planned, graph), text) for text in texts.values()]
        reads = [1e3 * least(parse, text) for text in texts.values()]
        told = [f"{np.median(times):.1f}, {max(times):.1f} ms" for times in (plans, reads)]
        size = " to ".join(str(number) for number in dict.fromkeys((sizes[0], sizes[-1])))
        note = ", refused" if all(refused) else ""
        print(f"| {name}{note} | {size} | {len(texts)} | {told[0]} | {told[1]} |", flush=True)


def _planned(graph: Graph, text: str) -> bool:
    """Plan a text; tell whether it can be run: not one of more nodes and relationships than are searched."""
    try:
        graph.prepare(text)
    except Unsupported:
        return False
    return True


def _large(each: int) -> Iterator[tuple[str, Graph, dict[str, str]]]:
    """Yield by name a graph and patterns of it: drawn from real graphs, and without labels."""
    rng = random.Random(1)
    for name in ("hprd", "yeast"):
        found = [truth for truth in og.labelled_truths(name) if truth.name.endswith(og.DIFFERENT_NODES)]
        rng.shuffle(found)
        for size in (16, 24, 32):
            texts = {truth.name: truth.query for truth in found if len(nodes(truth.query)) == size}
            if texts:
                yield name, og.labelled(name), dict(list(texts.items())[:each])
    social, graph = _social((16, 24, 30), each), _rmat()
    yield "ldbc-snb-sf01, trees", og.property_graph("ldbc-snb-sf01"), social
    for mode in (og.DIFFERENT_RELATIONSHIPS, og.DIFFERENT_NODES):
        shapes = [Pattern(f"{kind} {n}", tuple(edges)) for n in (16, 24, 30) for kind, edges in _regular(n)]
        yield f"no labels, {mode.lower()}", graph, _texts(shapes, (mode,))
    sparse = np.random.default_rng(1).integers(0, 20_000, (100_000, 2), np.uint32)
    parallel = Graph.from_edge_list((sparse[:, 0], sparse[:, 1]))
    for shape in _dense():
        for name, each_graph in (("no labels", graph), ("parallel relationships", parallel)):
            yield f"{shape.name}, {name}", each_graph, _texts((shape,), (og.DIFFERENT_RELATIONSHIPS,))


def _regular(n: int) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Yield the edges of a path, trees, a cycle, a grid and a clique of eight with a tail, of n vertices each."""
    rng = random.Random(n)
    yield "path", [(v - 1, v) for v in range(1, n)]
    yield "binary tree", [((v - 1) // 2, v) for v in range(1, n)]
    yield "random tree", [(rng.randrange(v), v) for v in range(1, n)]
    yield "star", [(0, v) for v in range(1, n)]
    yield "cycle", [(v - 1, v) for v in range(1, n)] + [(0, n - 1)]
    width = next(width for width in range(int(n**0.5), 0, -1) if n % width == 0)
    yield "grid", [(v - 1, v) for v in range(n) if v % width] + [(v - width, v) for v in range(width, n)]
    clique = list(itertools.combinations(range(8), 2))
    yield "clique with a tail", clique + [(v - 1, v) for v in range(8, n)]


def _dense() -> Iterator[Pattern]:
    """Yield patterns of many relationships, or of many at one node."""
    for n in (10, 12, 30):
        yield Pattern(f"clique of {n}", tuple(itertools.combinations(range(n), 2)))
    yield Pattern("wheel of 30", tuple([(0, v) for v in range(1, 30)] + [(v, v % 29 + 1) for v in range(1, 30)]))
    yield Pattern("star of 40", tuple((0, v) for v in range(1, 40)))
    yield Pattern("complete 10 and 10", tuple(itertools.product(range(10), range(10, 20))))


def orders(text: str, most: int, rng: random.Random) -> Iterator[tuple[str, ...]]:
    """Yield connected orders of a pattern's nodes: all of a small one's, ``most`` random ones of a large one's."""
    near = nodes(text)
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


def nodes(text: str) -> dict[str, set[str]]:
    """Return the nodes of a pattern, each with those that a relationship joins it with."""
    near: dict[str, set[str]] = {}
    for one, other in re.findall(r"\((\w+)[^()]*\)(?:<?-[^()]*->?)(?=\((\w+))", text):
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)
    return near


def least(read: Callable[[str], object], text: str) -> float:
    """Return the CPU time of reading or planning a text, the least of some."""
    times = []
    for turn in range(1, 1 + _REPEATS):
        begin = time.process_time()
        read(text + " " * turn)  # plans are kept by their text
        times.append(time.process_time() - begin)
    return min(times)


def _seconds(query: Prepared, limit: float, hopeless: float = float("inf")) -> float | None:
    """Return the least CPU time of some runs of a query, None where the first takes longer than ``limit``."""
    times = []
    for _ in range(_REPEATS):
        try:
            times.append(_once(query, _PATIENCE * limit))
        except QueryTimeout:
            return min(times, default=None)
        if times[-1] > min(limit, hopeless):
            break
    return min(times) if times[0] <= limit else None


def _once(query: Prepared, timeout: float | None = None) -> float:
    begin = time.process_time()
    query.run(timeout=timeout, threads=1, device="cpu").value()
    return time.process_time() - begin


def _line(name: str, found: list[Outcome]) -> str:
    ratios = np.array([each.ratio for each in found])
    worst = sorted(found, key=lambda each: -each.ratio)[:1]
    long = sorted((each for each in found if each.best >= 1e-3), key=lambda each: -each.ratio)[:1]
    told = [f"{each.ratio:.1f}× ({each.name}, {1e3 * each.best:.1f} ms: {each.order})" for each in (*worst, *long)]
    median, high = np.quantile(ratios, (0.5, 0.95)) if len(ratios) else (0.0, 0.0)
    planning = [1e3 * each.planning for each in found]
    plan = f"{np.median(planning):.1f}, {max(planning):.1f} ms" if found else ""
    return f"| {name} | {len(found)} | {median:.2f} | {high:.2f} | {plan} | {' | '.join(told)} |"


def _texts(shapes: Iterable[Pattern], modes: Iterable[str]) -> dict[str, str]:
    def text(pattern: Pattern, mode: str) -> str:
        return og.pattern_query([None] * pattern.size, [(a, "-[:E]-", b) for a, b in pattern.edges], mode)

    return {f"{pattern.name}, {mode}": text(pattern, mode) for pattern in shapes for mode in modes}


def _shapes() -> dict[str, str]:
    return _texts(_SHAPES, (og.DIFFERENT_RELATIONSHIPS, og.REPEATABLE_ELEMENTS))


def _rmat() -> Graph:
    source, target = generate.to_csr(generate.rmat(10, 16, 42)).edges()
    return Graph.from_edge_list((source, target), undirected=True)


def _labelled_rmat() -> tuple[generate.Csr, np.ndarray]:
    graph = generate.to_csr(generate.rmat(11, 16, 42))
    return graph, generate.vertex_labels(graph.vertex_count, 16, 42)


def _rmat_with_labels() -> Graph:
    graph, labels = _labelled_rmat()
    nodes = [{"id": vertex, "labels": f"L{label}"} for vertex, label in enumerate(labels.tolist())]
    source, target = (ends.tolist() for ends in graph.edges())
    edges = [{"type": "E", "start": one, "end": other} for one, other in zip(source, target, strict=True)]
    return Graph.from_records(nodes, edges, undirected=["E"])


def _walks() -> dict[str, str]:
    """Draw labelled patterns of 3 to 16 vertices from the labelled R-MAT graph."""
    graph, labels = _labelled_rmat()
    stream, found = RawStream(7), {}
    for size in range(3, _LARGEST + 1):
        for number in range(6):
            query = generate.walk_query(graph, labels, size, stream, max_edges=3 * size)
            if query is not None:
                edges = [(one, "-[:E]-", other) for one, other in query.edges]
                text = og.pattern_query([f"L{label}" for label in query.labels], edges, og.DIFFERENT_NODES)
                found[f"walk {size}-{number}"] = text
    return found


def _social(sizes: Sequence[int] = range(3, 9), each: int = 10) -> dict[str, str]:
    """Draw trees, every second with a closing relationship, from the schema of the social network."""
    parts = [path.stem.removeprefix("rels_").split("_") for path in data_set("ldbc-snb-sf01").glob("rels_*.parquet")]
    kinds, rng, found = sorted((start, kind, end) for start, kind, end in parts), random.Random(5), {}
    for number in range(each * len(sizes)):
        start, kind, end = rng.choice(kinds)
        labels, edges = [start, end], [(0, f"-[:{kind}]->", 1)]
        while len(labels) < sizes[number % len(sizes)]:
            place = rng.randrange(len(labels))
            start, kind, end = rng.choice([each for each in kinds if labels[place] in (each[0], each[2])])
            forward = start == labels[place]
            labels.append(end if forward else start)
            ends = (place, len(labels) - 1) if forward else (len(labels) - 1, place)
            edges.append((ends[0], f"-[:{kind}]->", ends[1]))
        closing = [
            (one, f"-[:{kind}]->", other)
            for start, kind, end in kinds
            for one, other in itertools.permutations(range(len(labels)), 2)
            if (labels[one], labels[other]) == (start, end) and (one, f"-[:{kind}]->", other) not in edges
        ]
        edges += rng.sample(closing, min(len(closing), number % 2))
        found[f"schema {number}"] = og.pattern_query(list(labels), edges, og.DIFFERENT_RELATIONSHIPS)
    return found


def _queries(name: str) -> dict[str, str]:
    sizes = {query: len(labels) for query, (labels, _) in og.query_graphs(name).items()}
    found = {each.name: each.query for each in og.labelled_truths(name) if each.name.endswith(og.DIFFERENT_NODES)}
    return {query: text for query, text in found.items() if sizes[query.split()[0]] <= _LARGEST}


def _workload(name: str) -> dict[str, str]:
    return {each.name: each.query for each in og.workload_truths(name)}


@cache
def _conditional(name: str) -> Ground:
    return GROUNDS[name]()


def _ground(name: str) -> Graph:
    return _conditional(name).graph


def _conditions(name: str) -> dict[str, str]:
    """Draw patterns with up to four conditions on properties."""
    return {each.text: f"{each.text} RETURN count(*)" for each in drawn(_conditional(name), 120, seed=5)}


SETS: Mapping[str, tuple[Callable[[], Graph], Callable[[], dict[str, str]]]] = {
    "rmat10": (_rmat, _shapes),
    "rmat11": (_rmat_with_labels, _walks),
    "fb15k-237": (lambda: og.typed("fb15k-237"), lambda: _workload("fb15k-237")),
    "wn18rr": (lambda: og.typed("wn18rr"), lambda: _workload("wn18rr")),
    "ldbc-snb-sf01": (lambda: og.property_graph("ldbc-snb-sf01"), _social),
    "hprd": (lambda: og.labelled("hprd"), lambda: _queries("hprd")),
    "yeast": (lambda: og.labelled("yeast"), lambda: _queries("yeast")),
    **{f"conditions: {name}": (partial(_ground, name), partial(_conditions, name)) for name in GROUNDS},
}
"""By name how a graph is loaded, and the counting texts of its patterns by name."""


if __name__ == "__main__":
    main()
