"""Reads that later commits don't affect stay on the version that was read, with the rows of the latest one.

Each such answer is compared with that of a graph made of the latest version.
"""

from __future__ import annotations

import random

import pytest

from qengine import live_reads
from qengine.errors import QengineError
from qengine.graph import Graph
from qengine.testing.compare import difference
from qengine.testing.composed import composed_query
from qengine.testing.random_graph import random_graph
from qengine.views import TransactionView
from qengine.write.versions import Version
from tests.examples import examples

READS = (
    "MATCH (n) RETURN count(*) AS c",
    "MATCH (n:A) RETURN n.k AS k",
    "MATCH (n:A&!B) RETURN n",
    "MATCH (n:C {k: 1}) RETURN n.s AS s, labels(n) AS l",
    "MATCH (a:A)-[r]->(b) RETURN a.k AS k, r.k AS r, b.s AS s",
    "MATCH (a:A)-[r:R]->(b:B) RETURN r",
    "MATCH (a)-[:R|S]-(b:C) RETURN a.k AS k, count(*) AS c",
    "MATCH (a:B)<-[r:S]-(b:!A) RETURN properties(r) AS p",
    "MATCH (a:A)-[:R*0..2]->(b:B) RETURN a.k AS k, b.k AS o",
    "MATCH (a:A)-[:S*1..2]-(b) RETURN count(*) AS c",
    "MATCH (a:A)((x:B)-[:R]->(y)){0,2}(b:C) RETURN count(*) AS c",
    "MATCH (a:A)((x)-[:R]->(y:A)){1,2}(b) RETURN a.k AS k, [n IN x | n.k] AS l",
    "MATCH p = ANY SHORTEST (a:A)-[:R|T]->+(b:B) RETURN length(p) AS n, a.k AS k",
    "MATCH (a:A) OPTIONAL MATCH (a)-[r:T]->(b:B) RETURN a.k AS k, r.k AS r",
    "MATCH (a:A) WHERE NOT EXISTS { (a)-[:R]->(:C) } RETURN a.k AS k",
    "MATCH (a:A) RETURN a.k AS k, COUNT { (a)--() } AS c, COUNT { (b:B) } AS d",
    "MATCH (a:A) WITH a AS o MATCH (o)-[:R]->(b) RETURN o.k AS k, b.k AS b",
    "MATCH (b:B) WITH b AS a MATCH (a)-[:S]->(c) WITH c AS b MATCH (b)-->(d) RETURN count(*) AS c",
    "MATCH (a:A) RETURN [(a)-[:T]->(c:C) | c.k] AS l",
    "MATCH (a:A)-[:R]->(b) RETURN a.k AS k UNION MATCH (a:C) RETURN a.i AS k",
    "UNWIND [0, 1, 2] AS x MATCH (a:B {k: x}) RETURN x, a{.*} AS a",
    "MATCH (a:A) RETURN a.k AS k, a['i'] AS i, keys(a) AS l",
    "MATCH (n:B) WHERE id(n) > 2 RETURN id(n) AS i, elementId(n) AS e",
    "CALL db.labels() YIELD label RETURN label",
    "MATCH (a:A), (b:D) RETURN a.k AS k, b.k AS b",
    "MATCH (a:A) CALL (a) { MATCH (a)-[:T]->(b) RETURN max(b.k) AS m } RETURN a.k AS k, m",
    "MATCH (a:A)-[r]->(b) WHERE startNode(r).i = b.i RETURN type(r) AS t, count(*) AS c",
    "MATCH (n) RETURN sum(n.f) AS f",
)

SCHEMA = """
CREATE (a:A {k: 0, i: 1, s: '', f: 0.5})-[:R {k: 0}]->(b:B {k: 1})-[:S {k: 1}]->(c:C {k: 2}),
  (:D {k: 3})-[:T]->(:B:C {k: 4}), (a)-[:R {k: 2}]->(b), (c)-[:R]->(c), ({k: 5})-[:T]->(c)"""
WRITES = (
    "CREATE (:A {k: $k, s: $word})",
    "CREATE (:B {k: $k})",
    "CREATE (:C {i: $k, s: $word})",
    "CREATE (:B:C {k: $k})",
    "CREATE (:A {k: $k})-[:R {k: $j}]->(:A)",
    "CREATE (:C {k: $k})-[:S]->(:B)",
    "CREATE ({k: $k})-[:T]->(:B {k: $j})",
    "MATCH (n:C) WITH n LIMIT 1 CREATE (n)-[:R {k: $k}]->(:B)",
    "MATCH (n:A), (m:C) WITH n, m LIMIT 1 CREATE (m)-[:T]->(n)",
    "MATCH (n:B), (m:B) WITH n, m ORDER BY id(n), id(m) LIMIT 1 CREATE (m)-[:S {k: $k}]->(n)",
    "MATCH (n) WITH n ORDER BY id(n) DESC LIMIT 1 SET n.k = $k",
    "MATCH (n) WITH n ORDER BY id(n) LIMIT 1 SET n.i = $k",
    "MATCH (n) WITH n ORDER BY id(n) DESC LIMIT 1 SET n.f = 1.5",
    "MATCH (n) WITH n ORDER BY id(n) DESC LIMIT 1 SET n:D",
    "MATCH (n:B) WITH n ORDER BY id(n) DESC LIMIT 1 REMOVE n:B",
    "MATCH ()-[r]->() WITH r ORDER BY id(r) DESC LIMIT 1 SET r.k = $k",
    "MATCH ()-[r:R]->() WITH r ORDER BY id(r) LIMIT 1 DELETE r",
    "MATCH (n) WITH n ORDER BY id(n) DESC LIMIT 1 DETACH DELETE n",
    "UNWIND range(1, 20) AS x CREATE (:C {k: x})-[:S]->(:C)",
    "CREATE (:A {k: $word})",
    "CREATE (:D {new: $k})-[:U]->(:E)",
    "CREATE INDEX IF NOT EXISTS FOR (n:A) ON (n.k)",
)


def outcome(graph, text, parameters):
    try:
        return [tuple(row) for row in graph.query(text, parameters, device="cpu").fetchall()]
    except QengineError as error:
        return error.code


def given(text, chance):
    values = {"k": chance.randint(0, 6), "j": chance.randint(0, 6), "word": chance.choice(["", "a", "ab"])}
    return {name: value for name, value in values.items() if f"${name}" in text}


@pytest.fixture
def stayed(monkeypatch):
    """The reads that stayed on an earlier version."""
    found = []
    stands_for = Version.stands_for

    def noted(self, later, *given):
        stands = stands_for(self, later, *given)
        found.extend(given[:1] if stands and later.number > self.number else [])
        return stands

    monkeypatch.setattr(Version, "stands_for", noted)
    return found


def check(graph, stayed, text, parameters, case, **options):
    """Ask a graph; where the answer is of an earlier version, compare it with that of a graph made of the latest."""
    before = len(stayed)
    ours = outcome(graph, text, parameters)
    if len(stayed) == before:
        return
    theirs = outcome(Graph(graph._view.versions.latest._made()), text, parameters)
    if isinstance(ours, str) or isinstance(theirs, str):
        assert ours == theirs, f"{case}: {text} {parameters}"
    else:
        report = difference(theirs, ours, **{"lists_ordered": False, "ordered": False, **options})
        assert report is None, f"{case}: {text} {parameters}\n{report}"


KINDS = (
    ("MATCH (n:A) RETURN n.k AS k", "CREATE (:B {k: 9})", True),
    ("MATCH (n:A) RETURN n.k AS k", "CREATE (:A:B {k: 9})", False),
    ("MATCH (n:A&!B) RETURN n.k AS k", "CREATE (:A:B {k: 9})", True),
    ("MATCH (n) RETURN count(*) AS c", "CREATE (:B {k: 9})", False),
    ("MATCH (n)-[:R]->() RETURN count(*) AS c", "CREATE (:B {k: 9})", True),
    ("MATCH (n)-[:R]->() RETURN count(*) AS c", "CREATE (:C)-[:R]->(:C)", False),
    ("MATCH (n:A)-[:R]->() RETURN count(*) AS c", "CREATE (:C)-[:R]->(:C)", True),
    ("MATCH (n:C)-[:S]-(m:B) RETURN n.k AS k", "MATCH (b:B {k: 1}), (c:C {k: 2}) CREATE (b)-[:S]->(c)", False),
    ("MATCH (n:A)-[r]->(m) RETURN m.k AS k", "MATCH (a:A) CREATE (a)-[:T]->(:C)", False),
    ("MATCH (n:A)-[:T*1..2]->(m) RETURN m.k AS k", "CREATE (:A {k: 9})", True),
    ("MATCH (n:A)-[:T*0..2]->(m) RETURN m.k AS k", "CREATE (:A {k: 9})", False),
    ("MATCH (n:A)-[:R*1..2]->(m:C) RETURN m.k AS k", "MATCH (b:B {k: 1}), (c:C {k: 2}) CREATE (b)-[:R]->(c)", False),
    ("MATCH (n:A)((x)-[:R]->(y)){0,2}(m) RETURN count(*) AS c", "CREATE (:A {k: 9})", False),
    ("MATCH (n:A)((x)-[:R]->(y:B)){1,2}(m) RETURN count(*) AS c", "CREATE (:A)-[:R]->(:B)", False),
    ("MATCH (n:A) RETURN COUNT { (m:B) } AS c", "CREATE (:B {k: 9})", False),
    ("MATCH (n:A) WHERE EXISTS { (n)-[:T]->(:C) } RETURN n.k AS k", "MATCH (a:A), (c:C) CREATE (a)-[:T]->(c)", False),
    ("MATCH (n:A) WHERE EXISTS { (n)-[:T]->(:C) } RETURN n.k AS k", "CREATE (:B)-[:T]->(:C)", True),
    ("MATCH (n:A) WITH n AS o MATCH (o)-[:R]->(m) RETURN m.k AS k", "CREATE (:C)-[:R]->(:C)", True),
    ("MATCH (b:B) WITH b AS a MATCH (a)-[:S]->(c) WITH c AS b, 1 AS x MATCH (b)-[:R]->(d) RETURN d.k AS k",
     "MATCH (c:C {k: 2}) CREATE (c)-[:R]->(:A {k: 9})", False),
    ("MATCH (n:A) RETURN n.k AS k UNION MATCH (n:C) RETURN n.k AS k", "CREATE (:C {k: 9})", False),
    ("MATCH (n:A) RETURN n.k AS k", "MATCH (n:A) SET n.i = 7", True),
    ("MATCH (n:A) RETURN n.k AS k", "MATCH (n:A) SET n.k = 7", False),
    ("MATCH (n:A) WHERE n.i > 0 RETURN n.k AS k", "MATCH (n:A) SET n.i = null", False),
    ("MATCH (n:A) RETURN n", "MATCH (n:A) SET n.i = 7", False),
    ("MATCH (n:A) RETURN collect(n) AS l", "MATCH (n:A) SET n.i = 7", False),
    ("MATCH (n:A) RETURN n{.*}['i'] = 1 AS l", "MATCH (n:A) SET n.i = 7", False),
    ("MATCH (n:A) RETURN size(keys(n)) AS l", "MATCH (n:A) SET n.i = null", False),
    ("MATCH (n:A) RETURN n['i'] = 1 AS l", "MATCH (n:A) SET n.i = 7", False),
    ("MATCH (n:A)-[r:R]->() RETURN r.k AS k", "MATCH (:A)-[r:R]->() SET r.k = 7", False),
    ("MATCH (n:A) RETURN n.k AS k", "MATCH (n:C) SET n:A", False),
    ("MATCH (n:D) RETURN n.k AS k", "MATCH (n:D) REMOVE n:D", False),
    ("MATCH (n:A) RETURN labels(n) AS l", "MATCH (n:A) SET n:D", False),
    ("MATCH (n:B)-[:T]->(m:C) RETURN m.k AS k", "CREATE (:B)-[:T]->(:D {k: 9}); MATCH (n:D {k: 9}) SET n:C", False),
    ("MATCH (n:A) RETURN n.k AS k", "MATCH (n:A) DETACH DELETE n", False),
    ("MATCH (n:A)-[:R]->(m) RETURN m.k AS k", "MATCH (:A)-[r:R]->() DELETE r", False),
    ("MATCH (n:A) RETURN n.k AS k", "CREATE (:B {k: 'text'})", False),
    ("MATCH (n:A) RETURN n.k AS k", "CREATE (:Other)", False),
    ("CALL db.labels() YIELD label RETURN label", "CREATE (:B)", False),
    ("MATCH (n:A {k: 0})-[:R]->(m) RETURN m.k AS k", "MATCH (c:C {k: 2}) CREATE (c)-[:R]->(:B {k: 9})", True),
    ("MATCH (n:A {k: 0})-[:R]->(m) RETURN m.k AS k", "MATCH (a:A {k: 0}) CREATE (a)-[:R]->(:B {k: 9})", False),
    ("MATCH (n:A {k: 0})-[:R]->(m) RETURN m.k AS k", "CREATE (:A {k: 0})-[:R]->(:B {k: 9})", False),
    ("MATCH (n:A {k: 0})-[:R]->(m) RETURN m.k AS k", "CREATE (:A {k: 0.0})", False),
    ("MATCH (n:A {k: 0})-[:R]->(m) RETURN m.k AS k", "CREATE (:A {k: 9})-[:R]->(:B {k: 9})", True),
    ("MATCH (n {k: 0})-[:R]->()-[:S]->(m) RETURN m.k AS k", "MATCH (b {k: 1}) CREATE (b)-[:S]->(:A {k: 9})", False),
    ("MATCH (n {k: 0})-[:R]->()-[:S]->(m) RETURN m.k AS k", "MATCH (b {k: 4}) CREATE (b)-[:S]->(:A {k: 9})", True),
    ("MATCH (n {k: 0})-[:R*1..2]->(m) RETURN m.k AS k", "MATCH (b {k: 1}) CREATE (b)-[:R]->(:A {k: 9})", False),
    ("MATCH (n {k: 0})-[:R*1..2]->(m) RETURN m.k AS k", "MATCH (c {k: 2}) CREATE (c)-[:R]->(:A {k: 9})", True),
    ("MATCH (n {k: 0})-[*1..4]->(m) RETURN m.k AS k", "MATCH (c {k: 2}) CREATE (c)-[:T]->(:B {k: 9})", False),
    ("MATCH (n {k: 0})<-[*0..]-(m) RETURN m.k AS k", "MATCH (c {k: 2}) CREATE (c)-[:T]->(:B {k: 9})", True),
    ("MATCH (n:A {k: 0})-->(b) MATCH (m:C {k: b.k}) RETURN m.k AS k", "CREATE (:C {k: 9})", True),
    ("MATCH (n:A {k: 0})-->(b) MATCH (m:C {k: b.k}) RETURN m.k AS k", "CREATE (:C {k: 1})", False),
    ("MATCH (n:A {k: 0})-->(b:B) WITH max(b.k) AS x MATCH (m {k: x}) RETURN m.k AS k", "CREATE (:C {k: 3})", True),
    ("MATCH (n:A {k: 0})-->(b:B) WITH max(b.k) AS x MATCH (m {k: x}) RETURN m.k AS k", "CREATE (:C {k: 1})", False),
    ("MATCH (b:B) WITH collect(b.k) AS l UNWIND l AS x MATCH (m:C {k: x}) RETURN m.k", "CREATE (:C {k: 9})", True),
    ("MATCH (b:B) WITH collect(b.k) AS l UNWIND l AS x MATCH (m:C {k: x}) RETURN m.k", "CREATE (:C {k: 4})", False),
    ("MATCH (b:B) WITH max(b.k) + 5 AS x MATCH (m:C {k: x}) RETURN m.k AS k", "CREATE (:C {k: 9})", False),
    ("MATCH (a:A), (m:C {k: a.k}) RETURN m.k AS k", "CREATE (:A:C {k: 9})", False),
    ("SHOW INDEXES YIELD name RETURN name", "CREATE INDEX i FOR (n:A) ON (n.k)", False),
)  # fmt: skip


@pytest.mark.parametrize(("read", "writes", "stays"), KINDS)
def test_what_stays_is_what_no_commit_affects(read, writes, stays, stayed, monkeypatch):
    monkeypatch.setattr(live_reads, "is_anchored", lambda part, *, walks: False)
    graph = Graph()
    graph.query(SCHEMA)
    graph.query("CREATE INDEX j FOR (n:D) ON (n.k)")
    outcome(graph, read, {})
    for write in writes.split("; "):
        graph.query(write)
    check(graph, stayed, read, {}, writes)
    assert bool(stayed) == stays


def test_elements_that_parameters_hold_are_there(stayed):
    graph = Graph()
    graph.query(SCHEMA)
    text = "MATCH (n:A) RETURN n.k + $m.k AS s, [m IN $l | m] AS l"
    old = graph.query("MATCH (n:C) RETURN n").value()
    assert graph.query(text, {"m": old, "l": []}).value() == 2
    graph.query("CREATE (:B {k: 9})")
    new = graph.query("MATCH (n:B {k: 9}) RETURN n").value()
    for m, many in ((new, []), ({"k": 9}, [new]), ({"k": 9}, [{"m": [new]}])):
        graph.query("CREATE (:B {k: 7})")
        assert graph.query(text, {"m": m, "l": many}).fetchone() == (9, many)
    stayed.clear()
    graph.query("CREATE (:B {k: 6})")
    assert graph.query(text, {"m": {"k": 9}, "l": [1, {"m": [2]}]}).fetchone() == (9, [1, {"m": [2]}])
    assert stayed


def test_rows_are_those_of_the_latest_version(stayed):
    for seed in range(examples(20)):
        chance = random.Random(f"between {seed}")
        graph = Graph()
        graph.query(SCHEMA)
        asked = chance.sample(READS, 10)
        for text in asked:
            outcome(graph, text, {})
        for step in range(20):
            write = chance.choice(WRITES[:13] if chance.random() < 0.9 else WRITES)
            parameters = given(write, chance)
            graph.query(write, parameters)
            for text in chance.sample(asked, 2):
                check(graph, stayed, text, {}, f"seed {seed}, step {step}, after {write} {parameters}")
    assert len(stayed) > 5 * examples(20)


ROOTED = (
    "MATCH (a:A {k: $k})-[:R]->(b)-[:S]->(c) RETURN b.k AS b, c.k AS c",
    "MATCH (a {k: $k})-[:R|S*1..2]-(b) RETURN b.k AS k, b.i AS i",
    "MATCH (a:A|B {k: $k})<-[:S*0..3]-(b:B)-[:T]-(c) RETURN b.k AS b, c.k AS c",
    "MATCH (a) WHERE a.k IN [$k, $j] OPTIONAL MATCH (a)-[:R]->(b:B) WITH b AS x MATCH (x)<-[:S]-(c) RETURN c.k AS k",
    "MATCH (a {k: $k}), (b {k: $j}) OPTIONAL MATCH p = shortestPath((a)-[:R|T*..3]->(b)) RETURN length(p) AS n",
    "MATCH (a {k: $k})-[:R]-(x)-[:S]-(b {k: $j}) RETURN x.k AS x, a.i AS i",
    "MATCH (a {k: $k}) RETURN COUNT { (a)-[:R]->()-[:S]-() } AS c, EXISTS { (a)-[:T]-(:C {k: $j}) } AS e",
    "MATCH (a:A {k: $k})-[r:R]->(b), (b)-[:S]->(c)-[:T]->(d), (a)--(d) RETURN count(*) AS c",
    "MATCH (a {k: $k})-->(b) WITH DISTINCT b MATCH (b)-[:R*1..2]->(d) WHERE NOT EXISTS { (d)-[:S]->(b) } RETURN d.k",
    "MATCH (a {k: $k})-[:R]->(b) MATCH (n:C {k: b.k}) RETURN n.i AS i",
    "MATCH (a {k: $k})-[:R]-(b) WITH max(b.k) AS m MATCH (n:B {k: m}) RETURN n.i AS i",
    "MATCH (a {k: $k})--(b) WITH collect(DISTINCT b.k) AS l UNWIND l AS v MATCH (n:B {k: v}) RETURN n.i AS i",
    "MATCH (a {k: $k})((x)-[:R]->(y)){1,2}(b)-[:S]->(c) RETURN c.k AS k",
    "UNWIND [$k, $j] AS v MATCH (a {k: v})-[:R]->(b) RETURN b.k AS k",
    "MATCH (a {k: $k})-[:S]-(b) RETURN b.k AS k UNION MATCH (b {k: $j})--(a) RETURN a.k AS k",
    "MATCH (a {k: $k})-[:R]-(b) WITH collect(b) AS l UNWIND l AS b2 MATCH (b2)-[:S]-(c) RETURN c.k AS k",
)


def test_what_the_roots_of_patterns_do_not_lead_to_changes_no_row(stayed, monkeypatch):
    monkeypatch.setattr(live_reads, "is_anchored", lambda part, *, walks: False)
    affected = 0
    for seed in range(examples(8)):
        chance = random.Random(f"rooted {seed}")
        graph = Graph()
        graph.query(SCHEMA)
        graph.query("CREATE INDEX FOR (n:A) ON (n.k)")
        graph.query("UNWIND range(6, 30) AS k CREATE (n:A {k: k}) SET n:$(['B', 'C', 'D'][k % 3])")
        for text in ROOTED:
            outcome(graph, text, {"k": 0, "j": 1})
        for step in range(24):
            ends = {
                "a": chance.randint(0, 30),
                "b": chance.randint(0, 30),
                "n": 31 + step if chance.random() < 0.8 else 3,
            }
            kind, made = chance.choice("RST"), chance.random() < 0.4
            to = "(m:B {k: $n, i: 1})" if made else "(b)"
            text = f"MATCH (a {{k: $a}}), (b {{k: $b}}) WITH a, b LIMIT 1 CREATE (a)-[:{kind}]->{to}"
            graph.query(text if chance.random() < 0.5 else text.replace("]->", "]-").replace("(a)-[", "(a)<-["), ends)
            for text in chance.sample(ROOTED, 5):
                values = {"k": chance.choice([*ends.values(), chance.randint(0, 30)]), "j": chance.randint(0, 30)}
                before = len(stayed)
                check(graph, stayed, text, values, f"seed {seed}, step {step}")
                affected += len(stayed) == before
    assert len(stayed) > 20 * examples(8) < affected


def test_rows_inside_a_transaction_are_of_what_it_has_done(monkeypatch):
    monkeypatch.setattr(live_reads, "is_anchored", lambda part, *, walks: False)
    stayed, unaffected = [], TransactionView.unaffected

    def noted(self, *given):
        found = unaffected(self, *given)
        stayed.extend([] if found is None else [given[0]])
        return found

    monkeypatch.setattr(TransactionView, "unaffected", noted)
    for seed in range(examples(40)):
        chance = random.Random(f"inside {seed}")
        graph = Graph()
        graph.query(SCHEMA)
        graph = Graph(graph._view.store) if seed % 4 else graph  # else below the transaction nothing has a name
        with graph.transaction() as transaction:
            for step in range(5):
                write = chance.choice(WRITES[:13] if chance.random() < 0.9 else WRITES)
                parameters = given(write, chance)
                transaction.query(write, parameters)
                for text in chance.sample(READS, 2):
                    case = f"seed {seed}, step {step}, after {write} {parameters}: {text}"
                    before, ours = len(stayed), outcome(transaction, text, {})
                    if len(stayed) > before:
                        theirs = outcome(Graph(transaction._view.writer.sealed()), text, {})
                        if isinstance(ours, str) or isinstance(theirs, str):
                            assert ours == theirs, case
                        else:
                            assert difference(theirs, ours, lists_ordered=False, ordered=False) is None, case
            if seed % 2:
                transaction.rollback()
    assert len(stayed) > examples(40) / 2


def test_composed_queries_give_the_rows_of_the_latest_version(stayed):
    for seed in range(examples(60)):
        made = random_graph(f"stays {seed // 10}", most_nodes=4, most_relationships=6)
        graph, chance = Graph(made.store()), random.Random(seed)
        query = composed_query(seed, made)
        graph.query(SCHEMA)  # all names that are written
        graph.query("CREATE INDEX FOR (n:A) ON (n.k)")
        outcome(graph, query.text, query.parameters)
        for write in chance.choices(WRITES[:10], k=3):
            parameters = given(write, chance)
            graph.query(write, parameters)
            if query.sure:
                options = {"ordered": query.ordered, "lists_ordered": query.lists_ordered}
                check(graph, stayed, query.text, query.parameters, f"seed {seed}, after {write}", **options)
    assert len(stayed) > examples(60) / 6
