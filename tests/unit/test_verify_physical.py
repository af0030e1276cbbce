"""The verifier of physical plans passes what is planned, and finds each way in which a plan can be broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from qengine import Graph
from qengine.plan.elimination import MaskedProduct, Matrix, MatVec, NodeIndicator, Pairs, Product, RootedForest, Term
from qengine.plan.expr import AggregateCall, Subquery, Variable
from qengine.plan.logical import Aggregate, Argument, Filter, Operator, Project, Sort, SortKey, Union, Unit, Unwind
from qengine.plan.physical import (
    Attach,
    ColumnCondition,
    EdgeLevel,
    Eliminate,
    HashJoin,
    Optional,
    PhysicalPlan,
    Reach,
    Search,
    Shortest,
    VertexLevel,
    Walk,
)
from qengine.plan.traverse import operators, rewrite_plan
from qengine.testing.plans import lowered
from qengine.testing.verify_physical import verify_physical

GRAPH = Graph.from_records(
    [{"id": i, "labels": "AB"[i % 2], "properties": {"x": i}} for i in range(12)],
    [{"type": "R", "start": i, "end": (i * k + 1) % 12, "properties": {"w": k}} for i in range(12) for k in (1, 2, 5)]
    + [{"type": "U", "start": i, "end": (i * k + 5) % 12} for i in range(12) for k in (1, 3)],
    undirected=["U"],
)
A, B = Variable("a"), Variable("b")

SEARCH = "MATCH (a:A)-[r:R]->(b), (b)-[q:R]->(c) WHERE a.x < b.x AND a <> c RETURN a, r, b, c"
TRIANGLE = "MATCH (a)-[:U]-(b)-[:U]-(c)-[:U]-(a) RETURN count(*)"
LISTED = "MATCH (a)-[:U]-(b)-[:U]-(c)-[:U]-(a) RETURN a, b, c"
FOUND = "MATCH (a:A)-[r:R]->(b) RETURN a, r, b"
JOIN = "/*+ join(a, b | b, c) */ MATCH (a)-[:R]->(b)-[:R]->(c) RETURN a, b, c"
WALK = "MATCH (a:A)-[:R*1..3]->(b) RETURN a, b"
REACH = "MATCH (a:A)-[:R*1..3]->(b) RETURN DISTINCT a, b"
SHORTEST = "MATCH p = shortestPath((a:A)-[:R*]->(b:B)) RETURN p"
OPTIONAL = "MATCH (a) OPTIONAL MATCH (a)-[:R]->(b) RETURN a, b"
ATTACH = "MATCH (a) RETURN a.x AS x, COUNT { (a)-[:R]->() } AS n"
SQUARE = "/*+ eliminate */ MATCH REPEATABLE ELEMENTS (a)-[:U]-(b)-[:U]-(c)-[:U]-(d)-[:U]-(a) RETURN count(*)"
DIAMOND = "/*+ eliminate */ MATCH (a)-[:U]-(b:A)-[:U]-(c)-[:U]-(a), (a)-[:U]-(d)-[:U]-(c) RETURN count(*)"
BY_NODE = "/*+ eliminate */ MATCH (a:A)-[:R]->(b)-[:R]->(c) RETURN a, count(*)"
BY_PAIR = "/*+ eliminate */ MATCH (a)-[:R]->(b)-[:R]->(c) RETURN a, c, count(*)"
SOUND = (
    SEARCH, TRIANGLE, LISTED, FOUND, JOIN, WALK, SHORTEST, OPTIONAL, ATTACH, SQUARE, DIAMOND, BY_NODE, BY_PAIR,
    "MATCH (a) WHERE 6 / a.x > 1 AND a.x <> 0 RETURN a",
    "MATCH (a) RETURN DISTINCT a.x AS x ORDER BY x, COUNT { (:A)--() } UNION ALL RETURN 1 AS x",
    "UNWIND [1, 2] AS x MATCH (a {x: x}) RETURN x, collect(a.x) AS l SKIP 1 LIMIT 2",
)  # fmt: skip


def planned(text: str) -> PhysicalPlan:
    plan = lowered(GRAPH, text)
    return plan


@pytest.mark.parametrize("text", SOUND)
def test_what_is_planned_passes(text: str) -> None:
    verify_physical(planned(text))


def broken(text: str, kind: type[Operator], change: Callable[[Any], Operator]) -> PhysicalPlan:
    """Return a plan with its operators of a kind changed."""
    plan = planned(text)
    assert any(isinstance(each, kind) for each in operators(plan.root))
    return replace(plan, root=rewrite_plan(plan.root, lambda each: change(each) if isinstance(each, kind) else each))


def fields(**news: Any) -> Callable[[Any], Any]:
    return lambda node: replace(node, **news)


def level(place: int, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Change one level of each search."""

    def changed(search: Search) -> Search:
        levels = list(search.levels)
        levels[place] = change(levels[place])
        return replace(search, levels=tuple(levels))

    return changed


def source(place: int) -> Callable[[Any], Any]:
    """Let a level read the neighbours of another."""
    return lambda vertex: replace(vertex, sources=tuple(replace(each, level=place) for each in vertex.sources))


def step(kind: type[Any], change: Callable[[Any, int], Any]) -> Callable[[Any], Any]:
    """Change the first step of a kind, given its place."""

    def changed(operator: Eliminate) -> Eliminate:
        steps = list(operator.steps)
        place = next(place for place, each in enumerate(steps) if isinstance(each, kind))
        steps[place] = change(steps[place], place)
        return replace(operator, steps=tuple(steps))

    return changed


def term(**news: Any) -> Callable[[Any], Any]:
    return lambda operator: replace(operator, terms=(replace(operator.terms[0], **news), *operator.terms[1:]))


def of_arms(change: Callable[[Any], Any]) -> Callable[[Any, int], Any]:
    return lambda around, place: replace(around, nodes=tuple(change(arm) for arm in around.nodes))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (level(1, source(1)), "reads neighbours of level 1, which is not bound"),
        (level(1, source(7)), "reads neighbours of level 7, which is not bound"),
        (level(1, source(-1)), "reads neighbours of level -1"),
        (level(3, source(2)), "of another kind"),
        (level(1, lambda each: replace(each, name="a")), "two columns of one name"),
        (level(1, lambda each: replace(each, different=(3,))), "differs from level 3"),
        (level(1, lambda each: replace(each, less=(1,))), "is ordered after level 1"),
        (level(1, lambda each: replace(each, less=(0,), greater=(0,))), "less and greater"),
        (level(1, lambda each: replace(each, pairs=((0, 1, 0, 3),))), "compares levels"),
        (level(3, lambda each: replace(each, pairs=((0, 3, 2, 3),))), "of another kind"),
        (level(1, lambda each: replace(each, predicates=(A,))), "no columns"),
        (level(1, lambda each: replace(each, sources=each.sources * 2)), "a neighbour set twice"),
        (level(1, lambda each: replace(each, conditions=(ColumnCondition("=", 0, "x", 0, "x"),))), "compares levels"),
        (level(1, lambda each: replace(each, conditions=(ColumnCondition("~", 0, "x", 1, "x"),))), "no comparison"),
        (level(2, lambda each: replace(each, end=3)), "joins level 3"),
        (level(2, lambda each: replace(each, different=(0,))), "of another kind"),
        (fields(emit=("a", "z")), "are emitted"),
        (fields(seeds=9), "9 of"),
        (fields(seeds=1), "are given by none"),
        (fields(strategy="eliminate"), "no strategy"),
        (fields(count="n", exists=True), "counts and asks for one"),
        (fields(orbits=2), "orbits of what is not counted"),
        (fields(images=(("a", "b"),)), "is no order of"),
    ],
)
def test_a_broken_search_is_found(change: Callable[[Any], Operator], message: str) -> None:
    assert [type(each) for each in planned(SEARCH).root.input.levels][:3] == [VertexLevel, VertexLevel, EdgeLevel]  # type: ignore[attr-defined]
    with pytest.raises(AssertionError, match=message):
        verify_physical(broken(SEARCH, Search, change))


@pytest.mark.parametrize(
    ("text", "kind", "change", "message"),
    [
        (OPTIONAL, Search, lambda each: replace(each, input=Unit()), "are given by none"),
        (FOUND, Project, fields(items=(("a", A), ("a", A))), "two columns of one name"),
        (FOUND, Project, fields(items=(("a", Variable("z")),)), "no columns"),
        (FOUND, Project, fields(items=(("a", A), ("b", B))), "the plan gives"),
        (FOUND, Project, fields(items=(("a", AggregateCall("count", ())),)), "outside Aggregate"),
        (FOUND, Project, fields(items=(("a", Subquery("count", Unit(), ())),)), "not lowered"),
        (FOUND, Project, lambda each: replace(each, input=Filter(each.input, Variable("z"))), "no columns"),
        (FOUND, Project, lambda each: replace(each, input=Sort(each.input, (SortKey(Variable("z")),))), "no columns"),
        (FOUND, Project, lambda each: replace(each, input=Unwind(each.input, A, "b")), "two columns of one name"),
        (FOUND, Project, lambda each: replace(each, input=Argument(("a",))), "outside a subplan"),
        (FOUND, Project, lambda each: Union((each, Unit()), False), "a union of"),
        (TRIANGLE, Aggregate, fields(weight="z"), "weighted by z"),
        (LISTED, Search, lambda each: replace(each, images=(("a", "a", "b"),)), "is no order of"),
        (JOIN, HashJoin, fields(keys=()), "without keys"),
        (JOIN, HashJoin, fields(keys=("c",)), "of a join has"),
        (JOIN, HashJoin, fields(keys=("a",)), "of a join has"),
        (JOIN, HashJoin, fields(emit=("z",)), "a join emits"),
        (JOIN, HashJoin, fields(emit=("b",)), "a join emits|two columns"),
        (JOIN, HashJoin, fields(semi=True), "semi-join emits"),
        (JOIN, HashJoin, fields(apart=((("a", "z"),),)), "on neither side"),
        (JOIN, HashJoin, fields(apart=((),)), "equations at a time"),
        (JOIN, HashJoin, lambda each: replace(each, build=Argument(("b",))), "outside a subplan"),
        (WALK, Walk, fields(start="z"), "a walk starts at z"),
        (WALK, Walk, fields(end=VertexLevel("a")), "bound is wrong"),
        (WALK, Walk, fields(end=VertexLevel("b", different=(0,))), "constrained by levels"),
        (WALK, Walk, fields(predicates=(B,)), "no columns"),
        (WALK, Walk, fields(minimum=-1), "a walk of -1 hops"),
        (WALK, Walk, fields(different=("r",)), "shares nothing"),
        (WALK, Walk, fields(distinct_ends=True, relationships="r"), "each end once"),
        (WALK, Walk, fields(distinct_ends=True, relationships=None, minimum=1), "ends that are reached"),
        (SHORTEST, Shortest, fields(relationships="a"), "two columns of one name"),
        (SHORTEST, Shortest, fields(hops="h"), "the hops of a path, and their number"),
        (REACH, Reach, fields(minimum=2), "each once"),
        (REACH, Reach, fields(by=("z",)), "ends by"),
        (REACH, Reach, fields(start="z"), "a walk starts at z"),
        (OPTIONAL, Optional, fields(columns=("z",)), "an optional part adds"),
        (OPTIONAL, Optional, fields(columns=("a",)), "two columns of one name"),
        (OPTIONAL, Argument, fields(columns=("z",)), "a subplan of"),
        (ATTACH, Attach, fields(outer=("z",)), "a subplan reads"),
        (ATTACH, Attach, fields(outer=()), "a subplan of"),
        (ATTACH, Attach, fields(kind="collect"), "a list of"),
        (ATTACH, Attach, fields(kind="sum"), "nothing to attach"),
        (ATTACH, Attach, fields(weight="z"), "weighted by"),
        (ATTACH, Attach, fields(name="a"), "two columns of one name"),
    ],
)
def test_a_broken_operator_is_found(
    text: str, kind: type[Operator], change: Callable[[Any], Operator], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        verify_physical(broken(text, kind, change))


@pytest.mark.parametrize(
    ("text", "change", "message"),
    [
        (DIAMOND, lambda each: replace(each, steps=each.steps[1:]), "which are not before it|which are no steps|as a"),
        (DIAMOND, lambda each: replace(each, steps=tuple(reversed(each.steps))), "which are not before it"),
        (DIAMOND, lambda each: replace(each, steps=(*each.steps, each.steps[0])), "repeats step 0"),
        (DIAMOND, lambda each: replace(each, steps=(*each.steps, Matrix(()))), "a matrix of nothing"),
        (DIAMOND, lambda each: replace(each, steps=(*each.steps, Product((0, 0)))), "are not read"),
        (DIAMOND, lambda each: replace(each, terms=(*each.terms, each.terms[0])), "terms that are one"),
        (DIAMOND, step(MatVec, lambda each, place: replace(each, matrix=place)), "not before it"),
        (DIAMOND, step(MatVec, lambda each, place: replace(each, vector=each.matrix)), "as a vector"),
        (DIAMOND, step(MaskedProduct, lambda each, place: replace(each, vector=each.across)), "as a vector"),
        (DIAMOND, step(MaskedProduct, lambda each, place: replace(each, left=place + 1)), "not before it"),
        (DIAMOND, step(NodeIndicator, lambda each, place: NodeIndicator((("a", None, (B,)),))), "a: "),
        (SQUARE, step(RootedForest, lambda each, place: replace(each, tops=())), "around nothing"),
        (SQUARE, step(RootedForest, lambda each, place: replace(each, tops=(0,))), "linked|hang nowhere"),
        (SQUARE, step(RootedForest, of_arms(lambda arm: replace(arm, link=0))), "is linked"),
        (SQUARE, step(RootedForest, of_arms(lambda arm: replace(arm, nodes=(1,)))), "which are not before it"),
        (SQUARE, step(RootedForest, of_arms(lambda arm: replace(arm, vector=0))), "as a vector"),
        (SQUARE, term(factor=0), "counts nothing"),
        (SQUARE, term(totals=(0,)), "adds up a matrix|are not read"),
        (SQUARE, term(totals=(99,)), "which are no steps"),
        (SQUARE, term(output=0), "by 0 nodes"),
        (BY_NODE, term(output=None), "by 1 nodes"),
        (BY_NODE, fields(emit=("b",)), "are summed up by"),
        (BY_NODE, fields(emit=()), "are summed up by"),
        (
            BY_NODE,
            lambda each: replace(each, search=replace(each.search, input=each.input, seeds=1)),
            "depends on rows",
        ),
        (
            BY_PAIR,
            step(Pairs, lambda each, place: replace(each, nodes=each.nodes[:-1])),
            "is not linked|is linked|hang",
        ),
        (BY_PAIR, lambda each: replace(each, terms=(Term(1, (), None),)), "by 2 nodes"),
        (BY_PAIR, lambda each: replace(each, search=replace(each.search, count=None)), "neither the count"),
    ],
)
def test_a_broken_elimination_is_found(text: str, change: Callable[[Any], Operator], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        verify_physical(broken(text, Eliminate, change))
