"""``TextRows``: rows of texts, as maps by the same names or as lists of the same length, held field by field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from qengine.exec.common.columns import (
    ArrowColumn,
    BoolArray,
    Column,
    IntArray,
    ObjectColumn,
    null_column,
    text_offsets,
)


class TextRows(Column):
    """Rows of a file: maps from ``names`` to texts, or without names lists of texts; none is null, texts may be.

    A row becomes a Python object only where it is asked for as a whole.

    Parameters
    ----------
    names
        Of the fields, all different; None for lists.
    fields
        An Arrow array of strings for each, all of one length.
    length
        How many rows there are.
    """

    __slots__ = ("_length", "fields", "names")

    def __init__(self, names: tuple[str, ...] | None, fields: Sequence[Any], length: int) -> None:
        self.names = names
        self.fields = fields
        self._length = length

    def __len__(self) -> int:
        return self._length

    def field(self, key: str | int) -> Column | None:
        """Return the texts of a field by its name, or by its place, from the end where that is negative.

        None where rows are no maps, or no lists; nulls where they have no such field.
        """
        if (self.names is None) is (type(key) is str):
            return None
        if isinstance(key, str):
            assert self.names is not None
            place = self.names.index(key) if key in self.names else len(self.fields)
        else:
            place = key if key >= 0 else len(self.fields) + key
        return ArrowColumn(self.fields[place]) if 0 <= place < len(self.fields) else null_column(self._length)

    def take(self, indices: IntArray) -> Column:
        """Return some rows, in an order."""
        places = pa.array(indices)
        return TextRows(self.names, [each.take(places) for each in self.fields], len(indices))

    def slice(self, offset: int, length: int) -> Column:
        """Return consecutive rows, without a copy."""
        length = max(0, min(length, self._length - offset))
        return TextRows(self.names, [each.slice(offset, length) for each in self.fields], length)

    def is_null(self) -> BoolArray:
        """Return False for each row."""
        return np.zeros(self._length, dtype=np.bool_)

    def values(self) -> list[Any]:
        """Return a dict or list for each row."""
        names = self.names
        if not self.fields:
            return [[] if names is None else {} for _ in range(self._length)]
        rows = zip(*(each.to_pylist() for each in self.fields), strict=True)
        return list(map(list, rows)) if names is None else [dict(zip(names, row, strict=True)) for row in rows]

    @property
    def nbytes(self) -> int:
        """Bytes of the texts."""
        return sum(each.nbytes for each in self.fields)

    def widths(self) -> IntArray | None:
        """Return the bytes of each row's texts."""
        if not self.fields:
            return None
        widths: IntArray = sum(np.diff(text_offsets(each)).astype(np.int64) for each in self.fields)
        return widths

    def joined(self, columns: Sequence[Column]) -> Column | None:
        """Return the rows of all columns: field by field where these are the same."""
        rows = [each for each in columns if isinstance(each, TextRows)]
        alike = len(rows) == len(columns) and all(
            each.names == self.names and len(each.fields) == len(self.fields) for each in rows
        )
        if not alike or sum(each.nbytes for each in rows) > _MOST:
            return ObjectColumn([value for each in columns for value in each.values()])
        fields = [pa.concat_arrays(parts) for parts in zip(*(each.fields for each in rows), strict=True)]
        return TextRows(self.names, fields, sum(map(len, rows)))


_MOST = 2**31 - 1  # bytes that the 32-bit offsets of strings reach
