"""The interactive shell, driven through a pseudo-terminal as a person would."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from qengine import Graph
from qengine.cli.clauses import CLAUSES
from qengine.cli.session import Session
from qengine.cli.shell import Shell
from qengine.syntax import parse

CHECKOUT = Path(__file__).resolve().parents[2]
WORLD = CHECKOUT / "examples" / "world"
ENDLESS = "MATCH p = (:Country)-[:borders*]-(:Country) RETURN count(*);"


class Terminal:
    """A shell in a pseudo-terminal of 100 columns and 30 lines; what it shows is read without escape sequences."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        variables = {
            **{name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")},
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "TERM": "xterm-256color",
        }
        variables |= {"PYTHONPATH": str(CHECKOUT), "PROMPT_TOOLKIT_NO_CPR": "1", "PAGER": "cat", **environment}
        if "NO_COLOR" not in environment:
            variables.pop("NO_COLOR", None)
        self._child = pexpect.spawn(
            sys.executable,
            ["-m", "qengine", *arguments],
            env=variables,
            cwd=folder,
            dimensions=(30, 100),
            encoding="utf-8",
            timeout=60,
        )
        self.expect("End a query with ;")
        self.expect_prompt()

    def expect(self, pattern: str) -> str:
        """Wait for a text; return what came before it and the text, plain."""
        return plain(self.raw(pattern))

    def raw(self, pattern: str) -> str:
        """As ``expect``, with the escape sequences."""
        self._child.expect(pattern)
        return str(self._child.before + self._child.after)

    def expect_prompt(self) -> str:
        """Wait until the shell reads: prompt_toolkit turns bracketed paste on."""
        return self.expect(r"\x1b\[\?2004h.*?> ?")

    def type(self, text: str) -> None:
        self._child.send(text)

    def control(self, letter: str) -> None:
        self._child.sendcontrol(letter)

    def interrupt(self) -> str:
        """Press Ctrl-C until the shell reads again: a key pressed before the query runs is lost.

        What is pressed once too often gives another prompt, later.
        """
        for _ in range(60):
            self.control("c")
            if self._child.expect([r"\x1b\[\?2004h.*?> ?", pexpect.TIMEOUT], timeout=2) == 0:
                return plain(self._child.before)
        raise AssertionError("the query can't be stopped")

    def ask(self, line: str) -> str:
        """Type a line and Enter; return what the shell shows up to its next prompt."""
        self.type(line + "\r")
        self.expect(r"\x1b\[\?2004l")
        return self.expect_prompt()

    def leave(self) -> int:
        """Press Ctrl-D and return the exit status."""
        self.control("d")
        return self.end()

    def end(self) -> int:
        """Wait for the shell to end and return the exit status, or minus the signal that ended it."""
        self._child.expect(pexpect.EOF)
        self._child.wait()  # it lets go of the terminal first: closing now would hang up on what still ends
        self._child.close()
        return -self._child.signalstatus if self._child.exitstatus is None else self._child.exitstatus


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path_factory.mktemp("home"), str(WORLD))
    yield terminal
    assert terminal.leave() == 0


def test_a_query_over_several_lines(shell: Terminal) -> None:
    shell.type("MATCH (c:Country)\r")
    shell.expect(r"\.\.\.\.")
    assert "│       198 │" in shell.ask("RETURN count(*) AS countries;")


def test_an_empty_line_ends_a_query(shell: Terminal) -> None:
    shell.type("MATCH (c:Country)\r")
    shell.expect(r"\.\.\.\.")
    shell.type("RETURN count(*) AS countries\r")
    shell.expect(r"\.\.\.\.")
    assert "│       198 │" in shell.ask("")


def test_errors_point_at_their_place(shell: Terminal) -> None:
    shown = shell.ask("RETURN oen;")
    assert "Semantic error" in shown and "    |        ^^^" in shown


def test_an_open_bracket_is_told_at_the_semicolon(shell: Terminal) -> None:
    assert "This '(' is never closed." in shell.ask("MATCH (c:Country RETURN c;")


def test_a_defect_leaves_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    class Broken:
        @property
        def schema(self) -> None:
            raise ZeroDivisionError("no way")

    shell = object.__new__(Shell)  # without a terminal
    shell._session = Session(Broken())  # type: ignore[arg-type]
    shell._execute(":schema")
    assert "Internal error: ZeroDivisionError: no way" in capsys.readouterr().err


def test_a_warning_follows_the_rows(shell: Terminal) -> None:
    shown = shell.ask("MATCH (c:Contry) RETURN c;")
    assert shown.index("└───┘") < shown.index("Warning: The graph has no label `Contry`")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (":help", ":profile QUERY"),
        (":schema", "(:Country)-[:borders {length_km: FLOAT}]-(:Country)  322"),
        (":explain MATCH (c:Country) RETURN c.name", "· c:Country"),
        (":profile MATCH (c:Country) RETURN count(*)", "rows=1 expected=1"),
        (":estimate MATCH (c:Country)-[:part_of]->(k)", "198 (counted"),
        (":estimate --method alley --samples 1000 MATCH (a)-[:borders]-(b)--(c)", "hits of 1,000 samples"),
        (":estimate -P least=5 --seed=1 MATCH (c:Country) WHERE c.population > $least", "198 (counted"),
        (":estimate --sampels 1000 MATCH (c)", "arguments: --sampels 1000.\nhint: Did you mean --samples?"),
        (":estimate --timeout 0 MATCH (c)", "wrong: argument --timeout: must be greater than 0."),
        (":estimate --seed 1", "hint: Type :estimate MATCH"),
        (":device cpu", "device is cpu"),
        (":param limit=2", "$limit = 2"),
        (":param {least: 2, name: 'Ada'}", "$name = 'Ada'"),
        (":param {least 2}", "expected NAME=VALUE or a map"),
        (":stats", "(:Country).population"),
        (":hlep", "hint: Did you mean :help?"),
        (":format nope", "hint: Use one of: table, vertical, csv, json, jsonl, markdown, arrow."),
        (":load /no/such/graph", "Storage error: /no/such/graph: there is no such file or folder"),
        (":explain", "hint: Type :explain MATCH"),
        (":timing maybe", "hint: Say on or off"),
        (":param no name=1", "expected NAME=VALUE"),
        (":help percentileCont", "percentileCont(NUMBER, "),
        (":help percentileKont", "hint: Did you mean percentileCont?"),
        (":help :schema", ":schema                    Show labels"),
        (":help timing", ":timing [on|off]           Show how long"),
        (":help db.labels", "CALL db.labels() :: (label :: STRING"),
        (":help match", "  MATCH (a:Person)-[r:KNOWS]->(b) RETURN a, r, b"),
        (":help order by", "Sort rows."),
        (":help MATHC", "hint: Did you mean MATCH?"),
        (":help nosuchword", "There is no clause, function, procedure or command nosuchword."),
        (":param x 5", "expected NAME=VALUE, such as limit=5"),
        (":h", ":profile QUERY"),
        (":functions percentile", "percentileDisc"),
        (":functions nosuchword", "hint: Type :functions for all."),
        (":run /no/such/file", "can't be read: No such file or directory."),
        (":output /no/such/folder/file", "can't be written: No such file or directory."),
        ("help", ":profile QUERY"),
        ("\\?", ":profile QUERY"),
        ("\\d;", "(:Country)-[:part_of]->(:Continent)  198"),
        ("HELP;", ":profile QUERY"),
    ],
)
def test_commands(shell: Terminal, command: str, expected: str) -> None:
    assert expected in shell.ask(command)


def test_help_fits_the_terminal(shell: Terminal) -> None:
    for command in (":help", ":functions"):
        assert 80 < max(map(len, shell.ask(command).splitlines())) < 100


@pytest.mark.parametrize("clause", CLAUSES)
def test_examples_of_clauses_are_statements_with_them(clause: str) -> None:
    example = CLAUSES[clause][1]
    assert clause in example
    parse(example)


def test_parameters_and_formats(shell: Terminal) -> None:
    shell.ask(":param x = 41")
    assert "with :param NAME=VALUE" in shell.ask("RETURN $unknown;")
    assert "format is csv" in shell.ask(":format csv")
    assert "a,b\n42,x\n" in shell.ask("RETURN $x + 1 AS a, 'x' AS b;")
    assert "format is table" in shell.ask(":format table")


def test_timing_follows_the_rows(shell: Terminal) -> None:
    assert "timing is on" in shell.ask(":timing on")
    shown = shell.ask("RETURN 1 AS one;")
    assert shown.index("└─────┘") < shown.index("1 row in ")
    seconds = [float(each) for each in re.findall(r"([\d.]+) ms", shown)]
    assert (
        len(seconds) == 3 and seconds[0] >= seconds[1] + seconds[2] - 0.2 and shown.rstrip().count("on the CPU)") == 1
    )
    assert "(planning 0.0 ms, " in shell.ask("RETURN 1 AS one;"), "the plan was kept"
    assert "timing is off" in shell.ask(":timing off")


def test_changes_and_transactions(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    assert "1 node created, 1 label added" in terminal.ask("CREATE (:Person);")
    assert "a transaction is open" in terminal.ask(":begin")
    assert "1 property set" in terminal.ask("MATCH (p:Person) SET p.name = 'Ann';")
    assert "rolled back" in terminal.ask(":rollback")
    assert "(:Person)" in terminal.ask("MATCH (p) RETURN p;")
    assert terminal.leave() == 0


def test_long_results_go_through_the_pager(shell: Terminal) -> None:
    assert "│ Zürich" in shell.ask("MATCH (c:City) RETURN c.name ORDER BY c.name;")


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("MATCH (c:Countr", "y"),
        ("MATCH (a)-[:bor", "ders"),
        ("MATCH (c:Country) RETURN c.indep", "endence_year"),
        ("UNW", "IND"),
        ("RETURN percentileC", "ont"),
        (":sche", "ma"),
        ("MATCH (c:Country)-[b:borders]-() RETURN b.l", "ength_km"),
        (":format m", "arkdown"),
        (":help percentileC", "ont"),
        ("MATCH (c:Country)\n:sche", "ma"),
    ],
)
def test_completion(shell: Terminal, typed: str, completed: str) -> None:
    shell.type(typed)
    shell.type("\t")
    shell.expect(completed)
    shell.control("c")
    shell.expect_prompt()


def test_a_command_between_the_lines_of_a_query(shell: Terminal) -> None:
    shell.type("MATCH (c:Country)\r")
    shell.expect(r"\.\.\.\.")
    shell.type(":device cpu\r")
    shell.expect("device is cpu")
    assert "MATCH (c:Country)" in shell.expect(r"\.\.\.\."), "the query is still there"
    assert "│       198 │" in shell.ask("RETURN count(*) AS countries;")


def test_files_to_run_and_to_write(shell: Terminal, tmp_path: Path) -> None:
    script, rows = tmp_path / "script", tmp_path / "rows"
    script.write_text("// two of them\n:format csv\nRETURN 1 AS one;\nRETURN\n2 AS two\n:format table\n")
    shown = shell.ask(f":run {script}")
    assert "one\n1\n\ntwo\n2\n" in shown and "format is table" in shown
    assert f"results go to {rows}" in shell.ask(f":output {rows}")
    assert "│" not in shell.ask("MATCH (c:Country) RETURN c LIMIT 1;")
    assert "results go to the screen" in shell.ask(":output")
    assert "un_member" in rows.read_text(), "not cut to the terminal's width"
    script.write_text(f":run {script}")
    assert "runs itself" in shell.ask(f":run {script}")
    assert "Storage" not in shell.ask(":clear")


def test_names_of_a_graph_do_not_steer_the_terminal(tmp_path: Path) -> None:
    odd = "P\x1b]0;owned\x07\u202e\x9b31m"
    Graph.from_records(
        [{"id": 1, "labels": [odd], "properties": {odd: odd}}, {"id": 2}], [{"type": odd, "start": 1, "end": 2}]
    ).save(tmp_path / "odd")
    terminal = Terminal(tmp_path, "odd")
    query = "MATCH p = (a)--(b) RETURN a, p;"
    for line in (":schema", ":stats", f":explain {query}", query, f":format csv\n{query}"):
        terminal.type(f"\x1b[200~{line}\x1b[201~\r")  # pasted
        terminal.raw(r"\x1b\[\?2004l")
        shown = terminal.raw(r"\x1b\[\?2004h")
        assert "owned" in shown and not re.search("\x1b\\]|[\x07\u202e\x9b]", shown)
        terminal.expect("> ?")
    assert terminal.leave() == 0


def test_nobody_else_reads_the_history(tmp_path: Path) -> None:
    history = tmp_path / "state" / "qengine" / "history"
    for _ in range(2):
        terminal = Terminal(tmp_path)
        terminal.ask("RETURN 'a secret' AS x;")
        assert terminal.leave() == 0
        assert stat.S_IMODE(history.stat().st_mode) == 0o600 and "a secret" in history.read_text()
        history.chmod(0o644)  # as an older version left it


def test_ctrl_c_stops_the_query_and_not_the_shell(shell: Terminal) -> None:
    shell.type("RETURN 'first' AS x; " + ENDLESS + "\r")
    shell.expect("│ first │")  # the second is begun, or will be before the interrupt is looked at
    assert "interrupted" in shell.interrupt()
    shell.type("RETURN 6 * 7 AS answer;\r")
    shell.expect("│     42 │")
    shell.expect_prompt()


def test_an_empty_start_then_load_save_and_history(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    assert terminal.ask(f":load {WORLD}").endswith("world>")
    assert "saved to copy" in terminal.ask(":save copy")
    terminal.ask("RETURN 'remembered' AS x;")
    assert terminal.leave() == 0
    terminal = Terminal(tmp_path, "copy")
    terminal.type("\x1b[A")  # the arrow up
    terminal.expect("remembered")
    terminal.control("c")
    terminal.expect_prompt()
    assert "Alt-Enter" in terminal.ask(":help")
    terminal.type("quit;\r")
    assert terminal.end() == 0


@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours(tmp_path: Path, environment: dict[str, str], coloured: bool) -> None:
    terminal = Terminal(tmp_path, **environment)
    terminal.type("RETURN oen;\r")
    raw = terminal.raw(r"\^\^\^")
    terminal.expect_prompt()
    assert ("\x1b[34m" in raw or "\x1b[1;31m" in raw) == coloured
    assert terminal.leave() == 0


def test_leaving_the_pager_early_leaves_the_shell(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, str(WORLD), PAGER="head -n 4")
    shown = terminal.ask("MATCH (a), (b:River) RETURN a.name, b.name;")
    assert "│ a.name" in shown and shown.count("\n") < 10
    assert "│ 1 │" in terminal.ask("RETURN 1 AS x;")
    assert terminal.leave() == 0
