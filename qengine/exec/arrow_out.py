"""Results as Arrow data: record batches of one schema from batches whose columns may change type.

Temporal values take Arrow's types as ``qengine.temporal.arrow`` says; those that Arrow has no type for are text.
Inside literal lists and maps they go through Python's ``datetime``, and are text where that isn't exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from qengine.exec.sizes import size_of
from qengine.temporal import Temporal
from qengine.temporal.arrow import to_array, without_text
from qengine.temporal.native import to_native
from qengine.types import BOOLEAN, FLOAT, INTEGER, STRING, Kind, Node, Path, Relationship, Type


class Columns(Protocol):
    """Some rows of a result, as an executor hands them over."""

    @property
    def length(self) -> int:
        """Number of rows."""

    def values(self, name: str) -> list[Any]:
        """Return a column as Python values."""

    def arrow(self, name: str) -> pa.Array:
        """Return a column as an Arrow array."""

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

    def arrow(self, name: str) -> pa.Array:
        """Return a column as an Arrow array."""
        return array_of(self.values(name))

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
) -> pa.Table:
    """Return all rows as one table. ``check`` is called with the bytes gathered so far, after each array.

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
                parts.append(batch.arrow(name))
                size += parts[-1].nbytes
                check(size)
    arrays = []
    for name, parts in zip(columns, made, strict=True):
        found = {part.type for part in parts if not pa.types.is_null(part.type)}
        if len(found) > 1:
            check(size + _ANEW * sum(part.nbytes for part in parts))
            arrays.append(pa.chunked_array([array_of([value for batch in held for value in batch.values(name)])]))
        else:
            kind = found.pop() if found else _known_type(types.get(name))
            arrays.append(pa.chunked_array([part if part.type == kind else part.cast(kind) for part in parts], kind))
    return pa.table(arrays, names=list(columns))


def reader_of(
    columns: Sequence[str],
    ahead: Iterator[Columns],
    unread: Iterator[Columns],
    types: Mapping[str, Type],
    check: Callable[[int], None] = lambda held: None,
) -> pa.RecordBatchReader:
    """Return the rows as a stream, computed while it is read where analysis knows every column's type.

    ``ahead`` looks at the batches that ``unread`` takes: only reading takes them. ``types`` and ``check`` as for
    ``table_of``.
    """
    first = next(ahead, None)
    if first is not None and all(types.get(name) in _PLAIN for name in columns):
        found = [first.arrow(name).type for name in columns]
        kinds = [
            _PLAIN[types[name]] if pa.types.is_null(kind) else kind for name, kind in zip(columns, found, strict=True)
        ]
        schema = pa.schema(list(zip(columns, kinds, strict=True)))
        return pa.RecordBatchReader.from_batches(schema, _stream(schema, unread))
    table = table_of(columns, () if first is None else _chain(first, ahead), types, check)

    def gathered() -> Iterator[pa.RecordBatch]:
        left = sum(batch.length for batch in unread)  # others were fetched in the meantime
        yield from table.slice(table.num_rows - left).to_batches()

    return pa.RecordBatchReader.from_batches(table.schema, gathered())


def _stream(schema: pa.Schema, batches: Iterator[Columns]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        parts = ((batch.arrow(field.name), field.type) for field in schema)
        yield pa.record_batch([part if part.type == kind else part.cast(kind) for part, kind in parts], schema=schema)


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


def array_of(values: Sequence[Any]) -> pa.Array:
    """Return Python values of the language as an Arrow array.

    Values of one type give that type's array (integers and floats mixed: a dense union, to keep both exact).
    """
    plain = [_plain(value) for value in values]
    kinds = {type(value) for value in plain if value is not None}
    if len(kinds) == 1 and issubclass(next(iter(kinds)), Temporal):
        return without_text(to_array(plain))
    if len(kinds) <= 1:
        try:
            return pa.array(plain)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            return pa.array([None if value is None else _text(value) for value in plain])
    order = sorted(kinds, key=lambda kind: kind.__name__)
    number = {kind: i for i, kind in enumerate(order)}
    children: list[list[Any]] = [[] for _ in order]
    codes, offsets = [], []
    for value in plain:
        code = number.get(type(value), 0)
        codes.append(code)
        offsets.append(len(children[code]))
        children[code].append(value)
    return pa.UnionArray.from_dense(
        pa.array(codes, pa.int8()),
        pa.array(offsets, pa.int32()),
        [array_of(child) for child in children],
        [kind.__name__ for kind in order],
    )


def _plain(value: Any) -> Any:
    match value:
        case Node():
            properties = {key: _inner(each) for key, each in value.properties.items()}
            return {"id": value.id, "labels": list(value.labels), "properties": properties or None}
        case Relationship():
            properties = {key: _inner(each) for key, each in value.properties.items()}
            return {
                "id": value.id,
                "type": value.type,
                "start": value.start,
                "end": value.end,
                "properties": properties or None,
            }
        case Path():
            return {
                "nodes": [_plain(each) for each in value.nodes],
                "relationships": [_plain(each) for each in value.relationships],
            }
        case list() | tuple():
            return [_inner(each) for each in value]
        case dict():
            return {key: _inner(each) for key, each in value.items()}
        case _:
            return value


def _inner(value: Any) -> Any:
    if isinstance(value, Temporal):
        native = to_native(value)
        return str(value) if native is None else native
    return _plain(value)


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | Temporal) else repr(value)
