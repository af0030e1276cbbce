"""Estimates of what a statement's end makes of its rows, and of several statements."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from qengine import Graph, SemanticError, Unsupported
from qengine.estimate.groups import _CHEAP


@pytest.fixture(scope="module")
def graph() -> Graph:
    generator = random.Random(8)
    nodes = [
        {
            "id": k,
            "labels": ["P"],
            "properties": {"city": int(60 * generator.random() ** 2), "age": k % 70 if k % 5 else None},
        }
        for k in range(4_000)
    ]
    ends = sorted({(int(4_000 * generator.random() ** 1.5), generator.randrange(4_000)) for _ in range(15_000)})
    return Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in ends])


ENDS = (
    "RETURN DISTINCT a.city",
    "RETURN count(DISTINCT a.age)",
    "RETURN count(DISTINCT b)",
    "RETURN a.city, b.city, count(*)",
    "RETURN a.age AS age, sum(b.age) ORDER BY age",
    "WITH DISTINCT a, b.city AS city RETURN a",
    "RETURN a.city LIMIT 7",
    "RETURN a.city ORDER BY a.city SKIP 5 LIMIT 12",
    "RETURN DISTINCT a.city SKIP 7",
    "RETURN DISTINCT a.city LIMIT 1000000",
    "RETURN a.city SKIP 100000000",
)


def counted(graph: Graph, text: str) -> float:
    rows = graph.query(text)
    return float(rows.value()) if "count(DISTINCT" in text else float(len(list(rows)))


@pytest.mark.parametrize("end", ENDS)
def test_ends_are_counted_where_that_is_cheap(graph: Graph, end: str) -> None:
    text = f"MATCH (a:P)-[:R]->(b) WHERE a.city > 40 {end}"
    found = graph.estimate(text)
    assert found.is_exact and found.value == counted(graph, text)
    assert graph.estimate(text, method="exact").value == found.value


@pytest.mark.parametrize("end", ENDS)
def test_ends_are_sampled_where_there_are_many_rows(graph: Graph, end: str) -> None:
    text = f"MATCH (a:P)-[:R]->(b)-[:R]->(c) {end}"
    truth = counted(graph, text)
    found = graph.estimate(text, samples=20_000, seed=2)
    if "DISTINCT" in end or "(" in end:
        assert not found.is_exact and found.hits > 0
    assert found.low <= truth <= found.high <= found.upper_bound
    assert max(truth, 1) / 2.5 <= max(found.value, 1) <= max(truth, 1) * 2.5
    assert graph.estimate(text, samples=20_000, seed=2) != graph.estimate(text, samples=20_000, seed=3)


@pytest.mark.parametrize("samples", [1_000, 4_000])
@pytest.mark.parametrize("method", ["alley", "wanderjoin"])
def test_what_few_samples_reach_is_in_the_interval_of_different_rows(method: str, samples: int) -> None:
    links = [*((0, k) for k in range(1, 121)), *((k, k + 1) for k in range(1, 80))]  # a hub's links are seldom drawn
    hub = Graph.from_edge_list(tuple(zip(*links, strict=True)))
    text = "MATCH (a)-[r]->(b) RETURN count(DISTINCT r)"
    found = [hub.estimate(text, method=method, samples=samples, seed=seed) for seed in range(20)]
    assert sum(each.low <= len(links) <= each.high for each in found) >= 16
    assert sum(each.value for each in found) / 20 == pytest.approx(len(links), rel=0.4)


def test_different_rows_have_a_budget(graph: Graph) -> None:
    text = "MATCH (a:P)-[:R]->(b)-[:R]->(c) RETURN DISTINCT a, c"
    truth = graph.query("MATCH (a:P)-[:R]->(b)-[:R]->(c) WITH DISTINCT a, c RETURN count(*)").value()
    assert truth > _CHEAP
    found = graph.estimate(text, budget_ms=40, seed=1)
    assert found.value <= found.high <= found.upper_bound and found.upper_bound >= truth
    assert graph.estimate(text, budget_ms=0.001, seed=1).value > 0


def test_what_cannot_be_estimated_still_is_refused(graph: Graph) -> None:
    for text in ("MATCH (a:P) RETURN max(a.city)", "MATCH (a:P) WITH a LIMIT 3 MATCH (a)-[:R]->(b) RETURN b"):
        with pytest.raises(Unsupported):
            graph.estimate(text)
    with pytest.raises(Unsupported, match="guided"):
        graph.estimate("MATCH (a:P) RETURN DISTINCT a.city", method="guided")
    with pytest.raises(Unsupported):
        graph.estimate_all("MATCH (a:P)-[:R]->(b) RETURN DISTINCT a.city")


def test_several_texts_are_estimated_as_each_by_itself(graph: Graph) -> None:
    first, second = "MATCH (a:P)-[:R]->(b) WHERE a.city = $city", "MATCH (a:P)-[:R]->(b)-[:R]->(c)"
    texts = (second, first, second, f"{first} RETURN count(*);")
    found = graph.estimate_many(texts, {"city": 3}, samples=5_000, seed=4)
    assert [each.value for each in found] == [
        graph.estimate(text, {"city": 3}, samples=5_000, seed=4).value for text in texts
    ]
    assert found[0] is found[2]
    assert graph.estimate_many(()) == ()
    with pytest.raises(SemanticError):
        graph.estimate_many(("MATCH (a:P) WHERE x",))


def test_several_texts_share_a_budget(graph: Graph) -> None:
    texts = [f"MATCH (a:P)-[:R]->(b)-[:R]->(c) WHERE a.city < {k} AND a.age < c.age" for k in range(1, 20)]
    graph.estimate_many(texts, budget_ms=20)
    found = graph.estimate_many(texts, budget_ms=20, seed=1)
    truths = [graph.query(f"{text} RETURN count(*)").value() for text in texts]
    assert all(each.upper_bound >= truth for each, truth in zip(found, truths, strict=True))
    assert all(each.value > 0 for each in found)


def test_a_table_of_parts_is_an_arrow_table(graph: Graph) -> None:
    parts = graph.estimate_all("MATCH (a:P)-[:R]->(b)-[:R]->(c) WHERE a.city < 20", samples=2_000, seed=1)
    table = parts.to_arrow()
    assert table.column_names == ["nodes", "value", "low", "high", "upper_bound", "samples", "hits", "is_exact"]
    assert table.column("nodes").to_pylist() == [sorted(nodes) for nodes in parts]
    for row in table.to_pylist():
        found = parts[frozenset(row.pop("nodes"))]
        assert row == {name: getattr(found, name) for name in row}
    assert pa.table(parts).equals(table)  # through the C stream that it exports
