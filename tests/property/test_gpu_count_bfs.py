"""Counting by extension on the GPU against naive backtracking, its kernels run on the host: no GPU is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.exec import choice
from qengine.exec.gpu import bfs_plan
from qengine.exec.gpu import search as search_module
from qengine.exec.gpu.search import run_search
from tests.emulator.device import device_memory, emulated
from tests.examples import examples
from tests.property.search_cases import cases, count_by_sets, counted, dense_cases, expected, found


@pytest.fixture(scope="module", autouse=True)
def by_extension() -> Iterator[None]:
    with emulated(device_memory(), free=1 << 30) as patch:
        for name in ("try_count", "dfs_total"):
            patch.setattr(search_module, name, lambda *_: None)
        yield


@settings(max_examples=examples(60))
@given(case=cases().map(counted), room=st.sampled_from([1, 5000, 1 << 26]), shared=st.sampled_from([1, 1 << 14]))
def test_equals_backtracking(case: Any, room: int, shared: int) -> None:
    store, search, seeds, rows = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bfs_plan, "_SHARED_ROWS", shared)
        patch.setattr(bfs_plan, "_FIRST_BYTES", room)
        patch.setattr(bfs_plan, "_MOST_BYTES", max(5000, room))  # what needs more is counted in parts
        result = found(run_search, store, search, seeds, rows)
    assert result == expected(store, search, seeds, rows)


@settings(max_examples=12)
@given(dense_cases((6, 20, 70)), st.sampled_from([1, 1 << 14]))
def test_denser_patterns(case: Any, shared: int) -> None:
    store, search = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bfs_plan, "_SHARED_ROWS", shared)
        result = found(run_search, store, search, [], 1)
    assert sum(row[-1] for row in result) == count_by_sets(store, search)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bfs_plan.BfsPlan, list[int]]]:
    """Bring rows together from the first on; return the steps of each count, and the rows that its tables had."""
    runs: list[tuple[bfs_plan.BfsPlan, list[int]]] = []
    learn = bfs_plan.BfsPlan.learn

    def learned(steps: bfs_plan.BfsPlan, rows: Any) -> None:
        runs.append((steps, rows.tolist()))
        learn(steps, rows)

    monkeypatch.setattr(choice, "choose", lambda asked, *_: (asked, "as asked"))
    monkeypatch.setattr(bfs_plan, "_SHARED_ROWS", 1)
    monkeypatch.setattr(bfs_plan.BfsPlan, "learn", learned)
    return runs


def layers(n: int, links: int) -> Graph:
    """Six layers of n nodes, each with so many neighbours in the next."""
    nodes = [{"id": k, "labels": [f"L{k // n}"]} for k in range(6 * n)]
    ends = [(k, (k // n + 1) * n + (k + j) % n) for k in range(5 * n) for j in range(links)]
    return Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in ends])


PATH = "(a:L0)-[:R]->(b:L1)-[:R]->(c:L2)-[:R]->(d:L3), (b)-[:R]->(e:L2)-[:R]->(d)"


def brought_together(seen: Any) -> list[tuple[int, int]]:
    """Return how many rows were brought together, and to how many."""
    return [
        (rows[step["from"]], rows[step["to"]])
        for steps, rows in seen
        for step in steps.steps[steps.steps["kind"] == bfs_plan.Kind.SHARE]
    ]


@pytest.mark.parametrize("more", ["", ", (d)-[:R]->(f:L4)-[:R]->(g:L5)", ", (a)-[:R]->(h:L1)-[:R]->(e)"])
def test_rows_with_the_same_context_are_counted_once(seen: Any, more: str) -> None:
    graph = layers(12, 3)
    text = f"/*+ search order(a, b, c, e, d) */ MATCH {PATH}{more} RETURN count(*)"
    expected_count = graph.query(text, device="cpu").value()
    for _ in range(2):
        assert graph.query(text, device="gpu").value() == expected_count
    assert any(0 < classes < rows for rows, classes in brought_together(seen))


def test_rows_that_hardly_agree_are_not_brought_together_again(seen: Any) -> None:
    graph = layers(12, 2)
    text = f"/*+ search order(b, a, c, e, d) */ MATCH {PATH} RETURN count(*)"
    for _ in range(2):
        assert graph.query(text, device="gpu").value() == graph.query(text, device="cpu").value()
    (rows, classes), (_, then) = brought_together(seen)
    assert rows == classes > then == 0
