"""What Neo4j 3 and 4 took and today's refuses means what its form of today means, and is told."""

from __future__ import annotations

import pytest

from qengine import Graph
from qengine.errors import QengineError

PARAMETERS = {"name": "b", "rows": [1, 2], "few": 2, "props": {"x": 1, "y": "z"}}
MADE = """
CREATE (a:P {name: 'a', tags: ['u', 'v', 'w'], n: 1})-[:R {w: 1}]->(b:P {name: 'b', n: 2})-[:S]->(c:Q {name: 'ccc'}),
  (a)-[:S]->(c), (a)-[:R]->(a)
"""

READS = [
    ("MATCH (n:P) WHERE n.name = {name} RETURN n.n", "MATCH (n:P) WHERE n.name = $name RETURN n.n"),
    ("MATCH (n:P {name: { name }}) RETURN n.n", "MATCH (n:P {name: $name}) RETURN n.n"),
    ("MATCH (n:P {name: {`name`}}) RETURN n.n", "MATCH (n:P {name: $name}) RETURN n.n"),
    ("UNWIND {rows} AS x RETURN x + {few} AS y", "UNWIND $rows AS x RETURN x + $few AS y"),
    ("UNWIND {rows} AS x RETURN x LIMIT {few}", "UNWIND $rows AS x RETURN x LIMIT $few"),
    ("RETURN {props}.x AS x, [{few}] AS l", "RETURN $props.x AS x, [$few] AS l"),
    ("MATCH (n) WHERE n.n IN {rows} RETURN n {.name, few: {few}} AS m",
     "MATCH (n) WHERE n.n IN $rows RETURN n {.name, few: $few} AS m"),
    ("MATCH (n) WHERE exists(n.n) RETURN n.name", "MATCH (n) WHERE n.n IS NOT NULL RETURN n.name"),
    ("MATCH (n) WHERE NOT has(n.n) RETURN n.name", "MATCH (n) WHERE n.n IS NULL RETURN n.name"),
    ("MATCH (a)-[:R|:S]->(b) RETURN a.name, b.name", "MATCH (a)-[:R|S]->(b) RETURN a.name, b.name"),
    ("RETURN extract(x IN [1, 2, 3] WHERE x > 1 | x * 2) AS y", "RETURN [x IN [1, 2, 3] WHERE x > 1 | x * 2] AS y"),
    ("MATCH p = (:P)-->(:Q) RETURN extract(n IN nodes(p) | n.name) AS y",
     "MATCH p = (:P)-->(:Q) RETURN [n IN nodes(p) | n.name] AS y"),
    ("RETURN filter(x IN [1, 2, 3] WHERE x > 1) AS y", "RETURN [x IN [1, 2, 3] WHERE x > 1] AS y"),
    ("RETURN size(filter(x IN extract(y IN [1, 2] | y + 1) WHERE x > 2)) AS y",
     "RETURN size([x IN [y IN [1, 2] | y + 1] WHERE x > 2]) AS y"),
    ("MATCH (n:P) RETURN length(n.name) AS a, length([1, 2]) AS b", "MATCH (n:P) RETURN size(n.name) AS a, 2 AS b"),
    ("MATCH (n:P) RETURN length(n.tags) AS a", "MATCH (n:P) RETURN size(n.tags) AS a"),
    ("UNWIND ['abc', [1], null] AS x RETURN length(x) AS a, length('') AS b",
     "UNWIND ['abc', [1], null] AS x RETURN size(x) AS a, 0 AS b"),
    ("MATCH p = (:P)-->(:Q) RETURN [r IN rels(p) | type(r)] AS y",
     "MATCH p = (:P)-->(:Q) RETURN [r IN relationships(p) | type(r)] AS y"),
    ("RETURN toInt('7') AS x", "RETURN toInteger('7') AS x"),
    ("RETURN distance(point({x: 0, y: 0}), point({x: 3, y: 4})) AS d", "RETURN 5.0 AS d"),
    ("RETURN 0777 AS x", "RETURN 777 AS x"),
    ("CALL db.schema() YIELD nodes RETURN size(nodes) AS x",
     "CALL db.schema.visualization() YIELD nodes RETURN size(nodes) AS x"),
]  # fmt: skip

CHANGES = [
    ("CREATE (n:New {props})", "CREATE (n:New) SET n = $props"),
    ("UNWIND {rows} AS x CREATE (n:New) SET n = {props}", "UNWIND $rows AS x CREATE (n:New) SET n = $props"),
    ("MATCH (n:Q) SET n += {props}", "MATCH (n:Q) SET n += $props"),
    ("MATCH (a:P), (c:Q) CREATE UNIQUE (a)-[:R]->(c)", "MATCH (a:P), (c:Q) MERGE (a)-[:R]->(c)"),
    ("MATCH (a:P), (c:Q) CREATE UNIQUE (a)-[r:S]->(c), p = (c)-[:T]->(a) SET r.x = 1",
     "MATCH (a:P), (c:Q) MERGE (a)-[r:S]->(c) MERGE (c)-[:T]->(a) SET r.x = 1"),
    ("MATCH (a:P) CREATE UNIQUE (a)-[:S]->(:Q {name: 'ccc'})", "MATCH (a:P) MERGE (a)-[:S]->(:Q {name: 'ccc'})"),
    ("MATCH (a:P) FOREACH (x IN [1, 2] | CREATE UNIQUE (a)-[:T {x: x}]->(:Z), (a)-[:U]->(:Z))",
     "MATCH (a:P) FOREACH (x IN [1, 2] | MERGE (a)-[:T {x: x}]->(:Z) MERGE (a)-[:U]->(:Z))"),
]  # fmt: skip

RULES = [
    ("CREATE INDEX ON :P(name)", "CREATE INDEX FOR (n:P) ON (n.name)"),
    ("CREATE BTREE INDEX i FOR (n:P) ON (n.name)", "CREATE INDEX i FOR (n:P) ON (n.name)"),
    ("CREATE CONSTRAINT ON (n:P) ASSERT n.name IS UNIQUE", "CREATE CONSTRAINT FOR (n:P) REQUIRE n.name IS UNIQUE"),
    ("CREATE CONSTRAINT ON (n:P) ASSERT exists(n.name)", "CREATE CONSTRAINT FOR (n:P) REQUIRE n.name IS NOT NULL"),
    ("CREATE CONSTRAINT ON (n:P) ASSERT (n.name, n.n) IS NODE KEY",
     "CREATE CONSTRAINT FOR (n:P) REQUIRE (n.name, n.n) IS NODE KEY"),
    ("CALL db.createIndex('i', ['P'], ['name', 'n'], 'native-btree-1.0')", "CREATE INDEX i FOR (n:P) ON (n.name, n.n)"),
    ("CALL db.createIndex(':P(name, n)', 'lucene+native-1.0')", "CREATE INDEX FOR (n:P) ON (n.name, n.n)"),
    ("CALL db.createUniquePropertyConstraint('i', ['P'], ['name'], 'native-btree-1.0')",
     "CREATE CONSTRAINT i FOR (n:P) REQUIRE n.name IS UNIQUE"),
    ("CALL db.createNodeKey('i', ['P'], ['name'], 'native-btree-1.0')",
     "CREATE CONSTRAINT i FOR (n:P) REQUIRE n.name IS NODE KEY"),
    ("CALL db.index.fulltext.createNodeIndex('i', ['P', 'Q'], ['name'])",
     "CREATE FULLTEXT INDEX i FOR (n:P|Q) ON EACH [n.name]"),
    ("CALL db.index.fulltext.createRelationshipIndex('i', ['R'], ['w', 'x'])",
     "CREATE FULLTEXT INDEX i FOR ()-[r:R]-() ON EACH [r.w, r.x]"),
    ("CALL db.index.vector.createNodeIndex('i', 'P', 'v', 3, 'euclidean')",
     "CREATE VECTOR INDEX i FOR (n:P) ON (n.v) OPTIONS {indexConfig: {`vector.similarity_function`: 'euclidean'}}"),
]  # fmt: skip


def _rows(graph: Graph, text: str, device: str = "cpu") -> list[str]:
    return sorted(map(repr, graph.query(text, PARAMETERS, device=device)))


def _old_forms(graph: Graph, text: str) -> list[str]:
    return [notice.code for notice in graph.prepare(text).notices if notice.code == "OldForm"]


@pytest.mark.parametrize(("old", "new"), READS)
def test_reads(old: str, new: str) -> None:
    graph = Graph()
    graph.query(MADE)
    assert _old_forms(graph, old) and not _old_forms(graph, new)
    wanted = _rows(graph, new)
    assert wanted and _rows(graph, old) == _rows(graph, old, "reference") == wanted


@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_changes(old: str, new: str) -> None:
    found = []
    for text in (old, new):
        graph = Graph()
        graph.query(MADE)
        graph.query(text, PARAMETERS)
        nodes = "MATCH (n) RETURN labels(n) AS l, properties(n) AS p"
        links = "MATCH (a)-[r]->(b) RETURN properties(a) AS a, type(r) AS t, properties(r) AS r, properties(b) AS b"
        found.append((_rows(graph, nodes), _rows(graph, links)))
    assert found[0] == found[1]


@pytest.mark.parametrize(("old", "new"), RULES)
def test_indexes_and_constraints(old: str, new: str) -> None:
    found = []
    for text in (old, new):
        graph = Graph()
        graph.query("CREATE (:P {name: 'a', n: 1, v: [1.0, 2.0, 3.0]})")
        assert bool(_old_forms(graph, text)) == (text == old)
        graph.query(text)
        found.append(
            (_rows(graph, "SHOW INDEXES YIELD * "), _rows(graph, "SHOW CONSTRAINTS"), _rows(graph, "CALL db.indexes()"))
        )
    assert found[0] == found[1] and found[0][0] + found[0][1]
    name = graph.query("SHOW INDEXES YIELD name, type").fetchall()
    assert graph.query("CALL db.indexes() YIELD name AS name, type").fetchall() == name
    assert all(graph.query(f"CALL db.indexDetails('{one[0]}')").fetchall() for one in name)
    assert not graph.query("CALL db.indexDetails('none')").fetchall()


def test_what_is_dropped_as_of_old() -> None:
    graph = Graph()
    graph.query("CREATE FULLTEXT INDEX i FOR (n:P) ON EACH [n.name]")
    graph.query("CREATE INDEX ON :P(name)")
    graph.query("CALL db.index.fulltext.drop('i')")
    graph.query("DROP INDEX ON :P(name)")
    assert not graph.query("CALL db.indexes()").fetchall()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("MATCH (n) RETURN size((n)-->(:P)) AS x", "COUNT { (n)-->(:P) }"),
        ("MATCH (n) RETURN length((n)--()) AS x", "COUNT { (n)--() }"),
        ("MATCH (n) CREATE UNIQUE (n)-[:R]->()-[:R]->(n)", "MERGE for each relationship"),
        ("START n=node(1) RETURN n", "MATCH (n) WHERE id(n) = "),
        ("MATCH (n {props}) RETURN n", "Name the keys"),
    ],
)
def test_what_is_refused_names_what_to_write(text: str, told: str) -> None:
    with pytest.raises(QengineError) as caught:
        Graph().query(text, PARAMETERS)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "text", ["MATCH (n) WITH n, 1 AS x RETURN n {x} AS m", "WITH 2 AS n, [1] AS x RETURN x[0] AS extract, n AS filter"]
)
def test_what_looks_like_an_old_form_and_is_none(text: str) -> None:
    graph = Graph()
    graph.query("CREATE (:P)")
    assert not _old_forms(graph, text) and graph.query(text).fetchall()
