"""Keys and values that read one property of few values, evaluated once for each, are those of each element."""

from __future__ import annotations

import pytest

from qengine import ExecutionError, Graph
from qengine.exec.common import element_columns
from qengine.testing.compare import agree

_KEYS = (
    "CASE WHEN n.i < 2 THEN 'low' WHEN n.i < 4 THEN 'high' END",
    "coalesce(n.s, 'none')",
    "toUpper(n.s)",
    "'' + n.i",
    "n.i % 3",
    "n.s IS NULL",
    "NOT n.b",
    "[n.i, n.i + 1]",
    "n.i + size(n.s)",
    "n.s + '-' + n.i",
    "coalesce(n.s, CASE WHEN n.b THEN 'yes' ELSE 'no' + n.i END)",
    "CASE n.s WHEN 'a' THEN 60 / n.i ELSE n.b END",
    "n.none = 1",
    "n.m + 1",
    "n.f * 2",
)


@pytest.fixture(scope="module")
def graph() -> Graph:
    properties = [
        {"i": k % 6, "s": [None, "a", "b", "A"][k % 4], "b": [True, False, None][k % 3], "m": [1, 2.0][k % 2], "f": 0.5}
        for k in range(40)
    ]
    nodes = [
        {"id": k, "labels": ("N",), "properties": each if k % 7 else {"i": 5, "m": 1}}
        for k, each in enumerate(properties)
    ]
    return Graph.from_records(nodes, [{"type": "R", "start": k, "end": (k * 3) % 40} for k in range(40)])


@pytest.mark.parametrize("pattern", ["(n:N)", "(n:N)-[:R]->(m)"])
@pytest.mark.parametrize("key", _KEYS)
def test_keys_are_those_of_each_element(graph: Graph, pattern: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(element_columns, "_FEWER", 0)
    monkeypatch.setattr(element_columns, "_REPEATED", 0)
    query = f"MATCH {pattern} RETURN {key} AS x, count(*) AS n, max(n.i) AS m, count({key}) AS k, min({key}) AS least"
    agree(graph, query)


def test_only_values_that_are_grouped_can_fail(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(element_columns, "_FEWER", 0)
    monkeypatch.setattr(element_columns, "_REPEATED", 0)
    kept = "MATCH (n:N) WHERE n.i > 0 RETURN 60 / n.i AS x, count(*) AS n ORDER BY x LIMIT 1"
    assert graph.query(kept).fetchall()[0][0] == 12
    with pytest.raises(ExecutionError, match="zero"):
        graph.query("MATCH (n:N) RETURN 60 / n.i AS x, count(*) AS n").fetchall()
