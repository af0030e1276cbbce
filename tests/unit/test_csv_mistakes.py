"""CSV files as people have them: what is wrong is told with what to do, and what stays text with the reason."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from qengine import Graph, LoadingWarning, StorageError


def load(folder: Path, text: str | bytes, **options: object) -> tuple[Graph, list[str]]:
    """Return the graph of one file of nodes, and the warnings."""
    (folder / "nodes_A.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        graph = Graph.from_csv(folder, **options)  # type: ignore[arg-type]
    assert all(each.category is LoadingWarning for each in told)
    return graph, [str(each.message) for each in told]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ('id;name\n1;"Ann; Bo"\n', {}, r"semicolons separate .*\n.*delimiter=';'"),
        ("id\tname\n1\tAnn\n", {}, r"tabs separate .*\n.*delimiter='\\t'"),
        ("id,name\n1,Ann\n", {"delimiter": ";"}, r"commas separate its columns, not semicolons"),
        ("id,a\n1,x\n2\n", {}, r"row 3, counted with the header as row 1, has 1 field, not 2: 2\n.*Every row needs"),
        ('id, a\n1, "x, y"\n', {}, r"row 2, .* has 3 fields, not 2: .*\n.*A quote is one only right behind ','"),
        ("id,a\n1,Müller\n".encode("utf-16"), {}, r"UTF-16 text\n.*iconv -f utf-16"),
        (b"PK\x03\x04\x14\x00\x06\x00", {}, r"Excel file .*\n.*pandas.read_excel"),
        ("id,a\n1,Müller\n".encode("latin-1"), {}, r"line 2 is no UTF-8 text"),
        ("id,born\n1,12.03.1980\n", {"types": {"born": "date"}}, r"is no date.*\n.*ISO form"),
    ],
)
def test_a_file_that_cannot_be_read_says_what_to_do(
    tmp_path: Path, text: str | bytes, options: dict[str, object], message: str
) -> None:
    with pytest.raises(StorageError, match=message):
        load(tmp_path, text, **options)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (["5", "NA"], r"column x: it stays text, because row 1 holds 'NA'\n.*null='NA'"),
        (["5"] * 19 + ["five"], r"row 19 holds 'five'\n.*Correct it"),
        (['"1.234,50"', '"0,5"', "17"], r"'1.234,50' has a decimal comma\n.*replace\(replace"),
        (['"0,5"', "17"], r"'0,5' has a decimal comma\n.*toFloat\(replace\(n.x, ',', '.'\)"),
        (['"1,234"', "17"], r"'1,234' has a comma, between thousands or before decimals\n.*replace\(n.x, ',', ''\)"),
        (['"1,234,567.5"', "1.5"], r"'1,234,567.5' has a comma, between thousands"),
        (["2024-12-03T10:00Z", "2024-12-03 10:00+02:00"], r"different offsets\n.*datetime\(n.x\)"),
        (["2024-12-03T10:00", "2024-12-03T10:00Z"], r"'2024-12-03T10:00Z' and '2024-12-03T10:00' have different"),
        (["12.03.1980", "", "1/2/2020"], r"'12.03.1980' is no date in ISO form"),
        (["2024-12-03", "2024-13-03"], r"row 1 holds '2024-13-03'"),
    ],
)
@pytest.mark.parametrize("limit", [None, "1G"])
def test_why_a_column_stays_text_is_told(tmp_path: Path, fields: list[str], message: str, limit: str | None) -> None:
    rows = "".join(f"{number},{field}\n" for number, field in enumerate(fields))
    graph, told = load(tmp_path, f"id,x\n{rows}", memory_limit=limit)
    assert str(graph.schema.nodes[0].properties["x"]) == "STRING" and len(told) == 1
    assert re.search(message, told[0])


@pytest.mark.parametrize(
    "fields", [["007", "7"], ["+46", "46"], ["12345678901234567890", "5"], ["a", "1"], ["A1", "7", "8"], ["", ""]]
)
def test_texts_that_are_meant_as_such_are_not_told(tmp_path: Path, fields: list[str]) -> None:
    rows = "".join(f"{number},{field}\n" for number, field in enumerate(fields))
    assert load(tmp_path, f"id,x\n{rows}")[1] == []


@pytest.mark.parametrize("limit", [None, "1G"])
def test_a_column_without_a_name_is_left_out(tmp_path: Path, limit: str | None) -> None:
    graph, told = load(tmp_path, ",id,a\n0,5,x\n1,6,y\n", memory_limit=limit)
    assert graph.query("MATCH (n) RETURN keys(n) AS k, n.id AS i ORDER BY i").fetchall() == [
        (["id", "a"], 5),
        (["id", "a"], 6),
    ]
    assert len(told) == 1 and "column 1 has no name" in told[0]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("id, a\n1, x\n", {}, r"column ' a' begins or ends with a blank\n.*n\.` a`"),
        ("1,a\n2,b\n", {}, r"names the columns, the first of them 1\n.*Is it a row\?"),
        ("id,a\n1,x\n", {"types": {"b": "int"}}, r"types: no file has a column b\n.*They are 'a', 'id'"),
        ("id,born\n1,x\n", {"types": {"bron": "string"}}, r"no file has a column bron\n.*Did you mean 'born'\?"),
        ("id:ID,born\n1,x\n", {"types": {"bron": "string"}}, r"no file has a column bron\n.*Did you mean 'born'\?"),
        ("id,2019,2020\n1,5,6\n", {}, None),
        ("id,a\n1,x\n", {"types": {"a": "string"}}, None),
    ],
)
@pytest.mark.parametrize("limit", [None, "1G"])
def test_names_that_are_hardly_meant_are_told(
    tmp_path: Path, text: str, options: dict[str, object], message: str | None, limit: str | None
) -> None:
    told = load(tmp_path, text, **options, **({} if options else {"memory_limit": limit}))[1]
    assert len(told) == (message is not None) and (message is None or re.search(message, told[0]))


@pytest.mark.parametrize("options", [{"delimiter": ","}, {"id": "id"}, {"types": {"a": "int"}}])
def test_where_there_is_no_file_an_option_does_not_make_a_graph_of_nothing(
    tmp_path: Path, options: dict[str, object]
) -> None:
    (tmp_path / "empty").mkdir()
    for source in (tmp_path / "missing", tmp_path / "nodes_A.csv", tmp_path / "empty", [], [tmp_path / "missing"]):
        with pytest.raises(StorageError, match=r"there is no such|no file in it ends with|No files are given"):
            Graph.from_csv(source, **options)  # type: ignore[arg-type]
    with pytest.raises(StorageError, match=r"No files are given for A"):
        Graph.from_csv(nodes={"A": []})


def test_several_words_mean_null(tmp_path: Path) -> None:
    for null in (["NA", "-"], ("-", "NA")):
        graph, told = load(tmp_path, "id,x\n1,NA\n2,5\n3,-\n4,\n", null=null)
        assert told == [] and graph.query("MATCH (n) RETURN sum(n.x), count(n.x)").fetchall() == [(5, 1)]
    assert load(tmp_path, "id,x\n1,\n2,5\n", null=None)[0].query("MATCH (n) RETURN sum(n.x)").value() == 5


@pytest.mark.parametrize("limit", [None, "1G"])
def test_separators_at_the_ends_of_lines_make_no_column(tmp_path: Path, limit: str | None) -> None:
    graph, told = load(tmp_path, "id,a,\n1,x,\n", memory_limit=limit)
    assert set(graph.schema.nodes[0].properties) == {"id", "a"} and told == []


def test_a_key_that_is_not_found_says_what_keys_are_like(tmp_path: Path) -> None:
    (tmp_path / "rels_A_R_A.csv").write_text("start,end\n1,2\n")
    with pytest.raises(StorageError, match=r"no node's\n.*The nodes' keys are texts, as '01'\."):
        load(tmp_path, "id,a\n01,x\n02,y\n")


def test_files_that_are_given_by_keyword_are_named(tmp_path: Path) -> None:
    (tmp_path / "customers.csv").write_text("number,a\n1,x\n1,y\n")
    with pytest.raises(StorageError, match=r"customers\.csv: row 1 has the key 1 that row 0 has"):
        Graph.from_csv(nodes={"Customer": tmp_path / "customers.csv"}, id="number")
