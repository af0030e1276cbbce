"""Lone counts, of searches or of sums over kept vectors: without stages, with the limits and results of all others."""

from __future__ import annotations

import numpy as np
import pytest

from qengine import ExecutionError, Graph, OutOfMemory, Prepared, QueryInterrupted, QueryTimeout, ResourceError
from qengine.exec.common.batch import Batch
from qengine.exec.common.pipeline import run, runtime_of
from qengine.exec.context import ExecutionContext
from qengine.exec.host.count_fast_path import count_fast_path

SUMS = (
    "MATCH (a)-[:E]->(b)-[:E]->(c) RETURN count(*) AS n",
    "MATCH (a)-[:E]-(b)-[:E]-(c) RETURN count(*)",
    "MATCH REPEATABLE ELEMENTS (a)-[:E]->(b), (a)-[:E]->(c), (d:A) RETURN count(*) AS n",
    "MATCH (a:A)-[:E]->(b:B) RETURN count(*)",
)
SEARCHES = (
    "MATCH (a {x: $v})-[:E]->(b)-[:E]->(c) RETURN count(*) AS n, count(c) AS m",
    "MATCH (a:A)-[:E]-(b:B) WHERE a.x > $v AND b.x < a.x RETURN count(*)",
    "MATCH (a) WHERE a.x % 7 > $v % 5 RETURN count(*)",
    "MATCH (a:A {x: $v}) RETURN count(*)",
    "MATCH (a {x: $v})-[:E]->(b) WHERE EXISTS { (b)-[:E]->(:B) } RETURN count(*)",
    "MATCH (a)-[:E]->(b), (c)-[:E]->(d {x: $v}) WHERE a.x = 3 RETURN count(*)",
    "MATCH (a)-[:E]->(b)-[:E]->(c)-[:E]->(a) RETURN count(*)",
)


@pytest.fixture
def graph() -> Graph:
    rng = np.random.default_rng(1)
    nodes = [{"id": k, "labels": [("A", "B")[k % 2]], "properties": {"x": k}} for k in range(60)]
    ends = rng.integers(0, 60, (400, 2)).tolist()
    return Graph.from_records(nodes, [{"type": "E", "start": a, "end": b} for a, b in ends])


def eliminated(query: str) -> str:
    return f"/*+ eliminate */ {query}"


def fast(graph: Graph, prepared: Prepared, **params: int) -> Batch | None:
    plan, context = prepared._planned.physical, ExecutionContext(params)
    assert plan is not None
    return count_fast_path(plan, graph._store, context, lambda: runtime_of(graph._store, context))


@pytest.mark.parametrize("query", SEARCHES)
def test_searches_are_counted_as_by_stages(graph: Graph, query: str) -> None:
    prepared = graph.prepare(f"/*+ search */ {query}")
    for v in (0, 3, 58, 59, 1000):
        found = fast(graph, prepared, v=v)
        same = graph.query(query, {"v": v}, device="reference").fetchall()
        assert found is not None or "%" in query or "EXISTS" in query  # which can fail, or has a plan of its own
        assert prepared.run({"v": v}, device="cpu").fetchall() == same
        assert prepared.run({"v": v}, device="cpu", threads=1, memory_limit=2**26).fetchall() == same
    context = ExecutionContext({"v": 1})
    context.interrupt()
    assert prepared._planned.physical is not None
    with pytest.raises(QueryInterrupted):
        list(run(prepared._planned.physical, graph._store, context))
    with pytest.raises(QueryTimeout):
        prepared.run({"v": 1}, device="cpu", timeout=0).value()


def test_a_search_that_is_only_counted_fails_as_by_stages(graph: Graph) -> None:
    prepared = graph.prepare(f"/*+ search */ {SEARCHES[0]}")
    with pytest.raises(OutOfMemory):
        prepared.run({"v": 1}, device="cpu", memory_limit=1).value()
    failing = graph.prepare("MATCH (a)-[:E]->(b) WHERE 1 / (a.x - $v) > 0 RETURN count(*)")
    with pytest.raises(ExecutionError, match="zero"):
        failing.run({"v": 0}, device="cpu").value()


@pytest.mark.parametrize("query", SUMS)
def test_it_counts_as_the_stages_do(graph: Graph, query: str) -> None:
    prepared = graph.prepare(eliminated(query))
    assert fast(graph, prepared) is None  # the vectors aren't there yet
    first = prepared.run(device="cpu").fetchall()
    assert fast(graph, prepared) is not None
    result = prepared.run(device="cpu")
    assert result.stats.rows == 0  # nothing runs before it is asked for
    assert result.fetchall() == first == graph.query(query, device="reference").fetchall()
    assert result.fetchall() == []
    assert (result.stats.rows, result.stats.device) == (1, "cpu") and result.stats.seconds > 0
    assert prepared.run(device="cpu").to_arrow().to_pylist() == [dict(row) for row in first]
    graph._store.derived.clear()
    assert prepared.run(device="cpu").fetchall() == first


def test_limits_and_interrupts_hold(graph: Graph) -> None:
    prepared = graph.prepare(eliminated(SUMS[0]))
    n = prepared.run(device="cpu").value()
    with pytest.raises(QueryTimeout):
        prepared.run(device="cpu", timeout=0).value()
    with pytest.raises(OutOfMemory):
        prepared.run(device="cpu", memory_limit=1).value()
    assert prepared._planned.physical is not None
    context = ExecutionContext()
    context.interrupt()
    with pytest.raises(QueryInterrupted):
        list(run(prepared._planned.physical, graph._store, context))
    assert prepared.run(device="cpu", timeout=100, threads=1).value() == n
    assert "rows" in str(graph.query("PROFILE " + eliminated(SUMS[0]), device="cpu").plan)


def test_a_count_beyond_64_bits_is_refused() -> None:
    graph = Graph.from_edge_list((np.zeros(40_000, np.int64), np.arange(1, 40_001)))
    arms = ", ".join(f"(a)-[:E]->(v{k})" for k in range(5))
    prepared = graph.prepare(eliminated(f"MATCH REPEATABLE ELEMENTS {arms} RETURN count(*)"))
    for _ in range(2):
        with pytest.raises(ResourceError, match="64 bits"):
            prepared.run(device="cpu").value()


def test_existence_is_no_count(graph: Graph) -> None:
    query = "MATCH (a:A) WHERE EXISTS { (a)-[:E]->(:B) } RETURN count(*)"
    prepared = graph.prepare(query)
    assert {prepared.run(device="cpu").value() for _ in range(2)} == {graph.query(query, device="reference").value()}
