"""``= <> < <= > >=``, ``IN``, ``IS NULL`` and the truth tables.

Values of different types are unequal and can't be ordered (null). Integers and floats compare exactly, also
beyond 2^53, where a double can't hold every integer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from qengine.exec.common.columns import (
    ArrowColumn,
    BoolArray,
    Column,
    ConstantColumn,
    IntArray,
    ListColumn,
    NodeColumn,
    RelationshipColumn,
    boolean_column,
    null_column,
)
from qengine.exec.common.expressions import temporal
from qengine.exec.common.expressions.operand import (
    COMPARE,
    MIRRORED,
    NUMERIC,
    Operand,
    null_rows,
    numpy_values,
    operand,
)
from qengine.exec.common.property_texts import PropertyTexts
from qengine.exec.common.runtime import Runtime

_FEW_LISTS = 16  # of many rows, whose values are looked for list by list
_MOST_COMPARED = 1 << 22  # items of lists that values are compared with, one by one
_EXACT = 2.0**53  # up to here every integer is a double
_FLAT = frozenset({"boolean", "integer", "float", "string"})
_ENTITY = frozenset({"node", "relationship"})

_ARROW: dict[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def _comparison(op: str) -> Callable[[Runtime, Column, Column], Column | None]:
    def function(_: Runtime, left: Column, right: Column) -> Column | None:
        if (compared := _by_code(op, left, right)) is not None:
            return compared
        a, b = operand(left), operand(right)
        if a.kind == "null" or b.kind == "null":
            return null_column(len(left))
        if a.kind in _FLAT and a.kind == b.kind:
            return ArrowColumn(_ARROW[op](a.datum, b.datum))
        if a.kind in NUMERIC and b.kind in NUMERIC:
            if a.kind == "integer":
                return _integer_with_float(op, a, b)
            return _integer_with_float(MIRRORED[op], b, a)
        if a.kind in _ENTITY and a.kind == b.kind:
            if op not in ("=", "<>"):
                return null_column(len(left))
            return boolean_column(COMPARE[op](left.ids, right.ids), null_rows(left, right))  # type: ignore[attr-defined]
        known = _FLAT | _ENTITY
        if a.kind in known and b.kind in known:
            if op not in ("=", "<>"):
                return null_column(len(left))
            return boolean_column(np.full(len(left), op == "<>"), null_rows(left, right))
        return temporal.compared(op, left, right)

    return function


def true_rows(op: str, left: Column, right: Column) -> BoolArray | None:
    """Return the rows for which a comparison is true: of numbers or times of one kind, or of a text property.

    Where nobody asks for null, NumPy takes a quarter of the time of Arrow, which makes bits. None for other columns.
    """
    if isinstance(left, ConstantColumn):
        left, right, op = right, left, MIRRORED[op]
    if isinstance(left, PropertyTexts):
        if not isinstance(right, ConstantColumn) or type(right.value) is not str or (coded := left.places()) is None:
            return None
        mine, codes = coded
        true = _beside(op, mine, *codes.place(right.value))
        return true if op == "=" else np.logical_and(true, mine >= 0)
    a, b = operand(left), operand(right)
    if a.kind in NUMERIC and a.kind == b.kind:
        compared: BoolArray | None = COMPARE[op](numpy_values(a), numpy_values(b))
    else:
        compared = temporal.compared_rows(op, left, right)
    if compared is None:
        return None
    nulls = null_rows(left, right)
    return compared if nulls is None else np.logical_and(compared, ~nulls)


def _by_code(op: str, left: Column, right: Column) -> Column | None:
    """Return the comparison of a text property with a string, or with the same property of others, by codes.

    None where it is another comparison, or the property has no codes.
    """
    if isinstance(left, ConstantColumn):
        left, right, op = right, left, MIRRORED[op]
    if not isinstance(left, PropertyTexts):
        return None
    if isinstance(right, PropertyTexts) and right.of.column is left.of.column:
        one, other = left.codes(), right.codes()
        if one is None or other is None:
            return None
        return boolean_column(COMPARE[op](one[0], other[0]), _none(np.minimum(one[0], other[0])))
    if isinstance(right, ConstantColumn) and type(right.value) is str and (coded := left.codes()) is not None:
        mine, codes = coded
        return boolean_column(_beside(op, mine, *codes.place(right.value)), _none(mine))
    return None


def _beside(op: str, codes: IntArray | NDArray[np.int32], place: int, found: bool) -> BoolArray:
    """Compare codes with a string before which ``place`` strings stand; ``found``: the next is equal to it."""
    if found:
        compared: BoolArray = COMPARE[op](codes, place)
    elif op in ("=", "<>"):
        compared = np.full(len(codes), op == "<>")
    else:
        compared = codes < place if op[0] == "<" else codes >= place
    return compared


def _none(codes: IntArray) -> BoolArray | None:
    nulls: BoolArray = codes < 0
    return nulls if nulls.any() else None


def _integer_with_float(op: str, integer: Operand, real: Operand) -> Column:
    integers, reals = np.broadcast_arrays(numpy_values(integer), numpy_values(real))
    rounded = integers.astype(np.float64)
    result: BoolArray = COMPARE[op](rounded, reals)
    # Rounding keeps the order of integers, so only rows where the rounded values are equal may be wrong.
    for row in np.flatnonzero((rounded == reals) & (np.abs(rounded) >= _EXACT)).tolist():
        result[row] = COMPARE[op](int(integers[row]), int(reals[row]))
    return boolean_column(result, null_rows(integer.column, real.column))


def _is_in(runtime: Runtime, column: Column, items: Column) -> Column | None:
    if isinstance(items, ListColumn):
        found = _entity_in_lists(column, items)
        found = _value_in_lists(column, items) if found is None else found
        return _among_items(runtime, column, items) if found is None else found
    if not isinstance(items, ConstantColumn) or type(items.value) is not list:
        return None
    return _in_constant(column, items)


def _in_constant(column: Column, items: ConstantColumn) -> ArrowColumn | None:
    """Return whether each value is in one list."""
    a = operand(column)
    if a.kind not in _FLAT or a.constant:
        return None
    values: list[Any] | None = _matching(a.kind, items.value)
    if values is None:
        return None
    found = _found(column, a, values)
    unknown = null_rows(column) if items.value else None
    if None in items.value:
        missed = ~found
        unknown = missed if unknown is None else missed | unknown
    return boolean_column(found, unknown)


def _value_in_lists(column: Column, lists: ListColumn) -> Column | None:
    """Return whether each value is in the list beside it, where rows have few different lists."""
    if operand(column).kind not in _FLAT or (shared := lists.shared()) is None or len(shared[1]) > _FEW_LISTS:
        return None
    places, each = shared
    found, unknown = np.zeros(len(column), dtype=np.bool_), np.zeros(len(column), dtype=np.bool_)
    for place, items in enumerate(each.values()):
        rows = np.flatnonzero(places == place)
        if items is None:
            unknown[rows] = True
            continue
        part = _in_constant(column.take(rows), ConstantColumn(items, len(rows)))
        if part is None:
            return None
        unknown[rows] = part.is_null()
        found[rows] = part.array.fill_null(False).to_numpy(zero_copy_only=False)
    return boolean_column(found, unknown)


def _among_items(runtime: Runtime, column: Column, lists: ListColumn) -> Column | None:
    """Return the same by comparing each value with each item beside it; None where these are too many."""
    lengths, count = lists.lengths(), max(1, len(column))
    items = int(lengths.sum())
    if items > _MOST_COMPARED:
        return None
    runtime.memory.room(count, items * (column.nbytes // count) + lists.nbytes)
    repeated, flat = column.take(np.repeat(np.arange(len(lists)), lengths)), lists.flat()
    if isinstance(repeated, ConstantColumn) and isinstance(flat, ConstantColumn):
        return None
    compared = COMPARISON["="](runtime, repeated, flat)
    return None if compared is None else any_in(compared, lists)


def any_in(found: Column, lists: ListColumn) -> Column | None:
    """Return for each list whether a truth value of its items is true: null where only a null could be."""
    a = operand(found)
    if a.kind not in ("boolean", "null"):
        return None
    rows = np.repeat(np.arange(len(lists)), lists.lengths())
    true, unknown = np.zeros(len(lists), np.bool_), np.zeros(len(lists), np.bool_)
    unknown[rows[found.is_null()]] = True
    if a.kind == "boolean":
        held = (
            np.full(len(found), a.datum.as_py())
            if a.constant
            else a.datum.fill_null(False).to_numpy(zero_copy_only=False)
        )
        true[rows[held]] = True
    null = unknown & ~true
    if lists.valid is not None:
        null |= ~lists.valid
    return boolean_column(true, null if null.any() else None)


def _found(column: Column, a: Operand, values: list[Any]) -> BoolArray:
    """Return where a column has one of the values, which are of its type."""
    if isinstance(column, PropertyTexts) and (coded := column.codes()) is not None:
        places = (coded[1].place(value) for value in values)
        return np.isin(coded[0], [place for place, found in places if found])
    found: BoolArray = pc.is_in(a.datum, value_set=pa.array(values, a.datum.type)).to_numpy(zero_copy_only=False)
    return found


def _entity_in_lists(column: Column, lists: ListColumn) -> Column | None:
    """Return whether each node or relationship is in the list beside it; all must be there, not null."""
    if not isinstance(column, NodeColumn | RelationshipColumn) or type(lists.items) is not type(column):
        return None
    if (shared := lists.shared()) is not None:
        return _entity_in_shared(column, *shared)
    items = lists.flat().ids  # type: ignore[attr-defined]
    nulls = null_rows(column, lists)
    if (nulls is not None and nulls.any()) or (items < 0).any():
        return None
    lengths = lists.lengths()
    hits = np.repeat(np.arange(len(lists)), lengths)[items == np.repeat(column.ids, lengths)]
    found = np.zeros(len(lists), dtype=np.bool_)
    found[hits] = True
    return boolean_column(found)


def _entity_in_shared(column: NodeColumn | RelationshipColumn, places: IntArray, lists: ListColumn) -> Column | None:
    """Return the same, row i's list being ``lists[places[i]]``: pairs of place and id are looked up."""
    items = lists.flat().ids  # type: ignore[attr-defined]
    nulls = null_rows(column, lists.take(places))
    if (nulls is not None and nulls.any()) or (items < 0).any():
        return None
    bound = 1 + max(int(column.ids.max()), int(items.max(initial=0)))
    if bound >= 2**62 // len(lists):
        return None
    held = np.repeat(np.arange(len(lists)), lists.lengths()) * bound + items
    return boolean_column(np.isin(places * bound + column.ids, held))


def _matching(kind: str, items: list[Any]) -> list[Any] | None:
    """Return the items that a column of ``kind`` could equal, in its type; None where that can't be said."""
    values: list[Any] = []
    for item in items:
        match item:
            case None:
                continue
            case bool():
                fits = kind == "boolean"
            case int() if kind == "float":
                if abs(item) >= _EXACT:
                    return None
                item, fits = float(item), True
            case int():
                fits = kind == "integer"
            case float() if kind == "integer":
                fits = item.is_integer() and abs(item) < 2.0**63
                item = int(item) if fits else item
            case float():
                fits = kind == "float" and not math.isnan(item)
            case str():
                fits = kind == "string"
            case list() | dict():
                fits = False
            case _:
                return None
        if fits:
            values.append(item)
            if item == 0 and kind == "float":  # Arrow's set tells both zeros apart
                values.append(-item)
    return values


def _is_null(_: Runtime, column: Column) -> Column:
    return boolean_column(column.is_null())


def _is_not_null(_: Runtime, column: Column) -> Column:
    return boolean_column(~column.is_null())


def _not(_: Runtime, column: Column) -> Column | None:
    a = operand(column)
    if a.kind != "boolean":
        return null_column(len(column)) if a.kind == "null" else None
    return ArrowColumn(pc.invert(a.datum))


def combine_truths(op: str, columns: list[Column]) -> Column | None:
    """Return the columns joined by ``AND``, ``OR`` or ``XOR``; None where one isn't of truth values."""
    operands = [operand(column) for column in columns]
    if any(a.kind not in ("boolean", "null") for a in operands):
        return None
    data = [a.datum.cast(pa.bool_()) for a in operands]
    function = {"AND": pc.and_kleene, "OR": pc.or_kleene, "XOR": pc.xor}[op]
    result = reduce(function, data)
    return ArrowColumn(result) if isinstance(result, pa.Array) else ConstantColumn(result.as_py(), len(columns[0]))


COMPARISON: dict[str, Callable[..., Column | None]] = {
    **{op: _comparison(op) for op in _ARROW},
    "IN": _is_in,
    "IS NULL": _is_null,
    "IS NOT NULL": _is_not_null,
    "NOT": _not,
}
