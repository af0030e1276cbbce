"""LOAD CSV: which files it may read, and how it reads them."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import qengine
from qengine.exec.common import csv_blocks
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar.csv_rows import csv_rows
from qengine.exec.scalar.import_roots import ImportRoots
from qengine.plan.expr import Literal
from qengine.plan.logical import LoadCsv, Unit
from qengine.types import STRING

DEVICES = ["cpu", "reference"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    (folder / "inside").mkdir(parents=True)
    (tmp_path / "secret.csv").write_text("secret\n")
    (tmp_path / "files2").mkdir()
    (tmp_path / "files2" / "x.csv").write_text("beside\n")
    (folder / "x.csv").write_text("x\n")
    (folder / "inside" / "a b.csv").write_text("ab\n")
    return folder


def loaded(graph: qengine.Graph, url: str, device: str = "cpu") -> list[object]:
    return [row[0] for row in graph.query("LOAD CSV FROM $url AS row RETURN row[0]", {"url": url}, device=device)]


# ---------------------------------------------------------------- which files


@pytest.mark.parametrize(
    "url",
    ["x.csv", "/x.csv", "file:///x.csv", "file:/x.csv", "file://localhost/x.csv", "inside/../x.csv", "./x.csv",
     "//x.csv", "file:///inside/../x.csv", "FILE:///x.csv"],
)  # fmt: skip
def test_files_below_the_directory(files: Path, url: str) -> None:
    assert loaded(qengine.Graph(import_directory=files), url) == ["x"]


def test_addresses_are_unquoted(files: Path) -> None:
    graph = qengine.Graph(import_directory=str(files))
    assert loaded(graph, "file:///inside/a%20b.csv") == loaded(graph, "inside/a b.csv") == ["ab"]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "url",
    ["../secret.csv", "/../secret.csv", "file:///../secret.csv", "file:///%2e%2e/secret.csv", "inside/../../secret.csv",
     "../files2/x.csv", "/etc/passwd", "file:///etc/passwd", "file://other/x.csv", "link.csv", "linked/secret.csv",
     "inside", "", "x.csv\0", "http://example.org/x.csv", "https://localhost/x.csv", "ftp://h/x.csv", "data://x/y"],
)  # fmt: skip
def test_nothing_else_is_read(files: Path, url: str, device: str) -> None:
    os.symlink(files.parent / "secret.csv", files / "link.csv")
    os.symlink(files.parent, files / "linked")
    graph = qengine.Graph(import_directory=files)
    with pytest.raises(qengine.ExecutionError) as caught:
        loaded(graph, url, device)
    assert caught.value.code == "ExternalResourceFailed"
    assert caught.value.span is not None


def test_links_that_stay_inside_are_followed(files: Path) -> None:
    os.symlink(files / "x.csv", files / "link.csv")
    assert loaded(qengine.Graph(import_directory=files), "link.csv") == ["x"]


def test_without_a_directory_nothing_is_read(files: Path) -> None:
    graph = qengine.Graph()
    assert graph.import_directory is None
    with pytest.raises(qengine.ExecutionError, match="no import directory") as caught:
        loaded(graph, str(files / "x.csv"))
    assert "graph.import_directory =" in (caught.value.hint or "")
    graph.import_directory = files
    assert loaded(graph, "x.csv") == ["x"]
    graph.import_directory = None
    with pytest.raises(qengine.ExecutionError):
        loaded(graph, "x.csv")


@pytest.mark.parametrize("path", ["missing", "x.csv", 5, ""])
def test_a_directory_exists(files: Path, path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    if path == "":
        assert qengine.Graph(import_directory="").import_directory == files.resolve()
        return
    with pytest.raises(qengine.SemanticError) as caught:
        qengine.Graph(import_directory=path)  # type: ignore[arg-type]
    assert caught.value.code == "InvalidArgumentValue"


def test_prefixes_of_addresses_stand_for_folders(files: Path) -> None:
    graph = qengine.Graph()
    graph.import_urls = {"https://example.org/": files, "https://example.org/deep/": files / "inside"}
    assert loaded(graph, "https://example.org/x.csv?download=1#top") == ["x"]
    assert loaded(graph, "https://example.org/deep/a%20b.csv") == ["ab"]
    for url in (
        "https://example.org/../secret.csv",
        "https://example.org/%2e%2e/secret.csv",
        "http://example.org/x.csv",
    ):
        with pytest.raises(qengine.ExecutionError):
            loaded(graph, url)
    with pytest.raises(qengine.ExecutionError, match="no import directory"):
        loaded(graph, "x.csv")
    for wrong in ({"https://example.org": files}, {"x/": files}, {"https://example.org/": "missing"}):
        with pytest.raises(qengine.SemanticError):
            graph.import_urls = wrong
    assert loaded(graph, "https://example.org/x.csv") == ["x"]


@pytest.mark.parametrize("scheme", ["ftp", "s3", "gs", "azb"])
def test_addresses_of_stores_stand_for_folders(files: Path, scheme: str) -> None:
    graph = qengine.Graph()
    with pytest.raises(qengine.ExecutionError, match="reads local files"):
        loaded(graph, f"{scheme}://store/part/x.csv")
    graph.import_urls = {f"{scheme}://store/part/": files}
    assert loaded(graph, f"{scheme}://store/part/x.csv") == ["x"]


def test_transactions_read_the_same_files(files: Path) -> None:
    graph = qengine.Graph(import_directory=files)
    with graph.transaction() as transaction:
        transaction.query("LOAD CSV FROM 'x.csv' AS row CREATE (:Row {value: row[0]})")
        assert (
            transaction.query("LOAD CSV FROM 'x.csv' AS row MATCH (n:Row {value: row[0]}) RETURN count(n)").value() == 1
        )


# ---------------------------------------------------------------- how they are read


def read(path: Path, *, headers: bool = False, separator: str = ",") -> list[object]:
    return list(csv_rows(path, "file", headers=headers, separator=separator, check=lambda: None))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", []),
        ("\n\r\n\n", []),
        ("a", [["a"]]),
        ("a,b\r\n1,2\r\n", [["a", "b"], ["1", "2"]]),
        ("a,b\r1,2", [["a", "b"], ["1", "2"]]),
        (",\n,,\n", [[None, None], [None, None, None]]),
        ('"",x\n""\n', [["", "x"], [""]]),
        ('"a,b","c""d","e\nf"\n1', [["a,b", 'c"d', "e\nf"], ["1"]]),
        ('"\r\n\n",\n', [["\r\n\n", None]]),
        (' a , b \n', [[" a ", " b "]]),
        ('5" pipe,x"y\n', [['5" pipe', 'x"y']]),
        ('"""",""""""\n', [['"', '""']]),
        (r'"a\"b","\\","\n",\",' + "\n", [['a"b', "\\", r"\n", '\\"', None]]),
        (r'"C:\dir\\",x' + "\n", [["C:\\dir\\", "x"]]),
        ("ä€😀,\u2028\n", [["ä€😀", "\u2028"]]),
        ("NULL,null,NaN\n", [["NULL", "null", "NaN"]]),
    ],
)  # fmt: skip
def test_rows(tmp_path: Path, text: str, rows: list[list[str | None]]) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode())
    assert read(path) == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a\n"b\nc\n', "'file', line 2: a quote that isn't closed."),
        ('a\n"b" c\n', "'file', line 2: text behind a closing quote."),
        ('a\n\n"b\n"c,d\n', "'file', line 4: text behind a closing quote."),
        (b"a\n\xff\n", "'file', line 1: no UTF-8 text here or soon after."),
    ],
)
def test_malformed_files(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(qengine.ExecutionError) as caught:
        read(path)
    assert caught.value.message == message


def test_a_row_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qengine.exec.scalar.csv_rows._LONGEST", 1_000)
    (tmp_path / "x.csv").write_text("x" * 1_000)
    assert read(tmp_path / "x.csv") == [["x" * 1_000]]
    for text in ('"' + "x\n" * 500, "x" * 1_001):
        (tmp_path / "x.csv").write_text(text)
        with pytest.raises(qengine.ExecutionError, match="a row of more than 1,000 characters"):
            read(tmp_path / "x.csv")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "x.csv").write_bytes("Málaga,😀\n".encode(encoding))
    assert read(tmp_path / "x.csv") == [["Málaga", "😀"]]


def test_headers(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,,b,a\n1,2,3,4,5\n6\n")
    assert read(tmp_path / "x.csv", headers=True) == [{"a": "4", "b": "3"}, {"a": None, "b": None}]
    (tmp_path / "x.csv").write_text("a,b\n")
    assert read(tmp_path / "x.csv", headers=True) == []


FIELDS = st.lists(
    st.lists(st.text(st.sampled_from("ab,;\t\"'\\\r\n é|"), max_size=6), min_size=1, max_size=5), max_size=8
)


@given(FIELDS, st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n"]))
def test_what_python_writes_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], separator: str, end: str
) -> None:
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        escaped = [[field.replace("\\", "\\\\") for field in row] for row in rows]
        csv.writer(file, delimiter=separator, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(escaped)
    assert read(path, separator=separator) == rows


@given(st.lists(st.lists(st.text(st.sampled_from("ab é"), max_size=3), max_size=4), max_size=6), st.sampled_from(",;"))
def test_ragged_rows_without_quotes_are_those_of_pythons_reader(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], separator: str
) -> None:
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_text("\n".join(separator.join(row) for row in rows))
    with path.open(newline="") as file:
        expected = [[field or None for field in row] for row in csv.reader(file, delimiter=separator) if row]
    assert read(path, separator=separator) == expected


# ---------------------------------------------------------------- in statements


@pytest.fixture
def large(tmp_path: Path) -> qengine.Graph:
    (tmp_path / "large.csv").write_text("id,text\n" + "".join(f"{i},{'x' * 200}\n" for i in range(70_000)))
    return qengine.Graph(import_directory=tmp_path)


def test_many_rows_come_in_batches(large: qengine.Graph) -> None:
    text = "LOAD CSV WITH HEADERS FROM 'large.csv' AS row RETURN count(*), sum(toInteger(row.id))"
    assert large.query(text).fetchall() == [(70_000, 2_449_965_000)]
    assert large.query(text, memory_limit="8MB").fetchall() == [(70_000, 2_449_965_000)]
    first = large.query("LOAD CSV FROM 'large.csv' AS row RETURN row[0] SKIP 1 LIMIT 2").fetchall()
    assert first == [("0",), ("1",)]


def test_limits_hold(large: qengine.Graph) -> None:
    with pytest.raises(qengine.OutOfMemory):
        large.query("LOAD CSV FROM 'large.csv' AS row RETURN collect(row)", memory_limit="8MB").fetchall()
    with pytest.raises(qengine.QueryTimeout):
        large.query(
            "UNWIND range(1, 1000) AS x LOAD CSV FROM 'large.csv' AS row RETURN count(row)", timeout=0.3
        ).fetchall()


def test_batches_that_fail_leave_those_before(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("1\n2\n3\nx\n5\n")
    graph = qengine.Graph(import_directory=tmp_path)
    text = "LOAD CSV FROM 'x.csv' AS row CALL (row) { CREATE (:Row {value: 10 / toInteger(row[0])}) }"
    with pytest.raises(qengine.QengineError):
        graph.query(text.replace("toInteger(row[0])", "(toInteger(row[0]) - 3)"))
    assert graph.node_count == 0
    with pytest.raises(qengine.QengineError):
        graph.query(text.replace("toInteger(row[0])", "(toInteger(row[0]) - 3)") + " IN TRANSACTIONS OF 2 ROWS")
    assert graph.node_count == 2


def test_rows_find_nodes_of_a_large_graph(tmp_path: Path) -> None:
    graph = qengine.Graph.from_records([{"labels": ["N"], "properties": {"key": f"k{i}"}} for i in range(5_000)])
    (tmp_path / "x.csv").write_text("key,to\n" + "".join(f"k{i},k{i + 1}\n" for i in range(2_000)))
    graph.import_directory = tmp_path
    made = graph.query(
        "LOAD CSV WITH HEADERS FROM 'x.csv' AS row "
        "MATCH (a:N {key: row.key}), (b:N {key: row.to}) CREATE (a)-[:NEXT]->(b)"
    )
    assert made.stats.changes is not None
    assert made.stats.changes.relationships_created == 2_000


# ---------------------------------------------------------------- block by block


def by_blocks(
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    headers: bool,
    separator: str,
    size: int,
    fields: tuple[str, ...] | None = None,
) -> object:
    """Return a file's rows as they are read by blocks of some bytes, or the error; ``fields``: those that are read."""
    monkeypatch.setattr(csv_blocks, "_SMALL", -1)
    monkeypatch.setattr(csv_blocks, "_FIRST", size)
    monkeypatch.setattr(csv_blocks, "_BLOCK", size)
    context = ExecutionContext(None)
    context.imports = ImportRoots(path.parent.resolve())
    operator = LoadCsv(Unit(), Literal(path.name, type=STRING), "row", headers, separator, fields=fields)
    return outcome(lambda: [row for (row,) in csv_blocks.rows_of_file(operator, path.name, context)])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_are_counted_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    lines = [f"{n},x" if n % 50 else f"{n},x,more" for n in range(1, 400)]  # those of more fields are read by lines
    path = tmp_path / "file.csv"
    path.write_bytes("".join(line + end for line in [*lines, '400,"open']).encode())
    found = by_blocks(path, monkeypatch, headers=False, separator=",", size=64)
    assert "400" in str(found) and found == by_blocks(path, monkeypatch, headers=False, separator=",", size=1 << 20)


def outcome(read: Callable[[], list[object]]) -> object:
    try:
        return read()
    except qengine.ExecutionError as error:
        return error.message


def by_lines(path: Path, *, headers: bool, separator: str) -> object:
    return outcome(lambda: list(csv_rows(path, path.name, headers=headers, separator=separator, check=lambda: None)))


PIECES = st.sampled_from(
    ["a", "b", "1", " ", "é", "😀", ",", ",", ",", ";", "\t", '"', '""', '"a"', '"a,b"', ',""', ',"x""y"', '"\n"',
     "\n", "\n", "\n", "\r\n", "\r", "\\", "\ufeff", "\0", "a,b,c\n", '"a","b",""\n', "1,,3\r\n", "\u2028", "\x0b", "'",
     '"\\"', '"a\\"b"', '"\\\\"']
)  # fmt: skip
WELL_FORMED = st.lists(
    st.lists(st.one_of(st.none(), st.text(st.sampled_from("ab,;\"'\\\r\n é"), max_size=4)), min_size=3, max_size=3),
    max_size=12,
)


def written(rows: list[list[str | None]], separator: str, end: str) -> str:
    """Return rows as a file in which nulls are empty and texts are in quotes where that makes a difference."""

    def field(text: str | None) -> str:
        if text is None:
            return ""
        plain = text and not set(text) & {'"', "\r", "\n", separator}
        return text if plain else '"' + text.replace("\\", "\\\\").replace('"', '""') + '"'

    return "".join(separator.join(map(field, row)) + end for row in rows)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PIECES, max_size=40), st.sampled_from(",;\t"), st.booleans(), st.sampled_from([3, 16, 64, 1 << 16]))
def test_blocks_have_the_rows_of_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: list[str], separator: str, headers: bool, size: int
) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("".join(pieces).encode())
    expected = by_lines(path, headers=headers, separator=separator)
    assert by_blocks(path, monkeypatch, headers=headers, separator=separator, size=size) == expected
    if headers:
        names = ["a", "", "none", *(list(expected[0]) if isinstance(expected, list) and expected else ())]
        for wanted in ((), tuple(names[::2]), tuple(names[1::2])):
            found = by_blocks(path, monkeypatch, headers=True, separator=separator, size=size, fields=wanted)
            assert _read(found, wanted) == _read(expected, wanted)


def _read(rows: Any, fields: tuple[str, ...]) -> object:
    """Return what is read of rows."""
    return [[row.get(name) for name in fields] for row in rows] if isinstance(rows, list) else rows


def test_fields_that_nobody_reads_stay_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_blocks, "_SMALL", 0)
    monkeypatch.setattr(csv_blocks, "_FIRST", 100)
    monkeypatch.setattr(csv_blocks, "_BLOCK", 100)
    (tmp_path / "x.csv").write_text("id,name,id\n" + "".join(f"{n},n {n},{2 * n}\n" for n in range(300)))
    read: list[set[str]] = []
    own = csv_blocks._table

    def table(*args: Any, **named: Any) -> Any:
        found = own(*args, **named)
        read.append(set(found.column_names))
        return found

    monkeypatch.setattr(csv_blocks, "_table", table)
    graph = qengine.Graph(import_directory=tmp_path)
    source = "LOAD CSV WITH HEADERS FROM 'x.csv' AS row "
    for text, fields, expected in (
        ("RETURN count(*)", {"f0"}, 300),
        ("RETURN sum(toInteger(row.id))", {"f2"}, 299 * 300),
        ("WITH row WHERE row.name ENDS WITH '7' RETURN max(toInteger(row.id))", {"f1", "f2"}, 594),
        ("WITH row LIMIT 200 RETURN count(row.none)", {"f0"}, 0),
        ("WITH row WHERE row.id > '5' RETURN count(row)", {"f0", "f1", "f2"}, 77),
        ("WITH DISTINCT row RETURN count(row.id)", {"f0", "f1", "f2"}, 300),
        ("RETURN size([x IN [1] WHERE row.name = 'n 7']) AS s ORDER BY s DESC LIMIT 1", {"f0", "f1", "f2"}, 1),
    ):
        read.clear()
        assert graph.query(source + text).value() == expected, text
        assert set.union(*read[1:]) == fields, text
        assert graph.query(source + text, device="reference").value() == expected, text
        assert graph.query(source + text, memory_limit="10MB").value() == expected, text


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(WELL_FORMED, st.sampled_from(",;"), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_blocks_of_well_formed_files(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows: list[list[str | None]],
    separator: str,
    end: str,
    headers: bool,
) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(written(rows, separator, end).encode())
    expected = by_lines(path, headers=headers, separator=separator)
    assert headers or expected == rows
    for size in (20, 1 << 16):
        assert by_blocks(path, monkeypatch, headers=headers, separator=separator, size=size) == expected


@pytest.mark.parametrize("text", [b"a,b\n\xff,1\n", b"a\n\xed\xa0\x80\n", b"a" * 70 + b"\n" + b"\xff\n"])
def test_blocks_that_are_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(text)
    found = by_blocks(path, monkeypatch, headers=False, separator=",", size=16)
    assert isinstance(found, str)
    assert "no UTF-8 text here or soon after" in found


def test_rows_that_are_longer_than_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_blocks, "_LARGEST", 500)
    path = tmp_path / "x.csv"
    for long in (100, 2_000):
        path.write_text("a,b\n" + "x" * long + ",1\n" + "c,d\n" * 5)
        expected = by_lines(path, headers=True, separator=",")
        assert by_blocks(path, monkeypatch, headers=True, separator=",", size=16) == expected


@pytest.mark.parametrize("headers", [True, False])
def test_fields_of_blocks_are_read_as_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, headers: bool) -> None:
    monkeypatch.setattr(csv_blocks, "_SMALL", 0)
    lines = [f"{i},{'' if i % 3 else 'name ' + str(i)},{i / 4}{',more' if i == 700 else ''}" for i in range(900)]
    (tmp_path / "x.csv").write_text("id,name,\n" + "\n".join(lines))
    graph = qengine.Graph(import_directory=tmp_path)
    source = f"LOAD CSV {'WITH HEADERS ' if headers else ''}FROM 'x.csv' AS row "
    first, second = ("row.id", "row['name']") if headers else ("row[0]", "row[-2]")
    for text in (
        f"RETURN {first}, {second}",
        "RETURN row LIMIT 5",
        "RETURN row ORDER BY row DESC SKIP 10 LIMIT 400" if not headers else "RETURN keys(row), row.none",
        f"WITH row WHERE {first} ENDS WITH '7' RETURN row, row IS NULL, size({second})",
        f"RETURN count({second}), count(DISTINCT row), min({first})",
        f"WITH collect(row) AS rows UNWIND rows AS each RETURN {first.replace('row', 'each')}",
        f"WITH row WHERE {first} <> 'id' RETURN sum(toInteger({first})), sum(toFloatOrNull({first}))",
        "RETURN row UNION ALL " + source + "RETURN null AS row",
        f"WITH row SKIP 3 MATCH (n) WHERE n.id = {first} RETURN count(n)",
        "UNWIND [1, 2] AS x RETURN x, row",
    ):
        one, other = (graph.query(source + text, device=device).fetchall() for device in DEVICES)
        assert one == other, text
    made = graph.query(source + f"CREATE (:Row {{id: {first}, name: {second}}})")
    assert made.stats.changes is not None
    assert made.stats.changes.nodes_created == 900 + (not headers)
