"""Comprehensions, quantifiers, ``reduce`` and maps on columns give what the row-wise evaluator gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import from_values
from qengine.exec.common.expressions import over_items
from qengine.exec.common.expressions.compiler import compile_expression
from qengine.exec.common.map_column import MapColumn
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar import evaluate as scalar
from qengine.plan import expr as x
from tests.examples import examples
from tests.property.test_cpu_expressions import KINDS, SMALL, STORE, TEXTS, assert_same, column

A, V, SO_FAR, LISTS = (x.Variable(name) for name in ("a", "v", "so_far", "l"))
LITERALS = (SMALL | TEXTS | st.booleans() | st.none()).map(x.Literal)


def expressions(*variables: x.Expr) -> st.SearchStrategy[x.Expr]:
    """Return expressions, most of numbers, that read variables; some of them fail."""
    leaves = st.sampled_from(variables) | LITERALS
    pairs = st.tuples(leaves, leaves)
    calls = st.builds(x.Call, st.sampled_from(["+", "*", "-", "/", "=", "<", "<>"]), pairs)
    others = st.builds(x.Call, st.just("tostring"), st.tuples(leaves)) | st.builds(x.ListOf, pairs)
    return st.one_of(leaves, calls, calls, others, st.builds(x.Call, st.just("+"), st.tuples(calls, leaves)))


CONDITIONS = st.one_of(
    st.builds(
        x.Call, st.sampled_from(["=", "<", ">=", "<>"]), st.tuples(st.just(V), st.sampled_from([A, x.Literal(1)]))
    ),
    st.builds(x.Call, st.just("IS NULL"), st.tuples(st.just(V))),
    st.builds(lambda one: x.Logical("OR", (one, x.Call("<", (V, x.Literal(0))))), st.just(x.Call("=", (V, A)))),
    st.just(V),
)
LISTS_OF = st.sampled_from(
    [st.lists(SMALL | st.none(), max_size=4), st.lists(SMALL, max_size=3), st.lists(TEXTS, max_size=2), KINDS["nodes"],
     st.lists(st.booleans() | st.none(), max_size=3), KINDS["mixed list"]]
)  # fmt: skip


@pytest.fixture(autouse=True)
def _in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in (("_FEW_ITEMS", 0), ("_MOST_ITEMS", 3), ("_LEAST_ROWS", 1)):
        monkeypatch.setattr(over_items, name, value)
    yield


@st.composite
def rows(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Rows of a value and a list; several rows often have the same list."""
    count, one = draw(st.integers(1, 6)), draw(LISTS_OF)
    lists = draw(st.lists(one, min_size=1, max_size=3))
    drawn = st.sampled_from([*lists, None])
    return {"a": draw(column(["small", "string"], count)), "l": draw(st.lists(drawn, min_size=count, max_size=count))}


SOURCES = st.sampled_from([LISTS, LISTS, LISTS, A, x.ListOf((A, x.Literal(2))), x.Literal([1, None, 2])])
SETTINGS = settings(max_examples=examples(150))


@SETTINGS
@given(rows(), SOURCES, st.none() | CONDITIONS, st.none() | expressions(V, A))
def test_comprehensions(given: dict[str, list[Any]], source: x.Expr, condition: Any, result: Any) -> None:
    assert_same(x.ListComprehension("v", source, condition, result), given)


@SETTINGS
@given(rows(), SOURCES, st.sampled_from(["any", "all", "none", "single"]), CONDITIONS)
def test_quantifiers(given: dict[str, list[Any]], source: x.Expr, quantifier: Any, condition: x.Expr) -> None:
    assert_same(x.Quantifier(quantifier, "v", source, condition), given)


@SETTINGS
@given(rows(), SOURCES, expressions(A), expressions(SO_FAR, V, A))
def test_reduce(given: dict[str, list[Any]], source: x.Expr, initial: x.Expr, step: x.Expr) -> None:
    assert_same(x.Reduce("so_far", initial, "v", source, step), given)


@SETTINGS
@given(rows(), SOURCES, expressions(A), expressions(SO_FAR, V, A), st.none() | st.just(SO_FAR) | CONDITIONS)
def test_all_reduce(
    given: dict[str, list[Any]], source: x.Expr, initial: x.Expr, step: x.Expr, condition: x.Expr | None
) -> None:
    condition = condition or x.Call("<", (SO_FAR, x.Literal(2)))
    assert_same(x.Reduce("so_far", initial, "v", source, step, condition), given)


@SETTINGS
@given(rows(), CONDITIONS, expressions(V, A))
def test_comprehensions_in_comprehensions(given: dict[str, list[Any]], condition: x.Expr, result: x.Expr) -> None:
    inner = x.ListComprehension("v", LISTS, condition, result)
    assert_same(x.ListComprehension("w", LISTS, None, x.ListOf((x.Variable("w"), inner))), given)


@SETTINGS
@given(st.data(), st.booleans())
def test_projections(data: st.DataObject, everything: bool) -> None:
    given = {"n": data.draw(column(["node", "relationship", "map"], 4)), "a": data.draw(column(["small"], 4))}
    keys = data.draw(st.lists(st.sampled_from(["i", "s", "z"]), max_size=2, unique=True))
    subject = x.Variable("n")
    entries = tuple((key, A if key == "z" else x.Property(subject, key)) for key in keys)
    projection = x.MapProjection(subject, entries, everything)
    assert_same(projection, given)
    assert_same(x.Property(projection, "i"), given)
    assert_same(x.Call("keys", (projection,)), given)


@SETTINGS
@given(st.data())
def test_maps_and_their_fields(data: st.DataObject) -> None:
    given = {"a": data.draw(column(["small", "string", "list"], 4)), "b": data.draw(column(["date", "node"], 4))}
    made = x.MapOf((("x", A), ("y", x.Variable("b"))))
    for expr in (made, x.Property(made, "x"), x.Property(made, "z"), x.Call("[]", (made, x.Literal("y")))):
        assert_same(expr, given)
    assert_same(x.ListOf((made, made)), given)


def test_these_are_done_on_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of these is left to the row-wise evaluator."""
    monkeypatch.setattr(scalar, "compile", None)
    batch = Batch(40, {"a": from_values(list(range(40))), "l": from_values([[k, 1, None] for k in range(40)])})
    runtime = Runtime(STORE, ExecutionContext({}))
    positive = x.Call(">", (V, A))
    for expr, expected in (
        (x.ListComprehension("v", LISTS, positive, x.Call("+", (V, A))), lambda a: [1] if a == 0 else []),
        (x.Quantifier("any", "v", LISTS, positive), lambda a: True if a == 0 else None),
        (x.Reduce("so_far", x.Literal(0), "v", x.ListOf((A, A)), x.Call("+", (SO_FAR, V))), lambda a: 2 * a),
        (x.Reduce("so_far", A, "v", LISTS, V, x.Call("<", (SO_FAR, x.Literal(9)))), lambda a: None if a < 9 else False),
    ):
        found = compile_expression(expr, runtime)(batch)
        assert found.values() == [expected(a) for a in range(40)]
    made = compile_expression(x.MapOf((("x", A),)), runtime)(batch)
    assert isinstance(made, MapColumn)


def test_lists_of_one_value() -> None:
    """Items that are the same in all rows are held once."""
    given = {"a": [1, 2, None, 1], "l": [[1, 2], [], None, [3]]}
    for item in (1, None, "1"):
        lists = x.ListComprehension("v", LISTS, None, x.Literal(item))
        for expr in (x.Call("IN", (x.Literal(1), lists)), x.Call("IN", (A, lists)), x.Call("tointegerlist", (lists,))):
            assert_same(expr, given)
