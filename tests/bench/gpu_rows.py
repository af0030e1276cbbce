"""Each special way of counting on the GPU beside what takes its place: ``python -m tests.bench.gpu_rows [--graphs …]``.

Each query of a graph is planned and run as it is, and again without each special way that its plan takes: a row of the
kernel table that isn't a general one, or a kernel of a shape. Times are whole prepared queries, the best of some after
the first; counts must be equal, a wrong one ends the command with 1. A way that no graph gains 1.5 times by isn't
worth its code.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa

from qengine import Graph
from qengine.errors import QengineError
from qengine.optimizer import count_shapes, elimination
from qengine.optimizer.elimination.cost import groups_of, rows_of
from qengine.optimizer.memory import Lasting
from qengine.plan.kernels import KERNELS
from qengine.plan.physical import Eliminate, Search
from qengine.plan.traverse import operators
from tests.bench import gpu_graphs

GENERAL = frozenset((
    "indicator", "uploaded", "matrix_product", "vector_product", "message", "masked_product", "rooted_forest",
    "masked_forest", "turned", "neighbours", "degrees", "at_ends", "of_pairs", "at_pairs", "end_rows", "by_root", "dot",
))  # fmt: skip
"""Rows that others need: each form of a step has one."""

_TRIANGLE = "(a)--(b)--(c)--(a)"
_SQUARE = "(a)--(b)--(c)--(d)--(a)"
_K4 = f"{_SQUARE}, (a)--(c), (b)--(d)"
PLAIN = {
    "path2": "(a)--(b)--(c)",
    "star3": "(a)--(b), (a)--(c), (a)--(d)",
    "path4": "(a)--(b)--(c)--(d)--(e)",
    "triangle": _TRIANGLE,
    "tailed": f"{_TRIANGLE}, (a)--(d)",
    "tails": f"{_TRIANGLE}, (a)--(x), (b)--(y), (c)--(z)",
    "diamond": f"{_SQUARE}, (a)--(c)",
    "book3": f"{_SQUARE}, (a)--(c), (a)--(e)--(c)",
    "diamond tail": f"{_SQUARE}, (a)--(c), (b)--(e)",
    "square": _SQUARE,
    "K4": _K4,
    "K4 tail": f"{_K4}, (a)--(e)",
    "K5": f"{_K4}, (a)--(e)--(b), (c)--(e)--(d)",
    "K5 less one": f"{_K4}, (a)--(e)--(b), (c)--(e)",
    "house": f"{_SQUARE}, (a)--(e)--(b)",
    "gem": f"{_SQUARE}, (h)--(a), (h)--(b), (h)--(c)",
    "wheel": f"{_SQUARE}, (h)--(a), (h)--(b), (h)--(c), (h)--(d)",
    "K2,3": "(a)--(b)--(c), (a)--(d)--(c), (a)--(e)--(c)",
    "C5": "(a)--(b)--(c)--(d)--(e)--(a)",
    "path5": "(a)--(b)--(c)--(d)--(e)--(f)",
    "bow tie": f"{_TRIANGLE}, (a)--(d)--(e)--(a)",
    "triangle by a": f"{_TRIANGLE} RETURN id(a), count(*)",
    "diamond by d": f"{_SQUARE}, (a)--(c) RETURN id(d), count(*)",
    "square by a": f"{_SQUARE} RETURN id(a), count(*)",
    "K4 by a": f"{_K4} RETURN id(a), count(*)",
}
LABELLED = {
    "star": "(a:L0)--(b:L1), (a)--(c:L2), (a)--(d:L3)",
    "triangle": "(a:L0)--(b:L1)--(c:L2)--(a)",
    "tailed": "(a:L0)--(b:L1)--(c:L2)--(a), (a)--(d:L3)",
    "tails": "(a:L0)--(b:L0)--(c:L0)--(a), (a)--(x:L1), (b)--(y:L1), (c)--(z:L1)",
    "K4 tail": "(a:L0)--(b:L0)--(c:L0)--(d:L0)--(a), (a)--(c), (b)--(d), (a)--(e)",
    "C5": "(a:L0)--(b:L0)--(c:L0)--(d:L0)--(e:L0)--(a)",
    "diamond": "(a:L0)--(b:L1)--(c:L2)--(d:L3)--(a), (a)--(c)",
    "square": "(a:L0)--(b:L1)--(c:L2)--(d:L3)--(a)",
    "squares of one": "(a:L0)--(b:L1)--(c:L0)--(d:L1)--(a)",
    "K4": "(a:L0)--(b:L1)--(c:L2)--(d:L3)--(a), (a)--(c), (b)--(d)",
    "K4 of one": "(a:L0)--(b:L0)--(c:L0)--(d:L0)--(a), (a)--(c), (b)--(d)",
    "K2,3": "(a:L0)--(b:L1)--(c:L2), (a)--(d:L1)--(c), (a)--(e:L1)--(c)",
    "house": "(a:L0)--(b:L0)--(c:L0)--(d:L0)--(a), (a)--(e:L0)--(b)",
}
TYPED = {
    "square of two": "(a)-[:A]-(b)-[:B]-(c)-[:A]-(d)-[:B]-(a)",
    "square": "(a)-[:A]-(b)-[:A]-(c)-[:B]-(d)-[:B]-(a)",
    "three ways": "(a)-[:A]-(b)-[:B]-(c), (a)-[:A]-(d)-[:B]-(c), (a)-[:A]-(e)-[:B]-(c)",
    "K4": "(a)-[:A]-(b)-[:B]-(c)-[:A]-(d)-[:B]-(a), (a)-[:A]-(c), (b)-[:B]-(d)",
    "triangle": "(a)-[:A]-(b)-[:B]-(c)-[:A]-(a)",
    "diamond": "(a)-[:A]-(b)-[:B]-(c)-[:A]-(a), (a)-[:A]-(d)-[:B]-(c)",
}
FEW = ("path2", "triangle", "tailed", "diamond", "square", "K4", "star3")
"""Of the largest graphs."""

_MOST = 3.0
"""Seconds of a query."""


def main() -> int:
    """Print a line for each way and graph."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.gpu_rows", description=main.__doc__)
    parser.add_argument("--graphs", default="rmat14,er18,rmat18,labelled18,typed16,social,hubs16,rmat21,rmat24")
    parser.add_argument("--modes", default=",REPEATABLE ELEMENTS", help="of matching; the first is for large graphs")
    parser.add_argument("--ways", default="", help="of those that are special; a+b: both at once; default: all")
    parser.add_argument("--seconds", type=float, default=400.0, help="after which no further query begins")
    options = parser.parse_args()
    asked = options.ways.split(",") if options.ways else ()
    end, wrong = time.monotonic() + options.seconds, 0
    for name in options.graphs.split(","):
        if time.monotonic() > end:
            break
        graph, patterns = made(name)
        modes = options.modes.split(",")
        found: dict[str, list[str]] = {}
        for mode in modes[:1] if name in ("rmat21", "rmat24") else modes:
            for key, pattern in patterns.items():
                if time.monotonic() > end:
                    break
                if not (mode and "RETURN" in pattern):
                    wrong += compared(graph, f"{key}{'*' if mode else ''}", f"{mode} {pattern}", found, asked)
        for way, cells in sorted(found.items()):
            print(f"{name} {way}: {'; '.join(cells)}", flush=True)
    return 1 if wrong else 0


def compared(graph: Graph, name: str, pattern: str, found: dict[str, list[str]], asked: Sequence[str]) -> int:
    """Time a pattern with and without each special way; return how many answers differ."""
    ways, first, best, count = timed(graph, pattern, frozenset())
    wrong = 0
    for way in (each for each in asked or ways if not {*each.split("+")}.isdisjoint(ways)):
        others, _, without, instead = timed(graph, pattern, frozenset(way.split("+")))
        differs = None not in (count, instead) and count != instead
        wrong += differs
        ratio = f"{without / best:.1f}" if best < inf else "?"
        others_then = ",".join(each for each in others if each not in ways)
        found.setdefault(way, []).append(
            f"{name} {1e3 * best:.3g}/{1e3 * without:.3g}={ratio}{f' ({others_then})' if others_then else ''}"
            f"{f' WRONG {count} {instead}' if differs else ''}"
        )
    found.setdefault("first runs", []).append(f"{name} {1e3 * first:.3g}")
    return wrong


def timed(graph: Graph, pattern: str, excluded: frozenset[str]) -> tuple[tuple[str, ...], float, float, Any]:
    """Return the special ways of a query, the seconds of its first and of its best run, and what it gave."""
    returned = "" if "RETURN" in pattern else " RETURN count(*)"
    with without(excluded):
        text = f"MATCH {pattern}{returned} AS {'_'.join(('n', *sorted(excluded)))}"
        ways, times, value = tuple[str, ...](), list[float](), None
        try:
            ways = tuple(dict.fromkeys(special(graph.explain(text, device="gpu").plan)))
            prepared = graph.prepare(text)
            while len(times) < 2 or (len(times) < 9 and sum(times[1:]) < 0.2):
                begin = time.perf_counter()
                value = digest(prepared.run(device="gpu", timeout=_MOST).to_arrow())
                times.append(time.perf_counter() - begin)
        except QengineError as error:
            if not times:
                return ways, inf, inf, None
            print(f"{pattern}: {type(error).__name__}", file=sys.stderr)
    return ways, times[0], min(times[1:], default=times[0]), value


def digest(table: pa.Table) -> tuple[int, ...]:
    """Return numbers that two results agree in, whatever the order of their rows."""
    columns = [np.asarray(column).astype(np.uint64) for column in table.columns]
    mixed = np.zeros(table.num_rows, np.uint64)
    for k, column in enumerate(columns):
        mixed += column * np.uint64(2 * k + 3) ** np.uint64(3)
    return table.num_rows, int(sum(column.sum() for column in columns)), int((mixed * mixed).sum())


def special(plan: Any) -> Iterator[str]:
    """Yield the special ways of a plan on the GPU."""
    for each in operators(plan.root):
        if isinstance(each, Eliminate) and (schedule := each.schedule("gpu")) is not None:
            yield from (call.kernel for call in schedule.every if call.kernel not in GENERAL)
            return
        if isinstance(each, Search):
            yield from (type(part.shape).__name__ for part in each.shapes)


@contextmanager
def without(names: frozenset[str]) -> Iterator[None]:
    """Leave some ways out of what plans may take."""
    rows, shapes, known = KERNELS["gpu"], count_shapes._shapes, elimination._eliminations

    def allowed(*arguments: Any) -> Iterator[Any]:
        return (each for each in shapes(*arguments) if type(each).__name__ not in names)

    KERNELS["gpu"] = tuple(row for row in rows if row.name not in names)
    count_shapes._shapes = allowed  # type: ignore[assignment]
    elimination._eliminations = Lasting()
    try:
        for cached in (rows_of, groups_of):
            cached.cache_clear()
        yield
    finally:
        KERNELS["gpu"], count_shapes._shapes, elimination._eliminations = rows, shapes, known
        for cached in (rows_of, groups_of):
            cached.cache_clear()


def made(name: str) -> tuple[Graph, Mapping[str, str]]:
    """Return a graph by its name, and its patterns."""
    scale = int("".join(filter(str.isdigit, name)) or 0)
    kind = name.rstrip("0123456789")
    if kind == "social":
        from qengine.testing.generate.social import SocialSize, social

        tables = social(SocialSize())
        ends = [tables["rels_Person_knows_Person"].column(key).to_numpy() for key in ("start", "end")]
        csr = gpu_graphs.from_edges(100_000, *ends)
    else:
        csr = gpu_graphs.uniform(scale, 16 << scale, 42) if kind == "er" else gpu_graphs.rmat(scale, 16, 42)
        csr = gpu_graphs.with_star(csr) if kind == "hubs" else csr
    neighbours, offsets, n = csr.neighbours.get(), csr.offsets.get(), csr.n
    del csr
    rows = np.repeat(np.arange(n, dtype=np.uint32), np.diff(offsets).astype(np.int64))
    once = rows < neighbours
    ends = [rows[once], neighbours[once]]
    random = np.random.default_rng(1)
    if kind == "labelled":
        label = random.integers(0, 8, n)
        nodes = [(f"L{k}", pa.table({"id": np.flatnonzero(label == k)})) for k in range(8)]
        edges = pa.table({"src": ends[0].astype(np.int64), "dst": ends[1].astype(np.int64)})
        return Graph.from_arrow(nodes, [("E", edges)], undirected=["E"]), LABELLED
    if kind == "typed":
        first = random.random(len(ends[0])) < 0.5
        by_type = [
            (key, pa.table({"src": ends[0][which].astype(np.int64), "dst": ends[1][which].astype(np.int64)}))
            for key, which in (("A", first), ("B", ~first))
        ]
        nodes = [("N", pa.table({"id": np.arange(n)}))]
        return Graph.from_arrow(nodes, by_type, undirected=["A", "B"]), TYPED
    graph = Graph.from_edge_list(tuple(ends), type="E", undirected=True)
    return graph, {key: PLAIN[key] for key in FEW} if scale > 20 else PLAIN


if __name__ == "__main__":
    sys.exit(main())
