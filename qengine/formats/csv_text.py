"""CSV files with a form of their own: another delimiter, quote or word for null; as strings, or with inferred types."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pyarrow as pa

from qengine.errors import LoadingWarning, StorageError
from qengine.formats.options import TextFileOptions
from qengine.storage.csv_mistakes import no_text, unreadable
from qengine.storage.csvfile import CsvForm, read_csv
from qengine.storage.given import name_of

_LARGEST_BLOCK = 2**31 - 1
_BLOCK = 1 << 22


def check_form(options: TextFileOptions) -> None:
    """Raise a ``StorageError`` for delimiters and quotes that are not one character."""
    for name in ("delimiter", "array_delimiter", "quote"):
        text = getattr(options, name)
        if not isinstance(text, str) or len(text) != 1 or (name != "array_delimiter" and not text.isascii()):
            raise StorageError(f"{name} is {text!r:.40}, not one character", hint="As in delimiter=';'.")
    for word in options.nulls:
        if word != "":
            name_of(word, "null: a word", "As in null='n/a', or null=['n/a', '-'].")
    if options.delimiter == options.quote:
        raise StorageError("delimiter and quote are the same", hint="Give two characters.")


def first_record(path: Path, options: TextFileOptions) -> list[str]:
    """Return the fields of a file's first line; none where it can't be read, which reading it whole tells better."""
    try:
        with pa.input_stream(str(path)) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            return next(csv.reader(text, delimiter=options.delimiter, quotechar=options.quote), [])
    except (OSError, UnicodeDecodeError, csv.Error, pa.ArrowException):
        return []


def read_texts(path: Path, options: TextFileOptions, columns: int, *, skip: bool) -> Any:
    """Return a file's fields as strings, those that are null as such; ``skip`` its first line.

    Raises
    ------
    StorageError
        For a file that is no UTF-8 text, or whose lines have another number of fields.
    """
    from pyarrow import csv as arrow_csv

    names = [str(number) for number in range(columns)]
    read = arrow_csv.ReadOptions(column_names=names, skip_rows_after_names=int(skip), block_size=_block(path))
    parse = arrow_csv.ParseOptions(
        delimiter=options.delimiter, quote_char=options.quote, newlines_in_values=True, ignore_empty_lines=columns > 1
    )
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=list({"", *options.nulls}),
    )
    try:
        if not path.stat().st_size:
            return pa.table({name: pa.array([], pa.string()) for name in names})
        return arrow_csv.read_csv(path, read, parse, convert)
    except UnicodeDecodeError:
        raise no_text(path) from None
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error, options.delimiter) from None


def read_inferred(path: Path, options: TextFileOptions, told: list[LoadingWarning]) -> Any:
    """Return a file as a table whose types are found by reading, as ``storage.csvfile.read_csv`` does."""
    return read_csv(path, told, CsvForm(options.delimiter, options.quote, options.nulls))


def _block(path: Path) -> int:
    """Return how many bytes to read at a time: a row may be as long as a small file."""
    return min(max(_BLOCK, path.stat().st_size // 64), _LARGEST_BLOCK)
