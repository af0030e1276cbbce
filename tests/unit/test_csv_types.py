"""The types of CSV columns: each field is what is written, whatever stands beside it."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from qengine import Graph, LoadingWarning, StorageError
from qengine.storage.csvfile import read_csv
from qengine.storage.kernels import MANY_DIGITS, ODDLY_WRITTEN, changed_numeral, scan_numerals
from tests.examples import examples


def load(folder: Path, *fields: str) -> tuple[str, list[object]]:
    """Return the type of a column with these fields, and its values."""
    rows = "".join(f"{row},{field}\n" for row, field in enumerate(fields))
    (folder / "nodes_A.csv").write_text(f"id,x\n{rows}")
    graph = Graph.from_csv(folder)
    values = [row[0] for row in graph.query("MATCH (n) RETURN n.x ORDER BY n.id").fetchall()]
    return str(graph.schema.nodes[0].properties["x"]), values


@pytest.mark.parametrize(
    ("kind", "fields", "values"),
    [
        ("INTEGER", ["9223372036854775807", " -5", "0"], [2**63 - 1, -5, 0]),
        ("FLOAT", ["1", "0.5", "1e3", ".25", "2."], [1.0, 0.5, 1000.0, 0.25, 2.0]),
        ("FLOAT", ["0.30000000000000004", "0.10000000000000001", "1.000000000000000056e-01"], [0.1 + 0.2, 0.1, 0.1]),
        ("FLOAT", ["0.1000000000000000055511151231257827021181583404541015625", "1e300"], [0.1, 1e300]),
        ("FLOAT", ["9007199254740991", "0.5"], [2.0**53 - 1, 0.5]),
        ("BOOLEAN", ["true", "FALSE", "True"], [True, False, True]),
        ("DATETIME", ["2020-01-01T10:00:00Z", "2020-01-02T00:00:00.5+00:00"], None),
        ("DATETIME", ["2020-01-01T10:00:00+02:00", "2020-01-02T00:00:00+0200"], None),
        ("LOCAL DATETIME", ["2020-01-01T00:00:00", "2020-01-01 10:30"], None),
        ("DATE", ["2020-01-01", "1600-12-31"], None),
        ("LOCAL TIME", ["05:30", "10:00:05"], None),
        ("STRING", ["9223372036854775808", "5"], ...),
        ("STRING", ["12345678901234567890", "-12345678901234567890"], ...),
        ("STRING", ["10000000000000000000", "1"], ...),
        ("STRING", ["true", "1", "0"], ...),
        ("STRING", ["007", "7"], ...),
        ("STRING", ["007", "0.5"], ...),
        ("STRING", ["0x1F", "31"], ...),
        ("STRING", ["+4670123456", "46"], ...),
        ("STRING", ["2020-01-01", "2020-01-01T00:00:00"], ...),
        ("STRING", ["2020-01-01T10:00:00+02:00", "2020-01-01T10:00:00Z"], ...),
        ("STRING", ["1", "2020-01-01"], ...),
    ],
)
def test_a_column_has_a_type_that_holds_all_fields(tmp_path, kind, fields, values):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoadingWarning)
        found, read = load(tmp_path, *fields)
    assert found == kind
    if values is not None:
        assert read == (fields if values is ... else values)


@pytest.mark.parametrize(
    "fields",
    [
        ["9007199254740993", "0.5"],
        ["0.5", "12345678901234567890.10"],
        ["3.3333333333333333"],
        ["1e400", "1"],
        ["1e-400", "1"],
        ["0.1234567890123456789", "2"],
    ],
)
def test_digits_that_no_float_holds_are_kept_and_told(tmp_path, fields):
    with pytest.warns(LoadingWarning, match=r"nodes_A.csv, column x: it stays text, because no FLOAT holds"):
        assert load(tmp_path, *fields) == ("STRING", fields)


def test_offsets_are_kept(tmp_path):
    _, values = load(tmp_path, "2020-01-01T10:00:00+02:00", "", "2020-01-02T00:00:00+02:00")
    assert [None if each is None else str(each) for each in values] == [
        "2020-01-01T10:00+02:00", None, "2020-01-02T00:00+02:00",
    ]  # fmt: skip


def test_ids_of_more_than_64_bits_are_keys(tmp_path):
    (tmp_path / "nodes_A.csv").write_text("id\n12345678901234567890\n5\n")
    (tmp_path / "nodes_B.csv").write_text("id\n7\n")
    (tmp_path / "rels_A_R_A.csv").write_text("start,end\n5,12345678901234567890\n")
    (tmp_path / "rels_A_S_A.csv").write_text("start,end\n5,5\n")
    graph = Graph.from_csv(tmp_path)
    query = "MATCH (a)-[r]->(b) RETURN a.id, type(r), b.id ORDER BY type(r)"
    assert graph.query(query).fetchall() == [("5", "R", "12345678901234567890"), ("5", "S", "5")]
    (tmp_path / "rels_A_S_B.csv").write_text("start,end\n5,7\n5,12345678901234567890\n")
    with pytest.raises(StorageError, match="row 1 has the key '12345678901234567890', which is no node's"):
        Graph.from_csv(tmp_path)


def test_labels_with_keys_of_two_kinds_share_a_relationship(tmp_path):
    (tmp_path / "nodes_A.csv").write_text("id\n1\n")
    (tmp_path / "nodes_A:B.csv").write_text("id\nx\n")
    (tmp_path / "rels_A_R_A.csv").write_text("start,end\n1,x\n")
    assert Graph.from_csv(tmp_path).relationship_count == 1


def test_a_field_may_be_longer_than_arrow_s_block(tmp_path):
    text = "a" * (3 << 20)
    kind, values = load(tmp_path, "b", text)
    assert kind == "STRING" and values == ["b", text]


def held(text: str, number: float) -> bool:
    """Tell whether a double gives a text's digits when it is printed with as many: slow and by the book."""
    wanted = Decimal(text)
    count = len(str(wanted.scaleb(-wanted.adjusted()).normalize()).replace("-", "").replace(".", ""))
    return Decimal(f"{number:.{count - 1}e}") == wanted


def changed(*texts: str) -> int | None:
    return changed_numeral(pa.array(texts), pa.array([float(text) for text in texts]))


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=examples(300))
@given(FLOATS, st.sampled_from([".16e", ".17e", ".18e", ".30e", ".40f", ".6f", ".3e"]))
@example(2.0**-44, ".16e")
@example(5e-324, ".16e")
def test_what_was_printed_of_a_double_is_held(number, form):
    assert changed(repr(number) if "e" in repr(number) or "." in repr(number) else f"{number}.0") is None
    text = f"{number:{form}}"
    if float(text) != 0 or number == 0:
        assert changed(text) is None


@settings(max_examples=examples(500))
@given(st.integers(-(10**22), 10**22), st.integers(0, 40))
@example(123456789012345678, 5)
@example(90071992547409930, 1)
def test_digits_are_held_as_a_decimal_library_says(digits, places):
    text = f"{Decimal(digits).scaleb(-places):f}"
    if "." not in text:
        text += ".0"
    number = float(text)
    if digits == 0 or held(text, number):
        assert changed(text) is None
    else:
        assert changed(text) == 0 or text_of_power(text, number)


def text_of_power(text: str, number: float) -> bool:
    """Tell whether what is printed of a power of two with so many digits is read as another number."""
    count = len(Decimal(text).normalize().as_tuple().digits)
    return math.frexp(abs(number))[0] == 0.5 and float(f"{number:.{count - 1}e}") != number


def test_the_first_row_that_is_changed_is_found_by_every_number_of_threads(monkeypatch):
    texts = ["0.5"] * 100_000
    for row in (99_999, 70_000, 50_001, 3):
        texts[row] = "12345678901234567890.1"
        for workers in (1, 2, 7):
            monkeypatch.setattr("qengine.storage.kernels.threads", lambda workers=workers: workers)
            assert changed(*texts) == row


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a,b\n1,2.5\n", 0),
        ("a,b\n1,007\n", ODDLY_WRITTEN),
        ("a,b\n1,-07\n", ODDLY_WRITTEN),
        ('a,b\n1,"00012"\n', ODDLY_WRITTEN),
        ("a,b\n1, +5\n", ODDLY_WRITTEN),
        ("a,b\n1,0x1F\n", ODDLY_WRITTEN),
        ("a,b\n2020-01-05,10:05:07\n", 0),
        ("a,b\n1.001,100\n", 0),
        ("a,b\n1,x007\n", 0),
        ("a,b\n1,1234567890.123456\n", MANY_DIGITS),
        ("a,b\n1,1e-400\n", MANY_DIGITS),
        ("a,b\n1,1e-40\n", 0),
        ("0123,1234567890123456", ODDLY_WRITTEN | MANY_DIGITS),
    ],
)
def test_bytes_are_scanned_for_numbers_that_may_be_changed(text, found, monkeypatch):
    data = np.frombuffer(text.encode(), np.uint8)
    assert scan_numerals(data, ODDLY_WRITTEN | MANY_DIGITS) == found
    filler = np.frombuffer(b"word,5,2.5\n" * 40_000, np.uint8)
    everything = np.concatenate([filler, data, filler])
    for workers in (1, 3):
        monkeypatch.setattr("qengine.storage.kernels.threads", lambda workers=workers: workers)
        assert scan_numerals(everything, ODDLY_WRITTEN | MANY_DIGITS) == found


def test_no_warning_is_given_for_plain_tables(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(tmp_path, "1.25", "2")[0] == "FLOAT"


def test_wide_rows_are_read_many_at_a_time(tmp_path: Path) -> None:
    """Each block that is read makes an array of each column, and a block of the usual size holds two of these rows."""
    columns, rows = 20_000, 100
    path = tmp_path / "wide.csv"
    names = [f"column{k:06}" for k in range(columns)]
    row = ",".join(f"{k:09}" if k % 2 else "17" for k in range(columns))
    path.write_text(",".join(names) + "\n" + f"{row}\n" * rows)
    table = read_csv(path, [])
    assert table.num_rows == rows
    assert {table.column(name).num_chunks for name in names[:2]} == {1}
    assert [str(field.type) for field in table.schema][:4] == ["int64", "string", "int64", "string"]
