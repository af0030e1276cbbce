"""The graphs that conditions are drawn over, and of each what patterns and conditions there may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from qengine import Graph
from qengine.testing import open_graphs as og
from tests.bench.conditions.generated import skewed
from tests.bench.network.tables import tables as network_tables

_SEED = 11
_CITIES, _COUNTRIES = 200, 12
_TAGS = 400
_NEAR = 60  # persons between whom most acquaintances are


@dataclass(frozen=True)
class Shape:
    """A pattern by its text. ``owners``: the label, or the type, of each variable that conditions may be on.

    ``condition``: one that each such pattern has; ``tail``: what follows the conditions.
    """

    name: str
    text: str
    owners: Mapping[str, str]
    condition: str = ""
    tail: str = ""


@dataclass(frozen=True)
class Ground:
    """A graph with its shapes. ``properties``: of each label and type those that conditions may be on.

    ``comparable``: pairs of (owner, property) whose values may be compared, besides equal ones.
    """

    graph: Graph
    shapes: Sequence[Shape]
    properties: Mapping[str, Sequence[str]]
    comparable: Sequence[tuple[str, str, str, str]] = ()


def social(persons: int = 20_000, knows: int = 300_000) -> Graph:
    """Make persons whose properties go together, in themselves and along what they know and like.

    A city gives the country and most of the language; income grows with age; persons near each other in id live in the
    same city mostly, and most acquaintances are among these; those with many have a high ``rank``; ``w`` is skewed,
    and ``since`` follows the start's age. Every sixth income is missing.
    """
    random = np.random.default_rng(_SEED)
    ids = np.arange(persons)
    city = np.minimum(np.sort(random.zipf(1.4, persons) % _CITIES), _CITIES - 1)
    moved = random.random(persons) < 0.1
    city = np.where(moved, random.integers(0, _CITIES, persons), city)
    country = city % _COUNTRIES
    age = np.clip(random.normal(40, 15, persons), 15, 95).astype(np.int64)
    income = np.round(800 * age * random.lognormal(0, 0.25, persons))
    language = np.where(random.random(persons) < 0.85, country, random.integers(0, _COUNTRIES, persons))
    by_rank = random.permutation(persons)
    drawn = knows * 3 // 2
    start = by_rank[skewed(random, persons, drawn, 0.6)]
    near = start + np.rint(random.laplace(0, _NEAR, drawn)).astype(np.int64)
    end = np.where(random.random(drawn) < 0.7, near, by_rank[skewed(random, persons, drawn, 0.6)]) % persons
    pairs = np.unique((start * persons + end)[start != end])
    pairs = np.sort(random.permutation(pairs)[:knows])
    start, end = pairs // persons, pairs % persons
    degree = np.bincount(start, minlength=persons)
    rank = np.minimum(degree // 10, 20) + random.integers(0, 3, persons)
    weight = random.random(len(start)) ** 4
    since = 2024 - np.minimum(age[start], age[end]) + random.integers(10, 20, len(start))
    tag = np.repeat(ids, 5), skewed(random, _TAGS, 5 * persons, 0.8)
    liked = np.unique(tag[0] * _TAGS + (tag[1] + 7 * country[tag[0]]) % _TAGS)
    nodes = {
        "Person": pa.table(
            {
                "id": ids,
                "age": age,
                "income": pa.array(income, mask=random.random(persons) < 1 / 6),
                "city": pa.array([f"city{k}" for k in city]),
                "country": country,
                "language": pa.array([f"lang{k}" for k in language]),
                "rank": rank,
            }
        ),
        "Tag": pa.table(
            {"id": np.arange(_TAGS), "theme": np.arange(_TAGS) % 9, "name": [f"t{k}" for k in range(_TAGS)]}
        ),
    }
    return Graph.from_arrow(
        nodes,
        [
            ("knows", "Person", "Person", pa.table({"start": start, "end": end, "w": weight, "since": since})),
            (
                "likes",
                "Person",
                "Tag",
                pa.table({"start": liked // _TAGS, "end": liked % _TAGS, "score": random.random(len(liked)).round(3)}),
            ),
        ],
    )


def _social() -> Ground:
    person = {"a": "Person", "b": "Person"}
    three = {**person, "c": "Person"}
    return Ground(
        social(),
        (
            Shape("edge", "(a:Person)-[r:knows]->(b:Person)", {**person, "r": "knows"}),
            Shape("two hops", "(a:Person)-[r:knows]->(b:Person)-[s:knows]->(c:Person)", {**three, "r": "knows"}),
            Shape(
                "triangle",
                "(a:Person)-[r:knows]->(b:Person)-[:knows]->(c:Person), (a)-[:knows]->(c)",
                {**three, "r": "knows"},
            ),
            Shape(
                "common tag",
                "(a:Person)-[r:knows]->(b:Person)-[:likes]->(t:Tag), (a)-[s:likes]->(t)",
                {**person, "t": "Tag", "r": "knows", "s": "likes"},
            ),
            Shape(
                "two who like",
                "(a:Person)-[r:likes]->(t:Tag)<-[s:likes]-(b:Person)",
                {**person, "t": "Tag", "r": "likes"},
            ),
            Shape("either way", "(a:Person)-[r:knows]-(b:Person)", {**person, "r": "knows"}),
            Shape("several types", "(a:Person)-[r:knows|likes]->(b:Person|Tag)", {"a": "Person", "r": "knows"}),
            Shape("one or two", "(a:Person)-[:knows*1..2]->(b:Person)", person),
            Shape(
                "square",
                "(a:Person)-[r:knows]->(b:Person)-[:likes]->(t:Tag)<-[:likes]-(c:Person)<-[:knows]-(a)",
                {**three, "t": "Tag", "r": "knows"},
            ),
            Shape(
                "who likes some",
                "(a:Person)-[r:knows]->(b:Person)",
                {**person, "r": "knows"},
                condition="EXISTS { (b)-[:likes]->(:Tag {theme: 3}) }",
            ),
            Shape(
                "who likes none",
                "(a:Person)-[r:knows]->(b:Person)",
                {**person, "r": "knows"},
                condition="NOT EXISTS { (b)-[:likes]->(:Tag {theme: 0}) }",
            ),
            Shape(
                "with what they like",
                "(a:Person)-[r:knows]->(b:Person)",
                {**person, "r": "knows"},
                tail="OPTIONAL MATCH (b)-[:likes]->(t:Tag WHERE t.theme < 2)",
            ),
        ),
        {
            "Person": ("age", "income", "city", "country", "language", "rank"),
            "Tag": ("theme", "name"),
            "knows": ("w", "since"),
            "likes": ("score",),
        },
        (("Person", "country", "Tag", "theme"),),
    )


def _network() -> Ground:
    tables = network_tables("xs")
    nodes = [(name.removeprefix("nodes_"), table) for name, table in tables.items() if name.startswith("nodes_")]
    ends = [(name.split("_")[1:], table) for name, table in tables.items() if name.startswith("rels_")]
    graph = Graph.from_arrow(nodes, [(kind, start, end, table) for (start, kind, end), table in ends])
    return Ground(
        graph,
        (
            Shape(
                "friends' posts",
                "(a:Person)-[r:knows]-(b:Person)<-[:hasCreator]-(m:Post)",
                {"a": "Person", "b": "Person", "m": "Post", "r": "knows"},
            ),
            Shape(
                "answers",
                "(c:Comment)-[:replyOf]->(m:Post)-[:hasCreator]->(b:Person), (c)-[:hasCreator]->(a:Person)",
                {"c": "Comment", "m": "Post", "a": "Person", "b": "Person"},
            ),
            Shape(
                "likes of friends",
                "(a:Person)-[:knows]-(b:Person), (a)-[r:likes]->(m:Post)-[:hasCreator]->(b)",
                {"a": "Person", "b": "Person", "m": "Post", "r": "likes"},
            ),
            Shape(
                "members who post",
                "(f:Forum)-[r:hasMember]->(a:Person)<-[:hasCreator]-(m:Post)<-[:containerOf]-(f)",
                {"f": "Forum", "a": "Person", "m": "Post", "r": "hasMember"},
            ),
            Shape(
                "tagged alike",
                "(m:Post)-[:hasTag]->(t:Tag)<-[:hasTag]-(c:Comment)-[:isLocatedIn]->(n:Country)",
                {"m": "Post", "c": "Comment", "t": "Tag"},
            ),
        ),
        {
            "Person": ("gender", "birthday", "browserUsed", "firstName"),
            "Post": ("creationDate", "language", "length", "browserUsed"),
            "Comment": ("creationDate", "length", "browserUsed"),
            "Forum": ("creationDate",),
            "Tag": ("name",),
            "knows": ("creationDate",),
            "likes": ("creationDate",),
            "hasMember": ("joinDate",),
        },
        (
            ("Comment", "creationDate", "Post", "creationDate"),
            ("Comment", "length", "Post", "length"),
            ("Comment", "browserUsed", "Person", "browserUsed"),
            ("Post", "browserUsed", "Person", "browserUsed"),
            ("Post", "creationDate", "Forum", "creationDate"),
        ),
    )


def _routes() -> Ground:
    airport = {"a": "Airport", "b": "Airport"}
    return Ground(
        og.property_graph("air-routes"),
        (
            Shape("route", "(a:Airport)-[r:route]->(b:Airport)", {**airport, "r": "route"}),
            Shape(
                "two routes",
                "(a:Airport)-[r:route]->(c:Airport)-[s:route]->(b:Airport)",
                {**airport, "c": "Airport", "r": "route", "s": "route"},
            ),
            Shape(
                "round trip",
                "(a:Airport)-[r:route]->(b:Airport)-[s:route]->(c:Airport)-[:route]->(a)",
                {**airport, "c": "Airport", "r": "route", "s": "route"},
            ),
            Shape(
                "inland",
                "(n:Country)-[:contains]->(a:Airport)-[r:route]->(b:Airport)<-[:contains]-(n)",
                {**airport, "r": "route", "n": "Country"},
            ),
        ),
        {
            "Airport": ("country", "region", "elev", "longest", "runways", "lat"),
            "route": ("dist",),
            "Country": ("code",),
        },
    )


def _knowledge() -> Ground:
    """Replies, likes and places of a benchmark's graph, with the properties that its nodes have."""
    return Ground(
        og.property_graph("ldbc-snb-sf01"),
        (
            Shape(
                "likes of friends",
                "(a:Person)-[k:knows]->(b:Person)-[r:likes]->(p:Post)",
                {"a": "Person", "b": "Person", "k": "knows", "r": "likes"},
            ),
            Shape(
                "colleagues",
                "(a:Person)-[r:workAt]->(o:Organisation)<-[s:workAt]-(b:Person)",
                {"a": "Person", "b": "Person", "r": "workAt", "s": "workAt"},
            ),
            Shape(
                "neighbours",
                "(a:Person)-[:isLocatedIn]->(c:Place)<-[:isLocatedIn]-(b:Person), (a)-[k:knows]->(b)",
                {"a": "Person", "b": "Person", "c": "Place", "k": "knows"},
            ),
            Shape(
                "interests",
                "(a:Person)-[:hasInterest]->(t:Tag)<-[:hasInterest]-(b:Person)-[k:knows]->(a)",
                {"a": "Person", "b": "Person", "k": "knows"},
            ),
        ),
        {
            "Person": ("firstName", "gender", "birthday", "browserUsed", "creationDate"),
            "Place": ("name",),
            "knows": ("creationDate",),
            "likes": ("creationDate",),
            "workAt": ("workFrom",),
        },
    )


GROUNDS: dict[str, Callable[[], Ground]] = {
    "social": _social,
    "network": _network,
    "routes": _routes,
    "snb": _knowledge,
}
