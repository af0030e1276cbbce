"""Every matching order gives the same count: an order that the optimizer seldom takes is as right as any other."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph, storage
from qengine.testing.oracle import true_rows

# Relationships that are compared are bound one by one, between the vertices.
PATTERNS = {
    "a triangle with a tail": "(a)-[p]-(b)<-[q]-(c)-[r]->(d)-[s]->(b)",
    "two relationships apart": "REPEATABLE ELEMENTS (a)-[p]-(b)--(c)-[r]->(d)--(b) WHERE p <> r",
    "a square": "(a)-[p]->(b)-[q]->(c)-[r]->(d)-[s]->(a)",
    "a star": "(a)-[p]->(b), (a)-[q]-(c), (d)-[r]->(a)",
    "a path of one type": "(a)-[p:R]-(b)-[q:R]-(c)-[r:R]-(d)",
    "a clique, its vertices different": "DIFFERENT NODES (a)--(b)--(c)--(a)-->(d)--(b), (c)-->(d)",
    "a triangle of which two are read": "(a)-[p]->(b)-[q]->(c)-[r]->(a), (c)-[s]-(d:L)",
}


@st.composite
def graphs(draw: Any) -> Any:
    n = draw(st.integers(3, 5))
    ends = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(st.sampled_from("RU"), ends, ends), min_size=n, max_size=10))
    labels = draw(st.lists(st.sampled_from([(), ("L",)]), min_size=n, max_size=n))
    return storage.from_records(
        [{"id": i, "labels": list(labels[i])} for i in range(n)],
        [{"type": kind, "start": start, "end": end} for kind, start, end in edges],
        undirected=draw(st.sampled_from([(), ("U",)])),
    )


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
@settings(max_examples=6)
@given(graphs())
def test_all_orders_count_the_same(pattern: str, store: Any) -> None:
    query = f"MATCH {pattern} RETURN count(*) AS n"
    ((expected,),) = true_rows(store, query)
    graph = Graph(store)
    for order in permutations("abcd"):
        found = graph.query(query.replace("MATCH", f"MATCH /*+ order({', '.join(order)}) */", 1)).value()
        assert found == expected, order
