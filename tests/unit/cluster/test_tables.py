"""Tables as a graph: what is answered, what is told, and what is refused."""

import datetime
import gc
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from qengine import Graph, OutOfMemory, QueryTimeout, SemanticError, StorageError, Unsupported, cluster
from qengine.cluster.engine import Event
from qengine.cluster.hypercube import cells
from qengine.cluster.hypercube.local import LocalExchange
from qengine.cluster.hypercube.slices import ROOM
from qengine.cluster.hypercube.sources import look, pieces, rows_of
from tests.unit.cluster.tables import InlineTasks, inline

PERSONS = pa.table(
    {
        "id": ["a", "b", "c", "d", "é"],
        "age": pa.array([1, 2, 3, 4, None], pa.int32()),
        "born": [datetime.date(2000, 1, day) for day in (1, 2, 3, 4, 5)],
    }
)
CITIES = pa.table({"id": pa.array([1, 2], pa.int16()), "name": ["X", "Y"]})
KNOWS = pa.table(
    {
        "start": ["a", "a", "b", "c", "c", "d", "é"],
        "end": ["b", "b", "c", "a", "c", "a", "d"],
        "since": [1, 2, 3, 4, 5, 6, 7],
    }
)
LIVES = pa.table({"start": ["a", "b", "c", "d"], "end": pa.array([1, 1, 2, 1], pa.int32())})
NODES = {"Person": PERSONS, "City": CITIES}
RELATIONSHIPS = [("KNOWS", "Person", "Person", KNOWS), ("LIVES", "Person", "City", LIVES)]


@pytest.fixture(scope="module")
def graph():
    with inline(NODES, RELATIONSHIPS) as found:
        yield found


@pytest.fixture(scope="module")
def whole():
    return Graph.from_arrow(NODES, RELATIONSHIPS)


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a:Person)-[:KNOWS]->(b)-[:LIVES]->(c) RETURN c.name, count(*), avg(b.age) ORDER BY c.name",
        "MATCH (a)-[r]->(b) RETURN type(r), count(*) AS n ORDER BY n",
        "MATCH (a)-[r]->(b) RETURN a.id, b.id, r.since ORDER BY a.id, b.id, r.since",
        "MATCH (a)-->(b) WITH a, count(DISTINCT b) AS n WHERE n > 1 RETURN a.id, n ORDER BY a.id",
        "MATCH (a)-->(b) WITH DISTINCT b RETURN b.id, b.name, b.age ORDER BY b.age, b.name, b.id",
        "MATCH (a:Person)-[r:KNOWS]->(b) RETURN a.age ORDER BY r.since DESC SKIP 1 LIMIT 2",
        "MATCH (a:Person)-[:KNOWS]->(b) WITH a LIMIT 100 RETURN sum(a.age), collect(a.id)[..0]",
        "MATCH (a)-[r]-(a) RETURN a.id, r.since",
        "MATCH (a)-[r]-(b)-[s]-(a) RETURN count(*), sum(r.since * s.since)",
        "MATCH (a {id: 'a'})-[r:KNOWS]-(b {age: 2}) RETURN r.since ORDER BY r.since",
        "MATCH (a) WHERE a.id = 1 OR a.age >= 4 RETURN a.id ORDER BY a.id",
        "MATCH (a)-->(b:City) WHERE a.born > date('2000-01-01') RETURN a.born, b.name ORDER BY a.born",
        "MATCH (a)-[:KNOWS]->(b) RETURN max(b.born), min(a.id)",
        "MATCH (a:Person)-->(b) RETURN b:City AS is_city, count(*) ORDER BY is_city",
        "MATCH (a:Nobody)-->(b) RETURN count(*)",
        "MATCH (a:Nobody)-->(b) RETURN a.id",
        "MATCH (a:City)-->(b) RETURN b.id, count(*)",
        "MATCH (a)-[r:KNOWS]->(b), (a)-[s:KNOWS]->(b) RETURN r.since, s.since ORDER BY r.since, s.since",
        "MATCH (a)-->(b) UNWIND [1, 2] AS x WITH a, x RETURN sum(x), count(a.age)",
        "MATCH (a)-[r]->(b) RETURN percentileCont(r.since, 0.5), stDev(a.age)",
        "MATCH (a:Person) OPTIONAL MATCH (a)-[:LIVES]->(c) RETURN a.id, c.name ORDER BY a.id",
        "MATCH (a:Person)-[:KNOWS]->(b) OPTIONAL MATCH (b)-[r]->(c)-->(d) WHERE d.age > a.age OR d:City "
        "RETURN count(*), count(r), count(DISTINCT d), sum(c.age * r.since)",
        "MATCH (t)<-[:LIVES]-(m) OPTIONAL MATCH (m)<-[:KNOWS]-(l) OPTIONAL MATCH (m)-[:KNOWS]->(k:Person) "
        "RETURN t.name, count(*), count(l), count(k) ORDER BY t.name",
        "MATCH (a)-[:KNOWS]->(b)-[:KNOWS]->(c) WHERE NOT (a)-[:KNOWS]-(c) AND a <> c RETURN count(*)",
        "MATCH (a:Person) WHERE NOT EXISTS { (a)<-[r:KNOWS]-(x) WHERE x.age > a.age AND r.since > 1 } "
        "RETURN a.id ORDER BY a.id",
        "MATCH (a:Person) RETURN a.id, COUNT { (a)-->(x:Person)-->(y) WHERE y.age > 1 } AS n, "
        "[(a)-[r]->(x) | r.since][0] IS NULL AS none ORDER BY a.id",
        "MATCH (a)-->(b) WITH a, b AS c, a.age AS g MATCH (c)-->(d) WHERE d.age > g RETURN c.id, d.id ORDER BY d.id",
        "MATCH (a)-->(b) WITH b AS x OPTIONAL MATCH (x)-->(y) WITH y AS z OPTIONAL MATCH (z)-->(w:City) "
        "RETURN z.id, w.name ORDER BY z.id, w.name",
        "MATCH (a:Person)-[:KNOWS*1..2]->(b)-[:LIVES]->(c) RETURN c.name, count(*) ORDER BY c.name",
        "MATCH (a:Person)-[r:KNOWS*0..3]-(b) RETURN a.id, b.id, size(r) AS n, count(*) ORDER BY a.id, b.id, n",
        "MATCH (a)-[:LIVES]->(b) OPTIONAL MATCH (b:City {name: 'Y'})<--(c) RETURN a.id, c.id ORDER BY a.id",
        "MATCH (a)-[:KNOWS]->(b), (c)-[:LIVES]->(d) WHERE a.age < c.age RETURN count(*), count(DISTINCT d), sum(a.age)",
        "MATCH (a:City), (b:Person) OPTIONAL MATCH (b)-[r]->(a) RETURN a.name, b.id, type(r) ORDER BY a.name, b.id",
        "MATCH (a)-[:KNOWS*2]->(a) RETURN a.id, count(*) ORDER BY a.id",
        "MATCH (a:Person) WHERE EXISTS { (a)<-[:KNOWS*2..]-(b)-[:LIVES]->({name: 'X'}) } RETURN a.id ORDER BY a.id",
        "MATCH (a:Person) OPTIONAL MATCH (x:City {name: 'Y'}) WHERE a.age > 2 RETURN a.id, x.name ORDER BY a.id",
    ],
)
def test_answers_are_those_of_the_whole_graph(graph, whole, query):
    found, expected = graph.query(query), whole.query(query)
    assert found.columns == expected.columns
    assert found.fetchall() == expected.fetchall()


@pytest.mark.parametrize("cells", [2, 5, 12])
def test_dense_graphs_have_each_embedding_once(cells):
    chance = np.random.default_rng(cells)
    edges = pa.table({"a": chance.integers(0, 25, 160), "b": chance.integers(0, 25, 160)})
    with inline(relationships=[("E", edges)], cells=cells) as tables:
        for query in (
            "MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)",
            "MATCH (a)--(b)--(c)--(a) RETURN count(*)",
            "MATCH (a)-->(b)-->(c)-->(d)-->(a) RETURN count(*)",
            "MATCH (a)--(b)-->(c)--(d) WHERE a.id < d.id RETURN count(DISTINCT b), count(*)",
        ):
            expected = Graph.from_edge_list(edges).query(query).fetchall()
            assert expected[0][0] > 0
            assert tables.query(query).fetchall() == expected


def test_parameters_decide_what_is_sent(graph, whole):
    query = "MATCH (a {id: $name})-[r:KNOWS]->(b) WHERE r.since > $least RETURN b.id, r.since"
    for params in ({"name": "a", "least": 1}, {"name": "c", "least": 0}):
        assert graph.query(query, params).fetchall() == whole.query(query, params).fetchall()
        assert graph.profile(query, params).moved.rows <= 2
    with pytest.raises(SemanticError, match="least"):
        graph.query(query, {"name": "a"})


def test_conditions_are_evaluated_where_tables_are_read(graph):
    every = graph.profile("MATCH (a:Person)-[r:KNOWS]->(b) RETURN sum(r.since)").moved
    some = graph.profile("MATCH (a:Person)-[r:KNOWS]->(b) WHERE r.since > 6 RETURN sum(r.since)").moved
    keyed = graph.profile("MATCH (a:Person)-[r:KNOWS]->(b) WHERE b.id > 'c' RETURN sum(r.since)").moved
    assert every.rows == 7 and some.rows == 1 and keyed.rows == 1
    nodes = graph.profile("MATCH (a:Person) WHERE a.age < 3 RETURN count(*)").moved
    assert nodes.rows == 2


def test_what_is_told(graph):
    told = graph.explain(
        "MATCH (a:Person)-[:KNOWS]->(b)-[:LIVES]->(c) WHERE a.age > 1 RETURN c.name, count(*) AS n ORDER BY n"
    )
    assert str(told).splitlines() == [
        "Shares: a 2, b 2, c 2",
        "Cells: 8 on 2 workers of inline",
        "Expected: 572 bytes sent, 72 bytes to the fullest cell",
        "  nodes Person: 5 rows of 13.2 bytes, 2.40 times",
        "  nodes City: 2 rows of 21.0 bytes, 4.00 times",
        "  relationships KNOWS: 7 rows of 10.1 bytes, 2.00 times",
        "  relationships LIVES: 4 rows of 13.0 bytes, 2.00 times",
        "By c.name: Aggregate, Project",
        "In the end: Sort",
    ]
    data = graph.profile("MATCH (a:Person)-[:KNOWS]->(b) RETURN count(*)").to_json()
    assert data["shares"] == {"a": 8, "b": 1} or data["shares"] == {"a": 1, "b": 8}
    assert data["sent"]["rows"] == 7 and data["sent"]["cells"] <= data["cells"] == 8


def test_heavy_keys_are_joined_apart():
    chance = np.random.default_rng(1)
    ends = chance.integers(1, 40_000, (2, 40_000))
    ends[0, ::4], ends[1, 2::4] = 0, 0  # a quarter of the starts, a quarter of the ends
    edges = pa.table({"start": ends[0], "end": ends[1]})
    query = "MATCH (a)-->(b)-->(c) RETURN count(*)"
    with inline(relationships=[("E", edges)], cells=32) as graph:
        told = graph.profile(query)
        data = told.to_json()
        assert graph.query(query).fetchall() == Graph.from_edge_list((ends[0], ends[1])).query(query).fetchall()
    assert "Shares where b is heavy: " in str(told) and "Heavy keys: 1, joined apart by a, b" in str(told)
    assert "one key has 25.0% of them" in str(told)
    (apart,) = (each["shares"] for each in data["heavy_shares"] if each["heavy"] == ["b"])
    assert apart["b"] == 1 and apart["a"] * apart["c"] > 8
    sent = data["sent"]
    assert sent["fullest"] < 2 * sent["bytes"] / sent["cells"]  # beside one grid: 8 times where b alone has a share
    assert sent["fullest"] == pytest.approx(data["expected_fullest"], rel=0.25)
    assert sent["bytes"] == pytest.approx(data["expected_bytes"], rel=0.15)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("MATCH (a) ((x)-->(y)-->(z)){2} (b) RETURN count(*)", "repeated is of one relationship.*Write out"),
        ("MATCH p = SHORTEST 1 (a)-->+(b) RETURN count(*)", "paths have no names"),
        ("MATCH (a)-[r*1..2]->(b) RETURN [x IN r | x.since] AS l", "this of a node or relationship isn't known"),
        ("MATCH p = (a)-->(b) RETURN length(p)", "paths have no names"),
        ("OPTIONAL MATCH (a)-->(b) RETURN count(b)", "isn't optional"),
        ("MATCH (a)-->(b) WITH a, count(*) AS n MATCH (a)-->(c) RETURN count(*)", "several rows.*several queries"),
        ("MATCH (a)-[r]->(b) OPTIONAL MATCH (a)<-[r]-(c) RETURN count(*)", "a relationship is matched once"),
        ("MATCH (a) RETURN COLLECT { MATCH (a)-->(b) RETURN b } AS l", "are in no list"),
        ("UNWIND [1] AS x MATCH (a {age: x}) RETURN a.age", "begins with a pattern"),
        ("RETURN 1 AS x", "begins with a pattern"),
        ("MATCH (a) RETURN a.id AS x UNION MATCH (a) RETURN a.id AS x", "one part.*UNION one by one"),
        ("MATCH (a) WITH a.id AS x, count(*) AS n WHERE EXISTS { ({age: n}) } RETURN x", "before rows are grouped"),
        ("MATCH (a) RETURN a", "a is a whole element.*Return its properties"),
        ("MATCH (a) RETURN collect(a) AS x", "of a node or relationship isn't known"),
        ("MATCH (a)-->(b) WHERE id(a) < id(b) RETURN count(*)", r"id\(…\) of a node"),
        ("MATCH (a) RETURN labels(a)", r"labels\(…\) of a node"),
        ("MATCH (a)-[r]->(b) RETURN count(DISTINCT r)", "can't be told apart"),
        ("MATCH (a)-[r]->(b) WITH DISTINCT r RETURN r.since", "can't be told apart"),
        ("MATCH (a) WITH a ORDER BY a RETURN a.id", "have no order"),
        ("MATCH (a) RETURN rand() AS x", "is by chance"),
        ("CREATE (a)", "aren't changed"),
        ("EXPLAIN MATCH (a) RETURN count(*)", r"shown by explain\(text\)"),
    ],
)
def test_what_is_refused(graph, query, message):
    with pytest.raises(Unsupported, match=f"(?s){message}"):
        graph.query(query)


@pytest.mark.parametrize(
    ("nodes", "relationships", "message"),
    [
        ({"P": CITIES}, [("E", "P", "Q", KNOWS)], "Q: no table of nodes has that label"),
        ({"P": CITIES, "Q": CITIES}, [("E", LIVES)], "the nodes of the ends aren't told"),
        ({"P:A": CITIES, "P:B": CITIES}, [("E", "P", "P:A", LIVES)], "P: several tables of nodes have that label"),
        ({"P": CITIES}, [("E", "P", "P", KNOWS)], "string can't be keys of nodes P, which are int16"),
        ({"P": "/nowhere/x.parquet"}, [], "nodes P: /nowhere/x.parquet"),
        ({"P": CITIES}, [("E", "P", LIVES)], "entry is of another form"),
    ],
)
def test_tables_that_are_no_graph(nodes, relationships, message):
    with pytest.raises(StorageError, match=message):
        inline(nodes, relationships)


def test_keys_that_occur_twice():
    twice = pa.table({"id": [1, 2, 1], "name": ["x", "y", "z"]})
    with inline({"P": twice}) as graph, pytest.raises(StorageError, match="the key 1 occurs twice"):
        graph.query("MATCH (a) RETURN a.name").fetchall()


def test_arguments_that_there_cannot_be():
    with pytest.raises(SemanticError, match="no engine 'dask'"):
        cluster.tables(NODES, RELATIONSHIPS, engine="dask")
    with pytest.raises(SemanticError):
        inline(NODES, RELATIONSHIPS, cells=-1)


def test_types_without_a_direction(whole):
    undirected = Graph.from_arrow(NODES, RELATIONSHIPS, undirected=["KNOWS"])
    query = "MATCH (a)-[r:KNOWS]->(b)-[s:KNOWS]->() RETURN a.id, r.since AS x, s.since AS y ORDER BY a.id, x, y"
    with inline(NODES, RELATIONSHIPS, undirected=["KNOWS"]) as graph:
        assert graph.query(query).fetchall() == undirected.query(query).fetchall() != whole.query(query).fetchall()


def test_a_folder_of_parquet_files(tmp_path, whole):
    for name, table in (
        ("nodes_Person", PERSONS), ("nodes_City", CITIES), ("rels_Person_KNOWS_Person", KNOWS),
        ("rels_Person_LIVES_City", LIVES),
    ):  # fmt: skip
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=2)
    query = "MATCH (a)-[r:KNOWS]->(b)-->(c:City) RETURN c.name, sum(r.since) AS n ORDER BY n"
    with inline(tmp_path) as graph:
        assert graph.query(query).fetchall() == whole.query(query).fetchall()


def test_pieces_of_a_source_are_its_rows(tmp_path):
    table = pa.table({"x": range(1000), "y": [str(each) for each in range(1000)]})
    pq.write_table(table, tmp_path / "one.parquet", row_group_size=90)
    (tmp_path / "more").mkdir()
    pq.write_table(table.slice(0, 300), tmp_path / "more" / "1.parquet")
    pq.write_table(table.slice(300), tmp_path / "more" / "2.parquet", row_group_size=64)
    one = tmp_path / "one.parquet"
    for source in (table, str(one), tmp_path / "more", [one], f"file://{one}"):
        spread = look(source, "x")
        assert spread.rows == 1000 and spread.sample.num_rows == 1000
        found = [rows_of(piece) for piece in pieces(spread.source, ["y"], 4)]
        assert len(found) >= 3 and all(each.column_names == ["y"] for each in found)
        assert sorted(pa.concat_tables(found)["y"].to_pylist(), key=int) == table["y"].to_pylist()


def test_a_sample_is_from_all_over_a_table():
    found = look(pa.table({"x": np.arange(1_000_000)}), "x").sample["x"].to_numpy()
    assert len(found) <= 1 << 16 and found[0] == 0 and found[-1] == 999_999 and len(np.unique(found // 100_000)) == 10


def test_queries_that_are_stopped(graph):
    with pytest.raises(QueryTimeout):
        graph.query("MATCH (a)-->(b) RETURN count(*)", timeout=1e-9).fetchall()


def test_worker_processes_move_rows_by_files(tmp_path, monkeypatch, whole):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    query = "MATCH (a)-[r:KNOWS]->(b)-->(c:City) RETURN c.name, sum(r.since) AS n ORDER BY n"
    with cluster.tables(NODES, RELATIONSHIPS, workers=2) as graph:
        assert "2 workers of processes" in str(graph.explain(query))
        assert graph.query(query).fetchall() == whole.query(query).fetchall()
    gc.collect()
    assert not list(tmp_path.glob("qengine-*"))


class Dying(InlineTasks):
    """Workers of which each third dies of its task."""

    deaths, answered = 0, 0

    def wait(self, seconds):
        found = []
        for event in super().wait(seconds):
            self.answered += 1
            died = self.answered % 3 == 0
            self.deaths += died
            found.append(Event(event.worker, None) if died else event)
        return found


def test_tasks_of_workers_that_die_are_done_again(whole):
    query = "MATCH (a)-[r]->(b) RETURN b.id, count(*) AS n, sum(r.since) ORDER BY b.id"
    engine = Dying()
    with cluster.tables(NODES, RELATIONSHIPS, engine=LocalExchange(engine), cells=6) as graph:
        result = graph.query(query)
        assert result.fetchall() == whole.query(query).fetchall()
        assert engine.deaths > 3
        assert result.plan.to_json()["sent"]["cells"] <= 6 and result.plan.to_json()["sent"]["rows"] < 60


def test_groups_are_merged_by_their_keys_before_the_caller_has_them(graph):
    told = graph.explain("MATCH (a)-->(b) WITH a, count(*) AS n RETURN a.id, n ORDER BY n DESC, a.id LIMIT 2").to_json()
    assert (told["keys"], told["merge"]) == (["a"], ["Aggregate", "Project", "Project", "Sort"])
    assert told["tail"] == ["Sort", "Limit"]
    of_lists = graph.explain("MATCH (a)-->(b) RETURN [a.id] AS x, count(*)").to_json()
    assert of_lists["merge"] == []  # not every process hashes lists alike


@pytest.mark.parametrize(("engine", "package"), [("ray", "Ray"), ("spark", "Spark")])
def test_engines_that_are_not_installed(engine, package, monkeypatch):
    module = {"ray": "on_ray_data", "spark": "on_spark"}[engine]
    monkeypatch.setitem(sys.modules, f"qengine.cluster.hypercube.{module}", None)
    with pytest.raises(Unsupported, match=rf"(?s){package} isn't installed.*'\.\[{engine}\]'"):
        cluster.tables(NODES, RELATIONSHIPS, engine=engine)


@pytest.mark.parametrize("query", [
    "MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)",
    "MATCH (a)-->(b)-->(c) RETURN b.id % 5 AS x, count(*) AS n, min(a.id) ORDER BY x",
    "MATCH (a)-->(b) WHERE NOT (b)-->(a) OPTIONAL MATCH (b)-->(c)-->(a) RETURN count(*), count(c)",
])  # fmt: skip
def test_a_cell_that_has_no_room_is_done_in_slices(query, monkeypatch):
    made = []
    graph_of = cells.CellWork.graph
    monkeypatch.setattr(cells.CellWork, "graph", lambda *given: made.append(graph_of(*given)) or made[-1])
    chance = np.random.default_rng(3)
    ends = chance.integers(0, 2000, (2, 20_000))
    expected = Graph.from_edge_list((ends[0], ends[1])).query(query).fetchall()
    with inline(relationships=[("E", pa.table({"start": ends[0], "end": ends[1]}))], cells=1) as graph:
        assert graph.query(query).fetchall() == expected
        (whole,) = made
        assert graph.query(query, memory_limit=ROOM * 20_000 * 16 // 3).fetchall() == expected
        assert len(made) > 4 and max(each.nbytes for each in made[1:]) < 0.8 * whole.nbytes
        with pytest.raises(OutOfMemory):
            graph.query(query, memory_limit=2000).fetchall()
