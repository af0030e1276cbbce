"""Groups rows by grouping equality: null equals null, NaN equals NaN, 1 equals 1.0, both zeros are one.

Each column becomes integer codes, equal for equal values; the codes of several columns are joined to one. Lists have
those of their items, place by place, and maps those of their fields. Only long lists and mixed values are looked at one
by one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine import _native
from qengine._control import Status
from qengine._frozen import frozen
from qengine.exec.common.batch import BATCH_ROWS
from qengine.exec.common.columns import (
    ArrowColumn,
    Column,
    ConstantColumn,
    IntArray,
    ListColumn,
    NodeColumn,
    RelationshipColumn,
)
from qengine.exec.common.map_column import MapColumn
from qengine.exec.common.property_texts import PropertyTexts
from qengine.exec.scalar.compare import group_key

_CODE_LIMIT = 2**62
_ROWS = np.arange(BATCH_ROWS, dtype=np.int64)
_ROWS.flags.writeable = False
_LONG = 16  # items of lists that aren't looked at place by place
_SPARSE = 8  # a table with up to so many places for each row, of 5 bytes each, beats hashing


@frozen
class Groups:
    """``codes``: the group of each row, ``0..count-1``. ``first``: the first row of each group."""

    codes: IntArray
    first: IntArray

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self.first)

    @property
    def alone(self) -> bool:
        """Whether each row is a group by itself, known without looking: the groups are the rows."""
        return self.codes is self.first

    def firsts(self, column: Column) -> Column:
        """Return the values of each group's first row."""
        return column if self.alone else column.take(self.first)


def by_code(codes: IntArray, count: int) -> IntArray:
    """Return the rows by their codes, those of one code in their order; codes are from 0 to ``count``, without it.

    Rows are sorted by digits of 16 bits, the lowest first, for which NumPy counts instead of comparing.
    """
    order: IntArray | None = None
    for shift in range(0, max(1, (count - 1).bit_length()), 16):
        digits = (codes >> shift if shift else codes).astype(np.uint16)
        order = np.argsort(digits, kind="stable") if order is None else order[np.argsort(digits[order], kind="stable")]
    assert order is not None
    return order


def group_rows(columns: Sequence[Column], length: int) -> Groups:
    """Return the groups of ``length`` rows by all columns; without columns all rows are one group.

    The groups are in no particular order, but in the same one each time.
    """
    if length == 0:
        return Groups(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    if len(columns) == 1 and (values := _integers(columns[0])) is not None and ascends(values):
        return rows_alone(length)
    codes, bound = _joined(map(_codes, columns), length)
    if bound == 1:
        return Groups(codes, np.zeros(1, dtype=np.int64))
    if bound >= length and ascends(codes):
        return rows_alone(length)
    if not _dense(bound, length):
        return _numbered(codes)
    codes, bound = _compact(codes, bound)
    first = np.empty(bound, dtype=np.int64)
    first[codes[::-1]] = np.arange(length - 1, -1, -1, dtype=np.int64)  # the last to be written is the first row
    return Groups(codes, first)


def _joined(parts: Iterable[tuple[IntArray, int]], length: int) -> tuple[IntArray, int]:
    """Return codes that are equal where those of all parts are, and a bound that all are below."""
    codes, bound = np.zeros(length, dtype=np.int64), 1
    for own, own_bound in parts:
        if own_bound == 1:
            continue
        if bound == 1:
            codes, bound = own, own_bound
            continue
        if bound * own_bound > _CODE_LIMIT:
            codes, bound = _compact(codes, bound)
            own, own_bound = _compact(own, own_bound)
        codes, bound = codes * own_bound + own, bound * own_bound
    return codes, bound


def rows_alone(length: int) -> Groups:
    """Return groups of a row each."""
    rows = _ROWS[:length] if length <= len(_ROWS) else np.arange(length, dtype=np.int64)
    return Groups(rows, rows)


def ascends(values: IntArray) -> bool:
    """Tell whether each value is greater than the one before: all are different."""
    return bool((values[1:] > values[:-1]).all())


def known_apart(columns: Sequence[Column]) -> bool:
    """Tell whether columns, one after the other, hold integers that ascend: no value stands there twice."""
    last: int | None = None
    for column in columns:
        values = _integers(column)
        if values is None:
            return False
        if len(values) == 0:
            continue
        if (last is not None and values[0] <= last) or not ascends(values):
            return False
        last = int(values[-1])
    return True


def _compact(codes: IntArray, bound: int) -> tuple[IntArray, int]:
    """Return codes without gaps, and how many there are."""
    if bound == 1:
        return codes, 1
    if _dense(bound, len(codes)):
        present = np.zeros(bound, dtype=np.bool_)
        present[codes] = True
        places = np.flatnonzero(present)
        if len(places) == bound:
            return codes, bound
        number = np.empty(bound, dtype=np.int32 if len(places) < 2**31 else np.int64)
        number[places] = np.arange(len(places), dtype=number.dtype)
        return number[codes].astype(np.int64, copy=False), len(places)
    groups = _numbered(codes)
    return groups.codes, groups.count


def _dense(bound: int, rows: int) -> bool:
    """Tell whether a table with a place for each code below a bound beats hashing them."""
    return bound <= _SPARSE * rows + 1024


def _numbered(values: IntArray) -> Groups:
    """Return the groups of integers, in the order of their first rows."""
    values = np.ascontiguousarray(values)
    codes = np.empty(len(values), dtype=np.int64)
    first = np.empty(len(values), dtype=np.int64)  # what isn't written takes no memory
    count = ctypes.c_uint64()
    status = _library().qe_integer_codes(values, len(values), codes, first, ctypes.byref(count))
    if status != Status.OK:  # no memory for its table, or more rows than it can number
        raise MemoryError
    return Groups(codes, first[: count.value])


_library = _native.declared("qe_integer_codes i8* u8 i8* i8* p")


def _dictionary(array: pa.Array) -> tuple[IntArray, int]:
    encoded = array.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)


def _codes(column: Column) -> tuple[IntArray, int]:
    """Return codes of a column's values, and a bound that all are below."""
    if isinstance(column, ConstantColumn):
        return np.zeros(len(column), dtype=np.int64), 1
    if (values := _integers(column)) is not None:
        return _integer_codes(values)
    if isinstance(column, PropertyTexts) and (coded := column.codes()) is not None:
        return coded[0] + 1, len(coded[1].texts) + 1
    if isinstance(column, ArrowColumn):
        array = column.array
        if pa.types.is_float64(array.type):
            # Adding 0.0 makes negative zero positive; all NaNs get the same bits.
            array = pc.if_else(pc.is_nan(array), float("nan"), pc.add(array, 0.0))
            if not array.null_count:
                groups = _numbered(array.to_numpy().view(np.int64))
                return groups.codes, groups.count
        return _dictionary(array)
    if isinstance(column, ListColumn):
        if (shared := column.shared()) is not None:
            places, lists = shared
            codes, bound = _list_codes(lists)
            return codes[places], bound
        return _list_codes(column)
    if isinstance(column, MapColumn):
        return _joined(_field_codes(column), len(column))
    return _value_codes(column)


def _list_codes(lists: ListColumn) -> tuple[IntArray, int]:
    longest = int(lists.lengths().max(initial=0))
    if longest > _LONG:
        return _value_codes(lists)
    items = lists.flat()
    codes, bound = _codes(items) if len(items) else (np.zeros(1, dtype=np.int64), 1)
    at_places = ((np.where(there, codes[rows] + 1, 0), bound + 1) for there, rows in lists.by_place())
    return _joined((_null_codes(lists), *at_places), len(lists))


def _field_codes(maps: MapColumn) -> Iterator[tuple[IntArray, int]]:
    yield _null_codes(maps)
    for field in maps.fields.values():
        codes, bound = _codes(field)
        yield codes if maps.valid is None else np.where(maps.valid, codes, 0), bound


def _null_codes(column: Column) -> tuple[IntArray, int]:
    return column.is_null().astype(np.int64), 2


def _value_codes(column: Column) -> tuple[IntArray, int]:
    """Return the codes of values of any kind, one by one."""
    known: dict[object, int] = {}
    codes = [known.setdefault(group_key(value), len(known)) for value in column.values()]
    return np.array(codes, dtype=np.int64), len(known)


def _integers(column: Column) -> IntArray | None:
    """Return integers that are equal where a column's values are, if it holds some."""
    if isinstance(column, NodeColumn | RelationshipColumn):
        return column.ids
    if isinstance(column, ArrowColumn) and pa.types.is_int64(column.type) and not column.has_nulls:
        integers: IntArray = column.array.to_numpy()
        return integers
    return None


def _integer_codes(values: IntArray) -> tuple[IntArray, int]:
    low, high = int(values.min()), int(values.max())
    if _dense(high - low, len(values)):
        return values - low, high - low + 1
    groups = _numbered(values)
    return groups.codes, groups.count
