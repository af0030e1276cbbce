"""Queries in parts of their roots, merged: what one process answers, for random queries over random graphs."""

import logging

import pytest

from qengine import Graph, QengineError
from qengine.cluster.cluster import Cluster
from qengine.testing.compare import difference
from qengine.testing.random_graph import random_graph
from qengine.testing.random_query import random_query
from tests.unit.cluster.inline import Inline

QUERIES = 10


@pytest.fixture(autouse=True)
def _quiet():
    logging.getLogger("qengine").setLevel(logging.ERROR)
    yield
    logging.getLogger("qengine").setLevel(logging.NOTSET)


def outcome(ask):
    """Return the rows of a result, or what its error says."""
    try:
        return ask().fetchall()
    except QengineError as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("seed", range(12))
def test_random_queries_in_parts(seed, tmp_path):
    graph = random_graph(f"cluster {seed}")
    Graph(graph.store()).save(tmp_path)
    with Graph.open(tmp_path, read_only=True) as one, Cluster(str(tmp_path), Inline(tmp_path), least_cost=0.0) as parts:
        for place in range(QUERIES):
            query = random_query(f"cluster {seed}/{place}", graph)
            expected = outcome(lambda query=query: one.query(query.text, query.parameters, threads=1))
            found = outcome(lambda query=query: parts.query(query.text, query.parameters))
            if isinstance(expected, tuple) or isinstance(found, tuple):
                assert found == expected, query.text
                continue
            how = {"ordered": query.ordered, "lists_ordered": query.lists_ordered}
            assert difference(expected, found, **how) is None, f"{query.text}\n{difference(expected, found, **how)}"
        assert parts._engine.tasks > 0 or not graph.nodes
