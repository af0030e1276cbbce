"""The verifier of logical plans finds what is broken."""

from __future__ import annotations

import pytest

from qengine.plan.expr import AggregateCall, Expr, Subquery, Variable
from qengine.plan.logical import Aggregate, Argument, Filter, LogicalPlan, Match, Operator, Project, Unit, Unwind
from qengine.plan.pattern import Direction, PatternNode, PatternRelationship, QueryGraph
from qengine.testing.verify import verify

A, B = Variable("a"), Variable("b")
NODES = (PatternNode("a"), PatternNode("b"))


def match(*, nodes: tuple[PatternNode, ...] = NODES, edges: tuple[PatternRelationship, ...] = ()) -> Match:
    return Match(Unit(), QueryGraph(nodes, edges))


def sound(expr: Expr) -> LogicalPlan:
    return LogicalPlan(Project(match(), (("x", expr),)), ("x",))


def test_a_sound_plan_passes() -> None:
    verify(sound(A))


@pytest.mark.parametrize(
    ("root", "message"),
    [
        (Project(match(), (("x", Variable("c")),)), "no columns"),
        (Project(match(), (("x", A), ("x", B))), "two columns of one name"),
        (Project(match(), (("y", A),)), "the plan gives"),
        (Project(Unwind(match(), A, "b"), (("x", A),)), "mean two things"),
        (Project(match(nodes=(PatternNode("a", bound=True),)), (("x", A),)), "bound is wrong"),
        (Project(match(nodes=(PatternNode("a", predicates=(B,)),)), (("x", A),)), "a: "),
        (Project(match(edges=(PatternRelationship("r", "a", "c"),)), (("x", A),)), "no nodes"),
        (
            Project(match(edges=(PatternRelationship("r", "a", "b", direction=Direction.IN),)), (("x", A),)),
            "turned round",
        ),
        (Project(Filter(match(), AggregateCall("count", ())), (("x", A),)), "outside Aggregate"),
        (
            Project(match(), (("x", Subquery("count", Match(Argument(()), QueryGraph((), ())), ("a",))),)),
            "its leaf gives",
        ),
        (Project(match(), (("x", Subquery("exists", Unit(), ())),)), "starts at an Argument"),
        (
            Project(Aggregate(match(), (("x", A),), (("x", AggregateCall("count", ())),)), (("x", Variable("x")),)),
            "mean two things",
        ),
    ],
)
def test_a_broken_plan_is_found(root: Operator, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        verify(LogicalPlan(root, ("x",)))
