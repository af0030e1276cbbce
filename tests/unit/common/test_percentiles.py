"""Percentiles of many groups at once are those that one value after the other gives."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from qengine import ExecutionError, Graph
from qengine.exec.common.columns import ArrowColumn, ConstantColumn, ListColumn
from qengine.exec.common.percentiles import percentiles
from qengine.exec.scalar.aggregates import accumulator
from qengine.plan.expr import AggregateCall, Variable


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("name", ["percentilecont", "percentiledisc"])
@pytest.mark.parametrize("groups", [3, 400])
@pytest.mark.parametrize("kind", ["int", "float"])
def test_each_group_has_its_percentile(name: str, share: float, groups: int, kind: str) -> None:
    dice = np.random.default_rng(groups)
    lengths = dice.integers(0, 4000 // groups, groups)
    lengths[1] = 0
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    numbers = dice.integers(-50, 50, offsets[-1])
    items = numbers if kind == "int" else np.where(numbers == 7, np.nan, numbers / 8)
    lists = ListColumn(offsets.astype(np.int64), ArrowColumn(pa.array(items)))
    found = percentiles(name, lists, ConstantColumn(share, groups))
    assert found is not None
    for (begin, end), value in zip(pairwise(offsets.tolist()), found.values(), strict=True):
        expected = accumulator(AggregateCall(name, (Variable("x"), Variable("y"))))
        for each in items[begin:end].tolist() or [None]:
            expected.add((each, share))
        assert repr(value) == repr(expected.result())


def test_wrong_percentiles_are_refused() -> None:
    graph = Graph.from_records([{"id": k, "labels": (), "properties": {"i": k}} for k in range(5)])
    with pytest.raises(ExecutionError, match="isn't between 0 and 1"):
        graph.query("MATCH (n) RETURN percentileCont(n.i, 1.5)").fetchall()
    assert graph.query("MATCH (n) RETURN percentileDisc(n.i, 0.5), percentileCont(n.i, 0.5)").fetchall() == [(2, 2.0)]
