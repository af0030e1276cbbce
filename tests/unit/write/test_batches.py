"""Steps carried out for many rows at once do what they do row by row: graphs, rows, counts and errors are the same."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from qengine import Graph
from qengine.errors import OutOfMemory, QengineError
from qengine.plan.physical import ThetaJoin
from qengine.plan.traverse import nodes_of
from qengine.temporal import Date
from qengine.write import batch_changes, batch_names, batch_steps, bodies, live, overlay, reading, steps, versions
from qengine.write.column_values import Unbatched
from tests.unit.write.random_steps import merge_of_a_path, settings_of

ROWS: list[dict[str, Any]] = [
    {"id": 1, "name": "one", "tags": ["a", "b"], "x": 1.5, "props": {"p": 1, "q": "x"}},
    {"id": 2, "name": None, "tags": [], "x": None, "props": {"p": 2, "q": "y"}},
    {"id": 1, "name": "again", "tags": ["b"], "x": 2, "props": {"p": 3, "q": "z"}},
    {"id": 1.0, "name": "as a float", "tags": None, "x": 3, "props": {"p": 4, "q": "x"}},
    {"id": True, "name": "not one", "tags": ["c"], "x": -1, "props": {"p": 5, "q": "x"}},
    {"id": "1", "name": "text", "tags": ["d"], "x": 0, "props": {"p": 6, "q": "x"}},
    {"id": 7, "name": "seven", "tags": ["e"], "x": 9, "props": {"p": 7, "q": "x"}},
    {"id": 5, "name": "new", "tags": ["e"], "x": 9, "props": {"p": 7, "q": "x"}},
]
LINKS = [{"a": a, "b": b, "w": w} for a, b, w in ((1, 2, 1), (1, 2, 2), (2, 1, 1), (1, 1, 1), (7, 1, 3), (1, 2, 1))]
BEGIN = """
CREATE (a:P {id: 1, name: 'first'}), (b:P {id: 1, name: 'second'}), (c:P:Q {id: 7}), (d:Q {id: 2}), (e:P {id: 2}),
(a)-[:R {w: 1}]->(e), (a)-[:R {w: 1}]->(e), (b)-[:R {w: 2}]->(e), (e)-[:S]->(a), (c)-[:Given {w: 1}]->(c)
"""

TOGETHER = [
    "MATCH (n) SET n.x = COUNT { (n)--() }",
    "MATCH (n:P) SET n.x = size([(n)-[:R]->(m) | m.id]), n.y = EXISTS { (n)-[:R]->({id: 2}) } SET n.z = n.x",
    "MATCH (n:P)-[k:R]->(m) SET k.x = COUNT { (m)-->() } + n.id, n += {y: [(m)--(o) WHERE o.id > 1 | o.id][0]}",
    "MATCH (n:P) MERGE (k:K {of: n.id})",
    "MATCH (n:P) MERGE (k:K {of: n.id}) MERGE (n)-[:OF]->(k) RETURN n.name, k.of",
    "MATCH (n:P) CREATE (k:K {of: n.id, x: n.id + 1})",
    "MATCH (n:P) CREATE (k:K {of: n.id})-[:OF {name: toUpper(n.name)}]->(n) SET k.x = n.id + 1",
    "MATCH (n)-[r:R]->(m) MERGE (n)-[k:K {w: r.w}]->(m) RETURN k.w, m.id",
    "UNWIND $rows AS r CREATE (n:P {id: r.id, name: r.name, tags: r.tags})",
    "UNWIND $rows AS r CREATE (n:A:B {id: r.id})-[k:T {x: r.x}]->(m:C {name: toUpper(r.name)}) RETURN n.id, k.x",
    "UNWIND $rows AS r CREATE (n:A)-[:T]->(n)",
    "UNWIND $rows AS r MATCH (p:P {id: r.id}) CREATE (p)-[k:T {x: r.x + 1}]->(:New) RETURN p.name, k.x",
    "UNWIND $rows AS r MATCH (p:P {id: r.id}), (q {id: 2}) CREATE (p)-[:T]->(q)",
    "UNWIND $rows AS r MERGE (p:P {id: r.id})",
    "UNWIND $rows AS r MERGE (p:P {id: r.id}) RETURN r.name, p.name, p.id",
    "UNWIND $rows AS r MERGE (p:Fresh {id: r.id}) ON CREATE SET p.name = r.name ON MATCH SET p.last = r.name",
    "UNWIND $rows AS r MERGE (p:P {id: r.id}) ON MATCH SET p.count = coalesce(p.count, 0) + 1, p.x = r.x",
    "UNWIND $rows AS r MERGE (p:P:Q {id: r.id}) ON CREATE SET p.x = r.x, p.name = r.name",
    "UNWIND $rows AS r MERGE (p:P {id: r.id}) ON CREATE SET p.x = p.id, p.y = p.x, p.z = p.none, p.c = r.name "
    "ON MATCH SET p.n = coalesce(p.n, 0) + 1, p.m = p.n + 1, p.name = r.name",
    "UNWIND $rows AS r MERGE (a:P {id: r.id}) ON CREATE SET a:Other",
    "UNWIND $rows AS r MERGE (a:P {id: r.id}) ON CREATE SET a:Other:P, a.x = a.id ON MATCH SET a:Seen, a.last = a.name",
    "UNWIND $rows AS r MERGE (p:P {id: r.id}) ON CREATE SET p += {x: r.x, y: null} "
    "ON MATCH SET p += {name: null, last: r.name}",
    "UNWIND $links AS r MATCH (a:P {id: r.a}), (b:P {id: r.b}) MERGE (a)-[k:L]->(b) ON CREATE SET k.w = 1, k.v = k.w "
    "ON MATCH SET k.w = k.w + 1",
    "MATCH (n:P) MERGE (n)-[:S]->(x:N {v: n.id}) RETURN n.name, x.v",
    "MATCH (n) MERGE (n)-[k:S]->(x) RETURN type(k), x.id",
    "MATCH (n:P|Q) MERGE (n)<-[:R]-(x:P)",
    "MATCH (n:Q) MERGE (n)-[k:Given]->(x:Q {id: 7}) RETURN n.id, k.w, x.id",
    "MATCH (n)-[k:R]->(m) DELETE k MERGE (n)-[j:R]->(x:Q:P) RETURN count(*)",
    "MATCH (n:Q) SET n:N REMOVE n:Q MERGE (n)<-[j:S]-(x:Q) MERGE (x)<-[:S]-(y:N {id: 1}) RETURN count(*), count(y)",
    "UNWIND $links AS r MATCH (n:P {id: r.a}) MERGE (n)-[k:R]->(x:P {id: r.b}) ON CREATE SET x.name = 'new', "
    "x.x = x.id ON MATCH SET x.last = r.w RETURN n.name, k.w, x.id, x.name",
    "UNWIND $links AS r MATCH (n:P {id: r.a}) MERGE (n)<-[k:S]-(x {w: r.w, id: r.b * 1.0}) "
    "MERGE (x)-[:Y]->(y:Year {of: r.a}) ON MATCH SET y.n = r.w RETURN count(k), count(y)",
    "UNWIND range(1, 20) AS i CREATE (n:$('L' + i % 7) {id: i})-[k:$('T' + i)]->(n) SET n.x = i",
    "UNWIND $rows AS r CREATE (n:P {id: r.id, name: $rows[0].name, all: [1, $rows[2].id]})",
    "MATCH (n) SET n.name = $rows[0].name",
    "UNWIND $rows AS r MERGE (p:P {id: r.id, x: coalesce(r.x, 1)}) ON CREATE SET p.name = r.name",
    "UNWIND $rows AS r MERGE ({id: r.id})",
    "UNWIND $rows AS r CREATE (n:A {p: r.props.p, none: r.props.no.x, sum: r.props.p + 1, y: date('2020').year})",
    "UNWIND $rows AS r MATCH (p:P {id: r.props.p}) SET p.x = CASE r.props.q WHEN 'x' THEN r.x ELSE r.props.p END",
    "UNWIND $rows AS r MERGE (p:P:$(r.props.q) {id: r.id}) ON CREATE SET p.name = r.name RETURN p.id, labels(p), r.x",
    "UNWIND $rows AS r MERGE (p:$('L' + r.props.q) {id: r.id}) ON CREATE SET p:New ON MATCH SET p.n = r.name, p:Seen",
    "UNWIND $rows AS r MATCH (p:P {id: 7}) MERGE (p)-[k:$(r.props.q)]->(:T {of: r.props.q}) RETURN type(k)",
    "UNWIND $links AS r MATCH (a:P {id: r.a}), (b:P {id: r.b}) MERGE (a)-[k:$('L' + r.w)]->(b) "
    "ON CREATE SET k.w = r.w ON MATCH SET k.n = coalesce(k.n, 0) + 1 RETURN type(k), k.n",
    "UNWIND $links AS r MERGE (a:$('L' + r.a) {id: r.a}) MERGE (b:$('L' + r.b) {id: 1}) MERGE (a)-[:$('L' + r.w)]-(b)",
    "UNWIND $rows AS r MERGE (p:P {id: r.id}) SET p.x = r.x",
    "UNWIND $rows AS r MERGE (p:P {id: r.id}) SET p += r.props",
    "UNWIND $rows AS r CREATE (p:P {id: 0}) SET p += r.props SET p.id = r.id",
    "UNWIND $rows AS r CREATE (p:P) SET p.x = r.x SET p.x = null",
    "UNWIND $rows AS r CREATE (p:P {id: r.id}) WITH p MATCH (p) SET p.id = 12 RETURN p.id",
    "UNWIND $rows AS r CREATE (p:P {id: r.id}) DETACH DELETE p",
    "UNWIND $rows AS r CREATE (p:P {id: r.id})-[k:T]->(:End) SET k.x = r.x DELETE k",
    "UNWIND $rows AS r CREATE (p:P {id: r.id}) SET p:Marked REMOVE p:P",
    "UNWIND $rows AS r CREATE (p:P {day: date('2020-01-01'), id: r.id}) RETURN p.day",
    "UNWIND $links AS r MATCH (a:P {id: r.a}), (b:P {id: r.b}) MERGE (a)-[k:R]->(b)",
    "UNWIND $links AS r MATCH (a:P {id: r.a}), (b:P {id: r.b}) MERGE (a)-[k:R {w: r.w}]->(b) RETURN a.name, k.w",
    "UNWIND $links AS r MATCH (a:P {id: r.a}), (b:P {id: r.b}) MERGE (a)-[k:New]->(b) ON CREATE SET k.w = r.w "
    "ON MATCH SET k.n = coalesce(k.n, 0) + r.w",
    "UNWIND $links AS r MERGE (a:F {id: r.a}) MERGE (b:F {id: r.b}) MERGE (a)-[k:L]->(b) ON CREATE SET k.w = r.w "
    "ON MATCH SET k.last = r.w",
    "UNWIND $links AS r MERGE (a:F {id: r.a}) MERGE (b:F {id: r.b}) MERGE (a)-[k:L]->(b) WITH a, b MATCH (a)--(c) "
    "RETURN a.id, c.id, count(*)",
    "MATCH (p:P) WITH p ORDER BY p.id CREATE (p)-[:T]->(:New) SET p.seen = true",
    "MATCH (p:P) SET p.id = 1 MERGE (q:P {id: 1}) RETURN q.name",
    "UNWIND $rows AS r MATCH (p:P {id: r.id}) SET p.x = r.x",
    "UNWIND $links AS r MATCH (p:P {id: r.b}) SET p.w = r.w, p += {v: r.w}",
    "UNWIND $rows AS r MATCH (p:P {id: r.id}) SET p.name = r.name, p.last = p.name",
    "UNWIND $rows AS r MATCH (p:P {id: r.id}) SET p += {x: r.x, name: 'new', y: null}",
    "UNWIND $rows AS r MATCH (p:P {id: r.id}) SET p:Seen:P REMOVE p:Q RETURN labels(p), r.name",
    "UNWIND $rows AS r MATCH (p:P {id: r.id}) REMOVE p.name RETURN p.name",
    "UNWIND [1, 2, 7] AS i MATCH (p:P {id: i}) SET p.x = p.id + i, p.y = p.x * 2, p += {x: p.y, y: p.x}",
    "UNWIND $rows AS r MATCH (p:P {id: r.id}) DETACH DELETE p",
    "UNWIND $rows AS r MATCH (p:P {id: r.id}) SET p.tags = r.tags",
    "MATCH (n) WHERE n.id < 5 SET n:Active",
    "MATCH (n) SET n:Active SET n:P REMOVE n:Q SET n:Q REMOVE n:Active RETURN labels(n)",
    "MATCH (n) REMOVE n:P WITH n MATCH (m:P) RETURN count(m)",
    "MATCH (n) SET n:Q WITH count(*) AS c MATCH (m:Q) RETURN m.id, c",
    "MATCH (n) SET n.x = n.id",
    "MATCH (n) SET n.x = n.id + 1 SET n.y = n.x + 1 RETURN n.x, n.y",
    "MATCH (n) SET n.id = n.id + 1",
    "MATCH (n) SET n.id = n.id + 1 WITH n MATCH (m {id: 2}) RETURN m.name, n.name",
    "MATCH (n) SET n.name = CASE WHEN n.id = 1 THEN null ELSE 'other' END",
    "MATCH (n) SET n.name = CASE WHEN n.id = 1 THEN n.id ELSE 'other' END RETURN n.name",
    "MATCH (n) SET n.x = CASE n.id WHEN 1 THEN 1 WHEN 2 THEN 1.5 ELSE null END, n.y = CASE n.id WHEN 1 THEN null "
    "ELSE 'text' END",
    "MATCH (n) SET n.x = 1.5, n.y = 'text', n.z = null, n.name = null",
    "MATCH (n) SET n += {x: n.id, id: n.id * 2, name: null} RETURN n.x, n.id, n.name",
    "MATCH (n) REMOVE n.name, n.id, n.none",
    "MATCH (n) REMOVE n.name SET n.name = 'again' REMOVE n.name",
    "MATCH (n)-[k]->(m) SET k.x = n.id + m.id, n.x = m.id",
    "MATCH (n)-[k]->(m) SET k.w = k.w + 1, k.none = null RETURN k.w, n.id",
    "MATCH (n)-[k]->(m) SET m.x = m.id",
    "MATCH ()-[k]->() DELETE k",
    "MATCH ()-[k]->() DELETE k RETURN type(k)",
    "MATCH (n)-[k]->() DELETE k, n",
    "MATCH (n)-[k]-() DELETE k WITH n MATCH (n)-[l]-() RETURN count(l)",
    "MATCH (n)-[k:R]->() DELETE k WITH n, k OPTIONAL MATCH (n)-[l]-() RETURN type(k), count(l)",
    "MATCH (n) DETACH DELETE n",
    "MATCH (n:P) DETACH DELETE n",
    "MATCH (n:P) DELETE n DETACH DELETE n",
    "MATCH (n:P) WHERE n.id = 1 DETACH DELETE n WITH count(*) AS c MATCH (m) RETURN m.id, c",
    "MATCH (n) WHERE NOT (n)--() DELETE n",
    "MATCH (n) OPTIONAL MATCH (n)-[k:S]->(m) SET m.x = 1, k.y = 2 DELETE k",
    "MATCH (n) SET n.x = 1 WITH n MATCH (n)-[k]->(m) SET k.x = n.x + m.x DELETE k CREATE (n)-[:T]->(m)",
    "MATCH (n) SET n.x = n.id WITH n ORDER BY n.x MERGE (q:P {x: n.x}) ON MATCH SET q.seen = true",
    "MATCH (n) SET n.x = n.id, n:Active WITH n MATCH (n) WHERE n.x = 1 SET n.y = n.x DETACH DELETE n",
    "MATCH (a:P) CREATE (b:New {x: a.id})-[:T]->(a) SET b:Made, a:Old DETACH DELETE a",
    "UNWIND $rows AS r CREATE (n:$(coalesce(r.tags, ['Q']))) RETURN labels(n)",
    "UNWIND $rows AS r MATCH (p:P {id: r.id}) SET p = {x: r.x, new: 1} RETURN p.id, p.x, p.new",
    "UNWIND $rows AS r MATCH (p:P {id: r.id}) SET p = r.props RETURN p.p, p.name",
    "UNWIND $rows AS r MERGE (p:P {id: r.id}) SET p = r.props SET p.id = r.id",
    "UNWIND $rows AS r CREATE (p:P {id: r.id, old: r.name}) SET p = {name: r.name} RETURN p.id, p.name, p.old",
    "UNWIND $rows AS r CREATE (p:P {id: r.id, name: r.name}) SET p += {name: r.x, more: r.name} RETURN p.name",
    "UNWIND [{id: 2, m: {x: 1, name: null}}, {id: 7, m: {}}] AS r MATCH (p {id: r.id}) SET p += r.m RETURN p.x, p.id",
    "UNWIND [{m: {x: 1, name: null}}, {m: {name: 'a'}}, {m: {x: null}}] AS r CREATE (p:P {x: 0, name: 'b'}) "
    "SET p += r.m RETURN p.x, p.name",
    "MATCH (n) SET n = {x: n.id} RETURN n.x, n.name",
    "MATCH (n) SET n = {}",
    "MATCH (n)-[k]->(m) SET k = {v: k.w, w: 'text'} SET k.x = k.v RETURN k.w, k.v, k.x",
    "MATCH (n)--(m) SET n = {seen: 1} RETURN n.seen",
    "MATCH (n) WHERE n.name IS NOT NULL SET n:$(n.name)",
    "MATCH (n) SET n:$('L' + n.id) SET n.x = n.id REMOVE n:$('L' + n.x) RETURN labels(n)",
    "MATCH p = (n)-[:S]->(m) DETACH DELETE p",
    "MATCH p = (n)--() DELETE p",
    "MATCH p = (n:P)-[:R]->() DETACH DELETE p, n",
    "MATCH (n) FOREACH (x IN [n.id, 7] | SET n.x = x)",
    "MATCH (n:P) FOREACH (x IN [1, 2] | CREATE (n)-[:T {x: x}]->(:New {y: x}))",
    "UNWIND $rows AS r FOREACH (t IN r.tags | MERGE (:Tag {name: t}))",
    "UNWIND $rows AS r MATCH (p:P {id: r.id}) FOREACH (t IN r.tags | MERGE (k:Tag {name: t}) MERGE (p)-[:HAS]->(k))",
    "UNWIND $rows AS r FOREACH (t IN r.tags | FOREACH (u IN [t, 'u'] | MERGE (k:Tag {name: u}) SET k.seen = true))",
    "MATCH (n:P) WITH collect(n) AS l FOREACH (a IN l | FOREACH (b IN l | MERGE (:K {of: a.id, to: b.id})))",
    "MATCH (n:P) WITH collect(n) AS l FOREACH (a IN l | FOREACH (b IN l | MERGE (a)-[:T]->(:K {of: b.id})))",
    "MATCH (n:P) WITH collect(n) AS l FOREACH (a IN l | FOREACH (b IN l | MERGE (a)-[k:T {w: b.id}]->(b) "
    "ON CREATE SET k.x = a.name ON MATCH SET k.y = b.name))",
    "UNWIND $rows AS r FOREACH (p IN [r.props] | CREATE (n:New:$(p.q) {id: r.id}) SET n.x = p.p)",
    "MATCH (n) WITH collect(n) AS all UNWIND [1, 2] AS i FOREACH (n IN all | SET n:Found)",
    "MATCH p = (n)-[]->(m) FOREACH (k IN relationships(p) | SET k.seen = 1)",
    "UNWIND $rows AS r CALL (r) { CREATE (:New {id: r.id}) }",
    "UNWIND $rows AS r CALL (r) { MATCH (p:P {id: r.id}) CREATE (p)-[:T]->(n:New {x: r.x}) RETURN n.x AS x, p } "
    "RETURN r.name, x, p.id",
    "UNWIND $rows AS r CALL (r) { MERGE (p:P {id: r.id}) SET p.x = r.x }",
    "UNWIND $rows AS r CALL (r) { MERGE (p:P {id: r.id}) ON CREATE SET p.new = true RETURN p } RETURN p.id, r.name",
    "UNWIND $rows AS r CALL (r) { UNWIND r.tags AS t MERGE (k:Tag {name: t}) RETURN k } RETURN r.name, k.name",
    "UNWIND $rows AS r CALL (r) { WITH r, r.x AS x WHERE x > 1 CREATE (:New {id: r.id, x: x}) }",
    "UNWIND $rows AS r CALL { WITH r MATCH (p:P {id: r.id}) SET p:New REMOVE p.name }",
    "UNWIND $rows AS r CALL (r) { MERGE (p:P {id: r.props.p}) SET p += r.props }",
    "UNWIND $links AS r CALL (r) { MERGE (p:P {w: r.w}) SET p += r RETURN p } RETURN p.a, p.w, r.b",
    "MATCH (n) CALL (n) { SET n.x = n.id }",
    "MATCH (n) CALL (n) { SET n.x = n.id + 1, n.y = n.name }",
    "MATCH (n)-[r]->(m) CALL (n, m) { SET n.x = coalesce(n.x, 0) + 1 SET m.seen = n.id } RETURN n.x, m.seen",
    "MATCH (n)-[r]->(m) CALL (n, r, m) { SET r.w = r.w + n.id, r.name = m.name }",
    "OPTIONAL MATCH (n:Nobody) CALL (n) { SET n.x = n.id }",
    "MATCH (n) SET n.id = n.id + 1 WITH n CALL (n) { SET n.y = n.id }",
    "CREATE (:P {id: 9}) WITH * MATCH (n) CALL (n) { SET n.z = n.id, n.last = n.name }",
    "UNWIND $rows AS r CALL (r) { MATCH (p:P {id: r.id}) SET p.x = p.name }",
    "UNWIND $rows AS r OPTIONAL CALL (r) { MATCH (p:P {id: r.id}) SET p.x = 1 RETURN p } RETURN r.id, p.name",
    "UNWIND $rows AS r OPTIONAL CALL (r) { WITH r WHERE r.x > 100 CREATE (p:P) RETURN p, r.x AS x } RETURN r.id, p, x",
    "UNWIND $rows AS r OPTIONAL CALL (r) { MERGE (p:Fresh {id: r.id}) } RETURN r.id",
    "UNWIND $rows AS r CALL (r) { MATCH (p:P {id: r.id}) SET p.x = r.x RETURN count(p) AS c } RETURN r.name, c",
    "UNWIND $rows AS r CALL (r) { UNWIND r.tags AS t MERGE (k:Tag {name: t}) RETURN collect(k.name) AS l, count(*) AS c"
    " } RETURN r.name, l, c",
    "UNWIND $rows AS r CALL (r) { UNWIND r.tags AS t MERGE (k:Tag {name: t}) RETURN t = 'b' AS b, "
    "count(DISTINCT t) AS c } RETURN r.name, b, c",
    "UNWIND $rows AS r CALL (r) { UNWIND [1, 2, 2] AS x WITH r, max(x) AS m, sum(DISTINCT x) AS s CREATE "
    "(:P {id: m, s: s + r.x}) }",
    "UNWIND $rows AS r OPTIONAL CALL (r) { MATCH (p:P {id: r.id}) SET p.x = 1 WITH count(*) AS c WHERE c > 1 RETURN c "
    "} RETURN r.name, c",
    "MATCH (n) CALL (n) { DETACH DELETE n }",
    "UNWIND $links AS r CALL (r) { MATCH (a:P {id: r.a}) MATCH (b:P {id: r.b}) MERGE (a)-[k:New]->(b) SET k.w = 1 }",
    "MATCH (n:P) CALL (n) { MATCH (n)-[:R]->(m) SET m.x = n.id + m.id }",
    "MATCH (n) CALL (n) { MATCH (n)-[k:R|S]-(m) WHERE m.id = 2 OR k.w = 1 SET k.x = n.id + m.id, m.last = m.id "
    "RETURN k, m } RETURN n.id, k.x, m.last",
    "MATCH (n) OPTIONAL CALL (n) { MATCH (n)-[k]->(m:P) SET k.x = n.id, m.y = m.id RETURN m.id AS m } RETURN n.name, m",
    "MATCH (n) CALL (n) { OPTIONAL MATCH (n)-[:S]->(m) SET n.any = m IS NOT NULL, m.of = n.id RETURN m } RETURN m.of",
    "MATCH (n) CALL (n) { MATCH (n)<-[k:R]-(m) WITH n, sum(k.w) AS s, collect(m.name) AS l SET n.s = s, n.l = l }",
    "MATCH (n:P) CALL (n) { MATCH (n)-[:R]->(m) MATCH (m)-[:S]->(o) WHERE o.id = n.id CREATE (n)-[:T {x: m.id}]->(o) }",
    "MATCH (n:P) CALL (n) { MATCH (n)-[:R|S*1..2]->(m) WITH DISTINCT n, m.id AS i SET n.far = n.id, n.i = i > 0 }",
    "UNWIND $rows AS r CALL (r) { MATCH (n:P {id: r.id})-[k:R]->(m) SET k.name = r.name SET m.x = r.id }",
    "UNWIND $links AS r CALL (r) { MATCH (a {id: r.a})-[k]->(b {id: r.b}) WHERE k.w < r.w + 1 SET k += {v: r.w} "
    "RETURN k.w AS w } RETURN r.a, w",
    "UNWIND $rows AS r CALL (r) { MATCH (n)-[:R]->(), (q:Q) WHERE n.id = r.id AND q.id <= r.x SET q.got = n.name }",
    "MATCH (n:P) CALL (n) { WITH n WHERE n.id = 1 MATCH (n)-[k:R]->(m) CREATE (n)-[:OF {of: k.w}]->(m) }",
    "UNWIND $rows AS r CALL (r) { MATCH (p:P) SET p.n = coalesce(p.n, 0) + 1 RETURN count(p) AS c } RETURN r.x, c",
    "MATCH (a)-[k]->(b) CALL (k, b) { MATCH (x)-[k]->(b) SET x.mark = b.id }",
]

ORDERED = [
    "UNWIND $links AS r CALL (r) { MERGE (a:P {id: r.a}) MERGE (b:P {id: r.b}) MERGE (a)-[:T]->(b) RETURN a, b } "
    "RETURN a.id, a.name, b.id, b.name",
    "UNWIND $rows AS r CALL (r) { MATCH (p:P {id: r.id}) DETACH DELETE p }",
    "UNWIND $rows AS r CALL (r) { MATCH (p:P) WHERE p.id >= r.x DETACH DELETE p }",
    "UNWIND $rows AS r CALL (r) { OPTIONAL MATCH (p:P {id: r.id}) DETACH DELETE p }",
    "UNWIND $rows AS r CALL (r) { MATCH (p:P) WHERE p.id IN [r.id, 7] WITH p ORDER BY p.id DESC, p.name LIMIT 1 "
    "SET p.seen = r.name RETURN p.name AS n } RETURN r.name, n",
    "MATCH (n:P) CALL (n) { MATCH (n)-[k:R]-(m) WITH DISTINCT n, m ORDER BY m.id, m.name SKIP 1 LIMIT 2 "
    "CREATE (n)-[:To]->(:K {of: m.id}) }",
    "MATCH (n) CALL (n) { MATCH (n)-[:R]-(m) WITH n, m.id AS i, count(*) AS c ORDER BY c DESC, i LIMIT 1 "
    "SET n.most = i }",
    "UNWIND $rows AS r CALL (r) { UNWIND r.tags AS t WITH t ORDER BY t DESC SKIP 0 LIMIT 1 CREATE (:Tag {t: t}) "
    "RETURN t AS x ORDER BY x LIMIT 1 } RETURN r.name, x",
    "UNWIND $rows AS r OPTIONAL CALL (r) { MATCH (p:P {id: r.id}) WITH p ORDER BY p.name LIMIT 1 SET p.last = r.x "
    "RETURN p.name AS n } RETURN r.name, n",
]
PATHS = [
    "UNWIND $links AS r MATCH (n:P {id: r.a}) MERGE (n)-[k:S {w: r.w}]-(x:N {w: r.w}) RETURN k.w",
    "UNWIND $links AS r MATCH (n:P {id: r.a}) MERGE (n)-[k:S]->(x:N {w: r.w}) ON MATCH SET k.n = r.b, x.last = r.w",
    "UNWIND $links AS r MATCH (a:P {id: r.a}), (b:P {id: r.b}) MERGE (a)-[k:R]-(b) RETURN k.w",
    "UNWIND $links AS r MATCH (a:P {id: r.a}), (b:P {id: r.b}) MERGE (a)-[k:R {w: r.w}]-(b) ON MATCH SET k.n = r.a",
    "UNWIND $links AS r MERGE (a:P {id: r.a})<-[k:R]-(b:Q {id: r.b}) ON CREATE SET a.x = r.w, k.w = r.w RETURN b.id",
    "UNWIND $links AS r MATCH (n:P {id: r.a}) MERGE (n)-[:R]->(x:N {w: r.w})-[k:S {w: r.b}]->(:P {id: r.b}) RETURN k.w",
    "UNWIND $links AS r MATCH (a:P {id: r.a}), (b:P {id: r.b}) MERGE (a)-[:R]->(x)<-[k:S]-(b) ON MATCH SET x.seen = 1",
    "MATCH (n:P) MERGE (k:P {id: n.id})-[:OF]->(n)",
    "MATCH (n) CALL (n) { MATCH (n)-[k]-() DELETE k }",
    "MATCH (n:P) CALL (n) { MATCH (n)-[k:R {w: 1}]->(m {id: 2}) WHERE n.id < m.id DELETE k }",
    "MATCH (n) CALL (n) { OPTIONAL MATCH (n)-[k]-() DELETE k, n }",
    "MATCH (n:P), (m) CALL (n, m) { OPTIONAL MATCH (n)-[k:R]->(m) DELETE k DETACH DELETE n }",
    "MATCH (n:Q) DETACH DELETE n WITH n MATCH (m:P) CALL (m) { MATCH (m)-[:R|S]->(o) SET o.x = m.id }",
]
"""Which way a relationship runs that is merged either way goes by the order of rows."""

BATCHED = TOGETHER + ORDERED + PATHS
"""Statements with at least one step that can be carried out together."""

# What numbers elements get depends on how they are made: not after other statements.
BY_IDENTITY = [
    "UNWIND [3, 0, 0, null, 9, '1', 1.0, true, 1.5, -1] AS i MATCH (n) WHERE id(n) = i SET n.x = i, n.y = 1",
    "UNWIND ['3', '0', '00', 'x', null, '4', 1] AS i MATCH (n:P) WHERE elementId(n) = i SET n.got = i, n:Got",
    "UNWIND range(1, 9) AS i MATCH (n:P|Q), (m {id: 7}) WHERE i = id(n) SET n.x = 7",
    "UNWIND range(0, 9) AS i MATCH (n) WHERE id(n) = i DETACH DELETE n",
    "UNWIND range(0, 99) AS i MATCH (n:!Q) WHERE id(n) = i SET n.found = i",
]

FAILING = [
    "UNWIND $rows AS r CREATE (n:P {id: r.props})",
    "UNWIND $rows AS r CREATE (n:P {id: 1 / (r.id - 1)})",
    "UNWIND $rows AS r CREATE (n:P {id: r.id}) CREATE (m:P {id: r.props + 1})",
    "UNWIND $rows AS r CREATE (n:P {id: r.id.x})",
    "UNWIND $rows AS r MERGE (n:P {name: r.name})",
    "UNWIND $rows AS r MERGE (n:P {id: r.id}) ON CREATE SET n.x = r.props",
    "UNWIND $rows AS r MERGE (n:P {id: r.id}) ON MATCH SET n.x = n.name + {}",
    "UNWIND $rows AS r MERGE (n:P {id: r.id}) ON MATCH SET n.x = 1 / (n.id - 1)",
    "UNWIND $rows AS r MERGE (n:P {id: r.id}) ON CREATE SET n.a = 1, n.x = n.a + r.props",
    "UNWIND $rows AS r OPTIONAL MATCH (p:Gone {id: r.id}) CREATE (p)-[:T]->(:New)",
    "UNWIND $rows AS r OPTIONAL MATCH (p:Gone {id: r.id}) MERGE (p)-[:T]->(:New)",
    "UNWIND $rows AS r MATCH (n:P {id: r.id}) MERGE (n)-[:S]->(x:N {v: r.x})",
    "UNWIND $rows AS r MATCH (n:P {id: r.id}) MERGE (n)-[:S]->(x:N {v: r.name}) ON MATCH SET x.p = r.props",
    "MATCH (n:P) DETACH DELETE n MERGE (n)-[:S]->(x:N)",
    "UNWIND $rows AS r MATCH (p:P {id: 7}) DETACH DELETE p CREATE (p)-[:T]->(:New)",
    "UNWIND $rows AS r MATCH (p:P {id: r.id}) SET p.x = [{}]",
    "UNWIND $rows AS r CREATE (p:Unique {id: r.id})",
    "UNWIND $rows AS r CREATE (p:Given {name: r.name})",
    "UNWIND $rows AS r CREATE (:New)-[k:Given {w: r.x}]->(:New)",
    "UNWIND $rows AS r CREATE (p:Typed {id: r.x})",
    "UNWIND $rows AS r MERGE (p:Unique {id: r.id}) SET p.id = 3",
    "UNWIND $rows.id AS r CREATE (p:P)",
    "MATCH (n) SET n.x = 1 / (n.id - 1)",
    "MATCH (n) SET n.x = {}",
    "MATCH (n) SET n.x = n",
    "MATCH (n) DELETE n",
    "MATCH (n) DELETE n CREATE (n)-[:T]->(:New)",
    "MATCH (n) DETACH DELETE n SET n.x = 1",
    "MATCH (n) SET n[substring('a', 1)] = 1",
    "MATCH (n) SET n += $unnamed",
    "MATCH (n)-[k]->() DELETE k SET k.x = 1",
    "MATCH (n) DETACH DELETE n SET n:Gone",
    "MATCH ()-[k]->() SET k:Label",
    "MATCH (n) SET n.id = 1, n:Unique",
    "MATCH (n:P) SET n:Unique",
    "MATCH (n) SET n:Given REMOVE n.name",
    "MATCH ()-[k:Given]->() REMOVE k.w",
    "MATCH (n) SET n:$(n.name)",
    "UNWIND $rows AS r CREATE (n:$(r.x))",
    "UNWIND $rows AS r CREATE (:P)-[:$(r.tags)]->(:P)",
    "UNWIND $rows AS r MERGE (n:$(r.props.q) {name: r.name})",
    "UNWIND $rows AS r MERGE (n:$(r.name) {id: 1})",
    "UNWIND $rows AS r MATCH (n:P {id: 7}) MERGE (n)-[k:$(r.tags)]->(n)",
    "UNWIND $rows AS r MATCH (p:P {id: r.id}) SET p = {x: [{}]}",
    "MATCH (n:P) SET n = {name: 1 / (n.id - 1)}",
    "MATCH (n) SET n:Typed, n.id = 'text'",
    "UNWIND $rows AS r FOREACH (x IN [r.x] | CREATE (:P {x: 1 / (x - 2)}) CREATE (:P {x: [{}]}))",
    "UNWIND $rows AS r CALL (r) { CREATE (:P {x: r.x}) CREATE (:P {x: 1 / (r.x - 2)}) }",
    "UNWIND $rows AS r CALL (r) { WITH r WHERE 1 / (r.id - 1) > 0 CREATE (:P) }",
]
ROW_BY_ROW = [
    "UNWIND $links AS r CALL (r) { MERGE (a:M {id: r.a}) ON CREATE SET a.x = 1 MERGE (b:M {id: r.b}) "
    "ON MATCH SET b.y = 2 }",
    "UNWIND $links AS r FOREACH (k IN [r.a, r.w] | MERGE (a:M {id: k}) MERGE (b:M {id: r.b}) MERGE (a)-[:T]->(b))",
    "UNWIND $links AS r CALL (r) { MERGE (a:M {id: r.a}) MERGE (b:M {id: r.b, w: r.w}) }",
    "UNWIND $links AS r CALL (r) { MERGE (a:M {id: r.a}) MERGE (b:M:P {id: r.b}) }",
    "MATCH (n:P) MERGE (k:K {of: n.id}) ON CREATE SET k.x = n.name ON MATCH SET k.y = n.name",
    "UNWIND $rows AS r MATCH (p:P {id: r.id, name: r.name}) CREATE (p)-[:T]->(p)",
    "MATCH ()-[k]->() REMOVE k.w",
    "UNWIND [3, 0, 0, null] AS i MATCH (n) WHERE id(n) = i SET n.x = coalesce(n.x, 0) + 1",
    "MATCH (n) OPTIONAL MATCH (n)-[k:S]->(m) SET m:Found REMOVE m.name DETACH DELETE m",
    "UNWIND $rows AS r CREATE (n:Made:$(r.name + 'x') {id: r.id}) RETURN labels(n), n.id",
    "UNWIND $rows AS r CREATE (a:$(r.props.q) {id: r.id})-[k:$(r.props.q) {x: r.x}]->(b:B) RETURN type(k), k.x, a.id",
    "UNWIND $rows AS r MATCH (p:P {id: r.id}) SET p:$(r.props.q):New RETURN labels(p), r.name",
    "UNWIND $rows AS r MATCH (p:P {id: r.id}) REMOVE p:$(['P', r.props.q]):Q RETURN labels(p), r.name",
    "MATCH (n)-[k]->(m) SET k = {x: n.id + m.id}",
    "MATCH (n:P) MERGE (k:P {id: n.id + 1}) ON MATCH SET k.id = k.id + 1",
    "MATCH (n:P) MERGE (k:P {id: n.id}) ON MATCH SET k.id = 12, k.name = n.name RETURN k.id",
    "MATCH (n:P) MERGE (k:P {id: n.id}) ON MATCH SET k += {id: 3}",
    "MATCH (n:P) MERGE (k:P {id: n.id}) ON MATCH SET k = {id: 3} RETURN count(*)",
    "MATCH (n:P) SET n.id = n.id + 1 MERGE (k:P {id: n.id}) RETURN k.name",
    "MATCH (n:P) MERGE (k:P {name: CASE n.id WHEN 1 THEN 'second' WHEN 5 THEN 'first' ELSE '' END}) "
    "ON MATCH SET k.id = 5",
    "MATCH (n:P) CREATE (k:K {of: n.id}), (l:K {of: k.of}) SET l.x = k.of RETURN l.of",
    "MATCH (n:P) MERGE (k:K {of: n.name})",
    "MATCH (n:P) FOREACH (x IN [1, 2] | SET n.x = coalesce(n.x, 0) + x SET n.y = n.x)",
    "UNWIND $rows AS r FOREACH (x IN [r.x] | CREATE (n:P {x: x}) MERGE (m:P {x: x + 1}) SET m.id = x)",
    "UNWIND $rows AS r FOREACH (x IN [r.x] | MERGE (n:P {x: x}) MERGE (m:P {x: 2}))",
    "UNWIND $rows AS r CALL (r) { MATCH (p:P {id: r.id}) CREATE (q:P {id: r.id}) RETURN q } RETURN count(q)",
    "UNWIND $rows AS r CALL (r) { MATCH (p:P {id: r.id}) SET p.id = 2 RETURN p } RETURN p.name",
    "UNWIND $rows AS r CALL (r) { MATCH (p:P {id: r.id}) SET p.name = r.name RETURN p.name AS n } RETURN r.name, n",
    "UNWIND $rows AS r CALL (r) { WITH r WHERE r.x > 1 MATCH (p:P {id: r.id}) SET p:$(r.props.q) REMOVE p.name }",
    "UNWIND $rows AS r CALL (r) { MERGE (p:P {id: r.props.p}) SET p += r.props RETURN p.q AS x } RETURN r.id, x",
    "UNWIND $links AS r CALL (r) { MERGE (p:P {w: r.w}) MERGE (q:P {w: r.a}) SET q += r }",
    "UNWIND $links AS r CALL (r) { MERGE (p:P {w: r.w}) SET p = r }",
    "UNWIND $rows AS r CALL (r) { CREATE (p:P {id: r.id}) WITH p MATCH (q:P) RETURN count(q) AS c } RETURN r.x, c",
    "UNWIND $rows AS r CALL (r) { MATCH (p:P {id: r.id}) SET p.id = 2 RETURN count(p) AS c } RETURN r.name, c",
    "MATCH (n) CALL (n) { SET n.x = n.id + 1, n.id = n.id * 2 SET n.y = n.name }",
    "MATCH (n) CALL (n) { SET n:A REMOVE n:A SET n:B RETURN labels(n) AS l } RETURN l",
    "UNWIND $rows AS r CALL (r) { MERGE (n:A {id: r.id}) SET n:$(r.props.q) MERGE (m:x {id: r.id}) }",
    "MATCH (n:P) CALL (n) { MATCH (n)-[:R]->(m) CREATE (m)-[:R]->(n) }",
    "MATCH (n:P) CALL (n) { MATCH (n)-[]->(m) CREATE (m)-[:New]->(n) }",
    "MATCH (n:P) CALL (n) { MATCH (n)-[:!R]->(m) CREATE (m)-[:New]->(n) }",
    "MATCH (n:P) CALL (n) { MATCH (n)-[:New*0..]->(m) CREATE (m)-[:$('N' + 'ew')]->(n) }",
    "MATCH (n:P) CALL (n) { MATCH (n)-[:R]->(m) WHERE m.x IS NULL SET m.x = n.id }",
    "MATCH (n:P) CALL (n) { MATCH (n)-[k:R {w: 1}]->(m) SET k.w = 2 }",
    "MATCH (n:P) CALL (n) { MATCH (n)-[:R]->(m:P) SET m:Q REMOVE m:P }",
    "MATCH (n:P) CALL (n) { MATCH (n)-[:R]->(m), (q) CREATE (:New) }",
    "MATCH (n:P) CALL (n) { MATCH (n)-[k:R]->(m) DELETE k, m }",
    "MATCH (n) CALL (n) { MATCH (n)-[k]-() DELETE k DELETE n }",
    "MATCH (n) CALL (n) { MATCH (n)-[k]-()-[j]-() DELETE k }",
    "UNWIND $links AS r CALL (r) { MATCH (a:P {id: r.a}), (b:P {id: r.b}) DETACH DELETE a }",
    "MATCH (n:P) CALL (n) { MATCH (m:P) WHERE m.id > n.id DETACH DELETE m }",
    "UNWIND $rows AS r CALL (r) { MATCH (p:P {id: r.id}) WHERE EXISTS { (p)--() } DETACH DELETE p }",
    "MATCH (n) CALL (n) { MATCH (n)-[k]-(m) WHERE EXISTS { (m)-[:R]->() } DELETE k }",
    "MATCH (n) CALL (n) { MATCH (n)-[k]-(m), (q:Q) DELETE k CREATE (:New) }",
    "MATCH (n) CALL (n) { MATCH (n)-[k]-(m) WITH n, k, m SKIP 1 DELETE k }",
    "MATCH (n:P) CALL (n) { MATCH (n)-[:R]->(m) WHERE EXISTS { (m)-[:T]->() } OR n.id = 1 CREATE (m)-[:T]->(n) }",
    "MATCH (n:P) CALL (n) { MATCH (n)-[:R]->(m) SET m.x = n.id WITH m WHERE m.x > 0 SET m.y = 1 }",
    "MATCH (n:P) CALL (n) { MATCH p = (n)-[:R]->(m) SET m.x = length(p) }",
    "UNWIND $rows AS r CREATE (a:P {id: r.id}), (b:P {id: a.id})",
    "UNWIND $rows AS r CREATE (a:P {id: COUNT { (:P) }})",
    "UNWIND $rows AS r MERGE (a:P {id: r.id}) ON CREATE SET a.id = 9",
    "UNWIND $rows AS r MERGE (a:P {id: r.id}) ON CREATE SET a.x = size(labels(a))",
    "UNWIND $links AS r MATCH (n:P {id: r.a}) MERGE (n)-[k:S]->(x:N {w: r.w}) ON MATCH SET k.n = x.w, n.last = r.w",
    "UNWIND $links AS r MATCH (n:P {id: r.a}) MERGE (n)-[:R]->(x:P {id: r.b}) ON MATCH SET x.id = r.a + 1, x.n = x.id",
    "UNWIND $rows AS r MERGE (a:P {id: r.id}) ON CREATE SET a.x = rand(), a.y = a.x REMOVE a.x, a.y",
    "UNWIND $rows AS r MERGE (a:P {id: r.id}) ON MATCH SET a += {x: a.id, y: a.x}, a.z = a.y",
    "UNWIND $rows AS r MATCH (p:P) SET p.n = coalesce(p.n, 0) + 1",
    "UNWIND $rows AS r MATCH (p:P) WHERE p.id = r.id AND p.name = 'first' SET p.x = r.x",
    "MATCH (n)--(m) SET n.id = n.id + 1",
    "MATCH (n)--(m) SET n.id = m.id",
    "MATCH (n:P) SET n.z = 1 SET n.x = COUNT { (n)--({z: 1}) }",
    "MATCH (n:P) SET n:Q SET n.x = COUNT { (n)--(:Q) }, n.y = size([(n)--(m:Q) | m])",
    "MATCH (n:P) SET n.z = 1 SET n.x = COUNT { (n)--(m) WHERE properties(m).z = 1 }",
    "MATCH (n:P) CREATE (n)-[:R]->(:New) SET n.x = COUNT { (n)-->() }",
    "MATCH (n)--(m) SET n.name = null",
    "UNWIND [] AS r CREATE (:P)",
    "UNWIND null AS r CREATE (:P)",
]
BEHIND = [
    "MATCH (n:P) SET n.x = 1 WITH n MATCH (n)-[k]->(m) RETURN n.name, k.w, m.x",
    "MATCH (n:P) SET n.x = 1 WITH n MATCH (n)-[k:R]-(m) SET m.y = coalesce(m.x, 7), k.n = n.id",
    "MATCH (n) SET n:Seen WITH n OPTIONAL MATCH (n)-[k:S]->(m:Seen) RETURN n.name, m.id, type(k)",
    "OPTIONAL MATCH (n:P)-[k:S]->(m) SET m.x = 3 WITH n, k, m MATCH (n) WHERE k IS NULL OR m.x = 3 RETURN n.name, k, m",
    "MATCH (n:P)-[k:R]->(m) SET k.w = 9 WITH k, collect(m) AS l UNWIND l AS m MATCH (m)<-[k]-(n) RETURN n.name, k.w, m",
    "MATCH p = (n:P)-[:R]->() SET n.x = 1 WITH p, nodes(p) AS l MATCH (q:Q) RETURN q.id, [n IN l | n.x], length(p)",
    "UNWIND $rows AS r CREATE (n:New {id: r.id}) WITH n, r MATCH (m:P {id: n.id}) CREATE (n)-[:T {q: r.props.q}]->(m)",
    "UNWIND $rows AS r MERGE (n:P {id: r.id}) SET n += r.props WITH n, r.tags AS t MATCH (n)--(m) RETURN t, m.q, n.q",
    "MATCH (n:P) SET n.x = n.id WITH n MATCH (n)-[:R|S*1..2]->(m) WHERE EXISTS { (m)-[:S]->() } RETURN n.x, m.x",
    "MATCH (n:P) SET n.x = n.id WITH max(n.x) AS x MATCH (m:P {x: x}) SET m.best = x REMOVE m.x RETURN m.best, m.x",
    "MATCH (n:P) SET n.x = 1 WITH n ORDER BY n.id DESC LIMIT 2 MATCH (n)-[k:R]->() DELETE k RETURN n.id, type(k)",
    "MATCH (n:P)-[k]->(m) DELETE k WITH n, m MATCH (n)-[j]->(o) RETURN n.id, j.w, o.id",
    "MATCH (n:P) SET n.x = 1 WITH n MATCH (n)-[k:R]->(m) MERGE (m)-[:T]->(n) WITH m, n MATCH (m)-[:T]->(n) RETURN m.id",
    "MATCH (n:P) SET n.x = 1 WITH n MATCH (n)-[:R]->(m) RETURN 1 / (m.id - 2)",
    "MATCH (n) SET n.x = n.id * 2 WITH n WHERE n.x > 2 SET n:Big WITH n WHERE n:Big AND n:P RETURN n.name, n.x",
    "MATCH (n) SET n.x = n.id WITH n.x AS x, collect(n.name) AS l ORDER BY x RETURN x, size(l)",
    "MATCH (n)-[k]->() SET k.w = 5, n.x = k.w RETURN n.x, k.w, properties(k)",
    "MATCH (n:P) SET n.x = 1 WITH n MATCH (n)-[:R]->(m) WITH count(DISTINCT m) AS c, n WHERE c > 0 RETURN n.name, c",
]
"""What is read behind an update, by the engine where it can be."""
RULES = (
    "CREATE CONSTRAINT FOR (p:Unique) REQUIRE p.id IS UNIQUE",
    "CREATE CONSTRAINT FOR (p:Given) REQUIRE p.name IS NOT NULL",
    "CREATE CONSTRAINT FOR ()-[k:Given]-() REQUIRE k.w IS NOT NULL",
    "CREATE CONSTRAINT FOR (p:Typed) REQUIRE p.id IS :: INTEGER",
)
PARAMS = {"rows": ROWS, "links": LINKS, "unnamed": {"": 1}}
NODES = "MATCH (n) RETURN labels(n) AS l, properties(n) AS p"
RELATIONSHIPS = "MATCH (a)-[k]->(b) RETURN type(k) AS t, properties(k) AS p, properties(a) AS a, properties(b) AS b"


def content(asked: Any) -> list[list[str]]:
    """What is in a graph, or in what a transaction sees: labels and properties have no order."""
    return [sorted(repr(_unordered(row)) for row in asked.query(text).fetchall()) for text in (NODES, RELATIONSHIPS)]


def _unordered(row: Any) -> list[Any]:
    in_order = {dict: lambda each: sorted(each.items()), list: sorted}
    return [in_order.get(type(each), lambda each: each)(each) for each in row]


def _are_texts(value: Any) -> bool:
    """Whether a value is a list of texts, such as labels, which have no order."""
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def outcome(asked: Any, text: str) -> Any:
    try:
        result = asked.query(text, PARAMS)
        rows = [tuple(sorted(each) if _are_texts(each) else each for each in row) for row in result.fetchall()]
        return sorted(map(repr, rows)), result.stats.changes
    except QengineError as error:
        return type(error).__name__, error.code, error.message, error.span


@functools.cache
def base() -> Graph:
    graph = Graph()
    graph.query(BEGIN)
    for rule in RULES:
        graph.query(rule)
    assert graph._store.vertex_count  # what was made is the base of what follows
    return graph


def begun() -> Graph:
    """Return a graph of its own that begins with the same version."""
    return Graph(base()._store)


def use(patch: pytest.MonkeyPatch, least: int) -> None:
    """Carry out so many rows together, and from so many on let the engine read them."""
    patch.setattr(versions, "_LEAST_FEW", 0)  # each version that was read is the base of what follows
    patch.setattr(steps, "LEAST", least)
    patch.setattr(batch_changes, "PATCHED", least)
    patch.setattr(batch_steps, "_ROUND", least)
    patch.setattr(batch_names, "_ROWS_EACH", min(least, 16))
    patch.setattr(reading, "_SMALL", -1 if least == 1 else 1_000_000)
    patch.setattr(reading, "_GIVEN", 0 if least == 1 else 1_000_000)


def results(patch: pytest.MonkeyPatch, least: int, text: str, after_first: Callable[[], None] = lambda: None) -> Any:
    """What a statement does to a graph, twice in one transaction and once more after it."""
    use(patch, least)
    graph = begun()
    found = []
    with graph.transaction() as transaction:
        found.append((outcome(transaction, text), content(transaction)))
        after_first()
        found.append((outcome(transaction, text), content(transaction)))
    found.append((outcome(graph, text), content(graph)))
    return found


def noted(own: Callable[..., Any], done: list[str]) -> Callable[..., Any]:
    def called(*args: Any, **named: Any) -> Any:
        done.append(own.__name__)
        return own(*args, **named)

    return called


def steps_counted(patch: pytest.MonkeyPatch) -> list[str]:
    """Return the steps that are carried out together from now on."""
    done = []
    names = ("create_nodes", "create_relationships", "patch_nodes", "patch_relationships")
    for owner, name in [*((overlay.Overlay, each) for each in names), (batch_steps.BatchSteps, "_assign_rows")]:
        patch.setattr(owner, name, noted(getattr(owner, name), done))
    return done


def bodies_counted(patch: pytest.MonkeyPatch) -> list[Any]:
    """Return the bodies of FOREACH and CALL that are carried out for all rows from now on."""
    done = []
    own = bodies.Bodies._attempted

    def counted(self: Any, *args: Any) -> Any:
        attempt = own(self, *args)

        def attempted(table: Any) -> Any:
            found = attempt(table)
            done.append(attempt)
            return found

        return attempted

    patch.setattr(bodies.Bodies, "_attempted", counted)
    return done


@pytest.mark.parametrize("text", BATCHED + BY_IDENTITY + FAILING + ROW_BY_ROW)
def test_both_ways_agree(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that can are carried out together; bodies whose parts read each other go row by row."""
    steps, whole = steps_counted(monkeypatch), bodies_counted(monkeypatch)

    def first_was_carried_out() -> None:
        assert steps or whole or text not in BATCHED + BY_IDENTITY
        if text not in FAILING and ("FOREACH" in text or "CALL" in text):
            assert bool(whole) == (text in BATCHED)

    found = results(monkeypatch, 1, text, first_was_carried_out)
    assert text not in FAILING or isinstance(found[0][0][0], str)
    assert found == results(monkeypatch, 1_000_000, text)


@pytest.mark.parametrize("text", BEHIND)
def test_what_is_read_behind_an_update(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(reading, "_table", noted(reading._table, done))
    behind = noted(reading.PartReader.continued, done)
    monkeypatch.setattr(reading.PartReader, "continued", behind)

    def was_read_by_the_engine() -> None:
        assert ("continued", "_table") in itertools.pairwise(done) or "/ (" in text

    monkeypatch.setattr(reading, "_GIVEN", 0)
    found = results(monkeypatch, 1, text, was_read_by_the_engine)
    monkeypatch.undo()
    assert found == results(monkeypatch, 1_000_000, text)


@pytest.mark.parametrize(
    ("end", "columns"),
    [
        ("SET d.dup = true", {"d"}),
        ("MERGE (d)-[:OF]->(k:K {of: x}) ON CREATE SET k.n = size(l)", {"d", "x", "l"}),
        ("FOREACH (i IN [x] | CREATE (d)-[:OF]->(:K {of: i}))", {"d", "x"}),
        ("CALL (d) { SET d.dup = true }", {"d"}),
        ("SET d.dup = true WITH d, x MATCH (d)-[k]->() SET k.x = x", {"d", "x"}),
        ("SET d.dup = true RETURN x", {"d", "x", "l"}),
    ],
)
def test_columns_that_nothing_reads_are_not_taken_over(
    end: str, columns: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Any] = []
    own = reading._table

    def noting(*given: Any) -> Any:
        taken.append(own(*given))
        return taken[-1]

    monkeypatch.setattr(reading, "_table", noting)
    text = f"MATCH (n:P) WITH collect(n) AS l, max(n.id) AS x UNWIND l AS d {end}"
    found = results(monkeypatch, 1, text)
    assert set(taken[0].columns) == columns
    assert found == results(monkeypatch, 1_000_000, text)


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:P)-[k]->() DELETE k WITH k, n MATCH (n) RETURN n.name, type(k)",
        "MATCH (n:P)-[k]->(m) SET n.x = 1 DELETE m WITH n MATCH (n)-[l]->(o) RETURN n.name, o.x",  # which has others
        "MATCH (n:P)-[k]->(m) DELETE m, k WITH n MATCH (n)-[l]-(o) SET o.y = 2 DELETE l RETURN count(*)",
    ],
)
def test_elements_that_were_deleted_are_not_read_behind_it(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    walked = results(monkeypatch, 1_000_000, text)
    monkeypatch.setattr(reading, "_GIVEN", 0)
    assert results(monkeypatch, 1, text) == walked


@pytest.mark.parametrize(
    "end", ["WITH k WHERE k.w = 1 FINISH", "WITH k.w AS w RETURN w LIMIT 0", "WITH k, 1 / k.w AS x FINISH"]
)
def test_what_a_limit_leaves_out_behind_an_update_has_errors(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"MATCH (n:P)-[k]->() DELETE k {end}"
    walked = results(monkeypatch, 1_000_000, text)
    assert "DeletedEntityAccess" in repr(walked)
    monkeypatch.setattr(reading, "_GIVEN", 0)
    assert results(monkeypatch, 1, text) == walked


@pytest.mark.parametrize("make", [merge_of_a_path, settings_of])
def test_random_steps_go_as_row_by_row(make: Callable[[random.Random], str], monkeypatch: pytest.MonkeyPatch) -> None:
    steps = steps_counted(monkeypatch)
    together = 0
    for seed in range(90):
        text, before = make(random.Random(f"merge {seed}")), len(steps)
        found = results(monkeypatch, 1, text)
        together += len(steps) > before
        assert found == results(monkeypatch, 1_000_000, text), text
    assert together > 30


@pytest.mark.parametrize("text", [each for each in BATCHED if each.startswith("UNWIND")])
def test_what_is_taken_back_leaves_nothing(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, 1)
    graph = begun()
    before = content(graph)
    with graph.transaction() as transaction:
        outcome(transaction, text)
        seen = content(transaction)
        failing = text.split(" RETURN")[0] + " WITH count(*) AS c CREATE (:A {x: 1 / (c - c)})"
        with pytest.raises(QengineError):
            transaction.query(failing, PARAMS)
        assert content(transaction) == seen
        transaction.rollback()
    assert content(graph) == before
    outcome(graph, text)
    assert content(graph) == seen


def test_statements_above_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(least: int) -> Any:
        use(monkeypatch, least)
        graph = begun()
        found = []
        with graph.transaction() as transaction:
            for number, text in enumerate(TOGETHER):  # outcomes tell most of the graph's content, too
                found.append((text, outcome(transaction, text), content(transaction) if number % 8 == 7 else None))
        found += [(text, outcome(graph, text)) for text in TOGETHER]
        return [*found, content(graph)]

    assert run(1) == run(1_000_000)


def test_nodes_that_come_apart_while_they_are_read_come_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second pattern takes apart what the first has begun to read."""
    monkeypatch.setattr(batch_changes, "PATCHED", 1)
    monkeypatch.setattr(steps, "LEAST", 1)
    graph = begun()
    with graph.transaction() as transaction:
        transaction.query("MATCH (n) SET n:C")
        assert transaction.query("MATCH (), (:C) CREATE (:New) RETURN count(*)").value() == 25


@pytest.mark.parametrize("value", ["$m.id + n.id", "$m.id + 1", "[$m][0].id + n.id", "$all[0].id"])
def test_an_element_that_is_a_parameter_may_change(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for least in (1, 1_000_000):
        use(monkeypatch, least)
        graph = begun()
        (node,) = graph.query("MATCH (n {id: 7}) RETURN n").fetchall()[0]
        graph.query(f"MATCH (n) SET n.id = {value}", {"m": node, "all": [node]})
        found.append(content(graph))
    assert found[0] == found[1]


def test_numbers_of_rows_are_those_of_each_execution() -> None:
    """A statement is compiled once for a version, and carried out with other parameters."""
    with begun().transaction() as t:
        for k in (1, 3, 0, 2):
            some = "MATCH (n:P) WITH n ORDER BY n.id {} SET n.x = 1 RETURN count(*)"
            assert t.query(some.format("LIMIT $k"), {"k": k}).value() == k
            assert t.query(some.format("SKIP $k"), {"k": k}).value() == 4 - k
            body = "UNWIND [1] AS i CALL (i) { MATCH (n:P) WITH n ORDER BY n.id LIMIT $k SET n.x = i RETURN n }"
            assert t.query(f"{body} RETURN count(n)", {"k": k}).value() == k


def test_lists_of_values_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row by row, too: no list of a label is gone through."""
    monkeypatch.setattr(live.WalkedVersion, "_by_labels", None)
    graph = Graph()
    graph.query("UNWIND range(1, 3000) AS i CREATE (:P {id: i, f: i + 0.5})")
    text = "UNWIND $rows AS r CALL (r) { MATCH (n:P) WHERE n.id IN r.l SET n.id = -n.id } RETURN count(*)"
    for values in ([1, 2, 2, None, 1.0, True, "1", 3.0], [4, -4, 5.0], []):
        graph.query(text, {"rows": [{"l": values}, {"l": [3000]}]})
    found = graph.query("MATCH (n:P) WHERE n.id < 0 RETURN collect(n.id)").value()
    assert sorted(found) == [-3000, -5, -4, -3, -2, -1]


@pytest.mark.parametrize("inside", [False, True])
def test_plans_are_for_as_many_rows_as_there_are(inside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many rows aren't compared with all nodes, each with each, be they a parameter's or those of a body."""
    plans = []
    own = reading._plan
    monkeypatch.setattr(reading, "_plan", lambda *args: plans.append(own(*args)) or plans[-1])
    graph = Graph()
    graph.query("UNWIND range(1, 3000) AS i CREATE (:P {id: i})")
    find = "MATCH (n:P) WHERE n.id IN r.l SET n.x = r.x"
    text = f"UNWIND $rows AS r CALL (r) {{ {find} }}" if inside else f"UNWIND $rows AS r {find}"
    rows = [{"l": [k, k + 1], "x": k} for k in range(1, 600)]
    graph.query(text, {"rows": rows})
    assert [any(isinstance(each, ThetaJoin) for each in nodes_of(plan.root)) for plan in plans] == [True]
    assert graph.query("MATCH (n:P) WHERE n.id IN n.x + [n.id] AND n.x > 0 RETURN sum(n.x)").value() == 180_299


def test_batches_of_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "UNWIND $rows AS r CALL (r) { UNWIND [r, r] AS s CREATE (:Given {name: s.name}) } IN TRANSACTIONS OF 2 ROWS "
        "ON ERROR CONTINUE REPORT STATUS AS s RETURN r.id, s.committed, s.errorMessage"
    )
    assert results(monkeypatch, 1, text) == results(monkeypatch, 1_000_000, text)


def test_many_rows_in_a_folder_come_back(tmp_path: Any) -> None:
    graph = Graph()
    graph.save(tmp_path / "graph")
    graph = Graph.open(tmp_path / "graph")
    rows = [{"id": number, "day": Date.from_days(number), "x": None if number % 3 else number} for number in range(100)]
    graph.query("UNWIND $rows AS r CREATE (:P {id: r.id, day: r.day, x: r.x})", {"rows": rows})
    graph.query("UNWIND $rows AS r MATCH (a:P {id: r.id}) CREATE (a)-[:R {x: r.x}]->(a)", {"rows": rows})
    graph.query("MATCH (p:P) WHERE p.id < 5 SET p.x = 'other' WITH p WHERE p.id = 2 DETACH DELETE p")
    wanted = content(graph)
    graph.close()
    assert content(Graph.open(tmp_path / "graph")) == wanted


def test_many_changes_in_a_folder_come_back(tmp_path: Any) -> None:
    rows = [{"id": number, "x": number * 2 if number % 3 else f"{number}"} for number in range(1500)]
    made = Graph()
    made.query("UNWIND $rows AS r CREATE (n:P {id: r.id})", {"rows": rows})
    made.query("MATCH (a:P), (b:P {id: a.id % 7}) CREATE (a)-[:R {w: a.id}]->(b)")
    made.save(tmp_path / "graph")
    graph = Graph.open(tmp_path / "graph")
    graph.query("MATCH (n:P {id: 3}) SET n.x = 'by itself'")
    for text in (
        "UNWIND $rows AS r MATCH (n:P {id: r.id}) SET n.x = r.x",
        "MATCH (n) WHERE n.id % 2 = 0 SET n:Even, n += {y: n.id, z: date('2020-01-01')}",
        "MATCH (n:Even) WHERE n.id > 20 REMOVE n:P, n.z",
        "MATCH ()-[r]->() WHERE r.w > 9 SET r.w = r.w + 0.5, r.v = 'v'",
        "MATCH (n)-[r:R]->() WHERE n.id % 5 = 0 DELETE r",
        "MATCH (n) WHERE n.id % 11 = 10 DETACH DELETE n",
    ):
        assert graph.query(text, {"rows": rows}).stats.changes != overlay.Changes()
        followed = Graph.open(tmp_path / "graph", read_only=True)
        assert content(followed) == content(graph)
        followed.close()
    assert graph.query("MATCH (n) RETURN count(n), count(n.z), count(n.y)").fetchall() == [(1364, 10, 682)]
    wanted = content(graph)
    graph.close()
    again = Graph.open(tmp_path / "graph")
    assert content(again) == wanted
    again.query("MATCH (n:Even) SET n.last = n.id")
    again.checkpoint()
    assert content(again) != wanted
    wanted = content(again)
    again.close()
    assert content(Graph.open(tmp_path / "graph")) == wanted


def test_a_step_that_can_not_be_done_together_changes_nothing_before(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, 1)

    def refused(self: Any, *args: Any) -> Any:
        raise Unbatched

    before = begun()
    outcome(before, TOGETHER[1])
    monkeypatch.setattr(batch_steps.ColumnValues, "properties", refused)
    after = begun()
    outcome(after, TOGETHER[1])
    assert content(after) == content(before)


@pytest.mark.parametrize(
    "text",
    [
        "UNWIND $rows AS r CREATE (n:P {id: r.id, name: r.name, tags: r.tags})",
        "UNWIND range(1, 40000) AS i CREATE (:P {id: i})",
    ],
)
def test_the_memory_limit_holds(text: str) -> None:
    graph = begun()
    before = content(graph)
    with pytest.raises(OutOfMemory):
        graph.query(text, {"rows": ROWS * 5_000}, memory_limit=2_000_000)
    assert content(graph) == before
    graph.query(text, {"rows": ROWS * 10}, memory_limit=200_000_000)
    assert content(graph) != before


def test_the_memory_limit_holds_for_patches() -> None:
    graph = Graph.from_records([{"id": number, "properties": {"x": number}} for number in range(100_000)], [])
    graph.query("MATCH (n) SET n.y = n.x", memory_limit=50_000_000)
    with pytest.raises(OutOfMemory):
        graph.query("MATCH (n) SET n.z = n.x", memory_limit=1_500_000)
    assert graph.query("MATCH (n) RETURN count(n.y), count(n.z)").fetchall() == [(100_000, 0)]


def test_a_batch_of_transactions_checks_its_own_deletions(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_records([{"id": k, "labels": ["P"]} for k in range(40)], [{"type": "R", "start": 0, "end": 1}])
    asked: list[str] = []
    monkeypatch.setattr(overlay.Overlay, "has_relationships", noted(overlay.Overlay.has_relationships, asked))
    call = "MATCH (n:P) CALL (n) {{ {} }} IN TRANSACTIONS OF {} ROWS ON ERROR CONTINUE"
    graph.query(call.format("DELETE n", 1))
    assert (graph.query("MATCH (n) RETURN count(n)").value(), len(asked)) == (2, 40)
    graph.query(call.format("OPTIONAL MATCH (n)-[r]-() DELETE r, n", 2))
    assert (graph.query("MATCH (n) RETURN count(n)").value(), len(asked)) == (0, 42)
