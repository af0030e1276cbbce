"""What each way of the GPU executor brings: ``python -m tests.bench.ablations [batches stealing …] [--runs 5]``.

Each line runs the same queries with a part of the executor and without it: milliseconds from text to result, the best
of ``--runs``, geometric means over the queries. The graphs are those of ``tests.bench.enron`` and ``edge_labelled``,
and R-MAT graphs. A count that differs ends the command with 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from math import exp, log
from typing import Any

import numpy as np
import pytest

from qengine import Graph
from qengine.exec.gpu import bfs_plan, count_policy, dfs, dfs_plan, extend_counts, search
from qengine.storage import pcsr_build
from qengine.storage.adjacency import Form
from qengine.testing import generate
from tests.bench import edge_labelled
from tests.bench.enron import PEERS
from tests.bench.estimates import SETS

Patch = pytest.MonkeyPatch
Texts = Callable[[], tuple[Graph, list[str]]]

TRIANGLE = "(a)-[:E]-(b)-[:E]-(c)-[:E]-(a)"
FOUR_CLIQUE = TRIANGLE + ", (a)-[:E]-(d), (b)-[:E]-(d), (c)-[:E]-(d)"
DIAMOND = TRIANGLE + ", (b)-[:E]-(d)-[:E]-(c)"
LARGE = ("q8s_0", "q8d_7", "q12d_0", "q12d_1", "q12d_2", "q12d_3", "q12d_4", "q12s_0", "q12s_1")
_marks = count()
"""Of queries, so that their plans are made anew."""


@cache
def rmat(scale: int) -> Graph:
    """Return an R-MAT graph."""
    start, end = generate.to_csr(generate.rmat(scale, 16, 42)).edges()
    return Graph.from_edge_list((start.astype(np.int64), end.astype(np.int64)), undirected=True)


@cache
def _enron() -> tuple[Graph, dict[str, str]]:
    graph, cases = SETS["enron16"]()
    return graph, {case.name: case.query for case in cases}


def enron(*names: str) -> Texts:
    """Return labelled queries on email-Enron."""

    def load() -> tuple[Graph, list[str]]:
        graph, texts = _enron()
        return graph, [texts[name] for name in names]

    return load


def on_rmat(scale: int, *queries: str) -> Texts:
    """Return queries on an R-MAT graph."""
    return lambda: (rmat(scale), [f"MATCH {query}" for query in queries])


def typed(form: Form | None) -> Callable[[], tuple[Graph, list[str]]]:
    """Return email-Enron with labels on nodes and relationships, its row indexes all in one form, and 20 queries."""

    def load() -> tuple[Graph, list[str]]:
        data = edge_labelled.enron()
        with Patch.context() as patch:
            if form is not None:
                patch.setattr(pcsr_build, "choose", lambda *_: (form, "as asked for"))
            return data.load(), data.queries(20, 42)

    return load


def by_tree(patch: Patch) -> None:
    """Count by the tree of levels, depth first."""
    for name in ("try_count", "try_total"):
        patch.setattr(search, name, lambda *_: None)


def general(patch: Patch) -> None:
    """Run all depth first, rows too."""
    patch.setattr(search, "_total", lambda *_: None)
    patch.setattr(search, "has_room", lambda *_: False)


def setting(of: Any, name: str, value: Any) -> Callable[[Patch], None]:
    """Return the change of one name."""
    return lambda patch: patch.setattr(of, name, value)


def nothing(patch: Patch) -> None:
    """Change nothing."""


@dataclass(frozen=True)
class Ablation:
    """Queries, what the executor is measured without, and what is changed for both. ``other``: other graphs without."""

    what: str
    texts: Texts
    without: Callable[[Patch], None] = nothing
    given: Callable[[Patch], None] = nothing
    other: Texts | None = None


COUNT = " RETURN count(*)"
BY_NODE = " RETURN id(a) AS a, count(*) AS n ORDER BY n DESC, a LIMIT 10"
SEVEN = enron(*PEERS)
TREES = on_rmat(16, TRIANGLE + COUNT, DIAMOND + COUNT, FOUR_CLIQUE + COUNT)

ABLATIONS = {
    "batches": Ablation("32 prefixes a warp, not 1 (fine, not coarse)", SEVEN,
                        setting(dfs, "_MACROS", {"QE_BATCH": 1}), by_tree),
    "memory": Ablation("counts remembered (duplicates removed)", SEVEN,
                       setting(dfs_plan._Layout, "remember", lambda *_: None), by_tree),
    "cuts": Ablation("hubs cut into parts", SEVEN, setting(dfs_plan, "_PARTS", 1), by_tree),
    "breadth": Ablation("breadth first where there is room", SEVEN, setting(search, "try_total", lambda *_: None)),
    "shared": Ablation("rows with the same context counted once", enron(*LARGE),
                       setting(bfs_plan, "_SHARED_ROWS", 2**32 - 1)),
    "shapes": Ablation("kernels made for a shape", TREES, by_tree),
    "hubs": Ablation("rows of bits for hubs", on_rmat(18, TRIANGLE + COUNT, DIAMOND + COUNT, FOUR_CLIQUE + COUNT),
                     setting(count_policy, "_HUBS", 128)),
    "stealing": Ablation("work given to idle warps, enron16", SEVEN,
                         setting(dfs, "_MACROS", {"QE_SHARE_EVERY": 1 << 30}), by_tree),
    "stealing_rmat": Ablation("work given to idle warps, R-MAT 16", TREES,
                              setting(dfs, "_MACROS", {"QE_SHARE_EVERY": 1 << 30}), by_tree),
    "by_row": Ablation("counts by row by extension, not depth first", on_rmat(14, TRIANGLE + BY_NODE), general),
    "together": Ablation("rows counted together", on_rmat(14, TRIANGLE + BY_NODE),
                         setting(extend_counts.CountingExtension, "_count_together", lambda *_: False)),
    "dense": Ablation("row indexes as chosen, not all dense", typed(None), other=typed(Form.DENSE)),
    "groups": Ablation("row indexes as chosen, not all groups", typed(None), other=typed(Form.GROUPS)),
    "sorted": Ablation("row indexes as chosen, not all sorted", typed(None), other=typed(Form.SORTED)),
}  # fmt: skip


@contextmanager
def changed(*changes: Callable[[Patch], None]) -> Iterator[None]:
    """Make changes for a while."""
    with Patch.context() as patch:
        for change in changes:
            change(patch)
        yield


def measured(texts: Texts, runs: int) -> tuple[list[object], list[float]]:
    """Return for each query what it gives, and the milliseconds of its best run; plans are laid out anew."""
    graph, queries = texts()
    results, best, mark = [], [], next(_marks)
    for query in queries:
        times = []
        for _ in range(1 + runs):
            begin = time.perf_counter()
            found = graph.query(f"{query} /* {mark} */", device="gpu").fetchall()
            times.append(1e3 * (time.perf_counter() - begin))
        results.append(found)
        best.append(min(times[1:]))
    return results, best


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.ablations", description=main.__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(ABLATIONS)}; default: all")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    print("| part | queries | with, ms | without, ms | takes | least, most |\n|---|---|---|---|---|---|")
    right = True
    for name in options.names or ABLATIONS:
        one = ABLATIONS[name]
        with changed(one.given):
            expected, ours = measured(one.texts, options.runs)
        with changed(one.given, one.without):
            found, others = measured(one.other or one.texts, options.runs)
        right = right and found == expected
        ratios = [b / a for a, b in zip(ours, others, strict=True)]
        means = [exp(sum(map(log, each)) / len(each)) for each in (ours, others, ratios)]
        print(
            f"| {one.what}{'' if found == expected else ' WRONG'} | {len(ours)} | {means[0]:.3g} | {means[1]:.3g} "
            f"| {means[2]:.2f}× | {min(ratios):.2f}×, {max(ratios):.2f}× |",
            flush=True,
        )
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
