"""Forests around roots on the emulated device, added up in tables and in arrays of columns, against the host."""

from __future__ import annotations

import numpy as np
import pytest

from qengine import Graph
from qengine.exec.gpu import elimination_steps
from qengine.testing.generate import rmat, to_csr
from tests.emulator.device import Kernel
from tests.property import test_gpu_elimination

device = test_gpu_elimination.device
"""The emulated device, for all tests of this file."""

HOUSE = "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(a), (a)-[:R]-(e)-[:R]-(b)"
FIVE = "(a)-[:R]-(b)-[:S]->(c)-[:R]-(d)<-[:S]-(e)-[:R]-(a)"
QUERIES = {
    "house": f"MATCH REPEATABLE ELEMENTS {HOUSE} RETURN count(*)",
    "house by node": f"MATCH REPEATABLE ELEMENTS {HOUSE} RETURN id(c) AS c, count(*) ORDER BY c",
    "five of two types": f"MATCH REPEATABLE ELEMENTS {FIVE} RETURN count(*)",
    "five of two types by node": f"MATCH REPEATABLE ELEMENTS {FIVE} RETURN id(b) AS b, count(*) ORDER BY b",
    "labels": f"MATCH REPEATABLE ELEMENTS {FIVE.replace('(c)', '(c:A)').replace('(e)', '(e:B)')} RETURN count(*)",
    "seven": "MATCH REPEATABLE ELEMENTS (a)-[:R]-(b)-[:S]->(c)-[:R]-(d)-[:S]->(e)-[:R]-(f)-[:S]->(g)-[:R]-(a) "
    "RETURN count(*)",
    "squares that hang together": "MATCH REPEATABLE ELEMENTS (a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(a), "
    "(c)-[:R]-(e)-[:R]-(f)-[:R]-(a), (f)-[:S]->(g) RETURN count(*)",
    "parallel relationships": "MATCH REPEATABLE ELEMENTS (a)-[:P]-(b)-[:P]->(c)-[:R]-(d)-[:P]->(a) RETURN count(*)",
}  # fmt: skip
WORDS = {"tables": 25_000, "columns": 330}
"""Of shared memory: a table of 64 places, and some 40 or 80 of a hundred columns at a time."""


@pytest.fixture(scope="module")
def graph() -> Graph:
    start, end = (each.tolist() for each in to_csr(rmat(6, 5, 3)).edges())
    nodes = [{"id": k, "labels": ["A" if k % 3 else "B"]} for k in range(100)]
    pairs = [(a, b) for a, b in zip(start, end, strict=True) if a != b]
    relationships = [{"type": "R", "start": a, "end": b} for a, b in pairs]
    relationships += [{"type": "S", "start": b, "end": (a * 7 + b) % 100} for a, b in pairs[::2]]
    relationships += [{"type": "P", "start": a, "end": b} for a, b in pairs[::3] for _ in range(1 + a % 2)]
    return Graph.from_records(nodes, relationships, undirected=["R"])


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("name", QUERIES)
def test_equal_the_host(graph: Graph, name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elimination_steps, "_FOREST_WORDS", WORDS[words])
    monkeypatch.setattr(elimination_steps, "_FEWEST_WORDS", WORDS[words])
    Kernel.seen.clear()
    query = QUERIES[name]
    found = graph.query(f"/*+ eliminate, kernel(rooted_forest) */ {query}", device="gpu").fetchall()
    assert "rooted_forest" in Kernel.seen
    assert found == graph.query(query, device="cpu").fetchall()


K23 = "(a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(a), (a)-[:R]-(e)-[:R]-(c)"
BY_NODE = {
    "K2,3": ({"masked_forest", "eliminate_turned"}, f"MATCH {K23} RETURN id(b) AS b, count(*) ORDER BY b"),
    "house": ({"masked_forest", "eliminate_turned"}, f"MATCH {HOUSE} RETURN id(e) AS e, count(*) ORDER BY e"),
    "house of labels": (
        {"masked_forest"},
        f"MATCH REPEATABLE ELEMENTS {HOUSE.replace('(c)', '(c:A)')} RETURN id(e) AS e, count(*) ORDER BY e",
    ),
    "of two types": (
        {"masked_forest", "eliminate_turned"},
        "MATCH REPEATABLE ELEMENTS (a)-[:S]->(b)-[:R]-(c), (a)-[:R]-(d)-[:S]->(c), (a)-[:R]-(e)-[:R]-(c) "
        "RETURN id(b) AS b, count(*) ORDER BY b",
    ),
    "K2,3 with an edge": (
        {"eliminate_turned"},
        f"MATCH REPEATABLE ELEMENTS {K23}, (b)-[:R]-(d) RETURN id(a) AS a, count(*) ORDER BY a",
    ),
}


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("name", BY_NODE)
def test_what_hangs_at_pairs(graph: Graph, name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elimination_steps, "_FOREST_WORDS", WORDS[words])
    monkeypatch.setattr(elimination_steps, "_FEWEST_WORDS", WORDS[words])
    Kernel.seen.clear()
    kernels, query = BY_NODE[name]
    found = graph.query(f"/*+ eliminate */ {query}", device="gpu").fetchall()
    assert kernels <= Kernel.seen.keys()
    assert found == graph.query(query, device="cpu").fetchall()


@pytest.mark.parametrize("words", [25_000, 540])
def test_numbers_beyond_64_bits(words: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elimination_steps, "_FOREST_WORDS", words)
    monkeypatch.setattr(elimination_steps, "_FEWEST_WORDS", words)
    n, times = 5, 10_000
    start = np.repeat(np.arange(n), times)
    others = np.arange(n, 60)  # with columns of their own, which are in no circle
    ends = np.concatenate([start, np.zeros_like(others)]), np.concatenate([(start + 1) % n, others])
    graph = Graph.from_edge_list(ends)
    query = "MATCH REPEATABLE ELEMENTS (a)-->(b)-->(c)-->(d)-->(e)-->(a) RETURN toString(count(*))"
    Kernel.seen.clear()
    found = graph.query(f"/*+ eliminate, kernel(rooted_forest) */ {query}", device="gpu").value()
    assert "rooted_forest" in Kernel.seen
    assert int(found) == n * times**n > 2**64
