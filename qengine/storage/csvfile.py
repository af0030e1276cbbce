"""One CSV file as an Arrow table, and what is wrong with one that would be read as something else than it holds."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from qengine._frozen import frozen
from qengine.errors import LoadingWarning, StorageError
from qengine.storage.csvtypes import as_written, doubtful_columns
from qengine.storage.given import first_line

_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_TRUE, _FALSE = ["true", "True", "TRUE"], ["false", "False", "FALSE"]
_TAIL = 1 << 16
_BLOCK, _LARGEST_BLOCK = 1 << 20, 2**31 - 1  # bytes that Arrow reads at a time: by itself, and at most
_LEAST_ROWS = 256  # in a block: each block makes an array of each column


@frozen
class CsvForm:
    """How a file separates and quotes its fields, and what stands for null beside nothing."""

    delimiter: str = ","
    quote: str = '"'
    null: str = ""


_USUAL = CsvForm()


def read_csv(path: Path, told: list[LoadingWarning], form: CsvForm = _USUAL) -> Any:
    """Return a CSV file with a header line as a table; column types are found by reading.

    A column gets the first of these types that holds each of its fields as it is written: integer, boolean (true and
    false), date, time of day, moment, float; else it stays text.

    Parameters
    ----------
    told
        Warnings are added here.
    form
        How fields are separated and quoted.

    Raises
    ------
    StorageError
        For a file that can't be read, is no UTF-8 text, has ragged lines or other separators than commas, or ends
        inside quotes.
    """
    table = _table(path, form)
    names = table.column_names
    if any(pa.types.is_binary(kind) for kind in table.schema.types):  # what is no text is read as bytes
        raise no_text(path)
    check_separator(path, names, form)
    check_end(path, table, form.quote)
    if len(set(names)) < len(names) or not (doubtful := _doubtful(path, table, form)):
        return table
    texts = _table(path, form, doubtful)
    return as_written(path, table, {name: texts[name] for name in doubtful}, told)


def check_separator(path: Path, names: Sequence[str], form: CsvForm) -> None:
    """Raise a ``StorageError`` where something else than commas seems to separate a file's columns."""
    if form == _USUAL and len(names) == 1 and (found := next((each for each in _SEPARATORS if each in names[0]), None)):
        raise StorageError(
            f"{path}: {_SEPARATORS[found]} separate its columns, not commas",
            hint="Name the separator: Graph.from_csv(…, delimiter=…).",
        )


def _doubtful(path: Path, table: Any, form: CsvForm) -> list[str]:
    """Return the columns whose text must be seen; of files in an unusual form all that aren't text."""
    if form == _USUAL:
        return doubtful_columns(path, table)
    return [field.name for field in table.schema if not pa.types.is_string(field.type)]


def _table(path: Path, form: CsvForm, as_text: Sequence[str] = ()) -> Any:
    """Return a file as Arrow reads it, or only some of its columns, as text."""
    try:
        table = _arrow_table(path, form, as_text)
        _ = table.column_names  # which are decoded only now
    except MemoryError:
        raise
    except UnicodeDecodeError:
        raise no_text(path) from None
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from None
    return table


def convert_options(form: CsvForm, only: Sequence[str], kinds: Mapping[str, Any]) -> Any:
    """Return how Arrow is to convert fields: those of some columns (none: of all), to the types given."""
    from pyarrow import csv

    return csv.ConvertOptions(
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=list({"", form.null}),
        true_values=_TRUE,  # Arrow's own have 1 and 0 among them
        false_values=_FALSE,
        include_columns=list(only),
        column_types=dict(kinds),
    )


def _arrow_table(path: Path, form: CsvForm, as_text: Sequence[str]) -> Any:
    from pyarrow import csv

    convert = convert_options(form, as_text, dict.fromkeys(as_text, pa.string()))
    parse = csv.ParseOptions(delimiter=form.delimiter, quote_char=form.quote)
    try:
        return csv.read_csv(path, csv.ReadOptions(block_size=block_size(path)), parse, convert)
    except pa.ArrowInvalid as error:  # one thread knows which row it is; a row is never longer than its block
        size = path.stat().st_size if "straddling" in str(error) else 0
        read = csv.ReadOptions(use_threads=False, block_size=min(max(_BLOCK, size + 1), _LARGEST_BLOCK))
        return csv.read_csv(path, read, parse, convert)


def block_size(path: Path) -> int:
    """Return how many bytes to read at a time: enough for many rows that are as long as the first two lines."""
    lines = _lines(path)
    longest = max(len(next(lines, b"")), len(next(lines, b"")))
    return min(max(_BLOCK, _LEAST_ROWS * longest), _LARGEST_BLOCK)


def unreadable(path: Path, error: Exception) -> StorageError:
    """Return what to raise for a file that Arrow can't read."""
    if isinstance(error, pa.ArrowInvalid) and _first_bad_line(path) is not None:
        return no_text(path)
    return StorageError(
        f"{path}: it is no readable CSV file: {first_line(error)}",
        hint="The first line names the columns; every line needs as many fields.",
    )


def no_text(path: Path) -> StorageError:
    """Return what to raise for a file that isn't UTF-8, with the first such line."""
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


def check_end(path: Path, table: Any, quote: str) -> None:
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
    if not tail.rstrip().endswith(quote.encode()):
        raise StorageError(
            f"{path}: the quotes that begin in line {count - value.count(chr(10)) + 1} are never closed",
            hint='Close them; a quote inside quotes is written "".',
        )


def _lines(path: Path) -> Iterator[bytes]:
    with pa.input_stream(str(path)) as file:
        yield from io.BufferedReader(file)
