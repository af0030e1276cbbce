"""Walks over bound expressions: order, what is entered, what is replaced."""

from __future__ import annotations

from qengine.plan.expr import (
    Call,
    Case,
    Expr,
    HasLabels,
    ListComprehension,
    Literal,
    Logical,
    MapOf,
    Subquery,
    Variable,
)
from qengine.plan.logical import Argument, Filter
from qengine.plan.pattern import LabelIs
from qengine.plan.traverse import children, conjuncts, free_variables, preorder, rewrite, substitute

A, B, C, X = (Variable(name) for name in "abcx")


def test_walk_goes_parents_first_in_the_order_of_writing() -> None:
    inner = Call("+", (A, B))
    expr = Case(((inner, MapOf((("k", C),))),), HasLabels(X, LabelIs("L")))
    assert [part for part in preorder(expr) if isinstance(part, Variable)] == [A, B, C, X]
    assert next(iter(preorder(expr))) is expr
    assert list(children(expr)) == [inner, MapOf((("k", C),)), HasLabels(X, LabelIs("L"))]


def test_subquery_plans_are_not_entered() -> None:
    subquery = Subquery("exists", Filter(Argument(("a",)), B), ("a",))
    assert list(preorder(subquery)) == [subquery]
    assert free_variables(subquery) == {"a"}


def test_free_variables_leave_out_what_the_expression_binds() -> None:
    assert free_variables(ListComprehension("x", A, Call(">", (X, B)), None)) == {"a", "b"}


def test_rewrite_changes_children_first() -> None:
    seen: list[Expr] = []

    def change(expr: Expr) -> Expr:
        seen.append(expr)
        return C if expr == A else expr

    assert rewrite(Call("+", (A, B)), change) == Call("+", (C, B))
    assert seen == [A, B, Call("+", (C, B))]


def test_substitute_replaces_the_topmost_parts() -> None:
    inner = Call("f", (A,))

    def choose(expr: Expr) -> Expr | None:
        return {inner: B, A: C}.get(expr)

    assert substitute(Logical("AND", (inner, A)), choose) == Logical("AND", (B, C))


def test_what_does_not_change_stays_the_same_object() -> None:
    expr = Call("f", (A, Literal(1)))
    assert rewrite(expr, lambda part: part) is expr
    assert substitute(expr, lambda part: None) is expr


def test_conjuncts_of_nested_ands() -> None:
    assert conjuncts(Logical("AND", (A, Logical("AND", (B, C))))) == (A, B, C)
    assert conjuncts(Logical("OR", (A, B))) == (Logical("OR", (A, B)),)


def test_deep_expressions_can_be_rewritten() -> None:
    expr: Expr = A
    for _ in range(200):  # as deep as the parser lets them be
        expr = Call("f", (expr,))
    assert free_variables(rewrite(expr, lambda part: B if part == A else part)) == {"b"}
