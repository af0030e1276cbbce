"""One CSV file as an Arrow table, and what is wrong with one that would be read as something else than it holds."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine.errors import StorageError

_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_TAIL = 1 << 16
_BLOCK = 1 << 18  # bytes looked through at once: they stay in the cache


def read_csv(path: Path) -> Any:
    """Return a CSV file with a header line as a table; column types are found by reading.

    A column of integers of which some have leading zeros, as in 007, is one of strings.

    Raises
    ------
    StorageError
        For a file that can't be read, is no UTF-8 text, has ragged lines or other separators than commas, or ends
        inside quotes.
    """
    from pyarrow import csv

    options = csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""])
    try:
        try:
            table = csv.read_csv(path, convert_options=options)
        except pa.ArrowInvalid:  # one thread knows which row it is
            table = csv.read_csv(path, csv.ReadOptions(use_threads=False), convert_options=options)
        names = table.column_names
    except UnicodeDecodeError:
        raise _no_text(path) from None
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None
    if any(pa.types.is_binary(kind) for kind in table.schema.types):  # what is no text is read as bytes
        raise _no_text(path)
    if len(names) == 1 and (found := next((each for each in _SEPARATORS if each in names[0]), None)):
        raise StorageError(
            f"{path}: {_SEPARATORS[found]} separate its columns, not commas",
            hint="Write it with commas, or read it with pyarrow, pandas or polars and use Graph.from_arrow.",
        )
    _check_end(path, table)
    return _with_leading_zeros(path, table, options)


def _with_leading_zeros(path: Path, table: Any, options: Any) -> Any:
    """Return a table whose columns of integers are text where one has a leading zero: 007 is not 7."""
    from pyarrow import csv

    integers = [each.name for each in table.schema if pa.types.is_integer(each.type)]
    if not integers or len(set(table.column_names)) < table.num_columns or not _may_lead_with_zeros(path):
        return table
    options.include_columns = integers
    options.column_types = dict.fromkeys(integers, pa.string())
    texts = csv.read_csv(path, convert_options=options)
    for name in integers:
        if pc.any(pc.match_substring_regex(texts[name], r"^\s*[-+]?0[0-9]")).as_py():
            table = table.set_column(table.column_names.index(name), name, texts[name])
    return table


def _may_lead_with_zeros(path: Path) -> bool:
    """Tell whether a zero before a digit stands where a number may begin, anywhere in a file."""
    data = np.memmap(path, np.uint8, "r")
    for start in range(0, len(data), _BLOCK):
        part = np.asarray(data[start : start + _BLOCK + 2])
        before, digit = part[:-2], part[2:]
        zeros = (part[1:-1] == ord("0")) & (digit >= ord("0")) & (digit <= ord("9"))
        zeros &= (before <= ord("-")) & (before != ord("."))  # blanks, quotes, commas and signs
        if zeros.any():
            return True
    return False


def _unreadable(path: Path, error: Exception) -> StorageError:
    if isinstance(error, pa.ArrowInvalid) and _first_bad_line(path) is not None:
        return _no_text(path)
    return StorageError(
        f"{path}: it is no readable CSV file: {first_line(error)}",
        hint="The first line names the columns; every line needs as many fields.",
    )


def first_line(error: Exception) -> str:
    """Return the first line of what an error says, or its class's name."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _no_text(path: Path) -> StorageError:
    line = _first_bad_line(path)
    place = "it" if line is None else f"line {line}"
    return StorageError(
        f"{path}: {place} is no UTF-8 text",
        hint="Save the file as UTF-8; from Latin-1, for example: iconv -f latin1 -t utf-8 OLD > NEW.",
    )


def _first_bad_line(path: Path) -> int | None:
    """Return the number of the first line that isn't UTF-8, from 1; None if there is none."""
    for number, line in enumerate(_lines(path), 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            return number
    return None


def _check_end(path: Path, table: Any) -> None:
    """Raise if the file ends inside quotes: they take all that follows them into the last value."""
    last = table.column(table.num_columns - 1)
    if not len(last) or not pa.types.is_string(last.type):
        return
    value = last[-1].as_py()
    if value is None or "\n" not in value:
        return
    count, tail = 0, b""
    for line in _lines(path):
        count += line.count(b"\n")
        tail = (tail + line)[-_TAIL:]
    if not tail.rstrip().endswith(b'"'):
        raise StorageError(
            f"{path}: the quotes that begin in line {count - value.count(chr(10)) + 1} are never closed",
            hint='Close them; a quote inside quotes is written "".',
        )


def _lines(path: Path) -> Iterator[bytes]:
    with pa.input_stream(str(path)) as file:
        yield from io.BufferedReader(file)
