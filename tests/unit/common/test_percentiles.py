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
from qengine.optimizer.lower import counted_values
from qengine.plan.expr import AggregateCall, Variable
from qengine.testing.compare import difference


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("name", ["percentilecont", "percentiledisc"])
@pytest.mark.parametrize("groups", [3, 400, 3000])
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


@pytest.mark.parametrize("keys", ["", "a.g AS g, ", "CASE WHEN a.g > 1 THEN 'more' END AS g, "])
@pytest.mark.parametrize("condition", ["", "WHERE a.i < b.i ", "WHERE a.i > 100 "])
def test_values_that_are_counted_first_have_the_same_percentiles(
    keys: str, condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted_values, "_REPEATED", 0.0)
    dice = np.random.default_rng(3)
    nodes = [{"id": k, "labels": ("N",), "properties": {"i": k % 5, "g": k % 3} if k % 7 else {}} for k in range(20)]
    links = [{"type": "R", "start": int(a), "end": int(b)} for a, b in dice.integers(0, 20, (60, 2))]
    graph = Graph.from_records(nodes, links)
    query = f"MATCH (a:N)-[:R]->(b:N) {condition}RETURN {keys}percentileDisc(b.i, $p) AS d, "
    query += "percentileCont(b.i, 0.3) AS c, count(*) AS n, count(b.i) AS k, sum(b.i) AS s, avg(b.i) AS m"
    assert "@times" in str(graph.explain(query))
    found, expected = (graph.query(query, {"p": 0.6}, device=device).fetchall() for device in ("cpu", "reference"))
    assert (told := difference(expected, found)) is None, told
