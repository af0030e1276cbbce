"""Matching orders against every order there is, under the cost model; and the model's invariants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.errors import Unsupported
from qengine.optimizer import order as order_module
from qengine.optimizer.cardinality import Cardinality
from qengine.optimizer.difference import Differences
from qengine.optimizer.matching import Matching, matching_order
from qengine.optimizer.order import CostModel
from qengine.optimizer.order_problem import DegreeStatistics, Link, Problem, mask_of
from qengine.plan.expr import Comparison, Literal, Property, Variable
from qengine.plan.pattern import Hints, LabelIs, PatternNode
from qengine.types import NODE
from tests.examples import examples


def ties(draw: st.DrawFn) -> DegreeStatistics:
    fan_out = draw(st.floats(0.1, 50))
    skew, tail = draw(st.floats(1, 30)), draw(st.floats(1, 10))
    return DegreeStatistics(fan_out, fan_out * 20, skew, tail, draw(st.floats(1, 5)), 1.0, draw(st.floats(1, 50)))


@st.composite
def problems(draw: st.DrawFn, least: int, most: int) -> Problem:
    """Connected patterns with made-up statistics, differences, order constraints, bound and wanted vertices."""
    count = draw(st.integers(least, most))
    pairs = [(draw(st.integers(0, vertex - 1)), vertex) for vertex in range(1, count)]
    others = [pair for pair in combinations(range(count), 2) if pair not in pairs]
    pairs += draw(st.lists(st.sampled_from(others), unique=True, max_size=4)) if others else []
    labelled = [draw(st.sampled_from([1e2, 1e4, 1e6])) for _ in range(count)]
    candidates = [size * draw(st.sampled_from([1.0, 1.0, 0.1, 1e-3])) for size in labelled]
    links = []
    for one, other in pairs:
        there, back = ties(draw), ties(draw)
        links.append(Link(one, other, min(1.0, there.fan_out / labelled[other]), there, back))
    apart = [pair for pair in combinations(range(count), 2) if pair not in pairs]
    different = draw(st.lists(st.sampled_from(apart), unique=True, max_size=3)) if apart else []
    less = draw(st.lists(st.sampled_from(list(combinations(range(count), 2))), unique=True, max_size=2))
    bound = draw(st.sampled_from([0, 0, 0, 1]))
    wanted = draw(st.sampled_from([0, 0, 2, 2 | 1 << (count - 1)])) & ~bound
    return Problem(
        candidates,
        labelled,
        frozenset(vertex for vertex in range(count) if candidates[vertex] < labelled[vertex]),
        links,
        different=different,
        less=less,
        bound=bound,
        wanted=wanted,
        counted=draw(st.booleans()),
    )


def connected_orders(problem: Problem) -> Iterator[tuple[int, ...]]:
    """Yield the orders in which each vertex is linked to one before it."""
    linked = {(link.one, link.other) for link in problem.links}
    linked |= {(other, one) for one, other in linked}
    free = [vertex for vertex in range(len(problem.candidates)) if not problem.bound >> vertex & 1]
    for order in permutations(free):
        before = {0} if problem.bound else set()
        for vertex in order:
            if before and not any((vertex, other) in linked for other in before):
                break
            before.add(vertex)
        else:
            yield order


@settings(max_examples=examples(60))
@given(problems(2, 5))
def test_small_patterns_get_the_cheapest_of_all_connected_orders(problem: Problem) -> None:
    found = CostModel(problem).best_order()
    costs = {order: CostModel(problem).cost(order) for order in connected_orders(problem)}
    assert found.cost <= min(costs.values()) * (1 + 1e-6)  # one that isn't connected may be cheaper still
    assert found.cost == pytest.approx(CostModel(problem).cost(found.vertices))


@settings(max_examples=10)
@given(problems(6, 6))
def test_nothing_is_lost_by_leaving_out_costly_parts(problem: Problem) -> None:
    cheapest = min(CostModel(problem).cost(order) for order in connected_orders(problem))
    assert CostModel(problem).best_order().cost == pytest.approx(cheapest)


@settings(max_examples=30)
@given(problems(7, 16))
def test_orders_hold_each_vertex_once_and_cost_what_they_say(problem: Problem) -> None:
    found = CostModel(problem).best_order()
    assert mask_of(found.vertices) == (1 << len(problem.candidates)) - 1 & ~problem.bound
    assert len(set(found.vertices)) == len(found.vertices)
    assert found.cost == pytest.approx(CostModel(problem).cost(found.vertices))


@given(problems(2, 7))
def test_sizes_are_positive_and_belong_to_sets(problem: Problem) -> None:
    sets = range(1, 1 << len(problem.candidates))
    model, again = CostModel(problem), CostModel(problem)
    assert [model.rows(bound) for bound in sets] == list(reversed([again.rows(bound) for bound in reversed(sets)]))
    assert all(model.rows(bound) > 0 for bound in sets)


def test_known_parts_count_given_what_they_share() -> None:
    """The factor of each is divided by that of what it shares; parts whose links others have say nothing."""
    ties = DegreeStatistics(10.0, 200.0, 3.0, 2.0)
    ends = [(0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (4, 5), (5, 2), (0, 6), (6, 2)]  # squares: three share links
    links = [Link(*pair, 1e-3, ties, ties) for pair in ends]
    bare = CostModel(Problem([1e4] * 7, [1e4] * 7, frozenset(), links))

    def times(known: list[tuple[int, float]], part: int = 0b1111111) -> float:
        problem = Problem([1e4] * 7, [1e4] * 7, frozenset(), links, known=known)
        return CostModel(problem).rows(part) / bare.rows(part)

    side, near, far, large = (0b110, 2.0), (0b1111, 30.0), (0b110110, 50.0), (0b1000111, 7.0)
    assert times([near, far]) == pytest.approx(30 * 50)
    for known in ([near, far, side], [side, far, near], [far, side, near]):
        assert times(known) == pytest.approx(30 * 50 / 2)
        assert [times(known, part) for part, _ in known] == pytest.approx([factor for _, factor in known])
    assert times([near, large]) == pytest.approx(30 * 7)
    assert times([near, large, (0b1001101, 11.0)]) == pytest.approx(30 * 7)
    assert times([near, large, (0b1001000, 3.0)]) == pytest.approx(30 * 7 * 3)  # of two that no link joins
    assert times([(0b1111111, 5.0), near, far, large, side]) == pytest.approx(5)


def test_more_vertices_than_a_set_holds_are_refused() -> None:
    problem = Problem([1.0] * 1025, [1.0] * 1025, frozenset(), [])
    with pytest.raises(Unsupported, match=r"A pattern of 1,025 nodes can't be planned: 1,024 are the most\."):
        CostModel(problem).best_order()


@given(problems(2, 9))
def test_sets_of_several_words_give_what_those_of_one_do(problem: Problem) -> None:
    sets = range(1, 1 << min(5, len(problem.candidates)))
    small = CostModel(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order_module, "_SMALL", 1)
        large = CostModel(problem)
        assert [large.rows(bound) for bound in sets] == [small.rows(bound) for bound in sets]
        assert large.best_order() == small.best_order()


def ring_with_leaves(ring: int, leaves: int) -> Problem:
    """A circle of vertices that are few, then fewer, one of them with leaves that must all differ."""
    ties = DegreeStatistics(10.0, 200.0, 3.0, 2.0)
    ends = [(v, (v + 1) % ring) for v in range(ring)] + [(0, ring + leaf) for leaf in range(leaves)]
    count = ring + leaves
    sizes = [1e4] * count
    apart = list(combinations(range(ring, count), 2))
    return Problem(sizes, sizes, frozenset(), [Link(*pair, 1e-3, ties, ties) for pair in ends], different=apart)


@pytest.mark.parametrize(("ring", "leaves"), [(70, 0), (40, 40), (400, 100), (3, 997)])
@pytest.mark.parametrize("wanted", [0, 1 << 2])
def test_large_patterns_are_ordered_along_their_links(ring: int, leaves: int, wanted: int) -> None:
    problem = replace(ring_with_leaves(ring, leaves), wanted=wanted)
    model = CostModel(problem)
    found = model.best_order()
    assert sorted(found.vertices) == list(range(ring + leaves))
    near = {v: {v - 1, v + 1} for v in range(ring)} | {v: {0} for v in range(ring, ring + leaves)}
    near[0] |= {ring - 1, *range(ring, ring + leaves)}
    near[ring - 1].add(0)
    assert all(near[v].intersection(found.vertices[:k]) for k, v in enumerate(found.vertices) if k)
    assert 0 < found.cost == pytest.approx(model.cost(found.vertices))
    assert 0 < model.rows(model.all) <= 1e200


def test_nothing_is_left_where_others_took_all_there_is() -> None:
    to_one = Link(0, 1, 1e-2, DegreeStatistics(1.0, 1.0), DegreeStatistics(100.0, 200.0))
    again = Link(0, 2, 1e-2, DegreeStatistics(1.0, 1.0), DegreeStatistics(100.0, 200.0))
    problem = Problem([1e4] * 3, [1e4] * 3, frozenset(), [to_one, again], kinds=["T", "L", "L"])
    assert CostModel(problem).rows(7) == pytest.approx(1e4, rel=0.1)
    assert CostModel(replace(problem, different=[(1, 2)])).rows(7) <= 1
    assert CostModel(replace(problem, different=[(1, 2)], kinds=["T", "L", "M"])).rows(7) == pytest.approx(1e4, rel=0.1)


def link(one: int, other: int) -> Link:
    ties = DegreeStatistics(10.0, 100.0)
    return Link(one, other, 1e-3, ties, ties)


def test_a_link_that_closes_triangles_is_as_likely_as_their_odds_say() -> None:
    triangle = Problem([1e4] * 3, [1e4] * 3, frozenset(), [link(*ends) for ends in combinations(range(3), 2)])
    apart = CostModel(triangle).rows(7)
    odds = 1e-3 / (1 - 1e-3)
    for times in (0.1, 1.0, 20.0, 1e6):
        chance = times * odds / (1 + times * odds)
        found = CostModel(replace(triangle, triangles=[((0, 1, 2), (times,) * 3)])).rows(7)
        assert found == pytest.approx(apart * chance / 1e-3, rel=0.01)


def test_each_triangle_brings_vertices_closer_but_keeps_them_apart_only_once() -> None:
    corners = list(combinations(range(4), 3))
    clique = Problem([1e9] * 4, [1e9] * 4, frozenset(), [link(*ends) for ends in combinations(range(4), 2)])
    apart = CostModel(clique).rows(15)
    closer = CostModel(replace(clique, triangles=[(each, (10.0,) * 3) for each in corners])).rows(15)
    farther = CostModel(replace(clique, triangles=[(each, (0.1,) * 3) for each in corners])).rows(15)
    assert closer == pytest.approx(apart * 1e4, rel=0.2)
    assert farther == pytest.approx(apart * 1e-2, rel=0.2)


def test_a_vertex_has_edges_of_two_sorts_together_as_often_as_is_told() -> None:
    star = Problem([1e4] * 4, [1e4] * 4, frozenset(), [link(0, other) for other in (1, 2, 3)])
    for times in (0.01, 1.0, 5.0):
        told = replace(star, sorts=[(0, 0), (1, 0), (1, 0)], meetings=[(0, 0, 1)], together=[times])
        assert CostModel(told).rows(0b0111) == pytest.approx(CostModel(star).rows(0b0111) * times)
        assert CostModel(told).rows(0b1111) == pytest.approx(CostModel(star).rows(0b1111) * times**2)
        assert CostModel(told).rows(0b1101) == pytest.approx(CostModel(star).rows(0b1101))
    by_degrees = CostModel(star).rows(0b1111)
    told = replace(star, sorts=[(0, 0), (1, 0), (2, 0)], meetings=[(0, 0, 1), (0, 0, 2), (0, 1, 2)])
    most = CostModel(replace(told, together=[3.0, 3.0, 3.0])).rows(0b1111)
    assert by_degrees * 9 < most < by_degrees * 27


def test_squares_are_counted_by_wedges_only_where_both_ways_go_along_the_same_lists() -> None:
    def square(last: DegreeStatistics) -> Problem:
        links = [link(0, 1), link(0, 2), link(1, 3), replace(link(2, 3), there=last, back=last)]
        return Problem([1e5] * 4, [1e5] * 4, frozenset(), links, different=[(1, 2)], kinds=["A", "B", "B", "C"])

    counted = CostModel(square(DegreeStatistics(10.0, 100.0))).cost((0, 1, 2, 3))
    walked = CostModel(square(DegreeStatistics(10.0, 90.0))).cost((0, 1, 2, 3))
    assert walked > 1.5 * counted


@pytest.mark.parametrize("nodes", [0, 1, 3, 100_000])
@pytest.mark.parametrize("bound", [None, 0, 2, 10**6])
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("wanted", [(), ("n",)])
def test_a_vertex_alone_costs_what_the_model_says(
    nodes: int, bound: int | None, counted: bool, wanted: tuple[str, ...]
) -> None:
    table = pa.table({"id": np.arange(nodes)})
    store = Graph.from_arrow([("P", table)], [], key="id")._store
    conditions = (
        () if bound is None else (Comparison(("<",), (Property(Variable("n", type=NODE), "id"), Literal(bound))),)
    )
    node = PatternNode("n", LabelIs("P"), conditions)
    matching = Matching(["n"], [], [], Differences(), wanted=wanted, counted=counted)
    alone = matching_order(matching, Cardinality(store, {"n": node}))
    modelled = matching_order(replace(matching, hints=Hints()), Cardinality(store, {"n": node}))
    assert alone == replace(modelled, rows=alone.rows, cost=alone.cost, on_gpu=alone.on_gpu)
    assert (alone.rows, alone.cost) == pytest.approx((modelled.rows, modelled.cost))
    assert alone.on_gpu == (None if modelled.on_gpu is None else pytest.approx(modelled.on_gpu))


@settings(max_examples=60)
@given(problems(7, 9))
def test_parts_that_nothing_links_are_ordered_each_by_itself(problem: Problem) -> None:
    count = len(problem.candidates)
    links = [each for each in problem.links if (each.one < 3) == (each.other < 3)]
    apart = Problem(problem.candidates, problem.labelled, frozenset(), links, counted=True)
    found = CostModel(apart).best_order()
    assert sorted(found.vertices) == list(range(count))
    assert found.cost == pytest.approx(CostModel(apart).cost(found.vertices))
