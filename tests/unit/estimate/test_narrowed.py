"""Samples that begin where conditions on relationships leave few: as many embeddings, and nearly all samples hit."""

from __future__ import annotations

from random import Random

import pytest

from qengine import Graph
from qengine.estimate import run
from qengine.estimate.kernel import SampleRange, count_slices
from qengine.estimate.narrowed import few_relationships
from qengine.estimate.request import Request
from qengine.estimate.space import make_space
from qengine.estimate.target import target_of
from qengine.estimates import plan_counted
from qengine.exec.common.masks import Masks
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext

PATTERNS = [
    "(a)-[k:R]->(b) WHERE k.w < 1",
    "(a)<-[k:R]-(b)-[:S]->(c) WHERE k.w < 1",
    "(a)-[:R]->(b)-[k:R]->(c)-[:S]->(d) WHERE k.w < 1",
    "(a:A)-[:R]->(b)-[k:S]-(c) WHERE k.w = 0",
    "(a)-[k:R]->(b)-[:R]->(c), (a)-[:S]-(c) WHERE k.w < 2",
    "(a)-[k:R|S]->(b)-[l:R]->(c) WHERE k.w < 2 AND l.w < 3",
    "(a)-[k:U]-(b)-[:U]-(c) WHERE k.w < 2",
    "(a)-[k:U]-(b)-[l:U]-(c)-[:R]->(d) WHERE k.w < 4 AND l.w = 1",
    "(a:A {x: 1})-[:R]->(b)<-[k:R]-(c:B) WHERE k.w < 4",
    "(a)-[k:R]->(b)-[:R]->(c) WHERE k.w < 2 AND a.x = c.x",
    "(a)-[k:R]->(b)-[:R]->(c) WHERE k.w < 2 AND abs(a.x - c.x) < 2",
    "(a)-[k:R]->(b), (a)-[l:R]->(b), (b)-[:S]->(c) WHERE k.w < 3",
]


@pytest.fixture(scope="module")
def graph() -> Graph:
    source = Random(3)
    nodes = [
        {"id": k, "labels": ["A"] if k % 3 else ["B"], "properties": {"x": source.randrange(5)}} for k in range(150)
    ]
    edges = [
        {
            "type": kind,
            "start": int(150 * source.random() ** 2),
            "end": source.randrange(150),
            "properties": {"w": source.randrange(40)},
        }
        for kind in ("R", "S", "U")
        for _ in range(1_200)
    ]
    return Graph.from_records(nodes, edges, undirected=["U"])


@pytest.mark.parametrize("pattern", PATTERNS)
def test_lists_of_few_relationships_have_all_embeddings(graph: Graph, pattern: str) -> None:
    text = f"MATCH {pattern}"
    truth = graph.estimate(text, method="exact").value
    store, context = graph._store, ExecutionContext()
    plan = plan_counted(store, text).physical
    estimation = run._estimation(plan, store, context, run._Known(0.0, None, Request()))
    target = estimation.target
    assert target.few
    space = make_space(target, store, context, None, None)
    assert space is not None
    if target.tail is None:
        assert count_slices(space.plan, context, SampleRange(0, 0, 1), 1 << 40).weight == truth
    else:
        found = [graph.estimate(text, method="alley", samples=4_000, seed=seed) for seed in range(3)]
        assert any(each.low <= truth <= each.high for each in found)
    for method in ("wanderjoin", "alley"):
        sampled = graph.estimate(text, method=method, samples=20_000, seed=1)
        assert sampled.upper_bound >= truth
        assert sampled.hits > 0 and 0.7 * truth < sampled.value < 1.4 * truth


def test_each_sample_hits_where_a_rare_relationship_is_all_that_is_asked_for(graph: Graph) -> None:
    found = graph.estimate("MATCH (a)-[k:R]->(b)-[:R]->(c) WHERE k.w < 1", method="alley", samples=2_000, seed=1)
    assert found.hits > 0.8 * found.samples


def test_conditions_that_leave_many_relationships_or_none(graph: Graph) -> None:
    store, context = graph._store, ExecutionContext()
    many = target_of(plan_counted(store, "MATCH (a)-[k:R]->(b) WHERE k.w < 30").physical.root)
    assert not few_relationships(store, many.search, Masks(Runtime(store, context)), 1 << 20)
    some = target_of(plan_counted(store, "MATCH (a)-[k:R]->(b) WHERE k.w < 2").physical.root)
    assert not few_relationships(store, some.search, Masks(Runtime(store, context)), 3)  # more than may be listed
    none = graph.estimate("MATCH (a)-[k:R]->(b)-[:S]->(c) WHERE k.w < 0", seed=1)
    assert none.is_exact and none.value == 0


def test_parameters_are_read_anew(graph: Graph) -> None:
    text = "MATCH (a)-[k:R]->(b)-[:R]->(c) WHERE k.w < $most"
    for most in (1, 3, 2):
        truth = graph.estimate(text, {"most": most}, method="exact").value
        found = graph.estimate(text, {"most": most}, method="alley", samples=20_000, seed=1)
        assert 0.8 * truth < found.value < 1.25 * truth
