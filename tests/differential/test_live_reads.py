"""Statements that read little of a version that was just committed give what they give on the store that is made of it.

They are walked element by element over a store and the commits above it, a snapshot that later commits don't change.
"""

from __future__ import annotations

import math
import random
import threading

import pytest

import qengine
from qengine import live_reads
from qengine.errors import QengineError
from qengine.graph import Graph
from qengine.testing.compare import canonical, difference
from qengine.testing.composed import composed_query
from qengine.testing.random_graph import random_graph
from qengine.write import pending, versions
from tests.examples import examples

WALKED = examples(900)  # composed queries
QUERIES = (
    "MATCH (n {k: $k}) RETURN n, labels(n) AS l, id(n) AS i, elementId(n) AS e, properties(n) AS p",
    "MATCH (n:A {k: $k})-[r]->(m) RETURN r, m, type(r) AS t, startNode(r) AS s, id(endNode(r)) AS e",
    "MATCH (n {k: $k})-[r]-(m) WHERE m.i > 1 OR m.i IS NULL RETURN n.k AS n, r.k AS r, m.k AS m",
    "MATCH (n {k: $k})-[r:R|S]-(m)-[s]->(o) RETURN count(*) AS c, count(DISTINCT o) AS d, sum(o.k) AS s",
    "MATCH (n {k: $k})<-[r]-(m:!A) RETURN r, labels(m) AS l",
    "MATCH p = (n {k: $k})-->(m) RETURN p",
    "MATCH (n) WHERE id(n) = $k RETURN n",
    "MATCH (n) WHERE elementId(n) = $text RETURN n.k AS k, labels(n) AS l",
    "MATCH (n:B)-[r]-(m) WHERE $k = id(n) RETURN r, m",
    "OPTIONAL MATCH (n {k: $k})-[r:U]-(m) RETURN n, r, m",
    "UNWIND [$k, 1, 2.0, null] AS x MATCH (n {k: x}) WITH x, n ORDER BY x, id(n) LIMIT 2 RETURN x, n.s AS s",
    "MATCH (a {k: $k}), (b {k: $j}) WHERE (a)--(b) RETURN a.k AS a, b.k AS b",
    "MATCH (a {k: $k})-[r]->(b {k: $j}) RETURN r",
    "MATCH (a {k: $k}) RETURN COUNT { (a)-[:R]->() } AS c, EXISTS { (a)--(:B) } AS e",
    "MATCH (a {i: $k}) WHERE a.s STARTS WITH 'a' RETURN DISTINCT a.s AS s",
    "MATCH (a {m: $k})-[r]->() RETURN a.m AS m, r",
    "MATCH (a {s: $word}) RETURN a.k AS k",
    "MATCH (a {k: $k, i: $j}) RETURN a",
    "MATCH (a {k: $k}) MATCH (a)-[r]-(a) RETURN r",
    "MATCH (a {k: $k}) RETURN a.k / 0 AS wrong",
    "MATCH (a {k: $k})-[:R|S*0..2]->(b)<-[r]-(c) RETURN b.k AS b, r",
    "MATCH (a {k: $k}) RETURN EXISTS { MATCH ANY SHORTEST (a)-[:R|S]-+(:B) } AS e",
    "MATCH (a {k: $k}), (b {k: $j}) RETURN COUNT { MATCH SHORTEST 2 (a)-[r]->+(b) } AS c",
    "MATCH (a {k: $k}) RETURN COUNT { MATCH REPEATABLE ELEMENTS ANY SHORTEST (a)-[]->+(b {k: $j}) } AS c",
)


UPDATES = (
    "CREATE (:A {k: $k, i: $j, s: $word})-[:R {k: $j}]->(:New {k: $j})",
    "MATCH (n {k: $k}) SET n.i = $j, n:B, n.l = [$j]",
    "MATCH (n {k: $k}) SET n.m = toString($j), n.s = null REMOVE n:A",
    "MATCH (n {k: $k}) DETACH DELETE n",
    "MATCH (a {k: $k}), (b {k: $j}) CREATE (a)-[:R {k: $j}]->(b)",
    "MATCH (a {k: $k}), (b {k: $j}) CREATE (a)-[:New {k: $j}]->(b)-[:U]->(a)",
    "MATCH (a {k: $k})-[r]-() DELETE r",
    "MATCH (a {k: $k})-[r]->() SET r.k = $j, r.s = $word",
    "MERGE (n:C {k: $k}) ON MATCH SET n.i = $j ON CREATE SET n.s = $word",
    "MATCH (n:A) SET n.f = 1.5",
)


def outcome(graph, text, parameters):
    try:
        rows = graph.query(text, parameters).fetchall()
        return sorted((same(canonical(list(row), lists_ordered=False)) for row in rows), key=repr)
    except QengineError as error:
        return error.code, error.message


def same(value):
    """Return a canonical value with the labels of nodes in one order."""
    if not isinstance(value, tuple):
        return value
    if value[:1] == ("node",):
        return *value[:2], tuple(sorted(value[2])), *value[3:]
    return tuple(map(same, value))


def is_sealed(graph):
    return graph._view.versions.latest.is_sealed


def reading(text, chance):
    """Return parameters for a statement."""
    given = {
        "k": chance.choice([*range(8), 1000, 0.0]),
        "j": chance.randint(0, 6),
        "text": str(chance.randint(0, 9)),
        "word": chance.choice(["", "a", "ab", "ä"]),
    }
    return {name: value for name, value in given.items() if f"${name}" in text}


@pytest.mark.parametrize("block", range(6))
def test_rows_are_those_of_the_store(block):
    walked = 0
    for seed in range(block * 5, block * 5 + 5):
        chance = random.Random(f"live {seed}")
        graph = Graph(random_graph(f"live {seed}").store())
        for _ in range(6):
            for text in chance.choices(UPDATES, k=chance.randint(1, 4)):
                graph.query(text, reading(text, chance))
            asked = [(text, reading(text, chance)) for text in chance.sample(QUERIES, 8)]
            found = []
            for text, parameters in asked:
                was_sealed = is_sealed(graph)
                found.append(outcome(graph, text, parameters))
                walked += not was_sealed and not is_sealed(graph)
            assert graph._store is not None  # makes it
            for (text, parameters), live in zip(asked, found, strict=True):
                assert live == outcome(graph, text, parameters), f"seed {seed}: {text} {parameters}"
    assert walked > 20


def test_all_that_can_be_walked_gives_the_rows_of_the_store(monkeypatch):
    """Queries of all kinds, whatever they begin with."""
    monkeypatch.setattr(live_reads, "is_anchored", lambda part, *, walks: True)
    walked = 0
    for seed in range(WALKED):
        made = random_graph(f"walked {seed // 10}", most_nodes=4, most_relationships=6)
        graph = Graph(made.store())
        chance = random.Random(seed)
        for text in chance.choices(UPDATES, k=2):
            graph.query(text, reading(text, chance))
        query = composed_query(seed, made)
        before = len(graph._view.versions._chain.commits)
        live = rows(graph, query)
        if is_sealed(graph) or not before:
            continue
        walked += 1
        assert graph._store is not None  # makes it
        stored = rows(graph, query)
        if query.sure and isinstance(live, list) and isinstance(stored, list):
            report = difference(stored, live, ordered=query.ordered, lists_ordered=query.lists_ordered)
            assert report is None, f"seed {seed}: {query.text} {query.parameters}\n{report}"
    assert walked > WALKED / 10


def rows(graph, query):
    try:
        return [tuple(row) for row in graph.query(query.text, query.parameters, device="cpu").fetchall()]
    except QengineError as error:
        return error.code


@pytest.fixture(autouse=True)
def _however_long_reading_takes(monkeypatch):
    """Let no version be made because a busy machine reads slowly."""
    monkeypatch.setattr(versions, "_ENOUGH", math.inf)


@pytest.fixture
def graph():
    nodes = [{"id": k, "labels": ["A"], "properties": {"k": k, "v": 0}} for k in range(50)]
    links = [{"type": "R", "start": k, "end": (k + 1) % 50} for k in range(50)]
    return Graph.from_records(nodes, links)


def test_versions_stay_what_they_are(graph):
    known = []
    for v in range(1, 30):
        graph.query("MATCH (a {k: 1}), (b {k: 2}) SET a.v = $v CREATE (a)-[:S {v: $v}]->(b)", {"v": v})
        graph.query("MATCH (n {k: $k}) DETACH DELETE n", {"k": v + 10})
        known.append((v, graph._view.versions.latest))
    text = "MATCH (a {k: 1}) RETURN a.v AS v, COUNT { (a)-[:S]->() } AS c"
    gone = "MATCH (n {k: $k}) RETURN n.v AS v"
    view = graph._view
    for v, version in reversed(known):
        view.versions.latest = version
        assert not version.is_sealed
        assert graph.query(text).fetchall() == [(v, v)]
        for k in (v + 10, v + 11):
            assert len(graph.query(gone, {"k": k}).fetchall()) == (k > v + 10 and k < 50)
        assert not version.is_sealed


def test_readers_see_one_version_while_others_write(graph):
    count, stop = 300, threading.Event()
    errors, seen, walked = [], [], []
    text = (
        "MATCH (a {k: 1}), (b {k: 2}) RETURN a.v AS a, b.v AS b, COUNT { (a)-[:S]->(b) } AS c, COUNT { (a)--() } AS d"
    )

    def read():
        last = 0
        while not stop.is_set():
            try:
                walked.append(not is_sealed(graph))
                ((a, b, c, d),) = graph.query(text).fetchall()
                assert a == b == c == d - 2
                assert a >= last
                last = a
                seen.append(a)
            except BaseException as error:
                errors.append(error)
                return

    readers = [threading.Thread(target=read) for _ in range(3)]
    for each in readers:
        each.start()
    write = "MATCH (a {k: 1}), (b {k: 2}) SET a.v = $v, b.v = $v CREATE (a)-[:S]->(b)"
    for v in range(1, count + 1):
        graph.query(write, {"v": v})
        if v % 100 == 50:
            graph.query("MATCH (n) RETURN count(n)").fetchall()  # a store is made meanwhile
    stop.set()
    for each in readers:
        each.join()
    assert not errors
    assert len(set(seen)) > 1
    assert any(walked)
    assert graph.query(text).fetchall() == [(count, count, count, count + 2)]


def test_no_lock_of_a_writer_is_waited_for(graph):
    graph.query("MATCH (a {k: 1}) SET a.v = 1")
    with graph.transaction() as t:
        t.query("MATCH (a {k: 1}) SET a.v = 2")
        found = []
        other = threading.Thread(
            target=lambda: found.extend(graph.query("MATCH (a {k: 1}) RETURN a.v", timeout=5).fetchall())
        )
        other.start()
        other.join(timeout=10)
        assert found == [(1,)]
        assert t.query("MATCH (a {k: 1}) RETURN a.v").fetchall() == [(2,)]
        assert not t._view.writer.is_sealed
        t.query("MATCH (a {k: 1})-[r]->() DELETE r")
        assert t.query("MATCH (a {k: 1})--(b) RETURN b.k").fetchall() == [(0,)]
    assert graph.query("MATCH (a {k: 1})--(b) RETURN b.k").fetchall() == [(0,)]
    assert not is_sealed(graph)


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [(live_reads, "_MOST", 3), (pending, "_MOST_AT_ONCE", 0), (versions, "_ENOUGH", 0.0), (live_reads, "FEW", 1)],
)
def test_what_is_too_much_is_read_of_a_store(graph, monkeypatch, module, name, value):
    graph.query("MATCH (a {k: 1}) SET a.v = 7")
    monkeypatch.setattr(module, name, value)
    text = "UNWIND [1, 1] AS k MATCH (a {k: k})--(b) RETURN a.v, b.k"
    assert sorted(graph.query(text).fetchall()) == [(7, 0), (7, 0), (7, 2), (7, 2)]
    assert is_sealed(graph)


def test_reading_for_long_makes_a_store(graph, monkeypatch):
    monkeypatch.setattr(versions, "_ENOUGH", 1e-9)
    graph.query("MATCH (a {k: 1}) SET a.v = 7")
    assert graph.query("MATCH (a {k: 1}) RETURN a.v").fetchall() == [(7,)]
    assert not is_sealed(graph)
    assert graph.query("MATCH (a {k: 1}) RETURN a.v").fetchall() == [(7,)]
    assert is_sealed(graph)


@pytest.mark.parametrize(
    "text",
    ["MATCH (n) RETURN count(n)", "SHOW INDEXES", "CALL db.labels()",
     "MATCH (a)-[*]->(b {k: 1}) RETURN 1 AS x UNION RETURN 2 AS x",
     "EXPLAIN MATCH (a {k: 1}) RETURN a", "PROFILE MATCH (a {k: 1}) RETURN a", "MATCH (a {k: 1}), (b) RETURN a"],
)  # fmt: skip
def test_other_statements_are_read_of_a_store(graph, text):
    graph.query("MATCH (a {k: 1}) SET a.v = 7")
    graph.query(text).fetchall()
    assert is_sealed(graph)


def test_a_prepared_statement_is_walked_or_not_as_versions_are(graph):
    prepared = graph.prepare("MATCH (a {k: $k}) RETURN a.v")
    for v in range(1, 4):
        assert prepared.run({"k": 1}).fetchall() == [(v - 1,)]
        graph.query("MATCH (a {k: 1}) SET a.v = $v", {"v": v})
        fresh = graph.prepare("MATCH (a {k: $k}) RETURN a.v")
        assert fresh.columns == ("a.v",)
        assert fresh.run({"k": 1}).fetchall() == prepared.run({"k": 1}).fetchall() == [(v,)]
        assert not is_sealed(graph)
        if v == 2:
            assert graph.node_count == 50
            assert fresh.run({"k": 1}).fetchall() == prepared.run({"k": 1}).fetchall() == [(v,)]
    with pytest.raises(qengine.QengineError, match="k"):
        prepared.run()


def test_what_reads_too_much_is_walked_ever_more_rarely(graph, monkeypatch):
    monkeypatch.setattr(live_reads, "_MOST", 1)
    tried, real = [], live_reads._read
    monkeypatch.setattr(live_reads, "_read", lambda *given: tried.append(given) or real(*given))
    for number in range(30):
        graph.query("MATCH (a {k: 1}) SET a.v = $x", {"x": number})
        assert graph.query("MATCH (a {k: 1})--(b) RETURN DISTINCT a.v").fetchall() == [(number,)]
    assert len(tried) == 3, "at first, then after 4 times, then after 16 times"


TYPED = (  # each is wrong where `x` has some type, whichever rows there are
    "MATCH (n:P {k: $k}) RETURN abs(n.x) AS a",
    "MATCH (n:P {k: $k}) RETURN sum(n.x) AS a",
    "MATCH (n:P {k: $k}) RETURN n.x.year AS a",
    "MATCH (n:P {k: $k}) WHERE NOT n.x RETURN n.k AS a",
    "MATCH (n:P {k: $k})-[r]->() RETURN r.x - 1 AS a, n.x IS NULL AS b",
    "MATCH (n:P {k: $k}) RETURN n.x - n.y AS a",
    "MATCH (n:P {k: $k})-[r]->(m) WHERE m.k > 5 RETURN [y IN n.x | y] AS a, r.x AS b",
    "MATCH (n:P {k: $k}) RETURN n.x AS a, n.x > 1 AS b",
)
RETYPED = (
    "MATCH (n:P) SET n.x = 'a'",
    "MATCH (n:P)-[r]->() SET r.x = 'a'",
    "MATCH (n:P {k: 1}) SET n.x = true",
    "MATCH (n:P) SET n.x = date('2020-01-01') SET n.y = 1",
    "MATCH (n:P) SET n.x = 1",
    "MATCH (n:P) REMOVE n.x",
    "CREATE (:P {k: 100, x: [1, 2]})-[:R {x: true}]->(:P {k: 101, y: 'a'})",
    "MATCH (n:P) WHERE n.k < 2 DETACH DELETE n",
    "UNWIND range(200, 230) AS i CREATE (:P {k: i, x: 'b'})",
)


@pytest.mark.parametrize("transaction", [False, True])
def test_a_property_that_changed_its_type_is_refused_as_on_the_store(transaction):
    refused = walked = 0
    for seed in range(40):
        chance = random.Random(f"typed {seed}")
        nodes = [{"id": k, "labels": ["P"], "properties": {"k": k, "x": k, "y": k}} for k in range(12)]
        links = [{"type": "R", "start": k, "end": k + 1, "properties": {"x": k}} for k in range(11)]
        graph = Graph.from_records(nodes, links)
        asked = [(text, {"k": chance.choice([1, 99, 100])}) for text in chance.sample(TYPED, 4)]
        for each in asked[:2]:
            outcome(graph, *each)  # whose plans are kept
        with graph.transaction() as transaction_:
            given = transaction_ if transaction else graph
            if not transaction:
                transaction_.rollback()
            for text in chance.choices(RETYPED, k=chance.randint(1, 3)):
                given.query(text)
            view = given._view
            live = []
            for text, parameters in asked:
                live.append(outcome(given, text, parameters))
                walked += not (view.writer if transaction else view.versions.latest).is_sealed
            view.current()  # makes a store
            for (text, parameters), found in zip(asked, live, strict=True):
                assert found == outcome(given, text, parameters), f"seed {seed}: {text} {parameters}"
                refused += isinstance(found, tuple)
    assert walked > 25 and refused > 15
