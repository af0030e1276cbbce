"""Patterns of more than 64 nodes and relationships: known counts; small ones, made large by what matches once."""

from __future__ import annotations

import threading
from itertools import combinations
from math import comb, perm

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph, Unsupported
from qengine.plan.physical import MAX_DEVICE_LEVELS, Search
from qengine.plan.traverse import operators

Edges = list[tuple[int, int]]

TAIL = 70


def path(hops: int) -> Edges:
    return [(v, v + 1) for v in range(hops)]


def cycle(n: int) -> Edges:
    return [(v, (v + 1) % n) for v in range(n)]


def star(leaves: int) -> Edges:
    return [(0, v) for v in range(1, leaves + 1)]


def along(first: int, last: int) -> Edges:
    return [(v, v + 1) for v in range(first, last)]


def clique(n: int) -> Edges:
    return list(combinations(range(n), 2))


def spider(legs: int, length: int) -> Edges:
    """Paths that begin at one vertex."""
    begins = range(1, legs * length, length)
    return [(0, v) for v in begins] + [(v, v + 1) for begin in begins for v in range(begin, begin + length - 1)]


def grid(n: int) -> Edges:
    across = [(n * row + column, n * row + column + 1) for row in range(n) for column in range(n - 1)]
    return across + [(n * row + column, n * row + column + n) for row in range(n - 1) for column in range(n)]


def graph(edges: Edges, kind: str = "simple") -> Graph:
    """Return a graph; if ``parallel``, two relationships more join vertices of their own, so that all need ids."""
    more = [(5000, 5001)] * 2 + [(5001, 5000)] if kind == "parallel" else []
    ends = np.array(edges + more, np.uint32)
    return Graph.from_edge_list((ends[:, 0], ends[:, 1]), undirected=kind == "undirected")


def clause(edges: Edges, arrow: str) -> str:
    return "MATCH " + ", ".join(f"(v{one})-[:E]{arrow}(v{other})" for one, other in edges)


def levels(graph: Graph, query: str) -> int:
    physical = graph.prepare(query)._planned.physical
    return max(len(each.levels) for each in operators(physical.root) if isinstance(each, Search))


KNOWN = {  # pattern, graph, count one way, count either way
    "path on a path": (path(80), path(150), 71, 142),
    "path on a cycle": (path(100), cycle(120), 120, 240),
    "path around a cycle": (path(90), cycle(90), 90, 180),
    "path longer than the path": (path(80), path(79), 0, 0),
    "cycle on a cycle": (cycle(75), cycle(75), 75, 150),
    "cycle on a longer one": (cycle(75), cycle(76), 0, 0),
    "spider on a spider": (spider(3, 25), spider(3, 25), 6, 6),
    "grid on a grid": (grid(6), grid(6), 2, 8),
    "clique in a larger one": (clique(12), clique(14), comb(14, 12), None),
    "kite with a tail": (star(5) + along(5, 75), star(7) + along(7, 80), perm(6, 4), None),
}


@pytest.mark.parametrize("kind", ["simple", "undirected", "parallel"])
@pytest.mark.parametrize("name", KNOWN)
def test_known_counts(name: str, kind: str) -> None:
    edges, there, one_way, either_way = KNOWN[name]
    within = graph(there, kind)
    if kind != "undirected":
        query = clause(edges, "->")
        assert levels(within, query + " RETURN count(*)") > (64 if kind == "parallel" else 10)
        assert within.query(query + " RETURN count(*)").value() == one_way
        assert within.query(query + " RETURN count(*) > 0").value() == (one_way > 0)
    if either_way is not None:
        assert within.query(clause(edges, "-") + " RETURN count(*)").value() == either_way


def test_stars_of_many_leaves() -> None:
    simple = graph(star(100))
    assert levels(simple, clause(star(99), "->") + " RETURN count(*)") == 100
    assert not simple.query(clause(star(101), "->") + " RETURN count(*)").value()


@pytest.mark.parametrize("kind", ["simple", "parallel"])
def test_the_reference_agrees_on_large_patterns(kind: str) -> None:
    within = graph(cycle(70), kind)
    for query in (clause(path(66), "-") + " RETURN count(*)", clause(cycle(70), "->") + " RETURN v0, v35"):
        found, expected = (sorted(map(str, within.query(query, device=each))) for each in ("cpu", "reference"))
        assert found == expected != []


@pytest.mark.parametrize("kind", ["simple", "parallel"])
def test_rows_and_other_ways_of_large_patterns(kind: str) -> None:
    within = graph(cycle(80), kind)
    large = clause(path(70), "-")
    rows = within.query(large + " RETURN id(v0), id(v70)").to_arrow()
    assert rows.num_rows == 160 and len({tuple(row.values()) for row in rows.to_pylist()}) == 160
    assert within.query("MATCH /*+ extend */" + large[5:] + " RETURN v0, v70").to_arrow().num_rows == 160
    assert within.query("MATCH (v0) WITH v0 ORDER BY id(v0) " + large + " RETURN count(*)").value() == 160
    assert [row[1] for row in within.query(large + " RETURN v35, count(*)")] == [2] * 80
    estimate = within.estimate(large + " RETURN count(*)", seed=1)
    assert estimate.is_exact and estimate.value == 160
    sampled = within.estimate(large + " RETURN count(*)", seed=1, method="alley", samples=1000)
    assert sampled.low <= 160 <= sampled.high
    explained = str(within.explain(large + " RETURN count(*)"))
    assert "v0" in explained and "v70" in explained


def test_a_large_pattern_runs_on_the_cpu_and_is_refused_for_the_gpu() -> None:
    within = graph(cycle(80))
    query = clause(path(MAX_DEVICE_LEVELS), "->") + " RETURN count(*)"
    assert within.query(query, device="auto").value() == 80
    for run in (within.query, within.explain):
        with pytest.raises(
            Unsupported, match="65 nodes and relationships exceeds the 64 that a GPU searches"
        ) as caught:
            run(query, device="gpu")
        assert 'device="auto"' in (caught.value.hint or "")


def test_a_small_stack_is_enough() -> None:
    """As threads have: plans and searches of large patterns are as deep as these."""
    within = graph(cycle(750))
    found: list[object] = []
    before = threading.stack_size(1 << 20)
    try:
        query = clause(path(700), "->") + " RETURN count(*)"
        thread = threading.Thread(target=lambda: found.append(within.query(query).value()))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert found == [750]


@st.composite
def small_graphs(draw: st.DrawFn) -> Graph:
    """A random multigraph of up to nine nodes and types E and F, beside the only path of type P."""
    n = draw(st.integers(2, 9))
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    tables = []
    for name in "EF":
        ends = chance.integers(0, n, (2, draw(st.integers(1, 3 * n))))
        if draw(st.booleans()):
            ends = np.unique(np.sort(ends, axis=0), axis=1)
            ends = ends[:, ends[0] != ends[1]]
        tables.append((name, pa.table({"src": ends[0], "dst": ends[1]})))
    tables.append(("P", pa.table({"src": np.arange(TAIL) + n, "dst": np.arange(1, TAIL + 1) + n})))
    nodes = [
        ("A", pa.table({"id": np.arange(n), "k": chance.integers(0, 4, n)})),
        ("B", pa.table({"id": np.arange(n, n + TAIL + 1)})),
    ]
    return Graph.from_arrow(nodes, tables, undirected=["E"] if draw(st.booleans()) else [])


@st.composite
def small_patterns(draw: st.DrawFn) -> str:
    n = draw(st.integers(2, 6))
    edges = [(draw(st.integers(0, k - 1)), k) for k in range(1, n)]
    edges += [(draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1))) for _ in range(draw(st.integers(0, 3)))]
    parts = []
    for one, other in edges:
        types = draw(st.sampled_from([":E", ":E", ":F", ":E|F"]))
        arrow = draw(st.sampled_from([f"-[{types}]->", f"-[{types}]-", f"<-[{types}]-"]))
        parts.append(f"(v{one}){arrow}(v{other})")
    return ", ".join(parts)


@settings(max_examples=40)
@given(
    within=small_graphs(),
    pattern=small_patterns(),
    mode=st.sampled_from(["", "DIFFERENT NODES ", "REPEATABLE ELEMENTS "]),
    condition=st.sampled_from(["", " WHERE v0.k < v1.k", " WHERE v0.k > 0"]),
)
def test_what_matches_once_changes_no_small_pattern(within: Graph, pattern: str, mode: str, condition: str) -> None:
    tail = ", ".join(f"(p{k})-[:P]->(p{k + 1})" for k in range(TAIL))
    small, large = f"MATCH {mode}{pattern}{condition}", f"MATCH {mode}{pattern}, {tail}{condition}"
    for asked in ("count(*)", "v0, v1", "v1, count(*)"):
        expected = sorted(map(str, within.query(f"{small} RETURN {asked}", device="reference")))
        assert sorted(map(str, within.query(f"{large} RETURN {asked}"))) == expected
