"""What is seen while a graph changes: by results that are read, by other threads, by the statement itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from qengine import Graph, QueryInterrupted, QueryTimeout
from qengine.errors import ExecutionError, OutOfMemory, TransactionError

COUNT = "MATCH (n) RETURN count(n)"


def count(graph: Graph, text: str = COUNT) -> int:
    (found,) = graph.query(text).fetchall()
    value: int = found[0]
    return value


@contextmanager
def other(do: Callable[[], None]) -> Iterator[None]:
    """Do something in a thread meanwhile; its errors are raised at the end."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            do()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    if errors:
        raise errors[0]


# ------------------------------------------------------------ versions


def test_a_result_gives_the_rows_of_when_it_was_asked_for() -> None:
    graph = Graph()
    graph.query("UNWIND range(1, 8000) AS i CREATE (:N {i: i})")
    result = graph.query("MATCH (n:N) RETURN n.i AS i, n")
    first = [result.fetchone() for _ in range(10)]
    graph.query("MATCH (n:N) SET n.i = -1")
    graph.query("MATCH (n:N) DETACH DELETE n")
    rows = [row for row in (*first, *result.fetchall()) if row is not None]
    assert sorted(row["i"] for row in rows) == list(range(1, 8001))
    assert all(row["n"].properties["i"] == row["i"] for row in rows)
    assert count(graph) == 0


def test_prepared_statements_see_the_latest_version() -> None:
    graph = Graph()
    prepared = graph.prepare("MATCH (n:N) WHERE n.i > $i RETURN count(n)")
    assert prepared.run({"i": 0}).fetchall()[0][0] == 0
    make = graph.prepare("CREATE (:N {i: $i})")
    for i in range(1, 4):
        make.run({"i": i})
        assert prepared.run({"i": 0}).fetchall()[0][0] == i
    graph.query("MATCH (n:N) SET n.i = 'text'")
    assert prepared.run({"i": 0}).fetchall()[0][0] == 0


def test_plans_are_kept_by_version() -> None:
    graph = Graph()
    assert count(graph) == 0
    text = "MATCH (n:Later) RETURN n.name"
    assert [notice.code for notice in graph.query(text).notices] == ["UnknownLabel", "UnknownProperty"]
    graph.query("CREATE (:Later {name: 'x'})")
    result = graph.query(text)
    assert (result.notices, result.fetchall()) == ((), [("x",)])


def test_a_statement_sees_what_it_made_behind_with_alone() -> None:
    graph = Graph()
    graph.query("CREATE (:A), (:A)")
    assert graph.query("MATCH (:A) CREATE (:A) RETURN count(*)").fetchall() == [(2,)]
    assert graph.query("MATCH (:A) CREATE (:A) WITH DISTINCT 1 AS one MATCH (:A) RETURN count(*)").fetchall() == [(8,)]


# ------------------------------------------------------------ threads


@pytest.mark.parametrize("alone", [True, False])
def test_money_is_neither_made_nor_lost(alone: bool) -> None:
    accounts, moves = 20, 60
    graph = Graph.from_records(
        [{"id": i, "labels": "Account", "properties": {"i": i, "sum": 100}} for i in range(accounts)]
    )
    move = "MATCH (a:Account {i: $a}), (b:Account {i: $b}) SET a.sum = a.sum - $x, b.sum = b.sum + $x"
    ended = threading.Event()
    sums: list[int] = []

    def read() -> None:
        while not ended.is_set():
            sums.append(count(graph, "MATCH (a:Account) RETURN sum(a.sum)"))

    with other(read), other(read):
        try:
            for at in range(moves):
                given = {"a": at % accounts, "b": (at * 7 + 1) % accounts, "x": at}
                if alone:
                    graph.query(move, given)
                    continue
                with graph.transaction() as t:
                    t.query("MATCH (a:Account {i: $a}) SET a.sum = a.sum - $x", given)
                    assert t.query("MATCH (a:Account) RETURN sum(a.sum)").fetchall() == [(100 * accounts - at,)]
                    t.query("MATCH (b:Account {i: $b}) SET b.sum = b.sum + $x", given)
        finally:
            ended.set()
    assert sums and set(sums) == {100 * accounts}


def test_writers_of_many_threads_wait_for_each_other() -> None:
    graph = Graph()
    graph.query("CREATE (:Counter {n: 0})")

    def write() -> None:
        for _ in range(25):
            graph.query("MATCH (c:Counter) SET c.n = c.n + 1")

    with other(write), other(write), other(write):
        write()
    assert graph.query("MATCH (c:Counter) RETURN c.n").fetchall() == [(100,)]


def test_waiting_for_a_writer_ends_with_the_timeout() -> None:
    graph = Graph()
    failed: list[str] = []

    def write() -> None:
        for begin in (lambda: graph.query("CREATE ()", timeout=0.2), lambda: graph.transaction(timeout=0.2)):
            try:
                begin()
            except QueryTimeout as error:
                failed.append(str(error.code))

    with graph.transaction() as t:
        t.query("CREATE ()")
        with other(write):
            pass
        assert count(graph) == 0
    assert len(failed) == 2
    assert count(graph) == 1


def test_interrupt_ends_waiting() -> None:
    graph = Graph()
    failed = []

    def write() -> None:
        with pytest.raises(QueryInterrupted):
            graph.query("CREATE ()")
        failed.append(True)

    with graph.transaction(), other(write):
        while not failed:
            time.sleep(0.05)
            graph.interrupt()
    assert count(graph) == 0


# ------------------------------------------------------------ transactions


def test_a_transaction_inside_another_is_refused() -> None:
    graph = Graph()
    with graph.transaction() as t:
        for begin in (graph.transaction, lambda: graph.query("CREATE ()")):
            with pytest.raises(TransactionError) as caught:
                begin()
            assert caught.value.code == "NestedTransaction"
        assert graph.query(COUNT).fetchall() == [(0,)]
        t.query("CREATE ()")
    assert count(graph) == 1


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_transaction_that_has_ended_takes_nothing(end: str) -> None:
    graph = Graph()
    t = graph.transaction()
    t.query("CREATE ()")
    getattr(t, end)()
    for ask in (lambda: t.query(COUNT), lambda: t.query("CREATE ()"), t.commit, t.rollback):
        with pytest.raises(TransactionError) as caught:
            ask()
        assert caught.value.code == "TransactionEnded"
    assert count(graph) == (end == "commit")
    graph.query("CREATE ()")


def test_an_error_takes_all_back_and_lets_others_write() -> None:
    graph = Graph()
    with pytest.raises(ZeroDivisionError), graph.transaction() as t:
        t.query("CREATE ()")
        1 / 0  # noqa: B018
    assert count(graph) == 0
    graph.query("CREATE ()")


def test_a_statement_that_fails_is_taken_back_alone() -> None:
    graph = Graph()
    with graph.transaction() as t:
        t.query("CREATE (:Kept {i: 0})")
        with pytest.raises(ExecutionError):
            t.query("MATCH (k:Kept) SET k.i = 1 CREATE (:Gone) WITH k UNWIND [1, 0] AS x SET k.i = 1 / x")
        assert t.query("MATCH (n) RETURN n.i, labels(n)").fetchall() == [(0, ["Kept"])]
    assert graph.query("MATCH (n) RETURN n.i, labels(n)").fetchall() == [(0, ["Kept"])]


def test_a_forgotten_transaction_lets_others_write() -> None:
    graph = Graph()
    t = graph.transaction()
    t.query("CREATE ()")
    del t
    graph.query("CREATE ()", timeout=5)
    assert count(graph) == 1


# ------------------------------------------------------------ limits


def test_a_long_write_that_is_stopped_leaves_nothing() -> None:
    graph = Graph()
    graph.query("UNWIND range(1, 300) AS i CREATE (:N {i: i})")
    long = "MATCH (a:N), (b:N), (c:N) CREATE (a)-[:R]->(b) SET c.i = 0"
    with pytest.raises(QueryTimeout):
        graph.query(long, timeout=0.3)
    failed = []

    def write() -> None:
        with pytest.raises(QueryInterrupted):
            graph.query(long)
        failed.append(True)

    with other(write):
        while not failed:
            time.sleep(0.1)
            graph.interrupt()
    assert count(graph) == 300
    assert count(graph, "MATCH ()-[r]->() RETURN count(r)") == 0
    assert count(graph, "MATCH (n:N) WHERE n.i > 0 RETURN count(n)") == 300
    graph.query("CREATE ()")


@pytest.mark.parametrize(
    "text",
    [
        "UNWIND range(1, 100000) AS i CREATE (:N {i: i})",
        "UNWIND range(1, 100000) AS i MERGE (n:Same) SET n.i = i",
        "FOREACH (i IN range(1, 100000) | CREATE (:N {i: i}))",
        "CALL () { UNWIND range(1, 100000) AS i CREATE (:N {i: i}) }",
    ],
)
def test_changes_keep_to_the_memory_limit(text: str) -> None:
    graph = Graph()
    with pytest.raises(OutOfMemory):
        graph.query(text, memory_limit="1MB")
    assert count(graph) == 0
    graph.query("UNWIND range(1, 100) AS i CREATE (:N {i: i})", memory_limit="1MB")
    assert count(graph) == 100
