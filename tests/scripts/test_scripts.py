"""Runs the query scripts, which read as a specification of the language. ``script.py`` describes their format.

Every query runs on the reference executor and on the CPU, with ``--nets`` on an emulated GPU, and with ``--gpu`` on a
real one. All must return the same rows or the same error. Rows are sorted unless the query has an ORDER BY.

``pytest tests/scripts --update-golden`` rewrites the outputs. It still fails where an error or a warning is unexpected
or missing, and where executors differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import qengine
from qengine._printable import printable_line
from qengine.cli.values import to_text as value_text
from qengine.errors import render
from qengine.exec import choice
from qengine.explain import PlanResult
from qengine.plan.text import to_text as plan_text
from qengine.syntax import ast, parse
from tests.emulator.device import device_memory, emulated, searched
from tests.scripts.described import FOLDER, graph_of, value_of
from tests.scripts.script import GraphText, Query, Script, ScriptError, read

EXECUTORS = ("reference", "cpu")
SCRIPTS = sorted(path for path in FOLDER.parent.rglob("*.txt") if path.parent != FOLDER)
NAMES = [path.relative_to(FOLDER.parent).with_suffix("").as_posix() for path in SCRIPTS]


@pytest.mark.parametrize("path", SCRIPTS, ids=NAMES)
def test_script(path: Path, request: pytest.FixtureRequest) -> None:
    try:
        found = replayed(read(path), EXECUTORS)
    except ScriptError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    if request.config.getoption("--update-golden"):
        path.write_text(found)
    assert found == path.read_text()


@pytest.mark.gpu
@pytest.mark.parametrize("path", SCRIPTS, ids=NAMES)
def test_script_on_the_gpu(path: Path) -> None:
    assert replayed(read(path), ("gpu",)) == path.read_text()


@pytest.mark.nets
@pytest.mark.parametrize("path", SCRIPTS, ids=NAMES)
def test_script_on_the_emulated_gpu(path: Path) -> None:
    with emulated(device_memory(), free=1 << 30) as patch:
        patch.setattr(choice, "choose", lambda asked, *_: (asked, "as asked"))
        searched(patch)  # the emulator has no such kernels
        assert replayed(read(path), ("gpu",)) == path.read_text()


def replayed(script: Script, executors: Sequence[str]) -> str:
    """Run a script on each executor, and return its text with the actual outputs.

    Raises
    ------
    ScriptError
        If executors differ, or an error or a warning is unexpected or missing.
    """
    graphs: dict[str, qengine.Graph] = {}  # one for each, as statements may change it
    texts = []
    for each in script.paragraphs:
        if isinstance(each, GraphText):
            graphs = {executor: graph_of(script, each) for executor in executors}
        if isinstance(each, Query):
            texts.append(each.text(_output(script, each, graphs)))
        else:
            texts.append(each.text())
    return "\n\n".join(texts) + "\n"


@dataclass
class _Outcome:
    """The rows of a query or its error, as lines, and its warnings."""

    lines: list[str]
    failed: bool = False
    warnings: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join([*self.lines, *self.warnings])


def _output(script: Script, query: Query, graphs: Mapping[str, qengine.Graph]) -> str:
    """Return the output of a query: the plans that it asks for, rows and warnings, or an error.

    ``graphs``: of each executor.
    """
    parameters = {}
    for name, expression in query.parameters:
        try:
            parameters[name] = value_of(expression)
        except qengine.QengineError as error:
            script.fail(query.line, f"parameter ${name} has no value.\n{error}")
    measured = query.query.startswith("PROFILE")  # the reference measures nothing
    asked = [each for each in graphs if not (measured and each == "reference")]
    *others, outcome = (_outcome(graphs[each], query.query, parameters, each) for each in asked)
    for name, other in zip(asked, others, strict=False):
        if other.lines != outcome.lines:
            script.fail(query.line, f"{name} and {asked[-1]} differ.\n\n{name}:\n{other}\n\n{asked[-1]}:\n{outcome}")
    if outcome.failed != ("error" in query.words):
        script.fail(query.line, f"{'an unexpected' if outcome.failed else 'no'} error:\n{outcome}")
    if bool(outcome.warnings) != ("warns" in query.words):
        script.fail(query.line, f"{'an unexpected' if outcome.warnings else 'no'} warning:\n{outcome}")
    return "\n".join([*_plans(graphs[asked[-1]], query), str(outcome)])


def _outcome(graph: qengine.Graph, text: str, parameters: Mapping[str, Any], device: str) -> _Outcome:
    try:
        result = graph.query(text, parameters, device=device)
        rows = result.fetchall()
    except qengine.QengineError as error:
        return _Outcome([str(error)], failed=True)
    planned = isinstance(result, PlanResult)
    shown = [*(_plan_rows(rows) if planned else _table(result.columns, rows, _ordered(text)))]
    changes = result.stats.changes
    if changes is not None:
        shown = [*(shown if result.columns else ()), f"-- {changes}"]
    return _Outcome(shown, warnings=[render(notice, text) for notice in result.notices])


def _ordered(text: str) -> bool:
    """Return whether a query has a final ORDER BY."""
    (statement,) = parse(text)
    if not isinstance(statement.body, ast.Query):
        return False
    last = statement.body.clauses[-1]
    return isinstance(last, ast.ReturnClause) and bool(last.projection.order)


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]], ordered: bool) -> Iterator[str]:
    """Yield a table's lines, with values as literals of the language; sorted unless they are ``ordered``."""
    cells = [[printable_line(value_text(value, inside=True)) for value in row] for row in rows]
    if not ordered:
        cells.sort(key=lambda row: [_natural(cell) for cell in row])
    lines = [[printable_line(name) for name in columns], *cells]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield " | ".join(map(str.ljust, line, widths)).rstrip() or "(no columns)"
    if not rows:
        yield "(no rows)"


def _natural(cell: str) -> list[tuple[int, float, str]]:
    """Return the sort key of a cell: numbers by value, other text with its numbers by value, shorter lists first."""
    if re.fullmatch(r"-?\d+(\.\d+)?", cell):
        return [(0, float(cell), "")]
    parts = re.split(r"(\d+)", cell.replace("]", "\0"))
    return [(0, float(part), "") if part.isdecimal() else (1, 0.0, part) for part in parts]


def _plan_rows(rows: Sequence[qengine.Row]) -> Iterator[str]:
    """Yield the plans that EXPLAIN, EXPLAIN STEPS or PROFILE return, without times, bytes and devices."""
    for row in rows:
        if "step" in row.columns:
            yield f"-- {row['step']}"
        yield re.sub(r"(time|bytes)=\S+ \w+( device=\w+)?", r"\1=…", row["plan"])


def _plans(graph: qengine.Graph, query: Query) -> Iterator[str]:
    """Yield the plans that the words before a prompt ask for."""
    if "plan" in query.words:
        text = plan_text(graph.explain(query.query).plan)
        yield re.sub(r"~?[\d.,]+ (ns|µs|ms|s)\b", "…", text)  # the cost model's times
    if "steps" in query.words:
        yield from _plan_rows(graph.query(f"EXPLAIN STEPS {query.query}").fetchall())
    if {"plan", "steps"} & set(query.words):
        yield "-- rows"
