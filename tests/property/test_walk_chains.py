"""Walks along lists of one entry at most, many rows together, are what the reference finds; circles are left alone."""

from __future__ import annotations

import random
from typing import Any

import pytest

from qengine import Graph
from qengine.exec.host import walk, walk_chains

TEXTS = (
    "MATCH (m)-[:UP*0..]->(p) RETURN id(m), id(p)",
    "MATCH (m:M)-[:UP*0..]->(p:P) RETURN id(m), id(p)",
    "MATCH (m)-[:UP*2..4]->(p) WHERE p.x > 3 RETURN m.x, p.x",
    "MATCH (m)-[:UP*1..]->(p:P) RETURN DISTINCT p.x",
    "MATCH (p)<-[:UP*1..3]-(m:M) RETURN p.x, count(*), sum(m.x)",
    "MATCH (m) MATCH ACYCLIC (m)((a)-[:UP]->(b) WHERE b.x < 8){0,}(p:P) RETURN id(m), id(p)",
    "MATCH (m) MATCH TRAIL (m)-[:UP]->{3,}(p) RETURN id(m), id(p)",
    "UNWIND range(0, 2) AS k OPTIONAL MATCH (m:P {x: k})-[:UP*..2]->(p) RETURN k, m.x, p.x",
    "MATCH (m:M) WHERE EXISTS { (m)-[:UP*1..]->(:P {x: 1}) } RETURN m.x",
    "MATCH (a)-[:DOWN]->(m)-[:UP*0..]->(p:P) RETURN a.x, p.x",
)


def forest(seed: int, *, circle: bool) -> Graph:
    """Return nodes of which each has one above it at most, in no order, perhaps in a circle."""
    chance = random.Random(seed)
    count = chance.randint(2, 30)
    order = chance.sample(range(count), count)
    nodes = [
        {"id": n, "labels": chance.choice((["M"], ["P"], ["M", "P"], [])), "properties": {"x": chance.randrange(10)}}
        for n in range(count)
    ]
    links: list[dict[str, Any]] = []
    for place, node in enumerate(order):
        above = order[chance.randrange(place)] if place and chance.random() < 0.85 else None
        if above is None and circle:
            above = order[min(place + 1, count - 1)]
        if above is not None:
            links.append({"type": "UP", "start": node, "end": above})
        links.append({"type": "DOWN", "start": order[0], "end": node})
    return Graph.from_records(nodes, links)


@pytest.mark.parametrize("circle", [False, True])
@pytest.mark.parametrize("many", [1, 6])
def test_walks_are_the_references(monkeypatch: pytest.MonkeyPatch, many: int, circle: bool) -> None:
    walked: list[int] = []

    def noted(*arguments: Any) -> Any:
        walked.append(len(arguments[2].starts))
        return walk_chains.chain_chunks(*arguments)

    monkeypatch.setattr(walk_chains, "_MANY", many)
    monkeypatch.setattr(walk, "chain_chunks", noted)
    for seed in range(8):
        graph = forest(seed, circle=circle)
        for text in TEXTS:
            expected = sorted(map(repr, graph.query(text, device="reference").fetchall()))
            assert sorted(map(repr, graph.query(text, device="cpu").fetchall())) == expected, (seed, text)
    assert bool(walked) is not circle
