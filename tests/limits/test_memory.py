"""``memory_limit`` holds for every kind of query: the process's peak, not only what the engine counts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph, OutOfMemory
from tests.limits.measured import measured
from tests.limits.memory_kinds import MEMORY_KINDS, MemoryKind

SLACK = 64 * 1024 * 1024  # beyond the limit: what batches, threads and allocators take
SECONDS = 120

WARM = [
    "MATCH (a:A)-->(b)-[*1..2]->(c) WHERE 1000 < a.id < 1020 "
    "RETURN a.s + b.s AS s, collect(DISTINCT c) AS l ORDER BY s LIMIT 5",
    "MATCH p = shortestPath((a:A)-[*]-(b:A)) WHERE a.id = 3 AND b.id = 5 RETURN p, [x IN nodes(p) | x.s =~ '(?=a).*']",
]


@pytest.fixture(scope="module")
def graph() -> Graph:
    chance = np.random.default_rng(1)
    nodes, edges = 20_000, 200_000
    ids = np.arange(nodes)
    people = pa.table({"id": ids, "k": ids % 100, "s": [f"name{i % 997}" for i in range(nodes)]})
    ends = {"start": chance.zipf(1.6, edges) % nodes, "end": chance.integers(0, nodes, edges)}
    given = Graph.from_arrow([("A", people)], [("T", "A", "A", pa.table(ends))], key="id")
    for text in WARM:  # what is imported, compiled and counted once isn't the query's
        for gather in ("fetchall", "to_arrow", "to_pandas"):
            getattr(given.query(text, memory_limit=1_000_000_000), gather)()
    return given


def cases() -> list[object]:
    return [
        pytest.param(kind, id=kind.name.replace(" ", "_"), marks=() if kind.quick else pytest.mark.nets)
        for kind in MEMORY_KINDS
    ]


@pytest.mark.parametrize("kind", cases())
def test_the_process_takes_no_more_than_the_limit(graph: Graph, kind: MemoryKind) -> None:
    def run() -> str:
        try:
            kind.gather(graph.query(kind.text, kind.parameters, memory_limit=kind.limit, threads=2))
        except OutOfMemory as error:
            assert error.hint
            return "refused"
        return "answered"

    found = measured(run, SECONDS)
    assert found.outcome in (("answered",) if kind.answers else ("answered", "refused"))
    assert found.peak <= kind.limit + SLACK, f"{found.peak / 1e6:.0f} MB, {found.outcome}"


def test_kinds_are_many() -> None:
    assert len({kind.name for kind in MEMORY_KINDS}) == len(MEMORY_KINDS) >= 60
