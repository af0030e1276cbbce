"""Versions that are made of one base: plans and facts that hold for them, and a base that is made beside."""

from __future__ import annotations

import random
import threading
from typing import Any

import numpy as np
import pytest

from qengine import Graph, optimizer
from qengine.exec.common import property_texts
from qengine.plan.pattern import Direction
from qengine.statements import Statements
from qengine.storage import spliced_type, successor
from qengine.storage.states import Commit, NodeState
from qengine.storage.store import GraphStore
from qengine.storage.successor import Successors
from qengine.write import versions

COUNT, FEW = 300, 50
HOPS = "MATCH (a:P)-[:R]->(b:P)-[:S]->(c:Q) WHERE a.x < $most RETURN count(*), sum(c.x)"
CIRCLES = "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(a) RETURN count(*)"
BOTH_WAYS = "MATCH (a)-[:R]-(b) RETURN count(*)"


def society() -> Graph:
    """Return a graph whose relationships R go to greater numbers alone."""
    chance = random.Random(3)
    nodes = [
        {"id": n, "labels": ["P" if n < COUNT else "Q"], "properties": {"x": n, "name": str(n)}}
        for n in range(2 * COUNT)
    ]
    links: list[dict[str, Any]] = []
    for start in range(COUNT):
        ends = {chance.randrange(start + 1, COUNT + 1) % COUNT for _ in range(4)} if start < COUNT - 1 else set()
        links += [{"type": "R", "start": start, "end": end} for end in sorted(ends) if end > start]
        links.append(
            {"type": "S", "start": start, "end": chance.randrange(COUNT, 2 * COUNT), "properties": {"w": start}}
        )
    return Graph.from_records(nodes, links)


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were planned."""
    found: list[str] = []
    real = Statements._planned

    def noted(self: Statements, statement: Any, text: str, *rest: Any, **more: Any) -> Any:
        found.append(text)
        return real(self, statement, text, *rest, **more)

    monkeypatch.setattr(Statements, "_planned", noted)
    return found


def test_plans_are_kept_while_their_facts_hold(planned: list[str]) -> None:
    graph = society()
    before = graph.query(HOPS, {"most": 50}).fetchall()
    for number in range(5):
        graph.query("MATCH (q:Q {x: $x}) CREATE (:P {x: -1, name: 'new'})-[:S {w: 1}]->(q)", {"x": COUNT + number})
        assert graph.query(HOPS, {"most": 50}).fetchall() == before
    assert planned == [HOPS]
    graph.query("MATCH (a:P {x: 0}) SET a:New")
    after = graph.query(HOPS, {"most": 50}).fetchall()
    assert after == graph.query(HOPS, {"most": 50}, device="reference").fetchall() == before
    assert planned.count(HOPS) > 1, "labels are others"


def test_plans_are_made_anew_where_much_has_changed(planned: list[str]) -> None:
    graph = society()
    graph.query(HOPS, {"most": 50}).fetchall()
    graph.query("UNWIND range(1, 200) AS x CREATE (:P {x: -x, name: 'new'})")
    graph.query(HOPS, {"most": 50}).fetchall()
    assert planned == [HOPS], "nothing that it reads"
    graph.query("MATCH (n:P {name: 'new'}) CREATE (n)-[:R]->(:P)")
    graph.query(HOPS, {"most": 50}).fetchall()
    assert planned == [HOPS, HOPS]


@pytest.mark.parametrize("asked", [True, False])
def test_a_circle_and_a_way_back_end_what_was_known(asked: bool) -> None:
    graph = society()
    if asked:
        assert graph._store.acyclic("R")
        assert not graph._store.antiparallel("R")
        assert graph.query(CIRCLES).value() == 0
    ways = graph.query(BOTH_WAYS).value()
    graph.query("MATCH (a:P)-[:R]->(b:P)-[:R]->(c:P) WITH a, c LIMIT 1 CREATE (c)-[:R]->(a)")
    assert not graph._store.acyclic("R")
    circles = graph.query(CIRCLES).value()
    assert circles == graph.query(CIRCLES, device="reference").value() > 0
    graph.query("MATCH (a:P)-[:R]->(b:P) WITH a, b LIMIT 1 CREATE (b)-[:R]->(a)")
    assert graph._store.antiparallel("R")
    assert graph.query(BOTH_WAYS).value() == graph.query(BOTH_WAYS, device="reference").value() == ways + 4


def test_what_makes_no_circle_ends_nothing() -> None:
    graph = society()
    assert graph._store.acyclic("R")
    assert not graph._store.antiparallel("R")
    nature = graph._store.nature
    for number in range(3):
        graph.query("MATCH (p:P {x: $x}) CREATE (:P {x: 1, name: 'new'})-[:R]->(p)", {"x": number})
        graph.query("MATCH (p:P {x: $x}) CREATE (p)-[:R]->(:P {x: 1, name: 'new'})", {"x": number})
        assert graph._store.nature is nature
        assert graph._store.acyclic("R")
        assert not graph._store.antiparallel("R")


def test_plans_are_kept_after_a_type_a_label_and_a_property_came(planned: list[str]) -> None:
    graph = society()
    both = "MATCH (a:P)-[:Fresh]->(b)-[:R]->(c) RETURN count(*), max(a.fresh)"
    way = "MATCH (a:P {x: $x}), (b:P {x: $y}) SET a:New, a.fresh = 1 CREATE (a)-[:Fresh]->(b)"
    texts = (HOPS, both, CIRCLES.replace(":R", ":Fresh"), BOTH_WAYS.replace(":R", ":Fresh"))
    graph.query(way, {"x": 0, "y": 1})
    for place, (x, y) in enumerate(((1, 2), (2, 0), (1, 0), (5, 9), (9, 5))):  # a circle, and both ways
        graph.query(way, {"x": x, "y": y})
        for text in texts:
            found = graph.query(text, {"most": 50}).fetchall()
            assert found == graph.query(text, {"most": 50}, device="reference").fetchall(), (place, text)
    assert [planned.count(text) for text in texts] == [2] * 4, "once, and once for the reference"
    nature = graph._store.nature
    for _ in range(3):
        graph.query("MATCH (:P)-[r:Fresh]->() WITH r LIMIT 1 DELETE r")
        assert graph._store.nature is nature
        for text in texts:
            found = graph.query(text, {"most": 50}).fetchall()
            assert found == graph.query(text, {"most": 50}, device="reference").fetchall(), text
    assert [planned.count(text) for text in texts] == [2] * 4


@pytest.mark.parametrize("committed", [False, True])
def test_what_a_version_without_some_relationships_shows_is_not_told_of_others(committed: bool) -> None:
    """What is asked first where relationships are deleted holds for those versions, too, that have them."""
    texts = ("MATCH (a)-[:R]-(b)-[:R]-(c) RETURN count(*)", CIRCLES, BOTH_WAYS)
    nodes = [{"id": n, "labels": ["P"], "properties": {"x": n}} for n in range(60)]
    links = [{"type": "R", "start": n, "end": n - 1} for n in range(1, 60)] + [{"type": "R", "start": 0, "end": 1}]
    graph, other = Graph.from_records(nodes, links), Graph.from_records(nodes, links)
    expected = [other.query(text, device="reference").fetchall() for text in texts]
    before = Graph(graph._store)  # which has them still
    delete = "MATCH (:P {x: 0})-[r:R]->() DELETE r"
    asked: Any
    with graph.transaction() as asked:
        asked.query(delete)
        inside = [asked.query(text).fetchall() for text in texts]
        assert inside == [asked.query(text, device="reference").fetchall() for text in texts] != expected
        if not committed:
            asked.rollback()
    assert before._store.nature is graph._store.nature
    assert before._store.antiparallel("R") and not before._store.acyclic("R")
    assert [before.query(text).fetchall() for text in texts] == expected
    assert [graph.query(text).fetchall() for text in texts] == (inside if committed else expected)


def test_what_a_later_nature_knows_ends_with_a_circle() -> None:
    graph = society()
    graph.query("MATCH (a:P {x: 3}), (b:P {x: 4}) CREATE (a)-[:Fresh]->(b)")
    nature = graph._store.nature
    assert graph._store.acyclic("R") and not graph._store.antiparallel("R")
    graph.query("MATCH (a:P {x: 3}), (b:P {x: 290}) CREATE (a)-[:R]->(b)")
    assert graph._store.nature is nature
    graph.query("MATCH (a:P)-[:R]->(b:P)-[:R]->(c:P) WITH a, c LIMIT 1 CREATE (c)-[:R]->(a)")
    assert graph._store.nature is not nature
    assert not graph._store.acyclic("R")
    assert graph.query(CIRCLES).value() == graph.query(CIRCLES, device="reference").value() > 0
    nature = graph._store.nature
    graph.query("MATCH (a:P {x: 3}), (b:P {x: 291}) CREATE (a)-[:R]->(b)")
    assert graph._store.nature is nature
    graph.query("MATCH (a:P)-[:R]->(b:P) WITH a, b LIMIT 1 CREATE (b)-[:R]->(a)")
    assert graph._store.antiparallel("R")
    assert graph.query(BOTH_WAYS).value() == graph.query(BOTH_WAYS, device="reference").value()


def test_versions_between_reads_are_those_of_a_graph_made_anew() -> None:
    graph, chance = society(), random.Random(8)
    made = [
        "MATCH (a:P {x: $a}), (b:P {x: $b}) CREATE (a)-[:R]->(b)",
        "MATCH (a:P {x: $a}) CREATE (a)-[:S {w: $b}]->(:Q {x: $b, name: 'q'})",
        "MATCH (a:P {x: $a}) SET a.name = 'other', a.y = $b",
        "MATCH (a:P {x: $a})-[r:R]->() WITH r LIMIT 1 DELETE r",
        "MATCH (a:P {x: $a}) SET a:New",
        "CREATE (:P {x: $a, name: 'p'})",
        "MATCH (a:Q {x: $a + 300}) DETACH DELETE a",
    ]
    for _ in range(30):
        graph.query(chance.choice(made), {"a": chance.randrange(COUNT), "b": chance.randrange(COUNT)})
        if chance.random() < 0.5:
            assert (
                graph.query(HOPS, {"most": 200}).fetchall()
                == graph.query(HOPS, {"most": 200}, device="reference").fetchall()
            )
    store = graph._store
    store.check()
    counted = {(None, each.name, None): store.edge_statistics(None, each.name, None) for each in store.types}
    for (_, name, _), found in counted.items():
        index = store.type_index(name)
        assert index is not None
        out, into = (np.diff(store.adjacency(index, way).rows()[1:], axis=0) for way in (Direction.OUT, Direction.IN))
        assert (found.edges, found.max_out, found.max_in) == (int(out.sum()), int(out.max()), int(into.max()))


READS = (
    "MATCH (n:P) RETURN n.name, count(*) ORDER BY n.name",
    "MATCH (n) WHERE n.name = 'one' OR n.name > 'two' OR n.word = 'new' RETURN n.x, n.name ORDER BY n.x, n.name",
    "MATCH (a:P)-[:R]->(b:P) WHERE a.name < b.name RETURN count(*)",
    "MATCH (a)-[s:S]->(b) RETURN a.name, b.name, sum(s.w), min(b.word) ORDER BY a.name, b.name",
)


def test_versions_share_what_their_commits_say_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def noted(module: Any, name: str) -> None:
        real = getattr(module, name)

        def run(*arguments: Any, **more: Any) -> Any:
            found = real(*arguments, **more)
            made.append(getattr(found, "name", name))
            return found

        monkeypatch.setattr(module, name, run)

    monkeypatch.setattr(property_texts, "_LEAST", 1)
    chance, words, most = random.Random(5), ("one", "two", "three"), 2 * FEW
    nodes = [
        {"id": n, "labels": ["P" if n < FEW else "Q"], "properties": {"x": n, "name": words[n % 3]}}
        for n in range(most)
    ]
    links = [
        {"type": kind, "start": chance.randrange(FEW), "end": chance.randrange(most), "properties": {"w": n}}
        for kind in "RST"
        for n in range(most)
    ]
    graph = Graph.from_records(nodes, links)
    graph.query("MATCH (n {x: 3}) SET n.word = 'old', n.name = 'thrice'")
    for text in READS:
        graph.query(text).fetchall()
    for module, name in ((successor, "_next_type"), (successor, "_node_columns"), (property_texts, "_coded")):
        noted(module, name)
    pair = "MATCH (a {x: 7}), (b {x: 77}) "
    for text, expected in (
        (f"{pair}CREATE (a)-[:S {{w: 5}}]->(b)", ["S"]),  # columns of nodes and all other types are there
        (f"{pair}CREATE (b)-[:R {{w: 6}}]->(a)", ["R"]),
        ("MATCH (a {x: 8}) SET a.name = 'aardvark'", ["_node_columns"]),
        ("MATCH (a {x: 9}) CREATE (:P {x: -9, name: 'zebra'})-[:R]->(a)", ["_node_columns", "R"]),
        # the node before moves, and with it an end of R
        ("MATCH (a {x: 1}) CREATE (:Q {x: -8, name: 'one'}), (a)-[:S]->(:P {x: -7})", ["_node_columns", "R", "S"]),
        ("MATCH (a {x: 2}) SET a.word = 'new'", ["_node_columns"]),
        ("MATCH (:P {x: 7})-[s:S {w: 5}]->() DELETE s", ["S"]),
        ("MATCH (a {x: -9}) DETACH DELETE a", ["_node_columns", "R", "S"]),
        ("MATCH (a {x: 10}) SET a:Q, a.name = NULL", ["_node_columns", "R", "S", "T"]),
    ):
        graph.query(text)
        made.clear()
        assert graph._store is not None  # else some would be read of the version before
        found = [graph.query(each).fetchall() for each in READS]
        assert [name for name in made if name in expected] == expected
        assert len([name for name in made if name != "_coded"]) == len(expected)
        assert "_coded" not in made or any(part in text for part in ("DELETE a", "SET a:Q", "SET a.word")), text
        assert found == [graph.query(each, device="reference").fetchall() for each in READS], text


def test_a_base_is_made_while_others_write_and_read(monkeypatch: pytest.MonkeyPatch) -> None:
    entered, go_on = threading.Event(), threading.Event()
    real = Successors.version

    def held(*args: Any) -> Any:
        if threading.current_thread().name == versions.FOLDING:
            entered.set()
            assert go_on.wait(30)
        return real(*args)

    monkeypatch.setattr(Successors, "version", held)
    monkeypatch.setattr(versions, "_LEAST_TOUCHED", 40)
    monkeypatch.setattr(versions, "_TOUCHED_SHARE", 0.0)
    graph, seen = society(), "MATCH (p:P {x: $x}) RETURN p.y"
    chain = graph._view.versions._chain
    for number in range(42):
        graph.query("MATCH (p:P {x: $x}) SET p.y = $x", {"x": number})
    assert entered.wait(30), "a thread makes a base"
    for number in range(42, 50):  # neither these nor what reads them waits for it
        graph.query("MATCH (p:P {x: $x}) SET p.y = $x", {"x": number})
        assert graph.query(seen, {"x": number}).value() == number
    assert not go_on.is_set()
    assert graph._view.versions._chain is chain
    go_on.set()
    folding = graph._view.versions._folding
    assert folding is not None
    folding.join(30)
    graph.query("MATCH (p:P {x: 50}) SET p.y = 50")
    assert graph._view.versions._chain is not chain, "the next writer goes on above it"
    assert graph.query("MATCH (p:P) WHERE p.y = p.x RETURN count(*)").value() == 51


def test_later_versions_are_planned_by_the_numbers_of_their_base(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    real = optimizer.plan

    def noted(logical: Any, catalog: Any) -> Any:
        seen.append(catalog)
        return real(logical, catalog)

    monkeypatch.setattr(optimizer, "plan", noted)
    graph = society()
    graph.query(HOPS, {"most": 50}).fetchall()
    graph.query("MATCH (a:P {x: 1}) SET a.x = -1")
    other = HOPS.replace("count(*)", "count(*), min(a.x)")
    rows = graph.query(other, {"most": 50}).fetchall()
    assert rows == graph.query(other, {"most": 50}, device="reference").fetchall() and rows[0][1] == -1
    assert seen[1] is seen[0], "which has them"
    graph.query("UNWIND range(1, 25) AS x CREATE (:P {x: -x, name: 'new'})")
    graph.query(other.replace("min", "max"), {"most": 50}).fetchall()
    assert seen[2] is not seen[0], "more than a hundredth differs"


def test_what_only_moves_or_goes_raises_no_doubts(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = society()
    assert graph.query(CIRCLES).value() == 0 and graph.query(BOTH_WAYS).value() > 0
    asked: list[int] = []
    real = GraphStore.endpoints

    def noted(self: GraphStore, ids: Any) -> Any:
        asked.append(len(ids))
        return real(self, ids)

    def refuse(*_: object) -> Any:
        raise AssertionError("no relationship is new")

    monkeypatch.setattr(spliced_type, "_doubts", refuse)
    monkeypatch.setattr(spliced_type, "_FEW", 1)  # so that all is spliced
    base = graph._view.versions.latest.store
    assert base.acyclic("R") and not base.antiparallel("R")
    moved = range(0, 200, 12)
    states = {number: NodeState(("Q",), {"x": number, "name": str(number)}) for number in moved}
    later = successor.successor(base, Commit(dict(states), {}, base.next_node, base.next_relationship))
    assert later.nature is base.nature and later.relationship_count == base.relationship_count
    monkeypatch.setattr(GraphStore, "endpoints", noted)
    gone = dict.fromkeys(range(0, 40, 7))
    fewer = successor.successor(base, Commit({}, gone, base.next_node, base.next_relationship))
    assert fewer.relationship_count == base.relationship_count - len(gone) and sum(asked) == 0
