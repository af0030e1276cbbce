"""Columns of the CPU executor: one class for each way to hold values, all with the same few operations.

======================  ================================================  ==========================================
class                   holds                                             null
======================  ================================================  ==========================================
``NodeColumn``          vertex ids, int64                                 id -1
``RelationshipColumn``  global relationship ids, int64                    id -1
``ArrowColumn``         a flat Arrow array: booleans, int64, double,      Arrow's
                        strings, temporal values, or type null
``ListColumn``          lists: offsets into another column of the items   ``valid`` is false
``ConstantColumn``      one value for all rows                            ``None``
``ObjectColumn``        any values of the language as Python objects      ``None``
======================  ================================================  ==========================================

Columns are immutable. An operation never changes the kind of a value: an integer does not become a float
because another row holds one; such columns are ``ObjectColumn``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from qengine.exec.scalar.values import NodeHandle, RelationshipHandle

__all__ = ["ArrowColumn", "BoolArray", "Column", "ConstantColumn", "IntArray", "ListColumn", "NodeColumn",
           "ObjectColumn", "RelationshipColumn", "boolean_column", "concatenate", "from_arrow", "from_values",
           "integer_column", "null_column"]  # fmt: skip

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_OBJECT_BYTES = 64  # what an item of an ``ObjectColumn`` is taken to hold


class Column(ABC):
    """Values of one variable for the rows of a batch."""

    __slots__ = ()

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, indices: IntArray) -> Column:
        """Return the values of the rows ``indices`` (0 ≤ index < length), in that order."""

    @abstractmethod
    def slice(self, offset: int, length: int) -> Column:
        """Return the rows ``[offset, offset + length)``, without a copy where possible."""

    @abstractmethod
    def is_null(self) -> BoolArray:
        """Return for each row whether it is null."""

    @abstractmethod
    def values(self) -> list[Any]:
        """Return the values as Python objects of ``exec.scalar.values``."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that the column holds, views of shared data included."""


class _EntityColumn(Column):
    """Ids of nodes or relationships. ``bounds`` is ``(begin, end)`` where the ids are exactly that range."""

    __slots__ = ("_ids", "bounds")

    handle: type[NodeHandle] | type[RelationshipHandle]

    def __init__(self, ids: IntArray | None, bounds: tuple[int, int] | None = None) -> None:
        self._ids = ids
        self.bounds = bounds

    @property
    def ids(self) -> IntArray:
        """The ids, int64, -1 for null."""
        if self._ids is None:
            assert self.bounds is not None
            self._ids = np.arange(*self.bounds, dtype=np.int64)
        return self._ids

    def __len__(self) -> int:
        if self._ids is not None:
            return len(self._ids)
        assert self.bounds is not None
        return self.bounds[1] - self.bounds[0]

    def take(self, indices: IntArray) -> Column:
        return type(self)(self.ids[indices])

    def slice(self, offset: int, length: int) -> Column:
        return type(self)(self.ids[offset : offset + length])

    def is_null(self) -> BoolArray:
        return self.ids < 0

    def values(self) -> list[Any]:
        handle = self.handle
        return [handle(id) if id >= 0 else None for id in self.ids.tolist()]

    @property
    def nbytes(self) -> int:
        return 0 if self._ids is None else self._ids.nbytes


class NodeColumn(_EntityColumn):
    """Nodes: vertex ids, -1 for null."""

    __slots__ = ()
    handle = NodeHandle


class RelationshipColumn(_EntityColumn):
    """Relationships: global ids, -1 for null."""

    __slots__ = ()
    handle = RelationshipHandle


class ArrowColumn(Column):
    """A flat, single-typed Arrow array: bool, int64, double, (large) string, temporal, or null."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def take(self, indices: IntArray) -> Column:
        return ArrowColumn(self.array.take(pa.array(indices)))

    def slice(self, offset: int, length: int) -> Column:
        return ArrowColumn(self.array.slice(offset, length))

    def is_null(self) -> BoolArray:
        if self.array.null_count == 0:
            return np.zeros(len(self.array), dtype=np.bool_)
        nulls: BoolArray = self.array.is_null().to_numpy(zero_copy_only=False)
        return nulls

    def values(self) -> list[Any]:
        found: list[Any] = self.array.to_pylist()
        return found

    @property
    def nbytes(self) -> int:
        return int(self.array.nbytes)


class ListColumn(Column):
    """Lists: row i holds ``items[offsets[i]:offsets[i + 1]]``.

    Parameters
    ----------
    offsets
        int64[rows + 1], ascending; the first need not be 0.
    items
        The items of all lists; a ``RelationshipColumn`` for the relationships of variable-length patterns.
    valid
        False for rows that are null; None where no row is.
    """

    __slots__ = ("items", "offsets", "valid")

    def __init__(self, offsets: IntArray, items: Column, valid: BoolArray | None = None) -> None:
        self.offsets = offsets
        self.items = items
        self.valid = valid

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def lengths(self) -> IntArray:
        """Return the number of items of each list (0 for null)."""
        return np.diff(self.offsets)

    def take(self, indices: IntArray) -> Column:
        lengths = self.lengths()[indices]
        offsets = np.zeros(len(indices) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        places = np.arange(offsets[-1], dtype=np.int64)
        places += np.repeat(self.offsets[:-1][indices] - offsets[:-1], lengths)
        return ListColumn(offsets, self.items.take(places), None if self.valid is None else self.valid[indices])

    def slice(self, offset: int, length: int) -> Column:
        valid = None if self.valid is None else self.valid[offset : offset + length]
        return ListColumn(self.offsets[offset : offset + length + 1], self.items, valid)

    def flat(self) -> Column:
        """Return the items of all rows, one after the other."""
        first = int(self.offsets[0])
        return self.items.slice(first, int(self.offsets[-1]) - first)

    def is_null(self) -> BoolArray:
        return np.zeros(len(self), dtype=np.bool_) if self.valid is None else ~self.valid

    def values(self) -> list[Any]:
        items = self.flat().values()
        offsets = (self.offsets - self.offsets[0]).tolist()
        lists: list[Any] = [items[begin:end] for begin, end in pairwise(offsets)]
        if self.valid is not None:
            for row in np.flatnonzero(~self.valid).tolist():
                lists[row] = None
        return lists

    @property
    def nbytes(self) -> int:
        return self.offsets.nbytes + self.items.nbytes


class ConstantColumn(Column):
    """The same value in every row."""

    __slots__ = ("length", "value")

    def __init__(self, value: Any, length: int) -> None:
        self.value = value
        self.length = length

    def __len__(self) -> int:
        return self.length

    def take(self, indices: IntArray) -> Column:
        return ConstantColumn(self.value, len(indices))

    def slice(self, offset: int, length: int) -> Column:
        return ConstantColumn(self.value, min(length, self.length - offset))

    def is_null(self) -> BoolArray:
        return np.full(self.length, self.value is None)

    def values(self) -> list[Any]:
        return [self.value] * self.length

    def expanded(self) -> Column:
        """Return the column with a value for each row, in the form that other columns of its kind have."""
        return from_values([self.value]).take(np.zeros(self.length, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return 0


class ObjectColumn(Column):
    """Any values of the language as Python objects."""

    __slots__ = ("objects",)

    def __init__(self, objects: list[Any]) -> None:
        self.objects = objects

    def __len__(self) -> int:
        return len(self.objects)

    def take(self, indices: IntArray) -> Column:
        objects = self.objects
        return ObjectColumn([objects[index] for index in indices.tolist()])

    def slice(self, offset: int, length: int) -> Column:
        return ObjectColumn(self.objects[offset : offset + length])

    def is_null(self) -> BoolArray:
        return np.fromiter((value is None for value in self.objects), np.bool_, len(self.objects))

    def values(self) -> list[Any]:
        return self.objects

    @property
    def nbytes(self) -> int:
        return _OBJECT_BYTES * len(self.objects)


_ARROW_TYPES = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


def null_column(length: int) -> Column:
    """Return ``length`` nulls of no kind; they join columns of any kind."""
    return ConstantColumn(None, length)


def integer_column(values: IntArray, null: BoolArray | None = None) -> ArrowColumn:
    """Return int64 values as a column; null where ``null`` is true."""
    return ArrowColumn(pa.array(values, pa.int64(), mask=null))


def boolean_column(values: BoolArray, null: BoolArray | None = None) -> ArrowColumn:
    """Return truth values as a column; null where ``null`` is true."""
    return ArrowColumn(pa.array(values, pa.bool_(), mask=null))


def from_values(values: list[Any]) -> Column:
    """Return Python values as a column of the densest kind that holds exactly these values."""
    kinds = set(map(type, values))
    kinds.discard(type(None))
    if len(kinds) == 1:
        (kind,) = kinds
        if kind in _ARROW_TYPES:
            try:
                return ArrowColumn(pa.array(values, _ARROW_TYPES[kind], from_pandas=False))
            except UnicodeEncodeError:  # a lone surrogate: Python's strings hold it, Arrow's don't
                return ObjectColumn(values)
        if kind is NodeHandle:
            return NodeColumn(_ids(values))
        if kind is RelationshipHandle:
            return RelationshipColumn(_ids(values))
        if kind is list:
            lengths = [0 if value is None else len(value) for value in values]
            items = from_values(list(chain.from_iterable(value for value in values if value is not None)))
            if not isinstance(items, ObjectColumn):
                offsets = np.zeros(len(values) + 1, dtype=np.int64)
                np.cumsum(lengths, out=offsets[1:])
                valid = np.array([value is not None for value in values]) if None in values else None
                return ListColumn(offsets, items, valid)
    return ObjectColumn(values) if kinds else null_column(len(values))


def from_arrow(array: Any) -> Column:
    """Return an array of a property, of a type that ``storage.normal`` names, as a column."""
    kind = array.type
    if pa.types.is_union(kind):
        return from_values(array.to_pylist())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        offsets = array.offsets.to_numpy().astype(np.int64)
        valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
        if valid is not None and np.diff(offsets)[~valid].any():  # items under a null
            return from_values(array.to_pylist())
        return ListColumn(offsets, from_arrow(array.values), valid)
    return ArrowColumn(array)


def _ids(values: list[Any]) -> IntArray:
    return np.array([-1 if value is None else value.id for value in values], dtype=np.int64)


def concatenate(columns: Sequence[Column]) -> Column:
    """Return the rows of all columns, one after the other; values keep their kinds, nulls join any."""
    columns = [column for column in columns if len(column)] or columns[:1]
    if len(columns) == 1:
        return columns[0]
    first = columns[0]
    if isinstance(first, ConstantColumn) and all(
        isinstance(column, ConstantColumn)
        and type(column.value) is type(first.value)
        and _same_constant(column.value, first.value)
        for column in columns
    ):
        return ConstantColumn(first.value, sum(map(len, columns)))
    columns = [column.expanded() if isinstance(column, ConstantColumn) else column for column in columns]
    forms = {_form(column) for column in columns} - {None}
    if not forms:
        return null_column(sum(map(len, columns)))
    if len(forms) == 1:
        (form,) = forms
        if form in (NodeColumn, RelationshipColumn):
            ids = [_entity_ids(column) for column in columns]
            return NodeColumn(np.concatenate(ids)) if form is NodeColumn else RelationshipColumn(np.concatenate(ids))
        if form is ListColumn:
            return _concatenate_lists(columns)
        if form is not ObjectColumn:
            arrays = [column.array if isinstance(column, ArrowColumn) else pa.nulls(len(column)) for column in columns]
            return ArrowColumn(pa.concat_arrays([a if a.type == form else a.cast(form) for a in arrays]))
    return ObjectColumn(list(chain.from_iterable(column.values() for column in columns)))


def _same_constant(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, bool | int | str) and a == b)


def _form(column: Column) -> Any:
    """Return what columns must share to be joined as they are: Arrow's type, else the class; None for nulls."""
    if isinstance(column, ArrowColumn):
        return None if pa.types.is_null(column.array.type) else column.array.type
    return None if isinstance(column, ConstantColumn) else type(column)


def _entity_ids(column: Column) -> IntArray:
    return column.ids if isinstance(column, _EntityColumn) else np.full(len(column), -1, dtype=np.int64)


def _concatenate_lists(columns: Sequence[Column]) -> Column:
    items: list[Column] = []
    lengths: list[IntArray] = []
    valid: list[BoolArray] = []
    for column in columns:
        if isinstance(column, ListColumn):
            items.append(column.flat())
            lengths.append(column.lengths())
        else:
            lengths.append(np.zeros(len(column), dtype=np.int64))
        valid.append(~column.is_null())
    offsets = np.zeros(sum(map(len, lengths)) + 1, dtype=np.int64)
    np.cumsum(np.concatenate(lengths), out=offsets[1:])
    marks = np.concatenate(valid)
    return ListColumn(offsets, concatenate(items), None if marks.all() else marks)
