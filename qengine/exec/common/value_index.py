"""Indexes of a property's values: which ids have a value (hash), which have one in a range or with a prefix (sorted).

A column of mixed types has a part for each type; values of different types are unequal and not ordered, but for
integers and floats, which compare exactly. Lists, durations, times with offsets and moments of a zone are not indexed.
"""

from __future__ import annotations

import ctypes
from array import array as packed
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from math import isnan
from typing import Any, Generic, Self, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine import _native
from qengine._cached import cached_property
from qengine._frozen import frozen
from qengine.exec.context import ExecutionContext
from qengine.plan.access import HASH, SORTED
from qengine.storage.arrays import Array
from qengine.storage.columns import PropertyColumn
from qengine.storage.edits import among
from qengine.storage.patched_columns import Change
from qengine.storage.value_table import (
    BITS,
    DAYS,
    FLOATS,
    INTEGERS,
    LARGE_TEXTS,
    TEXTS,
    ValueColumn,
    ValueTable,
    table_bytes,
    value_column,
)
from qengine.storage.variant import concatenate, is_variant
from qengine.temporal import Date, LocalDateTime, LocalTime
from qengine.temporal.arrow import UNITS, to_values

_FEW_CHANGED = 64  # bytes that an index must have for each value that differs from its column's
_FEW = 7  # rows that are found quickly
_Few: Any = ctypes.c_uint32 * (1 + _FEW)
_NUMBERS = (ctypes.c_int64, ctypes.c_double, ctypes.c_int32, ctypes.c_uint8)
_OFFSETS = {4: ctypes.c_uint32, 5: ctypes.c_uint64}
_PLAIN = frozenset((int, float, str, bool))  # classes of values that are always answered for
_OWN_KEYS = frozenset((float, str, bool))  # and of those that arrays hold as they are
_INT64 = range(-(2**63), 2**63)
_TIMES = {LocalTime: pa.types.is_time64, LocalDateTime: lambda kind: pa.types.is_timestamp(kind) and kind.tz is None}


class Unanswered(Exception):
    """The index doesn't tell: the value is of a type that isn't indexed."""


@frozen
class _Part:
    """The values of one type of a column: those of ``array``, at ``rows`` of it (None: at their own places).

    ``kind``: as ``qe::ValueKind``. ``of``: the class of the values in Python. ``unit``: nanoseconds of times.
    """

    array: Any
    rows: Array | None
    kind: int
    of: type
    unit: int = 1

    def key(self, value: Any) -> int | float | str | None:
        """Return what the array holds for values that are equal to ``value``; None where it has none of them."""
        given = type(value)
        if given is not self.of:
            return _converted(value, self.of) if given in (int, float) and self.of in (int, float) else None
        if given is int:
            return value if value in _INT64 else None
        if given is Date:
            return value.days if abs(value.days) < 2**31 else None
        if given in _TIMES:
            whole, rest = divmod(value.nanoseconds, self.unit)
            return whole if not rest and whole in _INT64 else None
        return value  # type: ignore[no-any-return]

    def place(self, value: Any) -> Any:
        """Return what the numbers of ``item`` are compared with for ``value``; None where they can't be."""
        given = type(value)
        if given is not self.of:
            return value if given in (int, float) and self.of in (int, float) else None
        return value.days if given is Date else value.nanoseconds if given in _TIMES else value

    def item(self) -> Callable[[int], Any]:
        """Return what gives the value at a place, times as nanoseconds."""
        if self.kind >= TEXTS:
            array = self.array
            return lambda at: array[at].as_py()
        unit, numbers = self.unit, _numbers(self.array, self.kind)
        return lambda at: numbers[at].item() * unit

    def ids(self, places: Array, begin: int) -> Array:
        """Return the ids, int64, of places, where the column begins with id ``begin``."""
        rows = places if self.rows is None else self.rows[places]
        return rows.astype(np.int64) + begin


def _converted(value: float, kind: type) -> int | float | None:
    """Return the equal number of the other kind; None where there is none."""
    if kind is int:
        return int(value) if float(value).is_integer() and int(value) in _INT64 else None
    try:
        return float(value) if float(value) == value else None
    except OverflowError:
        return None


def _parts(array: Any) -> tuple[list[_Part], bool]:
    """Return the parts of a column that are indexed, and whether these are all."""
    if not is_variant(array.type):
        found = _part(array, None)
        return ([] if found is None else [found]), found is not None or pa.types.is_null(array.type)
    codes = np.frombuffer(array.buffers()[1], np.int8)[array.offset :][: len(array)]
    offsets = np.frombuffer(array.buffers()[2], np.int32)[array.offset :][: len(array)]
    parts, whole = [], True
    for child, code in enumerate(array.type.type_codes):
        values = array.field(child)
        rows = np.flatnonzero(codes == code).astype(np.uint32)
        if not len(rows) or pa.types.is_null(values.type):
            continue
        places = offsets[rows]
        if len(places) != len(values) or (np.diff(places) != 1).any():  # a part of a longer array
            values = values.take(pa.array(places))
        found = _part(values, rows)
        parts += [] if found is None else [found]
        whole = whole and found is not None
    return parts, whole


def _part(array: Any, rows: Array | None) -> _Part | None:
    kind = array.type
    if pa.types.is_int64(kind):
        return _Part(array, rows, INTEGERS, int)
    if pa.types.is_float64(kind):
        return _Part(array, rows, FLOATS, float)
    if pa.types.is_boolean(kind):
        return _Part(array, rows, BITS, bool)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _Part(array, rows, TEXTS if pa.types.is_string(kind) else LARGE_TEXTS, str)
    if pa.types.is_date32(kind):
        return _Part(array, rows, DAYS, Date)
    for each, test in _TIMES.items():
        if test(kind):
            return _Part(array, rows, INTEGERS, each, UNITS[kind.unit])
    return None


def _numbers(array: Any, kind: int) -> Array:
    """Return the numbers of an array, what is missing as anything."""
    dtype = {FLOATS: np.float64, DAYS: np.int32}.get(kind, np.int64)
    return np.frombuffer(array.buffers()[1], dtype)[array.offset :][: len(array)]


def hash_bytes(column: PropertyColumn) -> int:
    """Return the most bytes that a column's hash index takes."""
    return table_bytes(len(column.array)) + _row_bytes(column)


def sorted_bytes(column: PropertyColumn) -> int:
    """Return the most bytes that a column's sorted index takes, while it is made."""
    return 16 * len(column.array) + _row_bytes(column)


def _row_bytes(column: PropertyColumn) -> int:
    return 4 * len(column.array) if is_variant(column.arrow_type) else 0


class _Index:
    """What both kinds of index have: the parts of a column, and what they leave out."""

    def __init__(self, column: PropertyColumn) -> None:
        self.begin = column.begin
        self._parts, self._whole = _parts(column.array)

    def _check(self, value: Any) -> None:
        """Refuse a value that what isn't indexed may be equal to."""
        if type(value) not in _PLAIN and not (self._whole and type(value) in (Date, LocalTime, LocalDateTime)):
            raise Unanswered


class HashIndex(_Index):
    """Which ids have one of some values. Any number of threads may ask it.

    ``unique``: no two ids have equal values.

    Raises
    ------
    QueryTimeout, QueryInterrupted
        By the context's limits, while it is made.
    """

    KIND = HASH

    def __init__(self, column: PropertyColumn, context: ExecutionContext) -> None:
        super().__init__(column)
        self._find_one = _library().qe_value_index_one
        self._tables = [ValueTable(part.array, part.kind, context.control, context.run) for part in self._parts]
        numbers = sum(part.of in (int, float) for part in self._parts)
        self.unique = all(table.unique for table in self._tables) and numbers < 2
        self.nbytes = sum(table.nbytes for table in self._tables)
        self.nbytes += sum(part.rows.nbytes for part in self._parts if part.rows is not None)
        #: The class of the values that ``few`` finds quickly, None where it finds none so.
        self._quick: type | None = None
        if len(self._parts) == 1 and self._parts[0].rows is None and self._parts[0].of in (int, str):
            self._quick = self._parts[0].of
            self._address = self._tables[0].address

    def with_change(self, change: Change) -> ChangedIndex:
        """Return an index of the column in which some values differ, which it makes when it is asked."""
        return ChangedIndex(self, change)

    def ids(self, value: Any, context: ExecutionContext) -> Array:
        """Return the ids, ascending, whose value equals ``value``.

        Raises
        ------
        Unanswered
            For a value of a type that isn't indexed.
        """
        if (few := self._few(value, context)) is not None:
            return np.array(few, np.int64)
        self._check(value)
        found = [
            part.ids(self._places(place, _one_key(part, key), context)[1], self.begin)
            for place, part in enumerate(self._parts)
            if (key := part.key(value)) is not None
        ]
        if len(found) == 1 and self._parts[0].rows is None:
            return found[0]
        return np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)

    def few(self, value: Any, context: ExecutionContext) -> list[int]:
        """Return ``ids`` as a list, in a few microseconds where the column holds integers or texts and these are few.

        Raises
        ------
        Unanswered
            As ``ids``.
        """
        few = self._few(value, context)
        if few is None:
            ids: list[int] = self.ids(value, context).tolist()
            return ids
        return few

    def _few(self, value: Any, context: ExecutionContext) -> list[int] | None:
        kind = type(value)
        if kind is self._quick and (kind is str or value in _INT64):
            number, text = (0, value.encode()) if kind is str else (value, b"")
            found = _Few()
            control = ctypes.byref(context.control)
            if status := self._find_one(self._address, number, text, len(text), _FEW, found, control):
                context.raise_for(status)
            if (count := found[0]) <= _FEW:
                begin = self.begin
                return [place + begin for place in found[1 : count + 1]]
        return None

    def pairs(self, values: Sequence[Any], context: ExecutionContext) -> tuple[Array, Array]:
        """Return for each id whose value equals one of ``values`` which of them it is, and the id, int64 each.

        Raises
        ------
        Unanswered
            For a value of a type that isn't indexed.
        """
        rows: list[Array] = [np.empty(0, np.int64)]
        ids: list[Array] = [np.empty(0, np.int64)]
        classes = set(map(type, values)) - {type(None)}
        if not classes <= _PLAIN:
            for value in values:
                if value is not None:
                    self._check(value)
        for place, part in enumerate(self._parts):
            keys: Sequence[Any] = values
            if not (classes == {part.of} and (part.of in _OWN_KEYS or (part.of is int and _are_int64(values)))):
                keys = [None if value is None else part.key(value) for value in values]
            if any(key is not None for key in keys):
                key_of, places = self._places(place, _keys(part, keys), context)
                rows.append(key_of.astype(np.int64))
                ids.append(part.ids(places, self.begin))
        row, found = np.concatenate(rows), np.concatenate(ids)
        if len(rows) > 2:
            order = np.lexsort((found, row))
            row, found = row[order], found[order]
        return row, found

    def _places(self, part: int, keys: tuple[ctypes.Structure, Any], context: ExecutionContext) -> tuple[Array, Array]:
        """Return which keys are found, and at which places of a part's array; ``keys``: a column, and what it reads."""
        return self._tables[part].pairs(keys[0], context.control, context.raise_for)


def _are_int64(values: Sequence[Any]) -> bool:
    """Tell whether integers and nulls have 64 bits at most."""
    try:
        packed("q", values if None not in values else [value for value in values if value is not None])
    except OverflowError:
        return False
    return True


def _one_key(part: _Part, key: Any) -> tuple[ctypes.Structure, Any]:
    """Return a key as a column of the part's kind, and what that points into."""
    if part.kind < TEXTS:
        number = _NUMBERS[part.kind](key)
        return ValueColumn(ctypes.addressof(number), 0, 0, 0, 1, part.kind), number
    text = key.encode()
    kept = ctypes.create_string_buffer(text, len(text) + 1), (_OFFSETS[part.kind] * 2)(0, len(text))
    return ValueColumn(ctypes.addressof(kept[0]), ctypes.addressof(kept[1]), 0, 0, 1, part.kind), kept


def _keys(part: _Part, keys: Sequence[Any]) -> tuple[ctypes.Structure, Any]:
    """Return keys as a column of the part's kind, and as an array."""
    kind = part.array.type
    if part.kind in (INTEGERS, DAYS):
        kind = pa.int64() if part.kind == INTEGERS else pa.int32()
    array = pa.array(keys, kind)
    return value_column(array, part.kind), array


_Kind = TypeVar("_Kind", HashIndex, "SortedIndex")


class _Changed(Generic[_Kind]):
    """An index of a column in which few values differ from one that has an index.

    Parameters
    ----------
    before
        The index of the column before.
    change
        Returns which ids have other values, ascending, and these; it is called when the index is first asked.
    """

    def __init__(self, before: _Kind, change: Change) -> None:
        self._before: _Kind = before
        self._change: Change = change
        self.nbytes = before.nbytes
        self._known: tuple[Array, frozenset[int], _Kind] | None = None

    def with_change(self, change: Change) -> Self | None:
        """Return an index of the column in which more values differ; None where these are many by now."""
        ids, values = self._change()
        if len(ids) * _FEW_CHANGED > self.nbytes:
            return None

        def both() -> tuple[Array, Any]:
            more, others = change()
            kept = ~among(ids, more)
            joined = np.concatenate((ids[kept], more))
            order = np.argsort(joined)
            whole = concatenate([values.filter(pa.array(kept)), others])
            return joined[order], whole.take(pa.array(order))

        return type(self)(self._before, both)

    def _own(self, context: ExecutionContext) -> tuple[Array, frozenset[int], _Kind]:
        """Return the ids whose values differ, and an index of these values by place."""
        known = self._known
        if known is None:
            ids, values = self._change()
            own = type(self._before)(PropertyColumn(0, values), context)
            known = self._known = ids, frozenset(ids.tolist()), own
        return known


class ChangedIndex(_Changed[HashIndex]):
    """A hash index of a column in which few values differ from one that has an index; asked as ``HashIndex``."""

    KIND = HASH

    @cached_property
    def unique(self) -> bool:
        """Whether no two ids have equal values."""
        context = ExecutionContext(None)
        _, changed, own = self._own(context)
        if not (self._before.unique and own.unique):
            return False
        values = [value for value in to_values(self._change()[1]) if value is not None]
        try:
            found = self._before.pairs(values, context)[1].tolist()
        except Unanswered:
            return False
        return all(id in changed for id in found)

    def ids(self, value: Any, context: ExecutionContext) -> Array:
        """Return the ids, ascending, whose value equals ``value``; errors as ``HashIndex.ids``."""
        changed, _, own = self._own(context)
        found = self._before.ids(value, context)
        return np.sort(np.concatenate((found[~among(found, changed)], changed[own.ids(value, context)])))

    def few(self, value: Any, context: ExecutionContext) -> list[int]:
        """Return ``ids`` as a list, quickly as ``HashIndex.few``."""
        ids, changed, own = self._own(context)
        found = [id for id in self._before.few(value, context) if id not in changed]
        return sorted([*found, *(int(ids[place]) for place in own.few(value, context))])

    def pairs(self, values: Sequence[Any], context: ExecutionContext) -> tuple[Array, Array]:
        """Return what ``HashIndex.pairs`` does."""
        changed, _, own = self._own(context)
        rows, found = self._before.pairs(values, context)
        kept = ~among(found, changed)
        more, places = own.pairs(values, context)
        rows, found = np.concatenate((rows[kept], more)), np.concatenate((found[kept], changed[places]))
        order = np.lexsort((found, rows))
        return rows[order], found[order]


AnyHashIndex: TypeAlias = HashIndex | ChangedIndex


class SortedIndex(_Index):
    """Which ids have a value within bounds, or with a prefix. Any number of threads may ask it.

    Raises
    ------
    QueryTimeout, QueryInterrupted
        By the context's limits, while it is made.
    """

    KIND = SORTED

    def __init__(self, column: PropertyColumn, context: ExecutionContext) -> None:
        super().__init__(column)
        self._orders = [_ordered(part, context) for part in self._parts]
        kept = [*self._orders, *(part.rows for part in self._parts if part.rows is not None)]
        self.nbytes = sum(array.nbytes for array in kept)

    def with_change(self, change: Change) -> ChangedOrder:
        """Return an index of the column in which some values differ, which it makes when it is asked."""
        return ChangedOrder(self, change)

    def ids(self, bounds: Sequence[tuple[str, Any]], most: int) -> Array | None:
        """Return the ids, ascending, whose value satisfies all of ``(operator, value)``.

        None where they exceed ``most``. Operators are ``< <= > >=`` and ``STARTS WITH``.

        Raises
        ------
        Unanswered
            For a value of a type that isn't indexed.
        """
        for op, value in bounds:
            self._check(value)
            if op == "STARTS WITH" and not (
                self._whole and type(value) is str and all(part.of is str for part in self._parts)
            ):
                raise Unanswered  # it fails on values that are no texts
        found, count = [], 0
        for part, order in zip(self._parts, self._orders, strict=True):
            low, high = _range(part, order, bounds)
            count += max(0, high - low)
            if count > most:
                return None
            found.append(part.ids(order[low:high], self.begin))
        return np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)


class ChangedOrder(_Changed[SortedIndex]):
    """A sorted index of a column in which few values differ from one that has an index; asked as ``SortedIndex``."""

    KIND = SORTED

    def ids(self, bounds: Sequence[tuple[str, Any]], most: int) -> Array | None:
        """Return the ids, ascending, as ``SortedIndex.ids``, or None."""
        changed, _, own = self._own(ExecutionContext(None))
        found = self._before.ids(bounds, most + len(changed))
        more = None if found is None else own.ids(bounds, most)
        if found is None or more is None:
            return None
        found = np.concatenate((found[~among(found, changed)], changed[more]))
        return None if len(found) > most else np.sort(found)


AnySortedIndex: TypeAlias = SortedIndex | ChangedOrder


def _ordered(part: _Part, context: ExecutionContext) -> Array:
    """Return the places of a part's array by value, those without one, and of NaN, left out."""
    array = part.array
    if part.kind == BITS:
        array = array.cast(pa.uint8())
    order = context.aside(lambda: pc.array_sort_indices(array).to_numpy().astype(np.uint32), len(array))
    absent = array.null_count
    if part.kind == FLOATS:
        absent += int(pc.sum(pc.is_nan(array)).as_py() or 0)
    ordered: Array = order[: len(order) - absent]
    return ordered


def _range(part: _Part, order: Array, bounds: Sequence[tuple[str, Any]]) -> tuple[int, int]:
    """Return which run of a part's order has the values within bounds."""
    low, high = 0, len(order)
    value_at = part.item() if part.kind != BITS else _bit_at(part.array)
    item: Callable[[int], Any] = lambda at: value_at(int(order[at]))  # noqa: E731
    places = range(len(order))
    for op, value in bounds:
        place = part.place(value)
        if place is None or (part.of in (int, float) and isnan(place)):
            return 0, 0
        if op == "STARTS WITH":
            size = len(place)
            low = max(low, bisect_left(places, place, key=item))
            high = min(high, bisect_right(places, place, key=lambda at: item(at)[:size]))
        elif op.startswith(">"):
            cut = bisect_right if op == ">" else bisect_left
            low = max(low, cut(places, place, key=item))
        else:
            cut = bisect_left if op == "<" else bisect_right
            high = min(high, cut(places, place, key=item))
    return low, max(low, high)


def _bit_at(array: Any) -> Callable[[int], Any]:
    return lambda at: array[at].as_py()


_library = _native.declared("qe_value_index_one p i8 p u8 u4 p p")
