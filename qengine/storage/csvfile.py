"""One CSV file as an Arrow table, and what is wrong with one that would be read as something else than it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from qengine._frozen import frozen
from qengine.errors import LoadingWarning, StorageError
from qengine.storage.csv_mistakes import (
    check_separator,
    lines,
    no_text,
    tell_nameless,
    tell_names,
    tell_texts,
    unreadable,
)
from qengine.storage.csvtypes import as_written, doubtful_columns

_TRUE, _FALSE = ["true", "True", "TRUE"], ["false", "False", "FALSE"]
_TAIL = 1 << 16
_BLOCK, _LARGEST_BLOCK = 1 << 20, 2**31 - 1  # bytes that Arrow reads at a time: by itself, and at most
_LEAST_ROWS = 256  # in a block: each block makes an array of each column


@frozen
class CsvForm:
    """How a file separates and quotes its fields, and what stands for null beside nothing."""

    delimiter: str = ","
    quote: str = '"'
    nulls: tuple[str, ...] = ()


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
    check_separator(path, names, form.delimiter)
    check_end(path, table, form.quote)
    tell_names(path, names, told)
    if "" in names:
        table = _named(path, table, told)
        names = table.column_names
    if len(set(names)) == len(names) and (doubtful := _doubtful(path, table, form)):
        texts = _table(path, form, doubtful)
        table = as_written(path, table, {name: texts[name] for name in doubtful}, told)
    tell_texts(path, table, told)
    return table


def _named(path: Path, table: Any, told: list[LoadingWarning]) -> Any:
    """Return a table without the columns that have no name; of such that hold something there is a warning."""
    nameless = [place for place, name in enumerate(table.column_names) if not name]
    if any(table.column(place).null_count < table.num_rows for place in nameless):
        tell_nameless(path, table.column_names, told)
    return table.select([place for place in range(table.num_columns) if place not in nameless])


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
        raise unreadable(path, error, form.delimiter) from None
    return table


def convert_options(form: CsvForm, only: Sequence[str], kinds: Mapping[str, Any]) -> Any:
    """Return how Arrow is to convert fields: those of some columns (none: of all), to the types given."""
    from pyarrow import csv

    return csv.ConvertOptions(
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=list({"", *form.nulls}),
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
    first = lines(path)
    longest = max(len(next(first, b"")), len(next(first, b"")))
    return min(max(_BLOCK, _LEAST_ROWS * longest), _LARGEST_BLOCK)


def check_end(path: Path, table: Any, quote: str) -> None:
    """Raise if the file ends inside quotes: they take all that follows them into the last value."""
    last = table.column(table.num_columns - 1)
    if not len(last) or not pa.types.is_string(last.type):
        return
    value = last[-1].as_py()
    if value is None or "\n" not in value:
        return
    count, tail = 0, b""
    for line in lines(path):
        count += line.count(b"\n")
        tail = (tail + line)[-_TAIL:]
    if not tail.rstrip().endswith(quote.encode()):
        raise StorageError(
            f"{path}: the quotes that begin in line {count - value.count(chr(10)) + 1} are never closed",
            hint='Close them; a quote inside quotes is written "".',
        )
