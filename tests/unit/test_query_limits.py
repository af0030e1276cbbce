"""Limits of whole queries: timeout, interrupt, Ctrl-C, memory, threads, early stop."""

from __future__ import annotations

import itertools
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from qengine import Graph, OutOfMemory, QueryInterrupted, QueryTimeout, Result
from qengine.exec.context import ExecutionContext
from qengine.testing.generate import rmat, to_csr
from tests.interrupts import interrupting
from tests.limits.looks import watched

CLIQUE = "MATCH " + ", ".join(f"(v{i})-[:E]-(v{j})" for i in range(10) for j in range(i)) + " RETURN count(*)"
TRIANGLES = "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(a) RETURN count(*)"
ROWS = "MATCH (a)-[:E]-(b)-[:E]-(c)-[:E]-(d) RETURN a, b, c, d"


@pytest.fixture(scope="module")
def graph() -> Graph:
    csr = to_csr(rmat(13, 16, 42))
    start = np.repeat(np.arange(len(csr.offsets) - 1), np.diff(csr.offsets))
    once = start < csr.neighbors
    return Graph.from_edge_list((start[once], csr.neighbors[once].astype(np.int64)), undirected=True)


@pytest.mark.parametrize("query", [CLIQUE, ROWS, "MATCH (a)-[:E*]-(b) RETURN count(*)"])
def test_a_timeout_fires_inside_the_longest_operator(graph: Graph, query: str) -> None:
    with pytest.raises(QueryTimeout, match="longer than its timeout"):
        graph.query(query, timeout=0.2).fetchall()


@pytest.mark.parametrize(
    "query",
    [
        "RETURN reduce(s = 0, x IN range(1, 9000000) | s + x % 7 * x % 5)",
        "RETURN size([x IN range(1, 30000) WHERE all(y IN range(1, 30000) WHERE x + y > 0)])",
    ],
)
def test_a_timeout_fires_inside_expressions(graph: Graph, query: str) -> None:
    with pytest.raises(QueryTimeout, match="longer than its timeout"):
        graph.query(query, timeout=0.2).fetchall()


@pytest.mark.parametrize("how", ["fetchall", "to_arrow"])
def test_a_timeout_fires_between_conversions(graph: Graph, how: str) -> None:
    """The rows are there in time, a batch of them, and then somebody takes his time over them."""
    result = graph.query("MATCH (a)-[:E]-(b) RETURN [id(a)] AS a, [id(b)] AS b LIMIT 20000", timeout=1_000)
    assert isinstance(result._limits, ExecutionContext)
    limit = result._limits.control
    assert (result.fetchone() if how == "fetchall" else result.preview(1)) is not None
    limit.deadline_ns = 1
    with pytest.raises(QueryTimeout, match="longer than its timeout"):
        getattr(result, how)()
    assert result.fetchall() == []


LONG = {
    "parser": (f"RETURN size([{', '.join(map(str, range(5000)))}])", 2),
    "binder": ("UNWIND [1] AS x " + "WITH x " * 50 + "RETURN x", 51),
    "rules": (" UNION ".join(["RETURN 1 AS x"] * 30), 30),
    "orders": (" ".join(f"MATCH (a{k})-[:E]->(b{k}) WITH count(*) AS n{k}" for k in range(20)) + " RETURN n19", 40),
}


@pytest.mark.parametrize("stage", LONG)
def test_planning_looks_all_along(graph: Graph, stage: str) -> None:
    query, least = LONG[stage]
    with watched() as looks:
        graph.prepare(query)
    assert looks.count >= least
    for place in (1, looks.count // 2, looks.count):
        with watched(place) as stopped, pytest.raises(QueryInterrupted, match="while it was planned"):
            graph.query(f"{query} // {place}")
        assert stopped.count == place


def test_planning_is_stopped_by_the_timeout(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it counts: each look takes a second here."""
    now = itertools.count(0, 1_000_000_000)
    monkeypatch.setattr("qengine.exec.context.time.monotonic_ns", lambda: next(now))
    with pytest.raises(QueryTimeout, match=r"Planning the query took longer than its timeout of 3\.0 s"):
        graph.query(LONG["rules"][0] + " // timed", timeout=3)


def test_short_timeouts_are_met_by_what_executes(graph: Graph) -> None:
    result = graph.query("MATCH (a)-[:E]->(b) RETURN count(*) // short", timeout=0)
    with pytest.raises(QueryTimeout, match="The query ran longer"):
        result.value()


def test_interrupt_from_another_thread(graph: Graph) -> None:
    with interrupting(graph), pytest.raises(QueryInterrupted):
        graph.query(CLIQUE).fetchall()
    assert graph.query("MATCH (a) RETURN count(*)").value() == graph.node_count


def test_ctrl_c_stops_the_query_and_not_the_program() -> None:
    program = textwrap.dedent(
        f"""
        import os, signal, sys, threading, time
        import qengine
        from qengine.testing.generate import rmat, to_csr
        import numpy as np

        def files(frame):
            while frame is not None:
                yield frame.f_code.co_filename
                frame = frame.f_back

        def press_once_it_searches():
            while not any(name.endswith("exec/host/search.py") for name in files(sys._current_frames()[main])):
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGINT)

        main = threading.main_thread().ident
        csr = to_csr(rmat(13, 16, 42))
        start = np.repeat(np.arange(len(csr.offsets) - 1), np.diff(csr.offsets))
        once = start < csr.neighbors
        graph = qengine.Graph.from_edge_list((start[once], csr.neighbors[once].astype(np.int64)), undirected=True)
        graph.explain({CLIQUE!r})  # planned, and all imported that running it needs
        graph.query("MATCH (a)-[:E]-(b) RETURN count(*)").value()
        threading.Thread(target=press_once_it_searches).start()
        try:
            graph.query({CLIQUE!r}).fetchall()
        except qengine.QueryInterrupted:
            print("stopped", graph.query("RETURN 1 AS x").value())
        """
    )
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "stopped 1\n"


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a)-[:E]-(b)-[:E]-(c) RETURN DISTINCT a, c",
        "MATCH (a)-[:E]-(b)-[:E]-(c) RETURN collect(id(a))",
    ],
)
def test_a_memory_limit_far_too_small_is_said_clearly(graph: Graph, query: str) -> None:
    with pytest.raises(OutOfMemory) as caught:
        graph.query(query, memory_limit=1_000_000).fetchall()
    assert "1,000,000" in str(caught.value) and "hint:" in str(caught.value)


def test_values_that_grow_beyond_the_memory_limit_are_refused(graph: Graph) -> None:
    grown = (
        "MATCH (a)-->(b) WITH 'text' AS t, a " + "WITH t + t + id(a) AS t, a " * 12 + "RETURN collect(DISTINCT t) AS l"
    )
    with pytest.raises(OutOfMemory, match="memory limit of 50,000,000"):
        graph.query(grown, memory_limit=50_000_000).fetchall()


@pytest.mark.parametrize("columns", ["id(a) AS a, id(b) AS b", "a, b"])
def test_a_result_beyond_the_memory_limit_is_not_gathered(graph: Graph, columns: str) -> None:
    text = f"MATCH (a)-[:E]-(b)-[:E]-() RETURN {columns}"
    for gather in (Result.fetchall, Result.to_arrow, Result.to_pandas):
        result = graph.query(text, memory_limit=20_000_000)
        with pytest.raises(OutOfMemory, match="rows of the result") as caught:
            gather(result)
        assert "to_reader" in str(caught.value) and result.stats.rows < 2_000_000
    assert len(graph.query(text, memory_limit=20_000_000).fetchmany(5)) == 5


def test_counting_fits_where_rows_would_not(graph: Graph) -> None:
    few = graph.query("MATCH (a)-[:E]-(b)-[:E]-(c) RETURN count(*)", memory_limit=50_000_000).value()
    assert few == graph.query("MATCH (a)-[:E]-(b)-[:E]-(c) RETURN count(*)").value() > 10_000_000


def test_limit_stops_the_search(graph: Graph) -> None:
    rows = graph.query(ROWS + " LIMIT 5", timeout=60).fetchall()
    assert len(rows) == 5
    assert graph.query("MATCH (a) WHERE EXISTS { (a)-[:E]-()-[:E]-()-[:E]-() } RETURN count(*) > 0").value()


def test_a_dropped_result_ends_its_threads(graph: Graph) -> None:
    before = threading.active_count()
    for _ in range(5):
        result = graph.query(ROWS)
        result.fetchone()
        result.close()
    assert threading.active_count() <= before


def test_several_threads_query_one_graph(graph: Graph) -> None:
    true = graph.query(TRIANGLES).value()
    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(lambda _: graph.query(TRIANGLES, threads=1).value(), range(12)))
    assert counts == [true] * 12
