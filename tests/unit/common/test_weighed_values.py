"""Percentiles and deviations of many groups at once are those that one value after the other gives."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from qengine import ExecutionError, Graph
from qengine.exec.common.columns import ArrowColumn, ConstantColumn, ListColumn, ObjectColumn, from_values
from qengine.exec.common.weighed_values import of_weighed_values
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar.aggregates import accumulator
from qengine.optimizer.lower import counted_values
from qengine.plan.expr import AggregateCall, Variable
from qengine.testing.compare import agree

CONTEXT = ExecutionContext(None, threads=2)
_NAMES = ["percentilecont", "percentiledisc", "stdev", "stdevp"]


def _items(kind: str, numbers: Any) -> list[Any]:
    match kind:
        case "int":
            return list(numbers.tolist())
        case "float":
            return list(np.where(numbers == 7, np.nan, numbers / 8).tolist())
        case "mixed":
            return [number if number % 2 else number / 4 for number in numbers.tolist()]
    return [f"t{number}" for number in numbers.tolist()]


@pytest.mark.parametrize("shares", [[0], [0.5], [0.75], [1.0], [0.1, 0, 0.9]])
@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("groups", [3, 1000])
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("kind", ["int", "float", "mixed", "text"])
def test_each_group_has_its_aggregate(name: str, shares: list[Any], groups: int, weighed: bool, kind: str) -> None:
    if (kind == "text" and name != "percentiledisc") or (shares != [0] and name.startswith("stdev")):
        return
    dice = np.random.default_rng(groups)
    lengths = dice.integers(0, 2000 // groups, groups)
    lengths[1] = 0
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    items = _items(kind, dice.integers(-50, 50, offsets[-1]))
    times = dice.integers(1, 5, len(items)) if weighed else np.ones(len(items), np.int64)
    often = ArrowColumn(pa.array(times)) if weighed else ConstantColumn(1, len(items))
    column = ObjectColumn(items) if kind == "mixed" else from_values(items)
    given = [shares[k % len(shares)] for k in range(groups)]
    percentile = name.startswith("percentile")
    others = [from_values(given) if len(shares) > 1 else ConstantColumn(given[0], groups)] if percentile else []
    found = of_weighed_values(name, ListColumn(offsets, column), ListColumn(offsets, often), others, CONTEXT)
    assert found is not None
    for (begin, end), share, value in zip(pairwise(offsets.tolist()), given, found.values(), strict=True):
        expected = accumulator(AggregateCall(name, (Variable("x"), Variable("y"))))
        args = (share,) if percentile else ()
        for each, count in zip(items[begin:end] or [None], times[begin:end].tolist() or [1], strict=True):
            expected.add((each, *args), count)
        if percentile:
            assert value == expected.result() or repr(value) == repr(expected.result())
        else:
            assert value == pytest.approx(expected.result(), rel=1e-12, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("kind", ["spread", "normal", "near", "two", "one", "nan", "extreme", "whole"])
def test_places_of_long_lists_are_found(kind: str) -> None:
    dice = np.random.default_rng(7)
    n = 60_000
    values: Any = {
        "spread": lambda: dice.integers(-(2**62), 2**62, n),
        "normal": lambda: dice.normal(size=n),
        "near": lambda: 1.0 + dice.random(n) * 1e-12,
        "two": lambda: dice.choice([-1e300, 1e-300], n),
        "one": lambda: np.full(n, 7),
        "nan": lambda: np.where(dice.random(n) < 0.4, np.nan, dice.random(n)),
        "extreme": lambda: dice.choice([-(2**63), -1, 0, 1, 2**63 - 1], n),
        "whole": lambda: dice.integers(0, 5_000, n),
    }[kind]()
    offsets = np.array([0, 9, 20_000, 20_000, n])
    often = ListColumn(offsets, ConstantColumn(1, n))
    for share in (0.0, 0.25, 0.3999, 0.5, 0.75, 0.99999, 1.0):
        given = [ConstantColumn(share, 4)]
        found = of_weighed_values(
            "percentiledisc", ListColumn(offsets, ArrowColumn(pa.array(values))), often, given, CONTEXT
        )
        assert found is not None
        for (begin, end), value in zip(pairwise(offsets.tolist()), found.values(), strict=True):
            ordered = np.sort(values[begin:end])
            place = max(0, math.ceil(share * len(ordered)) - 1)
            assert repr(value) == repr(ordered[place].item() if len(ordered) else None)
        between = of_weighed_values(
            "percentilecont", ListColumn(offsets, ArrowColumn(pa.array(values))), often, given, CONTEXT
        )
        assert between is not None
        if kind in ("normal", "whole"):
            expected = [np.quantile(values[a:b], share) for a, b in pairwise(offsets.tolist()) if a < b]
            assert [each for each in between.values() if each is not None] == pytest.approx(expected, rel=1e-12)


def test_values_may_count_more_often_than_64_bits_hold() -> None:
    values = ListColumn(np.array([0, 3]), from_values([30, 10, 20]))
    times = ListColumn(np.array([0, 3]), from_values([2**61, 2**62, 2**62]))
    shares = {0: 10, 0.39: 10, 0.41: 20, 0.79: 20, 0.81: 30, 1: 30}
    for share, value in shares.items():
        for name in _NAMES[:2]:
            found = of_weighed_values(name, values, times, [ConstantColumn(share, 1)], CONTEXT)
            assert found is not None
            assert found.values() == [value]
    found = of_weighed_values("stdevp", values, times, [], CONTEXT)
    assert found is not None
    assert found.values() == [pytest.approx(56**0.5)]


def test_deviations_of_large_numbers_keep_their_digits() -> None:
    numbers = [1e15 + k for k in range(4)]
    lists = ListColumn(np.array([0, 4]), from_values(numbers))
    found = of_weighed_values("stdevp", lists, ListColumn(np.array([0, 4]), ConstantColumn(1, 4)), [], CONTEXT)
    assert found is not None
    assert found.values() == [pytest.approx(1.25**0.5, rel=1e-12)]


def test_wrong_percentiles_are_refused() -> None:
    graph = Graph.from_records([{"id": k, "labels": (), "properties": {"i": k, "s": k or "a"}} for k in range(5)])
    with pytest.raises(ExecutionError, match="isn't between 0 and 1"):
        graph.query("MATCH (n) RETURN percentileCont(n.i, 1.5)").fetchall()
    with pytest.raises(ExecutionError, match="numbers"):
        graph.query("MATCH (n) RETURN percentileCont(n.s, 0.5)").fetchall()
    assert graph.query("MATCH (n) RETURN percentileDisc(n.i, 0.5), percentileCont(n.i, 0.5)").fetchall() == [(2, 2.0)]


_OF_A_VALUE = (
    "percentileDisc(b.i, $p) AS d, percentileCont(b.i, 0.3) AS c, count(*) AS n, count(b.i) AS k, sum(b.i) AS s"
)
_OF_A_NODE = (
    "percentileDisc(b.t, $p) AS d, percentileCont(b.i, 0.3) AS c, stDev(b.f) AS n, avg(b.i) AS m, max(b.t) AS t"
)
_OF_BOTH = (
    "sum(a.i * b.i) AS s, count(DISTINCT [a.g, b.g]) AS d, max(a.t + b.t) AS m, avg(b.f) AS f, count(*) AS n, "
    "percentileDisc(a.i - b.g, $p) AS p, size(collect(DISTINCT [x IN [1, 2] WHERE x < a.i | x + b.i])) AS l"
)
_OF_A_RELATIONSHIP = "percentileDisc(r.w, $p) AS d, percentileCont(r.w, 0.3) AS c, stDevP(r.w) AS n"


@pytest.mark.parametrize(
    "keys",
    ["", "a.g AS g, ", "b.g AS g, ", "CASE WHEN a.g > 1 THEN 'more' END AS g, b.i % 2 AS b, ", "a.g < b.g AS g, "],
)
@pytest.mark.parametrize("condition", ["", "WHERE a.i < b.i ", "WHERE a.i > 100 "])
@pytest.mark.parametrize("aggregates", [_OF_A_VALUE, _OF_A_NODE, _OF_BOTH, _OF_A_RELATIONSHIP])
def test_values_that_are_counted_first_have_the_same_aggregates(
    keys: str, condition: str, aggregates: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted_values, "_REPEATED", 0.0)
    monkeypatch.setattr(counted_values, "_LEAST", 0.0)
    dice = np.random.default_rng(3)
    nodes = [
        {
            "id": k,
            "labels": ("N",),
            "properties": {"i": k % 5, "g": k % 3, "f": k % 4 / 8, "t": f"t{k % 6}"} if k % 7 else {},
        }
        for k in range(20)
    ]
    links = [
        {"type": "R", "start": int(a), "end": int(b), "properties": {"w": int(a * b) % 5}}
        for a, b in dice.integers(0, 20, (60, 2))
    ]
    graph = Graph.from_records(nodes, links)
    query = f"MATCH (a:N)-[r:R]->(b:N) {condition}RETURN {keys}{aggregates}"
    assert "@times" in str(graph.explain(query)) or aggregates == _OF_A_RELATIONSHIP
    agree(graph, query, {"p": 0.6})
