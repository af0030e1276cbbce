"""All CUDA kernels look at their stop flag within bounded work, and end soon once it is set: run on the host.

``tests.emulator.device`` counts the steps of each launch, in all tests; here loops are long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from qengine import Graph, QueryTimeout
from qengine.exec import choice
from qengine.exec.gpu import (
    cliques,
    closed_walk_counts,
    count_kernels,
    dfs,
    dfs_plan,
    elimination_steps,
    neighbourhoods,
    row_products,
    symmetric_links,
    triangle_counts,
)
from qengine.exec.gpu import eliminate as eliminate_module
from qengine.exec.gpu import search as search_module
from qengine.exec.gpu.count_policy import house_launches
from tests.emulator.arrays import cupy
from tests.emulator.building import CHECKOUT
from tests.emulator.device import PASSES, SMALL, WARPS, Kernel, device_memory, emulated, searched
from tests.gpu.test_counting import PATTERNS, graph_of
from tests.property import test_gpu_elimination

SOURCES = sorted((CHECKOUT / "kernels" / "cuda").glob("*/*.cu"))
UNTESTED = {"pcsr_locate": "tests compare it with the host's look-up"}


def kernels() -> set[str]:
    """Return the names of all kernels."""
    found = set()
    for path in SOURCES:
        text = re.sub(r"//.*", "", path.read_text())
        text = re.sub(r"__launch_bounds__\([^)]*\)+|QE_BOUNDS", "", text)
        found |= set(re.findall(r"__global__\s+void\s+(\w+)\s*\(", text))
    return found


def test_the_kernels_that_need_not_look_exist() -> None:
    assert kernels() >= PASSES | UNTESTED.keys()


def hubs() -> Graph:
    """A graph with two hubs that neighbour all, lists of hundreds, and a part where all are linked."""
    random = np.random.default_rng(1)
    n = 400
    start, end = [np.zeros(n - 1, np.int64), np.ones(n - 2, np.int64)], [np.arange(1, n), np.arange(2, n)]
    clique = np.array(np.triu_indices(24, 1)) + 2
    pairs = random.integers(26, n, (2, 900))
    links = np.concatenate([np.stack([np.concatenate(start), np.concatenate(end)]), clique, pairs], axis=1)
    links = np.unique(np.sort(links, axis=0), axis=1)
    links = links[:, links[0] != links[1]]
    return graph_of(n, links[0], links[1], 1)


@dataclass(frozen=True)
class Case:
    """A query, and what lets the device run it as wanted. ``stops``: at which looks it is stopped.

    ``longer``: one that would run for long here, and is only stopped.
    """

    query: str
    setting: Callable[[pytest.MonkeyPatch], None]
    eliminates: bool = False
    free: int = 1 << 30
    stops: tuple[int, ...] = (1, 3, 20)
    longer: str = ""


def no_change(patch: pytest.MonkeyPatch) -> None:
    pass


def counters_in_global_memory(patch: pytest.MonkeyPatch) -> None:
    """Let no array of counters fit shared memory."""
    patch.setattr(count_kernels, "house_launches", lambda device, span: house_launches(device, 1 << 20))


def only(*names: str) -> Callable[[pytest.MonkeyPatch], None]:
    """Leave a plan to one of those who count."""

    def setting(patch: pytest.MonkeyPatch) -> None:
        for name in {"try_count", "try_total", "dfs_total"} - set(names):
            patch.setattr(search_module, name, lambda *_, **__: None)
        patch.setattr(dfs, "_THREADS", 32 * WARPS)
        patch.setattr(dfs_plan, "_HUBS", 4)

    return setting


def count(pattern: str) -> str:
    return f"MATCH {pattern} RETURN count(*)"


def summed(pattern: str, result: str = "count(*)") -> str:
    return f"/*+ eliminate */ MATCH {pattern} RETURN {result}"


def with_cliques(pattern: str) -> str:
    return f"/*+ eliminate, kernel(cliques) */ MATCH {pattern} RETURN count(*)"


def no_room_for_rows(patch: pytest.MonkeyPatch) -> None:
    """Let the rows of no root with many neighbours fit shared memory."""
    patch.setattr(cliques, "_FEW", 8)
    patch.setattr(type(SMALL), "dynamic_bytes", property(lambda own: 800))


def all_by_warps(patch: pytest.MonkeyPatch) -> None:
    """Let warps go around roots with many neighbours."""
    patch.setattr(cliques, "_FEW", 256)


FIVE = ", ".join(f"({a})--({b})" for a, b in combinations("abcde", 2))
SQUARE = "DIFFERENT NODES (a)-[:E]-(b)-[:E]-(c)-[:E]-(d)-[:E]-(a), (b)-[:E]-(d), (a)-[:E]-(e)"
FEW = f"{SQUARE} WHERE id(a) < 3 AND id(c) < 3"
MANY = f"{SQUARE}, (e)-[:E]-(f)-[:E]-(d)"
BY_NODE = "id(a) AS a, count(*) ORDER BY a"
WEIGHTED = "(a)--(b)--(c)--(a), (a)--(x), (b)--(y), (c)--(z)"
CASES = {
    **{name: Case(count(PATTERNS[name]), no_change) for name in ("triangle", "diamond", "4-clique", "square", "house")},
    "house, in global memory": Case(count(PATTERNS["house"]), counters_in_global_memory),
    "5-clique": Case(count(PATTERNS["5-clique"]), no_change),
    "tree": Case(count(FEW), only("dfs_total"), stops=(3,), longer=count(MANY)),
    "total": Case(count(FEW), only("try_total")),
    "search": Case(count("(a)--(b)--(c)--(d) WHERE id(a) < 3 AND id(d) < 2"), only(), free=0),
    "search for few": Case(count("(a)--(b), (c)--(d) WHERE id(a) = 5 AND id(c) > 397 AND id(d) > 397"), only(), free=0),
    "rows": Case("MATCH (a)--(b)--(c)--(a) WHERE id(a) < 4 RETURN id(a) + id(b) + id(c) AS n ORDER BY n", no_change),
    "counts by row": Case("MATCH (a)--(b)--(c) WHERE id(a) < 4 RETURN id(b) AS b, count(*) ORDER BY b", no_change),
    "what is reached": Case(
        "MATCH (a)-[:E*]->(b) WHERE id(a) < 9 WITH a, count(DISTINCT b) AS n RETURN id(a) AS i, n ORDER BY i", no_change
    ),
    "around": Case(summed("(a)--(b)--(c)--(d)--(a), (a)--(e)", BY_NODE), no_change, True, stops=(3,)),
    "path": Case(summed("(a)--(b)--(c)--(d)"), no_change, True),
    "triangles by node": Case(summed("(a)--(b)--(c)--(a)", BY_NODE), no_change, True),
    "triangles with a tail": Case(summed("(a)--(b)--(c)--(a), (c)--(d)"), no_change, True),
    "diamonds by node": Case(summed("(a)--(b)--(c)--(a), (b)--(d)--(a)", BY_NODE), no_change, True),
    "labelled triangles": Case(summed("(a)--(b)--(c)--(a), (c)--(d) WHERE id(d) > 3"), no_change, True),
    "weighted triangles": Case(summed(f"REPEATABLE ELEMENTS {WEIGHTED}"), no_change, True),
    "cliques and rings among neighbours": Case(
        summed("(a)--(b)--(c)--(d)--(a), (a)--(e), (b)--(e), (c)--(e), (d)--(e), (a)--(c)"), no_change, True
    ),
    "squares among the ends of pairs": Case(
        summed("REPEATABLE ELEMENTS (a)--(x)--(b)--(y)--(a), (a)--(z)--(b), (x)--(y)"), no_change, True, stops=(3,)
    ),
    "cliques of four": Case(with_cliques("(a)--(b)--(c)--(a), (a)--(d), (b)--(d), (c)--(d)"), no_change, True),
    "cliques of four, in global memory": Case(
        with_cliques("(a)--(b)--(c)--(a), (a)--(d), (b)--(d), (c)--(d)"), no_room_for_rows, True
    ),
    "cliques of five, by warps": Case(with_cliques(FIVE), all_by_warps, True, stops=(3,)),
    "5-cycle": Case(summed("(a)--(b)--(c)--(d)--(e)--(a)"), no_change, True),
    "K2,3 by node": Case(
        summed("REPEATABLE ELEMENTS (a)--(x)--(b)--(y)--(a), (a)--(z)--(b)", BY_NODE), no_change, True, stops=(3,)
    ),
    "square with a tail": Case(summed("(a)--(b)--(c)--(d)--(a), (a)--(e)"), no_change, True),
}  # fmt: skip


@pytest.fixture(scope="module")
def graph() -> Graph:
    return hubs()


@contextmanager
def device(case: Case) -> Iterator[None]:
    """Let the queries of a case run on the emulated device."""
    memory = device_memory()
    with ExitStack() as after:
        patch = after.enter_context(emulated(memory, case.free))
        patch.setattr(choice, "choose", lambda asked, *_: (asked, "as asked"))
        if not case.eliminates:
            searched(patch)
        else:
            threads = test_gpu_elimination.THREADS

            @contextmanager
            def run(context: Any) -> Iterator[Any]:
                yield test_gpu_elimination.Run(context, memory)

            patch.setattr(eliminate_module, "device_run", run)
            for module in (
                cliques,
                elimination_steps,
                triangle_counts,
                closed_walk_counts,
                neighbourhoods,
                row_products,
                symmetric_links,
            ):
                patch.setattr(module, "_THREADS", threads)
            for module in (cliques, neighbourhoods):
                patch.setattr(module, "_MANY_THREADS", threads)
            for module in (cliques, row_products, symmetric_links):
                patch.setattr(module, "_MOST_THREADS", threads)
            for module in (neighbourhoods, symmetric_links):
                patch.setattr(module, "cupy", lambda: cupy)
            patch.setattr(elimination_steps, "_AROUND_THREADS", threads)
            patch.setattr(triangle_counts, "_MANY_THREADS", threads)
            patch.setattr(triangle_counts, "_HUBS", 40)
            for name in ("_LIGHT_THREADS", "_HEAVY_THREADS"):
                patch.setattr(closed_walk_counts, name, threads)
            patch.setattr(closed_walk_counts, "_FIRST_ROOTS", 32)
            patch.setattr(closed_walk_counts, "_WORTH", 0)
        case.setting(patch)
        yield


def run(graph: Graph, case: Case, where: str = "gpu") -> Any:
    return graph.query(case.query, device=where).fetchall()


@pytest.mark.parametrize("name", ["tree"])
def test_a_stopped_count_ends_soon_and_leaves_nothing_behind(graph: Graph, name: str) -> None:
    check(graph, CASES[name])


@pytest.mark.nets
@pytest.mark.parametrize("name", sorted(CASES.keys() - {"tree"}))
def test_a_stopped_query_ends_soon_and_leaves_nothing_behind(graph: Graph, name: str) -> None:
    check(graph, CASES[name])


def check(graph: Graph, case: Case) -> None:
    """Stop a query at some of its looks, and run it to the end again: ``Kernel`` compares the work."""
    expected = run(graph, case, "cpu")
    with device(case):
        Kernel.seen.clear()
        assert run(graph, case) == expected
        assert any(seen.looks for seen in Kernel.seen.values()) or Kernel.seen.keys() <= PASSES
        for number in case.stops:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Kernel, "stop_at", number)
                with suppress(QueryTimeout):
                    assert run(graph, case) == expected  # fewer looks than that
                if case.longer:
                    with pytest.raises(QueryTimeout):
                        graph.query(case.longer, device="gpu").value()
                Kernel.stopped = False
            assert run(graph, case) == expected
