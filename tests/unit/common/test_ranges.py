"""``range()`` of many rows at once: the items of rows are made in parts that don't end where the rows do."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from qengine import Graph
from tests.limits.looks import watched


@pytest.fixture(scope="module")
def graph() -> Graph:
    return Graph.from_arrow([("A", pa.table({"id": [1]}))], [], key="id")


@pytest.mark.parametrize("seed", range(6))
def test_ranges_of_rows(graph: Graph, seed: int) -> None:
    drawn = random.Random(seed)
    base = drawn.choice([0, 5, -(2**59), 2**59])
    longest = [60, 60, 60, 60, 60, 60, 200_000]
    rows = [[drawn.randint(-50, drawn.choice(longest)), drawn.choice([-7, -1, 1, 2, 9])] for _ in range(300)]
    text = "UNWIND $rows AS r RETURN range($base, $base + r[0], r[1]) AS stepped, range($base, $base + r[0]) AS plain"
    for (stepped, plain), (width, step) in zip(
        graph.query(text, params={"rows": rows, "base": base}), rows, strict=True
    ):
        assert stepped == list(range(base, base + width + (1 if step > 0 else -1), step))
        assert plain == list(range(base, base + width + 1))


def test_it_is_looked_at_while_items_are_made(graph: Graph) -> None:
    text = "UNWIND range(1, 10) AS i RETURN sum(size(range(i, {})))"
    looks = []
    for items in (1_000, 1_000_000):
        with watched() as seen:
            assert len(graph.query(text.format(items)).fetchall()) == 1
        looks.append(seen.count)
    assert looks[1] >= looks[0] + 100
