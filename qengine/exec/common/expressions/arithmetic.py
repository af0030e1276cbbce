"""Arithmetic on numbers, and ``+`` of strings.

Integers are exact or refused: on overflow and division by zero Arrow raises, and the row-wise evaluator says
what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine.exec.common.columns import ArrowColumn, Column, ListColumn, null_column
from qengine.exec.common.expressions.lists import added
from qengine.exec.common.expressions.moments import moved
from qengine.exec.common.expressions.operand import NUMERIC, Operand, as_double, null_rows, numpy_values, operand
from qengine.exec.common.expressions.texts import texts
from qengine.exec.common.runtime import Runtime

_Arrow = Callable[..., Any]


def _either_null(a: Operand, b: Operand) -> bool:
    return a.kind == "null" or b.kind == "null"


def _binary(on_integers: _Arrow, on_floats: _Arrow) -> Callable[[Runtime, Column, Column], Column | None]:
    def function(_: Runtime, left: Column, right: Column) -> Column | None:
        a, b = operand(left), operand(right)
        if _either_null(a, b):
            return null_column(len(left))
        if a.kind not in NUMERIC or b.kind not in NUMERIC:
            return None
        if a.kind == "integer" and b.kind == "integer":
            return ArrowColumn(on_integers(a.datum, b.datum))
        return ArrowColumn(on_floats(as_double(a), as_double(b)))

    return function


_add_numbers = _binary(pc.add_checked, pc.add)
_subtract_numbers = _binary(pc.subtract_checked, pc.subtract)


def _subtract(runtime: Runtime, left: Column, right: Column) -> Column | None:
    found = _subtract_numbers(runtime, left, right)
    return moved(left, right, back=True) if found is None else found


def _add(runtime: Runtime, left: Column, right: Column) -> Column | None:
    a, b = operand(left), operand(right)
    if a.kind == "string" and b.kind == "string":
        return ArrowColumn(pc.binary_join_element_wise(a.datum, b.datum, ""))
    if isinstance(left, ListColumn) or isinstance(right, ListColumn):
        return added(left, right)
    if a.kind in _WRITABLE and b.kind in _WRITABLE and "string" in (a.kind, b.kind):
        return ArrowColumn(pc.binary_join_element_wise(texts(a), texts(b), ""))
    if _either_null(a, b) or (a.kind in NUMERIC and b.kind in NUMERIC):
        return _add_numbers(runtime, left, right)
    found = moved(left, right)
    return moved(right, left) if found is None else found


_WRITABLE = frozenset({"string", "integer", "float", "boolean"})


def _remainder(_: Runtime, left: Column, right: Column) -> Column | None:
    a, b = operand(left), operand(right)
    if _either_null(a, b):
        return null_column(len(left))
    if a.kind not in NUMERIC or b.kind not in NUMERIC:
        return None
    nulls = null_rows(left, right)
    if a.kind == "integer" and b.kind == "integer":
        divisor = numpy_values(b)
        zero = divisor == 0
        if np.any(zero if nulls is None else zero & ~nulls):
            return None
        # -1 divides everything; the machine's division of the least integer by it overflows.
        safe = np.where(zero | (divisor == -1), np.int64(1), divisor)
        return ArrowColumn(pa.array(np.fmod(numpy_values(a), safe), mask=nulls))
    with np.errstate(invalid="ignore"):
        result = np.fmod(*(number.to_numpy(zero_copy_only=False) if isinstance(number, pa.Array) else number.as_py()
                           for number in (as_double(a), as_double(b))))  # fmt: skip
    return ArrowColumn(pa.array(result, mask=nulls))


def _power(_: Runtime, left: Column, right: Column) -> Column | None:
    a, b = operand(left), operand(right)
    if _either_null(a, b):
        return null_column(len(left))
    if a.kind not in NUMERIC or b.kind not in NUMERIC:
        return None
    return ArrowColumn(pc.power(as_double(a), as_double(b)))


def _sign(on_integers: _Arrow, on_floats: _Arrow) -> Callable[[Runtime, Column], Column | None]:
    def function(_: Runtime, column: Column) -> Column | None:
        a = operand(column)
        if a.kind not in NUMERIC:
            return null_column(len(column)) if a.kind == "null" else None
        return ArrowColumn((on_integers if a.kind == "integer" else on_floats)(a.datum))

    return function


ARITHMETIC: dict[str, Callable[..., Column | None]] = {
    "+": _add,
    "-": _subtract,
    "*": _binary(pc.multiply_checked, pc.multiply),
    "/": _binary(pc.divide_checked, pc.divide),
    "%": _remainder,
    "^": _power,
    "neg": _sign(pc.negate_checked, pc.negate),
    "pos": _sign(lambda datum: datum, lambda datum: datum),
}
