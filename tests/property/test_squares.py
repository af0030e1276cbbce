"""Squares counted by wedges, where lists are long enough for rows of bits, against counters of paths of two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qengine import Graph, _native

N = 9_000


@pytest.fixture(scope="module")
def hubs() -> tuple[Graph, list[Any], Any]:
    """Return a graph with hubs whose lists go beyond the first 8,192 ids, its lists, and who has the label B."""
    generator = np.random.default_rng(11)
    ends = np.stack([(generator.power(0.3, 40_000) * N).astype(np.int64) for _ in range(2)])
    ends[1, :12_000] = generator.integers(0, N, 12_000)
    ends = np.unique(np.sort(ends[:, ends[0] != ends[1]], axis=0), axis=1)
    labelled = generator.random(N) < 0.4
    nodes = [{"id": k, "labels": ["B"] if labelled[k] else ["A"]} for k in range(N)]
    relationships = [{"type": "R", "start": a, "end": b} for a, b in ends.T.tolist()]
    both = np.concatenate([ends, ends[::-1]], axis=1)
    both = both[:, np.argsort(both[0], kind="stable")]
    lists = np.split(both[1], np.searchsorted(both[0], np.arange(1, N)))
    return Graph.from_records(nodes, relationships, undirected=["R"]), lists, labelled


PATTERNS = {
    "any": ("", "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(a)"),
    "repeated": ("REPEATABLE ELEMENTS", "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(a)"),
    "a corner labelled": ("", "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d:B)-[:R]-(a)"),
    "a corner labelled, repeated": ("REPEATABLE ELEMENTS", "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d:B)-[:R]-(a)"),
    "two corners labelled": ("", "(a)-[:R]-(b:B)-[:R]-(c)-[:R]-(d:B)-[:R]-(a)"),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_squares(hubs: tuple[Graph, list[Any], Any], name: str) -> None:
    graph, lists, labelled = hubs
    mode, pattern = PATTERNS[name]
    first = labelled if "b:B" in pattern else np.ones(N, bool)
    second = labelled if "d:B" in pattern else np.ones(N, bool)
    total = 0
    for a, near in enumerate(lists):
        over, under, same = (
            np.bincount(np.concatenate([lists[v] for v in near[kept[near]]] or [near[:0]]), minlength=N)
            for kept in (first, second, first & second)
        )
        ways = over * under
        if not mode:
            ways -= same
            ways[a] = 0
        total += int(ways.sum())
    query = f"/*+ search */ MATCH {mode} {pattern} RETURN count(*)"
    for isa in (0, 1, 2):
        _native.load().qe_force_isa(isa)
        try:
            assert graph.query(query, device="cpu", threads=2).value() == total
        finally:
            _native.load().qe_force_isa(-1)
