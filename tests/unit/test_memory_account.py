"""The memory account: charges by scope, loops that drop values, batches that are cut, looks at the clock."""

from __future__ import annotations

import numpy as np
import pytest

from qengine import Graph, OutOfMemory
from qengine.errors import ExecutionError
from qengine.exec.common.columns import from_values
from qengine.exec.common.expressions import over_items
from qengine.exec.common.expressions.growth import object_bytes
from qengine.exec.common.expressions.row_wise import ByRow
from qengine.exec.context import ExecutionContext
from qengine.exec.memory import ListBytes, MemoryAccount, Oversized

MB = 1_000_000


def test_a_charge_beyond_the_limit_is_refused_before_the_value_is_made() -> None:
    memory = MemoryAccount(10 * MB)
    memory.charge(6 * MB)
    with pytest.raises(OutOfMemory, match="more than the memory limit of 10,000,000"):
        memory.charge(6 * MB)


def test_what_kernels_take_counts_too_and_they_get_what_is_left() -> None:
    context = ExecutionContext({}, memory_limit=10 * MB)
    with context.memory.holding("Sort") as holding:
        holding.set(3 * MB)
        assert context.control.memory_limit == 7 * MB
        context.control.memory_used = 5 * MB
        with pytest.raises(OutOfMemory):
            context.memory.charge(3 * MB)
    assert context.control.memory_limit == 10 * MB


def test_gathered_rows_share_the_account_of_operators() -> None:
    context = ExecutionContext({}, memory_limit=10 * MB)
    with context.memory.holding("Sort") as holding:
        holding.set(6 * MB)
        context.check_result(3 * MB)
        with pytest.raises(OutOfMemory, match="rows of the result"):
            context.check_result(6 * MB)


def test_values_that_a_loop_has_dropped_make_room() -> None:
    memory = MemoryAccount(10 * MB)
    found: list[str] = []
    loop = memory.loop(ListBytes(found))
    for _ in range(100):
        memory.charge(MB)
        found.append("kept")
        loop.begun = memory.charged
    memory.close(loop)
    assert memory.charged < MB


def test_values_that_a_loop_keeps_do_not() -> None:
    memory = MemoryAccount(10 * MB)
    found: list[str] = []
    loop = memory.loop(ListBytes(found))
    with pytest.raises(OutOfMemory):
        for _ in range(100):
            memory.charge(MB)
            found.append("x" * MB + str(len(found)))
            loop.begun = memory.charged
    assert len(found) <= 10


def test_batches_are_cut_to_what_they_may_hold() -> None:
    memory = MemoryAccount(160 * MB)
    memory.room(1000, 10 * MB)
    with pytest.raises(Oversized) as caught:
        memory.room(1000, 100 * MB)
    assert caught.value.rows == 100
    memory.room(1, 100 * MB)


@pytest.mark.parametrize(
    "text",
    [
        "[x IN range(1, 300) | [y IN range(1, 300) | x * y]]",
        "reduce(t = 0, x IN range(1, 300) | t + reduce(u = 0, y IN range(1, 300) | u + y))",
        "any(x IN range(1, 300) WHERE all(y IN range(1, 300) WHERE -x < y AND y < 300))",
        "5 IN [x IN range(1, 90000) | -x]",
        "[x IN range(1, 200) | reduce(s = 'a', i IN range(1, 60) | s + x)]",
    ],
)
@pytest.mark.parametrize("limit", [None, 1_000 * MB])
def test_the_clock_is_looked_at_inside_one_value(text: str, limit: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_records([{"id": 1}])
    looks = 0
    check = ExecutionContext.check

    def counted(context: ExecutionContext) -> None:
        nonlocal looks
        looks += 1
        check(context)

    monkeypatch.setattr(ExecutionContext, "check", counted)
    monkeypatch.setattr(over_items, "_MOST_ITEMS", 1 << 10)
    graph.query(f"RETURN size([{text}])", memory_limit=limit).fetchall()
    assert looks > 50


@pytest.mark.parametrize("limit", [None, 1_000 * MB])
def test_replace_obeys_the_greatest_length_in_columns_too(limit: int | None) -> None:
    graph = Graph.from_records([{"id": 1}])
    text = f"WITH reduce(s = 'a', x IN range(1, 23) | s + s) AS s RETURN size(replace(s, 'a', '{'b' * 17}'))"
    with pytest.raises(ExecutionError, match="more than 134,217,728 characters"):
        graph.query(text, memory_limit=limit).fetchall()


def test_rows_are_the_same_however_batches_are_cut() -> None:
    graph = Graph.from_records([{"id": i, "properties": {"id": i, "s": "x" * (i % 90)}} for i in range(3_000)])
    texts = [
        "MATCH (n) WITH n, reduce(s = n.s, i IN range(1, 6) | s + s) AS s "
        "RETURN n.id, size(s + s), size(replace(s, 'x', 'y')), CASE WHEN n.id % 2 = 0 THEN size(s) ELSE 1 END",
        "MATCH (n) WITH n.s + n.s AS s UNWIND [s, s + 'a', 'b'] AS t RETURN t, count(*)",
        "MATCH (n) WHERE size(n.s + toString(n.id)) > 50 RETURN collect(DISTINCT n.s) AS l, max(n.s + 'a')",
        "MATCH (n) WITH n.s AS s, n.id AS i ORDER BY s + 'a', i DESC LIMIT 500 RETURN s, i",
    ]
    for text in texts:
        free = graph.query(text).fetchall()
        tight = graph.query(text, memory_limit=12 * MB).fetchall()
        assert sorted(map(repr, free)) == sorted(map(repr, tight))


@pytest.mark.parametrize("limit", [None, 100 * MB])
def test_lists_are_computed_on_columns_under_a_limit_too(limit: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [{"id": i, "labels": ["A"], "properties": {"i": i, "s": f"t{i}", "l": [i, i + 1]}} for i in range(100)]
    graph = Graph.from_records(nodes, [{"start": i, "end": (i * 7 + 1) % 100, "type": "R"} for i in range(100)])
    texts = [
        "MATCH p = (a)-[:R*1..3]->(b) RETURN [x IN nodes(p) WHERE x.i > 3 | x.s + toString(b.i)] AS l",
        "MATCH p = (a)-[:R*1..3]->(b) RETURN reduce(t = '', x IN nodes(p) | t + x.s) AS l",
        "MATCH (a) RETURN [x IN a.l | [y IN a.l | x * y]] AS l, any(x IN a.l WHERE x + a.i > 9) AS b",
        "MATCH (a) WITH collect(a.s) AS l UNWIND range(-3, size(l)) AS i RETURN l[i] AS s, l[i..i + 2] AS t, l[..-i]",
        "MATCH (a) RETURN [1, 2, 3][a.i % 5] AS x, a.l[a.i - 98] AS y",
    ]
    expected = [graph.query(text, device="reference").fetchall() for text in texts]

    def refused(*_: object) -> None:
        raise AssertionError("row by row")

    monkeypatch.setattr(ByRow, "__call__", refused)
    found = [graph.query(text, memory_limit=limit).fetchall() for text in texts]
    assert [sorted(map(repr, rows)) for rows in found] == [sorted(map(repr, rows)) for rows in expected]


def test_a_list_that_many_rows_have_is_counted_once() -> None:
    lists = from_values([list(range(1000))]).take(np.zeros(5_000, np.int64))
    assert object_bytes(lists) < 1_000_000
