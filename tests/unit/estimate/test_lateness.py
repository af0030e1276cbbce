"""Budgets that were overrun: the next estimate of the plan ends earlier."""

from __future__ import annotations

import time

import pytest

from qengine import Graph
from qengine.estimate.lateness import Lateness
from qengine.estimate.slices import SliceCount


def test_what_came_late_ends_earlier() -> None:
    late = Lateness()
    assert late.of(1.0) == 0
    late.note(1.0, 50.0)  # planning, and all that is kept afterwards
    assert late.of(1.0) == 0
    late.note(1.0, 1.2)
    assert late.of(1.0) == pytest.approx(0.3) and late.of(5.0) == 0
    late.note(1.0, 0.95)
    assert late.of(1.0) == pytest.approx(0.3)
    late.note(1.0, 0.5)
    assert 0.25 < late.of(1.0) < 0.3
    for _ in range(5):
        late.note(1.0, 9.0)
    assert late.of(1.0) == pytest.approx(0.95)
    for budget in range(2, 40):
        late.note(float(budget), 0.0)
    assert late.of(1.0) == 0


def test_an_estimate_that_must_end_at_once_is_the_statistics() -> None:
    nodes = [{"id": k, "labels": ["V"], "properties": {"w": k % 7}} for k in range(400)]
    edges = [{"type": "R", "start": k, "end": k * k * 7 % 400} for k in range(400) for _ in range(3)]
    graph = Graph.from_records(nodes, edges)
    text = "MATCH (a:V)-[:R]->(b)-[:R]->(c)-[:R]->(d) WHERE a.w + d.w > 6 RETURN count(*)"
    truth = graph.query(text).value()
    for budget in (0.001, 0.01, 0.2, 1.0):
        for _ in range(6):
            found = graph.estimate(text, budget_ms=budget, seed=1)
            assert found.low <= found.value <= found.high
            assert truth / 10 < found.value < 10 * truth and found.upper_bound >= truth


def test_a_count_that_took_its_time_for_nothing_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = [{"type": "R", "start": k, "end": k * k * 7 % 400} for k in range(400) for _ in range(3)]
    graph = Graph.from_records([{"id": k, "labels": ["V"]} for k in range(400)], edges)
    tried: list[float] = []

    def stuck(slices: SliceCount, work: int) -> bool:
        begin = time.thread_time()
        while time.thread_time() - begin < 0.4 * min(budget, 20.0) / 1e3:
            pass
        tried.append(budget)
        return False

    monkeypatch.setattr(SliceCount, "go_on", stuck)
    text = "MATCH (a:V)-[:R]->(b)-[:R]->(c)-[:R]->(d)-[:R]->(e)"
    graph.estimate(text, budget_ms=0.1)  # planned
    budgets = (20.0, 20.0, 5.0, 20.0, 2_000.0)
    for budget in budgets:
        assert graph.estimate(text, budget_ms=budget).value > 0
    assert tried == [20.0, 2_000.0]
