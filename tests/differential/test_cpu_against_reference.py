"""The CPU executor agrees with the reference executor on generated graphs and queries."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import pytest

from qengine import Graph
from qengine.errors import ExecutionError, Unsupported
from qengine.testing.compare import difference
from qengine.testing.oracle import TooExpensive, true_rows
from qengine.testing.random_graph import random_graph
from qengine.testing.random_query import random_query
from qengine.testing.verify_physical import verify_physical

BLOCK = 250


def compare(seed: int) -> str:
    """Run one pair; return how it went, or fail with what differs."""
    graph = random_graph(seed)
    store = graph.store()
    query = random_query(seed, graph)
    try:
        expected = true_rows(store, query.text, query.parameters)
    except TooExpensive:
        return "too expensive"
    except Unsupported:
        return "refused"
    except ExecutionError as error:
        clauses = query.text.count("MATCH") + query.text.count("WITH")
        if clauses > 1 or "Limit 0" in str(Graph(store).explain(query.text)):
            with suppress(ExecutionError):  # perhaps not met: other clauses may exclude the row, or have none at all
                Graph(store).query(query.text, query.parameters, threads=1).fetchall()
            return "error"
        with pytest.raises(ExecutionError):
            print(f"seed {seed}: {query.text} {query.parameters}: expected {error}")
            Graph(store).query(query.text, query.parameters, threads=1).fetchall()
        return "error"
    try:
        prepared = Graph(store).prepare(query.text)
        assert prepared._planned.physical is not None
        verify_physical(prepared._planned.physical)
        found = prepared.run(query.parameters, threads=1 + seed % 2).fetchall()
    except Unsupported:
        return "refused"
    except Exception as error:
        error.add_note(f"seed {seed}: {query.text}\nparameters {query.parameters}")
        raise
    report = difference(expected, found, ordered=query.ordered, lists_ordered=query.lists_ordered)
    assert report is None, f"seed {seed}: {query.text}\nparameters {query.parameters}\n{report}"
    return "rows" if expected else "empty"


def check(first: int, count: int) -> None:
    outcomes = Counter(compare(seed) for seed in range(first, first + count))
    assert outcomes["rows"] > count * 0.35, outcomes
    assert outcomes["refused"] < count * 0.08, outcomes


@pytest.mark.parametrize("block", range(5))
def test_generated_queries(block: int) -> None:
    check(block * BLOCK, BLOCK)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(5, 90))
def test_more_generated_queries(block: int) -> None:
    check(block * BLOCK, BLOCK)
