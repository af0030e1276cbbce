"""Functions of numbers and lists, and conversions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine.exec.common.columns import (
    ArrowColumn,
    BoolArray,
    Column,
    ConstantColumn,
    IntArray,
    ListColumn,
    concatenate,
    integer_column,
    null_column,
)
from qengine.exec.common.expressions.operand import NUMERIC, as_double, operand
from qengine.exec.common.runtime import Runtime
from qengine.exec.common.text_rows import TextRows

__all__ = ["FUNCTIONS", "choose", "chosen_rows"]

_LARGEST = 2.0**63
_DIGITS = r"\A-?[0-9]{1,18}\z"
_DECIMALS = r"\A-?[0-9]{1,15}(\.[0-9]{1,15})?\z"


def _of_number(on_integers: Callable[[Any], Any] | None, on_floats: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a function of a numeric column; integers go as doubles where they have no function of their own."""

    def function(_: Runtime, column: Column) -> Column | None:
        a = operand(column)
        if a.kind not in NUMERIC:
            return null_column(len(column)) if a.kind == "null" else None
        if a.kind == "integer" and on_integers is not None:
            return ArrowColumn(on_integers(a.datum))
        return ArrowColumn(on_floats(as_double(a)))

    return function


def _to_integer(_: Runtime, column: Column) -> Column | None:
    a = operand(column)
    if a.kind in ("null", "integer"):
        return column
    if a.kind == "boolean":
        return ArrowColumn(a.datum.cast(pa.int64()))
    if a.kind == "string":
        return _of_digits(a.datum, _DIGITS, pa.int64())
    if a.kind != "float":
        return None
    fits = pc.and_(pc.greater_equal(a.datum, -_LARGEST), pc.less(a.datum, _LARGEST))
    if pc.all(fits).as_py() is False:  # NaN, too
        return None
    return ArrowColumn(pc.trunc(a.datum).cast(pa.int64()))


def _to_float(_: Runtime, column: Column) -> Column | None:
    a = operand(column)
    if a.kind == "null":
        return column
    if a.kind == "string":
        return _of_digits(a.datum, _DECIMALS, pa.float64())
    return ArrowColumn(as_double(a)) if a.kind in NUMERIC else None


def _of_digits(texts: Any, form: str, type: Any) -> Column | None:
    """Return texts as numbers where all have a form that Arrow reads as the language does."""
    if not pc.all(pc.match_substring_regex(texts, form)).as_py():  # null where there are only nulls
        return None
    return ArrowColumn(texts.cast(type))


def _to_string(_: Runtime, column: Column) -> Column | None:
    a = operand(column)
    if a.kind in ("null", "string"):
        return column
    return ArrowColumn(a.datum.cast(pa.string())) if a.kind in ("integer", "boolean") else None


def _size(_: Runtime, column: Column) -> Column | None:
    if isinstance(column, ListColumn):
        return integer_column(column.lengths(), None if column.valid is None else ~column.valid)
    a = operand(column)
    if a.kind == "string":
        return ArrowColumn(pc.utf8_length(a.datum).cast(pa.int64()))
    return column if a.kind == "null" else None


def _item_at(column: Column, places: Callable[[ListColumn], IntArray]) -> Column | None:
    """Return from each list the item at its place in the flat items; null where the list is too short or null."""
    if not isinstance(column, ListColumn):
        return None
    index = places(column)
    found = (index >= column.starts) & (index < column.ends)
    if column.valid is not None:
        found &= column.valid
    return choose([column.items.take(index[found]), null_column(1)], _scatter(found))


def _scatter(found: BoolArray) -> IntArray:
    """Return for each row its place among the rows found, else the place behind them all."""
    places = np.cumsum(found) - 1
    places[~found] = np.count_nonzero(found)
    return places


def choose(columns: Sequence[Column], places: IntArray) -> Column:
    """Return the values at ``places`` of the columns laid one after the other."""
    return concatenate(columns).take(places)


def chosen_rows(columns: Sequence[Column], chosen: IntArray) -> Column:
    """Return the value that each row has in the column that is chosen for it, int64[rows]."""
    constant = np.array([isinstance(column, ConstantColumn) for column in columns])
    parts = [column.slice(0, 1) if alone else column for column, alone in zip(columns, constant, strict=True)]
    begins = np.cumsum([0, *map(len, parts[:-1])])
    places = begins[chosen]
    if not constant.all():
        rows = np.arange(len(chosen), dtype=np.int64)
        places += np.where(constant[chosen], 0, rows) if constant.any() else rows
    return choose(parts, places)


def _head(_: Runtime, column: Column) -> Column | None:
    return _item_at(column, lambda lists: lists.starts)


def _last(_: Runtime, column: Column) -> Column | None:
    return _item_at(column, lambda lists: lists.ends - 1)


def _item(_: Runtime, column: Column, index: Column) -> Column | None:
    if isinstance(column, TextRows) and isinstance(index, ConstantColumn) and type(index.value) in (int, str):
        return column.field(index.value)
    if not isinstance(index, ConstantColumn) or type(index.value) is not int or abs(index.value) >= 2**31:
        return None
    offset = index.value
    return _item_at(column, lambda lists: (lists.starts if offset >= 0 else lists.ends) + offset)


def _reverse(_: Runtime, column: Column) -> Column | None:
    if isinstance(column, ListColumn):
        offsets, lengths = column.offsets(), column.lengths()
        # The item that is k-th in its list comes from the place k before the list's end.
        order = np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], lengths)
        places = np.repeat(column.ends - 1, lengths) - order
        return ListColumn(offsets, column.items.take(places), column.valid)
    a = operand(column)
    return ArrowColumn(pc.utf8_reverse(a.datum)) if a.kind == "string" else None


def _float_sign(numbers: Any) -> Any:
    return pc.if_else(pc.is_nan(numbers), 0.0, pc.sign(numbers)).cast(pa.int64())


FUNCTIONS: dict[str, Callable[..., Column | None]] = {
    "abs": _of_number(pc.abs_checked, pc.abs),
    "ceil": _of_number(None, lambda numbers: pc.add(pc.ceil(numbers), 0.0)),  # + 0.0: no negative zero
    "floor": _of_number(None, lambda numbers: pc.add(pc.floor(numbers), 0.0)),
    "sqrt": _of_number(None, pc.sqrt),
    "sign": _of_number(lambda numbers: pc.sign(numbers).cast(pa.int64()), _float_sign),
    "isnan": _of_number(None, pc.is_nan),
    "tointeger": _to_integer,
    "tointegerornull": _to_integer,
    "tofloat": _to_float,
    "tofloatornull": _to_float,
    "tostring": _to_string,
    "tostringornull": _to_string,
    "size": _size,
    "head": _head,
    "last": _last,
    "[]": _item,
    "reverse": _reverse,
}
