"""What is done in parts and what isn't, and that limits, errors and versions are those of one process."""

import pickle
from math import inf

import pytest

from qengine import (
    ExecutionError,
    Graph,
    OutOfMemory,
    QueryTimeout,
    SemanticError,
    StorageError,
    TransactionError,
    cluster,
)
from qengine.cluster.cluster import Cluster
from qengine.cluster.cut import cut
from qengine.testing.compare import difference
from qengine.testing.plans import lowered
from tests.unit.cluster.inline import Inline


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("cluster") / "graph"
    nodes = [
        {"id": k, "labels": ["P"] if k % 3 else ["P", "Q"], "properties": {"k": k, "s": f"s{k % 5}"}} for k in range(60)
    ]
    pairs = [(a, (a * 7 + b) % 60) for a in range(60) for b in (1, 2, 5, 11, 17)]
    links = [{"type": "R", "start": a, "end": b, "properties": {"k": a - b}} for a, b in pairs]
    Graph.from_records(nodes, links).save(path)
    return path


@pytest.fixture
def opened(saved):
    with Cluster(str(saved), Inline(saved), least_cost=0.0) as found:
        yield found


IN_PARTS = [
    "MATCH (a:P)-[:R]->(b)-[:R]->(c) WHERE a.k < c.k AND b.s <> c.s RETURN a.k, b.k, c.k",
    "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(a) RETURN count(*) AS n",
    "MATCH (a)-[:R]->(b) RETURN a.s, count(*), sum(b.k), min(b.k), max(a.s + b.s), avg(a.k * 1.5 + b.k) AS m",
    "MATCH (a)-[:R]->(b) RETURN a.s, count(DISTINCT b.s), sum(DISTINCT a.k % 3), count(*), avg(DISTINCT b.k)",
    "MATCH (a)-[:R]->(b) WHERE a.k > 1000 RETURN count(*), count(DISTINCT b), sum(b.k), avg(b.k), min(b.k)",
    "MATCH (a)-[:R]->(b) WHERE a.k + b.k < 9 RETURN a.k, collect(b.k) AS l",
    "MATCH (a)-[:R]->(b) RETURN stDev(a.k + b.k)",
    "MATCH (a)-[:R]->(b) RETURN DISTINCT a.s, b.s",
    "MATCH (a)-[:R]->(b) RETURN a.k AS x, b.k AS y ORDER BY x + y DESC, x SKIP 2 LIMIT 7",
    "MATCH (a:Q)-[:R*1..2]->(b) RETURN a.k, b, count(*)",
    "MATCH (a)-[r:R]->(b) WHERE EXISTS { (b)-[:R]->(a) } RETURN a, r, [a.k, r, b] AS l, {n: b} AS m",
    "MATCH (a)-[:R]->(b) WHERE a.k + b.k > 40 OPTIONAL MATCH (b)-[:R]->(c:Q) WHERE c.k > a.k RETURN a.k, b.k, c",
    "MATCH (a)-[:R]->(b) WHERE a.k + b.k > 90 WITH a, count(*) AS n MATCH (a)-[:R]->(c) RETURN n, sum(c.k)",
    "UNWIND [1, 2] AS x MATCH (a)-[:R]->(b) WHERE a.k + b.k < 9 * x RETURN x, a.k, b.k, null AS nothing",
    "MATCH (a)-[:R]->(b) WHERE a.k + b.k > $least RETURN a.k + $least AS x, $list AS l",
]  # fmt: skip


def test_what_is_told_by_counting_alone_is_not_cut(saved):
    text = "/*+ eliminate */ MATCH (a)-[r:R]->(b)-[:R]->(c) WHERE r.k = c.k RETURN count(*)"
    with Graph.open(saved) as graph:
        assert isinstance(cut(lowered(graph, text), inf), str)


@pytest.mark.parametrize("text", IN_PARTS)
def test_parts_give_what_one_process_does(opened, saved, text):
    params = {"least": 80, "list": [1, {"a": 2.5}]}
    expected = Graph.open(saved, read_only=True).query(text, params)
    found = opened.query(text, params)
    how = {"ordered": "ORDER BY" in text, "lists_ordered": "collect" not in text}
    assert difference(expected.fetchall(), found.fetchall(), **how) is None
    assert found.columns == expected.columns
    assert found.stats.device_reason == "in parts, by workers"
    assert opened._engine.tasks > 5


WHOLE = {
    "MATCH (a:P) RETURN a.k AS k UNION MATCH (b:Q) RETURN b.k AS k": "joins several queries",
    "UNWIND [1, 2, 3] AS x RETURN sum(x)": "no pattern",
    "CALL db.labels() YIELD label MATCH (a)-[:R]->(b) RETURN label, count(*)": "calls a procedure",
    "MATCH (a)-[:R]->(b) WHERE rand() >= 0 RETURN count(*)": "rand() must be the same for all rows",
    "UNWIND [2, 1, 2] AS x WITH DISTINCT x MATCH (a)-[:R]->(b) WHERE a.k = x RETURN x, b.k": "looks at several rows",
}  # fmt: skip


@pytest.mark.parametrize("text", WHOLE)
def test_what_cannot_be_cut_is_answered_by_one_process(opened, saved, text):
    assert WHOLE[text] in str(opened.explain(text)).splitlines()[-1]
    rows = sorted(opened.query(text).fetchall())
    assert rows == sorted(Graph.open(saved, read_only=True).query(text).fetchall())
    assert opened._engine.tasks == 0


def test_explain_tells_by_whose_vertices(opened):
    text = "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(a) WHERE a.k < b.k + c.k RETURN count(*)"
    assert str(opened.explain(text)).splitlines()[-1].startswith("In parts by the vertices of ")
    assert opened.explain(text).to_json()["dealt"].endswith(": 3 workers of inline.")


def test_small_searches_stay_in_this_process(saved):
    with Cluster(str(saved), Inline(saved)) as found:
        assert found.query("MATCH (a)-[:R]->(b) RETURN count(*)").value() == 300
        assert "less than workers are told" in str(found.explain("MATCH (a)-[:R]->(b) WHERE a.k < b.k RETURN b"))
        assert found._engine.tasks == 0


def test_changes_are_refused(opened):
    with pytest.raises(TransactionError):
        opened.query("CREATE (:P)")
    assert "Refused" in str(opened.explain("CREATE (:P)"))


def test_the_error_of_a_part_is_that_of_one_process(opened, saved):
    text = "MATCH (a)-[:R]->(b) RETURN sum(1 / (b.k + a.k * 0 - 59)) AS x"
    with pytest.raises(ExecutionError) as expected:
        Graph.open(saved, read_only=True).query(text).fetchall()
    with pytest.raises(ExecutionError) as found:
        opened.query(text).fetchall()
    assert str(found.value) == str(expected.value)
    assert opened._engine.tasks > 0


def test_a_sum_that_only_parts_overflow_is_right(opened):
    text = "MATCH (a)-[:R]->(b) RETURN sum(CASE WHEN a.k < 30 THEN 1 ELSE -1 END * 9000000000000000000) AS x"
    assert opened.query(text).value() == 0
    assert opened._engine.tasks > 0


def test_limits_reach_the_workers(opened, monkeypatch):
    given = []
    monkeypatch.setattr(opened._engine, "submit", lambda worker, task: given.append(pickle.loads(task)) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        opened.query(IN_PARTS[0], timeout=1000, memory_limit="5MB", spill_directory="/tmp").fetchall()
    (task,) = given
    assert (task.memory_limit, task.spill_directory, task.threads) == (5_000_000, "/tmp", 1)
    assert 900 < task.seconds <= 1000


def test_a_worker_out_of_memory_ends_the_query(opened):
    with pytest.raises(OutOfMemory):
        opened.query(IN_PARTS[0], memory_limit=1000).fetchall()


def test_a_time_that_is_over_ends_the_query(opened):
    with pytest.raises(QueryTimeout):
        opened.query(IN_PARTS[0], timeout=0).fetchall()


def test_a_graph_that_was_changed_is_refused(tmp_path):
    path = tmp_path / "graph"
    Graph.from_edge_list(([0, 1, 2, 0], [1, 2, 0, 2])).save(path)
    with Cluster(str(path), Inline(path), least_cost=0.0) as found, Graph.open(path) as writer:
        text = "MATCH (a)-->(b)-->(c) WHERE a.id <= c.id RETURN count(*)"
        writer.query("CREATE ()-[:E]->()")
        with pytest.raises(StorageError, match="changed since"):
            found.query(text).fetchall()


def test_parameters_are_asked_for_at_once(opened):
    with pytest.raises(SemanticError, match="least"):
        opened.query(IN_PARTS[-1])


def test_estimates_are_those_of_one_process(opened):
    assert opened.estimate("MATCH (a)-[:R]->(b)", seed=1).value == 300


def test_open(saved):
    with cluster.open(saved, workers=2) as found:
        assert repr(found) == "<Cluster of 2 processes, <Graph 60 nodes, 300 relationships>>"
    with pytest.raises(SemanticError, match="no engine"):
        cluster.open(saved, engine="abacus")
