"""Conversions, and functions of what may be a list or a text."""

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
    text_offsets,
)
from qengine.exec.common.expressions import temporal
from qengine.exec.common.expressions.comparison import COMPARISON
from qengine.exec.common.expressions.operand import NUMERIC, Operand, as_double, list_places, null_rows, operand
from qengine.exec.common.expressions.texts import mended, texts
from qengine.exec.common.map_column import MapColumn
from qengine.exec.common.runtime import Runtime
from qengine.exec.common.text_rows import TextRows
from qengine.exec.scalar.text import parse_float, parse_integer

_LARGEST = 2.0**63
_NUMBERS = frozenset((pa.int64(), pa.float64(), pa.bool_()))
_KINDS: dict[type, Any] = {int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
_DIGITS = r"\A-?[0-9]{1,18}\z"
_NO_NUMBER = r"[A-DF-HJ-MO-Zb-dghj-mo-su-xz_/:,]|[0-9.][+-]|\..*\."
"""What a text that is no number may have: letters of no number's word, a sign within, two points."""

_DECIMALS = r"\A-?[0-9]{1,15}(\.[0-9]{1,15})?\z"

_CHARACTERS = {pa.int64(): b"0123456789-", pa.float64(): b"0123456789-."}
"""Of which each text is a number that Arrow reads as the language does, or none that Arrow takes."""


def _to_integer(_: Runtime, column: Column) -> Column | None:
    a = operand(column)
    if a.kind in ("null", "integer"):
        return column
    if a.kind == "boolean":
        return ArrowColumn(a.datum.cast(pa.int64()))
    if a.kind == "string":
        return _read(a, _DIGITS, pa.int64(), parse_integer)
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
        return _read(a, _DECIMALS, pa.float64(), parse_float)
    return ArrowColumn(as_double(a)) if a.kind in NUMERIC else None


def _read(a: Operand, form: str, type: Any, one: Callable[[str], Any]) -> Column:
    """Return texts as numbers: those of a form that Arrow reads as the language does, and others one by one."""
    if a.constant:
        return ConstantColumn(one(a.datum.as_py()), len(a.column))
    if (found := _plain_numbers(a.datum, type)) is not None:
        return ArrowColumn(found)
    plain = pc.match_substring_regex(a.datum, form)
    if pc.all(plain).as_py() is not False:  # None where there are only nulls
        return ArrowColumn(a.datum.cast(type))
    numbers = pc.if_else(plain, a.datum, None).cast(type)
    others = ~pc.or_(plain, pc.match_substring_regex(a.datum, _NO_NUMBER)).fill_null(True).to_numpy(
        zero_copy_only=False
    )
    return ArrowColumn(mended(numbers, others, a.datum, one))


def _plain_numbers(array: Any, type: Any) -> Any:
    """Return texts as numbers, if all consist of characters that Arrow and the language read alike; else None."""
    offsets, data = text_offsets(array), array.buffers()[2]
    if data is None or bytes(memoryview(data)[offsets[0] : offsets[-1]]).translate(None, _CHARACTERS[type]):
        return None
    try:
        return array.cast(type)
    except pa.ArrowInvalid:
        return None


def _to_boolean(_: Runtime, column: Column) -> Column | None:
    a = operand(column)
    if a.kind in ("null", "boolean"):
        return column
    if a.constant:
        return None
    if a.kind == "integer":
        return ArrowColumn(pc.not_equal(a.datum, 0))
    if a.kind != "string":
        return None
    lower = pc.ascii_lower(a.datum)
    true = pc.equal(lower, "true")
    return ArrowColumn(pc.if_else(pc.or_(true, pc.equal(lower, "false")), true, None))


def _to_string(_: Runtime, column: Column) -> Column | None:
    a = operand(column)
    if a.kind in ("null", "string"):
        return column
    if a.kind in ("integer", "float", "boolean") and not a.constant:
        return ArrowColumn(texts(a))
    return temporal.written(column)


def _null_if(runtime: Runtime, column: Column, other: Column) -> Column | None:
    same = COMPARISON["="](runtime, column, other)
    if same is None:
        return None
    a = operand(same)
    if a.kind != "boolean" or a.constant:
        return None
    equal = a.datum.fill_null(False).to_numpy(zero_copy_only=False)
    if isinstance(column, ArrowColumn):
        return ArrowColumn(pc.if_else(pa.array(equal), None, column.array))
    return choose([column, null_column(1)], np.where(equal, len(column), np.arange(len(column))))


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
    """Return the value that each row has in the column that is chosen for it, integers[rows]."""
    if len(columns) == 2 and (found := _either(columns[0], columns[1], chosen)) is not None:
        return found
    constant = np.array([isinstance(column, ConstantColumn) for column in columns])
    parts = [column.slice(0, 1) if alone else column for column, alone in zip(columns, constant, strict=True)]
    begins = np.cumsum([0, *map(len, parts[:-1])])
    places = begins[chosen]
    if not constant.all():
        rows = np.arange(len(chosen), dtype=np.int64)
        places += np.where(constant[chosen], 0, rows) if constant.any() else rows
    return choose(parts, places)


def _either(first: Column, second: Column, chosen: IntArray) -> Column | None:
    """Return the same of two columns of numbers or truth values of one kind, or null; None for others."""
    given = [each.value if isinstance(each, ConstantColumn) else each for each in (first, second)]
    kinds = {each.type if type(each) is ArrowColumn else _KINDS.get(type(each)) for each in given if each is not None}
    if len(kinds) != 1 or not kinds <= _NUMBERS:
        return None
    (kind,) = kinds
    if any(type(each) is int and not -(2**63) <= each < 2**63 for each in given):
        return None
    found = (each.array if type(each) is ArrowColumn else pa.scalar(each, kind) for each in given)
    return ArrowColumn(pc.if_else(pa.array(chosen == 0), *found))


def _head(_: Runtime, column: Column) -> Column | None:
    return _item_at(column, lambda lists: lists.starts)


def _last(_: Runtime, column: Column) -> Column | None:
    return _item_at(column, lambda lists: lists.ends - 1)


def _item(_: Runtime, column: Column, index: Column) -> Column | None:
    if isinstance(column, TextRows) and isinstance(index, ConstantColumn) and type(index.value) in (int, str):
        return column.field(index.value)
    if isinstance(column, MapColumn) and isinstance(index, ConstantColumn) and type(index.value) is str:
        return column.field(index.value)
    found = list_places(index)
    if found is None:
        return None
    if isinstance(column, ConstantColumn) and type(column.value) is list:
        column = column.expanded()
    null, (numbers,) = null_rows(index), found

    def places(lists: ListColumn) -> IntArray:
        at: IntArray = np.where(numbers >= 0, lists.starts, lists.ends) + numbers
        return at if null is None else np.where(null, -1, at)

    return _item_at(column, places)


def _reverse(_: Runtime, column: Column) -> Column | None:
    if isinstance(column, ListColumn):
        offsets, lengths = column.offsets(), column.lengths()
        # The item that is k-th in its list comes from the place k before the list's end.
        order = np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], lengths)
        places = np.repeat(column.ends - 1, lengths) - order
        return ListColumn(offsets, column.items.take(places), column.valid)
    a = operand(column)
    return ArrowColumn(pc.utf8_reverse(a.datum)) if a.kind == "string" else None


FUNCTIONS: dict[str, Callable[..., Column | None]] = {
    "tointeger": _to_integer,
    "tointegerornull": _to_integer,
    "toboolean": _to_boolean,
    "tobooleanornull": _to_boolean,
    "nullif": _null_if,
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
