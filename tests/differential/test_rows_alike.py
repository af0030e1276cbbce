"""Matches from given rows that repeat some of their nodes: what is kept from row to row, and asked but once."""

from __future__ import annotations

import random
from typing import Any

import pytest

from qengine import Graph
from qengine.exec.host import search

ROWS = {
    "one by the other": "MATCH (a:Person)<-[:hasMember]-(g:Forum) WITH a, g ORDER BY a.id, g.id",
    "the other way": "MATCH (a:Person)<-[:hasMember]-(g:Forum) WITH a, g ORDER BY g.id, a.id",
    "in no order": "MATCH (a:Person)<-[:hasMember]-(g:Forum) WITH a, g ORDER BY (a.id * 37 + g.id * 11) % 101",
    "several times": "MATCH (a:Person)<-[:hasMember]-(g:Forum), (g)-[:hasMember]->(:Person) WHERE g.id < 4 WITH a, g",
    "with nulls": "MATCH (g:Forum) OPTIONAL MATCH (g)-[:hasMember]->(a:Person) WHERE a.id % 3 = 0 WITH a, g",
}
MATCHES = (
    "OPTIONAL MATCH (g)-[:contains]->(p:Post)-[:by]->(a) RETURN a.id AS a, g.id AS g, count(p) AS n",
    "MATCH (g)-[:contains]->(p:Post)-[:by]->(a) RETURN a.id AS a, g.id AS g, count(*) AS n",
    "MATCH (g)-[:contains]->(p:Post)-[:by]->(a) RETURN a.id AS a, g.id AS g, p.id AS n",
    "MATCH (g)-[:contains]->(p:Post)<-[:likes]-(a) WHERE p.length > 3 RETURN a.id AS a, g.id AS g, p.id AS n",
    "MATCH (a)-[:knows]-(b)-[:likes]->(p:Post)<-[:contains]-(g) RETURN a.id AS a, b.id AS g, count(*) AS n",
    "MATCH (a)-[:likes]->(p)-[:by]->(b:Person) RETURN a.id AS a, g.id AS g, count(b) AS n",
    "OPTIONAL MATCH (a)<-[:by]-(:Post)<-[r:likes]-(:Person) RETURN a.id AS a, g.id AS g, count(r) AS n",
    "RETURN a.id AS a, g.id AS g, EXISTS { MATCH (a)-[:likes]->(:Post)<-[:contains]-(g) } AS n",
)


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Persons, the forums they are in, and posts: of one forum, by one person each."""
    dice = random.Random(7)
    persons, forums, posts = 20, 15, 250
    nodes = [{"id": f"Person{row}", "labels": "Person", "properties": {"id": row}} for row in range(persons)]
    nodes += [{"id": f"Forum{row}", "labels": "Forum", "properties": {"id": row}} for row in range(forums)]
    nodes += [
        {"id": f"Post{row}", "labels": "Post", "properties": {"id": row, "length": row % 9}} for row in range(posts)
    ]
    pairs = {
        ("Forum", "hasMember", "Person"): {(dice.randrange(forums), dice.randrange(persons)) for _ in range(110)},
        ("Person", "likes", "Post"): {(dice.randrange(persons), dice.randrange(posts)) for _ in range(500)},
        ("Person", "knows", "Person"): {(dice.randrange(persons), dice.randrange(persons)) for _ in range(90)},
        ("Forum", "contains", "Post"): {(dice.randrange(forums), row) for row in range(posts)},
        ("Post", "by", "Person"): {(row, dice.randrange(persons)) for row in range(posts)},
    }
    return Graph.from_records(
        nodes,
        [
            {"type": kind, "start": f"{start}{one}", "end": f"{end}{other}"}
            for (start, kind, end), found in pairs.items()
            for one, other in sorted(found)
        ],
    )


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_equal_to_the_reference(graph: Graph, rows: str) -> None:
    for match in MATCHES:
        text = f"{rows} {match} ORDER BY a, g, n"
        expected = graph.query(text, device="reference").fetchall()
        assert graph.query(text).fetchall() == expected, match
        assert graph.query(text, threads=1).fetchall() == expected, match


def test_equal_rows_ask_once(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    run = search.run_search

    def counted(store: Any, operator: Any, seeds: Any, rows: int, *others: Any) -> Any:
        asked.append(rows)
        return run(store, operator, seeds, rows, *others)

    monkeypatch.setattr(search, "run_search", counted)
    text = f"{ROWS['in no order']} OPTIONAL MATCH (a)<-[:by]-(p:Post)<-[:likes]-() RETURN g.id AS g, count(p) AS n"
    expected = graph.query(f"{text} ORDER BY g", device="reference").fetchall()
    assert graph.query(f"{text} ORDER BY g").fetchall() == expected
    assert asked
    assert max(asked[1:]) <= 20  # persons, in some 90 rows
