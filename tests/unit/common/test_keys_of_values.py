"""Keys and values that read one property of few values, evaluated once for each, are those of each element."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from qengine import ExecutionError, Graph, QengineError
from qengine.exec.common import element_columns
from qengine.exec.common.columns import ArrowColumn, Column
from qengine.exec.common.expressions import temporal
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
    "n.day.year",
    "n.at.month",
    "n.utc.week",
    "12 * n.at.year + n.at.month",
    "CASE WHEN n.at.year > 2011 THEN n.at.day END",
    "n.at.hour",
    "[n.at.year, n.at.hour]",
    "[n.day.year, n.day]",
    "n.day.year + n.at.year",
    "n.zoned.day",
    "n.mixed.year",
)


@pytest.fixture(scope="module")
def graph() -> Graph:
    properties: list[dict[str, Any]] = [
        {"i": k % 6, "s": [None, "a", "b", "A"][k % 4], "b": [True, False, None][k % 3], "m": [1, 2.0][k % 2], "f": 0.5}
        for k in range(40)
    ]
    for k, each in enumerate(properties):
        at = datetime(2011, 12, 30, 23, 50) + timedelta(hours=k % 5 * 9)
        each |= {
            "day": at.date() if k % 6 else None,
            "at": at if k % 9 else None,
            "utc": at.replace(tzinfo=UTC),
        }
        each |= {
            "zoned": at.replace(tzinfo=timezone(timedelta(hours=k % 2 + 1))),
            "mixed": [at, date(1969, 12, 31)][k % 2],
        }
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


def test_fields_of_days_are_found_once_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = datetime(2011, 12, 30)
    nodes = [{"id": k, "labels": ("N",), "properties": {"at": begin + timedelta(minutes=k)}} for k in range(5_000)]
    graph = Graph.from_records(nodes, [])
    asked = []
    real = temporal.field_of

    def noted(column: ArrowColumn, name: str) -> Column | None:
        asked.append(len(column))
        return real(column, name)

    monkeypatch.setattr(temporal, "field_of", noted)
    query = "MATCH (n:N) RETURN n.at.year AS y, n.at.day AS d, count(*) AS n, max(n.at.month) AS m ORDER BY y, d"
    assert [row[:3] for row in graph.query(query).fetchall()][1:3] == [(2011, 31, 1440), (2012, 1, 1440)]
    assert max(asked) < 10


def test_numbers_have_no_days(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(element_columns, "_FEWER", 0)
    monkeypatch.setattr(element_columns, "_REPEATED", 0)
    with pytest.raises(QengineError):
        graph.query("MATCH (n:N) RETURN n.m.year AS y, count(*) AS n").fetchall()
    agree(graph, "MATCH (n:N) RETURN n.m AS m, sum(n.m) AS s, count(*) AS n")


def test_only_values_that_are_grouped_can_fail(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(element_columns, "_FEWER", 0)
    monkeypatch.setattr(element_columns, "_REPEATED", 0)
    kept = "MATCH (n:N) WHERE n.i > 0 RETURN 60 / n.i AS x, count(*) AS n ORDER BY x LIMIT 1"
    assert graph.query(kept).fetchall()[0][0] == 12
    with pytest.raises(ExecutionError, match="zero"):
        graph.query("MATCH (n:N) RETURN 60 / n.i AS x, count(*) AS n").fetchall()
