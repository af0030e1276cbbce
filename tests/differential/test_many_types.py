"""Patterns over several types, or without a direction: lists merged, or one by one, give what the reference gives."""

from __future__ import annotations

import random

import pytest

from qengine import Graph, OutOfMemory
from qengine.exec.common import merged_lists

TYPES = [f"T{k}" for k in range(12)]
QUERIES = """
MATCH (a)-->(b) RETURN count(*)
MATCH (a)--(b) RETURN count(*)
MATCH (a)-[r]->(b) RETURN a.id, b.id, type(r), r.w
MATCH (a)-[r]-(b) RETURN a.id, b.id, id(r)
MATCH (a:A)-[r]->(b:B) WHERE r.w > 3 RETURN a.id, b.id, r.w
MATCH (a)-[r]->(b)-[s]->(c) RETURN count(*), count(r.w), sum(s.w)
MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)
MATCH (a)--(b)--(c) RETURN a.id, count(*)
MATCH (a)-->(b)-->(c)-->(d) RETURN count(*)
MATCH (a)--(b)<--(c)--(d) RETURN count(*)
MATCH (a)-->(b)-->(c)-->(d)-->(a) RETURN count(*)
MATCH (a)-[r:T0|T1|T2|T3|T4|T5|T6|T7|T8]->(b)<-[s]-(c) WHERE a.id < c.id RETURN a.id, b.id, c.id, type(r), type(s)
MATCH (a) WHERE EXISTS { (a)-->(b) WHERE b.id > a.id } RETURN a.id
MATCH (a) WHERE NOT (a)-->() RETURN a.id
MATCH (a) OPTIONAL MATCH (a)-[r]->(b:B) RETURN a.id, count(r), count(DISTINCT b)
MATCH (a)-[r]->(b) WHERE (b)-->(a) RETURN id(r)
MATCH (a)-[r]-(b)-[s]-(c)-[t]-(a) RETURN count(*)
MATCH (a)-->(b) WHERE NOT (b)-->(a) RETURN a.id, b.id
MATCH (a)-->(b) WHERE NOT EXISTS { (b)-[r]->(a) WHERE r.w > 2 } RETURN a.id, b.id
MATCH (a)-->(b)-->(c) WHERE NOT (a)--(c) RETURN count(*)
MATCH (a {id: 2}), (b {id: 5}) MATCH (a)-[r]-(b) RETURN id(r)
MATCH (a)-[r]->(b) WITH a, collect(type(r)) AS l RETURN a.id, size(l)
MATCH REPEATABLE ELEMENTS (a)-->(b)<--(c) RETURN count(*)
MATCH (a {id: 3})-[r]-(b)-[s]->(c) RETURN id(r), id(s)
MATCH (a) RETURN a.id, COUNT { (a)--()-->() } AS n
MATCH (a {id: 2})-[*1..5]->(b) RETURN count(DISTINCT b)
MATCH (a)-[*1..3]->(b) RETURN a.id, count(DISTINCT b)
MATCH (a)-[*2..4]->(b:B) RETURN DISTINCT b.id
MATCH (a)-[*1..4]->(b {id: 7}) RETURN DISTINCT a.id
MATCH (a)-[*1..3]-(b {id: 7}) RETURN DISTINCT a.id
MATCH (a {id: 2})-[*1..5]-(b) RETURN count(DISTINCT b)
MATCH (a)-[*1..2]-(b) RETURN a.id, count(DISTINCT b)
MATCH (a:A)-[*1..3]-(b) RETURN DISTINCT b.id
MATCH p = ANY SHORTEST (a:A)--{1,4}(b) RETURN a.id, b.id, length(p)
MATCH (a:A), (b:B) MATCH p = ANY SHORTEST (a)--{1,4}(b) RETURN a.id, b.id, length(p)
MATCH p = ANY SHORTEST (a)-->+(b {id: 4}) RETURN a.id, length(p)
MATCH p = shortestPath((a {id: 3})-[*..5]->(b)) RETURN b.id, length(p)
MATCH p = ALL SHORTEST (a {id: 3})-->+(b) RETURN b.id, length(p)
MATCH p = ANY SHORTEST (a)<--+(b) WHERE a.id < 5 RETURN a.id, b.id, length(p)
""".strip().splitlines()

FEW_TYPES = """
MATCH (a)-[:T1]-(b)-[:T1]-(c) RETURN a.id, c.id
MATCH (a)-[:T1]-(b)-[:T1]-(c)-[:T2]-(d) RETURN count(*)
MATCH (a)-[:T1|T2|T3]-(b)-[:T1|T2|T3]-(c)-[:T1|T2|T3]-(a) RETURN count(*)
MATCH (a)-[r:T1]-(b)-[:T2|T3]->(c) WHERE r.w > 1 RETURN a.id, c.id, id(r)
MATCH (a)-[:T1]-(a)-[:T2]-(b) RETURN a.id, b.id
MATCH (a) RETURN a.id, COUNT { (a)-[:T1]-()<-[:T2|T4]-() } AS n
""".strip().splitlines()

CLOSED = """
MATCH (a) WHERE NOT EXISTS { (a)-[*]->(a) } RETURN a.id
MATCH (a)<-[*]-(a) RETURN DISTINCT a.id
MATCH (a)-[*0..]->(a) RETURN DISTINCT a.id
MATCH (a) WHERE EXISTS { (a)-[*1..3]->(a) } RETURN a.id
MATCH (a) WHERE EXISTS { (a)-[* {w: 2}]->(a) } RETURN a.id
MATCH (a) WHERE EXISTS { ACYCLIC (a)-->+(a) } RETURN a.id
MATCH (a) WHERE EXISTS { SIMPLE (a)-->+(a) } RETURN a.id
MATCH (a) WHERE EXISTS { (a)-[*]-(a) } RETURN a.id
MATCH (a)-[*]-(b) WHERE a.id < 4 RETURN a.id, b.id, count(*) > 0
MATCH (a)-[*]-(b) WHERE a.id < 4 RETURN count(DISTINCT b)
MATCH p = ANY SHORTEST (a)--+(b) RETURN a.id, b.id, length(p)
MATCH (a)-[r]->(b) WHERE EXISTS { (b)-[*]->(b) } RETURN id(r)
MATCH (a)-[r]->(b)-[*]->(b) RETURN DISTINCT a.id, b.id
MATCH (a) WHERE EXISTS { (a) ((x)-->(y) WHERE y.id > 2)+ (a) } RETURN a.id
""".strip().splitlines()


def graph(seed: int, count: int = 18, links: tuple[int, int] = (20, 70)) -> Graph:
    """Return nodes with relationships of many types, in loops and parallel ones too; some types have no direction."""
    drawn = random.Random(seed)
    nodes = [{"id": k, "labels": [drawn.choice("ABC")], "properties": {"id": k}} for k in range(count)]
    relationships = [
        {"start": drawn.randrange(count), "end": drawn.randrange(count), "type": drawn.choice(TYPES)}
        | ({"properties": {"w": drawn.randrange(6)}} if drawn.random() < 0.7 else {})
        for _ in range(drawn.choice(links))
    ]
    return Graph.from_records(nodes, relationships, undirected=drawn.sample(TYPES, drawn.choice([0, 3, 12])))


@pytest.mark.parametrize("seed", range(4))
def test_merged_lists_give_the_same_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = graph(seed)
    if seed % 2:  # another version
        given.query("MATCH (a {id: 1}) CREATE (a)-[:T3 {w: 9}]->(:B {id: 18})-[:T12]->(a)")
    expected = [sorted(map(repr, given.query(text, device="reference"))) for text in QUERIES]
    assert [sorted(map(repr, given.query(text))) for text in QUERIES] == expected
    merged = []
    for name in ("merged_edges", "merged_neighbours"):
        function = getattr(merged_lists, name)
        monkeypatch.setattr(f"qengine.exec.common.resolve.{name}", lambda *a, f=function: merged.append(f) or f(*a))
    monkeypatch.setattr(merged_lists, "_MERGE", -1.0)  # always due
    assert [sorted(map(repr, given.query(text))) for text in QUERIES] == expected
    assert len(set(merged)) == 2


@pytest.mark.parametrize("seed", range(4))
def test_merged_lists_of_few_types_give_the_same_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = graph(seed, 12, (150, 250))
    expected = [sorted(map(repr, given.query(text, device="reference"))) for text in FEW_TYPES]
    assert [sorted(map(repr, given.query(text))) for text in FEW_TYPES] == expected
    read, merge = [], merged_lists.merged_neighbours
    monkeypatch.setattr("qengine.exec.common.resolve.merged_neighbours", lambda *a: read.append(len(a[1])) or merge(*a))
    monkeypatch.setattr(merged_lists, "_MERGE", -1.0)  # always due
    assert [sorted(map(repr, given.query(text))) for text in FEW_TYPES] == expected
    assert 2 in read


@pytest.mark.parametrize("seed", range(12))
def test_walks_back_to_their_start(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = graph(seed, 7, (8, 11))
    expected = [sorted(map(repr, given.query(text, device="reference"))) for text in CLOSED]
    assert [sorted(map(repr, given.query(text))) for text in CLOSED] == expected
    monkeypatch.setattr(merged_lists, "_MERGE", -1.0)  # always due
    assert [sorted(map(repr, given.query(text))) for text in CLOSED] == expected


def test_lists_are_merged_once_searches_have_taken_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    store, text = graph(1), "MATCH (a)-[r]->(b) RETURN id(r)"
    seen = []
    original = merged_lists.is_due
    monkeypatch.setattr("qengine.exec.host.search.is_due", lambda *a: seen.append(original(*a)) or seen[-1])
    monkeypatch.setattr(merged_lists, "_MERGE", 1e-12)
    for _ in range(3):
        store.query(text).fetchall()
    assert seen == [False, True, True]
    with pytest.raises(OutOfMemory):  # no room to make them either
        store.query(text, memory_limit=500).fetchall()
    assert not seen[-1]
