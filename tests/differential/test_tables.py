"""Random queries over tables: those that are answered have the answer of the whole graph."""

import logging

import pytest

from qengine import ExecutionError, QengineError, Unsupported
from qengine.testing.compare import difference
from qengine.testing.random_graph import random_graph
from qengine.testing.random_query import random_query
from tests.examples import examples
from tests.unit.cluster.tables import both_ways

QUERIES = 10


@pytest.fixture(autouse=True)
def _quiet():
    logging.getLogger("qengine").setLevel(logging.ERROR)
    yield
    logging.getLogger("qengine").setLevel(logging.NOTSET)


def outcome(ask):
    """Return the rows of a result, or its error."""
    try:
        return ask().fetchall()
    except QengineError as error:
        return error


@pytest.mark.parametrize("seed", range(examples(24)))
def test_random_queries(seed):
    graph = random_graph(f"tables {seed}", most_nodes=9, most_relationships=20)
    if not graph.nodes:
        return
    whole, tables = both_ways(graph, cells=seed % 7 + 1)
    with tables:
        for place in range(QUERIES):
            query = random_query(f"tables {seed}/{place}", graph)
            found = outcome(lambda query=query: tables.query(query.text, query.parameters))
            if isinstance(found, Unsupported):
                continue
            expected = outcome(lambda query=query: whole.query(query.text, query.parameters, threads=1))
            if isinstance(found, QengineError):
                # Cells look at rows that LIMIT would have left out.
                early = isinstance(found, ExecutionError) and "LIMIT" in query.text
                assert early or str(found) == str(expected), query.text
                continue
            assert not isinstance(expected, QengineError), query.text
            told = difference(expected, found, ordered=query.ordered, lists_ordered=query.lists_ordered)
            assert told is None, f"{query.text}\n{told}"
