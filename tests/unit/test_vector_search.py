"""VECTOR indexes: their searches find what comparing all vectors finds, also in versions that have changed."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from qengine import ExecutionError, Graph, OutOfMemory, vector_search

QUERY = [0.3, -0.2, 0.9]


@pytest.fixture
def graph() -> Graph:
    chance = random.Random(5)
    vectors = [[chance.uniform(-1, 1) for _ in range(3)] if row % 7 else None for row in range(300)]
    table = pa.table({"id": range(300), "v": pa.array(vectors, pa.list_(pa.float32(), 3))})
    graph = Graph.from_arrow({"P": table}, {})
    graph.query("CREATE VECTOR INDEX cosine FOR (n:P) ON n.v")
    graph.query(
        "CREATE VECTOR INDEX euclidean FOR (n:P) ON n.v "
        "OPTIONS {indexConfig: {`vector.similarity_function`: 'euclidean'}}"
    )
    return graph


def searched(graph: Any, index: str, count: int) -> list[tuple[Any, ...]]:
    text = "CALL db.index.vector.queryNodes($index, $count, $query) YIELD node, score RETURN node.id, score"
    return [tuple(row) for row in graph.query(text, {"index": index, "count": count, "query": QUERY})]


def compared(graph: Graph, index: str, count: int) -> list[tuple[Any, ...]]:
    text = f"MATCH (n:P) WHERE size(n.v) = 3 RETURN n.id, vector.similarity.{index}(n.v, $query) AS score"
    rows = [tuple(row) for row in graph.query(text, {"query": QUERY})]
    return sorted(rows, key=lambda row: (-row[1], row[0]))[:count]


@pytest.mark.parametrize("index", ["cosine", "euclidean"])
def test_the_nearest_are_those_that_comparing_all_gives(graph: Graph, index: str) -> None:
    for changes in range(3):
        for count in (1, 10, 1000):
            expected = compared(graph, index, count)
            found = searched(graph, index, count)
            assert [row[0] for row in found] == [row[0] for row in expected]
            assert [row[1] for row in found] == pytest.approx([row[1] for row in expected], abs=1e-12)
        if changes == 0:
            graph.query("MATCH (n:P) WHERE n.id % 5 = 0 SET n.v = [n.id, 1, 2]")  # integers, and of other lengths
        else:
            graph.query("MATCH (n:P) WHERE n.id % 3 = 0 SET n.v = CASE WHEN n.id % 2 = 0 THEN [1.0] ELSE 'text' END")
            graph.query("MATCH (n:P) WHERE n.id % 11 = 0 DELETE n")


def ids(rows: list[tuple[Any, ...]]) -> list[Any]:
    return [row[0] for row in rows]


def test_a_version_lays_out_what_was_touched(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    searched(graph, "cosine", 1)
    laid_out = []
    own = vector_search._read

    def read(array: Any, dimension: int) -> Any:
        laid_out.append(len(array))
        return own(array, dimension)

    monkeypatch.setattr(vector_search, "_read", read)
    for number in range(5):
        graph.query("MATCH (n:P {id: $k}) SET n.v = [1.0, $k, 2.0]", {"k": number})
        graph.query("CREATE (:P {id: $k, v: [$k, 1, 0]}) CREATE (:Q)-[:R]->(:Q)", {"k": 1000 + number})
        graph.query("MATCH (n:P {id: $k}) DETACH DELETE n", {"k": 100 + number})
        assert ids(searched(graph, "cosine", 9)) == ids(compared(graph, "cosine", 9))
        with graph.transaction() as transaction:
            transaction.query("MATCH (n:P {id: 50}) SET n.v = [0.3, -0.2, 0.9]")
            assert ids(searched(transaction, "cosine", 1)) == [50]
            transaction.rollback()
        assert ids(searched(graph, "cosine", 9)) == ids(compared(graph, "cosine", 9))
    assert sum(laid_out) < 100, "of 300 vectors"


def test_the_memory_limit_holds() -> None:
    table = pa.table({"id": range(4000), "v": pa.array([[float(k)] * 64 for k in range(4000)])})
    graph = Graph.from_arrow({"P": table}, {})
    graph.query("CREATE VECTOR INDEX v FOR (n:P) ON n.v")
    text = "CALL db.index.vector.queryNodes('v', 1, $q) YIELD node RETURN node.id"
    with pytest.raises(OutOfMemory, match="VECTOR index v"):
        graph.query(text, {"q": [1.0] * 64}, memory_limit="1MB").fetchall()
    assert graph.query(text, {"q": [1.0] * 64}, memory_limit="20MB").value() == 1


def test_an_index_that_is_dropped_is_not_searched(graph: Graph) -> None:
    graph.query("DROP INDEX cosine")
    with pytest.raises(ExecutionError, match="There is no VECTOR index 'cosine' of nodes"):
        searched(graph, "cosine", 1)


def test_an_index_comes_back_with_how_it_compares(graph: Graph) -> None:
    (statement,) = graph.query(
        "SHOW INDEXES YIELD name, createStatement WHERE name = 'euclidean' RETURN createStatement"
    )
    other = Graph()
    other.query(statement[0])
    shown = other.query("SHOW INDEXES YIELD createStatement").fetchall()
    assert [row[0] for row in shown] == [statement[0]]
