"""Tables that are appended give the graph that plain dictionaries say, however they are added, and loaded at once."""

from __future__ import annotations

import errno
import random
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import qengine
from qengine.errors import ExecutionError, StorageError
from qengine.storage import node_layout
from qengine.testing.disk import FailingDisk
from qengine.write import append
from qengine.write.open_folder import open_folder
from tests.examples import examples

LABELS = (("A",), ("B",), ("A", "B"), ())
QUERIES = (
    "MATCH (a:A)-[r]->(b) RETURN a.id AS a, type(r) AS t, b.id AS b",
    "MATCH (a)-[:R]-(b:B) RETURN count(*) AS n",
    "MATCH (a)-[:R|S]->(b)-[:S|T]->(c) RETURN count(*) AS n, sum(c.i) AS s",
    "MATCH (a)-[r]->(b)-[s]->(a) RETURN count(*) AS n",
    "MATCH (n) WHERE n.s = 'ä' OR n.i = 3 RETURN n.id AS i",
)


def column(chance, kind, count):
    values = {
        "i": lambda: chance.randint(0, 4),
        "f": lambda: chance.choice([0.5, 1.0, -0.0]),
        "s": lambda: chance.choice(["", "ä", "b"]),
        "l": lambda: [chance.randint(0, 3)] * chance.randint(0, 2),
        "m": lambda: chance.randint(0, 9),
    }[kind]
    made = [values() if chance.random() < 0.7 else None for _ in range(count)]
    if kind == "m" and chance.random() < 0.5:  # a property whose type differs from table to table
        return [None if each is None else str(each) for each in made]
    return made


def table(chance, ids, kinds):
    types = {"l": pa.list_(pa.int64()), "i": pa.int64(), "f": pa.float64(), "s": pa.string()}
    own = {kind: pa.array(column(chance, kind, len(ids)), types.get(kind)) for kind in kinds}
    return pa.table({"id": pa.array(ids, pa.int64()), **own})


def rows_of(given):
    return given.to_pylist()


class Model:
    """Nodes by id, and relationships as (type, start, end, properties), which repeat."""

    def __init__(self):
        self.nodes = {}
        self.relationships = []
        self.counts = None

    def add(self, tables, links, *, upsert):
        for labels, rows in tables:
            for row in rows_of(rows):
                given = dict(row)
                there = upsert and row["id"] in self.nodes and set(labels) <= set(self.nodes[row["id"]][0])
                old = self.nodes[row["id"]] if there else (labels, {})
                kept = {key: value for key, value in {**old[1], **given}.items() if value is not None}
                self.nodes[row["id"]] = old[0], kept
        for name, rows in links:
            for row in rows_of(rows):
                rest = {key: value for key, value in row.items() if key not in ("start", "end") and value is not None}
                self.relationships.append((name, row["start"], row["end"], rest))

    def found(self):
        nodes = sorted((id, sorted(labels), shown(rest)) for id, (labels, rest) in self.nodes.items())
        links = sorted((name, start, end, shown(rest)) for name, start, end, rest in self.relationships)
        return nodes, links


def shown(properties):
    return sorted((key, repr(value)) for key, value in properties.items())


def found(graph):
    nodes = graph.query("MATCH (n) RETURN n.id, labels(n), properties(n)").fetchall()
    text = "MATCH (a)-[r]->(b) RETURN type(r), a.id, b.id, properties(r)"
    links = [(t, a, b, shown(rest)) for t, a, b, rest in graph.query(text).fetchall()]
    return sorted((id, sorted(labels), shown(rest)) for id, labels, rest in nodes), sorted(links)


@contextmanager
def route(few):
    before = append._FEW, append._MOST
    append._FEW, append._MOST = (1 << 40, 1 << 40) if few else (-1, -1)
    try:
        yield
    finally:
        append._FEW, append._MOST = before


def step(chance, graph, model, fresh):
    """Append something at random, or change the graph in another way."""
    if chance.random() < 0.2 and model.nodes:
        id = chance.choice(list(model.nodes))
        if chance.random() < 0.5:
            graph.query("MATCH (n {id: $id}) DETACH DELETE n", {"id": id})
            del model.nodes[id]
            model.relationships = [each for each in model.relationships if id not in each[1:3]]
        else:
            graph.query("MATCH (n {id: $id}) SET n.i = 3", {"id": id})
            model.nodes[id][1]["i"] = 3
        return
    upsert = chance.random() < 0.6
    tables, used = [], set()
    for labels in chance.sample(LABELS, chance.randint(0, 2)):
        ids = [next(fresh) for _ in range(chance.randint(0, 4))]
        if upsert:
            there = [id for id, (own, _) in model.nodes.items() if set(own) >= set(labels) and id not in used]
            ids += chance.sample(there, min(len(there), chance.randint(0, 3)))
        used |= set(ids)
        chance.shuffle(ids)
        tables.append((labels, table(chance, ids, chance.sample("ifslm", chance.randint(0, 3)))))
    known = [*model.nodes, *(id for _, rows in tables for id in rows["id"].to_pylist())]
    links = []
    for name in chance.sample("RST", chance.randint(0, 2) if known else 0):
        count = chance.randint(0, 5)
        ends = {each: pa.array([chance.choice(known) for _ in range(count)], pa.int64()) for each in ("start", "end")}
        kinds = chance.sample("ism", chance.randint(0, 2))
        rest = table(chance, list(range(count)), kinds).drop_columns("id")
        links.append((name, pa.table({**ends, **{key: rest[key] for key in rest.column_names}})))
    with route(chance.random() < 0.5):
        changes = graph.append_arrow(tables, links, upsert=upsert)
    before = len(model.nodes), len(model.relationships)
    model.add(tables, links, upsert=upsert)
    assert changes.nodes_created == len(model.nodes) - before[0]
    assert changes.relationships_created == len(model.relationships) - before[1]


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_appended_tables_are_what_dictionaries_say(tmp_path_factory, seed):
    chance = random.Random(seed)
    model, fresh = Model(), iter(range(100, 10_000))
    graph = qengine.Graph()
    if opened := chance.random() < 0.4:
        path = tmp_path_factory.mktemp("graph") / "saved"
        graph.save(path)
        graph = qengine.open(path)
    for _ in range(chance.randint(1, 6)):
        step(chance, graph, model, fresh)
        if chance.random() < 0.5:
            assert found(graph) == model.found()
            graph._store.check()
    assert found(graph) == model.found()
    if opened:
        with qengine.open(path) as other:  # while the first one has it
            assert found(other) == model.found()
        graph.close()
        graph = qengine.open(path)
        assert found(graph) == model.found()
    _compare_with_loaded(graph, model)


def _compare_with_loaded(graph, model):
    nodes = [{"id": id, "labels": labels, "properties": rest} for id, (labels, rest) in model.nodes.items()]
    links = [{"type": t, "start": a, "end": b, "properties": rest} for t, a, b, rest in model.relationships]
    loaded = qengine.Graph.from_records(nodes, links)
    for text in QUERIES:
        one, other = (sorted(map(repr, each.query(text).fetchall())) for each in (graph, loaded))
        assert one == other, text
    assert set(graph.labels) == set(loaded.labels)
    assert set(graph.relationship_types) == set(loaded.relationship_types)
    assert set(graph.property_keys) == set(loaded.property_keys)


@pytest.mark.parametrize("few", [True, False])
def test_many_label_groups_are_merged(few, monkeypatch):
    monkeypatch.setattr(node_layout, "_MOST_REPEATS", 2)
    graph, model = qengine.Graph(), Model()
    chance = random.Random(1)
    for first in range(0, 60, 6):
        ids = [(labels, list(range(first + 3 * n, first + 3 * n + 3))) for n, labels in enumerate(LABELS[:2])]
        tables = [(labels, table(chance, own, "is")) for labels, own in ids]
        known = list(range(first + 6))
        ends = {each: [chance.choice(known) for _ in range(8)] for each in ("start", "end")}
        links = [("R", pa.table({**ends, "i": list(range(8))}))]
        with route(few):
            graph.append_arrow(tables, links)
        model.add(tables, links, upsert=False)
        assert found(graph) == model.found()
    assert len(graph._store.groups) <= 4
    _compare_with_loaded(graph, model)


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("upsert", [True, False])
def test_an_error_leaves_nothing_behind(few, upsert):
    graph = qengine.Graph()
    graph.query("CREATE CONSTRAINT c FOR (n:A) REQUIRE n.i IS UNIQUE")
    graph.append_arrow({"A": pa.table({"id": [1, 2], "i": [1, 2]})})
    before = found(graph)
    good = pa.table({"id": [7, 8], "i": [7, 8]})
    attempts = [
        ({"A": pa.table({"id": [7, 8], "i": [7, 2]})}, [], ExecutionError, "Node .* has i = 2, as node .* has"),
        ({"A": good}, [("R", pa.table({"start": [7], "end": [9]}))], StorageError, "row 0 has the key 9, which is no"),
        ({"A": pa.table({"id": [7, 7]})}, [], StorageError, "row 1 has the key 7 that row 0 has"),
        ({"A": good}, [("R", pa.table({"start": ["7"], "end": ["8"]}))], StorageError, "can't match the nodes' keys"),
        ({"A": good}, [("R", pa.table({"start": [7]}))], StorageError, "two columns with the keys"),
        ({"A": [1, 2]}, [], StorageError, "isn't a table"),
    ]
    if not upsert:
        text = "row 1 has the key 2, which node 1 has already"
        attempts.append(({"A": pa.table({"id": [7, 2]})}, [], StorageError, text))
    for nodes, links, kind, text in attempts:
        with route(few), pytest.raises(kind, match=text):
            graph.append_arrow(nodes, links, upsert=upsert)
        assert found(graph) == before
    with route(few):
        graph.append_arrow({"A": good}, upsert=upsert)
    assert len(found(graph)[0]) == 4


@pytest.mark.parametrize("few", [True, False])
def test_transactions_have_appended_tables_with_the_rest(few):
    graph = qengine.Graph()
    graph.append_arrow({"A": pa.table({"id": [1]})})
    with pytest.raises(ZeroDivisionError), graph.transaction() as t, route(few):
        t.query("CREATE (:A {id: 2})")
        t.append_arrow({"A": pa.table({"id": [3]})}, [("R", pa.table({"start": [2], "end": [3]}))])
        t.query("MATCH (a {id: 3}) SET a.i = 1")
        assert t.query("MATCH (a)-[:R]->(b) RETURN a.id, b.id, b.i").fetchall() == [(2, 3, 1)]
        assert graph.query("MATCH (a) RETURN a.id").fetchall() == [(1,)]
        1 / 0  # noqa: B018
    assert graph.query("MATCH (a) RETURN a.id").fetchall() == [(1,)]
    with graph.transaction() as t, route(few):
        t.query("CREATE (:A {id: 2})")
        t.append_arrow({"A": pa.table({"id": [3]})}, [("R", pa.table({"start": [2], "end": [3]}))])
        t.query("MATCH (a {id: 3}) SET a.i = 1")
        t.append_arrow({"A": pa.table({"id": [4, 1], "i": [4, 1]})}, upsert=True)
    rows = graph.query("MATCH (a) RETURN a.id AS id, a.i AS i ORDER BY id").fetchall()
    assert rows == [(1, 1), (2, None), (3, 1), (4, 4)]
    graph.query("CREATE (:A {id: 5})")
    assert graph.query("MATCH (a) RETURN count(a)").fetchall() == [(5,)]


@pytest.mark.parametrize("few", [True, False])
def test_a_follower_sees_what_was_appended(few, tmp_path):
    qengine.Graph().save(tmp_path / "graph")
    with qengine.open(tmp_path / "graph") as graph, qengine.open(tmp_path / "graph") as other:
        graph.query("CREATE (:A {id: 1})")
        assert other.refresh()
        with route(few):
            graph.append_arrow({"A": pa.table({"id": [2]})})
        assert other.refresh()
        assert other.query("MATCH (a) RETURN count(a)").fetchall() == [(2,)]
        graph.query("CREATE (:A {id: 3})")
        assert other.refresh()
        assert other.query("MATCH (a) RETURN count(a)").fetchall() == [(3,)]
        assert not other.refresh()
    assert len(found(qengine.open(tmp_path / "graph"))[0]) == 3


def test_directions_of_types():
    graph = qengine.Graph()
    ends = pa.table({"start": [1, 2], "end": [2, 1]})
    graph.append_arrow({"A": pa.table({"id": [1, 2]})}, {"U": ends, "R": ends}, undirected=["U"])
    assert graph.query("MATCH (a {id: 1})-[:U]->(b) RETURN count(*)").fetchall() == [(2,)]
    graph.append_arrow((), {"U": ends}, undirected=["U"])
    assert graph.query("MATCH (a {id: 1})-[:U]->(b) RETURN count(*)").fetchall() == [(4,)]
    with pytest.raises(StorageError, match="type R have a direction"):
        graph.append_arrow((), {"R": ends}, undirected=["R"])
    with pytest.raises(StorageError, match="no relationship type V"):
        graph.append_arrow((), {"R": ends}, undirected=["V"])


@pytest.mark.parametrize("few", [True, False])
def test_a_key_that_several_nodes_have_is_refused_where_it_is_asked_for(few):
    graph = qengine.Graph()
    graph.query("UNWIND [1, 1, 2, 'x', 2.0, true, 3.0] AS id CREATE (:A {id: id})")
    with route(few):
        graph.append_arrow({"A": pa.table({"id": [4]})}, [("R", pa.table({"start": [3], "end": [4]}))])
        graph.append_arrow({"A": pa.table({"id": ["x"], "i": [1]})}, upsert=True)
        for key in (1, 2):  # 2 and 2.0 are equal
            with pytest.raises(StorageError, match=f"several nodes with the label A have the key {key}"):
                graph.append_arrow((), [("R", "A", "A", pa.table({"start": [3], "end": [key]}))])
    rows = graph.query("MATCH (a)-[:R]->(b) RETURN a.id, b.id").fetchall()
    assert rows == [(3.0, 4)]
    assert graph.query("MATCH (a {id: 'x'}) RETURN a.i").fetchall() == [(1,)]


@pytest.mark.parametrize("few", [True, False])
def test_counts_of_properties_are_those_of_set(few):
    graph = qengine.Graph()
    with route(few):
        graph.append_arrow({"A": pa.table({"id": [1, 2], "i": [1, None], "s": ["a", "b"]})})
        rows = pa.table({"id": [1, 2, 3], "i": pa.array([None, None, None], pa.int64()), "s": ["x", None, "z"]})
        changes = graph.append_arrow({"A": rows}, upsert=True)
    other = qengine.Graph()
    other.query("CREATE (:A {id: 1, i: 1, s: 'a'}), (:A {id: 2, s: 'b'})")
    text = "UNWIND $rows AS row MERGE (a:A {id: row.id}) SET a += row"
    wanted = other.query(text, {"rows": rows.to_pylist()}).stats.changes
    assert changes.properties_set == wanted.properties_set - 1  # MERGE has set the new node's key before
    assert found(graph) == found(other)


def test_limits_are_obeyed():
    graph = qengine.Graph()
    nodes = pa.table({"id": np.arange(200_000)})
    with pytest.raises(qengine.OutOfMemory):
        graph.append_arrow({"A": nodes}, memory_limit=1_000)
    with pytest.raises(qengine.QueryTimeout):
        graph.append_arrow({"A": nodes}, timeout=0)
    with pytest.raises(TypeError, match="Did you mean 'upsert'"):
        graph.append_arrow({"A": nodes}, upser=True)
    assert graph.node_count == 0


def test_a_disk_that_refuses_leaves_the_graph_as_it_was(tmp_path):
    qengine.Graph().save(tmp_path / "graph")
    disk = FailingDisk(errno.ENOSPC)
    nodes = pa.table({"id": [2]})
    with qengine.Graph._opened(*open_folder(tmp_path / "graph", disk=disk)) as graph, route(few=False):
        graph.query("CREATE (:A {id: 1})")
        disk.refused = {"create"}
        with pytest.raises(StorageError, match="No space left"):
            graph.append_arrow({"A": nodes})
        assert len(found(graph)[0]) == 1
        disk.refused = set()
        graph.append_arrow({"A": nodes})
        graph.query("CREATE (:A {id: 3})")
    assert len(found(qengine.open(tmp_path / "graph"))[0]) == 3


@pytest.mark.parametrize("few", [True, False])
def test_forms_of_tables(few):
    graph = qengine.Graph()
    nodes = pa.table({"id": [1, 2], "kind": ["A", "A:B"]})
    ends = {"from": [1], "to": [2], "what": ["R"]}
    reader = pa.RecordBatchReader.from_batches(nodes.schema, nodes.to_batches())
    with route(few):
        graph.append_arrow(reader, pa.table(ends), label_column="kind", type_column="what")
        graph.append_arrow([(["C"], {"name": ["x", "y"]})])
        graph.append_arrow((), [("S", "C", None, pa.record_batch({"x": ["x"], "y": ["y"]}))], key="name")
    rows = graph.query("MATCH (a)-[r]->(b) RETURN type(r) AS t, labels(a) AS a, labels(b) AS b ORDER BY t").fetchall()
    assert rows == [("R", ["A"], ["A", "B"]), ("S", ["C"], ["C"])]


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    graph = qengine.Graph()
    graph.append_arrow({"A": pandas.DataFrame({"id": [1, 2]})}, [("R", pandas.DataFrame({"start": [1], "end": [2]}))])
    assert graph.query("MATCH (a)-[:R]->(b) RETURN a.id, b.id").fetchall() == [(1, 2)]
