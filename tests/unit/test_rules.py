"""Indexes and constraints of a graph: where they live, what they cost, and what else knows of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import qengine
from qengine.exec.common.access import hash_index
from qengine.exec.context import ExecutionContext
from qengine.storage import manifest as manifests
from qengine.write import rules
from qengine.write.encoding import decode
from qengine.write.live import LiveGraph

NAMES = "SHOW CONSTRAINTS YIELD name"


def people(count: int) -> qengine.Graph:
    graph = qengine.Graph()
    graph.query("UNWIND range(0, $count - 1) AS i CREATE (:Person {id: i, name: 'p' + i})", {"count": count})
    graph.query("CREATE CONSTRAINT id FOR (p:Person) REQUIRE p.id IS UNIQUE")
    return graph


def names(asked: Any) -> list[str]:
    return [row[0] for row in asked.query(NAMES).fetchall()]


def refused(asked: Any, text: str, code: str = "ConstraintValidationFailed") -> str:
    with pytest.raises(qengine.ExecutionError) as caught:
        asked.query(text)
    assert caught.value.code == code
    return str(caught.value)


def test_a_transaction_takes_back_one_statement_or_all_with_its_rules() -> None:
    graph = people(3)
    with graph.transaction() as t:
        t.query("CREATE CONSTRAINT named FOR (p:Person) REQUIRE p.name IS NOT NULL")
        refused(t, "CREATE (:Person {id: 7})")
        refused(t, "CREATE (:Person {id: 1, name: 'again'})")
        t.query("CREATE (:Person {id: 8, name: 'p8'})")
        assert names(t) == ["id", "named"]
        assert names(graph) == ["id"]
        t.rollback()
    assert names(graph) == ["id"]
    assert graph.node_count == 3
    graph.query("CREATE (:Person {id: 7})")


def test_a_constraint_that_the_graph_breaks_is_not_made() -> None:
    graph = people(3)
    graph.query("MATCH (p:Person {id: 1}) REMOVE p.name")
    text = refused(
        graph, "CREATE CONSTRAINT named FOR (p:Person) REQUIRE p.name IS NOT NULL", "ConstraintCreationFailed"
    )
    assert "has no property name" in text
    with graph.transaction() as t:
        refused(t, "CREATE CONSTRAINT named FOR (p:Person) REQUIRE p.name IS NOT NULL", "ConstraintCreationFailed")
        t.query("MATCH (p:Person {id: 1}) SET p.name = 'x'")
        t.query("CREATE CONSTRAINT named FOR (p:Person) REQUIRE p.name IS NOT NULL")
    assert names(graph) == ["id", "named"]


def test_commits_that_nobody_reads_between_keep_their_rules() -> None:
    graph = people(3)
    graph.query("CREATE INDEX one FOR (n:A) ON (n.x)")
    graph.query("CREATE INDEX two FOR (n:A) ON (n.y)")
    graph.query("CREATE (:A)")
    graph.query("DROP INDEX one")
    graph.query("CREATE (:A)")
    assert [row[0] for row in graph.query("SHOW INDEXES YIELD name").fetchall()] == ["id", "two"]


def test_batches_are_checked_one_by_one() -> None:
    graph = people(5)
    text = (
        "UNWIND [10, 11, 12, 3, 13, 14] AS i CALL (i) { CREATE (:Person {id: i}) } "
        "IN TRANSACTIONS OF 2 ROWS ON ERROR CONTINUE REPORT STATUS AS s RETURN i, s.committed"
    )
    found = {row[0]: row[1] for row in graph.query(text).fetchall()}
    assert found == {10: True, 11: True, 12: False, 3: False, 13: True, 14: True}
    assert graph.node_count == 9


def test_a_check_looks_at_what_was_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = people(500)
    looked: list[int] = []
    check = rules._check

    def counted(live: LiveGraph, number: int, *others: Any) -> None:
        looked.append(number)
        check(live, number, *others)

    def walked(*args: Any) -> Iterable[int]:
        raise AssertionError("all nodes of a label are walked")

    monkeypatch.setattr(rules, "_check", counted)
    monkeypatch.setattr(LiveGraph, "_by_labels", walked)
    graph.query("MATCH (p:Person {id: 7}) SET p.seen = true")
    assert len(looked) == 1
    graph.query("CREATE (:Person {id: 1000})")
    refused(graph, "CREATE (:Person {id: 1000.0})")
    assert len(looked) == 3


def test_merge_finds_by_the_value_of_a_property(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = people(500)

    def walked(*args: Any) -> Iterable[int]:
        raise AssertionError("all nodes of a label are walked")

    monkeypatch.setattr(LiveGraph, "_by_labels", walked)
    graph.query("UNWIND [7, 1000, 1000] AS i MERGE (p:Person {id: i}) ON MATCH SET p.found = true")
    monkeypatch.undo()
    assert [row[0] for row in graph.query("MATCH (p:Person) WHERE p.found RETURN p.id ORDER BY p.id").fetchall()] == [
        7,
        1000,
    ]


@pytest.mark.parametrize(
    ("command", "made"),
    [
        ("CREATE INDEX FOR (p:Person) ON (p.name)", True),
        ("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.name IS UNIQUE", True),
        ("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.name IS NOT NULL", False),
        ("CREATE INDEX FOR ()-[r:T]-() ON (r.name)", False),
    ],
)
def test_a_declared_index_is_made_when_it_is_first_asked_for(command: str, made: bool) -> None:
    graph = people(50)
    assert hash_index(graph._store, "name", ExecutionContext(None)) is None
    graph.query(command)
    assert (hash_index(graph._store, "name", ExecutionContext(None)) is not None) == made


@pytest.mark.parametrize("numbered", [False, True])
def test_saved_graphs_keep_their_rules(tmp_path: Path, numbered: bool) -> None:
    graph = people(3)
    if numbered:
        graph.query("MATCH (p:Person {id: 0}) DELETE p")
    graph.query('CREATE CONSTRAINT `a "b"` FOR ()-[r:T]-() REQUIRE (r.x, r.`y z`) IS RELATIONSHIP KEY')
    graph.query("CREATE CONSTRAINT typed FOR (p:Person) REQUIRE p.name IS :: INTEGER | STRING")
    graph.query("CREATE LOOKUP INDEX types FOR ()-[r]-() ON EACH type(r)")
    graph.save(tmp_path / "graph")
    opened = qengine.open(tmp_path / "graph", verify="full")
    assert opened._store.rules == graph._store.rules
    assert len(opened._store.rules.all) == 4
    assert repr(opened.schema) == repr(graph.schema)
    assert "CREATE CONSTRAINT typed FOR (n:Person) REQUIRE n.name IS :: STRING | INTEGER" in repr(graph.schema)
    refused(opened, "CREATE (:Person {id: 2})")
    opened.query("DROP CONSTRAINT id")
    opened.query("CREATE (:Person {id: 2})")


@pytest.mark.parametrize(
    "row", [["a", "SOME", "NODE", "A", "", "x"], ["a", "RANGE", "EDGE", "A", "", "x"], ["a", "RANGE"]]
)
def test_a_saved_rule_that_is_none_is_refused(tmp_path: Path, row: list[str]) -> None:
    graph = people(3)
    graph.save(tmp_path / "graph")
    path = tmp_path / "graph" / "manifest.json"
    manifest = {name: value for name, value in json.loads(path.read_text()).items() if name != "checksum"}
    path.write_bytes(manifests.encode({**manifest, "rules": [row]}))
    with pytest.raises(qengine.StorageError):
        qengine.open(tmp_path / "graph")


def test_relationships_without_direction_are_no_duplicates_of_themselves() -> None:
    records = [{"type": "T", "start": 0, "end": 1, "properties": {"x": 1}}]
    graph = qengine.Graph.from_records([{}, {}], records, undirected=["T"])
    graph.query("CREATE CONSTRAINT FOR ()-[r:T]-() REQUIRE r.x IS UNIQUE")
    refused(graph, "MATCH (a)-[:T]-(b) WITH a, b LIMIT 1 CREATE (a)-[:T {x: 1}]->(b)")


def test_changed_rules_are_counted() -> None:
    graph = qengine.Graph()
    assert graph.query("CREATE INDEX a FOR (n:A) ON (n.x)").stats.changes.indexes_added == 1
    assert str(graph.query("DROP INDEX a").stats.changes) == "1 index removed"
    assert str(graph.query("CREATE CONSTRAINT c FOR (n:A) REQUIRE n.x IS UNIQUE").stats.changes) == "1 constraint added"


def test_a_name_that_is_not_given_is_made_of_what_the_rule_says() -> None:
    found = []
    for graph in (qengine.Graph(), people(2)):
        graph.query("CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS UNIQUE")
        found.append(names(graph)[-1])
    assert found[0] == found[1]
    assert found[0].startswith("constraint_")


def test_an_opened_graph_keeps_rules_in_its_log(tmp_path: Path) -> None:
    graph = people(3)
    graph.save(tmp_path / "graph")
    with qengine.open(tmp_path / "graph") as opened:
        opened.query("CREATE CONSTRAINT named FOR (p:Person) REQUIRE p.name IS :: STRING")
        opened.query("CREATE INDEX i FOR (p:Person) ON (p.name)")
        opened.query("CREATE (:Person {id: 9, name: 'p9'})")
        opened.query("DROP INDEX i")
    with qengine.open(tmp_path / "graph") as again:
        assert names(again) == ["id", "named"]
        assert again.query("SHOW INDEXES YIELD name WHERE name = 'i'").fetchall() == []
        refused(again, "CREATE (:Person {id: 9})")
        refused(again, "CREATE (:Person {id: 10, name: 1})")


@pytest.mark.parametrize("rules", [[["a", "SOME", "NODE", "A", "", "x"]], [["a"]], [[1]], {}, None])
def test_a_logged_rule_that_is_none_is_refused(rules: Any) -> None:
    with pytest.raises(qengine.StorageError):
        decode(json.dumps([1, 0, 0, [], [], rules]).encode())
