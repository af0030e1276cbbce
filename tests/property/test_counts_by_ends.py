"""Aggregates of a relationship of which matches are counted by its ends, against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qengine import Graph
from qengine.optimizer import elimination
from qengine.optimizer.lower import by_ends
from qengine.plan.logical import Aggregate
from qengine.plan.physical import Eliminate, Search
from qengine.plan.traverse import operators
from tests.property.test_aggregate_entries import agrees, plan_of

PATTERNS = (
    "(a)-[k:R]->(b)<-[:R]-(c) WHERE a.i = c.i",
    "(a)-[k:R]->(b)<-[:R]-(c) WHERE a.i <> c.i AND k.i > 0",
    "(a)-[k:R]->(b)-[:S]->(c)-[:R]->(a)",
    "(a)-[:R]->(b)-[k:R]->(c), (a)-[:R]->(c) WHERE b.i < 2",
    "(b)-[k:R]->(a)-[:S]->(c)<-[:S]-(b), (a)-[:R]->(d)",
)
RESULTS = (
    "k.i, count(*)", "sum(k.v), max(k.i), count(DISTINCT k.v)", "k, count(k)",
    "a.i, avg(k.v), percentileDisc(k.i, 0.5)", "b.i, k.i, sum(a.v)",
)  # fmt: skip
MODES = ("", "DIFFERENT NODES ", "REPEATABLE ELEMENTS ")


def graph_of(seed: int, parallel: bool) -> Graph:
    """Make a graph of 9 nodes, some without values, whose R are parallel or not, with loops."""
    random = np.random.default_rng(seed)

    def valued() -> dict[str, Any]:
        return {"i": int(random.integers(0, 3))} | ({"v": float(random.normal())} if random.random() < 0.8 else {})

    nodes = [{"id": k, "labels": (), "properties": valued() if k else {}} for k in range(9)]
    pairs = random.integers(0, 9, (40, 2)).tolist()
    if not parallel:
        pairs = [list(each) for each in dict.fromkeys(map(tuple, pairs))]
    links = [("R", *each) for each in pairs] + [("S", *each) for each in random.integers(0, 9, (30, 2)).tolist()]
    return Graph.from_records(
        nodes, [{"type": kind, "start": a, "end": b, "properties": valued()} for kind, a, b in links]
    )


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_counts_by_ends_equal_reference(pattern: str, parallel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_ends, "cost_of_rows", lambda source, catalog: 0.0 if isinstance(source, Eliminate) else 1e12)
    monkeypatch.setattr(by_ends, "_A_PAIR", 0.0)
    monkeypatch.setattr(elimination, "_LEAST", 0.0)
    graphs = [graph_of(seed, parallel) for seed in range(2)]
    taken = 0
    for mode in MODES:
        for result in RESULTS:
            query = f"MATCH {mode}{pattern} RETURN {result}"
            for graph in graphs:
                agrees(graph, query)
                roots = operators(plan_of(graph, query).root)
                taken += any(
                    isinstance(each, Aggregate) and isinstance(each.input, Search) and each.input.seeds
                    for each in roots
                )
    assert not taken if parallel else taken >= 2 * len(RESULTS), taken
