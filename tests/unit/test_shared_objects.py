"""Objects that stand in many rows: columns of these are what columns of each row's objects are."""

from __future__ import annotations

import numpy as np
import pytest

from qengine import Graph
from qengine.exec.common.columns import ObjectColumn

OBJECTS = [{"at": 1}, None, [1, "two"], "three"]


@pytest.mark.parametrize("length", [3, 15, 16, 400])
def test_equal_to_each_rows_objects(length: int) -> None:
    generator = np.random.default_rng(length)
    places = generator.integers(0, len(OBJECTS), length)
    column = ObjectColumn(OBJECTS).take(places)
    assert isinstance(column, ObjectColumn)
    assert (column.shared is not None) == (length >= 4 * len(OBJECTS))
    plain = ObjectColumn([OBJECTS[place] for place in places])
    again = generator.integers(0, length, 2 * length)
    for one, other in (
        (column, plain),
        (column.take(again), plain.take(again)),
        (column.slice(1, 2), plain.slice(1, 2)),
    ):
        assert isinstance(one, ObjectColumn)
        assert one.is_null().tolist() == other.is_null().tolist()
        assert abs(one.nbytes - other.nbytes) <= 64 + 8 * len(one)  # what lists have in reserve
        assert one.values() == other.values()
        assert len(one) == len(other)


def test_bounds_of_given_maps() -> None:
    nodes = [{"id": row, "labels": "N", "properties": {"day": row}} for row in range(60)]
    graph = Graph.from_records(nodes, [])
    text = (
        "UNWIND [{begin: date('2020-01-03')}, {begin: null}, {begin: date('2020-02-01')}] AS w MATCH (n:N) "
        "WITH w, date('2020-01-01') + duration({days: n.day}) AS day "
        "WHERE day >= w.begin AND day < w.begin + duration({days: 20}) "
        "RETURN w.begin AS begin, count(*) AS n ORDER BY begin"
    )
    assert graph.query(text).fetchall() == graph.query(text, device="reference").fetchall()
