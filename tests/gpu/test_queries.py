"""Whole queries on the GPU: against the reference on generated graphs, and against known counts of generated ones.

``tests/differential/test_true_counts.py`` has the open graphs' for all executors.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from qengine import Graph
from qengine.errors import ExecutionError, Unsupported
from qengine.testing.compare import difference
from qengine.testing.generate import rmat, to_csr
from qengine.testing.oracle import TooExpensive, true_rows
from qengine.testing.random_graph import random_graph
from qengine.testing.random_query import random_query
from tests.bench.estimates import SETS

pytestmark = pytest.mark.gpu


def compare(seed: int) -> str:
    """Run one pair; return how it went, or fail with what differs."""
    graph = random_graph(seed)
    store = graph.store()
    query = random_query(seed, graph)
    try:
        expected = true_rows(store, query.text, query.parameters)
        found = Graph(store).query(query.text, query.parameters, device="gpu").fetchall()
    except (TooExpensive, Unsupported, ExecutionError) as error:
        return type(error).__name__
    except Exception as error:
        error.add_note(f"seed {seed}: {query.text}\nparameters {query.parameters}")
        raise
    report = difference(expected, found, ordered=query.ordered, lists_ordered=query.lists_ordered)
    assert report is None, f"seed {seed}: {query.text}\nparameters {query.parameters}\n{report}"
    return "compared"


@pytest.mark.parametrize("block", range(3))
def test_generated_queries(block: int) -> None:
    outcomes = Counter(compare(seed) for seed in range(100 * block, 100 * (block + 1)))
    assert outcomes["compared"] > 50, outcomes


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
