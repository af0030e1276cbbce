"""Conditions of many nodes and relationships on a real GPU."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph
from qengine.exec.common.masks import Masks
from qengine.exec.gpu import predicates
from tests.property.test_gpu_predicates import LEAVES, PATTERNS, rows, table

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def on_the_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(predicates, "DEVICE_ELEMENTS", 1)
    yield


@pytest.fixture(scope="module")
def graph() -> Graph:
    random = np.random.default_rng(8)
    n, links = 30_000, 300_000
    one, other = ({"id": np.arange(begin, begin + n)} | table(n, begin) for begin in (0, n))
    del other["b"]
    ends = [random.integers(0, n, links) for _ in range(4)]
    first = pa.table({"start": ends[0], "end": ends[1] + n} | table(links, 5))
    second = pa.table({"start": ends[2] + n, "end": ends[3]} | table(links, 6))
    nodes = [("A", pa.table(one)), ("B", pa.table(other))]
    return Graph.from_arrow(nodes, [("R", "A", "B", first), ("S", "B", "A", second)], key="id")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_conditions_equal_the_hosts(graph: Graph, pattern: str) -> None:
    random = np.random.default_rng(len(pattern))
    for _ in range(12):
        one, other, third = random.choice(LEAVES, 3)
        joins = random.choice(["AND", "OR", "XOR"], 2)
        query = pattern.format(f"({one} {joins[0]} NOT ({other})) {joins[1]} {third}")
        assert rows(graph, query, "gpu") == rows(graph, query, "cpu"), query


@pytest.mark.parametrize("condition", LEAVES[::3])
def test_the_host_evaluates_none(graph: Graph, condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    query = f"MATCH (y:A)-[x:R]->(z:B) WHERE {condition} RETURN z.t, count(*), sum(x.i)"
    expected = rows(graph, query, "cpu")
    if "null" not in condition:
        monkeypatch.setattr(Masks, "edge_mask", None)
    assert rows(graph, query, "gpu") == expected
