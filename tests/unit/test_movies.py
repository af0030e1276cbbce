"""The classic script of movies, from its text to the answers that everybody knows."""

from __future__ import annotations

import pytest

from qengine import Graph
from qengine.syntax import parse
from qengine.testing.data import data_set


@pytest.mark.shared_data("small/movies.cypher")
def test_movies() -> None:
    graph = Graph()
    text = data_set("small/movies.cypher").read_text(encoding="utf-8")
    script = text[
        text.index("CREATE (TheMatrix:Movie") :
    ]  # behind constraints and indexes, which graphs here don't have
    for statement in parse(script):
        graph.query(script[statement.span.start : statement.span.end])
    assert graph.query("MATCH (n) RETURN count(n)").fetchall() == [(171,)]
    assert graph.query("MATCH ()-[r]->() RETURN count(r)").fetchall() == [(253,)]
    assert graph.query("MATCH (m:Movie) RETURN count(m)").fetchall() == [(38,)]
    directors = "MATCH (m:Movie {title: 'Cloud Atlas'})<-[:DIRECTED]-(d) RETURN d.name ORDER BY d.name"
    assert [row[0] for row in graph.query(directors)] == ["Lana Wachowski", "Lilly Wachowski", "Tom Tykwer"]
    hanks = "MATCH (:Person {name: 'Tom Hanks'})-[:ACTED_IN]->(m:Movie) RETURN count(m)"
    assert graph.query(hanks).fetchall() == [(12,)]
    ends = "(:Person {name: 'Kevin Bacon'})-[*]-(:Person {name: 'Meg Ryan'})"
    path = f"MATCH p = shortestPath({ends}) RETURN length(p) AS hops"
    assert graph.query(path).fetchall() == [(4,)]
    graph.query("MATCH (n) DETACH DELETE n")
    assert graph.query("MATCH (n) RETURN count(n)").fetchall() == [(0,)]
