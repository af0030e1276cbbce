"""Forms that don't look at all of their parts: the same values and the same errors from both executors.

Parts fail for some nodes (division by zero, overflow); whether an error shows depends on what has to be evaluated.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import ExecutionError, Graph
from tests.examples import examples

NODES = [(None, True), (0, None), (1, False), (2, True), (0, True), (1, None)]
GRAPH = Graph.from_records(
    [{"id": place, "labels": ["A"], "properties": {"i": i, "b": b}} for place, (i, b) in enumerate(NODES)],
    [{"type": "R", "start": place, "end": (place + 1) % 6} for place in range(6)],
)


def _integers(inner: tuple[st.SearchStrategy[str], st.SearchStrategy[str]]) -> st.SearchStrategy[str]:
    integer, boolean = inner
    return st.one_of(
        st.builds("({} {} {})".format, integer, st.sampled_from("+-*/%"), integer),
        st.builds("coalesce({}, {}, {})".format, integer, integer, integer),
        st.builds(
            "CASE WHEN {} THEN {} WHEN {} THEN {} ELSE {} END".format, boolean, integer, boolean, integer, integer
        ),
        st.builds("CASE {} WHEN {} THEN {} WHEN {} THEN {} END".format, integer, integer, integer, integer, integer),
        st.builds("reduce(t = 0, y IN [{}, {}] | t + 1 / y)".format, integer, integer),
        st.builds("[{}, {}][{}]".format, integer, integer, st.sampled_from("01")),
        st.builds("toInteger({})".format, boolean),
    )


def _booleans(inner: tuple[st.SearchStrategy[str], st.SearchStrategy[str]]) -> st.SearchStrategy[str]:
    integer, boolean = inner
    return st.one_of(
        st.builds("({} AND {})".format, boolean, boolean),
        st.builds("({} OR {})".format, boolean, boolean),
        st.builds("({} AND {} AND {})".format, boolean, boolean, boolean),
        st.builds("({} OR {} OR {})".format, boolean, boolean, boolean),
        st.builds("({} XOR {})".format, boolean, boolean),
        st.builds("NOT {}".format, boolean),
        st.builds("{} {} {}".format, integer, st.sampled_from(["=", "<>", "<", ">="]), integer),
        st.builds("{} < {} <= {}".format, integer, integer, integer),
        st.builds("{} IN [{}, {}]".format, integer, integer, integer),
        st.builds("{} IS NULL".format, integer),
        st.builds(
            "{}(x IN [{}, {}, {}] WHERE {})".format,
            st.sampled_from(["any", "all", "none", "single"]),
            integer,
            integer,
            integer,
            st.sampled_from(["1 / x = 1", "x = 1", "x > 0 OR 1 / x = 2", "x <> 0 AND 1 / x = 1"]) | boolean,
        ),
        st.builds("coalesce({}, {})".format, boolean, boolean),
        st.builds("size([x IN [{}, {}] WHERE x <> 0 | 1 / x]) = 1".format, integer, integer),
    )


def expressions(integers: list[str], booleans: list[str]) -> tuple[st.SearchStrategy[str], st.SearchStrategy[str]]:
    """Return strategies of integers and of booleans, three levels deep."""
    level = (st.sampled_from(integers), st.sampled_from(booleans))
    for _ in range(3):
        level = (level[0] | _integers(level), level[1] | _booleans(level))
    return level


FAILING = ["1 / 0", "9223372036854775807 + 1"]
CONSTANTS = expressions(["0", "1", "2", "null", *FAILING], ["true", "false", "null", "1 / 0 = 1"])
COLUMNS = expressions(
    ["n.i", "n.i", "n.none", "0", "1", "1 / n.i", "n.i + 9223372036854775807", *FAILING],
    ["n.b", "n.b", "true", "false", "n.i = 1", "1 / n.i = 1", "n.none = 1", "n.i = 0 OR 1 / 0 = 1 OR n.i = 1"],
)


def outcome(query: str, device: str, graph: Graph = GRAPH) -> Any:
    try:
        return sorted(map(repr, graph.query(query, device=device).fetchall()))
    except ExecutionError as error:
        return type(error).__name__


def assert_same(query: str) -> None:
    assert outcome(query, "cpu") == outcome(query, "reference"), query


@settings(max_examples=examples(300))
@given(CONSTANTS[0] | CONSTANTS[1])
def test_constants(expression: str) -> None:
    assert_same(f"RETURN {expression} AS x")


@settings(max_examples=examples(300))
@given(CONSTANTS[1])
def test_constant_conditions(condition: str) -> None:
    assert_same(f"MATCH (n:A) WHERE {condition} RETURN count(*) AS x")
    assert_same(f"UNWIND [1, 2] AS y WITH y WHERE {condition} RETURN y")


@settings(max_examples=examples(240))
@given(COLUMNS[0] | COLUMNS[1])
def test_columns(expression: str) -> None:
    assert_same(f"MATCH (n:A) RETURN {expression} AS x")


@settings(max_examples=examples(240))
@given(COLUMNS[1])
def test_conditions(condition: str) -> None:
    assert_same(f"MATCH (n:A) WHERE {condition} RETURN n.i AS x")
    assert_same(f"MATCH (n:A)-[:R]->(m) WHERE {condition} RETURN count(*) AS x")
    assert_same(f"MATCH (n:A) WITH n WHERE {condition} RETURN n.i AS x")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("coalesce(1, 1 / 0)", 1),
        ("coalesce(null, 2, 1 / 0)", 2),
        ("any(x IN [1, 0] WHERE 1 / x = 1)", True),
        ("all(x IN [2, 0] WHERE 1 / x = 1)", False),
        ("none(x IN [1, 0] WHERE 1 / x = 1)", False),
        ("single(x IN [1, 1, 0] WHERE 1 / x = 1)", False),
        ("any(x IN [null, 1, 0] WHERE 1 / x = 1)", True),
        ("false AND 1 / 0 = 1", False),
        ("true OR 1 / 0 = 1", True),
        ("CASE WHEN true THEN 1 ELSE 1 / 0 END", 1),
        ("CASE 1 WHEN 1 THEN 2 WHEN 1 / 0 THEN 3 END", 2),
        ("2 < 1 < 1 / 0", False),
        ("any(x IN [1, 0] WHERE 1 / 0 = 1)", None),
        ("single(x IN [1, 0] WHERE 1 / x = 1)", None),
        ("coalesce(null, 1 / 0, 1)", None),
        ("1 / 0 = 1 AND false", None),
        ("null AND 1 / 0 = 1", None),
        ("1 IN [1, 1 / 0]", None),
        ("head([1, 1 / 0])", None),
    ],
)
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_what_is_evaluated(expression: str, value: Any, device: str) -> None:
    """None: the part that fails is needed."""
    for text in (
        f"RETURN {expression} AS x",
        f"MATCH (n:A {{i: 2}}) RETURN {expression.replace('1 / 0', '1 / (n.i - 2)')} AS x",
    ):
        if value is None:
            assert outcome(text, device) == "ExecutionError"
        else:
            assert GRAPH.query(text, device=device).value() is value


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_an_alternative_that_fails_is_not_passed_over(device: str) -> None:
    assert outcome("MATCH (n) WHERE n.i = 1 OR 1 / (n.i - 2) = 5 OR n.i = 2 RETURN n", device) == "ExecutionError"
    assert outcome("MATCH (n) WHERE n.i = 2 OR 1 / (n.i - 2) = -1 RETURN count(*) AS c", device) == ["Row(c=3)"]
