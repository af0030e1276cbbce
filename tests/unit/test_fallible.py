"""Conditions that can fail: known as such, and evaluated only where everything else holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import ExecutionError, Graph
from qengine.binder import bind
from qengine.catalog.functions import functions
from qengine.exec.memory import MemoryAccount
from qengine.exec.scalar.environment import Environment
from qengine.exec.scalar.functions import ACCOUNTED_FUNCTIONS, FUNCTIONS, GRAPH_FUNCTIONS
from qengine.exec.scalar.values import NodeHandle, PathHandle, RelationshipHandle
from qengine.plan.fallible import can_fail, condition_can_fail
from qengine.plan.logical import Match, Project
from qengine.storage import from_records
from qengine.syntax import parse
from qengine.types import Kind, Type

STORE = from_records(
    [
        {
            "id": i,
            "labels": ["A"],
            "properties": {"i": i % 3, "f": i / 2, "s": "abc"[:i], "l": [i], "mixed": [1, "1"][i % 2]},
        }
        for i in range(6)
    ],
    [{"type": "R", "start": i, "end": (i + 1) % 6, "properties": {"i": i}} for i in range(6)],
)


def bound(condition: str) -> Any:
    text = f"MATCH (n)-[r]->(m) RETURN {condition} AS c"
    project = bind(parse(text)[0], text, STORE).plan.root
    assert isinstance(project, Project)
    return project.items[0][1]


@pytest.mark.parametrize(
    "expression",
    [
        "n.i > 1", "n.mixed < 'a'", "n.i % 3 = 1", "n.i / 2 = 0", "n.f / n.i > 1", "n.f + 1 < 2", "n:A AND NOT m:B",
        "toUpper(n.s) = 'A'", "size(n.s) > 1", "n.s STARTS WITH 'a'", "n.i IN [1, 2]", "n.i IN n.l", "n.s + 'x' = 'ax'",
        "all(x IN n.l WHERE x > 1)", "[x IN n.l | -1.5 * x][..] = []", "coalesce(n.i, 1) = 1", "n.nothing IS NULL",
        "startNode(r).i < 1", "type(r) = 'R'", "EXISTS { (n)-->(x) WHERE x.i > 1 }", "n.i = $p", "n.l + 1 = [1, 1]",
        "n.l[n.i] = 1", "[x IN n.l | -1.5 * x][n.i..] = []", "labels(n) = ['A']",
        "localdatetime('2011-07-08T00:00:00') > n.f", "date('2011-07-08').month = 7", "time('12:30Z').offset = 'Z'",
        "datetime('2011-07-08T12:00[Europe/Berlin]').timezone = 'Z'", "localtime('21:40').minute < n.i",
    ],
)  # fmt: skip
def test_what_cannot_fail(expression: str) -> None:
    assert not condition_can_fail(bound(expression))


@pytest.mark.parametrize(
    "expression",
    [
        "10 / n.i", "10 % n.i", "n.i + 1", "-n.i", "n.i / -1", "n.mixed + 1.5", "toInteger(n.f)", "n.mixed.x",
        "n.l[n.mixed]", "[1][n.mixed]", "range(0, 1, n.i)", "n.s =~ n.s", "date(n.s)", "size(n.mixed)", "abs(n.i)",
        "substring(n.s, n.i)", "NOT n.mixed", "n.mixed AND true", "[x IN n.mixed | x]", "n.i IN n.mixed",
        "COUNT { (n) WHERE 1 / n.i = 0 }", "date('11-07-08') > n.f", "date('2011').hour = 1", "date($p).year = 1",
        "localdatetime('2011-07-08T25') > n.f",
        "COLLECT { UNWIND n.mixed AS x RETURN x }", "CASE WHEN n.mixed THEN 1 END", "n.i ^ n.mixed", "$p + 1",
    ],
)  # fmt: skip
def test_what_can_fail(expression: str) -> None:
    assert can_fail(bound(expression))


def test_a_condition_that_is_perhaps_no_boolean_can_fail() -> None:
    assert condition_can_fail(bound("n.mixed")) and not can_fail(bound("n.mixed"))


VALUES: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.BOOLEAN: st.booleans(),
    Kind.INTEGER: st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2),
    Kind.FLOAT: st.floats(),
    Kind.STRING: st.text(max_size=4) | st.sampled_from(["1", "1e999", "true", "nan", "٣"]),
    Kind.NODE: st.integers(0, 5).map(NodeHandle),
    Kind.RELATIONSHIP: st.integers(0, 5).map(RelationshipHandle),
    Kind.PATH: st.just(PathHandle((NodeHandle(0), NodeHandle(1)), (RelationshipHandle(0),))),
}
VALUES[Kind.NUMBER] = VALUES[Kind.INTEGER] | VALUES[Kind.FLOAT]
VALUES[Kind.MAP] = st.dictionaries(st.text(max_size=2), VALUES[Kind.NUMBER] | st.none(), max_size=2)
VALUES[Kind.ANY] = st.one_of(*VALUES.values())
VALUES[Kind.LIST] = st.lists(VALUES[Kind.ANY] | st.none(), max_size=3)
VALUES[Kind.ANY] |= VALUES[Kind.LIST]


def value_of(type: Type) -> st.SearchStrategy[Any]:
    if type.kind is Kind.LIST and type.item is not None:
        return st.lists(value_of(type.item), max_size=3)
    return VALUES[type.kind] | st.none()


@pytest.mark.parametrize(
    "function", [each for each in functions() if each.total and each.key in FUNCTIONS], ids=lambda each: each.name
)
@settings(max_examples=25)
@given(data=st.data())
def test_functions_that_never_fail(function: Any, data: st.DataObject) -> None:
    signature = data.draw(st.sampled_from(function.signatures))
    least = len(signature.parameters) - signature.optional
    count = data.draw(st.integers(least, len(signature.parameters)))
    known = [[type for type in slot.types if type.kind in VALUES] for slot in signature.parameters[:count]]
    args = [value_of(data.draw(st.sampled_from(types))) for types in known]
    values = [data.draw(arg) for arg in args]
    if function.key in GRAPH_FUNCTIONS:
        GRAPH_FUNCTIONS[function.key](Environment(STORE), *values)
    elif function.key in ACCOUNTED_FUNCTIONS:
        ACCOUNTED_FUNCTIONS[function.key](MemoryAccount(None), *values)
    else:
        FUNCTIONS[function.key](*values)


GRAPH = Graph(STORE)


@pytest.mark.parametrize(
    ("condition", "fails"),
    [
        ("10 / n.i > 5", True),
        ("n.i <> 0 AND 10 / n.i > 5", False),
        ("10 / n.i > 5 AND n.i <> 0", False),
        ("10 / n.i > 5 AND m.i = 2", False),
        ("10 / n.i > 5 AND m.i = 1", True),
        ("10 / r.i > 5", True),
        ("10 / r.i > 5 AND n.i > 0", False),
        ("10 / r.i > 5 AND r.i = 77", False),
        ("n.l[n.mixed] = 1", True),
        ("n.mixed + 1 > 1 AND n.i + 1 > m.i", False),
        ("toInteger(n.f / n.f) = 1", True),
        ("toInteger(n.f / n.f) = 1 AND m.f > 0.5", False),
        ("n.mixed", True),
        ("n.mixed AND n.i > 5", False),
    ],
)
@pytest.mark.parametrize("result", ["count(*) AS c", "n, m", "DISTINCT m.i AS i"])
@pytest.mark.parametrize("pattern", ["(n)-[r]->(m)", "(n)-[r]->(m)-[*0..1]->(x)"])
def test_errors_only_where_all_else_holds(condition: str, fails: bool, result: str, pattern: str) -> None:
    query = f"MATCH {pattern} WHERE {condition} RETURN {result}"
    if fails:
        for device in ("cpu", "reference"):
            with pytest.raises(ExecutionError):
                GRAPH.query(query, device=device).fetchall()
    else:
        found, true = (GRAPH.query(query, device=device).fetchall() for device in ("cpu", "reference"))
        assert sorted(map(str, found)) == sorted(map(str, true))


def test_a_condition_that_does_not_fail_is_evaluated_on_columns() -> None:
    plan = str(GRAPH.explain("MATCH (n)-[r]->(m) WHERE n.i + 1 > 1 RETURN count(*)"))
    assert "Filter" not in plan and "n WHERE n.i + 1 > 1" in plan


def test_only_conditions_that_can_fail_make_two_plans() -> None:
    assert GRAPH.explain("MATCH (n)-[r]->(m) WHERE n.i > 1 RETURN count(*)").plan.careful is None
    assert GRAPH.explain("MATCH (n)-->() WHERE n.i < date('2011-07-08') RETURN count(*)").plan.careful is None
    assert GRAPH.explain("MATCH (n) WHERE EXISTS { (n)-->({i: 1}) } RETURN count(*)").plan.careful is None
    assert GRAPH.explain("MATCH (n)-[r]->(m) WHERE 2 / n.i > 1 RETURN count(*)").plan.careful is not None


def test_profile_shows_the_plan_that_ran() -> None:
    ((text, *_),) = GRAPH.query("PROFILE MATCH (n)-[r]->(m) WHERE 10 / n.i > 1 AND m.i = 2 RETURN count(*)").fetchall()
    assert "Filter 10 / n.i > 1  [rows=2" in text


def test_matches_of_subqueries_are_careful_too() -> None:
    rows = GRAPH.query("MATCH (n) RETURN sum(COUNT { (n)-->(m) WHERE 10 / m.i > 5 AND m.i > 0 }) AS c").fetchall()
    assert [tuple(row) for row in rows] == [(2,)]


def test_bound_plans_put_conditions_that_can_fail_last() -> None:
    text = "MATCH (n)-->(m) WHERE 1 / n.i > 0 AND n.i < m.i AND n.s = 'a' RETURN n"
    project = bind(parse(text)[0], text, STORE).plan.root
    assert isinstance(project, Project) and isinstance(project.input, Match)
    graph = project.input.graph
    assert len(graph.nodes[0].predicates) == 1
    assert [can_fail(each) for each in graph.predicates] == [False, True]
