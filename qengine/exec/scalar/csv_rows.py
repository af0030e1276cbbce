"""Reads a CSV file row by row, as LOAD CSV gives it.

Fields are strings; one without characters is null, ``""`` is an empty string. A quoted field may hold separators, line
ends and quotes: each as two, or behind a backslash, as which two of these stand. Rows may have any number of fields;
lines without characters are left out. The text is UTF-8, or UTF-16 or UTF-32 with a byte order mark.

pyarrow wants as many fields in each row, and Python's ``csv`` doesn't tell ``""`` from nothing. So lines without
quotes, most of them, are split at separators, and the others are read field by field. A quote inside of a field that
doesn't begin with one stands for itself.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from qengine.errors import ExecutionError
from qengine.exec.scalar.import_roots import refused
from qengine.exec.scalar.values import failing_at, wrong_argument
from qengine.plan.logical import LoadCsv

if TYPE_CHECKING:
    from qengine.exec.context import ExecutionContext

CsvRow: TypeAlias = "list[str | None] | dict[str, str | None]"

_LONGEST = 1 << 24  # characters of a row
_INSIDE = re.compile(r'(?:[^"\\]|""|\\["\\]|\\(?!["\\]))*+')
_ESCAPED = re.compile(r'""|\\(["\\])')
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def file_rows(operator: LoadCsv, url: Any, context: ExecutionContext) -> Iterator[tuple[Any, ...]]:
    """Give the values of ``operator.added`` for each row of the file that a ``LoadCsv`` reads for one row.

    ``url``: the file's address, of that row.

    Raises
    ------
    ExecutionError
        As ``csv_rows``; for an address that isn't a string, or that may not be read.
    """
    with failing_at(operator.url.span):
        path, lines = path_of(url, context), [0]
        rows = csv_rows(
            path, url, headers=operator.headers, separator=operator.separator, check=context.check, lines=lines
        )
        for row in rows:
            more = ((operator.line, lines[0]), (operator.file, str(path)))
            yield (row, *(value for name, value in more if name))


def path_of(url: Any, context: ExecutionContext) -> Path:
    """Return the file of an address; errors as for ``file_rows``."""
    if type(url) is not str:
        raise wrong_argument("LOAD CSV", "a string", url)
    return context.imports.path_of(url)


def csv_rows(
    path: Path,
    url: str,
    *,
    headers: bool,
    separator: str,
    check: Callable[[], None],
    lines: list[int] | None = None,
) -> Iterator[CsvRow]:
    """Give a file's rows; with ``headers`` as maps from the fields of the first.

    A row that has fewer fields than the first has null for the rest; what it has more is left out, and so are columns
    whose header is empty.

    Parameters
    ----------
    path
        The file.
    url
        What errors call it.
    separator
        The character between fields.
    check
        Raises where the execution must stop; called for each row.
    lines
        Its only item becomes the number of the line that each row ends with.

    Raises
    ------
    ExecutionError
        ``ExternalResourceFailed`` for a file that can't be read, is no text of its encoding, or is malformed, as by
        text behind a closing quote; with the line.
    """
    try:
        with path.open(encoding=_encoding(path), newline="") as file:
            found = records(file, url, separator, check, lines=lines)
            if not headers:
                yield from found
            elif (names := next(found, None)) is not None:
                yield from (named(names, fields) for fields in found)
    except OSError as error:
        raise unreadable(url, error) from None


def records(
    file: IO[str],
    url: str,
    separator: str,
    check: Callable[[], None],
    before: int = 0,
    lines: list[int] | None = None,
) -> Iterator[list[str | None]]:
    """Give the fields of each row of a text, as ``csv_rows``; ``before``: lines that the file has before it."""
    reader = _Lines(file, url, before)
    number = before
    try:
        for fields in _records(reader, separator, url):
            number = reader.number
            if lines is not None:
                lines[0] = number
            check()
            yield fields
    except UnicodeDecodeError as error:
        raise _at(url, number + 1, f"no {error.encoding.upper()} text here or soon after") from None


def unreadable(url: str, error: OSError) -> ExecutionError:
    """Return the error for a file that can't be read."""
    return refused(f"{url!r} can't be read: {error.strerror or error}.")


def named(names: list[str | None], fields: list[str | None]) -> dict[str, str | None]:
    """Return a row as a map."""
    fields += [None] * (len(names) - len(fields))
    return {name: value for name, value in zip(names, fields, strict=False) if name is not None}


def _encoding(path: Path) -> str:
    with path.open("rb") as file:
        return encoding_of(file.read(4))


def encoding_of(start: bytes) -> str:
    """Return the encoding of a file that begins with four bytes."""
    return next((name for mark, name in _MARKS if start.startswith(mark)), "utf-8")


class _Lines:
    """The lines of a file, one after the other, with their numbers from 1 on."""

    def __init__(self, file: IO[str], url: str, before: int) -> None:
        self._file, self._url = file, url
        self.number = before
        self._left = _LONGEST

    def next(self, *, first: bool) -> str:
        """Return the next line with its end, "" behind the last; ``first``: it begins a row."""
        if first:
            self._left = _LONGEST
        line = self._file.readline(self._left + 1)
        self.number += bool(line)
        self._left -= len(line)
        if self._left < 0:
            raise _at(self._url, self.number, f"a row of more than {_LONGEST:,} characters; is a quote left open?")
        return line


def _records(lines: _Lines, separator: str, url: str) -> Iterator[list[str | None]]:
    """Give the fields of each row."""
    plain = re.compile(rf"[^{re.escape(separator)}\r\n]*+")
    while line := lines.next(first=True):
        if '"' not in line:
            if line := line.rstrip("\r\n"):
                yield [field or None for field in line.split(separator)]
            continue
        fields: list[str | None] = []
        place = 0
        while True:
            if line.startswith('"', place):
                value, line, place = _quoted(lines, line, place + 1, url)
                fields.append(value)
            else:
                found = plain.match(line, place)
                assert found is not None
                fields.append(found[0] or None)
                place = found.end()
            if not line.startswith(separator, place):
                break
            place += 1
        if line[place:].rstrip("\r\n"):
            raise _at(url, lines.number, "text behind a closing quote")
        yield fields


def _quoted(lines: _Lines, line: str, place: int, url: str) -> tuple[str, str, int]:
    """Return what stands in quotes from a place on, the line with the closing quote, and the place behind that."""
    begin = lines.number
    parts = []
    while True:
        found = _INSIDE.match(line, place)
        assert found is not None
        parts.append(found[0])
        if found.end() < len(line):
            return _ESCAPED.sub(lambda pair: pair[1] or '"', "".join(parts)), line, found.end() + 1
        line, place = lines.next(first=False), 0
        if not line:
            raise _at(url, begin, "a quote that isn't closed")


def _at(url: str, line: int, what: str) -> ExecutionError:
    return refused(f"{url!r}, line {line:,}: {what}.")
