"""Relationships that their identity names, or earlier clauses give, are not searched: rows are as in the reference."""

from __future__ import annotations

import importlib

import pytest

from qengine.testing.compare import agree
from tests.bench.cliffs.graphs import make

bound_edges = importlib.import_module("qengine.optimizer.lower.bound_edges")

KNOWN = """
MATCH (a)-[r]->(b) WHERE id(r) = 17 RETURN a.id, b.id, r.k
MATCH (a)-[r:S]->(b) WHERE id(r) = 17 RETURN a.id, b.id
MATCH (a)-[r:R]->(b) WHERE 17.0 = id(r) RETURN a.id, b.id
MATCH (a)-[r]->(b) WHERE id(r) = $none RETURN a.id, b.id
MATCH (a)-[r]->(b) WHERE id(r) = -3 RETURN count(*)
MATCH (a)-[r]-(b) WHERE elementId(r) = '17' RETURN a.id, b.id
MATCH (a:A)-[r]-(b {v: 5}) WHERE elementId(r) IN ['17', '18', '19', null, '17'] RETURN a.id, b.id
MATCH (a:A)-[r]-(b) WHERE id(r) IN $ids AND a.v > 20 RETURN a.id, b.id, id(r)
MATCH (a)-[r]->(b)-[q]->(c) WHERE id(r) = 20 RETURN a.id, b.id, c.id, id(q)
MATCH (a)-[r]-(b)-[q]-(c) WHERE id(r) = 20 RETURN a.id, b.id, c.id, id(q)
MATCH (a)-[r]-(b)-[q]-(c) WHERE id(r) = 20 AND id(q) = 25 RETURN a.id, b.id, c.id, id(q)
MATCH REPEATABLE ELEMENTS (a)-[r]-(b)-[q]-(c) WHERE id(r) = 20 RETURN a.id, b.id, c.id, id(q)
MATCH (a)-[r]->(b) WHERE id(r) = 20 MATCH (b)-->(c) RETURN a.id, c.id
UNWIND [3, 5, 5, null] AS i MATCH (a)-[r]->(b) WHERE id(r) = i RETURN i, a.id, b.id
UNWIND [3, 5, 5, null] AS i MATCH (a)-[r]-(b:A) WHERE id(r) = i RETURN i, a.id, b.id
OPTIONAL MATCH (a)-[r]->(b) WHERE id(r) = 100000 RETURN a.id, b.id
MATCH p = (a)-[r]->(b) WHERE id(r) = 11 RETURN [n IN nodes(p) | n.id], length(p)
MATCH (a)-[r]->(b)-->(c) WHERE id(r) = 11 RETURN count(*)
MATCH (a)-[r]-(b)--(c) WHERE id(r) = 11 RETURN b.id, count(*)
MATCH (x) WHERE x.id < 5 AND EXISTS { (a)-[r]->(b) WHERE id(r) = x.id } RETURN x.id
MATCH (x) WHERE x.id < 9 RETURN x.id, COUNT { (a)-[r]-(b) WHERE id(r) = x.id } AS n
MATCH (a)-[r {k: 3}]->(b) WHERE id(r) IN $ids AND 10 / (r.k - 2) > 0 RETURN a.id, b.id
""".strip().splitlines()
OTHERS = """
MATCH DIFFERENT NODES (a)-[r]-(b)-[q]-(c) WHERE id(r) = 20 RETURN a.id, b.id, c.id, id(q)
MATCH (a)-[r]->(a) WHERE id(r) = 20 RETURN a.id
MATCH (a)-[r]->(b), (b)-[*1..2]->(c) WHERE id(r) = 20 RETURN a.id, c.id
MATCH (a)-[r]->(b) WHERE id(r) = 4 OR id(r) = 6 RETURN a.id, b.id
MATCH (a)-[r]->(b) WHERE id(r) = id(a) RETURN a.id, b.id
MATCH (x {id: 5}) MATCH (x)-[r]->(b) WHERE id(r) IN $ids RETURN b.id
MATCH (x {id: 5})-[r]->() WITH r, x MATCH (x)-[r]->(b) RETURN b.id, id(r)
MATCH (x {id: 5})-[r]->() WITH r MATCH (a)-[r]->(b) RETURN a.id, b.id, id(r)
MATCH (x {id: 5})-[r]->() WITH r MATCH (a:A)<-[r]-(b) RETURN a.id, b.id, id(r)
MATCH (x {id: 5})-[r]->() WITH r MATCH (a)-[r]-(b) RETURN a.id, b.id, id(r)
MATCH (x {id: 5})-[r]->() WITH r MATCH (a)-[r]->(b)-[q]->(c) RETURN a.id, b.id, id(r), c.id
MATCH (x {id: 5}) OPTIONAL MATCH (x)-[r:R {k: 77}]->() WITH r MATCH (a)-[r]-(b) RETURN a.id, b.id
MATCH (x {id: 5}) OPTIONAL MATCH (x)-[r:R {k: 77}]->() OPTIONAL MATCH (a)-[r]->(b) RETURN a.id, b.id
""".strip().splitlines()
PARAMETERS = {"ids": [1, 2, 3, 9, 9, None, "x"], "none": None}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", ["random", "loops"])
def test_known_relationships(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound_edges, "LEAST_ROWS", 0)
    graph = make(shape, 22)
    for changed in (False, True):
        if changed:
            graph.query("MATCH (a)-[r]->() WHERE id(r) IN [3, 20] DELETE r")
            graph.query("MATCH (a {id: 5}), (b {id: 6}) CREATE (a)-[:R {k: 3}]->(b)")
        for text in (*KNOWN, *OTHERS):
            plan = str(graph.explain(text))
            assert "LookUp" in plan or text in OTHERS, plan
            agree(graph, text, PARAMETERS)


def test_many_are_not_searched() -> None:
    graph = make("random", 3000)
    for text in KNOWN[0], KNOWN[5], KNOWN[7]:
        assert "Search" not in str(graph.explain(text)), text
