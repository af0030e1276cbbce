"""The command line: formats, parameters, input, exit codes, errors."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import qengine
from qengine import StorageError
from qengine.cli.formats import FORMATS
from qengine.cli.main import main

WORLD = Path(__file__).resolve().parents[2] / "examples" / "world"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


QUERY = "UNWIND [[1, 'a'], [2, null]] AS row RETURN row[0] AS number, row[1] AS text"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("csv", "number,text\n1,a\n2,\n"),
        ("jsonl", '{"number": 1, "text": "a"}\n{"number": 2, "text": null}\n'),
        ("vertical", "── 1 ──\nnumber: 1\n  text: a\n── 2 ──\nnumber: 2\n  text: null\n"),
        ("markdown", "| number | text |\n|---|---|\n| 1 | a |\n| 2 | null |\n"),
        (
            "table",
            "┌────────┬──────┐\n"
            "│ number │ text │\n"
            "├────────┼──────┤\n"
            "│      1 │ a    │\n"
            "│      2 │ null │\n"
            "└────────┴──────┘\n",
        ),
    ],
)
def test_formats(capsys: pytest.CaptureFixture[str], name: str, expected: str) -> None:
    assert run(capsys, "-c", QUERY, "--format", name) == (0, expected, "")


def test_json_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "-c", QUERY, "--format", "json")
    assert json.loads(out) == [{"number": 1, "text": "a"}, {"number": 2, "text": None}]


def test_json_of_no_rows(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "-c", "UNWIND [] AS x RETURN x", "--format", "json")
    assert json.loads(out) == []


def test_arrow_is_a_stream() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "qengine", "-c", "UNWIND [1, 2] AS x RETURN x", "--format", "arrow"],
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    assert pa.ipc.open_stream(found.stdout).read_all().to_pydict() == {"x": [1, 2]}


def test_arrow_is_not_for_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    code, out, err = run(capsys, "-c", "RETURN 1", "--format", "arrow")
    assert (code, out) == (1, "")
    assert "hint: Send it to a file" in err


def test_parameters_are_json_or_literals_or_text(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(
        capsys, "-c", "RETURN $n + 1 AS n, $s AS s, $l AS l", "-P", "n=41", "-P", "s=free text", "-P", "l=[1, null]",
        "--format", "jsonl",
    )  # fmt: skip
    assert json.loads(out) == {"n": 42, "s": "free text", "l": [1, None]}
    _, out, _ = run(
        capsys, "-c", "RETURN $q AS q, $m AS m, $d.year AS y, $o AS o, $e AS e", "-P", "q='a b'", "-P", "m={a: [1]}",
        "-P", "d => date('2020-01-31')", "-P", "o=O'Brien", "-P", "e=", "--format", "jsonl",
    )  # fmt: skip
    assert json.loads(out) == {"q": "a b", "m": {"a": [1]}, "y": 2020, "o": "O'Brien", "e": ""}


def test_several_statements_and_commands(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "-c", "RETURN 1 AS x; RETURN 2 AS x;", "-c", "RETURN 3 AS x", "--format", "csv")
    assert code == 0 and out == "x\n1\n\nx\n2\n\nx\n3\n"


def test_json_results_follow_one_another(capsys: pytest.CaptureFixture[str]) -> None:
    for format, rows in (("json", [[{"x": 1}], [{"x": 2}]]), ("jsonl", [{"x": 1}, {"x": 2}])):
        _, out, _ = run(capsys, "-c", "RETURN 1 AS x; RETURN 2 AS x", "--format", format)
        found, end = [], 0
        while out[end:].strip():
            value, end = json.JSONDecoder().raw_decode(out, end + len(out[end:]) - len(out[end:].lstrip()))
            found.append(value)
        assert found == rows


def test_an_arrow_stream_takes_one_result(tmp_path: Path) -> None:
    found = process("RETURN 1 AS x; RETURN 2 AS x", arguments=("--format", "arrow"))
    assert found.returncode == 1 and b"hint: Write each result to a file of its own." in found.stderr
    assert pa.ipc.open_stream(found.stdout).read_all().to_pydict() == {"x": [1]}
    script = f":output {tmp_path}/one\nRETURN 1 AS x;\n:output {tmp_path}/two\nRETURN 2 AS x;"
    assert process(script, arguments=("--format", "arrow")).returncode == 0
    for name, rows in (("one", [1]), ("two", [2])):
        assert pa.ipc.open_stream((tmp_path / name).read_bytes()).read_all().to_pydict() == {"x": rows}


def test_commands_and_queries_in_any_order(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(capsys, str(WORLD), "-c", ":schema")[1].startswith("(:City {id: STRING")
    text = "// a script\n:param n=20\n:format csv\n\nUNWIND range(1, $n) AS\nx RETURN max(x) AS m; :unread\n"
    file = tmp_path / "q.cypher"
    file.write_text(text.replace("; :unread", ";") + ":profile MATCH (c:Country)\nRETURN count(*);\n:quit\nRETURN oen;")
    code, out, err = run(capsys, str(WORLD), "-f", str(file), "-f", str(file))
    assert (code, err) == (0, "") and out.count("m\n20\n") == 1
    assert "$n = 20\nformat is csv\nm\n20\n" in out and "rows=1 expected=1 row" in out
    code, _, err = run(capsys, "-c", ":shcema")
    assert code == 1 and "hint: Did you mean :schema?" in err


def test_a_label_at_the_start_of_a_line_is_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("MATCH (c\n:Country) RETURN count(*) AS n", "MATCH (c\n:stats\n) RETURN count(*) AS n"):
        code, out, _ = run(capsys, str(WORLD), "-c", text, "--format", "csv")
        assert code == 0 and out in ("n\n198\n", "n\n0\n")


def test_the_example_graph_needs_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--demo", "-c", "MATCH (n) RETURN count(*) AS n", "--format", "csv") == (0, "n\n2160\n", "")
    with pytest.raises(SystemExit):
        main(["--demo", "graph"])
    with pytest.raises(StorageError, match="There is no example 'mars'"):
        qengine.example("mars")


ENDLESS = "MATCH p = (:Country)-[:borders*]-(:Country) RETURN count(*)"


@pytest.mark.parametrize("way", ["-c", "-f"])
def test_one_ctrl_c_ends_a_script_with_130(way: str, tmp_path: Path) -> None:
    texts = [f"RETURN 'first' AS x; {ENDLESS}", "RETURN 'second' AS x"]
    if way == "-f":
        for number, text in enumerate(texts):
            (tmp_path / str(number)).write_text(text)
        texts = [str(tmp_path / "0"), str(tmp_path / "1")]
    command = [sys.executable, "-m", "qengine", str(WORLD), way, texts[0], way, texts[1]]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        while b"first" not in running.stdout.readline():
            pass
        running.send_signal(signal.SIGINT)  # the endless query runs, or begins
        out, err = running.communicate()
    assert running.returncode == 130 and b"second" not in out
    assert err.startswith(b"Interrupted: ") and err.count(b"\n") == 1


def test_ctrl_c_between_queries_ends_with_130(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setitem(FORMATS, "csv", stop)
    code, out, err = run(capsys, "-c", "RETURN 1", "-c", "RETURN 2", "--format", "csv")
    assert (code, out, err) == (130, "", "Interrupted: The command was interrupted.\n")


def test_a_warning_is_written_once() -> None:
    found = process("MATCH (n:Nothing) RETURN n", arguments=(str(WORLD),))
    assert found.stderr.count(b"no label `Nothing`") == 1


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("RETURN 1 AS x;\n// done\n"))
    assert run(capsys, "--format", "csv") == (0, "x\n1\n", "")


def test_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "q.cypher"
    file.write_text("RETURN 'é' AS x")
    assert run(capsys, "-f", str(file), "--format", "csv") == (0, "x\né\n", "")
    code, _, err = run(capsys, "-f", str(tmp_path / "none.cypher"))
    assert code == 1 and "none.cypher: can't be read" in err


def test_an_error_points_at_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "-c", "RETURN 1 AS one;\nRETURN oen")
    assert code == 1
    assert "RETURN oen" in err and "^^^" in err
    assert "│   1 │" in out


def test_an_error_stops_its_text_but_exit_is_last(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "-c", "RETURN x; RETURN 1 AS y", "-c", "RETURN 2 AS z", "--format", "csv")
    assert code == 1 and out == "z\n2\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--format", "xml"],
        ["-P", "novalue"],
        ["--timeout", "-1"],
        ["--timeout", "1s"],
        ["--memory-limit", "lots"],
        ["a", "b"],
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "-c", "RETURN 1"])
    assert stop.value.code == 2 and "usage: qengine" in capsys.readouterr().err


def test_a_file_of_queries_beside_the_graph_is_told_its_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["examples/world", __file__])
    assert capsys.readouterr().err.endswith(f"unrecognized arguments: {__file__}; did you mean -f {__file__}?\n")


def test_a_mistyped_option_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--dmo"])
    assert capsys.readouterr().err.endswith("unrecognized arguments: --dmo; did you mean --demo?\n")
    with pytest.raises(SystemExit):
        main(["--colour"])
    assert capsys.readouterr().err.endswith("unrecognized arguments: --colour\n")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("estimat", "estimate"),
        ("estimates", "estimate"),
        ("qeror", "qerror"),
        ("warm-up", "warmup"),
        ("Calibrate", "calibrate"),
    ],
)
@pytest.mark.parametrize("more", [[], ["x", "y"], ["x", "--samples", "9"]])
def test_a_mistyped_command_names_the_nearest(
    capsys: pytest.CaptureFixture[str], typed: str, meant: str, more: list[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([typed, *more])
    assert stop.value.code == 2
    assert f"there is no file, folder or command {typed}; did you mean qengine {meant}?" in capsys.readouterr().err


def test_a_graph_may_be_called_almost_as_a_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "estimates").write_text("1 2\n")
    code, out, _ = run(capsys, "estimates", "-c", "MATCH (n) RETURN count(*) AS n", "--format", "csv")
    assert (code, out) == (0, "n\n2\n")


def test_a_graph_that_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for path in (str(tmp_path / "nothing"), "MATCH (n) RETURN n" * 50, "~nobody-of-this-name/graph"):
        code, _, err = run(capsys, path, "-c", "RETURN 1")
        assert code == 1 and "no such file or folder" in err and "Internal" not in err
    code, _, err = run(capsys, str(tmp_path), "-c", "RETURN 1")
    assert code == 1 and "the folder holds no graph" in err


def test_colours_only_on_a_terminal() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "qengine", "-c", "RETURN"],
        check=False,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "NO_COLOR": ""},
    )
    assert found.returncode == 1 and "\x1b" not in found.stderr and found.stderr.startswith("Syntax error")


def process(
    query: str, stdout: object = subprocess.PIPE, arguments: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "qengine", *arguments, "-c", query],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=stdout,  # type: ignore[call-overload]
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize(("encoding", "expected"), [("ascii", rb"\xe4\u65e5"), ("latin-1", b"\xe4" rb"\u65e5")])
def test_what_an_encoding_lacks_is_written_in_its_characters(encoding: str, expected: bytes) -> None:
    found = process("RETURN 'ä日' AS x", PYTHONIOENCODING=encoding, PYTHONUTF8="0", LC_ALL="C.UTF-8")
    rule, name, _, value, _ = found.stdout.splitlines()
    assert (found.returncode, found.stderr) == (0, b"")
    assert (set(rule), name.split(), value.split()) == (set(b"+-"), [b"|", b"x", b"|"], [b"|", expected, b"|"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_said_in_one_sentence() -> None:
    with Path("/dev/full").open("wb") as full:
        found = process("RETURN 1", full)
    assert found.stderr.decode() == "Error: The output can't be written: No space left on device.\n"
    assert found.returncode == 1


def test_an_error_that_nobody_foresaw(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> int:
        raise ZeroDivisionError("seven by nought")

    monkeypatch.setitem(FORMATS, "csv", fail)
    code, out, err = run(capsys, "-c", "RETURN 1", "--format", "csv")
    assert (code, out) == (1, "")
    assert err.startswith("Internal error: ZeroDivisionError: seven by nought (") and "hint: " in err
    assert "Traceback" not in err


def test_the_status_forgets_ctrl_c_that_was_caught(tmp_path: Path) -> None:
    """Python would end a module by SIGINT: the interrupt came while it ran code from text."""
    (tmp_path / "trial.py").write_text(
        """
import sys
from qengine.cli import main as command_line

def main():
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        return 7

command_line.main = main
sys.exit(command_line.command())
"""
    )
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).resolve().parents[2])])
    ended = subprocess.run([sys.executable, "-m", "trial"], env={**os.environ, "PYTHONPATH": path}, check=False)
    assert ended.returncode == 7


@pytest.mark.parametrize("name", ["g.jsonl", "g.json", "g.GraphML", "g.cypher", "folder"])
def test_what_was_exported_is_opened(tmp_path, capsys, name):
    graph = qengine.Graph.from_records([{"id": 1, "labels": "A"}, {"id": 2}], [{"type": "R", "start": 1, "end": 2}])
    exported = {"g.json": "g.jsonl", "g.GraphML": "g.graphml"}.get(name, name)
    graph.export(tmp_path / exported, "parquet" if name == "folder" else None)
    (tmp_path / exported).rename(tmp_path / name)
    assert main([str(tmp_path / name), "-c", "MATCH (:A)-[:R]->(n) RETURN count(n)", "--format", "csv"]) == 0
    assert capsys.readouterr().out.split() == ["count(n)", "1"]


def test_one_file_of_a_graph_is_told_to_be_given_as_its_folder(tmp_path, capsys):
    for name in ("x.parquet", "nodes_A.csv", "nodes_A.jsonl"):
        (tmp_path / name).write_bytes(b"PAR1")
        assert main([str(tmp_path / name), "-c", "RETURN 1"]) == 1
        error = capsys.readouterr().err
        assert f"{name}: this is one file of a graph" in error and "hint: Give its folder" in error


def test_warnings_of_loading_are_shown(tmp_path, capsys):
    (tmp_path / "nodes_A.csv").write_text("id,x\n1,0.12345678901234567890\n")
    (tmp_path / "people.csv").write_text("id\n1\n")
    assert main([str(tmp_path), "-c", "MATCH (n) RETURN n.x", "--format", "csv"]) == 0
    shown = capsys.readouterr()
    assert shown.out.split() == ["n.x", "0.12345678901234567890"]
    assert "Warning: " in shown.err and "these files are not loaded: people.csv" in shown.err
    assert "column x: it stays text, because no FLOAT holds 0.12345678901234567890 of row 0" in shown.err
    assert "LoadingWarning" not in shown.err


def test_changes_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "-c", "CREATE (:A {i: 1}), (:A {i: 2}); MATCH (a:A) DELETE a RETURN 1 AS one")
    told = "2 nodes created, 2 properties set, 2 labels added\n"
    assert (status, out.startswith(told), out.endswith("┘\n2 nodes deleted\n")) == (0, True, True)


def test_changes_stay_out_of_data(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, errors = run(
        capsys, "--format", "csv", "-c", "CREATE (:A); CREATE (a:A) RETURN 1 AS one; RETURN 2 AS two"
    )
    assert (status, out) == (0, "one\n1\n\ntwo\n2\n")
    assert errors.count("1 node created, 1 label added\n") == 2


def test_transactions_of_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    count = "MATCH (n) RETURN count(n) AS n;\n"
    script = f":begin\nCREATE (:A);\n{count}:rollback\n{count}:begin\nCREATE (:A);\n:commit\n{count}"
    status, out, _ = run(capsys, "--format", "jsonl", "-c", script)
    assert status == 0
    told = [
        "a transaction is open",
        '{"n": 1}',
        "rolled back",
        '{"n": 0}',
        "a transaction is open",
        "committed",
        '{"n": 1}',
    ]
    assert out.splitlines() == told


@pytest.mark.parametrize(
    ("script", "hint"),
    [
        (":begin\n:begin", "Type :commit or :rollback first."),
        (":begin\n:load somewhere", "Type :commit or :rollback first."),
        (":commit", "Type :begin."),
        (":rollback", "Type :begin."),
    ],
)
def test_transactions_in_the_wrong_order(capsys: pytest.CaptureFixture[str], script: str, hint: str) -> None:
    status, _, errors = run(capsys, "-c", script)
    assert status == 1
    assert f"hint: {hint}" in errors
    assert ("what it did was taken back" in errors) == script.startswith(":begin")


def test_the_version_tells_the_build_and_what_it_runs_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["--version"])
    lines = capsys.readouterr().out.splitlines()
    assert raised.value.code == 0 and lines[0] == f"qengine {qengine.__version__}"
    assert re.fullmatch(r"build +[0-9a-f]{12} of a (checkout|wheel), vector instructions: .+", lines[1])
    assert lines[2].startswith("GPU ") and "PyArrow" in lines[4]
