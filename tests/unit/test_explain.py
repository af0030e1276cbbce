"""EXPLAIN and PROFILE: what is expected and what happened, as text, JSON and a picture."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from qengine import Graph

QUERY = """
    MATCH (a:Country)-[:borders]-(b) WHERE a.population > 10000000
    OPTIONAL MATCH (b)-[:capital]->(c) WHERE EXISTS { (c)--(:River) }
    RETURN b.name AS name, count(*) AS n ORDER BY n DESC LIMIT 3
"""


@pytest.fixture(scope="module")
def world() -> Graph:
    return Graph.from_csv(Path(__file__).parents[2] / "examples" / "world")


def operators(node: object) -> list[dict[str, object]]:
    if isinstance(node, dict):
        own = [node] if "estimated_rows" in node else []
        return own + [each for value in node.values() for each in operators(value)]
    return [each for value in node for each in operators(value)] if isinstance(node, list) else []


def test_explain_tells_what_is_expected_of_each_operator(world: Graph) -> None:
    found = operators(world.explain(QUERY).to_json())
    assert [each["node"] for each in found][:4] == ["Limit", "Sort", "Aggregate", "Optional"]
    assert all(each["estimated_rows"] >= 0 and "q_error" not in each for each in found)


def test_a_profile_counts_rows_and_the_error_of_the_estimate(world: Graph) -> None:
    result = world.query("PROFILE " + QUERY)
    row = result.fetchone()
    assert row is not None and row["rows"] == 3
    found = operators(json.loads(row["json"]))
    assert found[0]["actual_rows"] == 3
    for each in found:
        one, other = max(each["estimated_rows"], 1), max(each["actual_rows"], 1)
        assert each["q_error"] == pytest.approx(max(one / other, other / one))
        assert 0 <= each["own_seconds"] <= each["seconds"]
    assert "q-error=" in row["plan"].splitlines()[0]


def test_rows_of_a_search_are_those_that_were_matched(world: Graph) -> None:
    expected = world.query("MATCH (a:Country)-[:borders]-(b) RETURN a, b").fetchall()
    row = world.query("PROFILE MATCH (a:Country)-[:borders]-(b) RETURN a, b").fetchone()
    (search,) = (each for each in operators(json.loads(row["json"])) if each["node"] == "Search")
    assert search["actual_rows"] == len(expected)
    assert search["q_error"] == pytest.approx(1.0), "one relationship type between one label: known exactly"


@pytest.mark.parametrize("prefix", ["EXPLAIN ", "PROFILE "])
def test_the_picture_has_a_box_for_each_operator(world: Graph, prefix: str) -> None:
    result = world.query(prefix + QUERY)
    result.fetchall()
    picture = ET.fromstring(result.plan.to_svg())
    titles = [each.text.splitlines()[0] for each in picture.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == len(operators(result.plan.to_json()))
    assert titles[0] == "Limit 3" and any(title.startswith("Attach exists") for title in titles)
    assert result._repr_html_() == result.plan.to_svg()


def test_names_are_escaped_in_the_picture(world: Graph) -> None:
    picture = world.explain("MATCH (`<b>`:Country) RETURN `<b>` AS `a&b`").to_svg()
    ET.fromstring(picture)


def test_a_limit_bounds_what_is_expected(world: Graph) -> None:
    found = operators(world.explain("MATCH (a:Country) RETURN a SKIP 190 LIMIT 5").to_json())
    rows = {each["node"]: each["estimated_rows"] for each in found}
    assert rows["Search"] == 198 and rows["Skip"] == 8 and rows["Limit"] == 5


def test_the_plan_that_ran_is_shown_where_conditions_failed_early() -> None:
    graph = Graph.from_records(
        [{"id": 1, "labels": "A", "properties": {"x": 0}}, {"id": 2, "labels": "A", "properties": {"x": 2}}],
        [{"type": "R", "start": 2, "end": 1}],
    )
    row = graph.query("PROFILE MATCH (a:A)-[:R]->(b) WHERE 10 / a.x > 1 RETURN b").fetchone()
    assert row["plan"].splitlines()[0].startswith("Project b  [rows=1") and "Filter 10 / a.x > 1" in row["plan"]
