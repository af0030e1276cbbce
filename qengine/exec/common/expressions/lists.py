"""Functions and operators of lists: parts of them, lists put together, and each item converted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from qengine.exec.common.columns import (
    ArrowColumn,
    Column,
    ConstantColumn,
    ListColumn,
    NodeColumn,
    PathColumn,
    RelationshipColumn,
    boolean_column,
    concatenate,
    null_column,
    numbers_from,
)
from qengine.exec.common.expressions.functions import FUNCTIONS
from qengine.exec.common.expressions.operand import farthest, numpy_values, operand
from qengine.exec.common.map_column import MapColumn
from qengine.exec.common.runtime import Runtime
from qengine.exec.interruptible import in_parts
from qengine.exec.scalar.values import LONGEST_LIST

_SINGLE = (ArrowColumn, NodeColumn, RelationshipColumn, PathColumn, MapColumn)
"""Columns whose values are surely no lists."""


def added(left: Column, right: Column) -> Column | None:
    """Return ``left + right`` where at least one is a list: the items of both, or the other as an item; else None."""
    parts = [_as_lists(left), _as_lists(right)]
    if parts[0] is None or parts[1] is None or not any(isinstance(each, ListColumn) for each in (left, right)):
        return None
    null = left.is_null() | right.is_null()
    starts, lengths, begin = [], [], 0
    for part in parts:
        assert part is not None
        starts.append(part.starts + begin)
        lengths.append(np.where(null, 0, part.lengths()))
        begin += len(part.items)
    places = numbers_from(np.column_stack(starts).ravel(), np.column_stack(lengths).ravel())
    offsets = np.concatenate(([0], np.cumsum(lengths[0] + lengths[1])))
    items = concatenate([part.items for part in parts if part is not None]).take(places)
    return ListColumn(offsets, items, ~null if null.any() else None)


def _as_lists(column: Column) -> ListColumn | None:
    """Return lists, or a list of each value; None where that may be either."""
    if isinstance(column, ListColumn):
        return column
    if isinstance(column, ConstantColumn):
        if type(column.value) is list:
            return _as_lists(column.expanded())
        rows = np.arange(len(column) + 1)
        return ListColumn(rows, column) if column.value is not None else ListColumn(np.zeros_like(rows), null_column(0))
    return ListColumn(np.arange(len(column) + 1), column) if isinstance(column, _SINGLE) else None


def _tail(_: Runtime, column: Column) -> Column | None:
    if not isinstance(column, ListColumn):
        return None
    return column.over(np.minimum(column.starts + 1, column.ends), column.ends, column.valid)


def _is_empty(_: Runtime, column: Column) -> Column | None:
    if isinstance(column, ListColumn):
        return boolean_column(column.lengths() == 0, None if column.valid is None else ~column.valid)
    a = operand(column)
    if a.kind == "string" and not a.constant:
        widths = column.widths()
        null = column.is_null()
        return None if widths is None else boolean_column(widths == 0, null if null.any() else None)
    return None


def _range(runtime: Runtime, *bounds: Column) -> Column | None:
    operands = [operand(column) for column in bounds]
    if any(a.kind != "integer" for a in operands) or any(column.is_null().any() for column in bounds):
        return None
    begin, end, *step = (np.broadcast_to(numpy_values(a), len(bounds[0])) for a in operands)
    by = step[0] if step else np.ones(len(begin), np.int64)
    if not by.all() or farthest(begin, end, by) >= 2**61:
        return None
    lengths = np.maximum(0, (end - begin) // by + 1)
    if farthest(lengths) > LONGEST_LIST:
        return None
    runtime.memory.room(len(begin), int(lengths.sum(dtype=np.float64)) * np.dtype(np.int64).itemsize)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    first = begin - offsets[:-1] * by  # what the item at place 0 of all would be; it may wrap, and wraps back
    numbers = np.arange(int(offsets[-1]))
    for places in in_parts(numbers, runtime.context.check, _AT_ONCE):
        rows = slice(np.searchsorted(offsets, places[0], "right") - 1, np.searchsorted(offsets, places[-1], "right"))
        ends = np.clip(offsets[rows.start : rows.stop + 1], places[0], places[-1] + 1)
        if step:
            places *= np.repeat(by[rows], np.diff(ends))
        places += np.repeat(first[rows], np.diff(ends))
    return ListColumn(offsets, ArrowColumn(pa.array(numbers, pa.int64())))


_AT_ONCE = 1 << 16  # items of ranges: what is beside them stays in a cache


def _each(name: str) -> Callable[[Runtime, Column], Column | None]:
    """Return the conversion of each item; null for what can't be converted."""

    def function(runtime: Runtime, column: Column) -> Column | None:
        if not isinstance(column, ListColumn):
            return None
        flat = column.flat()
        items = FUNCTIONS[name](runtime, flat.expanded() if isinstance(flat, ConstantColumn) else flat)
        return None if items is None else ListColumn(column.offsets(), items, column.valid)

    return function


LISTS: dict[str, Callable[..., Column | None]] = {
    "tail": _tail,
    "isempty": _is_empty,
    "range": _range,
    "tointegerlist": _each("tointegerornull"),
    "tofloatlist": _each("tofloatornull"),
    "tostringlist": _each("tostringornull"),
}
