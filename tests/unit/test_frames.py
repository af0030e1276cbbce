"""Results as data frames, where pandas and polars lack the types."""

from __future__ import annotations

from typing import Any

import pytest

from qengine import Graph
from qengine.temporal import Duration, parse_date, parse_local_time


@pytest.fixture(scope="module")
def graph() -> Graph:
    nodes = [{"id": k, "labels": "A", "properties": {"x": x, "k": k}} for k, x in enumerate([1, 2.5, "text", None])]
    return Graph.from_records(nodes)


@pytest.mark.parametrize("form", ["to_pandas", "to_polars"])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("MATCH (a) RETURN a.k AS k, a.x AS x ORDER BY k", {"k": [0, 1, 2, 3], "x": [1, 2.5, "text", None]}),
        ("MATCH (a) WHERE a.k < 3 RETURN a.x AS x ORDER BY a.k", {"x": [1, 2.5, "text"]}),
        ("MATCH (a) WHERE a.k > 9 RETURN a, a.x AS x", {"a": [], "x": []}),
        ("UNWIND [1, duration('P1M')] AS d RETURN d", {"d": [1, Duration(1, 0, 0)]}),
        ("UNWIND [date('-0005-01-01'), 'x'] AS d RETURN d", {"d": [parse_date("-0005-01-01"), "x"]}),
    ],
)
def test_values_of_different_types_are_objects(graph: Graph, form: str, query: str, expected: dict[str, Any]) -> None:
    frame = getattr(graph.query(query), form)()
    assert {name: list(frame[name]) for name in frame.columns} == expected


def test_nodes_with_properties_of_different_types_are_dictionaries(graph: Graph) -> None:
    for frame in (graph.query("MATCH (a) RETURN a").to_pandas(), graph.query("MATCH (a) RETURN a").to_polars()):
        assert sorted(str(each["properties"]["x"]) for each in frame["a"]) == ["1", "2.5", "None", "text"]


def test_what_one_of_them_lacks(graph: Graph) -> None:
    text = "RETURN duration('P1DT2H') AS d, localtime('10:00:00.000000001') AS t, date('-0005-01-01') AS e, 1 AS n"
    frame = graph.query(text).to_polars()
    assert frame["d"].to_list() == [Duration(0, 1, 7200 * 10**9)] and frame["n"].to_list() == [1]
    (row,) = graph.query(text).to_pandas().to_dict("records")
    assert (row["t"], row["e"], row["n"]) == (parse_local_time("10:00:00.000000001"), parse_date("-0005-01-01"), 1)
