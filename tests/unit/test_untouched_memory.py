"""Walks that come to few vertices touch little memory, however many vertices there are."""

from __future__ import annotations

import resource

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph

VERTICES = 2_000_000
LINKS = {"start": [0, 1, VERTICES // 2, 2], "end": [1, VERTICES // 2, VERTICES - 1, 0]}
TEXTS = (
    "MATCH (a {id: 0})-[:R*1..3]-(b) WITH DISTINCT b RETURN count(*), sum(b.id)",
    "MATCH p = shortestPath((a {id: 0})-[:R*]-(b {id: $last})) RETURN length(p), 0",
    "MATCH ALL SHORTEST (a {id: 0})-[:R]-*(b {id: $last}) RETURN count(*), 0",
)
ROWS = ((4, 3 + VERTICES // 2 + VERTICES - 1), (3, 0), (1, 0))


@pytest.fixture(scope="module")
def graph() -> Graph:
    return Graph.from_arrow({"N": pa.table({"id": np.arange(VERTICES)})}, [("R", "N", "N", pa.table(LINKS))])


@pytest.mark.parametrize(("text", "row"), list(zip(TEXTS, ROWS, strict=True)))
def test_pages_that_no_walk_comes_to_stay_untouched(graph: Graph, text: str, row: tuple[int, int]) -> None:
    # What is freed once makes the allocator keep as much for the next time, which must be written to be zero.
    faults = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        assert graph.query(text, {"last": VERTICES - 1}).fetchall() == [row]
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    # Two masks of the vertices have some 1,000.
    assert min(faults[2:]) < 1_500, "an array of 4 bytes a vertex alone has some 2,000 pages"
