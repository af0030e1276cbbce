"""Queries whose plans were once wrong, found by random queries: the CPU executor agrees with the reference on them."""

import pytest

from qengine.graph import Graph
from qengine.storage import from_records
from qengine.testing.compare import difference
from qengine.testing.oracle import true_rows

STORE = from_records(
    [{"id": i, "labels": labels, "properties": {"k": i}} for i, labels in enumerate(["A", "A", "B", "B", (), ()])],
    [
        {"type": kind, "start": start, "end": end, "properties": {"k": key, "w": key % 3}}
        for key, (kind, start, end) in enumerate(
            [("R", 0, 1), ("R", 1, 2), ("S", 2, 0), ("S", 2, 3), ("U", 0, 3), ("U", 3, 4), ("R", 3, 3), ("S", 0, 1)]
        )
    ],
    undirected=["U"],
)


@pytest.mark.parametrize(
    "query",
    [
        # a relationship that only DISTINCT or min reads was dropped with the duplicates
        "MATCH (a)-[r]->(b) RETURN DISTINCT r",
        "MATCH (a)-[r:R]->(b) RETURN a, min(r.w)",
        # a condition between two components that are searched apart
        "MATCH (a)-->(b), (c)-[:S*1..2]->({k: a.k}) RETURN a, b, c",
        # a relationship given by an earlier clause, with a condition of its own
        "MATCH ()-[r]->() MATCH (a)-[r WHERE r.w > 0]->(b) RETURN a, r, b",
        # a pattern edge over directed and undirected types keeps its direction, and has no mirror image
        "MATCH (a) RETURN a, EXISTS { (a)-->(b) }",
        "MATCH (a)-->(), (b) RETURN count(*)",
        "MATCH DIFFERENT NODES (a)--(b), (c)<--(d) RETURN count(*)",
        # the neighbours over three types, some of them none
        "MATCH (a)--(b) RETURN a, b",
        # three matches that are only counted
        "UNWIND [1, 2] AS x MATCH (a:A) MATCH (b) MATCH (c:B)-[r]-(d) RETURN count(*)",
        "MATCH (a:A) WITH a MATCH (b:B) WITH a, b MATCH (c) RETURN count(*)",
        # a node without relationships in a later clause, null where an optional match found none
        "OPTIONAL MATCH (x:None) MATCH (x) RETURN count(*)",
        "OPTIONAL MATCH (x:None) MATCH (x), (x) RETURN 1",
        "OPTIONAL MATCH (x:None) MATCH (a), (x) RETURN count(*)",
        "OPTIONAL MATCH (x:None) MATCH (a)-->(b), (x WHERE x.k IS NULL) RETURN a, b LIMIT 1",
        "OPTIONAL MATCH (x:None) MATCH (a)-[*1..2]->(b), (x) RETURN a, b",
        "OPTIONAL MATCH (x:None) MATCH ANY SHORTEST (a)-[*]->(b), (x) RETURN a, b",
        "OPTIONAL MATCH (x:None) OPTIONAL MATCH (a)-[*1..2]->(b), (x) RETURN a, b",
        "OPTIONAL MATCH (x:None) MATCH (a) WHERE EXISTS { (a)-->(), (x) } RETURN a",
        "OPTIONAL MATCH (x:None) MATCH (a) RETURN a, COUNT { (a)-[*1..2]->(), (x) } AS c",
        "MATCH (a) OPTIONAL MATCH (a)-[:S]->(x) MATCH (b), (x) RETURN a, x, count(*)",
    ],
)
def test_agreement(query):
    assert difference(true_rows(STORE, query), Graph(STORE).query(query, device="cpu").fetchall()) is None
