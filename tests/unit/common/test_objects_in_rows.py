"""Dates that rows hold as Python's objects, and objects that stand in many rows, give what each row alone gives."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import ArrowColumn, ObjectColumn
from qengine.exec.common.expressions import row_wise
from qengine.exec.common.expressions.compiler import compile_expression, compile_predicate
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar import evaluate as scalar
from qengine.plan.expr import Call, Comparison, Expr, Literal, Property, Variable
from qengine.storage import from_records
from qengine.temporal import Date, LocalDateTime, LocalTime
from qengine.temporal.arrow import to_array
from qengine.temporal.values import DAY
from qengine.temporal.zones import at_local

STORE = from_records([{"id": 0}], [])
A, B = Variable("a"), Variable("b")
MOMENTS = [LocalDateTime.from_nanoseconds(k * DAY // 2) for k in range(6)]
OBJECTS: dict[str, list[Any]] = {
    "moments": [*MOMENTS[1:5], None, LocalDateTime.from_nanoseconds(DAY + 1)],
    "far": [*MOMENTS[:5], LocalDateTime.from_nanoseconds(10**9 * 365 * DAY)],
    "dates": [Date.from_days(k) for k in range(6)],
    "mixed": [MOMENTS[0], Date.from_days(1), None, "2020", MOMENTS[2], 1],
    "zoned": [at_local(k * DAY, 3600) for k in range(6)],
    "zones": [at_local(k * DAY, 3600 * (k % 2)) for k in range(6)],
    "times": [LocalTime.from_nanoseconds(k * 10**9) for k in range(6)],
    "none": [None] * 6,
}
HELD = {
    "moments": to_array([*MOMENTS[:3], None, *MOMENTS[3:5]]).cast(pa.timestamp("ms")),
    "dates": to_array([Date.from_days(k) for k in (1, 0, 3, 2, 5, 4)]),
    "zoned": to_array([at_local(k * DAY, 3600) for k in (1, 0, 3, 2, 5, 4)]),
    "times": to_array([LocalTime.from_nanoseconds(k * 10**9) for k in (1, 0, 3, 2, 5, 4)]),
}


def runtime() -> Runtime:
    return Runtime(STORE, ExecutionContext({}))


@pytest.mark.parametrize("op", ["=", "<>", "<", "<=", ">", ">="])
@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("objects", OBJECTS)
def test_comparisons(op: str, held: str, objects: str) -> None:
    columns = {"a": ArrowColumn(HELD[held]), "b": ObjectColumn(OBJECTS[objects])}
    rows = [
        dict(zip(columns, row, strict=True)) for row in zip(*(each.values() for each in columns.values()), strict=True)
    ]
    for args in ((A, B), (B, A)):
        expr = Comparison((op,), args)
        expected = [scalar.compile(expr, runtime().environment)(row) for row in rows]
        assert compile_expression(expr, runtime())(Batch(6, columns)).values() == expected
        assert compile_predicate(expr, runtime())(Batch(6, columns)).tolist() == [each is True for each in expected]


def test_dates_of_objects_are_compared_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_wise.ByRow, "__call__", lambda *arguments: pytest.fail("rows were evaluated one by one"))
    batch = Batch(6, {"a": ArrowColumn(HELD["moments"]), "b": ObjectColumn(OBJECTS["moments"])})
    compile_predicate(Comparison((">=",), (A, B)), runtime())(batch)


def repeated(values: list[Any]) -> ObjectColumn:
    drawn = random.Random(3)
    return ObjectColumn([drawn.choice(values) for _ in range(200)])


@pytest.mark.parametrize(
    "expr",
    [
        Property(A, "k"),
        Call("+", (Property(A, "l"), Literal([1]))),
        Call("size", (Property(A, "l"),)),
        Call("+", (A, B)),
        Call("=", (A, B)),
    ],
    ids=str,
)
def test_what_stands_in_many_rows_is_evaluated_once(expr: Expr) -> None:
    maps = [{"k": k, "l": [k, 0.0]} for k in range(4)] + [None]
    lists: list[Any] = [[1], [-0.0], [0.0], None]
    plain = isinstance(expr, Call) and A in expr.args
    columns = {"a": repeated(lists if plain else maps), "b": repeated(lists)}
    seen, given = [], runtime()
    function = scalar.compile(expr, given.environment)

    def counted(row: Any) -> Any:
        seen.append(row)
        return function(row)

    by_row = row_wise.ByRow(lambda: expr, given)
    by_row.__dict__["function"] = counted
    found = by_row(dict(columns), 200).values()
    rows = zip(columns["a"].objects, columns["b"].objects, strict=True)
    assert repr(found) == repr([function({"a": a, "b": b}) for a, b in rows])
    assert len(seen) <= 20


def test_what_changes_is_evaluated_for_each_row() -> None:
    by_row = row_wise.ByRow(lambda: Call("+", (A, Call("rand", ()))), runtime())
    found = by_row({"a": ObjectColumn([1.5] * 100)}, 100).values()
    assert len(np.unique(found)) > 90
