"""Nodes and relationships of JSON lines as columns, parsed by Arrow, where that gives what Python's parser would.

Arrow tells no integers from floats in a column that has both, and takes texts for times: where that could be, the
first is looked for in the text, and the second is asked for as texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from qengine.errors import QengineError, StorageError
from qengine.formats.literals import point_of
from qengine.formats.records import Records, add_links, add_nodes
from qengine.formats.texts import column_values
from qengine.storage.variant import from_python

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SEPARATOR = "\x1f"
_SCALARS = frozenset((pa.bool_(), pa.int64(), pa.float64(), pa.string(), pa.null()))


class _Other(Exception):
    """What isn't as it is expected, which Python's parser takes, or says what is wrong with."""


class Blocks:
    """Adds some lines of a file at a time."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._schema: pa.Schema | None = None  # where Arrow would have inferred other types

    def add(self, text: str) -> bool:
        """Add the objects of whole lines; tell whether that could be done."""
        return self._add(text, lambda: [self._parsed(text.encode())])

    def add_whole(self, text: str) -> bool:
        """Add the objects of an array, or of one object's ``nodes`` and ``rels``; tell whether that could be done."""

        def tables() -> Iterator[pa.Table]:
            if text.lstrip()[:1] == "[":
                yield _rows(self._parsed(f'{{"all":{text}}}'.encode(), lines=False), "all")
                return
            found = self._parsed(text.encode(), lines=False)
            for name, kind in (("nodes", "node"), ("rels", "relationship")):
                rows = _rows(found, name)
                if kind == "node" and "type" not in rows.column_names:
                    rows = rows.append_column("type", pa.array([kind] * len(rows)))
                yield rows

        return self._add(text, tables)

    def _add(self, text: str, tables: Callable[[], Iterable[pa.Table]]) -> bool:
        try:
            if _SURROGATE.search(text):
                return False
            parts = [part for table in tables() for part in _parts(table, text)]
        except (_Other, pa.ArrowException, KeyError):
            return False
        for kinds, keys, columns in parts:
            if isinstance(keys, list):
                add_nodes(self._records, kinds, keys, columns)
            else:
                add_links(self._records, kinds, keys, columns)
        return True

    def _parsed(self, data: bytes, *, lines: bool = True) -> pa.Table:
        if self._schema is not None:
            try:
                return _table(data, self._schema, lines)
            except pa.ArrowException:
                self._schema = None
        table = _table(data, None, lines)
        schema = pa.schema([(field.name, _as_text(field.type)) for field in table.schema])
        if schema.equals(table.schema):
            return table
        self._schema = schema
        return _table(data, schema, lines)


def _table(data: bytes, schema: pa.Schema | None, lines: bool) -> pa.Table:
    read = pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1)
    parse = pyarrow.json.ParseOptions(
        explicit_schema=schema, newlines_in_values=not lines, unexpected_field_behavior="infer"
    )
    return pyarrow.json.read_json(pa.BufferReader(data), read, parse)


def _rows(table: pa.Table, name: str) -> pa.Table:
    """Return the objects of the only list of a column as a table."""
    column = _column(table, name)
    if len(column) != 1 or not pa.types.is_list(column.type) or not pa.types.is_struct(column.type.value_type):
        raise _Other
    return pa.Table.from_struct_array(column.flatten())


def _as_text(kind: Any) -> Any:
    """Return a type with strings in the place of times."""
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _as_text(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_as_text(kind.value_type))
    return pa.string() if pa.types.is_temporal(kind) else kind


def _parts(table: pa.Table, text: str) -> Iterator[tuple[list[Any], Any, dict[str, Any]]]:
    """Yield the kinds, the keys or ends, and the columns of the nodes and of the relationships."""
    kinds = _texts(_column(table, "type"))
    is_node = pc.equal(kinds, "node")
    if not pc.all(pc.or_(is_node, pc.equal(kinds, "relationship")), min_count=0).as_py():
        raise _Other
    nodes, links = table.filter(is_node), table.filter(pc.invert(is_node))
    if len(nodes):
        yield _labels(nodes), _keys(_column(nodes, "id")), _properties(nodes, text)
    if len(links):
        ends = {
            name: _keys(_field(_column(links, end), "id")) for name, end in (("source", "start"), ("target", "end"))
        }
        ways = [False] * len(links)
        if "directed" in links.column_names:
            ways = pc.invert(pc.fill_null(_column(links, "directed").cast(pa.bool_()), fill_value=True)).to_pylist()
        types = _texts(_column(links, "label")).to_pylist()
        yield list(zip(types, ways, strict=True)), ends, _properties(links, text)


def _column(table: pa.Table, name: str) -> Any:
    column = table[name]
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _texts(column: Any) -> Any:
    if not pa.types.is_string(column.type) or column.null_count:
        raise _Other
    return column


def _field(column: Any, name: str) -> Any:
    if not pa.types.is_struct(column.type) or column.type.get_field_index(name) < 0:
        raise _Other
    return pc.struct_field(column, name)


def _keys(column: Any) -> list[str]:
    if pa.types.is_int64(column.type):
        column = column.cast(pa.string())
    keys: list[str] = _texts(column).to_pylist()
    return keys


def _labels(nodes: pa.Table) -> list[tuple[str, ...]]:
    column = _column(nodes, "labels") if "labels" in nodes.column_names else pa.nulls(len(nodes))
    if pa.types.is_null(column.type) or (pa.types.is_list(column.type) and pa.types.is_null(column.type.value_type)):
        if pa.types.is_list(column.type) and len(column.flatten()):
            raise _Other
        return [()] * len(nodes)
    if not pa.types.is_list(column.type):
        raise _Other
    items = _texts(column.flatten())
    if pc.any(pc.match_substring(items, _SEPARATOR), min_count=0).as_py():
        raise _Other
    codes = pc.binary_join(column, _SEPARATOR).dictionary_encode()
    sets = [tuple(each.split(_SEPARATOR)) if each else () for each in codes.dictionary.to_pylist()]
    if "" in items.to_pylist() if () in sets else False:  # a label without characters
        raise _Other
    return [() if code is None else sets[code] for code in codes.indices.to_pylist()]


def _properties(elements: pa.Table, text: str) -> dict[str, Any]:
    if "properties" not in elements.column_names or pa.types.is_null(elements["properties"].type):
        return {}
    column = _column(elements, "properties")
    if not pa.types.is_struct(column.type):
        raise _Other
    types = _types(elements)
    found = {}
    for field, values in zip(column.type, column.flatten(), strict=True):
        if values.null_count == len(values):
            continue
        if field.name in types:
            found[field.name] = _typed(values, types[field.name])
        elif pa.types.is_struct(values.type):
            found[field.name] = _points(values)
        else:
            _check(values, field.name, text)
            found[field.name] = values
    return found


def _types(elements: pa.Table) -> dict[str, Any]:
    """Return the names of the types of properties that have some, a column each."""
    if "types" not in elements.column_names or pa.types.is_null(elements["types"].type):
        return {}
    column = _column(elements, "types")
    if not pa.types.is_struct(column.type):
        raise _Other
    named = zip(column.type, column.flatten(), strict=True)
    return {field.name: names for field, names in named if names.null_count < len(names)}


def _typed(values: Any, names: Any) -> Any:
    """Return values that are of one type, whose name stands beside each of them, of their texts."""
    different = names.unique().drop_null().to_pylist()
    if len(different) != 1 or different[0].lower() == "any" or names.null_count != values.null_count:
        raise _Other
    (name,) = different
    items, type = (values.flatten(), name[:-2]) if name.endswith("[]") else (values, name)
    if not pa.types.is_string(items.type) or pa.types.is_list(values.type) != name.endswith("[]"):
        raise _Other
    try:
        made = column_values(items, type.lower(), name)
    except StorageError:
        raise _Other from None
    return (
        made
        if items is values
        else pa.ListArray.from_arrays(_offsets(values), made, mask=values.is_null() if values.null_count else None)
    )


def _offsets(lists: Any) -> Any:
    """Return where the items of lists begin among all."""
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    return pa.array(np.concatenate(([0], np.cumsum(lengths))).astype(np.int32))


def _points(values: Any) -> Any:
    try:
        given = ({key: each for key, each in (row or {}).items() if each is not None} for row in values.to_pylist())
        return from_python([point_of(each) if each else None for each in given], "")
    except (QengineError, ValueError):
        raise _Other from None


def _check(values: Any, name: str, text: str) -> None:
    """Refuse types that aren't JSON's own, and floats that may be integers in the text."""
    is_list = pa.types.is_list(values.type)
    items = values.flatten() if is_list else values
    if items.type not in _SCALARS:
        raise _Other
    if not pa.types.is_float64(items.type) or not pc.any(pc.equal(items, pc.floor(items)), min_count=0).as_py():
        return
    if is_list or not name.isascii() or not name.isprintable() or set(name) & set('"\\/'):
        raise _Other
    if re.search(rf'"{re.escape(name)}"\s*:\s*-?\d+\s*[,}}]', text):
        raise _Other
