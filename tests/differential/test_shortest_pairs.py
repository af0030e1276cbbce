"""Shortest paths between many pairs of nodes at once, and to ends that are looked up: rows are as in the reference."""

from __future__ import annotations

import importlib

import pytest

from qengine.testing.compare import difference
from tests.bench.cliffs.graphs import make

access = importlib.import_module("qengine.optimizer.access")
shortest = importlib.import_module("qengine.exec.host.shortest")

TEXTS = """
MATCH (a), (b) WHERE a.id < 9 AND b.v > 30 MATCH p = shortestPath((a)-[*]-(b)) RETURN a.id, b.id, length(p)
MATCH (a:C), (b:A) MATCH p = shortestPath((a)-[*0..]->(b)) RETURN a.id, b.id, length(p), size(nodes(p))
MATCH (a:C), (b) MATCH p = ANY SHORTEST (a)-->{1,3}(b {s: 's3'}) RETURN a.id, b.id, length(p)
MATCH (a:C), (b) MATCH p = ANY SHORTEST (a)-[:R]->*(b:B WHERE b.v < 60) RETURN count(*), sum(length(p))
MATCH (a:C), (b) MATCH REPEATABLE ELEMENTS p = ANY SHORTEST (a)--+(b:A) RETURN a.id, b.id, size(relationships(p))
UNWIND [1, 2, 2, null] AS i MATCH (a {id: i}), (b:C) MATCH p = shortestPath((a)-[*]-(b)) RETURN i, b.id, length(p)
MATCH (a:C), (b:C) MATCH p = ANY SHORTEST (a)((x)-[r]->(y) WHERE r.k < 7)+(b) RETURN a.id, b.id, length(p)
MATCH p = shortestPath((a {id: 3})-[*]-(b)) WHERE id(b) = 7 RETURN length(p), size(nodes(p))
MATCH p = shortestPath((a {id: 3})-[*]->(b)) WHERE elementId(b) IN ['1', '7', 'x'] AND b.v > 20 RETURN b.id, length(p)
MATCH p = ANY SHORTEST (a:C)-->+(b:A {t: 't8'}) RETURN a.id, [n IN nodes(p) | n.id][-1], length(p)
MATCH (a:C)-[*1..2]->(b) WHERE b.id IN [3, 4, 5] RETURN a.id, b.id, count(*)
MATCH (a)-[*]->(b {id: 5}) WHERE a.id < 9 RETURN DISTINCT a.id
MATCH (a:C) RETURN a.id, COUNT { (a)-[*1..3]->(b WHERE b.id = 9) } AS n
""".strip().splitlines()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", ["chain", "loops", "hub and triangles"])
def test_pairs(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "LEAST_ROWS", 1)
    monkeypatch.setattr(shortest, "_SHARED", 0)
    graph = make(shape, 24)
    for text in TEXTS:
        expected = graph.query(text, device="reference").fetchall()
        for _ in range(2):  # an index may be there the second time
            assert difference(expected, graph.query(text).fetchall()) is None, text
