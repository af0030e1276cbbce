"""Counting each orbit once gives what enumerating gives, whatever else the query demands of symmetric nodes."""

from __future__ import annotations

import random

import pytest

from qengine import Graph

QUERIES = [
    "MATCH (x)-[:R]-(y), (u)-[:S]-(v) WHERE x <> u RETURN count(*)",
    "MATCH (x)-[:R]-(y), (u)-[:S]-(v) WHERE x <> u AND y <> v RETURN count(*)",
    "MATCH (x)-[:R]-(y), (u)-[:S]-(v) WHERE x <> u AND x <> v AND y <> u AND y <> v RETURN count(*)",
    "MATCH REPEATABLE ELEMENTS (a)-[:R]-(b)-[:R]-(c)-[:R]-(a), (b)-[:R]-(d)-[:R]-(c) WHERE a <> d RETURN count(*)",
    "MATCH REPEATABLE ELEMENTS (a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(a) WHERE a <> c RETURN count(*)",
    "MATCH (a)-[:R]-(b), (a)-[:S]-(c), (b)-[:S]-(d) WHERE c <> d RETURN count(*)",
    "MATCH (a)-[:R]-(b), (a)-[:S]-(c), (b)-[:S]-(d) WHERE a <> d RETURN count(*)",
]


@pytest.fixture(scope="module")
def graph() -> Graph:
    rng = random.Random(1)
    nodes = [{"id": i} for i in range(14)]
    pairs = [(a, b) for a in range(14) for b in range(a)]
    relationships = [{"type": kind, "start": a, "end": b} for kind in ("R", "S") for a, b in rng.sample(pairs, 24)]
    return Graph.from_records(nodes, relationships)


@pytest.mark.parametrize("query", QUERIES)
def test_counts_agree_with_the_reference(graph: Graph, query: str) -> None:
    assert graph.query(query).value() == graph.query(query, device="reference").value()
