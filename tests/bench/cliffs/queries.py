"""Queries of all kinds, for graphs of any shape that :mod:`tests.bench.cliffs.graphs` makes."""

from __future__ import annotations

PARAMETERS = {
    "id": 7,
    "v": 30,
    "ids": list(range(0, 60, 3)),
    "values": [1, 5, 9],
    "many": list(range(1, 200_000, 2)),
    "rows": [{"id": i, "v": i % 10, "l": [i, i + 1]} for i in range(500)],
}

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

_VALUES = """
MATCH (a) WHERE a.d >= date('2024-03-01') AND a.d < date('2024-03-01') + duration('P1M') RETURN count(*), min(a.d)
MATCH (a)-->(b) WHERE a.d < b.d RETURN count(*), max(b.d)
MATCH (a)-->(b) WHERE duration.inDays(a.d, b.d).days > 100 RETURN count(*)
MATCH (a)-->(b)<--(c) WHERE a.d = c.d AND a <> c RETURN count(*)
MATCH (a) RETURN a.d.year AS y, a.d.month AS m, count(*) AS n ORDER BY y, m LIMIT 5
MATCH (a) RETURN date.truncate('month', a.d) AS m, count(*) AS n, avg(a.f) ORDER BY m LIMIT 3
MATCH (a) WHERE a.at.hour = 5 RETURN count(*), max(a.at)
MATCH (a)-->(b) WHERE a.at < b.at AND b.at < a.at + duration({days: 30}) RETURN count(*)
MATCH (a), (b:C) WHERE b.at <= a.at AND a.at < b.at + duration({hours: 48}) RETURN count(*)
MATCH (a) RETURN toString(a.d) AS t, count(*) AS n ORDER BY n DESC, t LIMIT 3
MATCH (a) WHERE point.distance(point({x: a.f, y: a.v}), point({x: 0.5, y: 50})) < 10 RETURN count(*)
MATCH (a), (b:C) WHERE point.distance(point({x: a.f, y: a.v}), point({x: b.f, y: b.v})) < 1 RETURN count(*)
MATCH (a) WHERE point.withinBBox(point({x: a.f, y: a.v}), point({x: 0, y: 5}), point({x: 1, y: 9})) RETURN count(*)
MATCH (a) WITH point({longitude: a.f, latitude: a.v - 50}) AS p RETURN max(p.longitude), count(DISTINCT p)
MATCH (a) WHERE 3 IN a.l RETURN count(*), max(size(a.l))
MATCH (a) UNWIND a.l AS x RETURN x, count(*) AS n, max(a.id) ORDER BY n DESC, x LIMIT 5
MATCH (a)-->(b) WHERE any(x IN a.l WHERE x IN b.l) RETURN count(*)
MATCH (a)-->(b) WHERE a.l = b.l RETURN count(*)
MATCH (a), (b:C) WHERE a.id IN b.l RETURN count(*)
MATCH (a) RETURN a.l AS l, count(*) AS n ORDER BY n DESC, l LIMIT 3
MATCH (a) WHERE size(a.l) > 1 RETURN sum(a.l[0] + a.l[-1]), count(a.l[2..])
MATCH (a) RETURN max(reduce(s = 0, x IN a.l | s + x * a.v)), count([x IN a.l WHERE x > a.v | x + 1])
MATCH (a) WITH {v: a.v, s: a.s, l: a.l} AS m RETURN m.v AS v, count(m.s) AS n, max(m.l[0]) ORDER BY v LIMIT 3
MATCH (a)-->(b) WITH a {.v, .s, b: b.id} AS m RETURN count(m.s), max(m.b), sum(m.v)
MATCH (a) WITH a, properties(a) AS p UNWIND keys(p) AS k RETURN k, count(*) AS n ORDER BY k LIMIT 5
MATCH (a)-->(b) WHERE split(a.t, '1')[0] = split(b.t, '1')[0] RETURN count(*)
MATCH (a), (b:C) WHERE toUpper(a.s) = toUpper(b.s) RETURN count(*)
MATCH (a)-->(b)<--(c) WHERE left(a.s, 2) = right(c.s, 2) RETURN count(*)
MATCH (a)-->(b) WHERE a.s + b.s = 's1s2' OR reverse(a.s) = b.s RETURN count(*)
MATCH (a) WHERE a.s =~ 's[1-3].*' RETURN count(*), max(replace(a.t, 't', 'u'))
MATCH (a) RETURN substring(a.t, 1, 2) AS x, count(*) AS n ORDER BY n DESC, x LIMIT 3
MATCH (a) WHERE a.id IN $many RETURN count(*)
MATCH (a)-->(b) WHERE a.id IN $many AND NOT b.id IN $many RETURN count(*)
UNWIND $rows AS row MATCH (a {id: row.id})-->(b) RETURN row.v AS v, count(b) AS n ORDER BY v LIMIT 3
UNWIND $rows AS row MATCH (a) WHERE a.id = row.id AND a.v > row.v RETURN count(*), sum(size(row.l))
UNWIND $rows AS row MATCH (a) WHERE a.id IN row.l AND a.s = 's' + row.v RETURN count(*)
UNWIND $many AS i MATCH (a {id: i}) RETURN count(*), sum(a.v)
"""

_NESTED = """
MATCH (a)-->(b) WITH a, collect(b) AS l UNWIND l AS x MATCH (x)-->(y) RETURN count(*), count(DISTINCT y)
MATCH (a)-->(b) WITH b.v AS v, collect(a) AS l UNWIND l AS x MATCH (x)-->(y) WHERE y.v > v RETURN count(*)
MATCH (a:C)-->(b) WITH collect(DISTINCT b) AS l MATCH (c) WHERE NOT c IN l RETURN count(*)
MATCH (a:C)-->(b) WITH a, collect(b) AS l MATCH (a)--(c) WHERE NOT c IN l RETURN a.id, count(c)
MATCH (a) WITH collect(a) AS l UNWIND range(0, size(l) - 1) AS i WITH l[i] AS x, i RETURN sum(i), count(x.v)
MATCH (a) WHERE EXISTS { (a)-->(b) WHERE NOT EXISTS { (b)-->(c) WHERE c.v > b.v } } RETURN count(*)
MATCH (a) WHERE EXISTS { (a)-->(b) WHERE COUNT { (b)-->(c) WHERE c.v > a.v } > 1 } RETURN count(*)
MATCH (a) RETURN sum(COUNT { (a)-->(b) WHERE EXISTS { (b)-->(c) WHERE c.id <> a.id AND c.v > 50 } })
MATCH (a) WHERE COUNT { (a)--(b) WHERE COUNT { (b)--() } > 2 } > 1 RETURN count(*)
MATCH (a) WHERE a.id < 50 RETURN a.id, COLLECT { MATCH (a)-->(b) RETURN size(COLLECT { MATCH (b)-->(c) RETURN c.v }) AS n ORDER BY n } AS l
MATCH (a) WHERE a.id < 50 RETURN a.id, size([(a)-->(b) WHERE b.v > 20 | [(b)-->(c) WHERE c.v > 50 | c.v + b.v]]) AS n
MATCH (a) WHERE a.id < 50 RETURN a.id, size([(a)-->(b) WHERE size([(b)-->(c) | c]) > 1 | b.id]) AS n
MATCH (a) RETURN max(size([(a)--(b) WHERE size([(b)--(c) WHERE c.v = a.v | c]) > 0 | b]))
MATCH (a) OPTIONAL MATCH (a)-->(b) OPTIONAL MATCH (b)-->(c) OPTIONAL MATCH (c)-->(d) RETURN count(*), count(d)
MATCH (a:C) OPTIONAL MATCH (a)-->(b) WHERE b.v > 20 OPTIONAL MATCH (b)-->(c:A) OPTIONAL MATCH (c)-->(d) WHERE d.v > a.v OPTIONAL MATCH (d)-->(e) OPTIONAL MATCH (e)--(f {v: 5}) RETURN count(*), count(c), count(f)
MATCH (a) OPTIONAL MATCH (a)-[r]->(b) WITH a, max(r.w) AS w OPTIONAL MATCH (a)-[q]->(c) WHERE q.w = w RETURN count(c)
MATCH (a) OPTIONAL MATCH (a)-->(b) OPTIONAL MATCH (a)<--(c) WHERE c.v > b.v RETURN count(b), count(c), count(*)
MATCH (a) CALL (a) { MATCH (a)-->(b) RETURN b AS x UNION MATCH (a)<--(b) RETURN b AS x } RETURN count(*), sum(x.v)
MATCH (a) CALL (a) { MATCH (a)-->(b) RETURN b.v AS x UNION ALL MATCH (a)-->()-->(b) RETURN b.v AS x } RETURN x, count(*) AS n ORDER BY n DESC, x LIMIT 3
MATCH (a) CALL (a) { CALL (a) { MATCH (a)-->(b) RETURN max(b.v) AS m } MATCH (a)-->(c {v: m}) RETURN count(c) AS n } RETURN sum(n)
MATCH (a) CALL (a) { MATCH (a)-->(b) CALL (b) { MATCH (b)-->(c) RETURN count(c) AS n } RETURN sum(n) AS m } RETURN max(m), sum(m)
MATCH (a) CALL (a) { OPTIONAL MATCH (a)-->(b) WITH b ORDER BY b.v, b.id LIMIT 2 RETURN collect(b.v) AS l } RETURN max(size(l)), count(*)
OPTIONAL MATCH (a {id: -5}) OPTIONAL MATCH (a)-->(b) OPTIONAL MATCH (b)-->(c) RETURN count(*), count(c)
MATCH (a)-->(b) WITH a, b.v AS v ORDER BY v DESC, b.id WITH a, collect(v)[0..2] AS top UNWIND top AS x RETURN sum(x), count(*)
MATCH (a) WITH a.v AS v, collect(a) AS l WHERE size(l) > 1 UNWIND l AS x UNWIND l AS y WITH x, y WHERE x.id < y.id RETURN count(*)
MATCH (a)-->(b) WITH a, count(*) AS d ORDER BY d DESC, a.id LIMIT 10 MATCH (a)-->(c)<--(e) RETURN a.id, count(e) AS n
"""  # noqa: E501 (one a line)

_PATTERNS = """
MATCH (a) ((x)-[:R]->(y)-[:S]->(z)){1,2} (b) RETURN count(*)
MATCH (a) ((x)-->(y)<--(z) WHERE x.v < z.v){1,2} (b) RETURN count(*)
MATCH (a {id: 0}) ((x)-->(y)-->(z) WHERE y.v > 20)+ (b) RETURN count(DISTINCT b)
MATCH (a:C) ((x)-[r]->(y) WHERE EXISTS { (y)-->(:B) })* (b) RETURN count(DISTINCT b)
MATCH (a {id: 0}) ((x)-->(y)){1,3} (b) WHERE all(n IN y WHERE n.v > 20) RETURN count(*), sum(size(y))
MATCH (a)((x)-->(y)){2}(b) WHERE x[0].v = y[1].v RETURN count(*)
MATCH p = ANY SHORTEST (a {id: 0}) ((x)-->(y)-->(z) WHERE y.v > 3)+ (b) RETURN count(*), max(length(p))
MATCH p = SHORTEST 2 (a {id: 0})--+(b {id: 20}) RETURN length(p), count(*)
MATCH p = SHORTEST 5 (a {id: 5})-->+(b) WHERE b.id < 50 RETURN count(*), sum(length(p))
MATCH p = SHORTEST 2 GROUPS (a {id: 3})--{1,5}(b) RETURN count(*)
MATCH p = ANY SHORTEST (a:C)-[:R|S]-+(b:C) WHERE a <> b RETURN count(*), sum(length(p))
MATCH p = shortestPath((a)-[*]-(b)) WHERE a.v = 3 AND b.v = 4 RETURN count(*), sum(length(p)), sum(size(nodes(p)))
MATCH (a), (b) WHERE a.v = 3 AND b.v = 4 MATCH p = shortestPath((a)-[*]-(b)) RETURN count(*), sum(reduce(s = 0, n IN nodes(p) | s + n.v))
MATCH p = shortestPath((a)-[*]->(b)) WHERE id(a) = 0 AND id(b) = 9 RETURN length(p)
MATCH p = shortestPath((a)-[*]-(b {t: 't77'})) WHERE a.t = 't3' RETURN length(p)
MATCH (a)-[r]->(b) WHERE id(r) = 5 RETURN a.id, b.id
MATCH (a)-[r]->(b) WHERE elementId(r) = '5' RETURN a.id, b.id
MATCH ()-[r]-() WHERE id(r) IN [1, 2, 3] RETURN count(*), sum(r.k)
UNWIND [1, 4, 6] AS i MATCH (a)-[r]->(b) WHERE id(r) = i RETURN i, a.id, b.id
MATCH (a) WHERE id(a) IN $many RETURN count(*)
MATCH (a)--(b)--(c)--(a), (a)--(d)--(b), (c)--(d), (a)--(e)--(b), (c)--(e)--(d) RETURN count(*)
MATCH (a)-->(b)-->(c)-->(d)-->(e)-->(f)-->(a) RETURN count(*)
MATCH (a)--(b)--(c)--(d)--(e)--(f)--(a) WHERE a.v < d.v RETURN count(*)
MATCH (a:!(A|C))-->(b:!B) RETURN count(*)
MATCH (a:A&!C)-[:!R]->(b:%) WHERE NOT b:C RETURN count(*)
MATCH (a)-->(b) WHERE (a:A OR b:A) AND NOT (a:C AND b:C) RETURN count(*)
MATCH (a) WHERE COUNT { (a)-->() } = COUNT { (a)<--() } RETURN count(*)
MATCH (a)-->(b) WHERE COUNT { (a)-->() } = 1 AND COUNT { (b)<--() } = 1 RETURN count(*), count(DISTINCT a)
MATCH (a) WHERE COUNT { (a)--() } > 3 AND COUNT { (a)--(:A) } < 3 RETURN count(*)
MATCH (a)-->(b)<--(c) WHERE a.v = c.v OR a.s = c.s RETURN count(*)
MATCH (a)-->(b)<--(c) WHERE (a.v = c.v OR a.f = c.f) AND a.id < c.id RETURN a.v, count(*)
MATCH (a)-->(b)<--(c) WITH DISTINCT a, c RETURN count(*)
MATCH (a)--(b)--(c) WHERE a.v < 5 WITH DISTINCT a, c RETURN count(*), sum(c.v)
MATCH (a)-->(b), (a)-->(c) WHERE b.v < c.v AND NOT (b)--(c) RETURN count(*)
MATCH (a)-->(b), (c)-->(b), (a)-->(d), (c)-->(d) WHERE a.id < c.id AND b.id < d.id RETURN count(*)
MATCH (a)-[r]-(b) WHERE startNode(r) = a AND endNode(r).v > 50 RETURN count(*), sum(r.k)
MATCH (a)-[*]-(b) WHERE a.id = 0 AND b:C RETURN count(DISTINCT b)
"""  # noqa: E501 (one a line)

WRITES = tuple(
    """
MATCH (a) WHERE a.v < 10 SET a.w = a.v + 1 WITH count(*) AS n MATCH (b) WHERE b.w > 3 RETURN n, count(*), sum(b.w)
MATCH (a)-->(b) WHERE a.v > 90 CREATE (a)-[:N {k: b.v}]->(b) WITH count(*) AS n MATCH (c)-[:N]->(d) RETURN n, count(*)
UNWIND $rows AS row MERGE (a:M {id: row.id}) SET a.v = row.v, a.l = row.l RETURN count(*), sum(size(a.l))
UNWIND $rows AS row MATCH (a {id: row.id}) SET a += {v: row.v, z: row.l[0]} WITH a MATCH (a)-->(b) RETURN count(b)
MATCH (a:C) WITH collect(a) AS l FOREACH (x IN l | SET x.z = 1 CREATE (x)-[:F]->(:G)) WITH l MATCH (x)-[:F]->(y:G) RETURN count(y)
MATCH (a)-[r]->(b) WHERE r.k < 2 DELETE r WITH count(*) AS n MATCH (a)-->(b) RETURN n, count(*)
MATCH (a) WHERE a.v = 3 DETACH DELETE a WITH count(*) AS n MATCH (a)-->(b) RETURN n, count(*), count(DISTINCT a)
MATCH (a:A) WHERE a.v > 50 SET a:Big REMOVE a:A WITH count(*) AS n MATCH (a:Big)-->(b:!A) RETURN n, count(*)
MATCH (a)-->(b) WITH b, count(*) AS d SET b.d = d WITH max(d) AS m MATCH (c {d: m}) RETURN m, count(*)
MATCH (a)-->(b) WHERE a.id < 50 MERGE (b)-[r:N]->(a) ON CREATE SET r.k = 1 ON MATCH SET r.k = 2 RETURN count(DISTINCT r), sum(r.k)
MATCH (a) WHERE a.v < 20 CALL (a) { CREATE (a)-[:H]->(h:H {v: a.v}) RETURN h } WITH h MATCH (h)<--(b) RETURN count(*)
MATCH (a) CALL (a) { SET a.z = a.v } IN TRANSACTIONS OF 1000 ROWS
""".strip().splitlines()  # noqa: E501 (one a line)
)
"""Statements that change the graph and read it afterwards."""

_EITHER_WAY = {
    "path of 3": "(a)-[r]-(b)-[q]-(c)",
    "path of 5": "(a)-[r]-(b)-[q]-(c)--(d)--(e)",
    "claw": "(a)-[r]-(b), (a)-[q]-(c), (a)--(d)",
    "triangle": "(a)-[r]-(b)-[q]-(c)--(a)",
    "triangle and tail": "(a)-[r]-(b)-[q]-(c)--(a)--(d)",
    "4-cycle": "(a)-[r]-(b)-[q]-(c)--(d)--(a)",
    "4-clique": "(a)-[r]-(b)-[q]-(c)--(d)--(a), (a)--(c), (b)--(d)",
    "two triangles": "(a)-[r]-(b)-[q]-(c)--(a)--(d)--(e)--(a)",
    "5-cycle": "(a)-[r]-(b)-[q]-(c)--(d)--(e)--(a)",
    "prism": "(a)-[r]-(b)-[q]-(c)--(a)--(d)--(e)--(f)--(d), (b)--(e), (c)--(f)",
}
"""Patterns of which all relationships may be taken either way."""

_ASKED = """
MATCH {} RETURN count(*)
MATCH {} WHERE a.v < c.v RETURN count(*)
MATCH {} WHERE r.k < q.k RETURN count(*)
MATCH {} RETURN a.v, count(*), sum(q.k)
MATCH {} WITH DISTINCT a, c RETURN count(*)
MATCH (a:C) OPTIONAL MATCH {} RETURN a.id, count(c)
MATCH (a)-->(z) WHERE EXISTS {{ {} }} RETURN count(*)
MATCH (a:A) RETURN sum(COUNT {{ {} }})
""".strip().splitlines()

READS = {
    kind: tuple(texts.strip().splitlines())
    for kind, texts in {
        "fixed": _FIXED,
        "subqueries": _SUBQUERIES,
        "walks": _WALKS,
        "shortest": _SHORTEST,
        "rows": _ROWS,
        "values": _VALUES,
        "nested": _NESTED,
        "patterns": _PATTERNS,
    }.items()
} | {"either way": tuple(text.format(pattern) for pattern in _EITHER_WAY.values() for text in _ASKED)}

CHANGES = (
    "MATCH (a {id: 3}) CREATE (a)-[:R {k: 3}]->(:A {id: -1, v: 5}) RETURN count(*)",
    "MATCH (a)-[r:S]->(b) WHERE r.k = 4 DELETE r RETURN count(*)",
    "MATCH (a:A) SET a.v = 50 RETURN count(*)",
    "MATCH (a)-->(b) WHERE a.id < 100 MERGE (b)-[:N]->(a) RETURN count(*)",
    "MATCH (a {id: 0}) DETACH DELETE a RETURN count(*)",
)
"""Statements that change a graph; all that reads is asked again after the last."""
