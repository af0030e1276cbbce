"""Optional matches below counts and DISTINCT are counted, or asked for once, and agree with the reference executor."""

from __future__ import annotations

import re

import pytest

from qengine import Graph
from qengine.optimizer.lower import completed
from qengine.testing.compare import agree, difference
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


GROUPED = [
    "MATCH (a:A) OPTIONAL MATCH (a)-[r:R]->(b)",
    "MATCH (a)-[s:S]-(z) OPTIONAL MATCH (a)-[r:R]->(b)-[:S]-(c) WHERE b.k >= z.k OR c.k IS NULL",
    "MATCH (a)-[s:S]->(z) OPTIONAL MATCH (b)-[r]-(z) WHERE b.k > 1",
    "MATCH (a) OPTIONAL MATCH (b:None)-[r:R]->(a)",
    "MATCH (a) WHERE a.k > 0 OPTIONAL MATCH (a)-[:S*1..2]-(b) OPTIONAL MATCH (b)-[r:R]-()",
    "MATCH (a) OPTIONAL MATCH (a)-[:R*0..2]->(b)-[r]-(c)",
]
GROUPS = [
    "a.k AS x, count(b) AS n, max(b.k) AS m",
    "a AS x, a.k = 1 AS y, min(b.k) AS m, count(DISTINCT r) AS d",
    "labels(a) AS x, max(b) AS m, count(b.k > a.k) AS n ORDER BY n DESC, x LIMIT 2",
    "a.k AS x, count(DISTINCT a) AS n, max(a.k) AS m, count(b) AS l, min(b.k) AS o",
    "a AS x, count(DISTINCT a.k) AS n, count(b) AS l ORDER BY n, l DESC, x LIMIT 3",
    "count(b) AS n, min(b.k) AS m, count(DISTINCT b.k) AS d",
]


@pytest.mark.parametrize("pattern", GROUPED)
def test_groups_without_a_match_are_added(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completed, "_LEAST_ROWS", 0.0)
    for seed in range(3):
        store = random_graph(f"groups {seed}").store()
        for columns in GROUPS:
            query = f"{pattern} RETURN {columns}"
            plan = str(Graph(store).explain(query))
            one = pattern.count("OPTIONAL") == 1
            assert ("Completed" in plan) == (one and not columns.startswith("count")), (query, plan)
            assert "Optional" in plan or (one and columns.startswith("count")), (query, plan)
            found = Graph(store).query(query, threads=1).fetchall()
            assert difference(true_rows(store, query), found, ordered="ORDER" in query) is None, (seed, query)


@pytest.mark.parametrize(
    "columns",
    [
        "a.k, count(*)",
        "a.k, count(b), sum(a.k)",
        "a.k, count(DISTINCT a.f - b.k), count(a)",
        "a.k, b.k, count(b)",
        "a.k, collect(b)",
    ],
)
def test_what_rows_without_a_match_add_to_is_grouped_by_rows(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completed, "_LEAST_ROWS", 0.0)
    graph = Graph(random_graph("groups").store())
    assert "Completed" not in str(graph.explain(f"MATCH (a) OPTIONAL MATCH (a)-[:R]->(b) RETURN {columns}"))


@pytest.mark.parametrize(
    "columns",
    [
        "a.k % 2 AS x, sum(b.k - a.k) AS s, avg(b.f) AS v, min(-b.k) AS m",
        "a.k AS x, a.f AS y, sum(r.k) AS s, sum(DISTINCT b.k) AS d, sum(b.f) AS f",
        "sum(b.k) AS s, avg(b.k * 2 + 1) AS v",
        "9223372036854775807 - a.id AS x, max(b.k + 9223372036854775807) AS m",
    ],
)
def test_numbers_of_groups_without_a_match(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completed, "_LEAST_ROWS", 0.0)
    graph = Graph()
    graph.query("UNWIND range(0, 11) AS i CREATE (:A {id: i, k: i % 5})")
    graph.query("MATCH (a:A) WHERE a.id % 4 > 0 SET a.f = a.id / 8.0")
    graph.query("MATCH (a:A), (b:A) WHERE a.id % 3 = 0 AND b.id % 5 = a.id % 4 CREATE (a)-[:R {k: a.id + b.id}]->(b)")
    query = f"MATCH (a:A) OPTIONAL MATCH (a)-[r:R]->(b:A) WHERE b.k < 4 RETURN {columns}"
    assert not columns.count(" x,") or "Completed" in str(graph.explain(query))
    agree(graph, query, errors=True)


def test_rows_are_grouped_where_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completed, "_LEAST_ROWS", 0.0)
    store = random_graph("groups 1").store()
    query = "MATCH (a) OPTIONAL MATCH (a)-->(b) WHERE b.k > 0 RETURN a.k AS x, count(b) AS n"
    found = Graph(store).query(query, memory_limit=1 << 24).fetchall()
    assert difference(true_rows(store, query), found) is None
    profiled = Graph(store).query(f"PROFILE {query}", memory_limit=1 << 24)
    profiled.fetchall()
    assert re.search(r"Optional .*\[rows=", str(profiled.plan))
