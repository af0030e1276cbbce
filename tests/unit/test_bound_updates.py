"""Plans that change the graph: what walks over plans goes through the steps of their updates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from qengine.binder import bind
from qengine.binder.lifting import lifted_literals
from qengine.errors import SemanticError
from qengine.plan.columns import columns_of
from qengine.plan.json import to_json
from qengine.plan.logical import LogicalPlan, Match, Operator
from qengine.plan.traverse import operators, parameters, rewrite_plan, with_values
from qengine.plan.updates import Create, Update, writes
from qengine.syntax import parse
from qengine.testing.catalog import SOCIAL
from qengine.testing.verify import verify


def plan(text: str) -> LogicalPlan:
    (statement,) = parse(text)
    found = bind(statement, text, SOCIAL).plan
    verify(found)
    return found


EVERYTHING = """
MATCH (a:Person)
CREATE (b:Person {x: $create})-[:knows {y: $edge}]->(a)
MERGE (b)-[r:knows {z: $merge}]->(c:Person {x: $node}) ON CREATE SET c.x = $made ON MATCH SET c += $found
SET a.x = $set, a = $map
FOREACH (i IN $list | SET a.y = $inside)
WITH a, b, c, r
CALL (a) { MATCH (a)-->(d) WHERE d.x > $called SET d.x = $step RETURN d } IN TRANSACTIONS OF $batch ROWS
RETURN a, EXISTS { (a)-->() } AS any
"""


def test_parameters_of_all_steps_are_found_and_can_be_given() -> None:
    names = {"create", "edge", "merge", "node", "made", "found", "set", "map", "list", "inside"}
    names |= {"called", "step", "batch"}
    root = plan(EVERYTHING).root
    assert set(parameters(root)) == names
    assert not parameters(with_values(root, dict.fromkeys(names, 1)))


def test_rewriting_reaches_the_plans_that_steps_call() -> None:
    def optional(operator: Operator) -> Operator:
        return replace(operator, optional=True) if isinstance(operator, Match) else operator

    root = plan(EVERYTHING).root
    assert rewrite_plan(root, lambda operator: operator) is root
    matches = [each for each in operators(rewrite_plan(root, optional)) if isinstance(each, Match)]
    assert len(matches) == 2 and all(each.optional for each in matches)


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("MATCH (n) RETURN n", False),
        ("MATCH (n) CALL (n) { MATCH (n)-->(m) RETURN m } RETURN m", False),
        ("CREATE (n)", True),
        ("CREATE (n) RETURN n", True),
        ("CREATE (n) UNION MATCH (m) DELETE m", True),
        ("CALL { CALL { CREATE (n) } } RETURN 1", True),
    ],
)
def test_writes(text: str, changes: bool) -> None:
    assert writes(plan(text).root) is changes


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("CREATE (a)-[r:T]->(b)", ("a", "b", "r")),
        ("MATCH (a) CREATE (a)<-[r:T]-(b) SET a.x = 1", ("a", "b", "r")),
        ("MATCH (a) MERGE (a)-[r:T]->(b) DELETE r", ("a", "b", "r")),
        ("MATCH (a) FOREACH (x IN [1] | CREATE (b))", ("a",)),
        ("CALL { CREATE (a) RETURN a, 1 AS b } DELETE a", ("a", "b")),
        ("UNWIND [1] AS x CALL (x) { CREATE (a) } IN TRANSACTIONS REPORT STATUS AS s CREATE (b)", ("x", "s", "b")),
    ],
)
def test_columns_behind_updates(text: str, columns: tuple[str, ...]) -> None:
    found = plan(text)
    assert columns_of(found.root) == columns
    assert found.columns == ()


def test_a_report_is_a_map_whose_columns_are_seen_alone() -> None:
    with pytest.raises(SemanticError, match=r"not those of a MAP"):
        plan("CALL { CREATE (a) } IN TRANSACTIONS REPORT STATUS AS s SET s.x = 1")
    with pytest.raises(SemanticError, match=r"`a` is not defined"):
        plan("CALL { CREATE (a) } IN TRANSACTIONS REPORT STATUS AS s DELETE a")


def test_thousands_of_clauses_are_one_update() -> None:
    root = plan("\n".join(f"CREATE (n{i}:Person {{x: {i}}})" for i in range(10_000))).root
    assert isinstance(root, Update)
    assert len(root.steps) == 10_000 and all(isinstance(step, Create) for step in root.steps)


def test_an_update_is_json() -> None:
    found: dict[str, Any] = to_json(plan("CREATE (n:Person {x: 1})"))
    (step,) = found["root"]["steps"]
    assert step["node"] == "Create"
    assert step["elements"][0]["labels"] == ["Person"]


def test_values_of_properties_are_lifted_from_updates_too() -> None:
    text = """
        MATCH (n {x: 1}) SET n.y = 2, n.z = n.z + 0, n += {y: 3, l: [0]} CREATE (:A {x: 4})-[:R {y: 5}]->(n)
        MERGE (m:B {x: 6}) ON CREATE SET m.y = 7 ON MATCH SET m = {y: 8}
        FOREACH (k IN [0] | CREATE (:C {x: 9})) WITH n CALL (n) { CREATE (:D {x: 10}) } IN TRANSACTIONS OF 0 ROWS WITH n
        REMOVE n.x RETURN 0
    """
    (updating,) = parse(text)
    (reading,) = parse("MATCH (n {x: 1}) CALL (n) { MATCH (n)-->(m {y: 2}) RETURN m.x + 3 AS x } RETURN x")
    assert [each.literal.value for each in lifted_literals(updating)] == list(range(1, 11))  # type: ignore[attr-defined]
    assert [each.literal.value for each in lifted_literals(reading)] == [1, 2]  # type: ignore[attr-defined]


def test_what_was_written_gives_no_notice() -> None:
    text = "CREATE (n:New {fresh: 1})-[:FRESH]->(m) WITH n MATCH (n:New)-[:FRESH]->(m) RETURN n.fresh, m.other"
    (statement,) = parse(text)
    assert not bind(statement, text, SOCIAL).notices
