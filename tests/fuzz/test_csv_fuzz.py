"""Whatever a file holds, LOAD CSV gives rows of strings and nulls, or an error that names the file."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import qengine
from qengine.exec.scalar.csv_rows import CsvRow, csv_rows

SEPARATORS = st.sampled_from(",;\t|:é")
PIECES = st.sampled_from(
    ['"', '""', ",", ";", "\n", "\r\n", "\r", "a", "é", "\0", "\u2028", "\x1c", " ", "\ufeff", "\\"]
)
TEXTS = st.lists(PIECES, max_size=40).map("".join)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("csv") / "x.csv"


def rows(path: Path, separator: str, headers: bool = False) -> list[CsvRow] | None:
    """Return a file's rows, None where it is refused."""
    try:
        return list(csv_rows(path, "x.csv", headers=headers, separator=separator, check=lambda: None))
    except qengine.ExecutionError as error:
        assert error.code == "ExternalResourceFailed"
        assert error.message.startswith("'x.csv'")
        return None


@given(st.binary(max_size=60) | TEXTS.map(str.encode), SEPARATORS)
@example(b"\xff\xfe", ",")
@example(b"\xff\xfe\x00\x00", ",")
@example(b'\xff\xfea\x00"', ",")
def test_any_bytes_are_rows_or_refused(path: Path, data: bytes, separator: str) -> None:
    path.write_bytes(data)
    found, maps = rows(path, separator), rows(path, separator, headers=True)
    assert (found is None) == (maps is None)
    if found is None or maps is None:
        return
    assert all(isinstance(row, list) and row for row in found)
    assert {type(field) for row in found for field in row} <= {str, type(None)}
    names = [name for name in found[0] if name is not None] if found else []
    assert [list(row) for row in maps] == [list(dict.fromkeys(names))] * max(0, len(found) - 1)


@given(TEXTS, SEPARATORS)
@example('a"b,"c', ",")
@example('"a\n', ",")
def test_rows_are_those_of_pythons_reader(path: Path, text: str, separator: str) -> None:
    """Python's reader takes text behind a closing quote, and files that end in quotes, which are refused here."""
    path.write_text(text, encoding="utf-8", newline="")
    found = rows(path, separator)
    if found is None or text.startswith("\ufeff"):
        return
    with path.open(encoding="utf-8", newline="") as file:
        expected = [row for row in csv.reader(file, delimiter=separator) if row]
    assert [[field or "" for field in row] for row in found] == expected
