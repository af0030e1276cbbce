"""Counting rows that stand for many."""

from __future__ import annotations

import numpy as np
import pytest

from qengine import Graph
from qengine.errors import ResourceError
from qengine.exec.common.aggregates import total_weight
from qengine.exec.common.columns import ConstantColumn, count_column


@pytest.mark.parametrize("weights", [[], [3], [1, 2, 3], [2**62, 2**62, 2**62]])
def test_total_weight(weights: list[int]) -> None:
    assert total_weight(count_column(np.array(weights, np.int64))) == sum(weights)


def test_total_weight_of_constants() -> None:
    assert total_weight(ConstantColumn(2**40, 2**30)) == 2**70


def test_counts_that_do_not_fit_are_refused() -> None:
    leaves = range(1, 10_001)
    graph = Graph.from_records(
        [{"id": k} for k in range(10_001)], [{"type": "E", "start": 0, "end": k} for k in leaves]
    )
    match = "MATCH REPEATABLE ELEMENTS " + ", ".join(f"(h)-[:E]->(x{k})" for k in range(4))
    assert graph.query(f"{match} RETURN count(*)").value() == 10**16
    assert graph.query(f"UNWIND range(1, 900) AS x {match} RETURN count(*)").value() == 9 * 10**18
    with pytest.raises(ResourceError, match="exceeds 64 bits"):
        graph.query(f"UNWIND range(1, 1000) AS x {match} RETURN count(*)").value()
