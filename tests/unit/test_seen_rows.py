"""What the planner expects of subqueries of several hops, of groups of nodes, and of conditions on three variables."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from qengine import Graph
from qengine.estimates import plan_counted
from qengine.qerror import q_error

CONTINENTS, COUNTRIES, CITIES, PEOPLE = 5, 50, 600, 2_000


@pytest.fixture(scope="module")
def world() -> Iterator[Graph]:
    """Continents have countries, and these cities, where people live; a tenth of the cities have most roads.

    ``n`` is a number of its own for each kind, ``key`` one of 17 digits; few people write.
    """
    source = Random(7)
    kinds = (("Continent", CONTINENTS), ("Country", COUNTRIES), ("City", CITIES), ("Person", PEOPLE))
    nodes, begin = [], {}
    for label, count in kinds:
        begin[label] = len(nodes)
        for k in range(count):
            properties = {"n": k, "key": 20_100_101_120_000_001 + 7 * k, "rank": k % 10 if label == "City" else k % 4}
            nodes.append({"id": len(nodes), "labels": [label], "properties": properties})
    edges = []
    for label, above in (("Country", "Continent"), ("City", "Country")):
        for k in range(dict(kinds)[label]):
            up = begin[above] + k % dict(kinds)[above]
            edges.append({"type": "has", "start": up, "end": begin[label] + k})
    for k in range(CITIES):
        for _ in range(40 if k % 10 == 9 else 2):
            other = source.choice(range(9, CITIES, 10)) if source.random() < 0.7 else source.randrange(CITIES)
            edges.append({"type": "road", "start": begin["City"] + k, "end": begin["City"] + other})
    for k in range(PEOPLE):
        edges.append({"type": "lives", "start": begin["Person"] + k, "end": begin["City"] + k % 300})
        if k % 50 == 0:
            edges += [
                {"type": "wrote", "start": begin["Person"] + k, "end": begin["Person"] + source.randrange(PEOPLE)}
                for _ in range(30)
            ]
    yield Graph.from_records(nodes, edges)


@pytest.mark.parametrize(
    ("pattern", "within"),
    [
        ("(a)-[:road]->(b) WHERE EXISTS { (a)<-[:has]-(x)-[:has]->(y:City) WHERE y.n < 3 }", 1.3),
        ("(a)-[:road]->(b) WHERE NOT EXISTS { (b)<-[:has]-(x)<-[:has]-(y) WHERE y.n > 0 }", 1.3),
        ("(a)<-[:has]-(b) WHERE NOT EXISTS { (a)-[:has]->(x)<-[:lives]-(y) }", 1.2),
        ("(a)<-[:lives]-(b) WHERE EXISTS { (b)-[:wrote]->(x)-[:wrote]->(y) }", 1.3),
        ("(a:City)-[:road]->(b) WHERE EXISTS { (a)<-[:has]-(x)<-[:has]-(y), (x)-[:has]->(z) WHERE z.n < 20 }", 1.3),
        ("(a)-[:wrote]->(b)-[:lives]->(c) WHERE COUNT { (a)-[:wrote]->(x) WHERE x.n % 2 = 0 } > 15", 1.4),
        ("(a)-[:road]->(b) WHERE COUNT { (a)<-[:has]-(x)-[:has]->(y) } = 11", 1.2),
        ("(a)-[:lives]-(b), (a)-[:lives|has*1..2]-(w) MATCH (a)-[:road]->(c)", 1.5),
        ("(a)-[:wrote]-(b), (a)-[:wrote*1..2]->(w) MATCH (a)-[:wrote]->(c)", 1.6),
        ("(a)-[:wrote]->(b) WITH a AS k, count(*) AS n", 1.05),
        ("(a)-[:wrote]->(b) WITH a.n AS k, count(*) AS n", 1.1),
        ("(a)-[:has]->(b) WITH a AS k, count(*) AS n WHERE n > 10", 1.1),
        ("(a)-[:road]->(b)<-[:has]-(c) WITH c AS k, count(*) AS n", 1.2),
        ("(a)-[:road]->(b) WITH a AS k, count(*) AS n WHERE n > 30", 1.1),
        ("(a)-[:road]->(b) WITH a.rank AS k, count(*) AS n WHERE n > 1000", 1.05),
        ("(a:Country)-[:has]->(b)-[:road]->(c) WITH DISTINCT a.rank AS x, b.rank AS y", 1.1),
        ("(a)<-[:has]-(b)-[:has]->(c:City) WITH DISTINCT b AS x, c.rank AS y", 1.3),
        ("(a)-[:road]->(b)-[:road]->(c) WITH DISTINCT a AS x, c AS y", 1.5),
        ("(a)-[:road]->(b) WITH a.rank AS x, b.n AS y, count(*) AS n", 1.5),
        ("(a:Person)-[:lives]->(b:City)<-[:has]-(c:Country) WHERE a.n + b.n < 2 * c.n", 1.3),
        ("(a)-[:road]->(b)-[:road]->(c) WHERE a.rank + c.rank < b.rank", 1.2),
        ("(a)-[:lives]->(b) WHERE a.key % 10 = 1", 1.1),
        ("(a)-[:lives]->(b) WHERE a.key > 20100101120000001 AND b.key < a.key", 1.1),
        ("(a:City)-[]->(b:City)<-[:has]-(c:Country) WHERE a.rank = 9 MATCH (b)-[:road]-(d)", 1.3),
    ],
)
def test_expectations(world: Graph, pattern: str, within: float) -> None:
    text = f"MATCH {pattern} RETURN count(*)"
    counted = plan_counted(world._store, text)
    expected = counted.ending.rows(counted.expectation(world._store, 0.95).value)
    assert q_error(world.query(text).value(), expected) < within
