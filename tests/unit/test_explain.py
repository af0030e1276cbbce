"""EXPLAIN and PROFILE: what is expected and what happened, as text, JSON and a picture."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from qengine import ExecutionError, Graph, QueryTimeout
from qengine.explain.numbers import note, size

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
    for each in found:
        assert 0 <= each["estimated_low"] <= each["estimated_rows"] <= each["estimated_high"]
        assert each["device"] == "cpu" and "q_error" not in each


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
        assert (each["bytes"] > 0) >= (each["actual_rows"] > 0 and each["node"] not in ("Unit", "Argument"))
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
    assert result.plan.to_svg() in result._repr_html_()


def test_a_plan_says_how_far_the_rows_may_be_off(world: Graph) -> None:
    lines = str(world.explain("MATCH (a:Country)-[:borders]-(b)-[:borders]-(c) RETURN a, c LIMIT 7")).splitlines()
    assert lines[0] == "Limit 7  [7 rows]"
    assert re.search(r"Search .*\[~[\d,]+ rows \([\d,]+ to [\d,]+\)\]", lines[2])
    assert lines[-1].strip() == "Unit  [1 row]"
    counted = str(world.explain("MATCH (a:Country)-[:borders]-(b) RETURN count(*)"))
    assert re.search(r"\[1 row of [\d,]+ embeddings\]", counted)
    assert "[198 rows]" in str(world.explain("MATCH (a:Country) RETURN a"))


INSIDE = """
    MATCH (a:Country)-[:borders]-(b)-[:borders]-(c) | MATCH (a:Country)-[:borders]-(b)-[:borders]-(c)-[:borders]-(a)
    MATCH (a:Country)-[:speaks]->(l)<-[:speaks]-(b) | MATCH (a:City)-[:located_in]->(b)-[:part_of]->(c)
    MATCH (r:River)-[:flows_through]->(a)-[:borders]-(b)<-[:flows_through]-(r) | MATCH (a:Country)-[:capital]->(c)
    MATCH (a:Country)-[:speaks]->(l), (a)-[:borders]-(b)-[:speaks]->(l) | MATCH (a)-[:borders]-(b)-[:speaks]->(l)
    MATCH (a:Country)-[:borders]-(b)-[:borders]-(c)-[:borders]-(d) | MATCH (a:City) WHERE a.population > 1000000
    MATCH (a:Country)-[:borders]-(b) WHERE a.population > 50000000 | MATCH (a:Country) WHERE a.name STARTS WITH 'C'
    MATCH (a:Country)-[:borders]-(b) WHERE a.population < b.population | MATCH (a:Country)-[:borders*1..3]-(b)
"""


def test_nine_of_ten_estimates_keep_their_interval(world: Graph) -> None:
    patterns = [part.strip() for line in INSIDE.strip().splitlines() for part in line.split("|")]
    inside = []
    for pattern in patterns:
        row = world.query(f"PROFILE {pattern} RETURN *").fetchone()
        top = operators(json.loads(row["json"]))[0]
        inside.append(top["estimated_low"] <= top["actual_rows"] <= top["estimated_high"])
    assert sum(inside) >= 0.9 * len(patterns)


def test_warnings_stand_beside_the_picture_and_the_plan(world: Graph) -> None:
    text = "EXPLAIN MATCH (a:Country), (b:Contry)-[:borders*]-(c) RETURN count(*)"
    result = world.query(text)
    row = result.fetchone()
    codes = [each["code"] for each in json.loads(row["json"])["warnings"]]
    assert set(codes) >= {"CartesianProduct", "UnboundedWalk"} and len(codes) == 3
    page = result._repr_html_()
    ET.fromstring(page)
    assert "Nothing joins this part" in page and "no upper bound" in page and "Contry" in page
    assert "nine of ten times" in page and "Runs on the CPU" in page
    plain = text.removeprefix("EXPLAIN ")
    for shown in (world.explain(plain), world.prepare(plain).plan):
        assert [each.code for each in shown.notices] == codes
    assert [each.code for each in world.query(plain).notices] == ["UnknownLabel"]


def test_a_notebook_shows_what_a_profile_measured(world: Graph) -> None:
    pattern = "MATCH (a:Country)-[:borders]-(b)-[:borders]-(c)-[:borders]-(a) RETURN count(*)"
    result = world.query(f"PROFILE {pattern}")
    page = result._repr_html_()
    assert re.search(r"1 row, \d+ B, [\d.]+ ms", page) and "Bars are shares of the time" in page
    assert page == result._repr_html_() and result.fetchone()["rows"] == 1, "its row is still there"
    assert page == result._repr_html_() and result.fetchone() is None
    page = world.query(f"EXPLAIN {pattern}")._repr_html_()
    assert not re.search(r"[\d.]+ ms<", page) and "Bars" not in page


def test_a_profile_obeys_its_limits_in_a_notebook(world: Graph) -> None:
    result = world.query("PROFILE MATCH p = (:Country)-[:borders*]-(:Country) RETURN count(*)", timeout=0.05)
    with pytest.raises(QueryTimeout):
        result._repr_html_()


def test_an_explanation_shows_itself(world: Graph) -> None:
    plan = world.explain("MATCH (a:Country) RETURN a.name")
    assert repr(plan) == str(plan) and repr(plan).startswith("Project a.name")


def test_long_titles_go_on_in_the_next_line(world: Graph) -> None:
    words = [f"word{i}" for i in range(80)]
    for length in (1, 7, 80):
        text = f"MATCH (a:Country) WHERE a.name IN {words[:length]} RETURN count(*)"
        picture = ET.fromstring(world.explain(text).to_svg())
        lines = [each.text or "" for each in picture.iter("{http://www.w3.org/2000/svg}text")]
        assert max(map(len, lines)) <= 84
        shown = sum(line.count("'word") for line in lines)
        assert shown == length if length < 10 else shown > 30 and any(line.endswith("…") for line in lines)
        titles = [each.text for each in picture.iter("{http://www.w3.org/2000/svg}title")]
        assert sum(title.count("'word") for title in titles) == length


def test_numbers_are_short() -> None:
    entries = {"estimated_rows": 1234567.0, "estimated_low": 0.2, "estimated_high": 8.5e12}
    assert note(entries) == "~1,230,000 rows (0 to 8.5e12)"
    assert [size(count) for count in (0, 999, 1500, 2_500_000, 7_250_000_000)] == [
        *("0 B", "999 B", "1.5 kB", "2.5 MB", "7.25 GB")
    ]


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


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a)-[:R]->(a) RETURN a",
        "MATCH (a)-[:U]-(a) RETURN a",
        "MATCH (a:A&B)-[:R]->(b) RETURN a",
        "MATCH (a:A|B)-[:R]->(b:!A) RETURN a",
        "MATCH (a:A)-[:U]-(b:B) RETURN a",
        "MATCH DIFFERENT NODES (a), (b) RETURN a",
        "MATCH (a)-[:R]->(b) WHERE a <> b RETURN a",
        "MATCH (a)-[:R]->(b) MATCH (a)-[:R]->(b) RETURN a, b",
        "MATCH (a)-[:R]->(b), (a)-[:R]->(a) RETURN a",
        "MATCH (a)-[:R]->(b) RETURN DISTINCT a",
        "MATCH (a)-[:R]->(b) RETURN b, count(*)",
    ],
)
def test_rows_that_are_shown_as_counted_are_counted(query: str) -> None:
    nodes = [{"id": number, "labels": ["A", "B"][: number % 3]} for number in range(9)]
    ends = [(0, 1), (0, 1), (1, 1), (2, 4), (4, 2), (5, 5), (7, 8), (8, 2), (8, 2), (3, 6)]
    relationships = [{"type": kind, "start": one, "end": other} for kind in "RU" for one, other in ends]
    graph = Graph.from_records(nodes, relationships, undirected=["U"])
    shown = json.loads(graph.query(f"PROFILE {query}").fetchone()["json"])
    for each in operators(shown):
        if each["node"] in ("Search", "Project") and each["estimated_low"] == each["estimated_high"]:
            assert each["estimated_rows"] == pytest.approx(each["actual_rows"]), each


def test_the_steps_of_a_plan_come_with_its_warnings(world: Graph) -> None:
    text = "MATCH (a:Country), (c:Rivr) RETURN a, c"
    codes = [[each.code for each in world.query(f"{word} {text}").notices] for word in ("EXPLAIN", "EXPLAIN STEPS")]
    assert codes[0] == codes[1] and len(codes[0]) > 1


@pytest.mark.parametrize("count", ["null", "toInteger('x')", "10 / 0", "$n", "head([])", "1 - 2"])
@pytest.mark.parametrize("clause", ["LIMIT", "SKIP"])
def test_a_limit_that_is_no_number_is_explained(clause: str, count: str) -> None:
    graph = Graph.from_records([{"id": 1}])
    text = f"MATCH (a) RETURN a ORDER BY a.k {clause} {count}"
    assert clause.capitalize() in str(graph.explain(text))
    with pytest.raises(ExecutionError):
        graph.query(text, {"n": None}).fetchall()


@pytest.mark.parametrize("word", ["EXPLAIN", "EXPLAIN STEPS", "PROFILE"])
def test_a_prepared_plan_has_the_columns_of_its_result(word: str) -> None:
    prepared = Graph.from_records([{"id": 1}]).prepare(f"{word} MATCH (a) RETURN a")
    result = prepared.run()
    assert prepared.columns == result.columns == tuple(result.fetchall()[0].keys())


def test_what_is_repeated_has_its_rows_and_seconds(world: Graph) -> None:
    result = world.query("PROFILE MATCH (a:Country {name: 'Chad'})(()-[:borders]-()-[:borders]-()){1,4}(b) RETURN b")
    result.fetchall()
    (found,) = (each for each in operators(result.plan.to_json()) if each["node"] == "Repeat")
    assert found["actual_rows"] > 0
    inside = operators(found["repeated"])
    assert inside and all(each["actual_rows"] > 0 for each in inside if each["node"] == "Search")
