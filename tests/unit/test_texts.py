"""Strings with half of a surrogate pair, which no text holds, are refused where they come in, and leave nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from qengine import Graph
from qengine.errors import QengineError
from qengine.storage.given import name_of

HALF = "a\ud800b"
MANY = ["a", *["ü", "b"] * 20]
INTO = "UNWIND $x AS x CREATE (:A {x: x})"
MAPS = "UNWIND $x AS x CREATE (n:A {x: x.y}) SET n += x"
SCRIPT = "".join(f"CREATE (:A {{x: 'v{number}'}});\n" for number in range(100))
LISTS = "UNWIND [{x: 'a'}, {x: '%s'}] AS row CREATE (n:A) SET n += row;"

TEXTS = [
    rf"CREATE (:A {{x: '{HALF}'}})",
    r"CREATE (:A {x: '\uD800'})",
    rf"CREATE (:A {{x: '\n{HALF}'}})",
    f"CREATE (:A) /* {HALF} */",
    f"CREATE (:`{HALF}`)",
    f"CREATE (:A {{`{HALF}`: 1}})",
]
PARAMETERS: list[tuple[str, Any]] = [
    ("CREATE (:A {x: $x})", HALF),
    ("CREATE (:A {x: $x})", [HALF, "a"]),
    ("CREATE (:$($x))", HALF),
    ("MATCH (n:A {x: $x}) SET n.y = 1", HALF),
    (INTO, [HALF]),
    (INTO, [*MANY, HALF]),
    (INTO, [*MANY, "\ud83d", "\ude00"]),
    (INTO, [*MANY, 1, None, HALF]),
    (INTO, pd.Series([*MANY, HALF], dtype=object)),
    (MAPS, [{"y": each} for each in (*MANY, HALF)]),
    (MAPS, [{"y": 1, HALF: each} for each in MANY]),
    (MAPS, [{"y": 1}, {HALF: 1}]),
]
LOADED = {
    "records": lambda: Graph.from_records([{"properties": {"x": HALF}}]),
    "lists": lambda: Graph.from_records([{"properties": {"x": ["a", HALF]}}]),
    "frames": lambda: Graph.from_arrow({"A": pd.DataFrame({"id": [1], "x": pd.Series([HALF], dtype=object)})}),
    "appended": lambda: Graph().append_arrow({"A": pd.DataFrame({"id": pd.Series([HALF], dtype=object)})}),
    "script": lambda: Graph.from_cypher(f"{SCRIPT}CREATE (:A {{x: '{HALF}'}});"),
    "escapes": lambda: Graph.from_cypher(SCRIPT + r"CREATE (:A {x: '\uD800'});"),
    "list of maps": lambda: Graph.from_cypher(LISTS % HALF),
    "escapes in a list": lambda: Graph.from_cypher(LISTS % r"\uD800"),
}


@pytest.mark.parametrize("text", TEXTS)
def test_statements(text: str) -> None:
    graph = Graph()
    for number in range(3):  # texts that differ in their literals share a plan from here on
        graph.query(f"CREATE (:A {{x: 'v{number}'}})")
    for use in (graph.query, graph.prepare, graph.explain):
        with pytest.raises(QengineError, match="half of a surrogate pair") as caught:
            use(text)
        span = caught.value.span
        assert span is not None and ("\\" in text or text[span.start] == "\ud800")
    assert graph.query("MATCH (n) RETURN count(*), count(n.x)").fetchall() == [(3, 3)]


@pytest.mark.parametrize(("text", "value"), PARAMETERS)
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_parameters(text: str, value: Any, device: str) -> None:
    graph = Graph.from_records([{"labels": "A", "properties": {"x": "a"}}])
    with graph.transaction() as transaction, pytest.raises(QengineError, match="x holds a string with half of a surr"):
        transaction.query(text, {"x": value}, device=device)
    with pytest.raises(QengineError, match="half of a surrogate pair"):
        graph.query("RETURN $x", {"x": value}, device=device).fetchall()
    assert graph.query("MATCH (n) RETURN n.x").fetchall() == [("a",)]


@pytest.mark.parametrize("load", LOADED.values(), ids=LOADED)
def test_what_is_loaded(load: Any) -> None:
    with pytest.raises(QengineError, match="half of a surrogate pair"):
        load()


def test_results_of_functions_and_procedures() -> None:
    graph = Graph()
    graph.register_function("my.text(x :: INTEGER) :: STRING", lambda x: HALF if x == 30 else "a")
    graph.register_function("my.texts() :: LIST<STRING>", lambda: [HALF])
    graph.register_procedure("my.rows() :: (x :: STRING)", lambda: [("a",), (HALF,)])
    for text in (
        "UNWIND range(1, 40) AS i CREATE (:A {x: my.text(i)})",
        "CREATE (:A {x: my.texts()})",
        "CALL my.rows() YIELD x CREATE (:A {x: x})",
    ):
        with pytest.raises(QengineError) as caught:
            graph.query(text)
        assert "no value of the language" in str(caught.value) and "Such halves are no text" in str(caught.value.hint)
    assert graph.node_count == 0


@pytest.mark.parametrize("rows", [0, 50_000])
def test_files(tmp_path: Path, rows: int) -> None:
    (tmp_path / "rows.csv").write_bytes(b"a,b\n" * rows + HALF.encode(errors="surrogatepass") + b",1\n")
    graph = Graph()
    graph.import_directory = tmp_path
    with pytest.raises(QengineError, match="no UTF-8 text"):
        graph.query("LOAD CSV FROM 'file:///rows.csv' AS row CREATE (:A {x: row[0]})")
    assert graph.node_count == 0


def test_arrow_strings_that_are_no_text() -> None:
    """Arrow looks at no string that it is given the bytes of."""
    begins, text = pa.py_buffer(b"\0\0\0\0\3\0\0\0"), pa.py_buffer(b"\xed\xa0\x80")
    with pytest.raises(QengineError, match="no value of the language"):
        Graph().query(INTO, {"x": pa.Array.from_buffers(pa.string(), 1, [None, begins, text])})


def test_pairs_are_text() -> None:
    graph = Graph()
    graph.query(r"CREATE (:A {x: '\uD83D\uDE00'}), (:A {x: $x})", {"x": "😀"})
    graph.query(INTO, {"x": ["😀"] * 20})
    assert graph.query("MATCH (n:A {x: '😀'}) RETURN count(*)").value() == 22
    assert name_of("😀", "a label", "") == "😀"
