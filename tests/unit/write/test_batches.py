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
from tests.unit.write.updating_texts import (
    BATCHED,
    BEGIN,
    BEHIND,
    BY_IDENTITY,
    FAILING,
    NODES,
    PARAMS,
    RELATIONSHIPS,
    ROW_BY_ROW,
    ROWS,
    RULES,
    TOGETHER,
)


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
    assert any(isinstance(each, ThetaJoin) for each in nodes_of(plans[-1].root))
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
