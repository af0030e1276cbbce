"""SHOW TRANSACTIONS lists what runs on a graph, TERMINATE stops it."""

from __future__ import annotations

import threading

import pytest

from qengine import Graph
from qengine.errors import QueryInterrupted

LONG = "UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y WITH x, y WHERE x + y = 0 RETURN count(*)"


def others(graph: Graph) -> dict[str, str]:
    """Return the statements that run, but for the one that lists them, with their ids."""
    rows = graph.query("SHOW TRANSACTIONS YIELD transactionId, currentQuery").fetchall()
    return {text: id for id, text in rows if not text.startswith("SHOW")}


def test_a_statement_that_runs_is_listed_and_terminated() -> None:
    graph, failed = Graph(), []

    def ask() -> None:
        try:
            graph.query(LONG).fetchall()
        except QueryInterrupted as error:
            failed.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while LONG not in others(graph):
        assert thread.is_alive()
    id = others(graph)[LONG]
    assert graph.query("SHOW TRANSACTIONS $id YIELD status, elapsedTime", {"id": id}).fetchone()[0] == "Running"
    told = graph.query("TERMINATE TRANSACTIONS $ids", {"ids": [id, "other"]}).fetchall()
    assert told == [(id, "", "Transaction terminated."), ("other", None, "Transaction not found.")]
    thread.join()
    assert len(failed) == 1
    assert others(graph) == {}


def test_what_was_read_to_its_end_is_not_listed_and_what_was_not_is() -> None:
    graph = Graph()
    whole = graph.query("UNWIND range(1, 3) AS x RETURN x")
    assert len(whole.fetchall()) == 3
    graph.query("CREATE (:A)")
    with pytest.raises(QueryInterrupted):
        part = graph.query("UNWIND range(1, 1000000) AS x RETURN x")
        part.fetchone()
        (listed,) = others(graph).items()
        assert listed[0] == "UNWIND range(1, 1000000) AS x RETURN x"
        graph.query("TERMINATE TRANSACTION $id", {"id": listed[1]}).fetchall()
        part.fetchall()


def test_settings_are_those_of_the_statement() -> None:
    graph = Graph()
    rows = graph.query("SHOW SETTINGS YIELD name, value", timeout=7.5, threads=1, memory_limit=1 << 30).fetchall()
    assert dict(rows) | {"timeout": "7.5", "threads": "1", "memory_limit": str(1 << 30)} == dict(rows)
