"""A statement is compiled once for a version; each execution has parameters, clock, limits and chance of its own."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest

import qengine
from qengine import ExecutionError, Graph, OutOfMemory, QueryTimeout
from qengine.write import execute, live, overlay


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list that gets an entry for each statement that is compiled."""
    found: list[object] = []
    real = execute._Program.__init__

    def counted(self: Any, *args: Any) -> None:
        found.append(self)
        real(self, *args)

    monkeypatch.setattr(execute._Program, "__init__", counted)
    return found


def people(count: int = 3) -> Graph:
    return Graph.from_records([{"labels": ["P"], "properties": {"id": number}} for number in range(count)])


def rows(graph: Graph, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in graph.query(text).fetchall()]


def test_executions_share_what_is_compiled_and_nothing_else(made: list[object]) -> None:
    graph = people()
    create, link = graph.prepare("CREATE (n:N {x: $x}) RETURN n.x"), "MATCH (a:P {id: $a}) SET a.y = $a * 10 RETURN a.y"
    for number in range(5):
        assert create.run({"x": number}).fetchall() == [(number,)]
        assert graph.query(link, {"a": number}).fetchall() == ([(number * 10,)] if number < 3 else [])
    assert len(made) == 2
    assert rows(graph, "MATCH (n:N) RETURN n.x ORDER BY n.x") == [(number,) for number in range(5)]
    create.run({"x": 5})  # after a version was read, whose base is the same
    assert len(made) == 2
    assert rows(graph, "MATCH (p:P) RETURN p.y ORDER BY p.id") == [(0,), (10,), (20,)]


def test_texts_that_differ_in_literals_share_it(made: list[object]) -> None:
    graph = people(50)
    for number in range(50):
        graph.query(f"MATCH (p:P {{id: {number}}}) SET p.y = {number}")
    assert len(made) <= 3
    assert rows(graph, "MATCH (p:P) WHERE p.y <> p.id OR p.y IS NULL RETURN p") == []


def test_each_execution_has_its_own_time_and_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count(1)
    monkeypatch.setattr(live.time, "time_ns", lambda: next(ticks) * 1_000_000)
    graph = Graph()
    statement = graph.prepare("CREATE (n {at: timestamp(), again: timestamp(), r: rand()}) RETURN n.at, n.again, n.r")
    found = [statement.run().fetchall()[0] for _ in range(4)]
    times = [row[0] for row in found]
    assert [row[1] for row in found] == times and [b - a for a, b in itertools.pairwise(times)] == [1, 1, 1]
    assert len({row[2] for row in found}) == 4


def test_limits_are_those_of_the_execution() -> None:
    graph = Graph()
    statement = graph.prepare("UNWIND range(1, $n) AS x CREATE (:N {x: x, big: [y IN range(1, 100) | y]})")
    statement.run({"n": 3})
    with pytest.raises(OutOfMemory):
        statement.run({"n": 100_000}, memory_limit="1 MB")
    with pytest.raises(QueryTimeout):
        statement.run({"n": 10_000_000}, timeout=0.05)
    statement.run({"n": 4}, memory_limit="1 MB")
    statement.run({"n": 2})
    assert graph.query("MATCH (n:N) RETURN count(*)").value() == 9


def test_parameters_are_let_go() -> None:
    class Names(list[str]):
        pass

    graph = Graph()
    given = Names(["a", "b"])
    gone = weakref.ref(given)
    graph.query("UNWIND $names AS name CREATE (:N {name: name})", {"names": given})
    del given
    assert gone() is None


def test_one_that_fails_is_carried_out_again(made: list[object]) -> None:
    graph = people()
    statement = graph.prepare("CREATE (n:N {x: 6 / $x}) WITH n MATCH (p:P {id: $x}) DELETE p RETURN n.x")
    for x, expected in ((0, None), (2, 3), (0, None), (1, 6)):
        if expected is None:
            with pytest.raises(ExecutionError, match="division by zero"):
                statement.run({"x": x})
        else:
            assert statement.run({"x": x}).fetchall() == [(expected,)]
    with pytest.raises(ExecutionError, match=r"no value of the language|Decimal"):
        statement.run({"x": __import__("decimal").Decimal(1)})
    assert len(made) == 1
    assert rows(graph, "MATCH (p:P) RETURN p.id") == [(0,)]


def test_a_statement_may_run_inside_itself() -> None:
    graph = Graph()
    text = "CALL test.nested($n) YIELD x CREATE (:N {n: $n, x: x})"
    with graph.transaction() as transaction:

        def nested(n: int) -> Iterator[tuple[int]]:
            if n:
                transaction.query(text, {"n": n - 1})
            yield (n * 100,)

        graph.register_procedure("test.nested(n :: INTEGER) :: (x :: INTEGER)", nested)
        transaction.query(text, {"n": 3})
    assert rows(graph, "MATCH (n:N) RETURN n.n, n.x ORDER BY n.n") == [(0, 0), (1, 100), (2, 200), (3, 300)]


def test_types_labels_and_keys_that_others_make_later_are_seen() -> None:
    graph = people()
    walk = graph.prepare("MATCH (a:P {id: $a})-[r]->(b) SET b.by = type(r), b:Reached RETURN b.id")
    find = graph.prepare("MATCH (n:Q {key: $key}) SET n.seen = true RETURN labels(n)")
    assert walk.run({"a": 0}).fetchall() == find.run({"key": "k"}).fetchall() == []
    graph.query("MATCH (a:P {id: 0}), (b:P {id: 1}) CREATE (a)-[:NEW]->(b)")
    graph.query("CREATE (:Q:Other {key: 'k'})")
    assert walk.run({"a": 0}).fetchall() == [(1,)]
    assert find.run({"key": "k"}).fetchall() == [(["Q", "Other"],)]
    assert rows(graph, "MATCH (b:Reached) RETURN b.by") == [("NEW",)]


@pytest.mark.parametrize("value", [1, "a", True, 1.5, 1.0, float("nan"), [1, 2], [None], qengine.Date(2020, 1, 2)])
def test_keys_of_any_type_find_what_equals_them(value: Any) -> None:
    values = [1, "a", True, 1.5, float("nan"), [1, 2], [None], qengine.Date(2020, 1, 2), 2**60]
    nodes = [{"labels": ["P"], "properties": {"key": each}} for each in values]
    graph = Graph.from_records(nodes)
    statement = graph.prepare("MATCH (p:P {key: $key}) SET p.n = coalesce(p.n, 0) + 1")
    expected = graph.query("MATCH (p:P) WHERE p.key = $key RETURN count(*)", {"key": value}).value()
    for _ in range(3):  # in the version, then among what was touched
        assert statement.run({"key": value}).stats.changes.properties_set == expected  # type: ignore[union-attr]
    assert graph.query("MATCH (p:P) RETURN sum(p.n)").value() == 3 * expected


def test_what_was_touched_is_gathered_by_values_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where statements fail in between: else each would take as long as there are uncommitted changes."""
    read: list[str] = []

    class Properties(dict[str, Any]):
        def __contains__(self, key: object) -> bool:
            read.append(str(key))
            return super().__contains__(key)

    graph = people()
    real = overlay.Overlay.create_node
    monkeypatch.setattr(
        overlay.Overlay, "create_node", lambda self, labels, given: real(self, labels, Properties(given))
    )
    for number in range(100, 150):
        graph.query("CREATE (:P {id: $id})", {"id": number})
    statement = graph.prepare("MATCH (p:P {id: $id}) SET p.x = 6 / $x CREATE (:P {id: $id}) RETURN p.x")
    assert statement.run({"id": 100, "x": 1}).fetchall() == [(6,)]
    gathered = read.count("id")
    for x in (0, 1, 0, 2):
        with pytest.raises(ExecutionError) if x == 0 else nullcontext():
            assert statement.run({"id": 101, "x": x}).fetchall() == [(6 // x,)] * x
    assert read.count("id") <= gathered + 8 < 150  # those that are touched again, not all


def test_what_a_failed_statement_has_gathered_is_forgotten() -> None:
    graph = Graph()
    graph.query("CREATE (:P {id: 1})")
    failing = "CREATE (:P {id: 2}) WITH * MATCH (p:P {id: 2}) SET p.id = 1 WITH * MATCH (q:P {id: 1}) SET q.x = 1 / 0"
    with pytest.raises(ExecutionError, match="division by zero"):
        graph.query(failing)
    found = graph.query("MATCH (p:P {id: 1}) SET p.y = 1 RETURN count(*) AS n")
    assert found.value() == 1
    assert graph.query("MATCH (p:P {id: 2}) SET p.y = 1 RETURN count(*) AS n").value() == 0


@pytest.mark.parametrize("change", ["DELETE e", "SET e.w = r.id", "CREATE (b)-[:T]->(a)"])
def test_a_graph_that_was_never_sealed_is_walked_from_keys(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph()
    graph.query("UNWIND range(1, 40) AS i CREATE (:P {id: i})-[:R]->(:Q {id: -i})")
    statement = f"UNWIND $rows AS r MATCH (a:P {{id: r.id}})-[e:R]->(b) {change}"

    def refuse(*_: object) -> Any:
        raise AssertionError("all nodes were looked at, for each row")

    with monkeypatch.context() as patch:
        patch.setattr(live.LiveGraph, "_by_labels", refuse)
        graph.query(statement, {"rows": [{"id": i} for i in range(1, 6)]})
    left = graph.query("MATCH ()-[e:R]->() RETURN count(*), count(e.w)").fetchall()
    assert tuple(left[0]) == ((35, 0) if "DELETE" in change else (40, 5 if "SET" in change else 0))
