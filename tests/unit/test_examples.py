"""The scripts and queries under ``examples/`` run, and answer what is known."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from qengine import Graph

CHECKOUT = Path(__file__).resolve().parents[2]
EXAMPLES = CHECKOUT / "examples"
READ = {"edge_list.py", "join_order.py", "tour.py"}  # by tests of their own, which run them from elsewhere, too
SCRIPTS = sorted({path.name for path in EXAMPLES.glob("*.py")} - READ)
ROWS = {
    "doubly_landlocked": 2,
    "four_cliques": 12,
    "international_rivers": 10,
    "one_neighbour": 15,
    "outgrown_capitals": 10,
    "population_by_continent": 6,
    "portugal_to_china": 1,
    "shared_river_and_language": 8,
    "tri_borders": 175,
    "world_languages": 10,
}


ARGUMENTS = {"duckdb_orders.py": ("--patience", "0")}  # so that it estimates what is soon done, too


def run(script: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / script, *ARGUMENTS.get(script, ())],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_run_from_anywhere(script: str, tmp_path: Path) -> None:
    assert run(script, tmp_path).strip()


def test_the_tour_shows_rows_and_plans(tmp_path: Path) -> None:
    out = run("tour.py", tmp_path)
    assert "│ China       │ India  │ Pakistan │ 3108159000 │" in out
    assert "['Portugal', 'Spain', 'France', 'Germany', 'Poland', 'Russia', 'China']" in out
    assert out.count("Search ") == 3


def test_estimates_order_joins(tmp_path: Path) -> None:
    out = run("join_order.py", tmp_path)
    assert "best order: a → l → b → r" in out and "counted here: 3,130" in out
    assert "by DuckDB" not in out or "by DuckDB in this order: 3,130" in out


@pytest.mark.skipif(not (which("cc") or which("gcc")), reason="there is no C compiler")
def test_an_optimizer_in_c_reads_estimates(tmp_path: Path) -> None:
    assert "The order, by a program in C: r a b l" in run("estimates_in_c.py", tmp_path)


def test_motifs_are_counted_right(tmp_path: Path) -> None:
    lines = run("edge_list.py", tmp_path).splitlines()
    counts = {line.split()[0]: line.split()[1] for line in lines[3:]}
    assert counts == {"triangle": "7,935", "4-cycle": "209,724", "diamond": "77,476", "4-clique": "926"}


def test_the_notebook_shows_what_it_says(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(EXAMPLES)
    names: dict[str, Any] = {}
    shown = []
    for cell in json.loads((EXAMPLES / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            *before, last = ast.parse("".join(cell["source"])).body
            exec(compile(ast.Module(before, []), "notebook", "exec"), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
                html = getattr(value, "_repr_html_", None)
                shown.append(repr(value) if html is None else html())
            else:
                exec(compile(ast.Module([last], []), "notebook", "exec"), names)
    schema, table, rivers, plan, profile, estimate = shown
    assert "(:Country)-[:borders" in schema and '<td style="text-align:left">China</td>' in table and "Nile" in rivers
    assert "<svg" in plan and "<svg" in profile and estimate == "None"
    assert "hint: Write = to compare." in capsys.readouterr().out


@pytest.fixture(scope="module")
def world() -> Graph:
    return Graph.from_csv(EXAMPLES / "world")


def test_every_query_has_its_number_of_rows() -> None:
    assert sorted(ROWS) == sorted(path.stem for path in (EXAMPLES / "queries").glob("*.cypher"))


@pytest.mark.parametrize("name", ROWS)
def test_queries_answer_alike_on_both_executors(world: Graph, name: str) -> None:
    text = (EXAMPLES / "queries" / f"{name}.cypher").read_text(encoding="utf-8")
    found = world.query(text).fetchall()
    assert len(found) == ROWS[name]
    assert found == world.query(text, device="reference").fetchall()
