"""Warnings of what is legal, finds nothing, and is hardly meant."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from qengine import Graph


@pytest.fixture(scope="module")
def graph() -> Graph:
    nodes = [
        {"id": 1, "labels": "Country", "properties": {"name": "Peru", "people": 34}},
        {
            "id": 2,
            "labels": "City",
            "properties": {"name": "Lima", "height": 161.5, "any": 1, "founded": dt.datetime(1535, 1, 18)},
        },
        {"id": 3, "labels": "River", "properties": {"any": "text"}},
    ]
    return Graph.from_records(
        nodes,
        [{"type": "capital", "start": 1, "end": 2}, {"type": "meets", "start": 3, "end": 1}],
        undirected=["meets"],
    )


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ("MATCH (n) WHERE n.people = '34' RETURN n", "An INTEGER and a STRING are never equal.", "Numbers stand"),
        ("MATCH (n {people: '34'}) RETURN n", "An INTEGER and a STRING are never equal.", "Numbers stand"),
        ("MATCH (n) WHERE n.name <> 1 RETURN n", "A STRING and an INTEGER are always different.", "toInteger(…)"),
        ("MATCH (n) WHERE 1 < n.height < n.name RETURN n", "A FLOAT and a STRING are in no order", "toFloat(…)"),
        ("RETURN date() > '2026-01-01' AS x", "A DATE and a STRING are in no order", "date(…)"),
        ("MATCH (n) WHERE n.name <> null RETURN n", "A comparison with null gives null", "IS NOT NULL"),
        ("MATCH (n {name: null}) RETURN n", "A comparison with null gives null", "Test the property in WHERE"),
        ("RETURN CASE $p WHEN null THEN 1 END AS x", "A comparison with null gives null", "CASE WHEN … IS NULL"),
        ("RETURN [1] = 1 AS x", "A LIST<INTEGER> and an INTEGER are never equal.", None),
        (
            "MATCH (c:City)-[:capital]->(:Country) RETURN c",
            "The graph has no (:City)-[:capital]->(:Country).",
            "Turn the arrow: the graph has (:Country)-[:capital]->(:City).",
        ),
        ("MATCH ()<-[:capital]-(c:City) RETURN c", "The graph has no (:City)-[:capital]->().", "Turn the arrow"),
        ("MATCH (c)-[:capital]->(d) MATCH (c:City)-[:capital]->(e) RETURN e", "The graph has no (:City)", "Turn"),
        ("MATCH (:River)-[:capital]-(c) RETURN c", "The graph has no (:River)-[:capital]-().", None),
    ],
)
def test_what_never_holds_is_said(graph: Graph, query: str, message: str, hint: str | None) -> None:
    (notice,) = graph.query(query, {"p": 1}).notices
    assert notice.message.startswith(message)
    assert notice.hint is None if hint is None else hint in (notice.hint or "")
    assert notice.span is not None


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (n) WHERE n.people = 34.0 AND n.any = '34' AND n.any = 34 AND n.name < $p RETURN n",
        "MATCH (n:Country|City)-[:capital]->(m) RETURN m",
        "MATCH (:Country)-[:capital]->(:City)-[:capital*0..1]->(x) RETURN x",
        "MATCH (:Country)-[:meets]->(:River)-[:meets]->(:Country)-[:capital]-(:City) RETURN 1",
        "MATCH (a)-[r]->(b), (:City)-[:capital|meets]->(c) RETURN a",
        "MATCH (n {name: $p}) WHERE n.any = $list OR n.people < $number OR n.born = $born RETURN n",
        "MATCH (n) WHERE n.name = $null OR n.name IN $list RETURN n",
    ],
)
def test_what_may_hold_is_not(graph: Graph, query: str) -> None:
    given = {"p": "Peru", "list": [1], "number": np.int64(3), "born": dt.date(1900, 1, 1), "null": None}
    assert all(each.code == "UnknownProperty" for each in graph.query(query, given).notices)


@pytest.mark.parametrize(
    ("condition", "value", "message", "hint"),
    [
        ("n.people = $p", "34", "An INTEGER and a STRING are never equal.", "Give $p as an INTEGER."),
        ("$p <> n.name", 1, "A STRING and an INTEGER are always different.", "Give $p as a STRING."),
        ("n.founded > $p", dt.date(1500, 1, 1), "A LOCAL DATETIME and a DATE are in no order", "as a LOCAL DATETIME."),
        ("n.name = $p", [1], "A STRING and a LIST are never equal.", "Give $p as a STRING."),
        ("n.people = 34 AND n.name = $p", np.True_, "A STRING and a BOOLEAN are never equal.", "Give $p as a STRING."),
    ],
)
def test_a_parameter_of_a_type_that_never_holds_is_said(
    graph: Graph, caplog: pytest.LogCaptureFixture, condition: str, value: object, message: str, hint: str
) -> None:
    text = f"MATCH (n) WHERE {condition} RETURN n.name"
    for _ in range(2):
        (notice,) = graph.query(text, {"p": value}).notices
        assert notice.message.startswith(message) and (notice.hint or "").endswith(hint)
        assert notice.span is not None and text[notice.span.start : notice.span.end] in condition
    assert len(caplog.records) == 1


def test_days_are_compared_as_the_property_is(graph: Graph) -> None:
    for condition, made in (
        ("n.founded > date('1500-01-01')", "localdatetime({date: date('1500-01-01')})"),
        ("n.founded < datetime('1600-01-01T00:00Z')", "localdatetime(datetime('1600-01-01T00:00Z'))"),
    ):
        text = f"MATCH (n) WHERE {condition} RETURN n.name"
        (notice,) = graph.query(text).notices
        constant = condition.partition(" ")[2][2:]
        assert f": {made.replace(constant, '…')}." in (notice.hint or "")
        assert graph.query(text.replace(constant, made)).value() == "Lima"


def test_unknown_names_are_said_once(graph: Graph) -> None:
    notices = graph.query("MATCH (:Town)-[:capital]->()-[:kapital]->(:City) RETURN 1").notices
    assert sorted(notice.code for notice in notices) == ["UnknownLabel", "UnknownRelationshipType"]
