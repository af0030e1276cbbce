"""Queries by value give what the reference executor gives: by a scan at first, by an index then, and once saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import qengine
from qengine import Graph
from qengine.exec.common import access as runtime_access
from qengine.exec.common.masks import Masks
from qengine.exec.common.value_index import SortedIndex
from qengine.optimizer import access, open_ranges
from qengine.optimizer.lower import bound_edges
from qengine.temporal import Date, LocalDateTime, LocalTime

NAN = float("nan")
VALUES = [
    0,
    -0.0,
    1.0,
    2**53,
    float(2**53),
    2**53 + 1,
    True,
    "1",
    "",
    "é",
    "e\u0301x",
    "\U0001f600",
    NAN,
    0.5,
    [1],
    None,
]
PARAMETERS = [*VALUES, 7, 7.0, -1, "n1", "n12", False, [], [1, None, 2.0, "n7", NAN], [None], [[1]], 1e300, -(2**63)]

LABELS = ["A", "B", ["A", "B"], ["A", "C"], []]


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Return a graph of the records."""
    return Graph.from_records(*RECORDS)


@pytest.fixture(scope="module")
def changed() -> Graph:
    """Return a graph of whose nodes identities aren't places."""
    changed = Graph.from_records(*RECORDS)
    changed.query("MATCH (n) WHERE n.id % 7 = 3 DETACH DELETE n")
    changed.query("MATCH (n) WHERE n.id % 5 = 1 SET n:D CREATE (n)-[:T]->(:A {id: 100 + n.id})")
    return changed


def _records() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return 60 nodes of several labels, some without the property, whose values are of many types."""
    nodes = []
    for k in range(60):
        x: Any = VALUES[k // 2] if k < 2 * len(VALUES) else k if k % 3 else f"n{k}"
        properties = {"id": k, "name": f"n{k}", "boss": (k * 7) % 61, "d": k / 2}
        if x is not None:
            properties["x"] = x
        nodes.append({"id": k, "labels": LABELS[k % 5], "properties": properties})
    edges: list[dict[str, Any]] = []
    for k, node in enumerate(nodes):
        x = {"x": node["properties"]["x"], "y": k} if "x" in node["properties"] else {"y": k}
        edges.append({"type": "T", "start": k, "end": (k * k + 1) % 60, "properties": {"w": k % 4, **x}})
        edges.append({"type": "U", "start": k % 9, "end": k % 5, "properties": {"y": k // 2, "x": k}})
    edges += [{"type": "S", "start": k, "end": k // 2} for k in range(60)] + edges[:5]
    return nodes, edges


RECORDS = _records()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let indexes be used however few nodes there are, and however many they find."""
    monkeypatch.setattr(access, "LEAST_ROWS", 0)
    monkeypatch.setattr(access, "FEW", 0)
    monkeypatch.setattr(open_ranges, "LEAST", 1)
    monkeypatch.setattr(bound_edges, "LEAST_ROWS", 0)
    monkeypatch.setattr(bound_edges, "_SEARCH", inf)
    monkeypatch.setattr("qengine.exec.common.access.FEW", 1)
    monkeypatch.setattr("qengine.exec.common.operators.look_up.FEW", 1)
    monkeypatch.setattr("qengine.exec.common.access.SCANS", {"hash": 1, "sorted": 1})


def rows(graph: Graph, query: str, device: str, **params: Any) -> Counter[str]:
    try:
        return Counter(map(repr, graph.query(query, params, device=device).fetchall()))
    except qengine.QengineError as error:
        return Counter([f"{type(error).__name__}: {error.code}"])


def agree(graph: Graph, query: str, **params: Any) -> None:
    expected = rows(graph, query, "reference", **params)
    for _ in range(2):
        assert rows(graph, query, "cpu", **params) == expected, (query, params)


@pytest.mark.parametrize("condition", [
    "n.x = $v", "$v = n.x", "n.x IN $v", "n.x IN [$v, 1]", "n.x < $v", "n.x <= $v", "n.x > $v", "n.x >= $v",
    "1 <= n.x <= $v", "n.x STARTS WITH $v", "n.name STARTS WITH $v", "n.name STARTS WITH $v AND n.name < 'n5'",
    "n.x = $v OR n.x = 7", "n.x = $v OR n.id = 3", "n.x = $v OR n.id > 50", "n.x = $v AND n.id < 20", "n.x <> $v",
    "NOT n.x = $v", "n.x = $v AND 10 / n.id > 0", "n.x IN $v AND 10 / n.id > 0",
    "n.x > $v AND n.x > 3 AND n.id IN [1, 3, 50, 55]",
])  # fmt: skip
def test_conditions(graph: Graph, condition: str) -> None:
    for value in PARAMETERS:
        agree(graph, f"MATCH (n) WHERE {condition} RETURN n.id", v=value)
    for labels, value in ((":A", 1.0), (":A&!B", 7), (":A|C", "n12"), (":Nope", 1)):
        agree(graph, f"MATCH (n{labels}) WHERE {condition} RETURN n.id", v=value)


@pytest.mark.parametrize("condition", [
    "r.x = $v", "$v = r.x", "r.x IN $v", "r.x < $v", "1 <= r.x <= $v", "r.x STARTS WITH $v", "r.x = $v OR r.y = 7",
    "r.x = $v OR r.w > 2", "r.x = $v AND r.y < 20", "NOT r.x = $v", "r.x = $v AND 10 / r.y > 0",
    "r.y > 55 AND r.x > $v",
])  # fmt: skip
def test_conditions_on_relationships(graph: Graph, changed: Graph, condition: str) -> None:
    for value in PARAMETERS:
        agree(graph, f"MATCH ()-[r:T]->(n) WHERE {condition} RETURN n.id, r.y", v=value)
    for each in (graph, changed):
        for value in (1.0, 7, "n12", [7, "n7", None]):
            agree(each, f"MATCH (n)-[r]-(m:A) WHERE {condition} RETURN n.id, m.id, r.y", v=value)
            agree(each, f"MATCH (n)-[r:T|U]->(m)-[s:T]->(o) WHERE {condition} RETURN n.id, count(*), count(s)", v=value)
    plan = str(graph.explain(f"MATCH ()-[r:T]->(n) WHERE {condition} RETURN n.id"))
    assert ("RelationshipScan" in plan) == (not any(each in condition for each in ("NOT", "/", "OR r.w")))


@pytest.mark.parametrize("query", [
    "MATCH (n)-[r:T {y: 7}]->(m) RETURN n, r, m",
    "MATCH (n)-[r:U {y: 7}]-(m) RETURN n.id, m.id",
    "MATCH (n)-[r:U {y: 7}]-(m)-[s:U {y: 8}]-(o) RETURN n.id, m.id, o.id",
    "MATCH (n)-[r:U {y: 7}]-(n) RETURN n.id",
    "MATCH (n)-[r:U {y: 7}]->(m), (m)-[:T*1..2]->(o) RETURN n.id, o.id",
    "MATCH REPEATABLE ELEMENTS (n)-[r:U {y: 7}]-(m)-[s:U]-(o) RETURN count(*)",
    "MATCH DIFFERENT NODES (n)-[r:U {y: 7}]-(m) RETURN count(*)",
    "MATCH p = (n)-[r:U {y: 7}]->(m) RETURN length(p), [x IN nodes(p) | x.id]",
    "UNWIND [1, 2] AS i MATCH (n)-[r:T {y: 7}]->(m) RETURN i, n.id, m.id",
    "UNWIND [1, 7] AS i MATCH (n)-[r:T {y: i}]->(m) RETURN i, n.id, m.id",
    "UNWIND [1, 7.0, null, '7', [7], 900, 7] AS i MATCH (n)-[r:U|T {y: i}]-(m) RETURN i, n.id, m.id, type(r)",
    "UNWIND range(0, 60) AS i MATCH (n)-[r:T {y: i}]->(m)<-[s]-(o) WHERE n.id < o.id RETURN i, n.id, count(*)",
    "UNWIND range(0, 60) AS i OPTIONAL MATCH (n:A)-[r:T|U]->(m) WHERE r.y = i + 1 RETURN i, n.id, m.id",
    "UNWIND range(0, 60) AS i MATCH (n)-[r:U {y: i}]->(n) RETURN i, n.id",
    "UNWIND range(0, 60) AS i MATCH p = (n)-[r:T {y: i}]->(m), (o {id: i}) RETURN i, length(p), o.id, m.id",
    "UNWIND [{k: 1}, {k: 7}] AS i MATCH (n)-[r:T|U]->(m) WHERE r.y = i.k RETURN n.id, m.id",
    "UNWIND [[1], [2, 7]] AS l MATCH (n)-[r:T]->(m) WHERE r.y = l[0] AND 10 / r.y > 2 RETURN n.id, m.id",
    "OPTIONAL MATCH (n)-[r:T {y: 700}]->(m) RETURN n.id, m.id",
    "MATCH (n {id: 3}) OPTIONAL MATCH (n)-[r:T {y: 3}]->(m) RETURN n.id, m.id",
    "MATCH (n:A) WHERE EXISTS { (m)-[r:T {y: 7}]->() WHERE m.id = n.id } RETURN n.id",
    "MATCH (n:A) RETURN n.id, COUNT { ()-[r:T {y: 7}]->() } AS c",
    "MATCH (n)-[r:T {y: 7}]->(m) MATCH (m)-[s]->(o) RETURN n.id, o.id",
    "MATCH (n)-[r:T {y: 7}]->(m) RETURN count(*)",
    "MATCH (n:A)-[r:T]->(m:B) WHERE r.y IN [1, 3, 5, 8, 13] AND n.id < m.id RETURN r.w, count(*)",
])  # fmt: skip
def test_queries_by_relationships(graph: Graph, changed: Graph, query: str) -> None:
    for each in (graph, changed):
        agree(each, query)


def test_relationships_are_looked_up_by_values_of_rows(graph: Graph) -> None:
    for query, looked_up in (
        ("UNWIND $l AS i MATCH (n)-[r:T {y: i}]->(m) RETURN n.id", True),
        ("UNWIND $l AS i MATCH (n)-[r:T]->(m) WHERE r.y = i.k RETURN n.id", True),
        ("UNWIND $l AS i MATCH (n)-[r:T]->(m) WHERE r.y = i.k AND 10 / r.y > 1 RETURN n.id", False),
        ("UNWIND $l AS i MATCH (n {id: 3}) MATCH (n)-[r:T {y: i}]->(m) RETURN n.id", False),
    ):
        assert ("LookUp r:T by hash index on y" in str(graph.explain(query))) == looked_up, query


def test_relationships_are_found_behind_commits_and_in_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(runtime_access.HashIndex, "__init__", _noted(runtime_access.HashIndex.__init__, made))
    ends = [{"type": "T", "start": k % 97, "end": k % 89, "properties": {"y": k}} for k in range(40_000)]
    graph = Graph.from_records([{"id": k} for k in range(97)], ends)
    graph.query("CREATE INDEX FOR ()-[r:T]-() ON (r.y)")
    query = "MATCH (a)-[r:T {y: $y}]->(b) RETURN r.y, id(a), id(b)"
    assert "hash index on y" in str(graph.explain(query))
    for y in range(5):
        assert graph.query(query, {"y": y}, memory_limit="400KB").fetchall() == [(y, y, y)]
        graph.query("MATCH (a)-[r:T {y: $y}]->(b) DELETE r CREATE (a)-[:T {y: $y + 1}]->(b)", {"y": 10 * y + 5})
        made.clear()
        assert [len(graph.query(query, {"y": 10 * y + k}).fetchall()) for k in (5, 6)] == [0, 2]
        assert made == ["HashIndex"]
        assert [len(graph.query(query, {"y": 10 * y + k}).fetchall()) for k in (5, 6)] == [0, 2]


@pytest.mark.parametrize("condition", [
    "id(n) = $v", "$v = elementId(n)", "id(n) IN $v", "elementId(n) IN $v", "id(n) IN [$v, 1]",
    "elementId(n) IN ['3', $v]",
    "id(n) = $v OR elementId(n) = '7'", "id(n) = $v OR n.id = 3", "id(n) = $v AND n.id < 20", "NOT id(n) = $v",
    "id(n) = $v AND elementId(n) = '7'", "id(n) = $v AND 10 / n.id > 0", "id(n) IN $v AND 10 / n.id > 0",
    "id(n) <> $v", "id(n) IN [3, 5, null] AND n:A",
])  # fmt: skip
def test_identities(graph: Graph, changed: Graph, condition: str) -> None:
    values = [
        *PARAMETERS[3::4],
        59,
        60,
        2.5,
        "7",
        "07",
        "7.0",
        " 7",
        "-1",
        "7" * 30,
        ["7", 8, None, 9.0],
        [["7"]],
        "\u0667",
    ]
    for each in (graph, changed):
        for value in values:
            agree(each, f"MATCH (n) WHERE {condition} RETURN n.id", v=value)
        agree(each, f"MATCH (n:A)-->(m) WHERE {condition} RETURN n.id, count(*)", v=7)
        agree(each, f"MATCH (n)-[:T*1..2]->(m) WHERE {condition} RETURN n.id, m.id", v=[7, 8, "9"])
    plan = str(graph.explain(f"MATCH (n) WHERE {condition} RETURN n.id"))
    assert ("by identity" in plan) == (not any(each in condition for each in ("NOT", "<>", "n.id = 3")))


@pytest.mark.parametrize("query", [
    "MATCH (n:A {id: 10})-[:T]->(m) RETURN m.id",
    "MATCH (n {id: $v})-[r:T]->(m)-[:S]-(o) WHERE m.id > 3 RETURN m.id, o.id, r.w",
    "MATCH (n {id: $v})--(m {id: 5}) RETURN count(*)",
    "MATCH (n {id: 10})-[:T]->(m) RETURN count(*)",
    "MATCH (n {id: 10})-[:T {w: 2}]->(m) RETURN m.id",
    "MATCH (n) WHERE n.id = 10 OR n.name = 'n11' RETURN n.id",
    "MATCH (n:A), (m:B) WHERE n.id = m.boss RETURN n.id, m.id",
    "MATCH (n:A), (m:B) WHERE n.name = m.x RETURN n.id, m.id",
    "MATCH (n:A)-[:T]->(k), (m:B)-[:S]->(l) WHERE n.id = m.boss AND k.id = l.id RETURN n.id, m.id, k.id",
    "MATCH DIFFERENT NODES (n), (m) WHERE n.id = m.id RETURN n.id",
    "MATCH DIFFERENT NODES (n), (m) WHERE n.id = m.boss RETURN n.id, m.id",
    "MATCH (n {id: 3}) MATCH (m {id: n.boss}) RETURN m.id",
    "MATCH (n {id: 3})-[:T]->(k) MATCH (k)--(m {id: n.boss}) RETURN m.id",
    "UNWIND $list AS i MATCH (n {x: i}) RETURN i, n.id",
    "UNWIND $list AS i MATCH (n:A {id: i})-[:T]->(m) RETURN i, m.id",
    "UNWIND $list AS i MATCH (n:A {id: i})-[:T]->(m) RETURN i, count(*)",
    "UNWIND $list AS i OPTIONAL MATCH (n:A {id: i})-[:T]->(m) WHERE m.id > 2 RETURN i, m.id",
    "UNWIND $maps AS row MATCH (n {id: row.id}) RETURN n.name, row.id",
    "UNWIND $list AS row MATCH (n {id: row.id}) RETURN n.name",
    "UNWIND $list AS row MATCH (n {id: row.id, name: 'nobody'}) RETURN n.name",
    "UNWIND $list AS i MATCH (n) WHERE n.x = i + 1 RETURN n.name",
    "UNWIND [1, 2] AS i MATCH (n) WHERE n.id = i + 1 AND n.d > 0.5 RETURN n.name",
    "MATCH (n:A) WHERE EXISTS { MATCH (m:B {id: n.boss}) } RETURN n.id",
    "MATCH (n:A) WHERE EXISTS { (n)-[:T]->({id: 2}) } RETURN n.id",
    "MATCH (n:A) RETURN n.id, COUNT { MATCH (m {id: n.boss})-->(k) } AS c",
    "MATCH (n:A) RETURN n.id, [(n)-[:T]->(m {x: 1}) | m.id] AS c",
    "MATCH (n {id: 3})-[:T*1..3]->(m {id: 10}) RETURN m.name",
    "MATCH p = shortestPath((a {id: 3})-[:T*]->(b {id: 10})) RETURN length(p)",
    "UNWIND $list AS i MATCH (a {id: i})-[:T*1..2]->(b) RETURN i, b.id",
    "UNWIND $list AS i MATCH (a:A {id: i}), (b {id: i + 0}) RETURN i, a.id, b.id",
    "MATCH (n)-[r]->(m) WHERE r.w = 2 AND n.id IN $list RETURN m.id",
    "MATCH (n) WHERE n.id IN $list AND n.name STARTS WITH 'n' RETURN n.id",
    "MATCH (n) WHERE n.id = rand() RETURN n.id",
    "MATCH (n {id: $v}) RETURN n",
    "UNWIND $list AS i MATCH (n) WHERE id(n) = i RETURN i, n.id",
    "UNWIND $list AS i MATCH (n:A) WHERE elementId(n) = toStringOrNull(i) RETURN i, n.id",
    "UNWIND $list AS i MATCH (n)-[:T]->(m:A) WHERE id(n) = i AND n.d > 2 RETURN i, n.id, m.id",
    "UNWIND $list AS i OPTIONAL MATCH (n)-[:T]->(m) WHERE i = id(m) RETURN i, n.id",
    "UNWIND $list AS i MATCH (n) WHERE id(n) = i + 1 RETURN i, n.id",
    "UNWIND $list AS i MATCH (a), (b) WHERE id(a) = i AND id(b) = a.boss RETURN i, b.id",
    "MATCH (n:A) WHERE EXISTS { (m)-->() WHERE id(m) = n.boss } RETURN n.id",
    "MATCH (n:A) RETURN n.id, COUNT { MATCH (m)-->(k) WHERE id(m) = n.boss } AS c",
    "MATCH (n {id: $v})-[r]->(m) RETURN n, r, m",
])  # fmt: skip
def test_queries(graph: Graph, query: str) -> None:
    lists = [[], [1, 2.0, None, "n3", 2, True, 10, 10], list(range(60))]
    for items in lists:
        maps = [{"id": item} for item in items]
        agree(graph, query, v=10, list=items, maps=maps)


@pytest.mark.parametrize("ends", ["id(a) = 3 AND id(b) = $v", "a.id = 3 AND b.id = $v", "id(a) = $v AND b.id = 3"])
@pytest.mark.parametrize("query", [
    "MATCH p = shortestPath((a)-[:T*]->(b)) WHERE {} RETURN length(p)",
    "MATCH p = SHORTEST 1 (a)-[:T]-+(b) WHERE {} RETURN p",
    "MATCH p = allShortestPaths((a)-[:T|S*..9]-(b)) WHERE {} RETURN count(p)",
    "MATCH (a), (b) WHERE {} MATCH p = SHORTEST 2 (a)-[:T]->+(b) RETURN length(p)",
    "MATCH (a)-[:T*1..3]->(b) WHERE {} RETURN DISTINCT b.id",
])  # fmt: skip
def test_both_ends_of_a_path_are_looked_up(
    graph: Graph, query: str, ends: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = query.format(ends)
    agree(graph, text, v=10)  # the first look by a property is a scan
    monkeypatch.setattr(Masks, "vertex_mask", None)
    agree(graph, text, v=10)


def test_saved_graphs_answer_the_same(graph: Graph, tmp_path: Path) -> None:
    graph.save(tmp_path / "graph")
    saved = qengine.open(tmp_path / "graph")
    for value in (1, 2**53 + 1, "é", [1, 7, "n33"]):
        for query in ("MATCH (n) WHERE n.x = $v RETURN n.id", "MATCH (n) WHERE n.x >= $v RETURN n.id"):
            for _ in range(3):
                assert rows(saved, query, "cpu", v=value) == rows(graph, query, "cpu", v=value)


def test_times_and_durations_are_found_as_a_scan_finds_them() -> None:
    made = [
        Date.from_days(1),
        Date.from_days(3),
        LocalTime.from_nanoseconds(1500),
        LocalDateTime.from_nanoseconds(10**15),
        [Date.from_days(1)],
        1,
        "1970-01-02",
    ]
    for values in ([made[0], made[1], None], [made[2], None], [made[3]], made):
        graph = Graph.from_records([
            {"id": k, "labels": ["A"], "properties": {"id": k} | ({} if x is None else {"x": x})}
            for k, x in enumerate([*values, *values])
        ])  # fmt: skip
        for value in [*made, None]:
            for condition in ("n.x = $v", "n.x >= $v", "n.x < $v", "n.x IN [$v, 1]"):
                agree(graph, f"MATCH (n) WHERE {condition} RETURN n.id", v=value)
        agree(graph, "MATCH (n) WHERE n.x = date('1970-01-02') + duration('P0D') RETURN n.id")


def test_an_index_is_made_after_some_scans_and_where_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(runtime_access, "SCANS", {"hash": 3, "sorted": 5})
    for kind in (runtime_access.HashIndex, runtime_access.SortedIndex):
        monkeypatch.setattr(kind, "__init__", _noted(kind.__init__, made))
    for condition, scans in (("n.id = $v", 3), ("n.d < $v", 5)):
        graph = Graph.from_records([{"id": k, "properties": {"id": k, "d": k / 2}} for k in range(40_000)])
        query = f"MATCH (n) WHERE {condition} RETURN n.id"
        for k in range(scans):
            assert len(graph.query(query, {"v": 1}, device="cpu").fetchall()) in (1, 2) and not made, k
        assert len(graph.query(query, {"v": 1}, memory_limit="400KB", device="cpu").fetchall()) in (1, 2) and not made
        for _ in range(3):
            graph.query(query, {"v": 1}, device="cpu").fetchall()
        assert len(made) == 1
        made.clear()


def test_threads_make_an_index_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    first = runtime_access.HashIndex.__init__
    monkeypatch.setattr(runtime_access.HashIndex, "__init__", _noted(first, made))
    graph = Graph.from_records([{"id": k, "properties": {"id": k}} for k in range(5000)])
    query = "UNWIND range(1, 50) AS i MATCH (n {id: i}) RETURN sum(n.id)"
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: graph.query(query, device="cpu").value(), range(32))) == {1275}
    assert len(made) == 1


def _noted(first: Callable[..., None], made: list[str]) -> Callable[..., None]:
    def init(self: Any, *args: Any) -> None:
        made.append(type(self).__name__)
        first(self, *args)

    return init


def test_of_two_indexes_the_second_is_asked_for_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    ids = SortedIndex.ids
    monkeypatch.setattr(SortedIndex, "ids", lambda *args: asked.append(args[2]) or ids(*args))
    nodes = [{"id": k, "labels": ["A"], "properties": {"x": k, "y": k * 7 % 1000}} for k in range(1000)]
    graph = Graph.from_records(nodes, [])
    text = "MATCH (a:A) WHERE a.x > 980 AND a.y < 40 RETURN a.x, a.y"
    expected = sorted(graph.query(text, device="reference").fetchall())
    for _ in range(3):
        assert sorted(graph.query(text).fetchall()) == expected
    assert min(asked[-2:]) in (19, 40) and max(asked[-2:]) > 40


def test_relationships_are_scanned_where_a_search_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    size, count = 20_000, 60_000
    ids, start = np.arange(size), np.arange(count) % size
    end, x = np.arange(count) * 7919 % size, np.arange(count) % 6000
    k = ids % 1000
    nodes = pa.table({"id": ids, "k": k})
    graph = Graph.from_arrow({"A": nodes}, [("T", "A", "A", pa.table({"start": start, "end": end, "x": x}))])
    less = k[start] < k[end]
    for condition, scanned, holds in (
        ("r.x = 7", True, x == 7),
        ("r.x = 7 AND n.k < 500 AND n.k < m.k", True, (x == 7) & (k[start] < 500) & less),
        ("r.x = 7 AND n.k = 3", False, (x == 7) & (k[start] == 3)),  # 20 nodes have 60 relationships
        ("r.x < 1500 AND n.k < m.k", False, (x < 1500) & less),  # 15,000
    ):
        text = f"MATCH (n:A)-[r:T]->(m:A) WHERE {condition} RETURN count(*)"
        assert ("RelationshipScan" in str(graph.explain(text))) == scanned, condition
        for _ in range(3):
            assert graph.query(text, device="cpu").value() == np.count_nonzero(holds)


def test_ranges_of_parameters_are_planned_for_what_they_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    count, day = 60_000, datetime(2020, 1, 1)
    t, start = np.arange(count) * 31 % count, np.arange(count) % 2000
    texts, times = [f"{each:05}" for each in t], pa.array(np.datetime64(day, "s") + t.astype("timedelta64[m]"))
    table = pa.table({"start": start, "end": start[::-1], "t": t, "at": times, "s": texts})
    graph = Graph.from_arrow({"A": pa.table({"id": np.arange(2000)})}, [("T", "A", "A", table)])

    def ask(condition: str, a: Any, b: Any, scanned: bool, expected: Any) -> None:
        text = f"MATCH (n:A)-[r:T]->(m:A) WHERE {condition} RETURN r.t AS t"
        result = graph.query(text, {"a": a, "b": b}, device="cpu")
        assert ("RelationshipScan" in str(result.plan)) == scanned, (condition, a, b)
        assert np.array_equal(np.sort(result.to_arrow()["t"].to_numpy()), np.sort(t[expected])), (condition, a, b)

    for low, width in ((0, 0), (777, 1), (50_000, 20_000), (1, 30_000), (3, 1000), (59_990, 5), (0, count)) * 2:
        high = low + width
        asked = (t >= low) & (t < high)
        few = width <= 1000
        ask("$a <= r.t < $b", low, high, few, asked)
        ask("r.t >= $a AND $b > r.t AND n.id < 1900", low - 0.5, high - 0.5, few, asked & (start < 1900))
        ask("r.at >= $a AND r.at < $b", day + timedelta(minutes=low), day + timedelta(minutes=high), few, asked)
    for prefix, few in (("0012", True), ("", False), ("zz", True), ("1", False)):
        own = np.array([each.startswith(prefix) for each in texts])
        ask("r.s STARTS WITH $a AND r.s <> $b", prefix, "", few, own)
    for width in (3, 40_000):
        change = "MATCH (n:A)-[r:T]->(m:A) WHERE $a <= r.t < $b SET r.w = $b"
        assert graph.query(change, {"a": 100, "b": 100 + width}).stats.changes.properties_set == width
        assert graph.query("MATCH ()-[r:T]->() WHERE r.w = $b RETURN count(*)", {"b": 100 + width}).value() == width
