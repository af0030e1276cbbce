"""Native threads stay for what comes next, and a forked process has its own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np
import pytest

from qengine import Graph
from qengine.exec import threads as python_threads
from qengine.exec.context import ExecutionContext
from qengine.exec.host.term_sums import summed_terms
from qengine.testing.generate.graphs import rmat

QUERY = "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(a) WHERE a.x >= 0 RETURN a.x % 7 AS x, count(*) AS n ORDER BY x"

LONG = "/*+ search */ MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(e)-[:R]-(a) WHERE a.x <> c.x RETURN count(*)"


@pytest.fixture(scope="module")
def graph() -> Graph:
    draws = rmat(12, 8, seed=1)
    nodes = [{"id": k, "properties": {"x": k}} for k in range(1 << 12)]
    pairs = zip(draws.source.tolist(), draws.target.tolist(), strict=True)
    return Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in pairs])


def threads() -> set[int]:
    return {int(each.name) for each in Path("/proc/self/task").iterdir()}


def test_a_call_begins_no_thread_where_the_one_before_has_left_some() -> None:
    context, vector = ExecutionContext(threads=4), np.ones(1 << 20, np.uint64)
    summed_terms([(2, vector)], len(vector), context)
    before = threads()
    for _ in range(5):
        assert (summed_terms([(2, vector)], len(vector), context) == 2).all()
    assert threads() == before


def test_a_forked_process_begins_threads_of_its_own(graph: Graph) -> None:
    expected = graph.query(QUERY, threads=4, device="cpu").fetchall()
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if graph.query(QUERY, threads=4, device="cpu").fetchall() == expected else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_of_python_stay_too() -> None:
    context, seen = ExecutionContext(threads=2), []

    def asked(compute: Callable[[], Any]) -> Any:
        begun = context.begun(compute)
        try:
            return context.awaited(begun)
        finally:
            while not python_threads._waiting:  # it waits for work soon after it has given its result
                time.sleep(0.001)

    for _ in range(4):
        seen.append(asked(get_ident))
        with pytest.raises(ZeroDivisionError):
            asked(lambda: 1 // 0)
    assert len(set(seen)) == 1


def test_a_search_that_nobody_has_closed_ends_before_what_it_reads(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a handler of signals raises just when it was begun."""
    seen: list[ExecutionContext] = []

    def raising(context: ExecutionContext, status: int) -> None:
        seen.append(context)
        raise TimeoutError

    graph.explain(LONG)
    with monkeypatch.context() as patch, pytest.raises(TimeoutError):
        patch.setattr(ExecutionContext, "raise_for", raising)
        graph.query(LONG, device="cpu").fetchall()
    looks = seen[0].control.looks
    time.sleep(0.05)
    assert seen[0].control.looks == looks
