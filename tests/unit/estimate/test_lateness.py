"""Budgets that were overrun: the next estimate of the plan ends earlier."""

from __future__ import annotations

import pytest

from qengine import Graph
from qengine.estimate.lateness import Lateness, Stuck
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
    assert late.of(1.0) == pytest.approx(0.15)  # once may be what the first of its kind takes
    late.note(1.0, 1.1)
    assert late.of(1.0) == pytest.approx(0.3)
    late.note(1.0, 0.5)
    assert late.of(1.0) == pytest.approx(0.225)
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


def test_a_count_that_took_its_time_for_nothing_needs_more_to_be_tried_again() -> None:
    stuck = Stuck()
    assert not stuck.within(0.001)
    stuck.note(5.0, 1.0)  # others had the processor
    assert not stuck.within(5.0)
    stuck.note(5.0, 4.0)
    assert stuck.within(1.0) and stuck.within(9.9) and not stuck.within(10.0)
    stuck.note(2.0, 2.0)
    assert stuck.within(9.9) and not stuck.within(10.0)
    stuck.note(2.0, 2.0, share=0.5)  # twice as long would have done
    assert stuck.within(9.9) and not stuck.within(10.0)
    stuck.note(2.0, 2.0, share=0.01)
    assert stuck.within(16.0) and not stuck.within(17.0)


def test_a_count_by_slices_is_left_out_where_it_came_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = [{"type": "R", "start": k, "end": k * k * 7 % 400} for k in range(400) for _ in range(3)]
    graph = Graph.from_records([{"id": k, "labels": ["V"]} for k in range(400)], edges)
    text = "MATCH (a:V)-[:R]->(b)-[:R]->(c)-[:R]->(d)-[:R]->(e)"
    tried: list[int] = []
    monkeypatch.setattr(SliceCount, "go_on", lambda *_: bool(tried.append(1)))
    monkeypatch.setattr(Stuck, "note", lambda self, *_: setattr(self, "_milliseconds", 1e9))
    for _ in range(3):
        assert graph.estimate(text, budget_ms=2_000.0, rel_error=0.5).value > 0
    assert tried == [1]
