"""Optional matches below counts and DISTINCT are counted, or asked for once, and agree with the reference executor."""

from __future__ import annotations

import pytest

from qengine import Graph
from qengine.testing.compare import difference
from qengine.testing.oracle import true_rows
from qengine.testing.random_graph import random_graph

PATTERNS = [
    "MATCH (a) OPTIONAL MATCH (a)-[:R]->(b)",
    "MATCH (a)-[:S]-(z) OPTIONAL MATCH (a)-[r:R]->(b)-[:S]-(c)",
    "MATCH (a)-[:S]-(z) OPTIONAL MATCH (a)-[:R]->(b) OPTIONAL MATCH (z)-[:S]->(c)",
    "MATCH (a)-[:S]-(z) OPTIONAL MATCH (a)-[:R]->(b) OPTIONAL MATCH (b)-[:S]->(c) WHERE c.k >= z.k",
    "MATCH (a) OPTIONAL MATCH DIFFERENT NODES (a)-[:R]-(b)-[:S]-(c)",
    "MATCH (a) OPTIONAL MATCH (b:None)-[:R]->(c)",
    "MATCH (a) OPTIONAL MATCH (a)-[:R*0..2]->(b)",
    "MATCH (a) OPTIONAL MATCH (a)-[:R*2..3]-(b) WHERE b.k > 0",
    "OPTIONAL MATCH (a:A)-[:R]-(b)",
]
RETURNS = [
    "count(*)",
    "a, count(*), count(b)",
    "a, b, count(b), sum(a.k), avg(b.k), min(b.k)",
    "count(b), count(DISTINCT a), count(DISTINCT b)",
    "DISTINCT a, b",
    "DISTINCT b.k",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("columns", RETURNS)
def test_agreement(pattern: str, columns: str) -> None:
    for seed in range(4):
        store = random_graph(f"optionals {seed}").store()
        query = f"{pattern} RETURN {columns}"
        found = Graph(store).query(query, threads=1).fetchall()
        assert difference(true_rows(store, query), found) is None, (seed, query)


@pytest.mark.parametrize("columns", ["count(*)", "a, count(b)", "a, count(*), sum(a.k)"])
def test_what_an_optional_match_adds_is_only_counted(columns: str) -> None:
    graph = Graph(random_graph("optionals").store())
    plan = str(graph.explain(f"MATCH (a) OPTIONAL MATCH (a)--(b)--(c) RETURN {columns}"))
    assert "Search count @weight1" in plan and "emit b" not in plan


def test_an_optional_walk_is_reachability_where_rows_count_once() -> None:
    graph = Graph(random_graph("optionals").store())
    assert "Reach (a)" in str(graph.explain("MATCH (a) OPTIONAL MATCH (a)-[*]->(b) RETURN DISTINCT a, b"))
    assert "Reach" not in str(graph.explain("MATCH (a) OPTIONAL MATCH (a)-[*]->(b) RETURN a, count(b)"))
