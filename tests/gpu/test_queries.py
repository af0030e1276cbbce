"""Whole queries on the GPU: against the reference on generated graphs, and against known counts of generated ones.

``tests/differential/test_true_counts.py`` has the open graphs' for all executors.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from qengine import Graph
from qengine.testing.composed import check
from qengine.testing.generate import rmat, to_csr
from qengine.testing.random_graph import random_graph
from qengine.testing.random_query import random_query
from tests.bench.estimates import SETS

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("block", range(3))
def test_generated_queries(block: int) -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(100 * block, 100 * (block + 1)):
        made = random_graph(seed)
        outcomes[check(Graph(made.store()), random_query(seed, made), device="gpu")] += 1
    assert outcomes["rows"] + outcomes["empty"] > 50, outcomes


@pytest.mark.shared_data("enron16", "email-Enron")
def test_labelled_counts_of_thousands_to_billions() -> None:
    found, cases = SETS["enron16"]()
    wrong = [case.name for case in cases if found.query(case.query, device="gpu").value() != case.truth]
    assert cases and not wrong


@pytest.mark.parametrize("scale", [10, 13])
def test_triangles(scale: int) -> None:
    start, end = to_csr(rmat(scale, 16, 42)).edges()
    found = Graph.from_edge_list((start.astype(np.int64), end.astype(np.int64)), undirected=True)
    rows = np.zeros((1 << scale, 1 << scale), np.float32)
    rows[start, end] = rows[end, start] = 1
    expected = round(float((rows @ rows * rows).sum(dtype=np.float64)))
    assert found.query("MATCH (a)--(b)--(c)--(a) RETURN count(*)", device="gpu").value() == expected
