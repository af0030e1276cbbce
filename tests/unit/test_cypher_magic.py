"""``%cypher`` and ``%%cypher`` in a shell of IPython, and in a notebook that a kernel executes."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import qengine
from qengine import Graph, QueryInterrupted, QueryTimeout, Result, SemanticError

pytest.importorskip("IPython")

from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from qengine.notebook import waiting

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def world() -> Graph:
    return qengine.example()


@pytest.fixture
def shell(world: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # which the shell replaces
    found = InteractiveShell.instance()
    found.history_manager.enabled = False
    found.run_line_magic("load_ext", "qengine")
    found.user_ns["world"] = world
    yield found
    found.run_line_magic("unload_ext", "qengine")
    found.reset()
    found.history_manager.end_session()
    InteractiveShell.clear_instance()


def run(shell: InteractiveShell, cell: str) -> Any:
    done = shell.run_cell(cell)
    done.raise_error()
    return done.result


def test_a_mistyped_name_is_told_once(shell: InteractiveShell, capfd: pytest.CaptureFixture[str]) -> None:
    """With the rows where they are shown, else on standard error."""
    hidden = {each: logging.root.handlers.remove(each) for each in [*logging.root.handlers]}  # pytest's
    try:
        result = run(shell, "%cypher MATCH (c:Country) WHERE c.nmae = 'Peru' RETURN c.population AS n")
        shown = capfd.readouterr()
        assert shown.err == "" and str(result).count("property `nmae`") == 1
        run(shell, "%cypher --out kept MATCH (c:Country) WHERE c.nmae = 'Chile' RETURN c.population AS n")
        assert capfd.readouterr().err.count("property `nmae`") == 1
    finally:
        logging.root.handlers.extend(hidden)


def test_variables_go_in_as_parameters_and_results_come_out(shell: InteractiveShell) -> None:
    shell.user_ns.update(km=4000, kinds=("River",))
    run(shell, "%%cypher\nMATCH (r:River) WHERE r.length_km > $km AND labels(r)[0] IN $kinds RETURN count(*) AS n")
    result = run(shell, "%cypher MATCH (r:River) WHERE r.length_km > $km RETURN count(*) AS n")
    assert isinstance(result, Result) and result.fetchall() == [(result_count(shell),)]
    run(shell, "%%cypher --out rivers\nMATCH (r:River) RETURN r.name AS name, r.length_km AS km")
    assert len(shell.user_ns["rivers"].to_pandas()) == 214
    run(shell, "%cypher lakes << RETURN 7 AS n")
    run(shell, "n = %cypher RETURN 8 AS n")
    assert (shell.user_ns["lakes"].value(), shell.user_ns["n"].value()) == (7, 8)


def result_count(shell: InteractiveShell) -> int:
    rivers = shell.user_ns["world"].query("MATCH (r:River) RETURN r.length_km AS km").fetchall()
    return sum(row.km is not None and row.km > 4000 for row in rivers)


def test_the_graph_is_the_only_one_or_the_one_that_is_named(shell: InteractiveShell) -> None:
    shell.user_ns["other"] = Graph()
    with pytest.raises(SemanticError, match="several graphs: other, world"):
        run(shell, "%cypher MATCH (n) RETURN count(*)")
    assert run(shell, "%cypher other MATCH (n) RETURN count(*)").value() == 0
    assert run(shell, "%cypher MATCH (n) RETURN count(*)").value() == 0, "the one before"
    assert run(shell, "%%cypher -g world\nMATCH (n) RETURN count(*)").value() == 2160
    run(shell, "%cypher other")
    assert run(shell, "%cypher MATCH (n) RETURN count(*)").value() == 0
    with pytest.raises(SemanticError, match="nothing is no graph"):
        run(shell, "%cypher --graph nothing RETURN 1")
    run(shell, "del other, world")
    with pytest.raises(SemanticError, match="There is no graph yet"):
        run(shell, "%cypher RETURN 1")


def test_a_cell_may_change_the_graph_within_a_transaction(shell: InteractiveShell) -> None:
    shell.user_ns["mine"] = Graph()
    cells = "with mine.transaction() as t:\n    %cypher t CREATE (:A)\n    t.rollback()\n%cypher mine CREATE (:B)"
    run(shell, cells)
    assert shell.user_ns["mine"].query("MATCH (n) RETURN labels(n)").fetchall() == [(["B"],)]


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        ("%%cypher\nMATCH (c:Contry RETURN c", "This '(' is never closed."),
        ("%cypher RETURN 1 / 0", "Integer division by zero"),
        ("%cypher RETURN $nowhere", "Make a variable of this name."),
        ("%%cypher --timeout soon\nRETURN 1", "`timeout` is a number of seconds, not 'soon'."),
        ("%%cypher wrold\nRETURN 1", "wrold is no variable that holds a graph. For a result's name write --out wrold."),
    ],
)
def test_errors_take_ten_lines_and_no_traceback(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str], cell: str, wanted: str
) -> None:
    assert not shell.run_cell(cell).success
    out, _ = capsys.readouterr()
    assert wanted in out and "Traceback" not in out and "qengine/" not in out and len(out.splitlines()) <= 10


def test_wrong_options_are_told(shell: InteractiveShell) -> None:
    for cell, wanted in (
        ("%cypher --tiemout 3 RETURN 1", "Did you mean --timeout?"),
        ("%cypher --nope RETURN 1", "There is no option --nope. There are --"),
        ("%cypher --out", "--out needs a value"),
        ("%cypher --out 1x RETURN 1", "the name of a variable, not 1x"),
        ("%cypher", "Write a query"),
    ):
        with pytest.raises(UsageError, match=wanted):
            run(shell, cell)


def test_limits_hold(shell: InteractiveShell) -> None:
    with pytest.raises(QueryTimeout):
        run(
            shell, "%%cypher --timeout=0.05 --memory-limit 1G --device cpu\nMATCH p = ()-[:borders*]-() RETURN count(*)"
        )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("%%cypher\nMATCH (c:Cou", ["Country"]),
        ("%%cypher world\n\nMATCH (c:Country)\nRETURN c.pop", ["population"]),
        ("x = %cypher MATCH (c:Riv", ["River"]),
        ("%%cypher\nRETURN $kilo", ["$kilometres"]),
        ("%cypher world MATCH (c)-[:capi", ["capital"]),
    ],
)
def test_tab_completes_in_cells(shell: InteractiveShell, text: str, wanted: list[str]) -> None:
    shell.user_ns["kilometres"] = 1
    with provisionalcompleter():
        found = [each.text for each in shell.Completer.completions(text, len(text))]
    assert found == wanted


def test_other_cells_are_completed_as_before(shell: InteractiveShell) -> None:
    with provisionalcompleter():
        assert "world" in [each.text for each in shell.Completer.completions("worl", 4)]


def test_progress_is_said_and_an_interrupt_stops(world: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(waiting, "_QUIET", 0.0)
    monkeypatch.setattr(waiting, "_EVERY", 0.01)

    class Line:
        def say(self, text: str) -> None:
            said.append(text)
            if len(said) == 3:
                raise KeyboardInterrupt

        end = say

    monkeypatch.setattr(waiting, "_line", lambda result: Line())
    result = world.query("MATCH p = (:Country)-[:borders*]-() RETURN count(*)")
    with pytest.raises(QueryInterrupted):
        waiting.fetched_ahead(result)
    assert "0 rows of about 1, " in said[0] and "stop: interrupt" in said[0] and said[-1].startswith("took")
    assert not any(each.name == "qengine-notebook" for each in threading.enumerate())


def test_a_quick_query_says_nothing(world: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_line", lambda _: pytest.fail("said something"))
    result = world.query("MATCH (c:Country) RETURN c")
    waiting.fetched_ahead(result)
    assert len(result.fetchall()) == 198


def test_a_notebook_is_executed_by_a_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat

    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT), prepend=os.pathsep)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(CHECKOUT / "examples" / "cypher_cells.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3")
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    kinds = [set(output.get("data", {})) for output in outputs]
    assert sum("image/svg+xml" in kind for kind in kinds) >= 4 and any("text/html" in kind for kind in kinds)
    assert any("never closed" in str(output) for output in outputs)


# What is shown is clicked before the cell's own thread goes on.
SLOWLY = """import time, IPython.display as shown
at_once = shown.display
shown.display = lambda *given, **named: (at_once(*given, **named), time.sleep(0.3))[0]"""


def test_a_button_stops_the_query_while_the_cell_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A click comes by a subshell of the kernel, as front ends send it that know of them."""
    pytest.importorskip("ipywidgets")
    pytest.importorskip("ipykernel", minversion="7")
    manager = pytest.importorskip("jupyter_client").manager
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT), prepend=os.pathsep)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    kernel, client = manager.start_new_kernel(kernel_name="python3")
    try:
        made = client.session.msg("create_subshell_request", {})
        client.control_channel.send(made)
        subshell = client.get_control_msg(timeout=60)["content"]["subshell_id"]
        client.execute("%load_ext qengine\nimport qengine\nworld = qengine.example()", reply=True, timeout=60)
        client.execute(SLOWLY, reply=True, timeout=60)
        client.execute("%cypher MATCH p = (:Country)-[:borders*]-() RETURN count(*)")
        button, end = None, time.monotonic() + 60
        while time.monotonic() < end:
            message = client.get_iopub_msg(timeout=60)
            kind, content = message["msg_type"], message["content"]
            if kind == "comm_open" and content["data"]["state"].get("_model_name") == "ButtonModel":
                button = content["comm_id"]
            elif kind == "display_data" and button is not None:
                data = {"method": "custom", "content": {"event": "click"}}
                click = client.session.msg("comm_msg", {"comm_id": button, "data": data})
                click["header"]["subshell_id"] = subshell
                client.shell_channel.send(click)
                button = None
            elif kind == "error":
                assert content["ename"] == "QueryInterrupted"
                return
        pytest.fail("not stopped")
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)
