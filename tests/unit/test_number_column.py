"""Sums of floats where some groups have none: columns of floats and integers, in results, orders and conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph
from qengine.exec.common.columns import ObjectColumn, concatenate
from qengine.exec.common.number_column import NumberColumn
from qengine.exec.common.ordering import ranks
from qengine.exec.common.results import ResultRows
from tests.property.test_aggregate_entries import agrees


def column(count: int, seed: int) -> NumberColumn:
    random = np.random.default_rng(seed)
    whole = random.random(count) < 0.4
    return NumberColumn(np.where(whole, random.integers(-3, 3, count), random.normal(size=count)), whole)


@pytest.mark.parametrize("count", [0, 1, 40])
def test_it_is_what_its_values_are(count: int) -> None:
    made = column(count, count)
    objects = ObjectColumn(made.values())
    places = np.random.default_rng(1).integers(0, max(count, 1), 7 if count else 0)
    for one, other in (
        (made, objects),
        (made.take(places), objects.take(places)),
        (made.slice(2, 5), objects.slice(2, 5)),
        (concatenate([made, made.slice(1, 3)]), concatenate([objects, objects.slice(1, 3)])),
    ):
        assert list(map(repr, one.values())) == list(map(repr, other.values()))
        assert not one.is_null().any()
        order = [np.argsort(ranks(each), kind="stable").tolist() for each in (one, other)]
        assert order[0] == order[1]
        assert arrow(one) == arrow(other)


def arrow(made: Any) -> list[str]:
    """Return the type and the values that a result gives of a column, as text."""
    from qengine.exec.common.batch import Batch

    found = ResultRows(Batch(len(made), {"x": made}), None).arrow("x")  # type: ignore[arg-type]
    found.validate(full=True)
    return [str(found.type) if len(made) else "", *map(repr, found.to_pylist())]


def test_columns_of_sums_are_no_objects() -> None:
    """Which they were: a Python object for each of many groups."""
    n = 500
    income = pa.array(np.arange(n) / 8, mask=np.arange(n) % 20 == 0)
    graph = Graph.from_arrow([("A", pa.table({"id": np.arange(n), "v": income}))], [], key="id")
    for query in (
        "MATCH (x:A) RETURN x.id, sum(x.v)", "MATCH (x:A) RETURN x.id AS i, sum(x.v) AS s ORDER BY s DESC, i LIMIT 30",
        "MATCH (x:A) WITH x.id AS i, sum(x.v) AS s WHERE s > 3 OR s = 0 RETURN s, count(*), collect(i)[0], max(s)",
        "MATCH (x:A) WITH x.id AS i, sum(x.v) AS s UNWIND [s, i] AS y RETURN DISTINCT y",
    ):  # fmt: skip
        agrees(graph, query)
    batch = next(iter(graph.query("MATCH (x:A) RETURN x.id AS i, sum(x.v) AS s")._unread_batches()))
    assert isinstance(batch, ResultRows)
    assert isinstance(batch._batch.columns["s"], NumberColumn)
