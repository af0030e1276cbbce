"""What is wrong with a CSV file that can't be read, and what is told of one that is read in part, or as text."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from qengine.errors import LoadingWarning, StorageError
from qengine.storage.given import first_line

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_RAGGED = re.compile(r".*?(?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*)")
NO_TEXT = {
    b"PK\x03\x04": ("it is an Excel file or another ZIP archive", "Save it as CSV, or give Graph.from_arrow what "
                    "pandas.read_excel returns."),
    b"\xff\xfe": ("it is UTF-16 text", "Save it as UTF-8: iconv -f utf-16 -t utf-8 OLD > NEW."),
    b"\xfe\xff": ("it is UTF-16 text", "Save it as UTF-8: iconv -f utf-16 -t utf-8 OLD > NEW."),
}  # fmt: skip
"""How files begin that are no texts in UTF-8, what they are, and what to do."""

_SAMPLE = 1000  # rows of a column of texts that are looked at
_MOST = 0.9  # of a column's texts are numbers or dates where the others are told
_NULLS = {"na", "n/a", "nan", "null", "none", "nil", "-", "--", "?", "\\n", "#n/a", "unknown", "."}
_NUMBER = r"^\s*-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*$"
_NUMERAL = re.compile(r"[-+0-9.,eE\s]*")
_COMMA = r"^\s*-?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+),[0-9]+\s*$"
_THOUSANDS = r"^\s*-?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?\s*$"
_DAY = r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}\s*$"
_LOCAL_DAY = r"^\s*[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}\s*$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}[0-9:.]*(?P<offset>Z|[+-][0-9]{2}:?[0-9]{2})?$"
_COMMAS = {
    _THOUSANDS: ("a comma, between thousands or before decimals", "In a query: toFloat(replace(n.x, ',', '')), or with "
                 "'.' where it is decimal; pandas reads such files with thousands=',' or decimal=','."),
    r"^\s*-?[0-9]+,[0-9]+\s*$": ("a decimal comma", "In a query: toFloat(replace(n.x, ',', '.')); pandas reads such "
                                  "files with decimal=','."),
    _COMMA: ("a decimal comma", "In a query: toFloat(replace(replace(n.x, '.', ''), ',', '.')); pandas reads such "
             "files with decimal=',', thousands='.'."),
}  # fmt: skip
"""Numbers with commas, what these are, and what to do."""


def check_separator(path: Path, header: Sequence[str], delimiter: str) -> None:
    """Raise a ``StorageError`` where something else than the delimiter seems to separate a file's columns."""
    found = next((each for each in _SEPARATORS if len(header) == 1 and each in header[0]), None)
    if found is not None and found != delimiter:
        raise StorageError(
            f"{path}: {_SEPARATORS[found]} separate its columns, not {_SEPARATORS.get(delimiter, repr(delimiter))}",
            hint=f"Name the separator: Graph.from_csv(…, delimiter={found!r}).",
        )


def unreadable(path: Path, error: Exception, delimiter: str = ",") -> StorageError:
    """Return what to raise for a file that Arrow can't read."""
    if isinstance(error, pa.ArrowInvalid):
        if known := _no_csv(path):
            return known
        if _first_bad_line(path) is not None:
            return no_text(path)
        header = next(lines(path), b"").decode("utf-8", "replace").strip("\ufeff\r\n")
        try:
            check_separator(path, [] if delimiter in header else [header], delimiter)
        except StorageError as told:
            return told
        if ragged := _RAGGED.match(first_line(error)):
            row, wanted, found, text = ragged.groups()
            fields = "1 field" if found == "1" else f"{found} fields"
            where = f"row {row}, counted with the header as row 1," if row else "a row"
            return StorageError(
                f"{path}: {where} has {fields}, not {wanted}: {text:.80}",
                hint=f'A quote is one only right behind {delimiter!r}, not behind a blank: "a","b, c".'
                if f'{delimiter} "' in text
                else f"Every row needs as many fields as the header; put quotes around one that holds {delimiter!r}.",
            )
    return StorageError(
        f"{path}: it is no readable CSV file: {first_line(error)}",
        hint="The first line names the columns; every line needs as many fields.",
    )


def no_text(path: Path) -> StorageError:
    """Return what to raise for a file that isn't UTF-8, with the first such line."""
    if known := _no_csv(path):
        return known
    line = _first_bad_line(path)
    place = "it" if line is None else f"line {line}"
    return StorageError(
        f"{path}: {place} is no UTF-8 text",
        hint="Save the file as UTF-8; from Latin-1, for example: iconv -f latin1 -t utf-8 OLD > NEW.",
    )


def lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, packed or not."""
    with pa.input_stream(str(path)) as file:
        yield from io.BufferedReader(file)


def tell_nameless(path: Path, header: Sequence[str], told: list[LoadingWarning]) -> None:
    """Warn of a column without a name, which isn't loaded."""
    number = list(header).index("") + 1
    told.append(
        LoadingWarning(
            f"{path}: column {number} has no name and is not loaded",
            hint="Give it one in the first line; pandas writes its index so, unless index=False.",
        )
    )


def tell_names(path: Path, header: Sequence[str], told: list[LoadingWarning]) -> None:
    """Warn of a first line that hardly names columns: with a number, or with blanks around a name."""
    blank = next((name for name in header if name != name.strip()), None)
    if blank is not None:
        where, what = f"the name of column {blank!r} begins or ends with a blank", f"Queries write n.`{blank}`."
        told.append(LoadingWarning(f"{path}: {where}", hint=f"{what} Or take it out of the first line."))
    elif header and re.match(_NUMBER, header[0]):
        where = f"its first line names the columns, the first of them {header[0]}"
        told.append(LoadingWarning(f"{path}: {where}", hint="Is it a row? Then put a line with the names before it."))


def tell_texts(path: Path, table: Any, told: list[LoadingWarning]) -> None:
    """Warn of columns that look like numbers or dates but for what a few fields hold, and so stay texts.

    Parameters
    ----------
    path
        The file, for the warnings.
    table
        What was read of it.
    told
        Warnings are added here.
    """
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_string(column.type) and (found := _reason(column)):
            told.append(LoadingWarning(f"{path}, column {name}: it stays text, because {found[0]}", hint=found[1]))


def _reason(column: Any) -> tuple[str, str] | None:
    """Return why texts are no numbers or dates though they look like these, and what to do."""
    sample = column.slice(0, _SAMPLE).drop_null()
    if not len(sample):
        return None
    numbers = pc.match_substring_regex(sample, _NUMBER)
    for pattern in (_NUMBER, _DAY):
        plain = numbers if pattern == _NUMBER else pc.match_substring_regex(sample, pattern)
        others = {text.strip().lower() for text in sample.filter(pc.invert(plain)).unique().to_pylist()}
        share = pc.sum(plain).as_py() / len(sample)
        if share >= _MOST or (share and others <= _NULLS and len(others) == 1):
            return _odd(column, pattern)
    for pattern, (what, hint) in _COMMAS.items():
        if pc.all(pc.or_(comma := pc.match_substring_regex(sample, pattern), numbers)).as_py():
            row = pc.index(comma, True).as_py()
            return None if row < 0 else (f"{sample[row].as_py()!r} has {what}", hint)
    if pc.all(pc.match_substring_regex(sample, _MOMENT)).as_py():
        offsets = pc.struct_field(pc.extract_regex(sample, _MOMENT), "offset").fill_null("")
        row = pc.index(pc.equal(offsets, offsets[0]), False).as_py()
        hint = "In a query: datetime(n.x)."
        return None if row < 0 else (f"{sample[row].as_py()!r} and {sample[0].as_py()!r} have different offsets", hint)
    if pc.all(pc.match_substring_regex(sample, _LOCAL_DAY)).as_py():
        hint = "pandas.to_datetime(column, format=…) makes dates of them, and Graph.from_arrow loads the frame."
        return f"{sample[0].as_py()!r} is no date in ISO form, as 2026-01-31 is", hint
    return None


def _odd(column: Any, pattern: str) -> tuple[str, str] | None:
    """Return the first field that isn't what the others are, and what to do; None where it is written so on purpose."""
    fits = pc.match_substring_regex(column, pattern)
    if pattern == _DAY:
        days = pc.strptime(pc.utf8_trim_whitespace(column), format="%Y-%m-%d", unit="s", error_is_null=True)
        fits = pc.and_(fits, pc.is_valid(days))
    row = pc.index(fits, False).as_py()
    if row < 0:
        return None
    text = column[row].as_py()
    if pattern == _NUMBER and _NUMERAL.fullmatch(text):  # 007, +46: texts for their writing's sake
        return None
    is_null = text.strip().lower() in _NULLS
    hint = f"null={text!r} reads it as null." if is_null else "Correct it, or leave it empty, where it should be none."
    return f"row {row} holds {text!r:.80}", hint


def _no_csv(path: Path) -> StorageError | None:
    """Return what to raise for a file of another kind, by how it begins."""
    try:
        with path.open("rb") as file:
            begin = file.read(4)
    except OSError:
        return None
    for magic, (what, hint) in NO_TEXT.items():
        if begin.startswith(magic):
            return StorageError(f"{path}: {what}", hint=hint)
    return None


def _first_bad_line(path: Path) -> int | None:
    """Return the number of the first line that isn't UTF-8, from 1; None if there is none."""
    for number, line in enumerate(lines(path), 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            return number
    return None
