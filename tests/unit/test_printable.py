"""What a graph's names and values hold never steers a terminal, and never breaks HTML or SVG."""

from __future__ import annotations

import io
import json
import re
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qengine
from qengine import Graph, Notice, QengineError
from qengine._printable import escaped_in_json, in_markup, printable, printable_line
from qengine.cli.completion import ShellCompleter
from qengine.cli.formats import FORMATS
from qengine.cli.main import main
from qengine.cli.script import run_text
from qengine.cli.session import Session
from qengine.cli.terminal import Screen, report, warn
from qengine.errors import Span, StorageError

RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
ESCAPES = "\x1b]0;owned\x07\x1b[2J\r\x9b31m\x7f\u202e\u2066\x00"
TEXTS = st.text(st.sampled_from("aé日`'\"<&>]|\n\t \r\x00\x07\x08\x1b\x7f\x85\x9b\u2028\u202e\u2066\ufffe"), min_size=1)


class Terminal(io.StringIO):
    """A standard stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@contextmanager
def terminal() -> Iterator[Terminal]:
    """Let what is written in the block, results and errors, go to a terminal."""
    screen = Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", screen)
        patch.setattr("sys.stderr", screen)
        patch.setenv("NO_COLOR", "1")
        yield screen


def hostile(name: str) -> Graph:
    """Return a graph in which everything is called ``name``, and has it as a value."""
    properties = {name: name, f"k{name}": [name], "n": 1}
    nodes = [{"id": i, "labels": [name, f"L{i}{name}"], "properties": properties} for i in range(3)]
    return Graph.from_records(nodes, [{"type": name, "start": 0, "end": i, "properties": properties} for i in (1, 2)])


def quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def texts(name: str) -> list[str]:
    """Return queries and commands that show the names and values of a hostile graph."""
    label, pattern = quoted(name), f"(a:{quoted(name)})-[r:{quoted(name)}]->(b)"
    queries = [
        f"MATCH p = {pattern} RETURN a, r, b, p, [a] AS {quoted(f'{name}x')}, {{k: r}} AS m, a.{label} AS v",
        f"MATCH {pattern} WHERE a.{label} > 'x' RETURN a.{label}, count(*)",
        f"MATCH (a:{quoted(name + 'x')}) RETURN a.{quoted(name + 'y')}",
        f"MATCH (a:{label} RETURN a",
        f"RETURN {label}",
        f"RETURN ${label}",
        f"MATCH (a:{label}) RETURN a.{label} + {{}}",
        f"MATCH (a:{label}) RETURN toInteger(a.{label}) / 0",
        f"MATCH (a) RETURN point(a.{label})",
    ]
    plans = [f"{word} {query}" for word in ("EXPLAIN", "PROFILE", "EXPLAIN STEPS") for query in queries[:3]]
    commands = [":schema", ":stats", ":param", f":{name}", f":format {name}", f":load {name}", f":help {name}"]
    commands += [f":{word} {queries[0]}" for word in ("explain", "profile")]
    commands += [f":estimate MATCH {pattern}", f":run {name}", f":functions {name}", ":help", ":functions"]
    return [*queries, *plans, *commands]


@pytest.mark.parametrize("format", FORMATS)
def test_no_name_and_no_value_steers_the_terminal(format: str) -> None:
    session = Session(hostile(ESCAPES), format=format, timing=True, parameters={ESCAPES: ESCAPES})
    with terminal() as screen:
        for text in texts(ESCAPES):
            run_text(session, text, Screen())
    shown = screen.getvalue()
    assert len(shown) > 5_000 and not RAW.findall(shown)


@settings(max_examples=25)
@given(name=TEXTS)
def test_no_generated_name_steers_the_terminal(name: str) -> None:
    session = Session(hostile(name))
    with terminal() as screen:
        for text in texts(name):
            run_text(session, text, Screen())
    assert not RAW.findall(screen.getvalue())


@settings(max_examples=25)
@given(name=TEXTS)
def test_what_python_shows_is_safe_and_keeps_its_lines(name: str) -> None:
    graph = hostile(name)
    result = graph.query(
        f"MATCH p = (a:{quoted(name)})-[r]->() RETURN a, r, p, a.{quoted(name)} AS {quoted(f'{name}x')}"
    )
    (row, *_), _ = result.preview()
    shown = [repr(graph.schema), repr(graph.statistics), str(result), repr(result), repr(row), *map(repr, row)]
    shown.append(str(graph.explain(f"MATCH (a:{quoted(name)})-->() RETURN a.{quoted(name)}")))
    shown.append(repr(graph.estimate_all(f"MATCH ({quoted(name)})-->(b)")))
    for text in shown:
        assert not RAW.findall(text)
    assert len(repr(graph.schema).splitlines()) == 5, "three label sets, a type between two pairs of them"


@settings(max_examples=25)
@given(name=TEXTS)
def test_html_and_svg_are_well_formed(name: str) -> None:
    graph = hostile(name)
    match = f"MATCH p = (a:{quoted(name)})-[r]->() "
    rows = graph.query(f"{match} RETURN a, r, p, [a], {{k: a.{quoted(name)}}} AS {quoted(f'{name}x')}")
    plan = graph.query(f"PROFILE {match} WHERE a.{quoted(name)} <> '{{]]>' RETURN a.{quoted(name + 'z')}")
    for each in (rows, plan, graph, graph.schema, *rows.fetchone()[:3], plan.plan):
        ET.fromstring(f"<div>{each._repr_html_()}</div>")
    ET.fromstring(plan.plan.to_svg())


def test_a_label_in_html_stands_there_as_text() -> None:
    node = hostile("<script>alert(1)</script>").query("MATCH (n) RETURN n LIMIT 1").value()
    assert "<script>" not in node._repr_html_() and "&lt;script&gt;" in node._repr_html_()


def test_natural_text_stays_as_it_is() -> None:
    for text in (
        "naïve",
        "日本\u3000タワー",
        "שלום\u200f",
        "می\u200cخواهم",
        "👩\u200d🚀",
        "a\u00a0b",
        "soft\u00adhyphen",
        "\ue000",
    ):
        assert printable(text) == printable_line(text) == text


def test_what_is_replaced_is_one_character_for_one() -> None:
    everything = "".join(map(chr, range(0x20000)))
    shown = printable(everything)
    assert len(shown) == len(everything) and not RAW.findall(shown)
    assert {character for character in shown if unicodedata.category(character) == "Cc"} == {"\n", "\t"}
    assert printable_line("a\nb\tc\x1b") == "a⏎b→c\ufffd"
    ET.fromstring(f"<x y='{in_markup(everything)}'>{in_markup(everything)}</x>")


@given(st.text() | TEXTS)
def test_json_keeps_what_it_escapes(text: str) -> None:
    shown = escaped_in_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(shown) == text and not RAW.findall(shown)


def test_errors_and_warnings_keep_their_lines() -> None:
    with terminal() as screen:
        report(StorageError(f"No file {ESCAPES}\nhint: forged", hint=f"Look at\n{ESCAPES}"))
        warn(Notice("x", f"odd {ESCAPES}\nWarning: forged", Span(0, 3), "hint\nhint"), ESCAPES)
    lines = screen.getvalue().splitlines()
    assert not RAW.findall(screen.getvalue())
    assert [line.split()[0] for line in lines] == ["Storage", "hint:", "Warning:", "1", "|", "hint:"]


def test_a_path_in_an_error_is_safe(tmp_path: Path) -> None:
    damaged = tmp_path / f"bad{ESCAPES[:-1]}.csv"
    damaged.write_text("x")
    with terminal() as screen:
        for path in (f"{tmp_path}/{ESCAPES}", str(tmp_path), str(damaged)):
            assert main([path, "-c", "RETURN 1"]) == 1
        for arguments in ([f"estimate{ESCAPES[0]}", "x"], ["--format", ESCAPES], ["a", "b", ESCAPES]):
            with pytest.raises(SystemExit):
                main(arguments)
    assert screen.getvalue().count("rror") >= 6 and not RAW.findall(screen.getvalue())


def test_what_goes_to_a_file_is_the_data(tmp_path: Path) -> None:
    session = Session(hostile(ESCAPES), format="csv")
    query = "MATCH (a) RETURN a.n AS n, $text AS text LIMIT 1"
    session.parameters["text"] = "\x1b[1m"
    for format in ("csv", "json", "jsonl"):
        place = tmp_path / format
        session.format = format
        session.write_to(place)
        session.run(query, Screen())
        session.write_to(None)
    assert (tmp_path / "csv").read_text() == "n,text\n1,\x1b[1m\n"
    assert json.loads((tmp_path / "json").read_text()) == [json.loads((tmp_path / "jsonl").read_text())]
    assert json.loads((tmp_path / "jsonl").read_text()) == {"n": 1, "text": "\x1b[1m"}


def test_names_that_cannot_be_shown_are_not_completed() -> None:
    from prompt_toolkit.document import Document

    completer = ShellCompleter(Session(hostile(ESCAPES)))
    assert not list(completer.get_completions(Document("MATCH (a:"), None))
    completer = ShellCompleter(Session(hostile("two words")))
    found = [each.text for each in completer.get_completions(Document("MATCH (a:tw"), None)]
    assert found == ["`two words`"]


def test_a_syntax_error_of_bytes_is_shown() -> None:
    graph = Graph.from_records([])
    with pytest.raises(QengineError) as caught:
        graph.query(f"RETURN {ESCAPES} x")
    assert not RAW.findall(str(caught.value))
    assert qengine.QuerySyntaxError is type(caught.value)
