"""Masked products on the emulated device: rows searched or tested by their bits, against the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qengine import Graph
from qengine.exec.gpu import bit_rows
from qengine.testing.generate import rmat, to_csr
from tests.emulator.device import Kernel
from tests.property import test_gpu_elimination

device = test_gpu_elimination.device
"""The emulated device, for all tests of this file."""

QUERIES = {
    "diamond": "MATCH (a)-[:S]->(b)-[:S]->(c), (a)-[:S]->(c), (a)-[:S]->(d)<-[:S]-(c) RETURN count(*)",
    "diamond, repeated": "MATCH REPEATABLE ELEMENTS (a)-[:S]->(b)-[:S]->(c), (a)-[:S]->(c), (a)<-[:S]-(d)-[:S]->(c) "
    "RETURN count(*)",
    "triangle with a tail": "MATCH REPEATABLE ELEMENTS (a)-[:S]->(b)-[:S]->(c)-[:S]->(a), (c)-[:R]-(d) RETURN count(*)",
    "labels": "MATCH REPEATABLE ELEMENTS (a:A)-[:S]->(b:B)-[:S]->(c), (a)-[:R]-(c), (b)-[:R]-(d) "
    "RETURN id(a) AS a, count(*) ORDER BY a",
    "by node": "MATCH REPEATABLE ELEMENTS (a)-[:S]->(b)-[:R]-(c)-[:S]->(a) RETURN id(a) AS a, count(*) ORDER BY a",
    "pairs both ways": "MATCH (a)-[:S]->(b)-[:S]->(a), (a)-[:S]->(c)-[:S]->(b), (b)-[:S]->(d)-[:S]->(a) "
    "RETURN count(*)",
    "a condition": "MATCH REPEATABLE ELEMENTS (a)-[r:S WHERE r.w > 2]->(b)-[:S]->(c), (a)-[:S]->(c) RETURN count(*)",
    "parallel relationships": "MATCH REPEATABLE ELEMENTS (a)-[:P]->(b)-[:S]->(c), (a)-[:S]->(c) RETURN count(*)",
}


@pytest.fixture
def graph() -> Graph:
    start, end = (each.tolist() for each in to_csr(rmat(6, 6, 3)).edges())
    nodes = [{"id": k, "labels": ["A" if k % 3 else "B"]} for k in range(80)]
    pairs = [(a, b) for a, b in zip(start, end, strict=True) if a != b]
    relationships: list[dict[str, Any]] = [{"type": "R", "start": a, "end": b} for a, b in pairs]
    linked = {*pairs, *((b, a) for a, b in pairs[::3]), *((k, k) for k in range(0, 60, 7))}
    relationships += [{"type": "S", "start": a, "end": b, "properties": {"w": (a + b) % 7}} for a, b in sorted(linked)]
    relationships += [{"type": "P", "start": a, "end": b} for a, b in [*pairs, *pairs[::2]]]
    return Graph.from_records(nodes, relationships, undirected=["R"])


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize(("least", "times"), [(1, 1000), (1 << 20, 1000)])
def test_equal_the_host(graph: Graph, name: str, least: int, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bit_rows, "_LEAST", least)
    monkeypatch.setattr(bit_rows, "_MOST_TIMES", times)
    Kernel.seen.clear()
    text = f"/*+ eliminate kernel(masked_product) */ {QUERIES[name]}"
    found = graph.query(text, device="gpu").fetchall()
    assert "masked_product" in Kernel.seen
    assert ("eliminate_bit_rows" in Kernel.seen) == (least < 48)
    assert found == graph.query(QUERIES[name], device="reference").fetchall()


def test_rows_of_bits_stay(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bit_rows, "_LEAST", 1)
    text = f"/*+ eliminate kernel(masked_product) */ {QUERIES['diamond']}"
    graph.query(text, device="gpu").fetchall()
    Kernel.seen.clear()
    graph.query(text, device="gpu").fetchall()
    assert "masked_product" in Kernel.seen
    assert "eliminate_bit_rows" not in Kernel.seen


def test_the_longest_rows_are_made() -> None:
    offsets = np.cumsum([0, 50, 3, 90, 60, 48, 47]).astype(np.uint64)
    assert bit_rows._longest(offsets, 10).tolist() == [0, 2, 3, 4]
    assert bit_rows._longest(offsets, 2).tolist() == [2, 3]
    assert bit_rows._longest(offsets, 0).tolist() == []
