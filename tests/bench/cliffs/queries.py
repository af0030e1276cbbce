"""Queries of all kinds, for graphs of any shape that :mod:`tests.bench.cliffs.graphs` makes."""

from __future__ import annotations

__all__ = ["CHANGES", "PARAMETERS", "READS"]

PARAMETERS = {"id": 7, "v": 30, "ids": list(range(0, 60, 3)), "values": [1, 5, 9]}

_FIXED = """
MATCH (a)-->(b) RETURN count(*)
MATCH (a)--(b)--(c) RETURN count(*)
MATCH (a)-->(b)-->(c)-->(d) RETURN count(*)
MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)
MATCH (a)-->(b)-->(c)-->(d)-->(a) RETURN count(*)
MATCH (a)--(b)--(c)--(d)--(e)--(a) RETURN count(*)
MATCH (a)--(b)--(c)--(d)--(e)--(f)--(a) RETURN count(*)
MATCH (a)--(b)--(c)--(a), (a)--(d)--(b), (c)--(d) RETURN count(*)
MATCH (a)-->(b), (a)-->(c), (a)-->(d) RETURN count(*)
MATCH (a)-->(b)<--(c) WHERE a.id < c.id RETURN count(*)
MATCH (a)-->(b)<--(c) WHERE a <> c RETURN count(*)
MATCH (a)-->(b)<--(c) WHERE a.v = c.v RETURN count(*)
MATCH (a)-->(b)<--(c) WHERE a.v < c.v RETURN count(*)
MATCH (a)<--(b)-->(c) WHERE a.id < c.id AND a.v > 50 RETURN count(*)
MATCH (a)-->(b)<--(c) WHERE a.v + 1 = c.v OR a.v = c.v + 1 RETURN count(*)
MATCH (a)--(b)--(c) WHERE a.id < c.id RETURN count(DISTINCT b)
MATCH (a)--(b)--(c)--(a) WHERE a.id < b.id AND b.id < c.id RETURN count(*)
MATCH (a)-->(b)<--(c) WHERE a.s STARTS WITH c.s RETURN count(*)
MATCH (a)-[r]->(b)<-[q]-(c) WHERE r.w < q.w RETURN count(*)
MATCH (a)-[r]->(b)-[q]->(c) WHERE r.w < q.w AND a.v < 50 RETURN count(*), sum(q.k)
MATCH (a)-[r]->(b) WHERE r.w < 0.01 RETURN count(*)
MATCH (a)-[r]->(b) WHERE r.k = $v % 10 AND a.v > $v RETURN count(*)
MATCH (a:A|C)-->(b:B) RETURN count(*)
MATCH (a:!A)-[:R|S]-(b) RETURN count(*)
MATCH (a)-[:R|S]-(b)-[:!S]-(c) RETURN count(*)
MATCH (a)-->(b) WHERE NOT (b)-->(a) RETURN count(*)
MATCH (a)-->(b)-->(c) WHERE NOT (a)-->(c) RETURN count(*)
MATCH (a)-->(b)-->(c) WHERE NOT (a)-->(c) AND a.id < 20 RETURN a.id, c.id
MATCH (a)-->(b), (c)-->(d) WHERE a.v = 1 AND d.v = 2 AND a.s = d.s RETURN count(*)
MATCH (a:C), (b) WHERE a.t CONTAINS b.s AND b.v < 2 RETURN count(*)
MATCH (a)-->(b)-->(c) RETURN count(DISTINCT a.v * 100 + c.v)
MATCH (a)-->(b)<--(c) RETURN count(DISTINCT a)
MATCH (a)--(b)--(c) WHERE a.v = 3 AND c.v = 4 RETURN count(DISTINCT b.id)
"""

_SUBQUERIES = """
MATCH (a) WHERE NOT (a)-->() RETURN count(a)
MATCH (a) OPTIONAL MATCH (a)-->(b) RETURN a.s, count(b) ORDER BY a.s LIMIT 3
MATCH (a) OPTIONAL MATCH (a)-->(b) WHERE b.v > a.v RETURN count(b), count(*)
MATCH (a) OPTIONAL MATCH (a)-->(b)-->(c) WHERE c.v < 10 RETURN a.v, count(DISTINCT c) ORDER BY a.v LIMIT 5
MATCH (a)-->(b) OPTIONAL MATCH (b)-->(c)-->(d) WHERE d.v = a.v RETURN count(d)
MATCH (a)-->(b) WHERE EXISTS { (b)-->(c) WHERE c.v > a.v } RETURN count(*)
MATCH (a)-->(b) WHERE NOT EXISTS { (b)-->(c) WHERE c.id > a.id } RETURN count(*)
MATCH (a) WHERE EXISTS { (a)-->(b)<--(c) WHERE c.v = a.v AND a <> c } RETURN count(*)
MATCH (a) WHERE EXISTS { (a)--(b)--(c) WHERE c.s = 's3' } RETURN count(*)
MATCH (a)-->(b) WHERE COUNT { (b)--() } > COUNT { (a)--() } RETURN count(*)
MATCH (a) RETURN a.id AS i, COUNT { (a)-->()-->() } AS n ORDER BY n DESC, i LIMIT 3
MATCH (a) RETURN a.v AS v, sum(COUNT { (a)-->(b) WHERE b.v > a.v }) AS n ORDER BY v
MATCH (a) WHERE a.id < 50 RETURN a.id, size(COLLECT { MATCH (a)-->(b) WHERE b.v < 50 RETURN b.id }) AS n
MATCH (a) CALL (a) { MATCH (a)-->(b) RETURN max(b.v) AS m } RETURN sum(m)
MATCH (a) CALL (a) { MATCH (a)-->(b) RETURN b ORDER BY b.v DESC, b.id LIMIT 1 } RETURN count(b), sum(b.v)
MATCH (a) WHERE all(x IN [(a)-->(b) | b.v] WHERE x > 50) RETURN count(*)
MATCH (a) WHERE a.id < 100 RETURN a.id, [(a)-->(b)-->(c) WHERE c.v > 50 | c.v][0..2] IS NOT NULL
MATCH (a) WHERE size([(a)--(b) | b]) = 2 RETURN count(*)
"""

_WALKS = """
MATCH (a)-[*1..3]->(b) WHERE a.id = 0 RETURN count(DISTINCT b)
MATCH (a {id: 0})-[*]->(b) RETURN count(DISTINCT b)
MATCH (a {id: 0})-[*]-(b) RETURN count(DISTINCT b)
MATCH (a:C)-[*]->(b) RETURN a.id, count(DISTINCT b)
MATCH (a)-[:R*]->(b) WHERE a.v = 7 RETURN count(DISTINCT b)
MATCH (a)-[*0..2]-(b) RETURN count(DISTINCT b)
MATCH (a)-[:R*1..2]->(b) RETURN count(*)
MATCH (a)-[*1..3]->(b) RETURN count(*)
MATCH (a)-[*1..2]-(b {id: $id}) RETURN count(*)
MATCH p = (a {id: $id})-[*1..3]-(b) RETURN length(p), count(*)
MATCH (a)-->{2}(b) RETURN count(*)
MATCH (a)-->{1,4}(b {id: 5}) RETURN count(*)
MATCH TRAIL (a {id: 0})-->{1,6}(b) RETURN count(*)
MATCH ACYCLIC (a {id: 0})-->{1,4}(b) RETURN count(*)
MATCH (a {id: 0}) ((x)-->(y) WHERE x.id < y.id){1,4} (b) RETURN count(*)
MATCH (a) ((x)-[r]->(y) WHERE r.k < 5 AND y.v > x.v)+ (b) RETURN count(*)
MATCH (a:C) ((x)-->(y) WHERE y.v <> 3)+ (b) RETURN count(DISTINCT b)
MATCH (a) WHERE a.id < 50 MATCH (a) (()-[:R]->()-[:S]->())+ (b) RETURN count(DISTINCT b)
MATCH p = (a {id: 0})-->{1,5}(b) RETURN p LIMIT 5
MATCH p = (a)-->{1,3}(b) RETURN [n IN nodes(p) | n.v] AS l LIMIT 10
MATCH p = (a {id: 0})-[*1..4]->(b) WHERE all(n IN nodes(p) WHERE n.v < 90) RETURN count(*)
MATCH p = (a {id: 0})-[*1..4]-(b) WHERE all(r IN relationships(p) WHERE r.k > 2) RETURN count(DISTINCT b)
MATCH (a {id: 0})-[rs*1..3]->(b) RETURN sum(reduce(x = 0.0, r IN rs | x + r.w)) > 0
MATCH (a) WHERE EXISTS { (a)-[*]->(b {id: 5}) } RETURN count(*)
MATCH (a) WHERE EXISTS { (a)-[*1..3]->(:C) } RETURN count(*)
MATCH (a) WHERE NOT EXISTS { (a)-[*]->(a) } RETURN count(*)
MATCH (a:C) RETURN a.id, COUNT { (a)-[*1..2]->(b) } AS n
MATCH (a)-[*]->(a) WHERE a.id < 5 RETURN count(DISTINCT a)
MATCH (a)-[*2]->(a) RETURN count(*)
"""

_SHORTEST = """
MATCH p = shortestPath((a {id: 0})-[*]-(b {id: 77})) RETURN length(p)
MATCH p = shortestPath((a {id: 0})-[*]->(b)) WHERE a <> b RETURN max(length(p)), count(*)
MATCH p = shortestPath((a:C)-[*]->(b:C)) WHERE a <> b RETURN count(*), sum(length(p))
MATCH p = allShortestPaths((a {id: 0})-[*]-(b {id: 77})) RETURN count(*)
MATCH ANY SHORTEST (a {id: 3})-->*(b) RETURN count(*)
MATCH p = ANY SHORTEST (a {id: 3})--*(b) RETURN sum(length(p))
MATCH p = ANY SHORTEST (a:C)-->+(b) WHERE b.v = 5 RETURN count(*), sum(length(p))
MATCH p = ANY SHORTEST (a)-->{1,4}(b {id: 5}) RETURN sum(size(nodes(p)))
MATCH ALL SHORTEST (a {id: 3})-->{1,5}(b) RETURN count(*)
MATCH ALL SHORTEST (a {id: 0})--+(b {id: 9}) RETURN count(*)
MATCH SHORTEST 2 (a {id: 0})-->+(b) RETURN count(*)
MATCH SHORTEST 3 (a {id: 0})-->+(b {id: 9}) RETURN count(*)
MATCH p = SHORTEST 2 GROUPS (a {id: 0})-->{1,6}(b {id: 5}) RETURN length(p), count(*)
MATCH p = ANY SHORTEST (a {id: 0})-[:R|S]->+(b) RETURN max(length(p))
MATCH p = ANY SHORTEST (a {id: 0}) ((x)-->(y) WHERE y.v > 3)+ (b) RETURN count(*), max(length(p))
MATCH p = ANY SHORTEST (a {id: 0})-->+(b) RETURN b.v AS v, min(length(p)) AS m, count(*) ORDER BY v LIMIT 5
MATCH p = ANY SHORTEST (a {id: 0})-->+(b) WITH p ORDER BY length(p) DESC LIMIT 1 RETURN length(p)
MATCH p = ANY SHORTEST (a {id: 0})-->+(b) RETURN p LIMIT 3
MATCH p = ANY (a {id: 0})-->+(b {id: 9}) RETURN count(p)
MATCH (a {id: 0}), (b:C) MATCH p = shortestPath((a)-[*..6]-(b)) WHERE a <> b RETURN b.id, length(p)
MATCH p = (a {id: 0})-[*1..3]->(b) WITH b, min(reduce(x = 0, r IN relationships(p) | x + r.k)) AS c RETURN sum(c)
"""

_ROWS = """
MATCH (a)-->(b)-->(c) RETURN a.v AS x, count(*) AS n ORDER BY n DESC, x LIMIT 3
MATCH (a)-->(b) RETURN a.s AS x, b.s AS y, count(*) AS n ORDER BY n DESC, x, y LIMIT 3
MATCH (a)-->(b) WITH a, collect(b.v) AS l RETURN max(size(l))
MATCH (a)-->(b) WITH b, count(*) AS d WHERE d > 2 MATCH (b)-->(c) RETURN count(c)
MATCH (a)--(b) WITH a, count(DISTINCT b) AS d RETURN d, count(*) AS n ORDER BY n DESC, d LIMIT 5
MATCH (a)-[r]->(b) RETURN type(r) AS t, count(*) AS n ORDER BY n DESC, t LIMIT 2
MATCH (a) RETURN labels(a) AS l, count(*) AS n ORDER BY n DESC, l LIMIT 2
MATCH (a)-[r]->(b) RETURN a.id, b.id, r.w ORDER BY r.w DESC, a.id, b.id LIMIT 3
MATCH (a)-->(b) RETURN DISTINCT b.s, a.v ORDER BY a.v, b.s LIMIT 3
MATCH (a)-->(b) WITH a, b ORDER BY b.v, b.id, a.id LIMIT 100 MATCH (b)-->(c) RETURN count(*)
MATCH (a)--(b) WHERE a.id < 5 RETURN count(DISTINCT b)
MATCH (a)-->(b)-->(c) RETURN DISTINCT a.id AS x, c.id AS y ORDER BY x, y LIMIT 3
MATCH (a)-->(b)-->(c) RETURN count(DISTINCT [a.id, c.id])
MATCH (a)--(b)--(c) WHERE a <> c WITH a, c, count(*) AS n RETURN max(n)
MATCH (a)-->(b) RETURN percentileCont(b.v, 0.5), percentileDisc(a.f, 0.9)
MATCH (a)-->(b) RETURN a.v AS v, percentileCont(b.f, 0.5) AS m, stDev(b.f) ORDER BY v LIMIT 5
MATCH (a)-->(b) WITH a, collect(DISTINCT b) AS l UNWIND l AS x RETURN count(x), sum(x.v)
MATCH (a)-->(b) WITH collect(b) AS l UNWIND l AS x WITH DISTINCT x MATCH (x)-->(y) RETURN count(y)
MATCH (a) WITH collect(a.id) AS l RETURN size([x IN l WHERE x % 3 = 0])
MATCH (a) WITH collect(a.v) AS l RETURN reduce(s = 0, x IN l | s + coalesce(x, 0))
MATCH (a) RETURN a.v AS x UNION MATCH (a)-->(b) RETURN b.v AS x
MATCH (a)-->(b) RETURN a.id AS x UNION ALL MATCH (a)<--(b) RETURN a.id AS x
MATCH (a) WHERE a.id IN $ids RETURN a.id, a.v
MATCH (a) WHERE a.v IN $values AND a.f < 0.5 RETURN count(*), avg(a.f)
UNWIND $ids AS i MATCH (a {id: i})--(b) RETURN i, count(b), min(b.t)
MATCH (a) WHERE a.t ENDS WITH '7' RETURN count(*), max(a.t)
MATCH (a) RETURN a.t ORDER BY a.t DESC LIMIT 3
MATCH (a) RETURN count(DISTINCT a.t), count(DISTINCT substring(a.t, 0, 5))
MATCH (a) RETURN count(DISTINCT {v: a.v, s: a.s})
MATCH (a) RETURN properties(a) AS p ORDER BY a.id LIMIT 2
MATCH (a) WITH a ORDER BY a.f RETURN collect(a.id)[0..3]
MATCH (a), (b:C) WHERE a.v = b.v RETURN count(*)
MATCH (a), (b) WHERE a.id = b.id + 1 RETURN count(*)
MATCH (a), (b) WHERE a.v < b.v RETURN count(*)
MATCH (a), (b) WHERE a.v = b.v AND a.f < b.f RETURN count(*)
MATCH (a) WITH a.v AS v, count(*) AS n MATCH (b {v: v})-->(c) RETURN v, n, count(c) ORDER BY v LIMIT 3
MATCH (a)-->(b) RETURN point.distance(point({x: a.f, y: a.v}), point({x: b.f, y: b.v})) > 10 AS far, count(*)
MATCH (a)-->(b) RETURN CASE WHEN a.v > 50 THEN a.s ELSE b.v END AS k, count(*) AS n ORDER BY n DESC, k LIMIT 3
MATCH (a)-->(b) RETURN a, count(b) AS n ORDER BY n DESC, a.id LIMIT 3
MATCH (a)-[r]->(b) RETURN count(DISTINCT r), count(DISTINCT a), count(DISTINCT b)
MATCH p = (a)-->(b) RETURN count(DISTINCT nodes(p))
MATCH (a)-->(b) RETURN a.id, b.id SKIP 1000 LIMIT 3
MATCH (a)-->(b) WHERE a.t < b.t RETURN count(*)
MATCH (a)-->(b) RETURN avg(size(a.t) + size(b.t))
MATCH (n) WITH n.s AS s, max(n.v) AS m MATCH (n {s: s, v: m}) RETURN count(*)
"""

READS = {
    kind: tuple(texts.strip().splitlines())
    for kind, texts in {
        "fixed": _FIXED,
        "subqueries": _SUBQUERIES,
        "walks": _WALKS,
        "shortest": _SHORTEST,
        "rows": _ROWS,
    }.items()
}

CHANGES = (
    "MATCH (a {id: 3}) CREATE (a)-[:R {k: 3}]->(:A {id: -1, v: 5}) RETURN count(*)",
    "MATCH (a)-[r:S]->(b) WHERE r.k = 4 DELETE r RETURN count(*)",
    "MATCH (a:A) SET a.v = 50 RETURN count(*)",
    "MATCH (a)-->(b) WHERE a.id < 100 MERGE (b)-[:N]->(a) RETURN count(*)",
    "MATCH (a {id: 0}) DETACH DELETE a RETURN count(*)",
)
"""Statements that change a graph; all that reads is asked again after the last."""
