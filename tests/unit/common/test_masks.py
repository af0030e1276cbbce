"""Masks say for a range of ids where predicates hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qengine.exec.common.masks import Masks
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar import evaluate as scalar
from qengine.exec.scalar.values import NodeHandle, RelationshipHandle
from qengine.plan.expr import Call, Comparison, Expr, HasLabels, Literal, Parameter, Property, Variable
from qengine.plan.pattern import LabelIs
from qengine.storage import from_records

VALUES = [1, 5, None, 5, 2.0, 5.0, "5", 7, None, 0]
STORE = from_records(
    [
        {"id": i, "labels": ["A"] if i % 3 else ["B"], "properties": {"mixed": v, "i": i % 4, "s": f"name{i % 5}"}}
        for i, v in enumerate(VALUES)
    ],
    [{"type": "R", "start": 0, "end": 1}]
    + [{"type": "S", "start": i, "end": (i * 7) % 10, "properties": {"w": i % 3 or None}} for i in range(10)],
)
N = Variable("n")
PREDICATES: list[Expr] = [
    Comparison(("=",), (Property(N, "i"), Literal(2))),
    Comparison((">",), (Property(N, "mixed"), Literal(1.5))),
    Comparison(("<", "<="), (Literal(0), Property(N, "i"), Parameter("most"))),
    Call("STARTS WITH", (Property(N, "s"), Literal("name3"))),
    Call("IS NULL", (Property(N, "mixed"),)),
    Property(N, "absent"),
    HasLabels(N, LabelIs("A")),
    Call("=", (Call("tostring", (Property(N, "i"),)), Literal("1"))),
]


def runtime() -> Runtime:
    return Runtime(STORE, ExecutionContext({"most": 2}))


@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("bounds", [(0, 10), (3, 8), (9, 10), (4, 4)])
def test_vertex_masks(predicate: Expr, bounds: tuple[int, int]) -> None:
    function = scalar.compile_predicate(predicate, runtime().environment)
    wanted = [function({"n": NodeHandle(id)}) for id in range(*bounds)]
    assert Masks(runtime()).vertex_mask("n", (predicate,), *bounds).tolist() == wanted


@pytest.mark.parametrize("bounds", [(0, 10), (2, 7), (10, 10)])
def test_edge_masks(bounds: tuple[int, int]) -> None:
    predicates = (
        Call(">=", (Property(Variable("r"), "w"), Literal(1))),
        Call("<>", (Property(Variable("r"), "w"), Literal(2))),
    )
    index = STORE.type_index("S")
    assert index is not None
    base = STORE.types[index].base
    both = [scalar.compile_predicate(predicate, runtime().environment) for predicate in predicates]
    wanted = [all(f({"r": RelationshipHandle(base + id)}) for f in both) for id in range(*bounds)]
    assert Masks(runtime()).edge_mask("r", predicates, index, *bounds).tolist() == wanted


def test_masks_are_kept_by_predicate_and_range() -> None:
    masks = Masks(runtime())
    first, second = (PREDICATES[0],), (PREDICATES[3],)
    assert masks.vertex_mask("n", first, 0, 10) is masks.vertex_mask("n", first, 0, 10)
    assert masks.vertex_mask("n", first, 0, 5).tolist() == masks.vertex_mask("n", first, 0, 10)[:5].tolist()
    assert masks.vertex_mask("n", first, 0, 10).tolist() != masks.vertex_mask("n", second, 0, 10).tolist()
    chance: tuple[Any, ...] = (Call("<", (Call("rand", ()), Literal(0.5))),)
    assert any(
        not np.array_equal(masks.vertex_mask("n", chance, 0, 10), masks.vertex_mask("n", chance, 0, 10))
        for _ in range(20)
    )


def test_what_is_the_same_of_other_names_is_evaluated_once() -> None:
    masks = Masks(runtime())

    def larger(name: str, value: object) -> tuple[Expr, ...]:
        return (Comparison(("<",), (Literal(value), Property(Variable(name), "i"))),)

    one = masks.vertex_mask("n", larger("n", 1), 0, 10)
    assert masks.vertex_mask("m", larger("m", 1), 0, 10) is one
    assert masks.vertex_mask("m", larger("m", 1), 0, 9) is not one
    assert masks.vertex_mask("m", larger("m", 2), 0, 10) is not one


def test_values_that_are_equal_and_not_the_same_are_told_apart() -> None:
    masks = Masks(runtime())

    def divided(zero: float) -> tuple[Expr, ...]:
        return (Comparison((">",), (Call("/", (Property(N, "i"), Literal(zero))), Literal(0.0))),)

    assert divided(0.0) == divided(-0.0)
    assert masks.vertex_mask("n", divided(0.0), 0, 10).any()
    assert not masks.vertex_mask("n", divided(-0.0), 0, 10).any()
