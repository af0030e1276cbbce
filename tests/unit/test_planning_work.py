"""How much work it is to plan dense and large patterns: steps are counted, not time."""

from __future__ import annotations

import gc
import sys
from itertools import combinations
from types import FrameType

import numpy as np
import pytest

from qengine import Graph, Prepared, Unsupported
from qengine.plan.physical import Search
from qengine.plan.traverse import operators

Edges = list[tuple[int, int]]


def scattered(vertices: int, relationships: int) -> Edges:
    """A random tree, and relationships between random vertices."""
    chance = np.random.default_rng(3)
    found = {(int(chance.integers(0, v)), v) for v in range(1, vertices)}
    while len(found) < relationships:
        one, other = sorted(chance.integers(0, vertices, 2).tolist())
        if one != other:
            found.add((one, other))
    return sorted(found)


SHAPES: dict[str, Edges] = {
    "clique of 12": list(combinations(range(12), 2)),
    "clique of 30": list(combinations(range(30), 2)),
    "grid of 30": [(v - 1, v) for v in range(30) if v % 6] + [(v - 6, v) for v in range(6, 30)],
    "wheel of 30": [(0, v) for v in range(1, 30)] + [(v, v % 29 + 1) for v in range(1, 30)],
    "star of 40": [(0, v) for v in range(1, 40)],
    "complete 10 and 10": [(one, other) for one in range(10) for other in range(10, 20)],
    "path of 300": [(v - 1, v) for v in range(1, 300)],
    "tree of 100": [((v - 1) // 2, v) for v in range(1, 100)],
    "random of 130": scattered(130, 170),
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


def planned(graph: Graph, query: str) -> tuple[int, Prepared | Unsupported]:
    """Plan a query, or find it refused, and count the calls, of Python's functions and of others, that this makes."""
    found = 0
    prepared: Prepared | Unsupported

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        prepared = graph.prepare(query)
    except Unsupported as error:
        prepared = error
    finally:
        sys.setprofile(before)
    return found, prepared


@pytest.mark.parametrize("arrow", ["->", "-"])
@pytest.mark.parametrize("shape", SHAPES)
def test_work_grows_with_what_the_plan_says_and_not_with_all_pairs(any_graph: Graph, shape: str, arrow: str) -> None:
    any_graph.prepare("MATCH (a)-[:E]->(b)-[:E]-(c) RETURN count(*)")  # what is settled once
    edges = SHAPES[shape]
    steps, query = planned(any_graph, text(edges, arrow))
    assert isinstance(query, Prepared)
    searches = [each for each in operators(query._planned.physical.root) if isinstance(each, Search)]
    levels = [level for search in searches for level in search.levels]
    differences = sum(len(level.different) + len(getattr(level, "pairs", ())) for level in levels)
    assert levels
    assert steps <= 60_000 + 600 * len(edges) + 10 * differences


def test_a_pattern_too_large_to_search_is_refused_at_its_place() -> None:
    """Not only when it runs: nothing explains a plan that can't. Little is done before."""
    large = graph(parallel=True)
    path = [(v, v + 1) for v in range(512)]
    query = "MATCH (z) WITH z LIMIT 1 " + text(path, "->")
    for refuse in (large.prepare, large.explain):
        with pytest.raises(Unsupported) as caught:
            refuse(query)
        assert (
            caught.value.message == "A pattern with 1,025 nodes and relationships exceeds the 1,024 that are searched."
        )
        assert caught.value.hint == "Split it into several MATCH clauses with WITH between them."
        assert caught.value.span is not None
        assert query[caught.value.span.start :].startswith("MATCH (v0)-[:E]->(v1), ")
    steps, refused = planned(large, text(path, "->"))
    assert isinstance(refused, Unsupported) and steps <= 60_000 + 600 * len(path)
    assert large.prepare(text(path[1:], "->"))
    simple = graph(parallel=False)
    star = [(0, v) for v in range(1, 1025)]
    with pytest.raises(Unsupported, match="1,025 nodes and relationships"):
        simple.prepare(text(star, "->"))
    assert simple.prepare(text(star[1:], "->"))


WIDE: dict[str, Edges] = {
    "wheel of 10": [(0, v) for v in range(1, 10)] + [(v, v % 9 + 1) for v in range(1, 10)],
    "complete 5 and 5": [(one, other) for one in range(5) for other in range(5, 10)],
    "grid of 12": [(v - 1, v) for v in range(12) if v % 4] + [(v - 4, v) for v in range(4, 12)],
    "path of 10": [(v - 1, v) for v in range(1, 10)],
    "tree of 12": [((v - 1) // 2, v) for v in range(1, 12)],
}


@pytest.mark.parametrize("kind", ["undirected", "simple", "parallel"])
@pytest.mark.parametrize("shape", WIDE)
def test_counts_that_take_too_many_sums_are_given_up_early(shape: str, kind: str) -> None:
    """In how many ways nodes may coincide grows exponentially."""
    ends = np.random.default_rng(2).integers(0, 2000, (20_000, 2), np.uint32)
    if kind != "parallel":
        ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    given = Graph.from_edge_list((ends[:, 0], ends[:, 1]), undirected=kind == "undirected")
    given.prepare("MATCH (a)-[:E]->(b)-[:E]-(c) RETURN count(*)")  # what is settled once
    steps, query = planned(given, text(WIDE[shape], "-"))
    assert isinstance(query, Prepared)
    assert steps <= 120_000


def parts_in_a_row(count: int) -> str:
    parts = (f"WITH p{k}, count(*) AS c{k} MATCH (p{k})-[:E]-(p{k + 1}) WHERE id(p{k + 1}) > {k}" for k in range(count))
    return f"MATCH (p0) {' '.join(parts)} RETURN id(p{count}), count(*)"


CLAUSES = {
    "parts": parts_in_a_row,
    "optional matches": lambda count: (
        "MATCH (a) " + " ".join(f"OPTIONAL MATCH (a)-[:E]->(b{k})" for k in range(count)) + " RETURN count(*)"
    ),
    "calls": lambda count: (
        "MATCH (a) "
        + " ".join(f"CALL (a) {{ MATCH (a)-[:E]->(b) RETURN count(b) AS c{k} }}" for k in range(count))
        + " RETURN id(a)"
    ),
    "branches": lambda count: " UNION ALL ".join(
        f"MATCH (a) WHERE id(a) = {k} RETURN id(a) AS x" for k in range(count)
    ),
}


@pytest.mark.parametrize("kind", CLAUSES)
def test_work_grows_with_the_clauses(any_graph: Graph, kind: str) -> None:
    """Rows below a clause are estimated once, not again for each clause above it."""
    write = CLAUSES[kind]
    any_graph.prepare(write(2))

    def steps(count: int) -> int:
        """Count, with names of its own: patterns of the same content are known."""
        return planned(any_graph, write(count).replace("p", f"p{count}_").replace("b", f"b{count}_"))[0]

    few, many = steps(12), steps(36)
    assert many <= 3.6 * few  # a CALL passes on the columns of those before it


def test_each_key_of_an_order_looks_through_no_columns(any_graph: Graph) -> None:
    def sorted_by(count: int) -> str:
        columns, keys = (", ".join(form.format(k=k) for k in range(count)) for form in ("id(a) + {k} AS c{k}", "c{k}"))
        return f"MATCH (a) RETURN {columns} ORDER BY {keys}"

    any_graph.prepare(sorted_by(2))
    few, many = (planned(any_graph, sorted_by(count))[0] for count in (40, 120))
    assert many <= 3.4 * few


def test_what_is_known_of_types_is_not_gathered_again() -> None:
    """Types that a pattern doesn't name are all those of the graph."""
    ends = np.random.default_rng(4).integers(0, 300, (900, 2))

    def of_types(count: int) -> int:
        edges = [{"type": f"T{k % count}", "start": a, "end": b} for k, (a, b) in enumerate(ends.tolist())]
        large = Graph.from_records([{"labels": f"L{k % 7}"} for k in range(300)], edges)
        text = "MATCH (a:L1)-->(b)-->(c:L2) RETURN id(a), id(c)"
        large.prepare(text)
        return planned(large, text.replace("b", "again"))[0]  # which is known by no other name

    assert of_types(120) <= of_types(3) + 20 * 120


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a)-[:E]->(b)-[:E]->(c)-[:E]->(a) RETURN count(*)",
        "MATCH (a)-[:E]->(b), (c)-[:E]->(d) WHERE id(a) = id(c) + {} RETURN id(b), count(*) ORDER BY count(*) LIMIT 3",
        "MATCH (a)-[:E*1..3]-(b) WHERE id(a) = {} WITH DISTINCT b OPTIONAL MATCH (b)-[:E]->(c) RETURN b, collect(c)",
        "MATCH (a) WHERE EXISTS {{ (a)-[:E]->(b)-[:E]->(c) WHERE id(c) > {} }} RETURN COUNT {{ (a)--() }} AS n",
        "UNWIND [{}, 2] AS x MATCH (a) WHERE id(a) = x CALL (a) {{ MATCH (a)--(b) RETURN count(b) AS n }} RETURN x, n",
    ],
)
def test_planning_leaves_no_cycles_to_be_collected(any_graph: Graph, query: str) -> None:
    for number in range(3):
        any_graph.prepare(query.format(number))  # what is settled once
    gc.collect()
    gc.disable()
    try:
        any_graph.prepare(query.format(3) + " // as it stands")
        assert not gc.collect()
    finally:
        gc.enable()
