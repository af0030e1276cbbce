"""Where something follows a pattern that has few embeddings, these are counted before any is sampled."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph
from qengine.estimate.sampler import PatternSampler

N, DEGREE = 3_000, 10  # more relationships than are counted without being known to be few


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Vertices of different values of ``own``; those of each ``pair`` are next to each other, and know each other."""
    ids = np.arange(N)
    start, end = np.repeat(ids, DEGREE), (np.repeat(ids, DEGREE) + np.tile(np.arange(1, DEGREE + 1), N)) % N
    nodes = pa.table({"id": ids, "own": ids * 7, "pair": ids // 2})
    return Graph.from_arrow({"V": nodes}, [("R", "V", "V", pa.table({"start": start, "end": end}))])


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("(a)-[:R]->(b) WHERE a.own = b.own AND EXISTS { (b)-[:R]->(c) WHERE c.own > 90 }", 0),
        ("(a)-[:R]->(b) WHERE a.pair = b.pair AND NOT EXISTS { (b)-[:R]->(c) WHERE c.own < 0 }", N // 2),
        ("(a)-[:R]->(b) WHERE a.pair = b.pair OPTIONAL MATCH (b)-[:R]->(c) WHERE c.pair = b.pair + 1", N - 1),
    ],
)
def test_few_embeddings_are_counted(graph: Graph, pattern: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"MATCH {pattern} RETURN count(*)"
    assert graph.query(text).value() == count
    monkeypatch.setattr(PatternSampler, "draw", lambda *_: pytest.fail("a sample was drawn"))
    found = graph.estimate(text, seed=1)
    assert found.is_exact and found.value == found.upper_bound == count
