"""Results of few rows as Arrow data, beside those of a pipeline."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import pyarrow as pa
import pytest

from qengine import Graph
from qengine.exec.common import pipeline
from qengine.exec.common.few_rows import few_rows

PROPERTIES = ("i", "f", "s", "b", "d", "l", "mixed", "some", "none")
NODES = [
    {
        "labels": "P",
        "properties": {
            "k": k,
            "i": k * 7,
            "f": k / 4,
            "s": f"s{k % 3}",
            "b": k % 2 == 0,
            "d": datetime.date(2020, 1, 1 + k % 20),
            "l": [k],
            "mixed": k if k % 2 else str(k),
            **({"some": k} if k % 3 else {}),
        },
    }
    for k in range(3000)
]
ITEMS = (
    *(f"n.{key}" for key in PROPERTIES),
    "n.i + 1",
    "n.i / 2.0",
    "n.s + 'x'",
    "n.i > 20",
    "null",
    "1",
    "id(n)",
    "n",
)


@pytest.fixture(scope="module")
def graph() -> Graph:
    edges = [{"type": "R", "start": k, "end": (k + d) % 20} for k in range(20) for d in (1, 2)]
    graph = Graph.from_records(NODES, edges)
    for k in range(8):  # which makes an index of k
        graph.query("MATCH (n:P {k: $k}) RETURN n.i", {"k": k}).fetchall()
    return graph


def tables(graph: Graph, text: str) -> Iterator[pa.Table]:
    for k in (0, 1, 2, 3):
        yield graph.query(text, {"k": k}).to_arrow()


@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.parametrize("pattern", ["(n:P {k: $k})", "(:P {k: $k})-[:R]->(n)"])
def test_arrays_are_those_of_a_pipeline(graph: Graph, pattern: str, item: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"MATCH {pattern} RETURN {item} AS x, n.k AS k"
    interpreted = []
    monkeypatch.setattr(
        pipeline, "few_rows", lambda *arguments: interpreted.append(rows := few_rows(*arguments)) or rows
    )
    few = list(tables(graph, text))
    assert all(interpreted)
    monkeypatch.setattr(pipeline, "few_rows", lambda *arguments: None)
    for found, expected in zip(few, tables(graph, text), strict=True):
        assert found.schema == expected.schema
        assert found.equals(expected)


def test_plain_values_need_no_pipeline(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "MATCH (n:P {k: $k}) RETURN n.i AS i, n.f AS f, n.s AS s, n.b AS b"
    monkeypatch.setattr(pipeline, "batches", lambda *arguments: pytest.fail("a pipeline was run"))
    (row,) = graph.query(text, {"k": 3}).to_arrow().to_pylist()
    assert row == {"i": 21, "f": 0.75, "s": "s0", "b": False}
