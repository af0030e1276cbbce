"""What orders cost under conditions: lists are read whole, and what conditions on relationships tie is walked."""

from __future__ import annotations

import random

import pytest

from qengine import Graph
from qengine.plan.physical import Eliminate, Search
from qengine.testing.plans import planned

LIKES = "MATCH (a:Person)-[r:LIKES]->(t:Tag)<-[s:LIKES]-(b:Person)"


@pytest.fixture(scope="module")
def graph() -> Graph:
    rng = random.Random(2)
    nodes = [{"id": k, "labels": "Person", "properties": {"country": rng.randrange(12)}} for k in range(600)]
    nodes += [{"id": 600 + k, "labels": "Tag", "properties": {"theme": k % 12}} for k in range(20)]
    edges = [
        {"type": "LIKES", "start": k, "end": 600 + tag, "properties": {"score": rng.random()}}
        for k in range(600)
        for tag in rng.sample(range(20), 5)
    ]
    edges += [{"type": "KNOWS", "start": k, "end": other} for k in range(600) for other in rng.sample(range(600), 15)]
    return Graph.from_records(nodes, edges)


def cost(graph: Graph, text: str) -> float:
    found = planned(graph, f"{text} RETURN count(*)", Search)[0]
    assert found.cost is not None
    return found.cost


def ordered(graph: Graph, order: str, where: str) -> float:
    return cost(graph, f"/*+ order({order}) search */ {LIKES} WHERE {where}")


def test_nodes_whose_relationships_are_walked_are_not_counted_by_formula(graph: Graph) -> None:
    formula = ordered(graph, "t, a, b", "a.country = 3 AND b.country < 6")
    walked = ordered(graph, "t, a, b", "a.country = 3 AND b.country < 6 AND r.score > 0.2")
    assert walked > 4 * formula


def test_the_condition_that_leaves_few_goes_first_where_pairs_are_walked(graph: Graph) -> None:
    where = "r.score > 0.2 AND b.country = t.theme AND a.country > 0"
    few_first, many_first = (ordered(graph, order, where) for order in ("t, b, a", "t, a, b"))
    assert 1.5 * few_first < many_first
    plan = str(graph.explain(f"{LIKES} WHERE {where} RETURN count(*)"))
    assert plan.index("· b:Person") < plan.index("· a:Person")


def test_values_are_compared_in_less_time_than_relationships_are_walked(graph: Graph) -> None:
    knows = "/*+ order(a, b) search */ MATCH (a:Person)-[:KNOWS]->(b:Person)"
    likes = "/*+ order(a, t) search */ MATCH (a:Person)-[r:LIKES]->(t:Tag)"
    of_each = [
        cost(graph, f"{knows} WHERE a.country < b.country") / 9_000,
        cost(graph, f"{likes} WHERE r.score > 0.2") / 3_000,
    ]
    assert 2 * of_each[0] < of_each[1]


def test_a_plain_list_is_counted_beside_what_is_walked(graph: Graph) -> None:
    a_first, b_first = (ordered(graph, order, "r.score > 0.2") for order in ("t, a, b", "t, b, a"))
    assert 10 * a_first < b_first


def test_conditions_do_not_shorten_the_lists_that_are_read(graph: Graph) -> None:
    pattern = "/*+ order(t, a, b) search */ MATCH (a:Person)-[:LIKES]->(t:Tag)<-[:LIKES]-(b:Person), (a)-[:KNOWS]->(b)"
    every, some = cost(graph, pattern), cost(graph, f"{pattern} WHERE b.country = t.theme")
    assert some > every / 3


@pytest.mark.parametrize("pattern", ["(a)-[r:LIKES]->(t)", "(a)-[r:LIKES]->(t)<-[:LIKES]-(b)"])
def test_rows_are_those_that_conditions_leave(graph: Graph, pattern: str) -> None:
    text = f"MATCH {pattern} WHERE r.score > 0.75 AND a.country = t.theme RETURN count(*)"
    found = planned(graph, text, Search, Eliminate)[0]
    rows = (found.search if isinstance(found, Eliminate) else found).rows
    assert rows == pytest.approx(graph.query(text).value(), rel=0.3)


def test_a_triangle_is_searched_unless_eliminating_is_expected_to_take_far_less(graph: Graph) -> None:
    triangle = "MATCH (a:Person)-[:KNOWS]->(b:Person)-[:KNOWS]->(c:Person), (a)-[:KNOWS]->(c) RETURN count(*)"
    plan, forced = (str(graph.explain(text)) for text in (triangle, f"/*+ eliminate */ {triangle}"))
    assert "Search" in plan and "Eliminate" in forced
    assert graph.query(triangle).value() == graph.query(f"/*+ eliminate */ {triangle}").value()
