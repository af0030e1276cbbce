"""Where only ends of quantified paths are asked for, they are those of all the paths."""

from __future__ import annotations

import random
from typing import Any

import pytest

from qengine import Graph
from qengine.exec.common.operators.repeat_ends import Ends
from tests.property.test_repeated_patterns import graph_of, pattern

FORMS = [
    "MATCH {mode}p = {path}(a) {pattern} (b) RETURN DISTINCT a.i, b.i",
    "MATCH {mode}p = {path}(a) {pattern} (b) WHERE b.x > 0 RETURN DISTINCT b.i",
    "MATCH (a), (b) WHERE EXISTS {{ MATCH {mode}p = {path}(a) {pattern} (b) }} RETURN a.i, b.i",
    "MATCH (a) WHERE EXISTS {{ MATCH {mode}p = {path}(a) {pattern} (b {{x: 1}}) }} RETURN a.i",
    "MATCH (a) OPTIONAL MATCH {mode}p = {path}(a) {pattern} (b) RETURN a.x, count(DISTINCT b)",
    "UNWIND [0, 1, 0] AS x MATCH {mode}p = {path}(a {{x: x}}) {pattern} (b) RETURN x, max(b.i)",
]


def rows(graph: Graph, text: str, device: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in graph.query(text, device=device)), key=repr)


@pytest.mark.parametrize("part", range(4))
def test_ends_are_those_of_all_paths(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    some = 0
    unwatched = Ends._try
    monkeypatch.setattr(Ends, "_try", lambda self, *args: (tried.append(1), unwatched(self, *args)))
    for case in range(part, 240, 4):
        chance = random.Random(5000 + case)
        graph, _, _ = graph_of(chance)
        hops = [(chance.choice(">>-<"), chance.choice(["", "R", "R", "S"])) for _ in range(chance.choice([1, 2, 2, 3]))]
        least = chance.choice([0, 1, 1, 2])
        bounds = least, chance.choice([least + 1, least + 2, 6])
        condition = chance.choice(["", "", "n0.x <= n{k}.x", "n1.x <> 1"])
        mode, path = chance.choice([("", ""), ("", ""), ("", "ACYCLIC "), ("", "SIMPLE "), ("DIFFERENT NODES ", "")])
        repeated = pattern(hops, bounds, condition)
        if bounds[1] == 6 and chance.random() < 0.7:
            repeated = repeated.replace(",6}", ",}")
        text = chance.choice(FORMS).format(mode=mode, path=path, pattern=repeated)
        expected = rows(graph, text, "reference")
        assert rows(graph, text, "cpu") == expected, (case, text)
        some += len(expected)
    assert some > 40
    assert tried or part, "no walk is turned away: its ends are all found by the first walks to each"


def test_ends_of_any_length_are_found_where_walks_are_too_many() -> None:
    """20 layers of 3 nodes, each linked with all of the next by two steps: 3 ** 20 walks."""
    nodes = [{"id": i, "labels": ["N"], "properties": {"layer": i // 3}} for i in range(63)]
    middles = [{"id": 100 + i, "labels": ["M"], "properties": {}} for i in range(63)]
    edges = []
    for i in range(60):
        edges.append({"type": "R", "start": i, "end": 100 + i, "properties": {}})
        edges += [{"type": "S", "start": 100 + i, "end": 3 * (i // 3 + 1) + j, "properties": {}} for j in range(3)]
    graph = Graph.from_records([*nodes, *middles], edges)
    text = "MATCH (a:N {layer: 0}) ((u)-[:R]->(v)-[:S]->(w))+ (b) RETURN count(DISTINCT b), max(b.layer)"
    assert [tuple(row) for row in graph.query(text, timeout=20)] == [(60, 20)]
    text = "MATCH (a {layer: 0}), (b {layer: 20}) WHERE EXISTS { (a) ((u)-[:R]->(v)-[:S]->(w))+ (b) } RETURN count(*)"
    assert [tuple(row) for row in graph.query(text, timeout=20)] == [(9,)]


def test_a_long_way_is_walked() -> None:
    """A chain of 400 steps: rows have lists of up to 800 relationships."""
    graph = Graph.from_records(
        [{"id": i, "labels": ["N"], "properties": {"i": i}} for i in range(801)],
        [{"type": "R", "start": i, "end": i + 1, "properties": {}} for i in range(800)],
    )
    text = "MATCH (a {i: 0}) ((u)-[r]->(v)-->(w))+ (b) RETURN count(*), max(size(r)), max(b.i), count(v[-1])"
    assert [tuple(row) for row in graph.query(text)] == [(400, 400, 800, 400)]
