"""Columns of the CPU executor: one class for each way to hold values, all with the same few operations.

======================  ================================================  ==========================================
class                   holds                                             null
======================  ================================================  ==========================================
``NodeColumn``          vertex ids, int64                                 id -1
``RelationshipColumn``  global relationship ids, int64                    id -1
``ArrowColumn``         a flat Arrow array: booleans, int64, double,      Arrow's
                        strings, temporal values, or type null
``ListColumn``          lists: places in another column of the items      ``valid`` is false
``PathColumn``          paths: a ``ListColumn`` each of their nodes and   that of these
                        of their relationships
``ConstantColumn``      one value for all rows                            ``None``
``ObjectColumn``        any values of the language as Python objects      ``None``
======================  ================================================  ==========================================

Columns are immutable. An operation never changes the kind of a value: an integer does not become a float
because another row holds one; such columns are ``ObjectColumn``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from qengine.errors import InternalError
from qengine.exec.scalar.values import NodeHandle, PathHandle, RelationshipHandle
from qengine.exec.sizes import size_of
from qengine.storage.normal import STRING_LIMIT
from qengine.storage.taken import taken
from qengine.temporal.arrow import is_text, to_values

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_MANY = 1 << 16  # values that become a column at a time
_TIMES_SHARED = 4  # in so many rows objects stand at least on average that are known to be the same
_LIST, _PLACE = 56, 8  # bytes of a list, and of a place in it
_PATH_BYTES = 160  # of a path as a Python object
_MOST_SHARED = 1 << 30  # items of which two places fit into 63 bits


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

    def widths(self) -> IntArray | None:
        """Return the bytes of each row that ``take`` copies; None where they are few, and the same in all."""
        return None

    def joined(self, columns: Sequence[Column]) -> Column | None:
        """Return the rows of all columns, this one first, if it knows a way of its own to lay them in a row."""
        return None


class MaskedColumn(Column):
    """Values that are held in arrays, with ``null``: which rows are null; None where none is."""

    __slots__ = ("null",)

    null: BoolArray | None

    @abstractmethod
    def _at(self, which: Any) -> Column:
        """Return the rows that an index of NumPy picks."""

    def take(self, indices: IntArray) -> Column:
        return self._at(indices)

    def slice(self, offset: int, length: int) -> Column:
        return self._at(slice(offset, offset + length))

    def is_null(self) -> BoolArray:
        return np.zeros(len(self), np.bool_) if self.null is None else self.null


class _EntityColumn(Column):
    """Ids of nodes or relationships.

    ``bounds`` is ``(begin, end)`` where the ids are exactly that range. ``complete``: none is known to be null.
    """

    __slots__ = ("_ids", "bounds", "complete")

    handle: type[NodeHandle] | type[RelationshipHandle]

    def __init__(self, ids: IntArray | None, bounds: tuple[int, int] | None = None, *, complete: bool = False) -> None:
        self._ids = ids
        self.bounds = bounds
        self.complete = complete or bounds is not None

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
        return type(self)(self.ids[indices], complete=self.complete)

    def slice(self, offset: int, length: int) -> Column:
        if self._ids is None and self.bounds is not None:
            begin, end = self.bounds
            return type(self)(None, (min(begin + offset, end), min(begin + offset + length, end)))
        return type(self)(self.ids[offset : offset + length], complete=self.complete)

    def is_null(self) -> BoolArray:
        return np.zeros(len(self), np.bool_) if self.complete else self.ids < 0

    def nulls(self) -> BoolArray | None:
        """Return for each row whether it is null; None where none is."""
        null = None if self.complete else self.ids < 0
        return null if null is not None and null.any() else None

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

    @property
    def type(self) -> Any:
        """Arrow's type of the values."""
        return self.array.type

    @property
    def has_nulls(self) -> bool:
        """Whether a value is null."""
        return bool(self.array.null_count)

    def __len__(self) -> int:
        return len(self.array)

    def take(self, indices: IntArray) -> Column:
        try:
            return ArrowColumn(taken(self.array, indices))
        except pa.ArrowInvalid:  # more text than 32-bit offsets reach
            return ArrowColumn(self.array.cast(pa.large_string()).take(pa.array(indices)))

    def slice(self, offset: int, length: int) -> Column:
        return ArrowColumn(self.array.slice(offset, length))

    def is_null(self) -> BoolArray:
        if self.array.null_count == 0:
            return np.zeros(len(self.array), dtype=np.bool_)
        nulls: BoolArray = self.array.is_null().to_numpy(zero_copy_only=False)
        return nulls

    def values(self) -> list[Any]:
        return to_values(self.array)

    @property
    def nbytes(self) -> int:
        kind = self.array.type
        if pa.types.is_int64(kind) or pa.types.is_float64(kind):
            return len(self.array) * 8 + (len(self.array) // 8 if self.array.null_count else 0)
        return int(self.array.nbytes)

    def widths(self) -> IntArray | None:
        offsets = text_offsets(self.array)
        return None if offsets is None else np.diff(offsets)


def text_offsets(array: Any) -> Any:
    """Return where each string of an array begins, and at last where they end; None for arrays of other types."""
    kind = array.type
    if pa.types.is_string(kind):
        width: Any = np.int32
    elif pa.types.is_large_string(kind):
        width = np.int64
    else:
        return None
    buffer = array.buffers()[1]
    if len(array) == 0 or buffer is None:
        return np.zeros(1, width)
    return np.frombuffer(buffer, width, len(array) + 1, array.offset * np.dtype(width).itemsize)


class ListColumn(Column):
    """Lists: row i holds ``items[starts[i]:ends[i]]``. Rows may share items: a list that many have is held once.

    Parameters
    ----------
    offsets
        int64[rows + 1], ascending: row i holds ``items[offsets[i]:offsets[i + 1]]``.
    items
        The items of all lists; a ``RelationshipColumn`` for the relationships of variable-length patterns.
    valid
        False for rows that are null, which have no items; None where no row is.
    """

    __slots__ = ("ends", "items", "starts", "valid")

    def __init__(self, offsets: IntArray, items: Column, valid: BoolArray | None = None) -> None:
        self.starts = offsets[:-1]
        self.ends = offsets[1:]
        self.items = items
        self.valid = valid

    def over(self, starts: IntArray, ends: IntArray, valid: BoolArray | None) -> ListColumn:
        """Return lists of the same items at other places."""
        lists = ListColumn(_NO_LISTS, self.items, valid)
        lists.starts, lists.ends = starts, ends
        return lists

    def __len__(self) -> int:
        return len(self.starts)

    def lengths(self) -> IntArray:
        """Return the number of items of each list (0 for null)."""
        return self.ends - self.starts

    def offsets(self) -> IntArray:
        """Return where each list begins in ``flat()``, and at last where that ends."""
        return np.concatenate(([0], np.cumsum(self.lengths())))

    def filter_rows(self, kept: BoolArray) -> ListColumn:
        """Return the rows where ``kept`` is true."""
        if kept.all():
            return self
        valid = None if self.valid is None else self.valid[kept]
        return self.over(self.starts[kept], self.ends[kept], valid)

    def shared(self) -> tuple[IntArray, ListColumn] | None:
        """Return each list that several rows have once, and for each row its place there.

        None where hardly any row has a list of another: where rows share no items that is told without looking at all.
        """
        held = len(self.items) + 1
        if len(self) < 2 or int(self.lengths().sum()) < held or held > _MOST_SHARED:
            return None
        spans = (self.starts * held + self.ends) * 2
        if self.valid is not None:
            spans += self.valid
        _, first, places = np.unique(spans, return_index=True, return_inverse=True)
        if len(first) > len(self) // 2:
            return None
        taken = self.take(first)
        assert isinstance(taken, ListColumn)
        return places, taken

    def by_place(self) -> Iterator[tuple[BoolArray, IntArray]]:
        """Yield for each place in the lists which rows have it, and where its item is in ``flat()`` (0 where not)."""
        lengths, offsets = self.lengths(), self.offsets()[:-1]
        for place in range(int(lengths.max(initial=0))):
            there = lengths > place
            yield there, np.where(there, offsets + place, 0)

    def flat(self) -> Column:
        """Return the items of all rows, one list after the other."""
        if len(self) == 0:
            return self.items.slice(0, 0)
        if np.array_equal(self.starts[1:], self.ends[:-1]):
            first = int(self.starts[0])
            return self.items.slice(first, int(self.ends[-1]) - first)
        lengths = self.lengths()
        if isinstance(self.items, ConstantColumn):
            return ConstantColumn(self.items.value, int(lengths.sum()))
        return self.items.take(numbers_from(self.starts, lengths))

    def take(self, indices: IntArray) -> Column:
        valid = None if self.valid is None else self.valid[indices]
        taken = self.over(self.starts[indices], self.ends[indices], valid)
        # Few of many items are copied, so that the others can be freed.
        if 2 * taken.lengths().sum() < len(self.items):
            return ListColumn(taken.offsets(), taken.flat(), valid)
        return taken

    def slice(self, offset: int, length: int) -> Column:
        rows = slice(offset, offset + length)
        return self.over(self.starts[rows], self.ends[rows], None if self.valid is None else self.valid[rows])

    def is_null(self) -> BoolArray:
        return np.zeros(len(self), dtype=np.bool_) if self.valid is None else ~self.valid

    def values(self) -> list[Any]:
        if len(self) == 0:
            return []
        first, last = int(self.starts.min()), int(self.ends.max())
        items = self.items.slice(first, last - first).values()
        known: dict[tuple[int, int], Any] = {}
        lists: list[Any] = []
        for place in zip((self.starts - first).tolist(), (self.ends - first).tolist(), strict=True):
            found = known.get(place)
            if found is None:
                found = known[place] = items[place[0] : place[1]]
            lists.append(found)
        for row in np.flatnonzero(self.is_null()).tolist():
            lists[row] = None
        return lists

    @property
    def nbytes(self) -> int:
        share = min(1.0, float(self.lengths().sum()) / max(1, len(self.items)))
        return self.starts.nbytes + self.ends.nbytes + int(self.items.nbytes * share)


_NO_LISTS: IntArray = np.zeros(1, dtype=np.int64)


class PathColumn(Column):
    """Paths: each row's nodes, and its relationships, in order; both are null where it is."""

    __slots__ = ("nodes", "relationships")

    def __init__(self, nodes: ListColumn, relationships: ListColumn) -> None:
        self.nodes = nodes
        self.relationships = relationships

    def __len__(self) -> int:
        return len(self.nodes)

    def _like(self, nodes: Column, relationships: Column) -> Column:
        assert isinstance(nodes, ListColumn)
        assert isinstance(relationships, ListColumn)
        return PathColumn(nodes, relationships)

    def take(self, indices: IntArray) -> Column:
        return self._like(self.nodes.take(indices), self.relationships.take(indices))

    def slice(self, offset: int, length: int) -> Column:
        return self._like(self.nodes.slice(offset, length), self.relationships.slice(offset, length))

    def is_null(self) -> BoolArray:
        return self.nodes.is_null()

    def values(self) -> list[Any]:
        pairs = zip(self.nodes.values(), self.relationships.values(), strict=True)
        return [None if nodes is None else PathHandle(tuple(nodes), tuple(edges)) for nodes, edges in pairs]

    @property
    def nbytes(self) -> int:
        return self.nodes.nbytes + self.relationships.nbytes

    @property
    def object_bytes(self) -> int:
        """Bytes of the paths as Python objects beside their elements."""
        return _PATH_BYTES * len(self)

    def joined(self, columns: Sequence[Column]) -> Column | None:
        paths = [column for column in columns if isinstance(column, PathColumn)]
        if len(paths) < len(columns):
            return None
        nodes = concatenate([path.nodes for path in paths])
        return self._like(nodes, concatenate([path.relationships for path in paths]))


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
    """Any values of the language as Python objects.

    ``shared``: where few objects stand in many rows, these objects, and the place (int64) among them of each row's;
    else None.
    """

    __slots__ = ("_bytes", "_objects", "shared")

    def __init__(self, objects: list[Any] | None, shared: tuple[list[Any], IntArray] | None = None) -> None:
        self._objects = objects
        self.shared = shared
        self._bytes: int | None = None

    @property
    def objects(self) -> list[Any]:
        """The object of each row."""
        if self._objects is None:
            assert self.shared is not None
            few, places = self.shared
            self._objects = list(map(few.__getitem__, places.tolist()))
        return self._objects

    def __len__(self) -> int:
        return len(self.objects if self.shared is None else self.shared[1])

    def take(self, indices: IntArray) -> Column:
        if self.shared is not None:
            return self._placed(self.shared[0], self.shared[1][indices])
        return self._placed(self.objects, indices)

    def slice(self, offset: int, length: int) -> Column:
        if self.shared is None:
            return ObjectColumn(self.objects[offset : offset + length])
        return self._placed(self.shared[0], self.shared[1][offset : offset + length])

    @staticmethod
    def _placed(few: list[Any], places: IntArray) -> ObjectColumn:
        if len(few) * _TIMES_SHARED > len(places):
            return ObjectColumn(list(map(few.__getitem__, places.tolist())))
        return ObjectColumn(None, (few, places.astype(np.int64)))

    def is_null(self) -> BoolArray:
        few, places = (self.objects, None) if self.shared is None else self.shared
        null = np.fromiter((value is None for value in few), np.bool_, len(few))
        return null if places is None else null[places]

    def values(self) -> list[Any]:
        return self.objects

    @property
    def nbytes(self) -> int:
        if self._bytes is None:
            if self.shared is None:
                self._bytes = size_of(self.objects)
            else:  # the same: each row's counts
                few, places = self.shared
                sizes = np.array([size_of(value) for value in few], np.int64)
                self._bytes = _LIST + _PLACE * len(places) + int(sizes[places].sum())
        return self._bytes


_TEXTS = {pa.string(), pa.large_string()}
_ARROW_TYPES = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


def null_column(length: int) -> Column:
    """Return ``length`` nulls of no kind; they join columns of any kind."""
    return ConstantColumn(None, length)


def integer_column(values: IntArray, null: BoolArray | None = None) -> ArrowColumn:
    """Return int64 values as a column; null where ``null`` is true."""
    return ArrowColumn(pa.array(values, pa.int64(), mask=null))


def count_column(counts: IntArray) -> Column:
    """Return counts as a column; one alone needs no array. Python's integers stay such: they may exceed 64 bits."""
    if len(counts) == 1:
        return ConstantColumn(int(counts[0]), 1)
    return ObjectColumn(counts.tolist()) if counts.dtype == object else integer_column(counts)


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
                array = pa.array(values, _ARROW_TYPES[kind], from_pandas=False)
                if isinstance(array, pa.ChunkedArray):  # more text than 32-bit offsets reach
                    array = pa.array(values, pa.large_string(), from_pandas=False)
                return ArrowColumn(array)
            except OverflowError:  # a count beyond 64 bits: Python's values hold it, Arrow's don't
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


def from_many(values: list[Any], check: Callable[[], None]) -> Column:
    """Return values as ``from_values`` does, many of them in parts; ``check``, called between them, raises to stop."""
    if len(values) <= _MANY:
        return from_values(values)
    parts = []
    for begin in range(0, len(values), _MANY):
        check()
        parts.append(from_values(values[begin : begin + _MANY]))
    return concatenate(parts)


def from_arrow(array: Any) -> Column:
    """Return an array of a property, of a type that ``storage.normal`` names, as a column."""
    kind = array.type
    if pa.types.is_union(kind) or pa.types.is_interval(kind) or is_text(kind):
        return from_values(to_values(array))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        offsets = array.offsets.to_numpy().astype(np.int64)
        valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
        if valid is not None and np.diff(offsets)[~valid].any():  # items under a null
            return from_values(to_values(array))
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
    if (joined := first.joined(columns)) is not None:
        return joined
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
    if forms == _TEXTS or (forms == {pa.string()} and sum(column.nbytes for column in columns) > STRING_LIMIT):
        forms = {pa.large_string()}
    if len(forms) == 1:
        (form,) = forms
        if form in (NodeColumn, RelationshipColumn):
            ids = [_entity_ids(column) for column in columns]
            return NodeColumn(np.concatenate(ids)) if form is NodeColumn else RelationshipColumn(np.concatenate(ids))
        if form is ListColumn:
            return _concatenate_lists(columns)
        if isinstance(form, pa.DataType):
            arrays = [column.array if isinstance(column, ArrowColumn) else pa.nulls(len(column)) for column in columns]
            return ArrowColumn(pa.concat_arrays([a if a.type == form else a.cast(form) for a in arrays]))
    return ObjectColumn(list(chain.from_iterable(column.values() for column in columns)))


def _same_constant(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, bool | int | str) and a == b)


def _form(column: Column) -> Any:
    """Return what columns must share to be joined as they are: Arrow's type, else the class; None for nulls."""
    if isinstance(column, ArrowColumn):
        return None if pa.types.is_null(column.type) else column.type
    return None if isinstance(column, ConstantColumn) else type(column)


def _entity_ids(column: Column) -> IntArray:
    return column.ids if isinstance(column, _EntityColumn) else np.full(len(column), -1, dtype=np.int64)


def _concatenate_lists(columns: Sequence[Column]) -> Column:
    """Join lists; items that several columns share are joined once."""
    items: list[Column] = []
    begins: dict[int, int] = {}
    starts: list[IntArray] = []
    ends: list[IntArray] = []
    total = 0
    for column in columns:
        if not isinstance(column, ListColumn):
            starts.append(np.zeros(len(column), dtype=np.int64))
            ends.append(starts[-1])
            continue
        if id(column.items) not in begins:
            begins[id(column.items)] = total
            items.append(column.items)
            total += len(column.items)
        starts.append(column.starts + begins[id(column.items)])
        ends.append(column.ends + begins[id(column.items)])
    valid = np.concatenate([~column.is_null() for column in columns])
    joined = ListColumn(_NO_LISTS, concatenate(items))
    return joined.over(np.concatenate(starts), np.concatenate(ends), None if valid.all() else valid)


def numbers_from(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the numbers from each start on, as many as its length says, one range after the other (int64)."""
    numbers = np.arange(int(lengths.sum()), dtype=np.int64)
    numbers += np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return numbers


def vertex_ids(column: Column) -> IntArray:
    """Return the vertex ids of a column of nodes, -1 for null."""
    if isinstance(column, NodeColumn):
        return column.ids
    if isinstance(column, ConstantColumn) and column.value is not None:
        column = column.expanded()
        if isinstance(column, NodeColumn):
            return column.ids
    elif isinstance(column, ConstantColumn) or (isinstance(column, ArrowColumn) and pa.types.is_null(column.type)):
        return np.full(len(column), -1, dtype=np.int64)
    raise InternalError(f"A pattern starts from a column of {type(column).__name__}, not of nodes.")
