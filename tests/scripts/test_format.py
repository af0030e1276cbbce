"""The scripts' format: malformed scripts and unmet expectations are refused with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from qengine.exec import reference
from tests.scripts.described import graph_of
from tests.scripts.script import GraphText, Query, Script, ScriptError, read
from tests.scripts.test_scripts import EXECUTORS, NAMES, replayed

GRAPH = "graph\n  (a:N {name: 'a'})-[:T]->(b:N)\n\n"


def script(folder: Path, text: str) -> Script:
    path = folder / "given.txt"
    path.write_text(text)
    return read(path)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(ScriptError) as caught:
        replayed(script(folder, text), EXECUTORS)
    return str(caught.value)


def test_a_script_is_read_as_it_was_written(tmp_path: Path) -> None:
    text = (
        "# Prose\n#   goes on.\n\n"
        + GRAPH
        + "$x = [1, 2]\n$y = 'a > b'\nplan warns> MATCH (n)\n  WHERE n.name = '  '\n  RETURN n\nn\n(no rows)\n\n"
        + "graph social\n\n> RETURN 1 AS x\nx\n1\n"
    )
    found = script(tmp_path, text)
    assert "\n\n".join(each.text() for each in found.paragraphs) + "\n" == text
    first, second = (each for each in found.paragraphs if isinstance(each, Query))
    assert first.words == ("plan", "warns") and first.parameters == (("x", "[1, 2]"), ("y", "'a > b'"))
    assert first.query == "MATCH (n)\nWHERE n.name = '  '\nRETURN n" and first.output == "n\n(no rows)"
    assert (first.line, second.line) == (9, 17) and second.words == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "given.txt:1: the script has no query."),
        ("# Prose\n", "given.txt:1: the script has no query."),
        ("# Prose\nmore\n", "given.txt:2: a line of prose lacks its '#', or a blank line is missing above it."),
        ("> RETURN 1\n", "given.txt:1: no graph is given before the first query."),
        (GRAPH + "> RETURN 1 \n", "given.txt:4: a line ends with a blank, or holds a tab."),
        (GRAPH + ">\tRETURN 1\n", "given.txt:4: a line ends with a blank, or holds a tab."),
        ("graph\n\n> RETURN 1\n", "given.txt:1: write 'graph NAME', or 'graph' with its patterns in indented lines"),
        ("graph social\n  (a)\n", "given.txt:1: write 'graph NAME', or 'graph' with its patterns in indented lines"),
        ("graph a b\n", "given.txt:1: write 'graph NAME', or 'graph' with its patterns in indented lines"),
        ("graph\n  (a)\n> RETURN 1\n", "given.txt:3: a line of a graph isn't indented, or a blank line is missing"),
        (GRAPH + "RETURN 1\n", "given.txt:4: expected a query behind '> ', '# prose' or 'graph', found 'RETURN 1'."),
        (GRAPH + ">RETURN 1\n", "given.txt:4: expected a query behind '> '"),
        (GRAPH + "$x = 1\n", "given.txt:4: expected a query behind '> '"),
        (GRAPH + "$x = 1\n$y: 2\n> RETURN $x\n", "given.txt:5: expected a query behind '> '"),
        (GRAPH + "$x = 1\n$x = 2\n> RETURN $x\n", "given.txt:5: parameter $x is given twice."),
        (GRAPH + "plans> RETURN 1\n", "given.txt:4: 'plans' can't stand here; each of plan, steps, warns, error may"),
        (GRAPH + "plan plan> RETURN 1\n", "given.txt:4: 'plan' can't stand here"),
        (GRAPH + "plan error> RETURN x\n", "given.txt:4: 'error' stands alone"),
    ],
)  # fmt: skip
def test_what_is_no_script_is_refused_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    assert refused(tmp_path, text).startswith(problem)


@pytest.mark.parametrize(
    ("patterns", "problem"),
    [
        ("(a", "no patterns of a graph.\nSyntax error: This '(' is never closed."),
        ("(a) RETURN a", "no patterns of a graph"),
        ("(a) MATCH (b)", "no patterns of a graph, but clauses of a query."),
        ("(a) WHERE a.x = 1", "no patterns of a graph, but clauses of a query."),
        ("p = (a)-[:T]->(b:B)", "a path of a graph has no name, selector or mode."),
        ("(a WHERE a.x)", "a node of a graph is written (name:Label {key: value})."),
        ("(a:A|B)", "labels of a graph are names, as in :Person:Actor."),
        ("(a $given)", "no patterns of a graph.\nSyntax error: A parameter can't stand for all properties"),
        ("(a:A)-->(b:B)", "a relationship of a graph is written -[:TYPE {key: value}]->."),
        ("(a:A)-[:T*2]->(b:B)", "a relationship of a graph is written -[:TYPE {key: value}]->."),
        ("(a:A)-[:S|T]->(b:B)", "labels of a graph are names, as in :Person:Actor."),
        ("(a:A) ((x)-[:T]->(y)){2} (b:B)", "a relationship of a graph is written"),
        ("((x)-[:T]->(y)){2}", "a node of a graph is written"),
        ("(a:A)<-[:T]->(b:B)", "a relationship of a graph points one way, or has no arrow head at all."),
        ("(a:A)-[:T]->(b:B), (a)-[:T]-(b)", "type `T` has a direction in one place, and none in another."),
        ("(a:A)-[:T]->(b)", "node `b` isn't described; describe one without labels as (b)."),
        ("(a:A), (a:B)", "node `a` is described twice."),
        ("(a:A {x: 1 / 0})", "Execution error: Integer division by zero in /."),
        ("(a:A {x: y})", "Semantic error: Variable `y` is not defined."),
    ],
)
def test_what_describes_no_graph_is_refused_with_its_line(tmp_path: Path, patterns: str, problem: str) -> None:
    text = f"graph\n  (first:N)\n  {patterns}\n\n> RETURN 1 AS x\n"
    assert refused(tmp_path, text).startswith(f"given.txt:3: {problem}")


def test_values_that_no_property_has(tmp_path: Path) -> None:
    found = refused(tmp_path, "graph\n  (a:A {x: {y: 1}})\n\n> RETURN 1 AS x\n")
    assert found.startswith("given.txt:2: Storage error: ")


def test_a_graph_that_there_is_not(tmp_path: Path) -> None:
    found = refused(tmp_path, "# Prose\n\ngraph sociable\n\n> RETURN 1 AS x\n")
    assert found == "given.txt:3: there is no graph 'sociable'; there are social, world."


def test_a_graph_is_what_its_patterns_say(tmp_path: Path) -> None:
    lines = ("(b)<-[:T {w: 1}]-(a:A:B {x: [1, 2], d: date('2020-01-01')}), (b)", "(:C)-[:U]-(a)")
    graph = graph_of(Script(tmp_path / "given.txt"), GraphText(1, None, lines))
    found = graph.query(
        "MATCH (x)-[r]->(y) RETURN labels(x) AS x, type(r) AS t, r.w AS w, labels(y) AS y ORDER BY t, x"
    )
    assert [tuple(row) for row in found] == [
        (["A", "B"], "T", 1, []),
        (["A", "B"], "U", None, ["C"]),
        (["C"], "U", None, ["A", "B"]),
    ]
    assert graph.node_count == 3 and graph.query("MATCH (a:A) RETURN a.x, a.d.year").fetchone() == ([1, 2], 2020)


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("> RETURN x", "given.txt:4: an unexpected error:\nSemantic error: Variable `x` is not defined."),
        ("error> RETURN 1 AS x", "given.txt:4: no error:\nx\n1"),
        (
            "> MATCH (n:M) RETURN n",
            "given.txt:4: an unexpected warning:\nn\n(no rows)\nWarning: The graph has no label",
        ),
        ("warns> RETURN 1 AS x", "given.txt:4: no warning:\nx\n1"),
        ("$x = 1 / 0\n> RETURN $x", "given.txt:5: parameter $x has no value.\nExecution error: Integer division"),
    ],
)
def test_what_a_script_expects_is_never_recorded_otherwise(tmp_path: Path, query: str, problem: str) -> None:
    assert refused(tmp_path, GRAPH + query + "\n").startswith(problem)


def test_executors_that_differ_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = reference.run
    monkeypatch.setattr(reference, "run", lambda plan, *rest: [(2,)] if plan.columns == ("x",) else run(plan, *rest))
    found = refused(tmp_path, GRAPH + "> RETURN 1 AS x\n")
    assert found == "given.txt:4: reference and cpu differ.\n\nreference:\nx\n2\n\ncpu:\nx\n1"


def test_rows_are_sorted_unless_the_query_orders_them(tmp_path: Path) -> None:
    rows = "UNWIND [10, -1, 9, 'b', 'a', null, [1], [1, 2]] AS x"
    found = replayed(script(tmp_path, GRAPH + f"> {rows} RETURN x\n"), EXECUTORS)
    assert found.split("\n")[4:] == ["x", "-1", "9", "10", "'a'", "'b'", "[1]", "[1, 2]", "null", ""]
    found = replayed(script(tmp_path, GRAPH + f"> {rows} RETURN x ORDER BY x DESC\n"), EXECUTORS)
    assert found.split("\n")[4:] == ["x", "null", "10", "9", "-1", "'b'", "'a'", "[1, 2]", "[1]", ""]


def test_names_and_values_take_one_line(tmp_path: Path) -> None:
    found = replayed(script(tmp_path, GRAPH + "> RETURN 1 +\n  1, 'a\\nb', '\u0663²'\n"), EXECUTORS)
    assert found.split("\n")[5:] == ["1 +⏎1 | 'a\\nb' | '\u0663²'", "2     | 'a⏎b'  | '\u0663²'", ""]


def test_there_are_scripts() -> None:
    assert len(NAMES) > 40 and "patterns/optional_match" in NAMES
