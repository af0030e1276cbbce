"""PROFILE of statements that change a graph: they are carried out, and each operator's rows and time are told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from qengine import Graph, Result
from qengine.errors import ExecutionError


def _operators(plan: dict[str, Any]) -> list[dict[str, Any]]:
    below = plan.get("inputs") or ([plan["input"]] if "input" in plan else [])
    return [plan, *(each for part in below for each in _operators(part))]


def _profiled(result: Result) -> list[dict[str, Any]]:
    (row,) = result
    return _operators(json.loads(row["json"]))


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_rows_times_and_changes(device: str) -> None:
    graph = Graph()
    result = graph.query("PROFILE UNWIND range(1, 5) AS x CREATE (n:N {x: x}) RETURN x", device=device)
    assert result.columns == ("plan", "rows", "seconds", "json")
    assert result.stats.changes is not None and result.stats.changes.nodes_created == 5
    found = _profiled(result)
    assert [(each["node"], each["actual_rows"]) for each in found] == [
        ("Project", 5),
        ("Update", 5),
        ("Unwind", 5),
        ("Unit", 1),
    ]
    assert all(each["seconds"] >= each["own_seconds"] >= 0 for each in found)
    assert graph.node_count == 5


def test_what_is_read_first_is_shown_by_its_plan() -> None:
    graph = Graph()
    graph.query("UNWIND range(1, 20) AS x CREATE (:N {x: x})")
    result = graph.query("PROFILE MATCH (n:N) WHERE n.x > 15 SET n.large = true")
    assert [(each["node"], each["actual_rows"]) for each in _profiled(result)] == [
        ("Update", 5),
        ("Search", 5),
        ("Unit", 1),
    ]
    assert graph.query("MATCH (n:N {large: true}) RETURN count(n)").fetchall() == [(5,)]


def test_in_a_transaction_and_in_transactions() -> None:
    graph = Graph()
    with graph.transaction() as transaction:
        assert len(transaction.query("PROFILE CREATE (:N)").fetchall()) == 1
    assert graph.node_count == 1
    graph.query("PROFILE UNWIND [1, 2, 3] AS x CALL (x) { CREATE (:M {x: x}) } IN TRANSACTIONS OF 2 ROWS")
    assert graph.node_count == 4


def test_one_that_fails_changes_nothing() -> None:
    graph = Graph()
    with pytest.raises(ExecutionError):
        graph.query("PROFILE UNWIND [1, 0] AS x CREATE (:N {x: 1 / x})")
    assert graph.node_count == 0
