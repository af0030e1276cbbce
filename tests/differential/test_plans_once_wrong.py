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


QUERIES = (
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
    # a branch of UNION before the last whose rows are ordered or cut
    "RETURN 1 AS x LIMIT 1 UNION RETURN 2 AS x",
    "MATCH (a) RETURN a.k AS x ORDER BY x DESC SKIP 1 LIMIT 2 UNION ALL RETURN 7 AS x UNION ALL RETURN 8 AS x",
    "MATCH (a) RETURN DISTINCT a.k % 2 AS x, 1 AS y ORDER BY x SKIP 1 UNION RETURN 2 AS y, 3 AS x",
    "MATCH (a) RETURN count(*) AS x ORDER BY x UNION MATCH (a) RETURN a.k AS x LIMIT 1",
    "RETURN COUNT { RETURN 1 AS x LIMIT 1 UNION RETURN 2 AS x } AS n",
    "RETURN COLLECT { RETURN 1 AS x ORDER BY x UNION ALL RETURN 2 AS x SKIP 0 } AS l",
    "MATCH (a) RETURN a.k, COUNT { MATCH (a)--(b) RETURN b.k AS x ORDER BY x LIMIT 2 UNION RETURN a.k AS x } AS n",
    "MATCH (a) WHERE EXISTS { RETURN a.k AS x LIMIT 0 UNION RETURN 1 AS x SKIP 1 } RETURN a",
    # branches without RETURN
    "MATCH (a) RETURN a, EXISTS { MATCH (a)-[:R]->(b) UNION MATCH (a)<-[:S]-(c)--(d) } AS e",
    "MATCH (a) WHERE EXISTS { MATCH (a)-[:R]->(b) UNION ALL MATCH (a)<-[:S]-(c) } RETURN a",
    "MATCH (a) RETURN a, COUNT { MATCH (a)-[:R]->(b) UNION ALL MATCH (a)<-[:S]-(c)--(d) } AS n",
    "MATCH (a) RETURN a, COUNT { MATCH (a)--(b) WITH DISTINCT b RETURN b UNION MATCH (b) RETURN b } AS n",
    # a simple path of several relationships that comes back, as all but one may have no length
    "MATCH p = SIMPLE (a)-[*1..3]-(b)-[:S*0..1]-(c) RETURN p",
    "MATCH p = SIMPLE (a)-[*0..2]->(b)-[*0..2]->(c)-[*0..1]->(d) RETURN p",
    "MATCH SIMPLE (a)-[:R*1..2]-(b)-[:R*0..1]-(c) WHERE a = c RETURN a, b",
    "MATCH REPEATABLE ELEMENTS p = ACYCLIC (a)-[*1..3]-(b)-[:S*0..1]-(c) RETURN p",
    # a query whose rows are sorted by a subquery, which has no column of its own in the result
    "MATCH (a) RETURN DISTINCT a.k % 2 AS x ORDER BY x, COUNT { (:A)--() } UNION ALL RETURN 1 AS x",
    "RETURN COLLECT { MATCH (a) RETURN DISTINCT a.k AS x ORDER BY x, COUNT { (:A)--() } } AS l",
    # a selected path beside relationships that it must not have
    "MATCH (a)-[r]->(b), ALL SHORTEST (c)-[s*0..2]-(d) RETURN a, b, c, d",
    "MATCH (a)-[r*1..2]->(b), ALL SHORTEST (c)-[*]-(d) RETURN a, b, c, d",
    "MATCH ALL SHORTEST (a)-[:R*]->(b), SHORTEST 2 GROUPS (c)-[s*..2]-(d) RETURN count(*)",
    "MATCH DIFFERENT NODES (a)-[r]->(b), ALL SHORTEST (a)-[*0..2]-(d) RETURN a, b, d",
    # allReduce() of many lists gave the last step's value
    "MATCH (a), (b) UNWIND [0, 1, 2, 3] AS y RETURN a, allReduce(s = 0, x IN [a.k, b.k, y] | s + x, s < 5) AS below",
    # a subquery with all variables in scope, in a subquery that reads only some
    "MATCH (a) RETURN a, COUNT { WHEN a.k > 2 THEN RETURN 1 AS x ELSE UNWIND [1, 2] AS x RETURN x } AS c",
    "UNWIND [1, 2] AS u MATCH (a:A) CALL (a, u) { WHEN a.k = 0 THEN RETURN 7 AS k ELSE RETURN u AS k } RETURN a, k",
    "MATCH (a) CALL (*) { UNWIND [1] AS x CALL (*) { RETURN x + a.k AS z UNION RETURN 7 AS z } RETURN z } RETURN z",
    # what is computed of several columns of a selected path, read in subqueries and behind them
    "MATCH SHORTEST 2 GROUPS (a)-[:R]->(:A)-[r]-(b) RETURN COUNT { MATCH (c) WHERE c.k = r.k } AS n",
    "MATCH SHORTEST 2 GROUPS (a)-[:R]->(:A)-[r]-(b) CALL (a) { RETURN a.k AS x LIMIT 1 } RETURN r, x",
    # expressions with names of their own, which are written twice
    "MATCH (a) RETURN a.k AS k ORDER BY EXISTS { (a)-[:R]->() } NULLS FIRST, k",
    "MATCH (a)--() RETURN size([x IN [a.k] | x]) AS c, size([x IN [a.k] | x]) AS d GROUP BY size([x IN [a.k] | x])",
)


@pytest.mark.parametrize("query", QUERIES)
def test_agreement(query):
    assert difference(true_rows(STORE, query), Graph(STORE).query(query, device="cpu").fetchall()) is None
