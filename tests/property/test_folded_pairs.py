"""Aggregates by two nodes whose pairs are folded as an elimination makes them, against the reference and by rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph, OutOfMemory, QueryTimeout
from qengine.exec.common.operators.folded_pairs import FoldedPairs
from qengine.exec.common.operators.folded_rows import FoldedRows
from qengine.testing.compare import agree
from tests.examples import examples
from tests.property.test_aggregate_entries import MODES

PATTERNS = (
    "(a)-[:R]->(b)", "(a:A)-[:U]-(b)", "(a)-[:R]->(x)-[:R]->(b)", "(a)-[:R]->(x)<-[:R]-(b)", "(a)-[:U]-(x)-[:U]-(b)",
    "(a:A)-[:R|S]->(x:B)-[:U]-(b)", "(a)-[:R]->(x)-[:U]-(b), (a)-[:U]-(y)", "(a)-[:R]->(b), (a)-[:U]-(x)",
    "(a)-[:R]->(x)-[:R]->(b), (a)-[:U]-(y)-[:U]-(b)", "(a)-[:R]->(x)-[:R]->(b), (x)-[:R]->(y)",
    "(a)-[:R]->(b), (a)-[:R]->(x), (b)-[:R]->(y)", "(a)-[:U]-(b), (b)-[:U]-(x)",
)  # fmt: skip
KEYS_OF_A, KEYS_OF_B = ("a.v", "a.i", "a", "a:A"), ("b.v", "b.i", "b.k % 2", "b", "b.none")
VALUES = ((1, 2, None), (0.5, -0.0, 0.0, None), (float("nan"), 1.5, None), ("x", "y", None), (1, "x", 0.5), (2**62, -3))
CALLS = ("count(*)", "count(a.v)", "sum(b.i)", "avg(a.i)", "min(b.v)", "max(a.k)", "sum(a.k)")
CONDITIONS = (
    "a.i > 0", "b.k <> 1", "x.i < 2", "a.k > 100", "a.v = b.v", "a.v < b.v", "a.i <> b.i", "a.k >= b.v",
    "a.v = b.v AND a.i <= b.i", "a.i + b.i = 2",
)  # fmt: skip


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Make six nodes of every label and every type of relationship, with values of one kind or of several."""
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    values = draw(st.sampled_from(VALUES))
    nodes = [
        {"id": k, "labels": ("A", "B")[k % 3 : k % 3 + 2],
         "properties": {"k": k, "i": int(random.integers(3)), "v": values[random.integers(len(values))]}}
        for k in range(6)
    ]  # fmt: skip
    kinds = "RRRRRRRRSSSUUUUUUU"
    relationships = [
        {"type": kind, "start": int(start), "end": int(end)}
        for kind, (start, end) in zip(kinds, random.integers(0, 6, (len(kinds), 2)), strict=True)
    ]
    return Graph.from_records(nodes, relationships, undirected=("U",))


@st.composite
def queries(draw: st.DrawFn) -> str:
    pattern = draw(st.sampled_from(PATTERNS))
    keys = [draw(st.sampled_from(KEYS_OF_A)), draw(st.sampled_from(KEYS_OF_B))]
    calls = draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=3, unique=True))
    held = [each for each in CONDITIONS if f"({each[0]}" in pattern]
    conditions = draw(st.lists(st.sampled_from(held), max_size=1))
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    columns = ", ".join(f"{each} AS c{place}" for place, each in enumerate([*keys, *calls]))
    return f"/*+ eliminate */ MATCH {draw(st.sampled_from(MODES))}{pattern}{where} RETURN {columns}"


@pytest.fixture
def folded(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Fold whatever can be; return a list that gets whether it was, for each query that tried."""
    found: list[bool] = []
    run = FoldedPairs.run

    def noted(self: FoldedPairs, *arguments: Any) -> Any:
        result = run(self, *arguments)
        found.append(result is not None)
        return result

    monkeypatch.setattr(FoldedPairs, "run", noted)
    monkeypatch.setattr(FoldedRows, "is_worth", lambda self, rows: True)
    return found


def test_folded_pairs_equal_reference(folded: list[bool]) -> None:
    @settings(max_examples=examples(200))
    @given(graphs(), queries())
    def agrees(graph: Graph, query: str) -> None:
        agree(graph, query, errors=True)

    agrees()
    assert sum(folded) > examples(200) // 4


def drawn(n: int, edges: int) -> tuple[Graph, Any]:
    """Return a graph, and the ends of its relationships."""
    ends = np.random.default_rng(7).integers(0, n, (2, edges))
    nodes = pa.table({"id": np.arange(n), "g": np.arange(n) % 7, "t": [f"t{k % 5}" for k in range(n)]})
    return Graph.from_arrow([("P", nodes)], [("R", pa.table({"start": ends[0], "end": ends[1]}))], key="id"), ends


def paths_of_two(n: int, ends: Any) -> Any:
    """Return how many paths of two different relationships lead from each vertex to each."""
    matrix = np.zeros((n, n), np.int64)
    np.add.at(matrix, tuple(ends), 1)
    paths = matrix @ matrix
    np.subtract.at(paths, (np.arange(n), np.arange(n)), np.diag(matrix))  # a loop, twice
    return paths


QUERY = "/*+ eliminate */ MATCH (a:P)-[:R]->()-[:R]->(b:P) RETURN a.g AS g, b.t AS t, count(*) AS n, sum(b.id) AS s"


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_thread_count_gives_the_same_groups(folded: list[bool], threads: int) -> None:
    n = 500
    graph, ends = drawn(n, 5000)
    paths = paths_of_two(n, ends)
    found = {(g, t): (count, total) for g, t, count, total in graph.query(QUERY, threads=threads).fetchall()}
    ids = np.arange(n)
    for g in range(7):
        for t in range(5):
            part = paths[ids % 7 == g][:, ids % 5 == t]
            assert found[g, f"t{t}"] == (part.sum(), (part * ids[ids % 5 == t]).sum())
    assert folded == [True]


def test_counts_that_add_up_to_too_much_are_grouped_by_rows(folded: list[bool]) -> None:
    hub = [{"type": "R", "start": 0, "end": k} for k in range(1, 2001)]
    graph = Graph.from_records([{"id": k, "properties": {"k": k % 2}} for k in range(2001)], hub)
    fan = ", ".join(f"(h)-[:R]->(x{k})" for k in range(3))
    query = f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS (a)<-[:R]-(h)-[:R]->(b), {fan} RETURN a.k, b.k, count(*)"
    assert sorted(graph.query(query).fetchall()) == [(a, b, 1000 * 1000 * 2000**3) for a in (0, 1) for b in (0, 1)]
    assert folded == [False]


def test_limits_are_kept(folded: list[bool]) -> None:
    graph, _ = drawn(3000, 60_000)
    query = "/*+ eliminate */ MATCH (a:P)-[:R]->()-[:R]->(b:P) RETURN a.id, b.id, count(*)"
    with pytest.raises(OutOfMemory):
        graph.query(query, memory_limit=3_000_000).fetchall()
    with pytest.raises(QueryTimeout):
        graph.query(query.replace("->()-", "->()-[:R]->()-[:R]->()-"), timeout=0.2).fetchall()
