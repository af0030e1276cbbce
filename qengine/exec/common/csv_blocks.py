"""Reads a CSV file block by block, as LOAD CSV gives it: by Arrow where that gives the rows of ``scalar.csv_rows``.

Both read a block alike where each quote opens a field, closes one, or is one of two inside of one, and where all rows
have as many fields. Whether a quote stands inside of a field is told by how many come before it. A block whose rows
differ is read by ``scalar.csv_rows``, and where a quote stands otherwise, or behind a backslash, that reads the rest of
the file: where rows end is no longer known. Small files, other encodings than UTF-8 and separators beyond ASCII are
left to it as a whole.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from qengine._frozen import frozen
from qengine.errors import Span
from qengine.exec.common.text_rows import TextRows
from qengine.exec.scalar.csv_rows import CsvRow, encoding_of, file_rows, named, path_of, records, unreadable
from qengine.exec.scalar.values import failing_at
from qengine.plan.logical import LoadCsv
from qengine.storage.kernels import csv_rows_end

if TYPE_CHECKING:
    from qengine.exec.context import ExecutionContext

Part: TypeAlias = "TextRows | Iterator[tuple[Any, ...]]"
"""Rows that come together, or one after the other with all that is added for each."""

_Block: TypeAlias = "TextRows | Iterator[CsvRow]"

_SMALL = 1 << 15  # bytes of a file of which no blocks are made
_FIRST, _BLOCK = 1 << 16, 1 << 20  # bytes of a block
_LARGEST = 1 << 23  # bytes of a block with less than one row
_QUOTE = b'"'
_MARK = b"\xef\xbb\xbf"


def rows_of_file(operator: LoadCsv, url: Any, context: ExecutionContext) -> Iterator[tuple[Any, ...]]:
    """Give the rows of a file one after the other; arguments and errors as ``csv_rows.file_rows``."""
    for part in file_parts(operator, url, context):
        yield from zip(part.values(), strict=False) if isinstance(part, TextRows) else part


def file_parts(operator: LoadCsv, url: Any, context: ExecutionContext) -> Iterator[Part]:
    """Give the rows of a file in parts, each of which is read when it is asked for; else as ``rows_of_file``."""
    if operator.line or operator.file:
        yield file_rows(operator, url, context)
        return
    span = operator.url.span
    with failing_at(span):
        path = path_of(url, context)
        wanted = operator.fields if context.memory_limit is None else None  # the text isn't counted as it is
        source = _Source(path, url, operator.separator, context.check, wanted)
        if not source.has_blocks():
            yield file_rows(operator, url, context)
            return
        parts = source.parts()
        for part in _with_names(parts, source.names) if operator.headers else parts:
            yield part if isinstance(part, TextRows) else _placed(part, span)


def _placed(rows: Iterator[CsvRow], span: Span | None) -> Iterator[tuple[CsvRow]]:
    with failing_at(span):
        yield from zip(rows, strict=False)


def _with_names(parts: Iterator[_Block], known_names: list[str | None]) -> Iterator[_Block]:
    """Make maps of the rows behind the first, which has the names; those of ``known_names``, once they are there."""
    names: list[str | None] | None = None
    for part in parts:
        if isinstance(part, TextRows) and part.names is not None:
            yield part
            continue
        if not isinstance(part, TextRows):
            rows: Iterator[Any] = part
            if names is None and (names := next(rows, None)) is None:
                continue
            known = names
            assert known is not None
            yield (named(known, fields) for fields in rows)
            continue
        rest = part
        if names is None:
            names = [each[0].as_py() for each in part.fields]
            known_names += names
            rest = TextRows(None, [each.slice(1) for each in part.fields], len(part) - 1)
        if len(rest):
            yield _named_fields(names, rest)


def _named_fields(names: list[str | None], rows: TextRows) -> TextRows:
    fields = [*rows.fields, *(pa.nulls(len(rows), pa.string()) for _ in names[len(rows.fields) :])]
    found = {name: field for name, field in zip(names, fields, strict=False) if name is not None}
    return TextRows(tuple(found), list(found.values()), len(rows))


@frozen
class _Source:
    """A file, what errors call it, the character between its fields, and what raises where the execution must stop.

    ``wanted``: the fields that are read of maps, None for all. ``names``: of the fields, once they are known: blocks
    are then read as maps, where all text outside of wanted fields is known to be text.
    """

    path: Path
    url: str
    separator: str
    check: Callable[[], None]
    wanted: tuple[str, ...] | None = None
    names: list[str | None] = field(default_factory=list)

    def has_blocks(self) -> bool:
        """Tell whether the file is read block by block."""
        if not self.separator.isascii():
            return False
        try:
            with self.path.open("rb") as file:
                start = file.read(4)
                return encoding_of(start).startswith("utf-8") and file.seek(0, io.SEEK_END) > _SMALL
        except OSError as error:
            raise unreadable(self.url, error) from None

    def parts(self) -> Iterator[_Block]:
        """Give the rows, each as a list."""
        try:
            with self.path.open("rb") as file:
                file.seek(len(_MARK) if file.read(len(_MARK)) == _MARK else 0)
                yield from self._blocks(file)
        except OSError as error:
            raise unreadable(self.url, error) from None

    def _blocks(self, file: IO[bytes]) -> Iterator[_Block]:
        space, kept = bytearray(_FIRST), 0  # the block is at its beginning, first what was kept of the one before
        lines, counted, begin = 0, file.tell(), file.tell()
        while True:
            self.check()
            size = kept + file.readinto(memoryview(space)[kept : kept + _BLOCK])  # type: ignore[attr-defined]
            if not size:
                return
            end = _rows_end(space, size, self.separator, last=size == kept)
            if end is None or (not end and size > _LARGEST):
                lines += _lines_of(self.path, counted, begin)
                yield self._by_lines(_Joined(bytes(space[:size]), file), lines)
                return
            rows = self._by_columns(space, end) if end else None
            if rows is not None:
                yield rows
            elif end:
                lines, counted = lines + _lines_of(self.path, counted, begin), begin
                yield self._by_lines(io.BytesIO(space[:end]), lines)
            begin, kept = begin + end, size - end
            if kept + _BLOCK > len(space):
                space = space[end:size] + bytes(2 * _BLOCK)
            else:
                space[:kept] = space[end:size]

    def _by_lines(self, file: Any, before: int) -> Iterator[CsvRow]:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        return records(text, self.url, self.separator, self.check, before)

    def _by_columns(self, space: bytearray, end: int) -> TextRows | None:
        """Return the rows of a block, up to ``end``, as Arrow reads them.

        None where they differ in length, or are no text.
        """
        if space.startswith(_MARK):  # Arrow takes it for what tells the encoding
            return None
        fields = space.count(self.separator.encode(), 0, space.find(b"\n", 0, end) + 1 or end) + 1
        block = pa.py_buffer(space).slice(0, end), space.find(_QUOTE, 0, end) >= 0
        if self.wanted is not None and self.names and space.isascii():
            return self._wanted_columns(block)
        try:
            table = _table(block, self.separator, [f"f{place}" for place in range(fields)])
            if any(each != pa.string() for each in table.schema.types):  # the first row has several lines
                table = _table(block, self.separator, table.column_names)
        except pa.ArrowInvalid:
            return None
        return TextRows(None, [_single(each) for each in table.columns], table.num_rows)

    def _wanted_columns(self, block: tuple[Any, bool]) -> TextRows | None:
        """Return the rows of a block as maps of the fields that are wanted; None as ``_by_columns``."""
        assert self.wanted is not None
        places = {name: f"f{place}" for place, name in enumerate(self.names) if name in self.wanted}
        try:
            table = _table(block, self.separator, list(places.values()) or ["f0"], alone=True)
        except pa.ArrowInvalid:
            return None
        return TextRows(tuple(places), [_single(table.column(each)) for each in places.values()], table.num_rows)


def _table(block: tuple[Any, bool], separator: str, fields: list[str], *, alone: bool = False) -> Any:
    """Return what Arrow reads of a buffer, and of whether there are quotes in it: some fields as texts, ``alone``."""
    from pyarrow import csv

    text, quoted = block
    return csv.read_csv(
        pa.BufferReader(text),
        csv.ReadOptions(use_threads=False, block_size=text.size + 1, autogenerate_column_names=True),
        csv.ParseOptions(delimiter=separator, quote_char='"' if quoted else False, newlines_in_values=quoted),
        csv.ConvertOptions(
            column_types=dict.fromkeys(fields, pa.string()),
            include_columns=fields if alone else None,
            include_missing_columns=True,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _single(column: Any) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _rows_end(space: bytearray, size: int, separator: str, *, last: bool) -> int | None:
    """Return where the last whole row of a block of ``size`` bytes ends, 0 where there is none.

    None where quotes soon stand otherwise. ``last``: the file ends with the block.
    """
    if space.find(_QUOTE, 0, size) < 0:
        return size if last else space.rfind(b"\n", 0, size) + 1
    end, odd = csv_rows_end(space, size, separator, last=last)
    return None if odd and not end else end


def _lines_of(path: Path, begin: int, end: int) -> int:
    """Return how many lines end in a part of a file, which is read for it: few files need it."""
    with path.open("rb") as file:
        file.seek(begin)
        text = file.read(end - begin)
    return text.count(b"\n") + (text.count(b"\r") - text.count(b"\r\n") if b"\r" in text else 0)


class _Joined(io.RawIOBase):
    """Some bytes, and those of a file behind them."""

    def __init__(self, first: bytes, rest: IO[bytes]) -> None:
        self._first = io.BytesIO(first)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._first.read(len(buffer)) or self._rest.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)
