"""Work that is dealt to the threads of an execution."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph, QueryInterrupted
from qengine.exec.common import dealing, masks
from qengine.exec.common.dealing import deal
from qengine.exec.context import ExecutionContext


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever comes after the first place takes long enough for all threads."""
    monkeypatch.setattr(dealing, "_ALONE_SECONDS", 0.0)


def test_what_takes_little_time_is_done_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[object] = []
    monkeypatch.setattr(ExecutionContext, "begun", lambda self, run: begun.append(run))
    monkeypatch.setattr(ExecutionContext, "awaited", lambda self, each: None)
    monkeypatch.setattr(dealing, "_ALONE_SECONDS", 10.0)
    for seconds, threads in ((1.0, 0), (5.0, 3), (20.0, 4)):
        clock = iter(range(100))
        monkeypatch.setattr(dealing, "perf_counter", lambda clock=clock, each=seconds: each * next(clock))
        seen: list[int] = []
        deal(seen.append, range(6), ExecutionContext(threads=5))
        assert (seen, len(begun)) == ([*range(6)], threads)
        begun.clear()


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_each_place_comes_once_and_the_first_before_all_others(n: int, threads: int) -> None:
    seen: list[int] = []
    deal(seen.append, range(n), ExecutionContext(threads=threads))
    assert seen[:1] == [*range(n)][:1]
    assert sorted(seen) == [*range(n)]


def test_several_threads_work() -> None:
    met = threading.Barrier(3, timeout=20)

    def work(place: int) -> None:
        if place in (1, 2, 3):
            met.wait()  # they are there at the same time, or never

    deal(work, range(4), ExecutionContext(threads=3))


def test_one_thread_works_where_memory_is_limited() -> None:
    names: set[str] = set()
    deal(
        lambda _: names.add(threading.current_thread().name), range(50), ExecutionContext(threads=4, memory_limit=1000)
    )
    assert len(names) == 1


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_first_error_is_raised(threads: int) -> None:
    both = threading.Barrier(2, timeout=20)

    def work(place: int) -> None:
        if place in (5, 6) and threads > 1:
            both.wait()  # neither knows of the other's error
        if place >= 5:
            raise ValueError(str(place))

    with pytest.raises(ValueError, match="5"):
        deal(work, range(40), ExecutionContext(threads=threads))


def test_an_interrupt_ends_it() -> None:
    context = ExecutionContext(threads=2)

    def work(place: int) -> None:
        if place == 3:
            context.interrupt()
        context.check()

    with pytest.raises(QueryInterrupted):
        deal(work, range(10_000), context)


def test_predicates_of_many_elements_are_dealt(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 5_000
    nodes = pa.table({"id": np.arange(n), "t": [f"t{k % 11}" for k in range(n)]})
    graph = Graph.from_arrow(
        [("P", nodes)],
        [("R", pa.table({"s": np.arange(n), "e": np.arange(n)[::-1], "w": np.arange(n) % 13}))],
        key="id",
    )
    query = "MATCH (a:P)-[k:R]->(b:P) WHERE k.w % 3 = 1 AND a.t <> 't3' AND b.t STARTS WITH 't1' RETURN a.id, b.id"
    expected = sorted(graph.query(query, threads=1).fetchall())
    monkeypatch.setattr(masks, "_RANGE", 64)
    assert sorted(graph.query(query, threads=3).fetchall()) == expected
    failing = graph.query("MATCH ()-[k:R]->() WHERE 100 / (k.w - 12) > 1 RETURN count(*)", threads=3)
    with pytest.raises(Exception, match="by zero"):
        failing.fetchall()
