"""``paths.cheapest``: against brute force over all paths, and its options."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

import qengine


def roads(seed: int) -> tuple[qengine.Graph, int, list[tuple[int, int, str, float | None]]]:
    chance = random.Random(seed)
    count = chance.randint(2, 6)
    edges = [
        (chance.randrange(count), chance.randrange(count), chance.choice("RS"), chance.choice([0, 1, 2.5, 4, None]))
        for _ in range(chance.randint(1, 12))
    ]
    graph = qengine.Graph.from_records(
        [{"id": id, "labels": ["N"], "properties": {"i": id}} for id in range(count)],
        [
            {"type": type, "start": start, "end": end, "properties": {} if cost is None else {"w": cost}}
            for start, end, type, cost in edges
        ],
    )
    return graph, count, edges


@pytest.mark.parametrize("direction", ["OUT", "IN", "BOTH"])
@pytest.mark.parametrize("default", [None, 3])
def test_costs_are_the_least(direction: str, default: int | None) -> None:
    for seed in range(15):
        graph, count, edges = roads(seed)
        least = {(a, b): 0.0 if a == b else float("inf") for a in range(count) for b in range(count)}
        for start, end, type, cost in edges:
            own = default if cost is None else cost
            if type != "R" or own is None:
                continue
            ways = [(start, end)] * (direction != "IN") + [(end, start)] * (direction != "OUT")
            for way in ways:
                least[way] = min(least[way], own)
        for via, a, b in itertools.product(range(count), repeat=3):
            least[a, b] = min(least[a, b], least[a, via] + least[via, b])
        wanted = {pair: cost for pair, cost in least.items() if cost < float("inf")}
        options: dict[str, Any] = {"weight": "w", "types": ["R"], "direction": direction}
        if default is not None:
            options["default"] = default
        every = graph.query(
            "MATCH (a:N) CALL paths.cheapest(a, null, $o) YIELD path, cost "
            "RETURN a.i, last(nodes(path)).i, cost, reduce(s = 0.0, r IN relationships(path) | s + coalesce(r.w, 3))",
            {"o": options},
        ).fetchall()
        assert {(a, b): cost for a, b, cost, _ in every} == wanted
        assert all(cost == summed for _, _, cost, summed in every)
        pairs = graph.query(
            "MATCH (a:N), (b:N) CALL paths.cheapest(a, b, $o) YIELD path, cost "
            "RETURN a.i, b.i, cost, nodes(path)[0] = a AND nodes(path)[-1] = b",
            {"o": options},
        ).fetchall()
        assert {(a, b): cost for a, b, cost, _ in pairs} == wanted
        assert all(ends for *_, ends in pairs)


def test_without_a_weight_each_relationship_costs_one() -> None:
    graph = qengine.Graph()
    graph.query("CREATE (:N {i: 0})-[:R]->(:N {i: 1})-[:R]->(:N {i: 2})")
    text = "MATCH (a {i: 0}), (b {i: 2}) CALL paths.cheapest(a, b, {}) YIELD cost RETURN cost"
    for device in ("cpu", "reference"):
        assert graph.query(text, device=device).fetchall()[0][0] == 2.0
    graph.query("MATCH (a {i: 0}), (b {i: 2}) CREATE (a)-[:R]->(b)")  # another version has lists of its own
    assert graph.query(text).fetchall()[0][0] == 1.0


@pytest.mark.parametrize(
    "options", ["{wight: 'w'}", "{direction: 'UP'}", "{types: [1]}", "{default: -1}", "{weight: 'w'}"]
)
def test_wrong_options_and_costs_are_told(options: str) -> None:
    graph = qengine.Graph()
    graph.query("CREATE (:N {i: 0})-[:R {w: -1}]->(:N {i: 1})")
    with pytest.raises(qengine.ExecutionError, match=r"paths\.cheapest"):
        graph.query(f"MATCH (a {{i: 0}}) CALL paths.cheapest(a, null, {options}) YIELD cost RETURN cost").fetchall()
