"""Loads the folders that Kùzu's ``EXPORT DATABASE`` writes: a schema, and files as ``COPY`` reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from qengine._frozen import frozen
from qengine.errors import LoadingWarning, StorageError
from qengine.formats.csv_text import read_texts
from qengine.formats.options import Source, TextFileOptions
from qengine.formats.parts import Builder
from qengine.formats.texts import column_values
from qengine.storage.files import read_parquet, warn_of
from qengine.storage.given import given_path
from qengine.storage.keys import key_array
from qengine.storage.memory import within_memory
from qengine.storage.normal import normal_array
from qengine.storage.store import GraphStore
from qengine.storage.variant import from_python
from qengine.temporal import Duration

_NODE_TABLE = re.compile(
    r"CREATE NODE TABLE\s+(?:IF NOT EXISTS\s+)?`?(\w+)`?\s*\((.*?)PRIMARY KEY\s*\(`?(\w+)`?\)\s*\)\s*;",
    re.DOTALL | re.IGNORECASE,
)
_REL_TABLE = re.compile(
    r"CREATE REL TABLE\s+(?:GROUP\s+)?(?:IF NOT EXISTS\s+)?`?(\w+)`?\s*\((.*?)\)\s*;", re.DOTALL | re.IGNORECASE
)
_COLUMN = re.compile(r"`(\w+)`\s+([A-Z][A-Z0-9_]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?(?:\[\d*\])*)")
_COPY = re.compile(r"COPY\s+`?(\w+)`?\s*(?:\(([^)]*)\))?\s*FROM\s*\"([^\"]*)\"\s*\((.*?)\)\s*;", re.IGNORECASE)
_OPTION = re.compile(r"(\w+)\s*=\s*('[^']*'|\"[^\"]*\"|\w+)")
_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8", "SERIAL"), "long"),
    **dict.fromkeys(("DOUBLE", "FLOAT"), "double"),
    "BOOL": "boolean",
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP_SEC"), "localdatetime"),
    "TIMESTAMP_TZ": "datetime",
    "INTERVAL": "interval",
    **dict.fromkeys(("STRING", "UUID", "BLOB", "INT128"), "string"),
}
_UNIT = re.compile(r"(-?\d+)\s+(year|mon|month|week|day|hour|minute|second)s?")
_CLOCK = re.compile(r"(-?)(\d+):(\d+):(\d+(?:\.\d+)?)")
_LEFT_OUT = "Split it into columns of plain types before exporting."
_HINT = "Give the folder that EXPORT DATABASE has written."


@frozen
class _Copy:
    """One ``COPY``: the table, the columns after the keys, the file, the tables of both ends of relationships."""

    table: str
    columns: tuple[str, ...]
    path: Path
    start: str
    end: str
    header: bool


@within_memory
def from_kuzu(source: Source) -> GraphStore:
    """Load a folder of Kùzu, as ``Graph.from_kuzu`` says."""
    folder = given_path(source, _HINT)
    schema, copies = _text(folder / "schema.cypher"), _text(folder / "copy.cypher")
    nodes = {name: (dict(_COLUMN.findall(body)), key) for name, body, key in _NODE_TABLE.findall(schema)}
    links = {name: dict(_COLUMN.findall(body)) for name, body in _REL_TABLE.findall(schema)}
    builder, told = Builder(), list[LoadingWarning]()
    for copy in _copies(copies, folder):
        if copy.table in nodes:
            types, key = nodes[copy.table]
            columns = _columns(copy, [types.get(name, "STRING") for name in copy.columns], copy.columns, told)
            if key not in columns:
                raise StorageError(f"{copy.path}: there is no column {key}", hint="It is the table's primary key.")
            keys = key_array(columns[key], f"{copy.path}, column {key}")
            builder.nodes((copy.table,), columns, keys, len(keys), copy.table)
        elif copy.table in links and copy.start in nodes and copy.end in nodes:
            ends = [nodes[table][0].get(nodes[table][1], "STRING") for table in (copy.start, copy.end)]
            types = links[copy.table]
            names = ("\x00start", "\x00end", *copy.columns)
            columns = _columns(copy, [*ends, *(types.get(name, "STRING") for name in copy.columns)], names, told)
            first, second = (key_array(columns.pop(name), str(copy.path)) for name in names[:2])
            place = str(copy.path)
            builder.relationships(copy.table, (first, copy.start, place), (second, copy.end, place), columns)
        else:
            raise StorageError(f"{copy.path}: schema.cypher has no table {copy.table}", hint=_HINT)
    store = builder.store()
    warn_of(told)
    return store


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"{path}: it can't be read: {error}", hint=_HINT) from None


def _copies(text: str, folder: Path) -> Iterator[_Copy]:
    """Yield what is copied, nodes first: their types are known before relationships ask."""
    for table, columns, file, options in _COPY.findall(text):
        given = {name.lower(): value.strip("'\"") for name, value in _OPTION.findall(options)}
        names = tuple(each.strip().strip("`") for each in columns.split(",") if each.strip())
        header = given.get("header", "false").lower() == "true"
        yield _Copy(table, names, folder / Path(file).name, given.get("from", ""), given.get("to", ""), header)


def _columns(copy: _Copy, types: Sequence[str], names: Sequence[str], told: list[LoadingWarning]) -> dict[str, Any]:
    """Return the columns of a file as properties."""
    is_text = copy.path.suffix.lower() == ".csv"
    if is_text:
        table = read_texts(copy.path, TextFileOptions(), len(names), skip=copy.header)
    else:
        table = _parquet(copy.path, told)
    if table.num_columns != len(names):
        raise StorageError(f"{copy.path}: it has {table.num_columns} columns where copy.cypher names {len(names)}")
    found = {}
    for place, (name, kind) in enumerate(zip(names, types, strict=True)):
        what = f"{copy.path}, column {name}"
        if kind.startswith(("STRUCT", "MAP", "UNION")):
            told.append(LoadingWarning(f"{what}: it is left out, as {kind} can't be a property", hint=_LEFT_OUT))
        elif is_text:
            array = normal_array(table.column(place), what)
            found[name] = pa.nulls(len(array)) if pa.types.is_null(array.type) else _of_text(array, kind, what)
        elif kind == "INTERVAL":
            found[name] = _intervals(table.column(place), what)
        elif kind == "UUID":
            found[name] = from_python(
                [None if each is None else str(each) for each in table.column(place).to_pylist()], what
            )
        else:
            found[name] = normal_array(table.column(place), what)
    return found


def _parquet(path: Path, told: list[LoadingWarning]) -> Any:
    try:
        return read_parquet(path, told)
    except StorageError as error:
        error.hint = 'Arrow reads no SERIAL column that Kùzu writes as Parquet: EXPORT DATABASE "…" (format="csv").'
        raise


def _of_text(texts: Any, kind: str, place: str) -> Any:
    """Return what Kùzu has written as text: timestamps with a blank, lists in brackets."""
    if kind.endswith("]"):
        item = kind[: kind.rindex("[")]
        parts = [None if each is None else _items(each) for each in texts.to_pylist()]
        flat = _of_text(pa.array([x for each in parts if each for x in each], pa.string()), item, place).to_pylist()
        items = iter(flat)
        return from_python([None if each is None else [next(items) for _ in each] for each in parts], place)
    name = _TYPES.get(kind.partition("(")[0], "double" if kind.startswith("DECIMAL") else "string")
    if name == "interval":
        return from_python([None if each is None else _duration(each) for each in texts.to_pylist()], place)
    if name in ("localdatetime", "datetime"):
        texts = pa.compute.replace_substring_regex(texts, r"^(\S+) ", r"\1T")
        texts = pa.compute.replace_substring_regex(texts, r"([+-]\d\d)$", r"\1:00")
    if name == "boolean":
        texts = pa.compute.utf8_lower(texts)
    return column_values(texts, name, place)


def _items(text: str) -> list[str]:
    inner = text.strip()[1:-1]
    return inner.split(",") if inner else []


def _duration(text: str) -> Duration:
    amounts = {"year": 0, "mon": 0, "week": 0, "day": 0, "hour": 0, "minute": 0, "second": 0}
    for number, unit in _UNIT.findall(text):
        amounts["mon" if unit.startswith("mon") else unit] += int(number)
    seconds = 3600 * amounts["hour"] + 60 * amounts["minute"] + amounts["second"]
    nanoseconds = seconds * 10**9
    if (clock := _CLOCK.search(text)) is not None:
        sign, hours, minutes, rest = clock.groups()
        whole = (int(hours) * 3600 + int(minutes) * 60) * 10**9 + round(float(rest) * 10**9)
        nanoseconds += -whole if sign else whole
    return Duration(months=12 * amounts["year"] + amounts["mon"], days=7 * amounts["week"] + amounts["day"],
                    nanoseconds=nanoseconds)  # fmt: skip


def _intervals(column: Any, place: str) -> Any:
    """Return Parquet's intervals, three numbers of 32 bits each, as durations."""
    parts = [None if each is None else np.frombuffer(each, "<u4").tolist() for each in column.to_pylist()]
    durations = [
        None if each is None else Duration(months=each[0], days=each[1], nanoseconds=each[2] * 10**6) for each in parts
    ]
    return from_python(durations, place)
