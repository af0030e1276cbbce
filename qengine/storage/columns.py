"""Property columns: an Arrow array over a range of ids, null outside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa

from qengine._cached import cached_property
from qengine.storage.arrays import Array
from qengine.storage.normal import language_type
from qengine.storage.taken import taken
from qengine.storage.variant import concatenate, is_present, is_variant
from qengine.temporal.arrow import to_values
from qengine.types import Type

_FEW = 16  # values that are sooner read one by one than taken


@dataclass(frozen=True)
class PropertyColumn:
    """The values of one property for the ids ``[begin, begin + len(array))``; every other id has null.

    ``array`` is one Arrow array of a normal type (``storage.normal``), a dense union where types are mixed.
    """

    begin: int
    array: Any = field(repr=False)

    @property
    def end(self) -> int:
        """One more than the last id that the array covers."""
        return self.begin + len(self.array)

    @cached_property
    def type(self) -> Type:
        """The language's type of the values, ANY where they are mixed."""
        return language_type(self.arrow_type)

    @property
    def arrow_type(self) -> Any:
        """The array's type."""
        return self.array.type

    @property
    def length(self) -> int:
        """How many ids the array covers."""
        return len(self.array)

    @property
    def present(self) -> int:
        """How many values are not null, at least; of a union all."""
        return int(len(self.array) - self.array.null_count)

    def changed_from(self, before: PropertyColumn) -> Any:
        """Return what tells how it differs from a column, ids being the same; None where that isn't known."""
        return None

    depth = 0
    """Of how many columns that were never read this one is to be made."""

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the array's buffers."""
        return int(self.array.nbytes)

    def take(self, ids: Array) -> Any:
        """Return the values of ``ids`` (integers, any order; -1 or outside: null) as an Arrow array."""
        index = np.asarray(ids).astype(np.int64, copy=False)
        if self.begin:
            index = index - self.begin
        if not len(index) or index.view(np.uint64).max() < len(self.array):  # negative ones become large
            return taken(self.array, index)
        return self.array.take(pa.array(index, mask=(index < 0) | (index >= len(self.array))))

    def picks(self, count: int) -> bool:
        """Tell whether so few values are taken of an array that isn't made, and needn't be for them."""
        return False

    def runs(self) -> list[tuple[int, Any]]:
        """Return Arrow arrays that together have the values, and the id of the first value of each."""
        return [(self.begin, self.array)]

    def slice(self, begin: int, end: int) -> Any:
        """Return the values of the ids ``[begin, end)`` as an Arrow array; no copy where the array covers them."""
        low, high = max(begin, self.begin), min(end, self.end)
        if low >= high:
            return self.array.slice(0, 0) if begin >= end else self._nulls(end - begin)
        inside = self.array.slice(low - self.begin, high - low)
        parts = [self._nulls(low - begin)] if low > begin else []
        parts.append(inside)
        if end > high:
            parts.append(self._nulls(end - high))
        return inside if len(parts) == 1 else concatenate(parts)

    def values(self, ids: Array) -> list[Any]:
        """Return the values of ``ids`` as Python values, None for null."""
        if len(ids) <= _FEW and self._is_scalar and not self.picks(len(ids)):
            return list(map(self.value, ids.tolist()))
        return to_values(self.take(ids))

    def value(self, id: int) -> Any:
        """Return the value of one id, which may be any, as a Python value; None for null."""
        place = id - self.begin
        if not 0 <= place < len(self.array):
            return None
        if self._is_scalar:
            return self.array[place].as_py()
        return to_values(self.array.slice(place, 1))[0]

    @cached_property
    def _is_scalar(self) -> bool:
        """Whether Arrow's own Python values are the language's."""
        kind = self.arrow_type
        tests = (
            pa.types.is_int64,
            pa.types.is_float64,
            pa.types.is_boolean,
            pa.types.is_string,
            pa.types.is_large_string,
        )
        return any(test(kind) for test in tests)

    def occurs(self, begin: int, end: int) -> bool:
        """Tell whether an id in ``[begin, end)`` has a value."""
        low, high = max(begin, self.begin), min(end, self.end)
        return low < high and bool(is_present(self.array.slice(low - self.begin, high - low)).any())

    def ranges(self, ends: Array) -> list[int]:
        """Return in which ranges of ids one has a value; each begins where the one before ends.

        ``ends``: int64, ascending, where they end; the last of them is the column's, or behind it.
        """
        bounds = np.clip(np.concatenate(([0], ends)) - self.begin, 0, len(self.array))
        some = np.flatnonzero(bounds[:-1] < bounds[1:])
        if not len(some):
            return []
        found: list[int] = some[np.logical_or.reduceat(is_present(self.array), bounds[some])].tolist()
        return found

    def _nulls(self, length: int) -> Any:
        return concatenate([self.array.slice(0, 0), pa.nulls(length)])


def is_ordered(arrow: Any) -> bool:
    """Tell whether the values of a normal Arrow type can be compared with each other."""
    tests = (is_variant, pa.types.is_nested, pa.types.is_null, pa.types.is_interval)
    return not any(test(arrow) for test in tests)


def property_maps(columns: Mapping[str, PropertyColumn], ids: Array) -> list[dict[str, Any]]:
    """Return the properties of each of ``ids`` (int64, none negative) in Python; those that are null are absent."""
    if not len(ids):
        return []
    low, high = int(ids.min()), int(ids.max())
    columns = {key: column for key, column in columns.items() if column.begin <= high and low < column.end}
    if not all(column.begin <= low and high < column.end for column in columns.values()):
        return _gathered(columns, ids)
    values = [column.values(ids) for column in columns.values()]
    if any(None in each for each in values):
        return [
            {key: value for key, value in zip(columns, row, strict=True) if value is not None}
            for row in zip(*values, strict=True)
        ]
    rows = zip(*values, strict=True) if values else repeat((), len(ids))
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _gathered(columns: Mapping[str, PropertyColumn], ids: Array) -> list[dict[str, Any]]:
    """Do so where some columns cover only some of the ids."""
    maps: list[dict[str, Any]] = [{} for _ in ids]
    for key, column in columns.items():
        rows = np.flatnonzero((ids >= column.begin) & (ids < column.end))
        for row, value in zip(rows.tolist(), column.values(ids[rows]), strict=True):
            if value is not None:
                maps[row][key] = value
    return maps
