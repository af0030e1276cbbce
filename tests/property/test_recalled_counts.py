"""Counts of patterns whose vertices must differ: remembered parts against rows, which are walked one by one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph

LABELS = 3


@st.composite
def labelled_graphs(draw: st.DrawFn) -> Graph:
    """10 to 24 nodes of three labels, 2 to 3 relationships for each; loops and parallel ones among them, or neither."""
    n = draw(st.integers(10, 24))
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    ends = chance.integers(0, n, (2, draw(st.integers(2 * n, 3 * n))))
    if draw(st.booleans()):
        ends = np.unique(np.sort(ends, axis=0), axis=1)
        ends = ends[:, ends[0] != ends[1]]
    labels = chance.choice(LABELS, n, p=[0.7, 0.2, 0.1])
    nodes = [(f"L{k}", pa.table({"id": np.flatnonzero(labels == k)})) for k in range(LABELS)]
    return Graph.from_arrow(nodes, [("E", pa.table({"src": ends[0], "dst": ends[1]}))], undirected=["E"])


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """A tree of six to nine nodes, most with a label, and up to two relationships more."""
    n = draw(st.integers(6, 9))
    edges = {(draw(st.integers(max(0, k - 3), k - 1)), k) for k in range(1, n)}
    for _ in range(draw(st.integers(0, 2))):
        edges.add(tuple(sorted(draw(st.permutations(range(n)))[:2])))  # type: ignore[arg-type]
    labels = [draw(st.sampled_from(["", ":L0", ":L0", ":L0", ":L1", ":L2"])) for _ in range(n)]
    return ", ".join([*(f"(v{k}{label})" for k, label in enumerate(labels)), *(f"(v{a})--(v{b})" for a, b in edges)])


@pytest.mark.parametrize("mode", ["DIFFERENT NODES", "DIFFERENT RELATIONSHIPS"])
@settings(max_examples=40)
@given(graph=labelled_graphs(), pattern=patterns())
def test_counts_are_the_numbers_of_rows(mode: str, graph: Graph, pattern: str) -> None:
    clause = f"MATCH {mode} {pattern}"
    rows = graph.query(f"{clause} RETURN id(v0) AS v0, id(v1) AS v1 LIMIT 20000").to_arrow().num_rows
    count = graph.query(f"{clause.replace('MATCH', 'MATCH /*+ search */')} RETURN count(*)").value()
    assert min(count, 20_000) == rows
    assert graph.query(f"RETURN EXISTS {{ {clause} }}").value() == (rows > 0)
