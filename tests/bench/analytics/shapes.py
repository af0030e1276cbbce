"""What analytical queries match, in both languages, and which properties there are to filter, group and sum by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Property:
    """A property of a table: its ``kind`` (int, float, str or bool), and values to compare it with."""

    name: str
    kind: str
    values: tuple[str, ...]
    group: bool = False


PROPERTIES = {
    "Person": (
        Property("age", "int", ("20", "40", "65", "85"), group=True),
        Property("city", "str", ("'City1'", "'City7'", "'City23'"), group=True),
        Property("job", "str", ("'Job3'", "'Job17'"), group=True),
        Property("income", "float", ("8000.0", "22000.0", "60000.0")),
        Property("active", "bool", ("true", "false"), group=True),
        Property("name", "str", ("'Name0100'", "'Name2000'"), group=True),
        Property("id", "int", ("17", "900", "1500"), group=True),
    ),
    "City": (
        Property("name", "str", ("'City3'", "'City40'"), group=True),
        Property("id", "int", ("5", "31"), group=True),
    ),
    "Post": (
        Property("score", "float", ("0.1", "0.5", "0.95")),
        Property("lang", "int", ("1", "5"), group=True),
        Property("id", "int", ("99", "4000")),
    ),
    "Tag": (
        Property("name", "str", ("'Tag2'", "'Tag150'"), group=True),
        Property("id", "int", ("3", "120"), group=True),
    ),
    "knows": (
        Property("since", "int", ("1995", "2010", "2022"), group=True),
        Property("w", "float", ("0.01", "0.5", "0.9")),
        Property("kind", "str", ("'kind1'", "'kind4'"), group=True),
    ),
}


@dataclass(frozen=True)
class Shape:
    """A pattern.

    Attributes
    ----------
    match, source
        Of Cypher what follows ``MATCH``, of SQL what follows ``FROM``.
    where
        What SQL needs besides: Cypher's relationships of one MATCH are pairwise different.
    of
        For each variable the key of ``PROPERTIES``.
    """

    name: str
    match: str
    source: str
    of: dict[str, str]
    where: str = ""


_KNOWS = "Person a JOIN knows k ON k.start = a.id JOIN Person b ON b.id = k.end"

SHAPES = (
    Shape("persons", "(a:Person)", "Person a", {"a": "Person"}),
    Shape("posts", "(p:Post)", "Post p", {"p": "Post"}),
    Shape("acquaintances", "(a:Person)-[k:knows]->(b:Person)", _KNOWS, {"a": "Person", "b": "Person", "k": "knows"}),
    Shape(
        "homes",
        "(a:Person)-[:lives_in]->(c:City)",
        "Person a JOIN lives_in h ON h.start = a.id JOIN City c ON c.id = h.end",
        {"a": "Person", "c": "City"},
    ),
    Shape(
        "homes of acquaintances",
        "(a:Person)-[k:knows]->(b:Person)-[:lives_in]->(c:City)",
        f"{_KNOWS} JOIN lives_in h ON h.start = b.id JOIN City c ON c.id = h.end",
        {"a": "Person", "b": "Person", "k": "knows", "c": "City"},
    ),
    Shape(
        "two hops",
        "(a:Person)-[k:knows]->(b:Person)-[:knows]->(c:Person)",
        f"{_KNOWS} JOIN knows l ON l.start = b.id JOIN Person c ON c.id = l.end",
        {"a": "Person", "b": "Person", "k": "knows", "c": "Person"},
    ),
    Shape(
        "common acquaintance",
        "(a:Person)-[k:knows]->(b:Person)<-[:knows]-(c:Person)",
        f"{_KNOWS} JOIN knows l ON l.end = b.id JOIN Person c ON c.id = l.start",
        {"a": "Person", "b": "Person", "k": "knows", "c": "Person"},
        "c.id <> a.id",
    ),
    Shape(
        "mutual",
        "(a:Person)-[k:knows]->(b:Person)-[:knows]->(a)",
        f"{_KNOWS} JOIN knows l ON l.start = b.id AND l.end = a.id",
        {"a": "Person", "b": "Person", "k": "knows"},
    ),
    Shape(
        "triangles",
        "(a:Person)-[k:knows]->(b:Person)-[:knows]->(c:Person), (a)-[:knows]->(c)",
        f"{_KNOWS} JOIN knows l ON l.start = b.id JOIN Person c ON c.id = l.end "
        "JOIN knows m ON m.start = a.id AND m.end = c.id",
        {"a": "Person", "b": "Person", "k": "knows", "c": "Person"},
    ),
    Shape(
        "common tags",
        "(a:Person)-[:interest]->(t:Tag)<-[:has_tag]-(p:Post)<-[:likes]-(a)",
        "Person a JOIN interest i ON i.start = a.id JOIN Tag t ON t.id = i.end JOIN has_tag g ON g.end = t.id "
        "JOIN Post p ON p.id = g.start JOIN likes s ON s.start = a.id AND s.end = p.id",
        {"a": "Person", "t": "Tag", "p": "Post"},
    ),
    Shape(
        "tags of liked posts",
        "(a:Person)-[:likes]->(p:Post)-[:has_tag]->(t:Tag)",
        "Person a JOIN likes s ON s.start = a.id JOIN Post p ON p.id = s.end JOIN has_tag g ON g.start = p.id "
        "JOIN Tag t ON t.id = g.end",
        {"a": "Person", "p": "Post", "t": "Tag"},
    ),
)
