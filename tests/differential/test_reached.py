"""Reachable nodes, their numbers and lengths of shortest paths agree with the reference executor."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from qengine import Graph
from qengine.exec.common.operators.folded_rows import FoldedRows
from qengine.storage.store import GraphStore
from qengine.testing.compare import difference
from qengine.testing.oracle import true_rows
from qengine.testing.random_graph import random_graph

WALKS = ["-[:R*]->", "-[:R*]-", "<-[:R|S*1..3]-", "-[:S*0..2]-", "-[r:R* {k: 1}]-", "-[:R*2..3]->"]
ENDS = ["(b)", "(b:A)", "(b {k: 1})"]
RETURNS = [
    "DISTINCT b",
    "DISTINCT a, b",
    "count(DISTINCT b)",
    "a, count(DISTINCT b)",
    "a.k, count(DISTINCT b)",
    "a.k % 2 AS odd, count(DISTINCT b)",
    "b.k, count(DISTINCT a), max(a.k)",
]
LENGTHS = [
    "a, b, length(p)",
    "length(p) AS l, count(*)",
    "max(length(p)) + min(size(relationships(p)))",
    "a, sum(length(p))",
]


@cache
def store(seed: int) -> GraphStore:
    return random_graph(f"reached {seed}").store()


def agree(query: str, expected: str) -> None:
    """Compare a query's rows on some graphs; a plan of it has the text ``expected`` somewhere."""
    plans = []
    for seed in range(6):
        graph = Graph(store(seed))
        plans.append(str(graph.explain(query)))
        found = graph.query(query, threads=1 + seed % 2).fetchall()
        assert difference(true_rows(store(seed), query), found) is None, (seed, query)
    assert any(expected in plan for plan in plans), query


@pytest.mark.parametrize("columns", RETURNS)
@pytest.mark.parametrize("walk", WALKS)
def test_ends_of_walks(walk: str, columns: str) -> None:
    for end in ENDS:
        for mode in ("", "REPEATABLE ELEMENTS ", "DIFFERENT NODES "):
            if mode != "REPEATABLE ELEMENTS " or ".." in walk:
                agree(f"MATCH {mode}(a){walk}{end} RETURN {columns}", "distinct ends" if "2..3" in walk else "Reach")


@pytest.mark.parametrize(
    "tail",
    [
        "WITH p, b ORDER BY length(p) DESC, b.k LIMIT 3 RETURN length(p), b.k",
        "WITH p, a, b ORDER BY a.k, b.k, length(p) SKIP 2 LIMIT 4 WHERE length(p) > 1 RETURN size(relationships(p))",
        "WITH p AS q, b ORDER BY length(q) LIMIT 5 RETURN sum(length(q)), count(b)",
    ],
)
def test_lengths_behind_an_order(tail: str) -> None:
    agree(f"MATCH p = ANY SHORTEST (a)-[:R]->+(b) {tail}", "hops AS")


@pytest.mark.parametrize("columns", LENGTHS)
@pytest.mark.parametrize("walk", WALKS[:5])
def test_lengths_of_shortest_paths(walk: str, columns: str) -> None:
    for start in ("", "UNWIND [1, 2, 2] AS x MATCH (a {k: x}) "):
        agree(f"{start}MATCH p = shortestPath((a){walk}(b)) RETURN {columns}", "hops AS")


@pytest.mark.parametrize("walk", WALKS[:4])
def test_ends_in_subqueries(walk: str) -> None:
    agree(f"MATCH (a) RETURN a, EXISTS {{ (a){walk}(:A {{k: 1}}) }} AS found", "Reach")
    agree(f"MATCH (a) RETURN a, COUNT {{ MATCH (a){walk}(b) RETURN DISTINCT b }} AS n", "Reach")
    agree(f"MATCH (a) OPTIONAL MATCH (a){walk}(b) RETURN a, count(DISTINCT b) AS n", "Reach")


@pytest.mark.parametrize("walk", ["<-[:R|S*1..3]-", "-[:R*]->", "-[:S*0..2]-"])
def test_ends_are_folded_into_groups(walk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folded = []
    run = FoldedRows.run

    def noted(self: FoldedRows, *args: Any) -> Any:
        found = run(self, *args)
        folded.append(found is not None)
        return found

    monkeypatch.setattr(FoldedRows, "run", noted)
    agree(f"MATCH (a){walk}(b:A) RETURN a.k AS k, count(DISTINCT b.k) AS n, max(b.k) AS m", "Reach")
    first = len(folded)
    agree(f"MATCH (a){walk}(b) RETURN a.k AS k, sum(b.k) AS s, count(b.k) AS n, min(b.k % 2) AS m", "Walk")
    assert any(folded[:first]) and any(folded[first:])
