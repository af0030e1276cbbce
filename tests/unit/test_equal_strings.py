"""A string that both ends of a relationship must have alike is compared inside the search; planned as that rare."""

from __future__ import annotations

import pytest

from qengine import Graph


@pytest.fixture(scope="module")
def graph() -> Graph:
    n, nodes, pairs = 600, [], []
    for k in range(n):
        nodes.append({"labels": ["P"], "properties": {"city": f"c{k % 60}" if k % 7 else None, "x": k % 5}})
        pairs += [{"type": "R", "start": k, "end": (k * step + step) % n} for step in (3, 11, 60, 61)]
    return Graph.from_records(nodes, pairs)


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a)-[k:R]->(b)<-[:R]-(c) WHERE b.city = c.city RETURN a.x AS x, count(*) AS n",
        "MATCH (a)-[:R]->(b) WHERE a.city = b.city RETURN a.city AS x, count(*) AS n",
    ],
)
def test_rows_are_the_reference_s(graph: Graph, query: str) -> None:
    found = graph.query(query, device="cpu").fetchall()
    assert found and sorted(found) == sorted(graph.query(query, device="reference").fetchall())


def test_the_relationship_is_compared_first(graph: Graph) -> None:
    plan = graph.explain("MATCH (a)-[k:R]->(b)<-[:R]-(c) WHERE b.city = c.city RETURN a.x, c.x, k, count(*)")
    lines = [line.strip() for line in str(plan).splitlines()]
    assert not any(line.startswith("Filter") for line in lines)
    (compared,) = (place for place, line in enumerate(lines) if line.endswith("b.city = c.city"))
    (other,) = (place for place, line in enumerate(lines) if line.startswith("· a"))
    assert compared < other


def test_other_nodes_are_compared_on_rows(graph: Graph) -> None:
    plan = str(graph.explain("MATCH (a)-[:R]->()-[:R]->(c) WHERE a.city = c.city RETURN a, c"))
    assert "Filter" in plan


@pytest.mark.parametrize("result", ["k, count(*) AS n", "k, c, b", "k.none AS x, min(b.x) AS y, count(*) AS n"])
def test_other_nodes_are_compared_in_the_search_where_rows_take_longer(graph: Graph, result: str) -> None:
    query = f"MATCH (a)-[k:R]->(b)<-[:R]-(c) WHERE a.city = c.city RETURN {result}"
    found = graph.query(query, device="cpu").fetchall()
    expected = graph.query(query, device="reference").fetchall()
    assert found and sorted(map(repr, found)) == sorted(map(repr, expected))
    assert ("Filter" in str(graph.explain(query))) == ("count" not in result)
