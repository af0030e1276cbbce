"""A graph that is changed and read for long holds what it is now, not what it was."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from qengine import Graph

COUNT = 400
READS = {
    "a count": "MATCH (:P)-[:R]->(n) RETURN count(n)",
    "triangles": "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(a) RETURN count(*)",
    "rows": "MATCH (a:P)-[r:R]->(b) WHERE b.x > 3 RETURN a.x, r.w LIMIT 3",
}
MAKE = "MATCH (a:P {x: $a}), (b:P {x: $b}) CREATE (a)-[:R {w: $a}]->(b)"


@pytest.fixture
def graph():
    chance = np.random.default_rng(5)
    people = [{"id": n, "labels": ["P"], "properties": {"x": n}} for n in range(COUNT)]
    ends = chance.integers(0, COUNT, (5 * COUNT, 2)).tolist()
    return Graph.from_records(
        people, [{"type": "R", "start": a, "end": b, "properties": {"w": a + b}} for a, b in ends]
    )


@pytest.mark.parametrize("text", READS.values(), ids=READS)
@pytest.mark.parametrize("change", ["MATCH (n:P {x: $a}) SET n.y = $b", MAKE], ids=["properties", "relationships"])
def test_versions_that_were_read_are_let_go(graph, text, change):
    stores = []
    for step in range(6):
        graph.query(change, {"a": step, "b": step + 7})
        graph.query(text).fetchall()
        stores.append(weakref.ref(graph._store))
        graph.query("MATCH (n:P {x: $a}) WITH n MATCH (n)-[:R]->(m) SET m.z = 1", {"a": step})
    gc.collect()
    assert sum(each() is not None for each in stores) <= 2


def test_versions_that_were_estimated_of_are_let_go(graph):
    stores = []
    for step in range(6):
        graph.query("MATCH (n:P {x: $a}) SET n.y = $b", {"a": step, "b": step + 7})
        for method in ("wanderjoin", "alley"):
            graph.estimate("MATCH (a:P)-[:R]->(b:P)-[:R]->(c) WHERE a.x < c.x", method=method, samples=200, seed=1)
        stores.append(weakref.ref(graph._store))
    gc.collect()
    assert sum(each() is not None for each in stores) <= 2
