"""Tables with the columns of neo4j-admin's import, as CSV or Parquet: ``:ID(Space)``, ``name:string[]``.

A file of nodes has a column ``:ID``, one of relationships ``:START_ID`` and ``:END_ID``. A CSV file's header may stand
in a file of its own, which is given before the files with its rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine._frozen import frozen
from qengine.errors import StorageError
from qengine.formats.literals import parse_literal
from qengine.formats.parts import Builder
from qengine.formats.tables_out import ANY, NAME
from qengine.formats.texts import TYPES, column_values, literal_values
from qengine.storage.given import labels_of
from qengine.storage.keys import key_array
from qengine.storage.normal import is_string, normal_array

IMPORT_HEADER = re.compile(r".*:(ID|START_ID|END_ID|LABEL|TYPE|IGNORE)(\(.*\))?(\{.*\})?", re.DOTALL)
"""What tells a column of neo4j-admin's import by its name."""

_HEADER = re.compile(r"(.*):\s*([A-Za-z_]+(?:\[\])?)\s*(?:\((.*?)\))?\s*(\{.*\})?\s*", re.DOTALL)
_ROLES = ("ID", "START_ID", "END_ID", "LABEL", "TYPE", "IGNORE")
_OPTION = re.compile(r"([\w-]+)\s*:\s*(\"[^\"]*\"|'[^']*'|[^,{}]+)")


@frozen
class Column:
    """What a header says of a column: a role among ``_ROLES`` or "", a name, a type or "", the id space, options."""

    role: str
    name: str
    type: str
    space: str
    options: Mapping[str, str]

    @property
    def zone(self) -> str | None:
        """The time zone of moments that have none."""
        return self.options.get("timezone")


@frozen
class AdminTable:
    """A table with what its columns are; ``names``: labels of its nodes, or its type, where no column tells them."""

    place: str
    table: Any
    columns: Sequence[Column]
    names: tuple[str, ...]
    array_delimiter: str = ";"

    def find(self, role: str) -> int | None:
        """Return the place of the column with a role."""
        return next((place for place, column in enumerate(self.columns) if column.role == role), None)

    def named(self, place: int) -> str:
        """Return what errors call a column."""
        column = self.columns[place]
        return f"{self.place}, column {column.name or ':' + column.role}"


def columns_of(headers: Iterable[str], types: Mapping[str, str] | None, place: str) -> list[Column]:
    """Return what headers say of their columns.

    ``types``: of properties by name, before what headers say; None for tables that have types themselves.

    Raises
    ------
    StorageError
        For an unknown type, and a role twice.
    """
    found = [_column(header, types, place) for header in headers]
    for role in ("START_ID", "END_ID", "TYPE"):
        if sum(column.role == role for column in found) > 1:
            raise StorageError(f"{place}: several columns are :{role}", hint="Ignore all but one with :IGNORE.")
    return found


def _column(header: str, types: Mapping[str, str] | None, place: str) -> Column:
    match = _HEADER.fullmatch(header)
    name, kind, space, options = (header, "", "", "") if match is None else [each or "" for each in match.groups()]
    given = {key: value.strip("\"' ") for key, value in _OPTION.findall(options)}
    if options == "{any}":
        given = {"any": "true"}
    if kind in _ROLES:
        return Column(kind, name, "", space, given)
    if types is None:
        return Column("", header, "", "", {})
    kind = types.get(name, kind.lower())
    if kind and kind.removesuffix("[]") not in TYPES:
        raise StorageError(
            f"{place}: the column {header} has the type {kind}, which is none",
            hint=f"The types are {', '.join(TYPES)}, and each of them with [].",
        )
    return Column("", name, kind, "", given)


def add_table(builder: Builder, given: AdminTable) -> None:
    """Add what a table holds to a graph.

    Raises
    ------
    StorageError
        For a table of neither nodes nor relationships, values that don't fit their types, and rows without keys.
    """
    start, end = given.find("START_ID"), given.find("END_ID")
    if start is None and end is None:
        _add_nodes(builder, given)
    elif start is None or end is None:
        raise StorageError(f"{given.place}: it has only one of :START_ID and :END_ID", hint="It needs both.")
    else:
        _add_relationships(builder, given, start, end)


def _add_nodes(builder: Builder, given: AdminTable) -> None:
    keys = [place for place, column in enumerate(given.columns) if column.role == "ID"]
    columns: dict[str, Any] = {}
    column = label = None
    if keys:
        parts = [_keys(given, place) for place in keys]
        column = parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*_as_texts(parts), "\x00")
        for place, part in zip(keys, parts, strict=True):
            if name := given.columns[place].name:
                columns[name] = _typed_key(part, given, place)
    columns |= _properties(given)
    space = given.columns[keys[0]].space if keys else ""
    label = given.find("LABEL")
    for names, rows in _groups(given, label):
        own = given.names + (names if isinstance(names, tuple) else labels_of(names))
        count = given.table.num_rows if rows is None else len(rows)
        builder.nodes(own, _taken(columns, rows), _taken_one(column, rows), count, space, given.place)


def _add_relationships(builder: Builder, given: AdminTable, start: int, end: int) -> None:
    columns = _properties(given)
    ends = [(_keys(given, place), given.columns[place].space, given.named(place)) for place in (start, end)]
    for names, rows in _groups(given, given.find("TYPE")):
        name = names[0] if names and names[0] else (given.names or ("",))[0]
        if not name:
            raise StorageError(f"{given.place}: some rows have no type", hint="Fill the column :TYPE.")
        first, second = ((_taken_one(keys, rows), space, place) for keys, space, place in ends)
        builder.relationships(name, first, second, _taken(columns, rows))


def _groups(given: AdminTable, place: int | None) -> Iterable[tuple[tuple[str, ...], Any]]:
    """Yield the different labels or types of a table, with the rows that have them, None for all."""
    if place is None or not given.table.num_rows:
        yield (), None
        return
    column = given.table.column(place)
    combined = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_list(combined.type) or pa.types.is_large_list(combined.type):
        combined = pc.binary_join(combined, given.array_delimiter)
    encoded = combined.cast(pa.string()).dictionary_encode("encode")
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    for code, text in enumerate(encoded.dictionary.to_pylist()):
        rows = None if len(encoded.dictionary) == 1 else pa.array(np.flatnonzero(codes == code))
        yield _names(text, given, given.columns[place]), rows


def _names(text: str | None, given: AdminTable, column: Column) -> tuple[str, ...]:
    if text is None:
        return ()
    if column.role == "TYPE":
        return (text,)
    if "any" in column.options:
        return tuple(parse_literal(text))
    return tuple(name for each in text.split(given.array_delimiter) if (name := each.strip()))


def _keys(given: AdminTable, place: int) -> Any:
    return key_array(given.table.column(place), given.named(place))


def _as_texts(parts: Iterable[Any]) -> list[Any]:
    return [part.cast(pa.string()) for part in parts]


def _typed_key(keys: Any, given: AdminTable, place: int) -> Any:
    """Return a key column as a property: of the type that its header gives, else as it is."""
    column = given.columns[place]
    wanted = column.options.get("id-type", "string").lower()
    if wanted == "string" or not pa.types.is_string(keys.type):
        return keys
    return column_values(keys, "long" if wanted in ("integer", "actual") else wanted, given.named(place))


def _properties(given: AdminTable) -> dict[str, Any]:
    """Return the columns that are properties as normal arrays."""
    found: dict[str, Any] = {}
    for place, column in enumerate(given.columns):
        if column.role:
            continue
        field = given.table.schema.field(place)
        metadata = field.metadata or {}
        name = metadata[NAME].decode() if NAME in metadata else column.name
        if name in found:
            raise StorageError(f"{given.place}: several columns are called {name}", hint="Rename all but one of them.")
        array = normal_array(given.table.column(place), given.named(place))
        if ANY in metadata:
            array = literal_values(array, given.named(place))
        elif column.type and is_string(array.type):
            array = column_values(array, column.type, given.named(place), given.array_delimiter, column.zone)
        found[name] = array
    return found


def _taken(columns: Mapping[str, Any], rows: Any) -> Mapping[str, Any]:
    return columns if rows is None else {name: array.take(rows) for name, array in columns.items()}


def _taken_one(array: Any, rows: Any) -> Any:
    return array if rows is None or array is None else array.take(rows)
