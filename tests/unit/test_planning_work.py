"""How much work it is to plan dense and large patterns: steps are counted, not time."""

from __future__ import annotations

import sys
from itertools import combinations
from types import FrameType

import numpy as np
import pytest

from qengine import Graph, Prepared
from qengine.plan.physical import Search
from qengine.plan.traverse import operators

Edges = list[tuple[int, int]]

SHAPES: dict[str, Edges] = {
    "clique of 12": list(combinations(range(12), 2)),
    "clique of 30": list(combinations(range(30), 2)),
    "grid of 30": [(v - 1, v) for v in range(30) if v % 6] + [(v - 6, v) for v in range(6, 30)],
    "wheel of 30": [(0, v) for v in range(1, 30)] + [(v, v % 29 + 1) for v in range(1, 30)],
    "star of 40": [(0, v) for v in range(1, 40)],
    "complete 10 and 10": [(one, other) for one in range(10) for other in range(10, 20)],
}


def text(edges: Edges, arrow: str) -> str:
    return "MATCH " + ", ".join(f"(v{one})-[:E]{arrow}(v{other})" for one, other in edges) + " RETURN count(*)"


def graph(parallel: bool) -> Graph:
    """Return a random graph, without loops; where there are ``parallel`` relationships, with loops, too."""
    ends = np.random.default_rng(1).integers(0, 500, (2500, 2), np.uint32)
    if not parallel:
        ends = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
    return Graph.from_edge_list((ends[:, 0], ends[:, 1]))


@pytest.fixture(scope="module", params=[False, True], ids=["simple", "parallel"])
def any_graph(request: pytest.FixtureRequest) -> Graph:
    return graph(request.param)


def planned(graph: Graph, query: str) -> tuple[int, Prepared]:
    """Plan a query, and count the calls, of Python's functions and of others, that this makes."""
    found = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        prepared = graph.prepare(query)
    finally:
        sys.setprofile(before)
    return found, prepared


@pytest.mark.parametrize("arrow", ["->", "-"])
@pytest.mark.parametrize("shape", SHAPES)
def test_work_grows_with_what_the_plan_says_and_not_with_all_pairs(any_graph: Graph, shape: str, arrow: str) -> None:
    any_graph.prepare("MATCH (a)-[:E]->(b)-[:E]-(c) RETURN count(*)")  # what is settled once
    steps, query = planned(any_graph, text(SHAPES[shape], arrow))
    searches = [each for each in operators(query._planned.physical.root) if isinstance(each, Search)]
    levels = [level for search in searches for level in search.levels]
    differences = sum(len(level.different) + len(getattr(level, "pairs", ())) for level in levels)
    assert levels
    assert steps <= 60_000 + 600 * len(SHAPES[shape]) + 10 * differences
