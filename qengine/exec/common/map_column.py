"""``MapColumn``: maps that all have the same keys, held key by key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from qengine.exec.common.columns import (
    BoolArray,
    Column,
    IntArray,
    concatenate,
    from_values,
    null_column,
)

_MOST_KEYS = 64


class MapColumn(Column):
    """Maps with the same keys in the same order.

    Parameters
    ----------
    fields
        A column of ``length`` rows for each key.
    length
        How many rows there are.
    valid
        False for rows that are null; None where no row is. What fields hold there doesn't matter.
    """

    __slots__ = ("_length", "fields", "valid")

    def __init__(self, fields: Mapping[str, Column], length: int, valid: BoolArray | None = None) -> None:
        self.fields = fields
        self._length = length
        self.valid = valid

    def __len__(self) -> int:
        return self._length

    def field(self, key: str) -> Column:
        """Return the values of a key; null where there is none, or no map."""
        column = self.fields.get(key)
        if column is None:
            return null_column(self._length)
        if self.valid is None:
            return column
        places = np.where(self.valid, np.arange(self._length), self._length)
        return concatenate([column, null_column(1)]).take(places)

    def take(self, indices: IntArray) -> Column:
        """Return some rows, in an order."""
        valid = None if self.valid is None else self.valid[indices]
        return MapColumn({key: each.take(indices) for key, each in self.fields.items()}, len(indices), valid)

    def slice(self, offset: int, length: int) -> Column:
        """Return consecutive rows, without a copy where possible."""
        length = max(0, min(length, self._length - offset))
        valid = None if self.valid is None else self.valid[offset : offset + length]
        return MapColumn({key: each.slice(offset, length) for key, each in self.fields.items()}, length, valid)

    def is_null(self) -> BoolArray:
        """Return which rows are null."""
        return np.zeros(self._length, np.bool_) if self.valid is None else ~self.valid

    def values(self) -> list[Any]:
        """Return a dict for each row, None for null."""
        keys = list(self.fields)
        if not keys:
            maps: list[Any] = [{} for _ in range(self._length)]
        else:
            columns = (column.values() for column in self.fields.values())
            maps = [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]
        for row in np.flatnonzero(self.is_null()).tolist():
            maps[row] = None
        return maps

    @property
    def nbytes(self) -> int:
        """Bytes of all fields."""
        return sum(column.nbytes for column in self.fields.values())

    def widths(self) -> IntArray | None:
        """Return the bytes of each row's fields of varying width."""
        found = [each for column in self.fields.values() if (each := column.widths()) is not None]
        return sum(found[1:], found[0].astype(np.int64)) if found else None

    def joined(self, columns: Sequence[Column]) -> Column | None:
        """Return the rows of all columns where they have the same keys, and none is null."""
        maps = [column for column in columns if isinstance(column, MapColumn) and column.valid is None]
        if len(maps) < len(columns) or any(list(each.fields) != list(self.fields) for each in maps):
            return None
        fields = {key: concatenate([each.fields[key] for each in maps]) for key in self.fields}
        return MapColumn(fields, sum(map(len, maps)))


def maps_of(values: Sequence[Any]) -> MapColumn | None:
    """Return Python's maps key by key, None where some are no maps, or have other keys, or many."""
    if not values or type(values[0]) is not dict or not 0 < len(values[0]) <= _MOST_KEYS:
        return None
    keys = tuple(values[0])
    if any(type(value) is not dict or tuple(value) != keys for value in values):
        return None
    return MapColumn({key: from_values(list(map(itemgetter(key), values))) for key in keys}, len(values))
