"""Graphs from edge lists: text files as SNAP has them, or two arrays."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from qengine._frozen import frozen
from qengine.errors import StorageError
from qengine.storage.arrays import Array
from qengine.storage.assemble import NodeBlock, RelationshipBlock, assemble
from qengine.storage.csv_mistakes import NO_TEXT
from qengine.storage.given import arrow_table, end_columns, first_line, given_path, name_of
from qengine.storage.kernels import edge_list, look_up, mark
from qengine.storage.keys import KeyIndex, key_array
from qengine.storage.memory import within_memory
from qengine.storage.normal import check_array, normal_array
from qengine.storage.progress import Progress
from qengine.storage.store import GraphStore

_CHUNK = 1 << 24  # bytes parsed at a time; Ctrl-C is heard between two such pieces
_ROWS = 1 << 20  # rows of arrays that are read as 64-bit integers at a time
_TABLE = 8  # ids up to this many times the number of edges are numbered by a table
_FORM = "A line holds two integers; start comment lines with #. Tables with a header line are Graph.from_csv's."
_SOURCE = "Give a path, a table of two columns, or two arrays; of a list of pairs: starts, ends = zip(*pairs)."
_GZIP = b"\x1f\x8b"
_MATRIX = b"%%MatrixMarket"  # its line of sizes would be read as an edge


@within_memory
def from_edge_list(
    source: Any,
    *,
    type: str = "E",
    label: str | None = None,
    undirected: bool = False,
) -> GraphStore:
    """Load a graph that is nothing but edges, as ``Graph.from_edge_list`` says."""
    name_of(type, "edge list: the type", 'Give a name, as in type="KNOWS".')
    if label is not None:
        name_of(label, "edge list: the label", 'Give a name, as in label="Person", or None.')
    if isinstance(source, tuple) and len(source) == 2:
        ids, start, end = _from_arrays(*source)
    elif isinstance(source, str | PathLike):
        ids, start, end = _from_file(given_path(source, _SOURCE))
    elif hasattr(source, "__arrow_c_stream__") or isinstance(source, pa.Table | pa.RecordBatch):
        ids, start, end = _from_table(source)
    else:
        kind = source.__class__.__name__
        raise StorageError(f"edge list: it is a file, a table or a pair of arrays, not a {kind}", hint=_SOURCE)
    nodes = NodeBlock((label,) if label else (), len(ids), {"id": ids})
    relationships = [RelationshipBlock(type, start, end)]
    del start, end
    return assemble([nodes], relationships, [type] if undirected else [])


def _from_table(source: Any) -> tuple[Any, Array, Array]:
    table = arrow_table(source, "edge list")
    if table.num_columns != 2:
        raise StorageError(
            f"edge list: the table has {table.num_columns} columns, not two",
            hint="Select the two with the ends; Graph.from_arrow keeps others as properties.",
        )
    start, end, _ = end_columns(table, "edge list")
    return _from_columns((table[start], f"column {start}"), (table[end], f"column {end}"))


def _from_arrays(start: Any, end: Any) -> tuple[Any, Array, Array]:
    return _from_columns((_arrow(start, "first array"), "first array"), (_arrow(end, "second array"), "second array"))


def _from_columns(*columns: tuple[Any, str]) -> tuple[Any, Array, Array]:
    if all(pa.types.is_integer(array.type) for array, _ in columns):
        _same_length(*(array for array, _ in columns))
        first, second = (partial(_Numbers, array, f"edge list, {name}") for array, name in columns)
        return _numbered([(first(row), second(row)) for row in range(0, len(columns[0][0]), _ROWS)])
    ends = [key_array(array, f"edge list, {name}") for array, name in columns]
    _same_length(*ends)
    if all(pa.types.is_int64(one.type) for one in ends):  # of fractions
        return _numbered([(ends[0].to_numpy(), ends[1].to_numpy())])
    if any(pa.types.is_int64(one.type) for one in ends):
        raise StorageError(f"edge list: the two arrays hold {ends[0].type} and {ends[1].type}", hint="Cast one.")
    ids = normal_array(pa.chunked_array([one.cast(pa.large_string()) for one in ends]).unique(), "edge list")
    index = KeyIndex(ids, np.arange(len(ids), dtype=np.uint32), "edge list")
    return ids, index.find(ends[0], "edge list"), index.find(ends[1], "edge list")


@frozen
class _Numbers:
    """Some rows of a column of integers, from ``row`` on; as an array they are int64, made each time."""

    column: Any
    place: str
    row: int

    def __len__(self) -> int:
        return min(_ROWS, len(self.column) - self.row)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        found: Array = key_array(self.column.slice(self.row, _ROWS), self.place, self.row).to_numpy()
        return found


def _same_length(start: Any, end: Any) -> None:
    if len(start) != len(end):
        raise StorageError(
            f"edge list: the two arrays have {len(start):,} and {len(end):,} entries",
            hint="Each edge has an entry in both.",
        )


def _arrow(array: Any, name: str) -> Any:
    if isinstance(array, (pa.Array, pa.ChunkedArray)):
        check_array(array, f"edge list, {name}")
        return array
    try:
        return pa.array(array)
    except MemoryError:
        raise
    except (pa.ArrowException, TypeError, ValueError, LookupError, OverflowError) as error:
        raise StorageError(f"edge list, {name}: it can't be read: {first_line(error)}", hint=_SOURCE) from None


def _from_file(path: Path) -> tuple[Any, Array, Array]:
    parts = []
    line = 0
    try:
        size = path.stat().st_size
        with path.open("rb") as raw, Progress(f"Reading {path.name}", size) as progress:
            zipped = raw.read(2) == _GZIP
            raw.seek(0)
            lines = gzip.GzipFile(fileobj=raw) if zipped else raw
            for data, length in _whole_lines(lines, path):
                if not line:
                    blank_mark(data)
                if not line and data.startswith(_MATRIX):
                    raise StorageError(
                        f"{path}: this is a Matrix Market file, no edge list",
                        hint="Leave out its head: all lines that start with %, and the line of sizes below them.",
                    )
                read = edge_list(data, length)
                if read.bad is not None:
                    raise bad_line(path, line, data[:length], read.bad, _FORM)
                line += read.newlines
                parts.append((read.first, read.second))
                progress.reach(raw.tell())
    except (OSError, EOFError, zlib.error) as error:
        raise StorageError(
            f"{path}: it can't be read: {error}", hint="It may be missing, damaged or cut off."
        ) from None
    return _numbered(parts)


def blank_mark(data: bytearray) -> None:
    """Blank the byte order mark with which a text may begin."""
    if data.startswith(codecs.BOM_UTF8):
        data[: len(codecs.BOM_UTF8)] = b" " * len(codecs.BOM_UTF8)


def bad_line(path: Path, before: int, data: bytes | bytearray, bad: int, hint: str) -> StorageError:
    """Return the error for line ``bad`` (from 0) of ``data``, which ``before`` lines of the file precede."""
    text = bytes(data).split(b"\n", bad + 1)[bad].decode(errors="replace").strip()
    if not text.isprintable() and not text.replace("\t", "").isprintable():
        what, hint = next((NO_TEXT[head] for head in NO_TEXT if data.startswith(head)), ("this is no text file", hint))
        return StorageError(f"{path}: {what}", hint=hint)
    return StorageError(f"{path}:{before + bad + 1}: can't be understood: {text[:80]!r}", hint=hint)


def _whole_lines(file: Any, path: Path) -> Iterator[tuple[bytearray, int]]:
    """Yield a buffer, the same each time, and how many bytes of it are whole lines.

    Raises
    ------
    StorageError
        For a line that is longer than the buffer.
    """
    data = bytearray(_CHUNK)
    filled = 0
    more = True
    while more:
        if filled == len(data):
            raise StorageError(f"{path}: a line is longer than {_CHUNK >> 20} MiB", hint=_FORM)
        while filled < len(data) and more:
            with memoryview(data) as view:
                more = file.readinto(view[filled:])
            filled += more
        length = data.rfind(b"\n", 0, filled) + 1 if more else filled
        if length:
            yield data, length
            data[: filled - length] = data[length:filled]  # what is left is short
            filled -= length


def _numbered(parts: list[tuple[Any, Any]]) -> tuple[Any, Array, Array]:
    """Give ids ordinals in ascending order.

    ``parts`` are both ends of some edges each, int64 or ``_Numbers``, and is emptied on the way, to keep memory low.
    """
    count = sum(len(start) for start, _ in parts)
    start, end = np.empty(count, np.uint32), np.empty(count, np.uint32)
    low, high = 0, -1
    for place, one in enumerate(numbers for part in parts for numbers in part if len(numbers)):
        own = np.asarray(one)
        low, high = (min(low, int(own.min())), max(high, int(own.max()))) if place else (int(own.min()), int(own.max()))
    if high - low < _TABLE * count + 1024:
        seen = np.zeros(high - low + 1, np.uint8)
        for part in parts:
            for one in part:
                mark(np.asarray(one), low, seen)
        ids = np.flatnonzero(seen) + low
        table = np.cumsum(seen, dtype=np.uint32) - np.uint32(1)

        def find(numbers: Any) -> Array:
            return look_up(np.asarray(numbers), low, table)[0]

    else:
        ids = np.unique(np.concatenate([np.unique(one) for part in parts for one in part]))
        index = KeyIndex(pa.array(ids), np.arange(len(ids), dtype=np.uint32), "edge list")

        def find(numbers: Any) -> Array:
            return index.find(pa.array(np.asarray(numbers)), "edge list")

    row = 0
    parts.reverse()
    while parts:
        first, second = parts.pop()
        start[row : row + len(first)], end[row : row + len(first)] = find(first), find(second)
        row += len(first)
    return pa.array(ids), start, end
