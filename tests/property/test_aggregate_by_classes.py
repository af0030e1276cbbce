"""Aggregates of two nodes by classes of one's vertices, against the reference executor."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.errors import QengineError
from qengine.exec.common.operators import aggregate_by_classes
from qengine.exec.context import ExecutionContext
from qengine.optimizer import elimination
from qengine.optimizer.lower import by_classes, by_node
from qengine.plan.physical import AggregateByClasses
from qengine.testing.compare import agree
from qengine.testing.plans import planned
from tests.examples import examples
from tests.property.test_aggregate_by_node import valued_graphs
from tests.property.test_elimination import MODES, SHAPES, names_known, patterns

RESULTS = (
    "a.i AS x, b.k AS y, count(*) AS n", "a.i, b.i, sum(b.v), avg(a.k), min(b.v)", "DISTINCT a.i, c.k",
    "a.i, count(DISTINCT b)", "b.i, count(DISTINCT a.v), max(a.i)", "a.i + 1 AS x, c.i % 2 AS y, count(a.v), count(*)",
    "a:A AS x, b.v AS y, count(DISTINCT a.i)", "count(DISTINCT a.i) AS n, max(c.v) AS m", "a.none, b.i, count(*)",
    "c.i, min(a.i), max(a.v), count(DISTINCT a.k)", "b.v, a.i, sum(b.k)",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefer classes to other ways."""
    monkeypatch.setattr(by_node, "cost_of_rows", lambda *_: 1e12)
    monkeypatch.setattr(by_node, "over_entries", lambda *_: None)
    monkeypatch.setattr(by_node, "weighed_entries", lambda *_, **__: None)
    monkeypatch.setattr(by_classes, "_SETUP", -1e11)
    monkeypatch.setattr(elimination, "_LEAST", 0.0)
    monkeypatch.setattr(aggregate_by_classes, "FEW_CLASSES", 1)
    monkeypatch.setattr(aggregate_by_classes, "made_of", _by_twos)


def _by_twos(n: int, make: Callable[[slice], object], context: ExecutionContext) -> list[object]:
    return [make(slice(begin, min(begin + 2, n))) for begin in range(0, n, 2)]


def is_by_classes(graph: Graph, query: str) -> bool:
    """Tell whether a query's plan aggregates by classes."""
    try:
        return bool(planned(graph, query, AggregateByClasses))
    except QengineError:
        return False


@settings(max_examples=examples(250))
@given(valued_graphs(), patterns(SHAPES), st.sampled_from(MODES), st.integers(0, 10**6))
def test_equals_reference(graph: Graph, pattern: str, mode: str, choice: int) -> None:
    results = [each for each in RESULTS if names_known(pattern, each)]
    assume(results)
    query = f"MATCH {mode}{pattern} RETURN {results[choice % len(results)]}"
    assume(is_by_classes(graph, query))
    agree(graph, query, errors=True)


def _linked(values: list[object]) -> Graph:
    nodes = [{"id": k, "labels": ("P",), "properties": {"i": k % 2, "v": value}} for k, value in enumerate(values)]
    ends = [(k, (3 * k + step) % len(values)) for k in range(len(values)) for step in (1, 2)]
    return Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in ends])


@pytest.mark.parametrize("result", ["b.i, c.v, count(*)", "b.i, c.i, sum(c.v)"])
def test_rows_are_made_where_values_are_of_no_use(result: str) -> None:
    """Of mixed kinds, and of more classes than were expected."""
    graph = _linked([*range(20), 2.5, "x"] if "sum" not in result else [*range(20), 2.5, 3])
    query = f"MATCH (a:P)-[:R]->(b:P)-[:R]->(c:P) RETURN {result}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_classes, "_MORE", 0.0 if "sum" not in result else 2.0)
        assert is_by_classes(graph, query), query
        agree(graph, query)
        assert "rows are made" in str(graph.query(f"PROFILE {query}").fetchall())


def test_large_counts_of_few_classes_fit_into_a_number() -> None:
    """Walks back and forth at a star, whose counts take more than half of a number's bits."""
    nodes = [{"id": k, "labels": ("P",), "properties": {"i": k % 5, "j": k % 2}} for k in range(60)]
    graph = Graph.from_records(nodes, [{"type": "R", "start": 0, "end": k} for k in range(1, 60)])
    pattern = "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(e)-[:R]-(f)-[:R]-(g)-[:R]-(h)-[:R]-(i)-[:R]-(j)-[:R]-(k)"
    query = f"MATCH REPEATABLE ELEMENTS {pattern} RETURN a.i AS x, k.j AS y, count(*) AS n"
    assert is_by_classes(graph, query)
    leaves = [k % 5 for k in range(1, 60)], [k % 2 for k in range(1, 60)]
    ways = {(x, y): leaves[0].count(x) * leaves[1].count(y) * 59**4 for x in range(5) for y in range(2)}
    ways[0, 0] += 59**5
    assert {row[:2]: row[2] for row in graph.query(query).fetchall()} == ways


def test_classes_without_a_match_have_no_group() -> None:
    graph = _linked(list(range(6)))
    for where in ("b.v > 100", "b.i = 0 AND c.v < 3"):
        query = f"MATCH (a:P)-[:R]->(b:P)-[:R]->(c:P) WHERE {where} RETURN a.i, c.i, count(*)"
        assert is_by_classes(graph, query)
        agree(graph, query)
