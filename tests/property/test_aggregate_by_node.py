"""Aggregates by one node without rows, against the reference executor and exact sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qengine import Graph, OutOfMemory
from qengine.errors import QengineError
from qengine.plan.physical import AggregateByNode
from qengine.testing.compare import agree
from qengine.testing.plans import planned
from tests.examples import examples
from tests.property.test_elimination import MODES, SHAPES, names_known, patterns

WHOLE = st.integers(-9, 9) | st.none()
FINITE = st.sampled_from([0.0, -0.0, 0.5, -2.25, 3.0, 1e-9, -7e8]) | st.none()
VALUES = (
    WHOLE, FINITE, st.integers(2**40, 2**62), st.integers(-(2**63), 2**63 - 1), WHOLE | FINITE, WHOLE | st.just("x"),
    st.sampled_from(["x", "y", ""]) | st.none(), st.booleans(),
    FINITE | st.sampled_from([math.nan, math.inf, -math.inf]), st.none(), st.sampled_from([1e300, -1e300, 5e-324]),
)  # fmt: skip
RESULTS = (
    "a.k, sum(b.v)", "a, avg(b.v), count(*)", "sum(a.v), sum(b.v)", "b.v, sum(a.v)", "a.k % 2 AS k, avg(b.v)",
    "a.v, count(b.v), count(*)", "b.k, sum(c.v), avg(a.v), sum(b.v), count(c.k)", "c, sum(a.v + 1), count(b)",
    "avg(a.v), avg(b.v), avg(c.v)", "a.k, avg(a.v), count(*)", "a.none, sum(b.v)", "a.k, sum(b.none)",
    "a:A, sum(b.v * b.v)", "a.k, sum(3), sum(b.k)", "a.k, count(DISTINCT b)", "a.v, count(DISTINCT b.v), min(b.v)",
    "b, max(a.v), count(*), sum(a.k)", "a.k % 2 AS k, min(b.v), max(c.v), avg(b.k)", "count(DISTINCT a), max(b.v)",
    "a.none, min(b.none), count(DISTINCT b.none)", "c.v, count(DISTINCT a), count(DISTINCT b.i), max(c.v), sum(c.k)",
)  # fmt: skip
_RELATIVE = 1e-12


@st.composite
def valued_graphs(draw: st.DrawFn) -> Graph:
    """Make up to 6 nodes with values, and 14 relationships, some parallel or self-loops; U and V have no direction."""
    n = draw(st.integers(1, 6))
    labels = st.sampled_from([(), ("A",), ("B",), ("A", "B")])
    values = draw(st.sampled_from(VALUES))
    nodes = [
        {"id": k, "labels": draw(labels), "properties": {"k": k, "i": draw(st.integers(0, 2)), "v": draw(values)}}
        for k in range(n)
    ]
    vertex = st.integers(0, n - 1)
    triples = draw(st.lists(st.tuples(st.sampled_from("RRSUUV"), vertex, vertex), max_size=14))
    relationships = [
        {"type": kind, "start": a, "end": b, "properties": {"i": draw(st.integers(0, 2))}} for kind, a, b in triples
    ]
    return Graph.from_records(nodes, relationships, undirected=("U", "V"))


def is_by_node(graph: Graph, query: str) -> bool:
    """Tell whether a query's plan aggregates by a node."""
    try:
        return bool(planned(graph, query, AggregateByNode))
    except QengineError:
        return False


@settings(max_examples=examples(250))
@given(valued_graphs(), patterns(SHAPES), st.sampled_from(MODES), st.integers(0, 10**6))
def test_equals_reference(graph: Graph, pattern: str, mode: str, choice: int) -> None:
    results = [each for each in RESULTS if names_known(pattern, each)]
    query = f"MATCH {mode}{pattern} RETURN {results[choice % len(results)]}"
    hinted = f"/*+ eliminate */ {query}"
    assume(is_by_node(graph, hinted))
    agree(graph, query, asked=hinted, errors=True)


def random_graph(values: pa.Array, edges: int = 3000) -> tuple[Graph, np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    n = len(values)
    start, end = random.integers(0, n, edges), random.integers(0, n, edges)
    table = pa.table({"id": np.arange(n), "g": np.arange(n) % 7, "v": values})
    graph = Graph.from_arrow([("P", table)], [("R", pa.table({"start": start, "end": end}))], key="id")
    return graph, start, end


SUMS = "/*+ eliminate */ MATCH (a:P)-[:R]->(b:P) RETURN a.g AS g, sum(b.v) AS s, avg(b.v) AS m ORDER BY g"


@pytest.mark.parametrize("spread", [0, 3, 30, 300])
def test_sums_of_floats_are_exact_until_the_last(spread: int) -> None:
    random = np.random.default_rng(spread)
    values = random.normal(size=200) * 10.0 ** random.integers(-spread, spread + 1, 200).clip(-300, 300)
    graph, start, end = random_graph(pa.array(values))
    assert is_by_node(graph, SUMS)
    for threads in (1, 3):
        rows = graph.query(SUMS, device="cpu", threads=threads).fetchall()
        for group, total, mean in rows:
            mine = values[end[start % 7 == group]]
            slack = _RELATIVE * math.fsum(np.abs(mine))
            assert abs(total - math.fsum(mine)) <= slack
            assert abs(mean - math.fsum(mine) / len(mine)) <= slack / len(mine)
        assert rows == graph.query(SUMS, device="cpu", threads=2).fetchall()


def test_integers_beyond_64_bits_on_the_way_are_exact() -> None:
    values = [2**62, -(2**62)] * 50
    graph, start, end = random_graph(pa.array(values, pa.int64()), edges=500)
    query = "/*+ eliminate */ MATCH (a:P)-[:R]->(b:P) RETURN a.g AS g, avg(b.v) AS m ORDER BY g"
    assert is_by_node(graph, query)
    exact = [
        Fraction(sum(values[k] for k in end[start % 7 == g].tolist()), int((start % 7 == g).sum())) for g in range(7)
    ]
    assert [mean for _, mean in graph.query(query, device="cpu").fetchall()] == [float(each) for each in exact]


def test_floats_of_very_many_embeddings_are_summed_in_parts() -> None:
    """Walks of ten steps from leaf to leaf of a star: fewer bits are left for values than there are."""
    n = 3000
    values = np.concatenate([[0.0], np.random.default_rng(1).random(n - 1) * 2.0 ** np.arange(n - 1).clip(0, 30)])
    table, ends = pa.table({"id": np.arange(n), "v": values}), np.arange(1, n)
    graph = Graph.from_arrow(
        [("P", table)], [("R", pa.table({"start": np.zeros(n - 1, np.int64), "end": ends}))], key="id", undirected=["R"]
    )
    path = "--".join(["(a)", *(f"(m{place})" for place in range(9)), "(z)"])
    query = f"/*+ eliminate */ MATCH REPEATABLE ELEMENTS {path} WHERE a.id > 0 RETURN a.id, sum(z.v) AS s"
    assert is_by_node(graph, query)
    expected = float((n - 1) ** 4) * math.fsum(values)
    sums = [total for _, total in graph.query(query, device="cpu").fetchall()]
    assert len(sums) == n - 1
    assert max(abs(total - expected) for total in sums) <= _RELATIVE * expected


def test_no_rows_are_one_group_without_keys_and_none_with_keys() -> None:
    graph, _, _ = random_graph(pa.array([1.5] * 10))
    none = "/*+ eliminate */ MATCH (a:P WHERE a.g > 9)-[:R]->(b:P) RETURN "
    assert graph.query(none + "a.g, sum(b.v)", device="cpu").fetchall() == []
    assert graph.query(none + "sum(a.g), avg(b.v), count(b.v)", device="cpu").fetchall() == [(0, None, 0)]


def test_values_of_a_single_group_are_met_without_pairs() -> None:
    ends = [(k, (7 * k + step) % 300) for k in range(300) for step in range(1, 40)]
    nodes = [{"id": k, "properties": {"v": (k * 37) % 101 if k % 5 else None}} for k in range(300)]
    graph = Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in ends])
    results = "max(c.v), min(a.v), count(DISTINCT c.v), sum(b.v), count(*)"
    query = f"MATCH (a)-[:R]->(b)<-[:R]-(c) WHERE a.v < 50 RETURN {results}"
    (operator,) = planned(graph, query, AggregateByNode)
    assert [each.program.emit for each in operator.pairs] == [("c",)]
    agree(graph, query)
    (grouped,) = planned(graph, query.replace("max(c.v)", "a.v, max(c.v)"), AggregateByNode)
    assert [each.program.emit for each in grouped.pairs] == [("a", "c")]


def test_memory_limit_is_kept() -> None:
    graph, _, _ = random_graph(pa.array([1.5] * 3000), edges=9000)
    with pytest.raises(OutOfMemory):
        graph.query(SUMS, device="cpu", memory_limit=50_000).fetchall()
