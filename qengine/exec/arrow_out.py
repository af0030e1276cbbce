"""Results as Arrow data: record batches of one schema from batches whose columns may change type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Protocol

import pyarrow as pa

from qengine.errors import Unsupported
from qengine.exec.arrow_values import Tell, array_of, silent
from qengine.exec.sizes import size_of
from qengine.temporal.arrow import union_parts
from qengine.types import BOOLEAN, FLOAT, INTEGER, STRING, Kind, Type


class Columns(Protocol):
    """Some rows of a result, as an executor hands them over."""

    @property
    def length(self) -> int:
        """Number of rows."""

    def values(self, name: str) -> list[Any]:
        """Return a column as Python values."""

    def arrow(self, name: str, tell: Tell) -> pa.Array:
        """Return a column as an Arrow array; ``tell`` hears of values that change their form."""

    @property
    def held_bytes(self) -> int:
        """Bytes that the rows hold beside what ``arrow`` gives."""


class RowBatch:
    """Rows held as tuples, in the order of ``columns``."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self._index = {name: i for i, name in enumerate(columns)}
        self._rows = rows

    @property
    def length(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def values(self, name: str) -> list[Any]:
        """Return a column as Python values."""
        index = self._index[name]
        return [tuple.__getitem__(row, index) if isinstance(row, tuple) else row[index] for row in self._rows]

    def arrow(self, name: str, tell: Tell = silent) -> pa.Array:
        """Return a column as an Arrow array; ``tell`` hears of values that change their form."""
        return array_of(self.values(name), tell)

    @property
    def held_bytes(self) -> int:
        """Bytes that the rows hold beside what ``arrow`` gives."""
        return size_of([list(row) for row in self._rows])

    def slice(self, offset: int, length: int) -> RowBatch:
        """Return the rows ``[offset, offset + length)`` as far as there are."""
        return RowBatch(tuple(self._index), self._rows[offset : offset + length])


def table_of(
    columns: Sequence[str],
    batches: Iterable[Columns],
    types: Mapping[str, Type],
    check: Callable[[int], None] = lambda held: None,
    tell: Callable[[str, str], None] = lambda name, change: None,
) -> pa.Table:
    """Return all rows as one table. ``check`` is called with the bytes gathered so far, after each array.

    ``tell`` hears which column has values that change their form, and how.

    A column whose batches have different types is built anew from its values; null-only batches adapt. Where all are
    null, or there is none, a column has the type that analysis knows (``types``), if that is one of plain values or of
    lists of them, else Arrow's null.
    """
    held: list[Columns] = []
    made: list[list[pa.Array]] = [[] for _ in columns]
    size = 0
    for batch in batches:
        if batch.length:
            held.append(batch)
            size += batch.held_bytes
            for name, parts in zip(columns, made, strict=True):
                parts.append(batch.arrow(name, partial(tell, name)))
                size += parts[-1].nbytes
                check(size)
    arrays = []
    for name, parts in zip(columns, made, strict=True):
        found = {part.type for part in parts if not pa.types.is_null(part.type)}
        if len(found) > 1:
            check(size + _ANEW * sum(part.nbytes for part in parts))
            values = [value for batch in held for value in batch.values(name)]
            arrays.append(pa.chunked_array([array_of(values, partial(tell, name))]))
        else:
            kind = found.pop() if found else _known_type(types.get(name))
            arrays.append(pa.chunked_array([_of_type(part, kind) for part in parts], kind))
    return pa.table(arrays, names=list(columns))


def reader_of(
    columns: Sequence[str],
    ahead: Iterator[Columns],
    unread: Iterator[Columns],
    types: Mapping[str, Type],
    check: Callable[[int], None] = lambda held: None,
    tell: Callable[[str, str], None] = lambda name, change: None,
) -> pa.RecordBatchReader:
    """Return the rows as a stream, computed while it is read where analysis knows every column's type.

    ``ahead`` looks at the batches that ``unread`` takes: only reading takes them. ``types``, ``check`` and ``tell`` as
    for ``table_of``.
    """
    first = next(ahead, None)
    if first is not None and all(types.get(name) in _PLAIN for name in columns):
        found = [first.arrow(name, partial(tell, name)).type for name in columns]
        kinds = [
            _PLAIN[types[name]] if pa.types.is_null(kind) else kind for name, kind in zip(columns, found, strict=True)
        ]
        schema = pa.schema(list(zip(columns, kinds, strict=True)))
        return pa.RecordBatchReader.from_batches(schema, _stream(schema, unread, tell))
    table = table_of(columns, () if first is None else _chain(first, ahead), types, check, tell)

    def gathered() -> Iterator[pa.RecordBatch]:
        left = sum(batch.length for batch in unread)  # others were fetched in the meantime
        yield from table.slice(table.num_rows - left).to_batches()

    return pa.RecordBatchReader.from_batches(table.schema, gathered())


def _stream(
    schema: pa.Schema, batches: Iterator[Columns], tell: Callable[[str, str], None]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        parts = [_of_type(batch.arrow(field.name, partial(tell, field.name)), field.type) for field in schema]
        yield pa.record_batch(parts, schema=schema)


def _of_type(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array of a type, or of nulls, or of another length of strings, as one of the type."""
    if array.type == kind:
        return array
    return pa.nulls(len(array), kind) if pa.types.is_null(array.type) else array.cast(kind)


_ANEW = 4  # times what arrays take their values take as Python objects, and as other arrays
_PLAIN = {BOOLEAN: pa.bool_(), INTEGER: pa.int64(), FLOAT: pa.float64(), STRING: pa.string()}


def _known_type(kind: Type | None) -> pa.DataType:
    """Return Arrow's type for a type of the language, null where it is none of plain values or of lists of them."""
    if kind is not None and kind.kind is Kind.LIST and kind.item in _PLAIN:
        return pa.list_(_PLAIN[kind.item])
    return pa.null() if kind is None else _PLAIN.get(kind, pa.null())


def _chain(first: Columns, rest: Iterator[Columns]) -> Iterator[Columns]:
    yield first
    yield from rest


_ENTITIES = (["id", "labels", "properties"], ["id", "type", "start", "end", "properties"])


def dlpack_of(table: pa.Table) -> dict[str, Any]:
    """Return the columns of a table as arrays that have ``__dlpack__``: of nodes and relationships their ids.

    Raises
    ------
    Unsupported
        For a column whose values aren't all numbers of one type.
    """
    found: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        fields = [field.name for field in array.type] if pa.types.is_struct(array.type) else []
        if fields in _ENTITIES and not array.null_count:
            array = array.field(0)
        if pa.types.is_null(array.type) and not len(array):  # of no rows
            array = array.cast(pa.int64())
        if pa.types.is_boolean(array.type):  # bits, which DLPack has none of
            array = array.cast(pa.uint8())
        number = pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
        if not number or array.null_count:
            raise not_shared(name, "nulls" if number else f"values of the type {array.type}")
        found[name] = array
    return found


def not_shared(name: str, what: str) -> Unsupported:
    """Return the error of a column that has ``what``, and so is no array of numbers."""
    hint = "Return numbers, nodes or relationships, with coalesce() where some may be null."
    return Unsupported(f"Column {name!r} has {what}, which DLPack can't share.", hint=hint)


def sparse_batches(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return the batches of a reader with sparse unions in the place of dense ones, which not all programs take."""
    made = (pa.record_batch(list(map(_sparse, batch.columns)), names=reader.schema.names) for batch in reader)
    first = next(made, None)
    if first is None:
        return pa.RecordBatchReader.from_batches(reader.schema, [])
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], made))


def _sparse(array: pa.Array) -> pa.Array:
    kind = array.type
    if array.offset:
        array = pa.concat_arrays([array])
    if pa.types.is_union(kind):
        codes, places = union_parts(array)
        children = []
        for code in range(kind.num_fields):
            own = pa.array(places, mask=codes != code)
            children.append(_sparse(array.field(code).take(own)))
        names = [kind.field(code).name for code in range(kind.num_fields)]
        return pa.UnionArray.from_sparse(pa.array(codes, pa.int8()), children, names)
    mask = array.is_null() if array.null_count else None
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return type(array).from_arrays(array.offsets, _sparse(array.values), mask=mask)
    if pa.types.is_struct(kind):
        fields = [array.field(place) for place in range(kind.num_fields)]
        names = [field.name for field in kind]
        return pa.StructArray.from_arrays([_sparse(each) for each in fields], names, mask=mask) if names else array
    return array
