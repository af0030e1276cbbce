"""What ``interrupt``, ``cancel`` and ``close`` reach, and when: from accepting a statement to its last row."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from qengine import Graph, QueryInterrupted, QueryTimeout, Result, SemanticError
from qengine.estimate import Estimator
from qengine.exec.context import ExecutionContext
from qengine.exec.executions import Executions
from tests.limits.looks import watched

ROWS = "MATCH (a)-[:E]->(b)-[:E]->(c)-[:E]->(d) RETURN id(a) AS a, id(b) AS b, id(c) AS c, id(d) AS d"
ENDLESS = "MATCH p = (a)-[:E*]-(b) RETURN count(p)"
FRESH = itertools.count()


@pytest.fixture(scope="module")
def graph() -> Graph:
    ends = [(one, other) for one in range(30) for other in range(30) if one != other]
    return Graph.from_edge_list(tuple(map(list, zip(*ends, strict=True))))  # type: ignore[arg-type]


def fresh() -> str:
    """Return a text that has no plan yet."""
    return f"MATCH (a)-[:E]->(b)-[:E]->(c) WHERE a.id <> 0 RETURN count(*) AS n{next(FRESH)}"


@pytest.mark.parametrize(
    "fetch",
    [Result.fetchone, Result.fetchmany, Result.fetchall, Result.to_arrow, Result.to_pandas, Result.preview, list,
     Result.value, lambda result: result.to_reader().read_all()],
)  # fmt: skip
@pytest.mark.parametrize("stop", ["interrupt", "cancel"])
def test_a_query_that_was_not_fetched_is_stopped(graph: Graph, fetch: Callable[[Any], object], stop: str) -> None:
    result = graph.query(ROWS)
    other = graph.query("RETURN 1 AS one")
    result.cancel() if stop == "cancel" else graph.interrupt()
    with pytest.raises(QueryInterrupted):
        fetch(result)
    later = graph.query("RETURN 2 AS two")
    assert later.value() == 2
    if stop == "cancel":
        assert other.value() == 1
    else:
        with pytest.raises(QueryInterrupted):
            other.value()


@pytest.mark.parametrize(
    "first", [Result.fetchone, lambda result: result.fetchmany(10), lambda result: result.preview(3)]
)
@pytest.mark.parametrize("stop", ["interrupt", "cancel"])
def test_a_query_that_was_half_fetched_is_stopped(graph: Graph, first: Callable[[Result], object], stop: str) -> None:
    result = graph.query(ROWS)
    assert first(result)
    result.cancel() if stop == "cancel" else graph.interrupt()
    with pytest.raises(QueryInterrupted):
        result.fetchall()
    assert result.fetchall() == []


def test_a_profile_is_stopped_with_what_it_profiles(graph: Graph) -> None:
    result = graph.query("PROFILE " + ENDLESS)
    result.cancel()
    with pytest.raises(QueryInterrupted):
        result.fetchall()


@pytest.mark.parametrize("stop", [Result.cancel, Result.close])
def test_what_has_ended_is_left_alone(graph: Graph, stop: Callable[[Result], None]) -> None:
    result = graph.query("UNWIND [1, 2, 3] AS x RETURN x")
    assert len(result.fetchall()) == 3
    stop(result)
    stop(result)
    graph.interrupt()
    assert result.fetchall() == [] and result.fetchone() is None
    assert result.to_arrow().num_rows == 0 and result.preview() == ([], False)


def test_rows_that_are_loaded_stay_until_the_result_is_closed(graph: Graph) -> None:
    result = graph.query("UNWIND [1, 2, 3] AS x RETURN x")
    rows = iter(result)
    assert next(rows)["x"] == 1
    result.close()
    assert list(rows) == []


PLANNED: dict[str, Callable[[Graph, str], object]] = {
    "query": Graph.query,
    "prepare": Graph.prepare,
    "explain": Graph.explain,
    "plan": lambda graph, text: graph.query("EXPLAIN " + text),
    "script": lambda graph, text: list(graph.script(text)),
    "estimate": lambda graph, text: graph.estimate(text, samples=100),
    "estimate_all": lambda graph, text: graph.estimate_all(text, samples=100),
    "cardinalities": lambda graph, text: graph.query(text, cardinalities="sampled"),
}


@pytest.mark.parametrize("by", PLANNED)
def test_planning_is_interrupted(graph: Graph, by: str) -> None:
    """At the first, the middle and the last of its looks; the next statement is planned as if nothing had been."""
    with watched() as looks:
        PLANNED[by](graph, fresh())
    assert looks.count >= 10
    for place in (1, looks.count // 2, looks.count - 1):
        with watched(place, lambda _: graph.interrupt()), pytest.raises(QueryInterrupted):
            PLANNED[by](graph, fresh())
    PLANNED[by](graph, fresh())


def test_an_interrupted_script_begins_no_other_statement(graph: Graph) -> None:
    results = graph.script("RETURN 1 AS x; RETURN 2 AS x; RETURN 3 AS x")
    assert next(results).value() == 1
    graph.interrupt()
    with pytest.raises(QueryInterrupted):
        next(results)
    unread = graph.script("RETURN 1 AS x")
    graph.interrupt()
    with pytest.raises(QueryInterrupted):
        next(unread)


def test_prepared_statements_are_accepted_when_they_run(graph: Graph) -> None:
    prepared = graph.prepare("RETURN 1 AS x")
    graph.interrupt()
    assert prepared.run().value() == 1


def test_what_is_dropped_is_not_held() -> None:
    executions = Executions()
    kept = [executions.accept(ExecutionContext()) for _ in range(3)]
    executions.accept(ExecutionContext())
    gc.collect()
    assert len(executions._accepted) == 3
    executions.interrupt()
    assert all(each.control.stop for each in kept)
    assert not executions.accept(ExecutionContext()).control.stop


# ------------------------------------------------------------ other threads


class Fetching:
    """A thread that fetches a result; ``error``: what it raised."""

    def __init__(self, result: Result, fetch: Callable[[Result], object] = Result.fetchall) -> None:
        self.error: BaseException | None = None
        self.begun = threading.Event()

        def run() -> None:
            self.begun.set()
            try:
                fetch(result)
            except BaseException as error:
                self.error = error

        self.thread = threading.Thread(target=run)
        self.thread.start()
        self.begun.wait()

    def ended(self) -> BaseException | None:
        """Wait for the thread, and return what it has raised."""
        self.thread.join()
        return self.error


@pytest.mark.parametrize("stop", [Result.cancel, Result.close])
@pytest.mark.parametrize("text", [ENDLESS, "MATCH (a), (b), (c), (d), (e), (f) RETURN id(a) + id(f) AS x"])
@pytest.mark.parametrize("fetch", [Result.fetchall, Result.to_arrow, list])
def test_another_thread_stops_a_fetch(
    graph: Graph, text: str, fetch: Callable[[Result], object], stop: Callable[[Result], None]
) -> None:
    result = graph.query(text)
    fetching = Fetching(result, fetch)
    stop(result)
    assert isinstance(fetching.ended(), QueryInterrupted)
    assert result.fetchall() == [] or stop is Result.cancel


def test_a_fetch_that_is_stopped_leaves_others_alone(graph: Graph) -> None:
    stopped, other = graph.query(ENDLESS), graph.query("MATCH (a)-[:E]->(b) RETURN count(*)")
    fetching = Fetching(stopped)
    stopped.cancel()
    assert isinstance(fetching.ended(), QueryInterrupted)
    assert other.value() == 870


def test_two_threads_fetch_each_row_once(graph: Graph) -> None:
    result = graph.query("MATCH (a)-[:E]->(b)-[:E]->(c) RETURN id(a) AS a, id(b) AS b, id(c) AS c")
    found: list[Any] = []
    several = [Fetching(result, found.extend) for _ in range(4)]
    assert [each.ended() for each in several] == [None] * 4
    assert len(found) == len(set(found)) == 30 * 29 * 29


def test_a_service_gives_a_request_up(graph: Graph) -> None:
    """As the docstring of ``Result`` says."""

    async def rows(text: str, begun: asyncio.Event) -> list[Any]:
        result = await asyncio.to_thread(graph.query, text)
        try:
            begun.set()
            return await asyncio.to_thread(result.fetchall)
        finally:
            result.cancel()

    async def serve() -> tuple[bool, int]:
        begun = asyncio.Event()
        given_up = asyncio.create_task(rows(ENDLESS, begun))
        other = asyncio.create_task(rows("MATCH (a)-[:E]->(b) RETURN id(a)", asyncio.Event()))
        await begun.wait()
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        return given_up.cancelled(), len(await other)

    assert asyncio.run(serve()) == (True, 870)  # which waits for the threads: the query has stopped


# ------------------------------------------------------------ limits as arguments


def asked(graph: Graph) -> Iterator[Callable[..., Any]]:
    text = "MATCH (a)-[:E]->(b) RETURN count(*)"
    yield lambda **limits: graph.query(text, **limits)
    yield lambda **limits: graph.prepare(text).run(**limits)
    yield lambda **limits: next(iter(graph.script(text, **limits)))
    yield lambda **limits: graph.estimate(text, **limits)


WRONG = [
    ("timeout", -2, "from 0 on", "seconds, like timeout=2.5"),
    ("timeout", float("-inf"), "from 0 on", "seconds"),
    ("timeout", "2s", "a number of seconds, not '2s'", "seconds"),
    ("memory_limit", -1, "greater than 0", 'memory_limit="4G"'),
    ("memory_limit", 0, "greater than 0", 'memory_limit="4G"'),
    ("memory_limit", "4 quarts", "a number of bytes, not '4 quarts'", 'memory_limit="4G"'),
    ("memory_limit", "-4G", "a number of bytes, not '-4G'", 'memory_limit="4G"'),
    ("gpu_memory_limit", -1, "greater than 0", 'gpu_memory_limit="4G"'),
    ("gpu_memory_limit", "nan", "a number of bytes", 'gpu_memory_limit="4G"'),
    ("threads", -4, "from 0 to 1,024", "threads=4, or 0"),
    ("threads", 1_025, "from 0 to 1,024", "threads=4, or 0"),
    ("threads", 10**30, "from 0 to 1,024", "threads=4, or 0"),
    ("threads", 2.5, "a number of threads, not 2.5", "threads=4, or 0"),
    *((name, value, "a number of", name) for name in ("timeout", "memory_limit", "gpu_memory_limit", "threads")
      for value in (float("nan"), True, [1], b"1", object())),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "message", "hint"), WRONG)
def test_limits_that_there_cannot_be_are_refused(graph: Graph, name: str, value: Any, message: str, hint: str) -> None:
    for ask in asked(graph):
        with pytest.raises(SemanticError) as caught:
            ask(**{name: value})
        assert f"`{name}` is " in caught.value.message and message in caught.value.message
        assert caught.value.hint is not None and hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4096", 4096), ("500MB", 500_000_000), ("4G", 4 * 10**9), ("4 gb", 4 * 10**9), ("1.5k", 1500), (".5M", 500_000),
     ("2GiB", 2 << 30), ("1Ki", 1024), ("1_000_000", 10**6), ("2e9", 2 * 10**9), (" 1T ", 10**12), ("3B", 3)],
)  # fmt: skip
def test_sizes_may_be_texts(text: str, expected: int) -> None:
    context = ExecutionContext(memory_limit=text, gpu_memory_limit=text)
    assert (context.memory_limit, context.gpu_memory_limit, context.control.memory_limit) == (expected,) * 3


@pytest.mark.parametrize("value", ["4G", "500MB", 10**9, 1e9, float("inf"), None])
def test_limits_of_memory_are_taken(graph: Graph, value: Any) -> None:
    for ask in asked(graph):
        ask(memory_limit=value, gpu_memory_limit=value)


@pytest.mark.parametrize("value", [0, 0.0, 1e-9])
def test_no_time_at_all_plans_and_then_stops(graph: Graph, value: float) -> None:
    result = graph.query("MATCH (a)-[:E]->(b) RETURN count(*)", timeout=value)
    with pytest.raises(QueryTimeout, match="The query ran longer"):
        result.value()


@pytest.mark.parametrize("value", [None, float("inf"), 1e300, 10**400])
def test_endless_timeouts_are_none(graph: Graph, value: Any) -> None:
    assert graph.query("MATCH (a)-[:E]->(b) RETURN count(*)", timeout=value).value() == 870


# ------------------------------------------------------------ estimates


UNBOUNDED = [
    "MATCH p = (a)-[:E*]-(b)",
    "MATCH (a)-[:E]->(b)-[:E*]-(c) WHERE a.id < c.id",
    "MATCH (a) WHERE COUNT { (a)-[:E*]-() } > 5",
]


@pytest.mark.parametrize("method", ["auto", "wanderjoin", "alley", "guided", "exact"])
@pytest.mark.parametrize("text", UNBOUNDED)
def test_a_budget_ends_what_takes_forever(graph: Graph, text: str, method: str) -> None:
    found = graph.estimate(text, method=method, budget_ms=5, seed=1)
    assert (found.method, found.samples, found.is_exact) == ("statistics", 0, False)
    assert 0 <= found.low <= found.value <= found.high <= found.upper_bound and found.high > 0
    assert "0 hits of 0 samples" in str(found) and found.to_dict()["samples"] == 0


def test_a_timeout_below_the_budget_is_an_error(graph: Graph) -> None:
    with pytest.raises(QueryTimeout, match=r"longer than its timeout of 0\.01 s"):
        graph.estimate(UNBOUNDED[0], budget_ms=1_000_000, timeout=0.01)


def test_a_budget_bounds_exact_counting(graph: Graph) -> None:
    clique = "MATCH " + ", ".join(f"(v{i})-[:E]->(v{j})" for i in range(9) for j in range(i))
    found = graph.estimate(clique, method="exact", budget_ms=5)
    assert not found.is_exact and 0 <= found.low <= found.value <= found.high < float("inf")


def test_a_budget_bounds_planning(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    now = itertools.count()
    monkeypatch.setattr("qengine.estimates.time.monotonic", lambda: next(now) * 0.3)
    with pytest.raises(QueryTimeout, match="Planning the estimate took longer than its budget of 5 ms") as caught:
        graph.estimate(fresh(), budget_ms=5)
    assert "larger budget" in str(caught.value)


def test_all_parts_share_a_budget(graph: Graph) -> None:
    text = "MATCH (a)-[:E]->(b)-[:E]->(c)-[:E]->(d)-[:E]->(e)"
    table = graph.estimate_all(text, samples=10**12, budget_ms=20, seed=1)
    assert len(table) == 15
    for part, found in table.items():
        assert found.low <= found.value <= found.high <= found.upper_bound, part
    same = graph.estimate_all(text, samples=5_000, seed=3, budget_ms=1e9)
    assert sum(found.samples for found in same.values()) > 0


def test_an_estimator_written_in_python_keeps_to_the_budget(graph: Graph) -> None:
    class Slow(Estimator):
        """Takes as long for its first step as there is time in all."""

        def __init__(self) -> None:
            self.end = time.monotonic() + 0.1

        def refine(self, step: Any) -> Any:
            while time.monotonic() < self.end:
                pass
            return step.places

        def validate(self, step: Any, place: Any) -> bool:
            return bool(step.admits(place))

    found = graph.estimate("MATCH (a)-[:E]->(b)-[:E]->(c)", method=Slow(), budget_ms=1, seed=1)
    assert found.samples <= 1 and found.high <= found.upper_bound
