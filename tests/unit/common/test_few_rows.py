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


RELATIONSHIPS = (
    "(:P {k: $k})-[r:R]->(n)",
    "(:P {k: $k})<-[r:R]-(n)",
    "(:P {k: $k})-[r:R]-(n)",
    "(:P {k: $k})-[r:R]->(n)-[q:R]->(m)",
    "(:P {k: $k})-[r:R {w: 2}]->(n)",
    "(:P {k: $k})<-[r:S]-(n)",
    "(:P {k: $k})-[r:S]-(n)",
    "(:P {k: $k})-[r:U]-(n)",
    "(:P {k: $k})-[r]-(n)",
)


@pytest.fixture(scope="module")
def linked() -> Graph:
    """R has properties, loops and parallel relationships, S none of these; U has no direction."""
    edges = [
        {"type": "R", "start": k, "end": (k + d) % 5, "properties": {"w": d, "on": datetime.date(2020, 1, 1 + d)}}
        for k in range(5)
        for d in (0, 1, 1, 2)
    ]
    edges += [{"type": "S", "start": k, "end": (k + d) % 5} for k in range(5) for d in (1, 3)]
    edges += [{"type": "U", "start": k, "end": (k + d) % 5} for k in range(5) for d in (0, 1)]
    graph = Graph.from_records(NODES, edges, undirected=["U"])
    for k in range(8):
        graph.query("MATCH (n:P {k: $k}) RETURN n.i", {"k": k}).fetchall()
    return graph


@pytest.mark.parametrize("pattern", RELATIONSHIPS)
def test_relationships_and_orders_are_those_of_a_pipeline(
    linked: Graph, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{few_rows.__module__}._ROWS", 32)
    text = f"MATCH {pattern} RETURN n.k AS k, r, r.on AS d, id(r) AS x, n.d AS e ORDER BY e DESC, x, k LIMIT 7"
    interpreted = []
    monkeypatch.setattr(pipeline, "few_rows", lambda *given: interpreted.append(few := few_rows(*given)) or few)
    few = list(tables(linked, text))
    assert all(interpreted)
    monkeypatch.setattr(pipeline, "few_rows", lambda *arguments: None)
    for found, expected in zip(few, tables(linked, text), strict=True):
        assert found.equals(expected)


def test_what_has_many_rows_goes_by_a_pipeline(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    interpreted = []
    monkeypatch.setattr(pipeline, "few_rows", lambda *given: interpreted.append(few := few_rows(*given)) or few)
    text = "MATCH (:P {k: $k})-[:R]-(n)-[:R]-(m)-[:R]-(o) RETURN n.k"
    assert graph.query(text, {"k": 3}).to_arrow().num_rows > 8
    assert interpreted == [None]


def test_plain_values_need_no_pipeline(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "MATCH (n:P {k: $k}) RETURN n.i AS i, n.f AS f, n.s AS s, n.b AS b, n.d AS d, n.none AS none"
    monkeypatch.setattr(pipeline, "batches", lambda *arguments: pytest.fail("a pipeline was run"))
    (row,) = graph.query(text, {"k": 3}).to_arrow().to_pylist()
    assert row == {"i": 21, "f": 0.75, "s": "s0", "b": False, "d": datetime.date(2020, 1, 4), "none": None}
