"""Orders rows by the global order of values: in ascending order nulls come last and NaN before them.

Every column is turned into ranks, integers in the order of its values, so that one integer sort serves all kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine.exec.common.columns import (
    ArrowColumn,
    Column,
    ConstantColumn,
    IntArray,
    ListColumn,
    NodeColumn,
    RelationshipColumn,
)
from qengine.exec.common.number_column import NumberColumn
from qengine.exec.common.property_texts import PropertyTexts
from qengine.exec.scalar.compare import order_key
from qengine.storage.normal import is_string

_NULL = np.int64(2**63 - 1)
_LONG = 16  # items of lists that aren't looked at place by place
_FEW_ROWS = 1 << 10  # are ordered as soon without words
_FEW_VALUES = 1 << 12  # between the least and the greatest: they are counted, however few rows there are


def ranks(column: Column) -> IntArray:
    """Return an int64 a row whose order is that of the values; equal for values that tie. Undefined for nulls."""
    if isinstance(column, NodeColumn | RelationshipColumn):
        return column.ids
    if isinstance(column, ConstantColumn):
        return np.zeros(len(column), dtype=np.int64)
    if isinstance(column, PropertyTexts) and (coded := column.codes()) is not None:
        return coded[0]
    if isinstance(column, NumberColumn):
        return _float_ranks(pa.array(column.numbers))
    if isinstance(column, ArrowColumn):
        return _arrow_ranks(column.array)
    if isinstance(column, ListColumn) and 0 < column.lengths().max(initial=0) <= _LONG:
        return _list_ranks(column)
    keys = [order_key(value) for value in column.values()]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    places = np.array(order, dtype=np.int64)
    steps = [0, *(keys[a] != keys[b] for a, b in pairwise(order))]
    found = np.empty(len(keys), dtype=np.int64)
    found[places] = np.cumsum(steps[: len(keys)])
    return found


def _list_ranks(lists: ListColumn) -> IntArray:
    """Return the ranks of lists by those of their items, place by place; where one ends it comes before the others."""
    items = lists.flat()
    null = items.is_null()
    of_items = ranks(items)
    keys = []
    for there, rows in lists.by_place():
        keys += [np.where(there, np.where(null[rows], 2, 1), 0), np.where(there & ~null[rows], of_items[rows], 0)]
    order = _sorted(keys, np.arange(len(lists), dtype=np.int64))
    found = np.zeros(len(lists), dtype=np.int64)
    steps = np.zeros(max(0, len(lists) - 1), dtype=np.bool_)
    for key in keys:
        steps |= np.diff(key[order]) != 0
    found[order[1:]] = np.cumsum(steps)
    return found


def lasting_ranks(column: Column, *, ascending: bool) -> tuple[object, IntArray] | None:
    """Return int64 by which rows of several batches sort ascending, nulls included, and what tells whose compare.

    Ranks of one column compare with those of another where what tells is equal. None where they don't last.
    """
    of: object
    if isinstance(column, PropertyTexts):
        if (coded := column.codes()) is None:
            return None
        found, of = coded
    elif isinstance(column, NodeColumn | RelationshipColumn):
        of, found = type(column), column.ids
    elif isinstance(column, ArrowColumn) and is_of_numbers(column.type):
        of, found = column.type, _arrow_ranks(column.array)
        if found.max(initial=0) == _NULL:
            return None
    else:
        return None
    null = column.is_null()
    if null.any():
        found = np.where(null, _NULL, found)
    return of, found if ascending else ~found


def is_of_numbers(type: Any) -> bool:
    """Tell whether values of a type are ordered by the numbers that they are stored as, those of any column."""
    return bool(pa.types.is_int64(type) or pa.types.is_float64(type) or pa.types.is_temporal(type))


def _arrow_ranks(array: pa.Array) -> IntArray:
    if pa.types.is_null(array.type):
        return np.zeros(len(array), dtype=np.int64)
    if is_string(array.type):
        dense: IntArray = pc.rank(array, tiebreaker="dense").to_numpy().astype(np.int64)
        return dense
    if pa.types.is_boolean(array.type):
        bits: IntArray = array.fill_null(False).to_numpy(zero_copy_only=False).astype(np.int64)
        return bits
    if pa.types.is_float64(array.type):
        return _float_ranks(array)
    width = array.type.bit_width // 8
    buffer = np.frombuffer(array.buffers()[1], f"i{width}", len(array), array.offset * width)
    return buffer.astype(np.int64, copy=False)


def _float_ranks(array: pa.Array) -> IntArray:
    """Return the bits of doubles as integers of the same order: NaN greatest, both zeros equal."""
    numbers = np.frombuffer(array.buffers()[1], np.float64, len(array), array.offset * 8) + 0.0
    numbers[np.isnan(numbers)] = np.nan
    bits = numbers.view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)


def sort_keys(columns: Sequence[tuple[Column, bool]]) -> list[IntArray]:
    """Return integer arrays, most significant first, by which rows sort ascending as the columns ask.

    Parameters
    ----------
    columns
        Each with whether it is ascending; descending reverses the whole order, nulls included.
    """
    keys: list[IntArray] = []
    for column, ascending in columns:
        nulls = column.is_null()
        values = ranks(column)
        if nulls.any():
            keys.append((nulls if ascending else ~nulls).astype(np.int64))
            values = np.where(nulls, 0, values)
        keys.append(values if ascending else ~values)
    return keys


def sorted_rows(keys: Sequence[IntArray], length: int, limit: int | None = None) -> IntArray:
    """Return the rows in ascending order of the keys, ties in input order; only the first ``limit``."""
    if limit is None or limit >= length:
        return _sorted(keys, np.arange(length, dtype=np.int64))
    if limit == 0:
        return np.zeros(0, dtype=np.int64)
    return _sorted(keys, _candidates(keys, np.arange(length, dtype=np.int64), limit))[:limit]


def kth_least(values: IntArray, k: int) -> int:
    """Return the number before which k others come in ascending order; there are more than k.

    Where they lie close together they are counted: NumPy's selection is slow where many are equal.
    """
    low, high = int(values.min()), int(values.max())
    if high - low > max(_FEW_VALUES, len(values)):
        return int(np.partition(values, k)[k])
    ends = np.cumsum(np.bincount(values - low))
    return low + int(np.searchsorted(ends, k, side="right"))


def _sorted(keys: Sequence[IntArray], rows: IntArray) -> IntArray:
    return rows[_order([key[rows] for key in keys])] if keys else rows


def _order(keys: Sequence[IntArray]) -> IntArray:
    """Return the places of keys in ascending order, ties in their order.

    Words that have the keys' leading bits, and the place behind, are sorted: NumPy does so several times as fast as it
    finds the order of one key after the other. What ties in the bits that there was room for is ordered by the others.
    """
    n = len(keys[0])
    if n < _FEW_ROWS:
        return np.lexsort(keys[::-1])
    place_bits = (n - 1).bit_length()
    room = 63 - place_bits
    words = np.zeros(n, np.uint64)
    rest: list[IntArray] = []
    for key in keys:
        low = int(key.min())
        width = (int(key.max()) - low).bit_length()
        left = max(0, width - room)
        room -= width - left
        offsets = key.view(np.uint64) - np.uint64(low % 2**64)
        words = words << np.uint64(width - left) | offsets >> np.uint64(left)
        if left:
            rest.append((offsets & np.uint64((1 << left) - 1)).view(np.int64) if left < 64 else key)
    words = words << np.uint64(place_bits) | np.arange(n, dtype=np.uint64)
    words.sort()
    order = (words & np.uint64((1 << place_bits) - 1)).view(np.int64)
    if rest:
        words >>= np.uint64(place_bits)
        ties = words[1:] == words[:-1]
        tied = np.flatnonzero(np.concatenate((ties, [False])) | np.concatenate(([False], ties)))
        if len(tied):
            among, groups = order[tied], np.cumsum(np.concatenate(([True], ~ties)))[tied]
            order[tied] = among[_order([groups, *(key[among] for key in rest)])]
    return order


def _candidates(keys: Sequence[IntArray], rows: IntArray, limit: int) -> IntArray:
    """Return the rows, ascending, that can be among the first ``limit``; at least so many."""
    if limit >= len(rows):
        return rows
    if not keys:
        return rows[:limit]
    values = keys[0][rows]
    bound = kth_least(values, limit - 1)
    below = rows[values < bound]
    ties = _candidates(keys[1:], rows[values == bound], limit - len(below))
    return np.sort(np.concatenate([below, ties]))
