"""Products of the ways along pairs of matrices, on the emulated device: by tables and by counters, against the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qengine import Graph
from qengine.errors import ResourceError
from qengine.exec.gpu import row_products
from qengine.testing.generate import rmat, to_csr
from tests.emulator.device import Kernel
from tests.property import test_gpu_elimination

device = test_gpu_elimination.device
"""The emulated device, for all tests of this file."""

K23 = "(a)--(x)--(b)--(y)--(a), (a)--(z)--(b)"
QUERIES = {
    "K2,3": f"MATCH {K23} RETURN count(*)",
    "K2,3, repeated": f"MATCH REPEATABLE ELEMENTS {K23} RETURN count(*)",
    "K2,3 by node": f"MATCH REPEATABLE ELEMENTS {K23} RETURN id(a) AS a, count(*) ORDER BY a",
    "labels": "MATCH REPEATABLE ELEMENTS (a:A)--(x)--(b:B)--(y)--(a), (a)--(z)--(b) "
    "RETURN id(a) AS a, count(*) ORDER BY a",
    "squares": "MATCH (a:A)--(b)--(c)--(d)--(a) RETURN id(c) AS c, count(*) ORDER BY c",
    "among neighbours": "MATCH REPEATABLE ELEMENTS (a)--(b)--(c)--(d)--(a), (e)--(a), (e)--(b), (e)--(c), (e)--(d) "
    "RETURN count(*)",
    "a cycle of two directions": "MATCH (a)-[:S]->(b)-[:S]->(c), (a)-[:S]->(d)-[:S]->(c) RETURN count(*)",
    "a cycle all one way, by node": "MATCH REPEATABLE ELEMENTS (a)-[:S]->(b)-[:S]->(c)-[:S]->(d)-[:S]->(a) "
    "RETURN id(b) AS b, count(*) ORDER BY b",
    "a cycle of two types": "MATCH REPEATABLE ELEMENTS (a)-[:S]->(b)--(c)-[:S]->(d)--(a) RETURN id(a) AS a, count(*) "
    "ORDER BY a",
    "three kinds of ways": "MATCH REPEATABLE ELEMENTS (a)--(x:A)--(b), (a)--(y:B)--(b), (a)--(z)--(b) "
    "RETURN id(a) AS a, count(*) ORDER BY a",
    "ways twice": "MATCH REPEATABLE ELEMENTS (a)--(x:A)--(b), (a)--(y:A)--(b), (a)-[:S]->(z:B)--(b) RETURN count(*)",
    "types among neighbours": "MATCH REPEATABLE ELEMENTS (a)-[:S]->(b)--(c)--(d)-[:S]->(a), (e)--(a), (e)--(b), "
    "(e)--(c), (e)--(d) RETURN count(*)",
}


@pytest.fixture(scope="module")
def graph() -> Graph:
    start, end = (each.tolist() for each in to_csr(rmat(6, 5, 3)).edges())
    nodes = [{"id": k, "labels": ["A" if k % 3 else "B"]} for k in range(80)]
    pairs = [(a, b) for a, b in zip(start, end, strict=True) if a != b]
    relationships = [{"type": "R", "start": a, "end": b} for a, b in pairs]
    relationships += [{"type": "S", "start": b, "end": (a * 7 + b) % 64} for a, b in pairs[::2]]
    return Graph.from_records(nodes, relationships, undirected=["R"])


QUERIES = {name: query.replace("--", "-[:R]-") for name, query in QUERIES.items()}


def counted(graph: Graph, query: str, hint: str = "kernel(row_products)") -> Any:
    return graph.query(f"/*+ {hint} */ {query}", device="gpu").fetchall()


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("counters", [20, 28_000])
def test_equal_the_host(graph: Graph, name: str, counters: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_products, "_COUNTERS", counters)
    Kernel.seen.clear()
    found = counted(graph, QUERIES[name])
    assert {"row_products_light", "row_products_heavy"} <= Kernel.seen.keys()
    assert found == graph.query(QUERIES[name], device="cpu").fetchall()


def test_equal_the_general_kernel(graph: Graph) -> None:
    found = counted(graph, QUERIES["labels"])
    assert counted(graph, QUERIES["labels"], "kernel(rooted_forest)") == found


def test_counts_beyond_64_bits_are_refused() -> None:
    n = 300
    ends = np.array([(a, b) for a in range(2) for b in range(2, n)])
    graph = Graph.from_edge_list((ends[:, 0], ends[:, 1]), undirected=True)
    leaves = ", ".join(f"(a)--(x{k})--(b)" for k in range(8))
    query = f"MATCH REPEATABLE ELEMENTS {leaves} RETURN id(a) AS a, count(*) ORDER BY a"
    Kernel.seen.clear()
    with pytest.raises(ResourceError):
        counted(graph, query)
    assert "row_products_light" in Kernel.seen
