"""What PROFILE shows of levels, and what plans believe of it afterwards."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from qengine import Graph, long_runs
from qengine.estimate import level_rows
from qengine.exec.context import ExecutionContext
from qengine.plan.physical import Search
from qengine.statements import Statements
from qengine.testing.plans import planned

SKEWED = "MATCH (a:A {x: 3})-[:R]->(b:B)-[:S]->(c:C {y: 3})-[:T]->(d:D) WHERE d.z < 60 RETURN count(*)"
OTHER = "MATCH (q:C {y: 3})<-[:S]-(p:B)<-[:R]-(o:A {x: 3}) RETURN count(*)"
COLOURS, SIZE = 40, 400


@pytest.fixture
def graph() -> Graph:
    """Return a graph whose paths keep to one colour, which their ends have as a property and their middle hasn't."""
    rng = random.Random(1)

    def alike(k: int) -> int:
        return k % COLOURS + COLOURS * rng.randrange(SIZE // COLOURS)

    properties = {"A": "x", "C": "y"}
    nodes = [
        {"id": label + str(k), "labels": label, "properties": {properties.get(label, "z"): k % COLOURS}}
        for label in "ABC"
        for k in range(SIZE)
    ]
    nodes += [{"id": f"D{k}", "labels": "D", "properties": {"z": k}} for k in range(SIZE)]
    ends = [(one, two, k) for one, two in ("AB", "BC", "CD") for k in range(SIZE) for _ in range(5)]
    edges = [
        {"type": {"A": "R", "B": "S", "C": "T"}[one], "start": f"{one}{k}", "end": f"{two}{alike(k)}"}
        for one, two, k in ends
    ]
    return Graph.from_records(nodes, edges)


def search(graph: Graph, text: str) -> Search:
    return planned(graph, text, Search)[0]


def profile(graph: Graph, text: str, **options: Any) -> dict[str, Any]:
    row = graph.query(f"PROFILE {text}", **options).fetchall()[0]
    found: dict[str, Any] = json.loads(row[-1])
    return found


def levels(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    own = found if found["node"] == "Search" else found["input"]
    return {each["name"]: each for each in own["level_rows"]}


def test_a_profile_tells_rows_of_each_level_and_the_worst_estimate(graph: Graph) -> None:
    found = profile(graph, SKEWED)
    by_name = levels(found)
    counted = graph.query("MATCH (a:A {x: 3})-[:R]->(b:B)-[:S]->(c:C {y: 3}) RETURN count(*)").value()
    whole = graph.query(SKEWED).value()
    assert by_name["c"]["rows"] == counted and by_name["c"]["exact"] and by_name["c"]["q_error"] > 5
    assert by_name["d"]["rows"] == whole
    assert max(by_name.values(), key=lambda each: each["q_error"])["name"] in found["worst_estimate"]
    text = graph.query(f"PROFILE /* again */ {SKEWED}").fetchall()[0][0]
    assert f"[rows={counted:,} expected=~" in text


def test_what_was_learned_makes_the_next_plan_right(graph: Graph) -> None:
    true = graph.query(SKEWED).value()
    before = search(graph, SKEWED)
    assert before.rows is not None and before.rows * 4 < true and "learned" not in str(graph.explain(SKEWED))
    profile(graph, SKEWED)
    after = search(graph, SKEWED)
    assert after.rows == pytest.approx(true)
    assert "cardinalities learned" in str(graph.explain(SKEWED))
    assert not profile(graph, SKEWED)["worst_estimate"]


def test_parts_are_found_in_other_patterns_whatever_their_variables_are_called(graph: Graph) -> None:
    true = graph.query(OTHER).value()
    assert search(graph, OTHER).rows != pytest.approx(true)
    profile(graph, SKEWED)
    assert search(graph, OTHER).rows == pytest.approx(true)
    assert search(graph, OTHER.replace("y: 3", "y: 4")).rows != pytest.approx(true)


def test_prepared_statements_are_planned_anew(graph: Graph) -> None:
    prepared = graph.prepare(SKEWED)
    value = prepared.run().value()
    profile(graph, SKEWED)
    assert "learned" in str(prepared.plan) and prepared.run().value() == value
    assert "learned" in str(prepared.run().plan)


def test_texts_that_differ_in_literals_do_not_share_what_was_learned(graph: Graph) -> None:
    texts = [SKEWED.replace("3", str(k)) for k in range(4)]
    values = [graph.query(text).value() for text in texts]
    profile(graph, texts[2])
    told = ["learned" in str(graph.query(text).plan) for text in texts]
    assert told == [True] * 4  # of the parts without these literals
    assert [search(graph, text).rows == pytest.approx(value) for text, value in zip(texts, values, strict=True)] == [
        False, False, True, False,
    ]  # fmt: skip
    assert [graph.query(text).value() for text in texts] == values


def test_it_can_be_switched_off_and_forgotten(graph: Graph) -> None:
    graph.learned.enabled = False
    profile(graph, SKEWED)
    assert len(graph.learned) == 0 and "learned" not in str(graph.explain(SKEWED))
    graph.learned.enabled = True
    profile(graph, SKEWED)
    assert len(graph.learned) > 0 and "rows" in repr(graph.learned)
    graph.learned.clear()
    assert list(graph.learned) == [] and "learned" not in str(graph.explain(SKEWED))


def test_it_is_bounded(graph: Graph) -> None:
    graph.learned.most = 3
    profile(graph, SKEWED)
    newest = list(graph.learned)
    assert len(newest) == 3
    profile(graph, SKEWED.replace("3", "5"))
    assert len(graph.learned) == 3 and list(graph.learned) != newest


def test_a_version_forgets_what_it_has_changed_and_no_more(graph: Graph) -> None:
    profile(graph, SKEWED)
    kept = [each for each in graph.learned if ":T]" not in each.pattern]
    graph.query("MATCH (c:C {z: null}) RETURN c").fetchall()
    graph.query("MATCH (c:C {y: 7}), (d:D {z: 4}) CREATE (c)-[:T]->(d)")
    graph.query("MATCH (n) RETURN count(*)").value()
    assert [each.pattern for each in graph.learned] == [each.pattern for each in kept]
    graph.query("MATCH (a:A) SET a.x = a.x + 1")
    graph.query(SKEWED).value()
    assert kept and not any("a.x" in each.pattern for each in graph.learned) and len(graph.learned) > 0
    graph.query("CREATE (:B)-[:R]->(:B), (:A), (:C)")
    graph.query(SKEWED).value()
    assert not any("[" in each.pattern or ":A" in each.pattern for each in graph.learned)


def test_a_transaction_does_not_believe_what_it_may_have_changed(graph: Graph) -> None:
    profile(graph, SKEWED)
    with graph.transaction() as transaction:
        transaction.query("MATCH (c:C {y: 7}), (d:D {z: 4}) CREATE (c)-[:T]->(d)")
        assert "learned" not in str(transaction.query(SKEWED).plan)


def test_conditions_between_nodes_belong_to_a_part(graph: Graph) -> None:
    far = "MATCH (a:A)-[:R]->(b:B)<-[:R]-(o:A)-[:R]->(p:B)-[:S]->(c:C)"  # no node is joined with both a and c
    joined = f"{far} WHERE a.x = c.y RETURN count(*)"
    true = graph.query(joined).value()
    plain = search(graph, joined.replace("WHERE a.x = c.y", "")).rows
    profile(graph, joined)
    assert search(graph, joined).rows == pytest.approx(true)
    turned = "MATCH (u:C)<-[:S]-(v:B)<-[:R]-(q:A)-[:R]->(r:B)<-[:R]-(w:A) WHERE u.y = w.x RETURN count(*)"
    assert search(graph, turned).rows == pytest.approx(true)
    for other in ("", "WHERE a.x < c.y", "WHERE a.x = c.z"):
        assert search(graph, joined.replace("WHERE a.x = c.y", other)).rows != pytest.approx(true, rel=0.01) or (
            other == "" and plain == pytest.approx(true, rel=0.1)
        )


def test_parts_that_nothing_joins_are_found(graph: Graph) -> None:
    text = "MATCH (a:A {x: 3})-[:R]->(b:B)-[:S]->(c:C {y: 3}), (e:D {z: 1}) RETURN a.x, e.z"
    rows = graph.query(text).fetchall()
    profile(graph, text)
    assert any("(e:D" in each.pattern and "(a:A" in each.pattern for each in graph.learned)
    assert graph.query(text).fetchall() == rows
    assert "learned" in str(graph.explain(text))


def test_patterns_with_parameters_teach_nothing(graph: Graph) -> None:
    found = profile(graph, SKEWED.replace("{x: 3}", "{x: $x}"), params={"x": 3})
    assert levels(found) and len(graph.learned) == 0


def test_estimates_that_hold_teach_nothing(graph: Graph) -> None:
    profile(graph, "MATCH (a:A)-[:R]->(b:B) RETURN count(*)")
    assert len(graph.learned) == 0


def test_what_takes_long_to_count_is_sampled(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = levels(profile(graph, SKEWED))
    monkeypatch.setattr(level_rows, "_WORK", 1)
    graph.learned.clear()
    sampled = levels(profile(graph, SKEWED))
    assert not sampled["b"]["exact"]
    assert sampled["b"]["rows"] == pytest.approx(counted["b"]["rows"], rel=0.2)


def test_a_run_that_took_long_teaches_without_a_profile(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qengine.statements._LEARNING_SHARE", 1e6)
    count = graph.query(SKEWED).value()
    assert len(graph.learned) == 0  # it took less than ``after``
    graph.learned.after = 0.0
    assert graph.query(SKEWED).value() == count
    assert 0 < len(graph.learned) <= graph.learned.most
    assert all(each.rows > 0 and not each.pattern.startswith("<") for each in graph.learned)
    assert "cardinalities learned" in str(graph.explain(SKEWED))
    learned = graph.learned.round
    assert graph.query(SKEWED).value() == count
    assert graph.learned.round == learned  # what is expected now is what was found


def test_sampling_for_a_run_has_a_time_of_its_own(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of the run, which has none, may still be at work."""
    graph.learned.after = 0.0
    runs: list[ExecutionContext] = []
    deadlines: list[int] = []
    execute = Statements._execute

    def noted(statements: Statements, planned: Any, context: ExecutionContext, device: str) -> Any:
        runs.append(context)
        return execute(statements, planned, context, device)

    def sampled(logical: Any, store: Any, context: ExecutionContext, budget_ms: float) -> list[Any]:
        with context.within(0.0):
            deadlines.append(runs[-1].control.deadline_ns)
        return []

    monkeypatch.setattr(Statements, "_execute", noted)
    monkeypatch.setattr(long_runs, "sampled_parts", sampled)
    assert len(graph.query("MATCH (a:A)-[:R]->(b:B) RETURN a, b").fetchall()) == 5 * SIZE
    assert deadlines == [0]


def test_what_a_run_may_not_teach(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.learned.after = 0.0
    monkeypatch.setattr("qengine.statements._LEARNING_SHARE", 0.0)
    graph.query(SKEWED).value()
    assert len(graph.learned) == 0  # its share of the time was over before anything was sampled
    monkeypatch.setattr("qengine.statements._LEARNING_SHARE", 1e6)
    graph.query(SKEWED.replace("x: 3", "x: $x"), {"x": 3}).value()
    assert len(graph.learned) == 0
    graph.learned.enabled = False
    graph.query(SKEWED).value()
    assert len(graph.learned) == 0
