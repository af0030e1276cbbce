"""The forms in which tables, labels, types and keys may be given to a loader, and what is wrong with others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike, fsencode, fspath
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from qengine._text import HALVES, half_pair
from qengine.errors import StorageError
from qengine.storage.keys import KeyIndex, key_array
from qengine.storage.normal import check_array, normal_array

_NODES = 'Give {"Person": table}, a list of (labels, table), or one table, perhaps with label_column.'
_RELATIONSHIPS = (
    'Give a list of ("KNOWS", "Person", "Person", table) or ("KNOWS", table), {"KNOWS": table}, '
    '{("Person", "KNOWS", "Person"): table}, or one table with type_column.'
)
_START = ("start", "src", "source", "from")
_END = ("end", "dst", "target", "to")
END_NAMES = " or ".join("/".join(pair) for pair in zip(_START, _END, strict=True))
"""What the columns with the keys of the ends may be called."""

_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
_SHOWN = 80  # characters of a value in an error message
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_null)


def node_tables(nodes: Any, label_column: str | None, key: str | None) -> list[tuple[tuple[str, ...], Any]]:
    """Return the labels and the table of each part of what ``from_arrow`` takes as nodes."""
    if isinstance(nodes, Mapping):
        nodes = list(nodes.items())
    if isinstance(nodes, (list, tuple)):
        if label_column is not None:
            raise StorageError("nodes: label_column is for one table that holds all nodes", hint=_NODES)
        pairs = [_checked_length(one, (2,), "nodes", number, _NODES) for number, one in enumerate(nodes)]
        named = [(_labels(labels, "nodes", _NODES), table) for labels, table in pairs]
        return [(labels, arrow_table(table, f"nodes {':'.join(labels)}", _NODES)) for labels, table in named]
    table = arrow_table(nodes, "nodes", _NODES)
    if label_column is None:
        return [((), table)]
    # Keys are told apart before the table is split: errors then name the row of the table that the user has.
    own_key = key_column(table, key, "nodes")
    keys = key_array(table[own_key], f"nodes, column {own_key}")
    KeyIndex(keys, np.arange(len(keys), dtype=np.uint32), "nodes")
    parts: dict[tuple[str, ...], Any] = {}
    for value, rows in _split(table, label_column, "nodes", lists=True):
        labels = (f"L{value}",) if isinstance(value, int) else labels_of(value or ())
        parts[labels] = pa.concat_tables([parts[labels], rows]) if labels in parts else rows
    return list(parts.items())


def relationship_tables(relationships: Any, type_column: str | None) -> list[tuple[str, str | None, str | None, Any]]:
    """Return type, label of the starts, label of the ends and table of each part of what ``from_arrow`` takes."""
    if isinstance(relationships, Mapping):
        relationships = [
            (name, table) if isinstance(name, str) else (*_by_ends(name), table)
            for name, table in relationships.items()
        ]
    if isinstance(relationships, (list, tuple)):
        if type_column is not None:
            raise StorageError(
                "relationships: type_column is for one table that holds all relationships", hint=_RELATIONSHIPS
            )
        return [_relationship_table(one, number) for number, one in enumerate(relationships)]
    table = arrow_table(relationships, "relationships", _RELATIONSHIPS)
    if type_column is None:
        raise StorageError("relationships: a single table needs type_column", hint="Or give {type: table}.")
    found: list[tuple[str, str | None, str | None, Any]] = []
    for value, rows in _split(table, type_column, "relationships", lists=False):
        if value is None or value == "":
            raise StorageError(
                f"relationships: {rows.num_rows:,} rows have no type in column {type_column}",
                hint="Drop these rows, or give each a type.",
            )
        found.append((f"E{value}" if isinstance(value, int) else value, None, None, rows))
    return found


def labels_of(labels: str | Iterable[str]) -> tuple[str, ...]:
    """Return the labels of a table: a list of them, or a text that joins them by colons."""
    names = labels.split(":") if isinstance(labels, str) else labels
    return tuple(dict.fromkeys(name for name in names if name))


def type_names(undirected: Any) -> set[str]:
    """Return the names of types that are given as undirected."""
    hint = 'Give a list of types, as in undirected=["KNOWS"].'
    if isinstance(undirected, str) or not isinstance(undirected, Iterable):
        raise StorageError(f"undirected is {undirected!r}, not a list of names", hint=hint)
    return {name_of(name, "undirected: a type", hint) for name in undirected}


def name_of(name: Any, place: str, hint: str) -> str:
    """Return what must be a name.

    Raises
    ------
    StorageError
        If it is none.
    """
    if not isinstance(name, str) or not name or half_pair(name) >= 0:
        raise StorageError(f"{place} is {_shown(name)}, not a name", hint=hint)
    return name


def given_path(path: Any, hint: str) -> Path:
    """Return what must be a path.

    Raises
    ------
    StorageError
        If it is none.
    """
    given = fspath(path) if isinstance(path, PathLike) else path
    try:
        if not isinstance(path, str | PathLike) or b"\0" in fsencode(path):
            raise UnicodeError
        Path(path).exists()
    except UnicodeError:
        raise StorageError(f"{_shown(given)} is no path", hint=hint) from None
    except OSError as error:
        raise StorageError(f"{_shown(given)} can't be read: {error.strerror}", hint=hint) from None
    return Path(path)


def first_line(error: Exception) -> str:
    """Return the first line of what an error says, or its class's name."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def arrow_table(source: Any, place: str, hint: str | None = None) -> Any:
    """Return any table as Arrow's.

    Raises
    ------
    StorageError
        If it is none, can't be made one, is malformed, or has two columns of one name.
    """
    table = _arrow_table(source, place, hint)
    table = table.select(own_columns(table.schema))
    twice = [name for name, count in Counter(table.column_names).items() if count > 1]
    if twice:
        raise StorageError(f"{place}: several columns are called {twice[0]}", hint="Rename all but one of them.")
    for name in table.column_names:
        check_array(table[name], f"{place}, column {name}")
    return table


def own_columns(schema: Any) -> list[int]:
    """Return the places of a table's columns, less those of a pandas index without a name, as filtering leaves one."""
    from_pandas = b"pandas" in (schema.metadata or {})
    return [place for place, name in enumerate(schema.names) if not (from_pandas and _PANDAS_INDEX.fullmatch(name))]


def key_column(table: Any, key: str | None, place: str) -> str:
    """Return the name of a node table's key column."""
    if not table.num_columns:
        raise StorageError(f"{place}: the table has no columns", hint="It needs a key column.")
    if key is not None:
        _column(table, key, place)
        return key
    return "id" if "id" in table.column_names else str(table.column_names[0])


def end_columns(table: Any, place: str) -> tuple[str, str, bool]:
    """Return the columns with the keys of the ends, and whether they are known by their names."""
    lower = {name.lower(): name for name in reversed(table.column_names)}
    for start, end in zip(_START, _END, strict=True):
        if start in lower and end in lower:
            return lower[start], lower[end], True
    if table.num_columns < 2:
        raise StorageError(
            f"{place}: two columns with the keys of the ends are needed",
            hint=f"Call them {END_NAMES}.",
        )
    return table.column_names[0], table.column_names[1], False


def _relationship_table(one: Any, number: int) -> tuple[str, str | None, str | None, Any]:
    parts = _checked_length(one, (2, 4), "relationships", number, _RELATIONSHIPS)
    name = name_of(parts[0], f"relationships: the type of entry {number}", _RELATIONSHIPS)
    start, end = (_end_label(label, name) for label in parts[1:-1]) if len(parts) == 4 else (None, None)
    return name, start, end, parts[-1]


def _end_label(label: Any, name: str) -> str | None:
    if label is None:
        return None
    labels = _labels(label, f"relationships {name}", _RELATIONSHIPS)
    if len(labels) > 1:
        raise StorageError(
            f"relationships {name}: its ends have {len(labels)} labels: {', '.join(labels)}",
            hint="Give one label that all nodes at this end have, or None for any node.",
        )
    return labels[0] if labels else None


def _labels(labels: Any, place: str, hint: str) -> tuple[str, ...]:
    names = (labels,) if isinstance(labels, str) else labels
    if not isinstance(names, list | tuple | set | frozenset) or not all(isinstance(name, str) for name in names):
        raise StorageError(f"{place}: {_shown(labels)} is neither a label nor a list of labels", hint=hint)
    return labels_of(labels)


def _by_ends(name: Any) -> tuple[Any, Any, Any]:
    if not isinstance(name, tuple) or len(name) != 3:
        raise StorageError(f"relationships: {_shown(name)} is no type", hint=_RELATIONSHIPS)
    return name[1], name[0], name[2]


def _checked_length(one: Any, lengths: tuple[int, ...], place: str, number: int, hint: str) -> Any:
    if not isinstance(one, list | tuple) or len(one) not in lengths:
        what = f"has {len(one)} parts" if isinstance(one, list | tuple) else f"is {_shown(one)}"
        wanted = " or ".join(map(str, lengths))
        raise StorageError(f"{place}: entry {number} {what}, where {wanted} are wanted", hint=hint)
    return one


def _split(table: Any, column: str, place: str, *, lists: bool) -> Iterator[tuple[Any, Any]]:
    """Yield each value of a column, in the order of first appearance, with the rows that have it, without it."""
    values = normal_array(_column(table, column, place), f"{place}, column {column}")
    kind = values.type.value_type if lists and pa.types.is_list(values.type) else values.type
    if not any(test(kind) for test in (*_TEXTS, pa.types.is_int64)) or (
        kind != values.type and pa.types.is_int64(kind)
    ):
        raise StorageError(
            f"{place}, column {column}: {values.type} can't be names", hint="Give strings or integers in this column."
        )
    if kind != values.type:
        numbers: dict[tuple[Any, ...], int] = {}
        codes = np.array([numbers.setdefault(tuple(one or ()), len(numbers)) for one in values.to_pylist()], np.int64)
        names: list[Any] = list(numbers)
    else:
        encoded = values.dictionary_encode("encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        names = encoded.dictionary.to_pylist()
    others = (name for name in table.column_names if name != column)
    rest = pa.table({name: normal_array(table[name], f"{place}, column {name}") for name in others})
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(names) + 1))
    for code, name in enumerate(names):
        yield name, rest.take(pa.array(order[bounds[code] : bounds[code + 1]]))


def _arrow_table(source: Any, place: str, hint: str | None) -> Any:
    if not isinstance(source, Mapping | pa.Table | pa.RecordBatch) and not hasattr(source, "__arrow_c_stream__"):
        raise StorageError(
            f"{place}: {type(source).__name__} isn't a table",
            hint=("Write frame.collect(). " if hasattr(source, "collect") else "")
            + "Tables are pyarrow, pandas or polars tables, or anything with __arrow_c_stream__."
            + (f" {hint}" if hint else ""),
        )
    try:
        if isinstance(source, pa.RecordBatchReader):  # Arrow's export of a malformed batch would crash
            table = source.read_all()
        elif isinstance(source, pa.Table | pa.RecordBatch):
            table = source if isinstance(source, pa.Table) else pa.Table.from_batches([source])
        else:
            table = pa.table(dict(source) if isinstance(source, Mapping) else _with_index(source))
        _ = table.column_names  # decoded only now
    except MemoryError:
        raise
    except UnicodeEncodeError as error:
        found = error.object[error.start]
        raise StorageError(f"{place} holds a string with half of a surrogate pair: {found!a}", hint=HALVES) from None
    except (pa.ArrowException, OSError, TypeError, ValueError, LookupError, OverflowError) as error:
        raise StorageError(
            f"{place}: it can't be made an Arrow table: {' '.join(map(str, error.args))}",
            hint="Give each column one type, or use Graph.from_records, where a property may have several.",
        ) from None
    return table


def _with_index(frame: Any) -> Any:
    """Return a data frame of pandas with the names of its index among its columns, behind them; others as they are."""
    if type(frame).__module__.partition(".")[0] != "pandas" or not hasattr(frame, "columns"):
        return frame
    names = [name for name in frame.index.names if name is not None]
    return frame.reset_index(names)[[*frame.columns, *names]] if names else frame


def _column(table: Any, name: str, place: str) -> Any:
    name_of(name, f"{place}: the column", f"It has {', '.join(table.column_names)}.")
    if name not in table.column_names:
        raise StorageError(f"{place}: there is no column {name}", hint=f"It has {', '.join(table.column_names)}.")
    return table[name]


def _shown(value: Any) -> str:
    """Return a value for an error message: as it is where that is short, else how a text begins, the kind of others."""
    if isinstance(value, str):
        begin = value[:_SHOWN]
        text = repr(begin) if begin.isprintable() else ascii(begin)
        return text if begin == value else f"{text[:-1]}…{text[-1]}"
    if (value is None or isinstance(value, int | float | tuple)) and len(text := repr(value)) <= _SHOWN:
        return text
    return f"a {type(value).__name__}"
