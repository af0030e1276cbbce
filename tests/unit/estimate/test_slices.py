"""Counting by slices: exact when all are counted, unbiased before."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from qengine import Graph
from qengine.estimate.kernel import SampleRange, count_slices
from qengine.estimate.prior import Expectation, together
from qengine.estimate.result import Sums, interval
from qengine.estimate.slices import SliceCount
from qengine.estimate.space import make_space
from qengine.estimate.target import target_of
from qengine.estimates import plan_counted
from qengine.exec.context import ExecutionContext

PATTERN = "MATCH (a:V)-[:R]->(b)-[:R]->(c) WHERE a.w < c.w"


@pytest.fixture(scope="module")
def graph() -> Graph:
    generator = random.Random(3)
    nodes = [{"id": k, "labels": ["V"], "properties": {"w": generator.randrange(9)}} for k in range(3_000)]
    ends = [(int(3_000 * generator.random() ** 2), generator.randrange(3_000)) for _ in range(9_000)]
    return Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in ends])


def slices(graph: Graph, seed: int, pattern: str = PATTERN) -> SliceCount:
    store, context = graph._store, ExecutionContext()
    target = target_of(plan_counted(store, pattern).physical.root)
    space = make_space(target, store, context, None, None)
    assert space is not None
    return SliceCount(target, space, context, seed)


def test_all_slices_are_the_count(graph: Graph) -> None:
    truth = graph.query(f"{PATTERN} RETURN count(*)").value()
    for pattern in (PATTERN, "MATCH (a:V)-[:R]->(b)-[:R]->(c)-[:R]->(a)"):
        count = slices(graph, 1, pattern)
        assert count.number == min(256, count.space.roots // 32) > 60
        assert count.go_on(1 << 40) and count.complete
        assert count.total == graph.query(f"{pattern} RETURN count(*)").value()
    assert slices(graph, 1).go_on(0) is False
    assert count.counted.samples == count.number and truth > 0


def test_a_count_goes_on_where_it_stopped(graph: Graph) -> None:
    whole, parts = slices(graph, 5), slices(graph, 5)
    whole.go_on(1 << 40)
    steps = 0
    work = whole.counted.work // 8
    while not parts.go_on(work) and steps < 20:
        steps += 1
        assert parts.counted.weight <= whole.counted.weight
    assert 3 < steps < 20
    assert parts.counted.weight == whole.counted.weight and parts.counted.square == whole.counted.square


def test_some_slices_are_an_unbiased_sample(graph: Graph) -> None:
    truth = graph.query(f"{PATTERN} RETURN count(*)").value()
    found, held, whole = [], 0, slices(graph, 0)
    whole.go_on(1 << 40)
    work = whole.counted.work // 3
    for seed in range(60):
        count = slices(graph, seed)
        count.go_on(work)
        assert 2 < count.counted.samples < count.number
        sums = count.sums
        found.append(sums.mean)
        held += abs(sums.mean - truth) <= 2.5 * math.sqrt(sums.variance / sums.samples)
    error = statistics.stdev(found) / math.sqrt(len(found))
    assert abs(statistics.mean(found) - truth) < 5 * error + 0.02 * truth  # work ends where slices are heavy
    assert held >= 50


def test_a_timeout_leaves_what_was_counted(graph: Graph) -> None:
    store, context = graph._store, ExecutionContext()
    target = target_of(plan_counted(store, PATTERN).physical.root)
    space = make_space(target, store, context, None, None)
    assert space is not None
    with context.within(0.0):
        assert count_slices(space.plan, context, SampleRange(1, 0, 8), 1 << 40).samples == 0
    assert count_slices(space.plan, context, SampleRange(1, 6, 8), 1 << 40).samples == 2


def test_few_hits_and_statistics_count_together() -> None:
    expected = Expectation(1_000.0, 100.0, 10_000.0)
    nothing = together(Sums(1_000), 0.0, expected, 0.95)
    seldom = together(Sums(1_000), 0.01, expected, 0.95)
    often = together(Sums(1_000), 1.0, expected, 0.95)
    assert nothing == pytest.approx(1_000.0) and nothing > seldom > often > 0
    few = Sums(1_000, 4, 200_000.0, 4 * 50_000.0**2)
    assert few.mean < together(few, 0.0, expected, 0.95) < 1_000.0
    many = Sums(1_000, 900, 200_000.0, 200_000.0**2 / 900)
    assert together(many, 0.0, expected, 0.95) == pytest.approx(200.0, rel=0.01)
    sure = Expectation(1_000.0, 900.0, 1_100.0)
    assert together(few, 0.0, sure, 0.95) > together(few, 0.0, expected, 0.95)


@pytest.mark.parametrize("budget", [1.0, 5.0])
def test_budgets_give_what_is_known(graph: Graph, budget: float) -> None:
    truth = graph.query(f"{PATTERN} RETURN count(*)").value()
    for seed in range(4):
        found = graph.estimate(PATTERN, budget_ms=budget, seed=seed)
        assert 0 < found.low <= found.value <= found.high <= found.upper_bound
        assert truth / 3 < found.value < 3 * truth
        assert found.upper_bound >= truth


def test_slices_that_decide_for_themselves_bias_nothing() -> None:
    """Heavy slices among the first keep a sample from being taken: those of what is taken are rather the light ones."""
    generator = random.Random(5)
    nodes = [{"id": k, "labels": ["V"], "properties": {}} for k in range(3_000)]
    ends = [(int(3_000 * generator.random() ** 2), generator.randrange(3_000)) for _ in range(9_000)]
    graph = Graph.from_records(nodes, [{"type": "R", "start": a, "end": b} for a, b in ends])
    pattern = "MATCH (a:V)-[:R]->(b)-[:R]->(c)"
    truth = graph.query(f"{pattern} RETURN count(*)").value()
    whole = slices(graph, 0, pattern)
    whole.go_on(1 << 40)
    work = whole.counted.work // 4
    found, plain, held = [], [], 0
    for seed in range(120):
        count = slices(graph, seed, pattern)
        count.go_on(work)
        if count.counted.samples <= count.number // 4:
            continue
        decided = count.counted.samples
        count.sample_others(work)
        assert count.first is not None and count.first.samples == decided + 1
        assert count.sums.samples == count.counted.samples - decided - 1 > 2
        found.append(count.sums.mean)
        plain.append(count.counted.mean * count.number * count.target.search.orbits)
        low, high = interval(count.sums, 0.95)
        held += low <= truth <= high
    error = statistics.stdev(found) / math.sqrt(len(found))
    assert len(found) > 20
    assert abs(statistics.mean(found) - truth) < 3 * error < 0.04 * truth
    assert statistics.mean(plain) < truth - 2 * statistics.stdev(plain) / math.sqrt(len(plain))
    assert held >= 0.9 * len(found)
