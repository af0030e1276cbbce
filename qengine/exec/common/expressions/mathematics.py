"""Functions of numbers. Arrow calls the same library of the system as Python does, so that both give the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine.exec.common.columns import ArrowColumn, Column, ConstantColumn, null_column
from qengine.exec.common.expressions.operand import NUMERIC, as_double, null_rows, operand
from qengine.exec.common.expressions.texts import mended
from qengine.exec.common.runtime import Runtime
from qengine.exec.scalar.mathematics import MATHEMATICS as OF_NUMBER

_MOST_DIGITS = 12
_LARGEST_SCALED = 2.0**40
_NEAR_TIE = 1e-3  # of the scaled number to what lies between two; a double's error is less than 2^-12 there


def of_number(on_integers: Callable[[Any], Any] | None, on_floats: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a function of a numeric column; integers go as doubles where they have no function of their own."""

    def function(_: Runtime, column: Column) -> Column | None:
        a = operand(column)
        if a.kind not in NUMERIC:
            return null_column(len(column)) if a.kind == "null" else None
        if a.kind == "integer" and on_integers is not None:
            return ArrowColumn(on_integers(a.datum))
        return ArrowColumn(on_floats(as_double(a)))

    return function


def _float_sign(numbers: Any) -> Any:
    return pc.if_else(pc.is_nan(numbers), 0.0, pc.sign(numbers)).cast(pa.int64())


def _numpy(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of Arrow's doubles by NumPy: of operations that round exactly."""

    def changed(numbers: Any) -> Any:
        with np.errstate(all="ignore"):
            found = function(numbers.to_numpy(zero_copy_only=False))
        return pa.array(found, mask=numbers.is_null().to_numpy(zero_copy_only=False) if numbers.null_count else None)

    return changed


def _cotangent(numbers: Any) -> Any:
    return _numpy(lambda tangents: np.where(tangents == 0, np.copysign(np.inf, tangents), 1 / tangents))(
        pc.tan(numbers)
    )


def _half_upward(numbers: Any) -> Any:
    below = np.floor(numbers)
    return np.where(np.isfinite(numbers), np.where(numbers - below >= 0.5, below + 1, below) + 0.0, numbers)


def _round(_: Runtime, column: Column, *details: Column) -> Column | None:
    """Round to some decimals, 0.5 away from zero, seen from the number's shortest notation.

    What lies near the middle between two results is rounded one by one.
    """
    a = operand(column)
    if a.kind not in NUMERIC or a.constant:
        return null_column(len(column)) if a.kind == "null" else None
    if not all(isinstance(each, ConstantColumn) for each in details):
        return None
    given = [each.value for each in details if isinstance(each, ConstantColumn)]
    if given in ([], [0]):
        return ArrowColumn(_numpy(_half_upward)(as_double(a)))
    if len(given) > 1 or type(given[0]) is not int or not 0 < given[0] <= _MOST_DIGITS:
        return None
    doubles, power = as_double(a), 10.0 ** given[0]
    numbers = doubles.to_numpy(zero_copy_only=False)
    with np.errstate(all="ignore"):
        scaled = np.abs(numbers) * power
        below = np.floor(scaled)
        unsure = ~(scaled < _LARGEST_SCALED) | (np.abs(scaled - below - 0.5) < _NEAR_TIE)
        rounded = np.copysign(np.floor(scaled + 0.5) / power, numbers)
    nulls = null_rows(column)
    if nulls is not None:
        unsure &= ~nulls
    digits = given[0]
    return ArrowColumn(
        mended(pa.array(rounded, mask=nulls), unsure, doubles, lambda each: OF_NUMBER["round"](each, digits))
    )


def _atan2(_: Runtime, y: Column, x: Column) -> Column | None:
    a, b = operand(y), operand(x)
    if a.kind == "null" or b.kind == "null":
        return null_column(len(y))
    if a.kind not in NUMERIC or b.kind not in NUMERIC:
        return None
    return ArrowColumn(pc.atan2(as_double(a), as_double(b)))


def _degrees(numbers: Any) -> Any:
    return pc.multiply(numbers, 180.0 / np.pi)


def _radians(numbers: Any) -> Any:
    return pc.multiply(numbers, np.pi / 180.0)


_ARROW = {"exp": "exp", "log": "ln", "log10": "log10", "sin": "sin", "cos": "cos", "tan": "tan", "sinh": "sinh",
          "cosh": "cosh", "tanh": "tanh", "asin": "asin", "acos": "acos", "atan": "atan"}  # fmt: skip
"""Arrow's names of functions of doubles; not all versions have them."""

MATHEMATICS: dict[str, Callable[..., Column | None]] = {
    "abs": of_number(pc.abs_checked, pc.abs),
    "ceil": of_number(None, lambda numbers: pc.add(pc.ceil(numbers), 0.0)),  # + 0.0: no negative zero
    "floor": of_number(None, lambda numbers: pc.add(pc.floor(numbers), 0.0)),
    "sqrt": of_number(None, pc.sqrt),
    "sign": of_number(lambda numbers: pc.sign(numbers).cast(pa.int64()), _float_sign),
    "isnan": of_number(None, pc.is_nan),
    **{name: of_number(None, getattr(pc, arrow)) for name, arrow in _ARROW.items() if hasattr(pc, arrow)},
    "atan2": _atan2,
    "cot": of_number(None, _cotangent),
    "degrees": of_number(None, _degrees),
    "radians": of_number(None, _radians),
    "haversin": of_number(None, lambda numbers: pc.divide(pc.subtract(1.0, pc.cos(numbers)), 2.0)),
    "round": _round,
}
