"""The interactive shell."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth

from qengine._printable import printable_line
from qengine.cli.commands import Quit
from qengine.cli.completion import ShellCompleter
from qengine.cli.highlight import STYLE, QueryLexer
from qengine.cli.pager import PagedOutput, PagerClosed
from qengine.cli.script import ends_in_command, run_script, set_aside
from qengine.cli.session import Session
from qengine.cli.terminal import colours, report, report_unforeseen
from qengine.errors import QengineError

_WORDS = {
    **dict.fromkeys(("help", "?", ".help", "\\h", "\\?"), ":help"),
    **dict.fromkeys(("exit", "quit", ".exit", ".quit", "\\q"), ":quit"),
    **dict.fromkeys((".tables", ".schema", "\\d", "\\dt"), ":schema"),
}
"""What newcomers, and those who come from DuckDB, SQLite or PostgreSQL, type for commands, with and without ``;``."""


class Shell:
    """Reads queries and commands until Ctrl-D or ``:quit``."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._prompt: PromptSession[str] = PromptSession(
            history=_history(),
            completer=ShellCompleter(session),
            complete_while_typing=False,
            auto_suggest=AutoSuggestFromHistory(),
            lexer=QueryLexer(),
            style=STYLE,
            multiline=Condition(self._unfinished),
            prompt_continuation=lambda width, number, wrapped: "." * (width - 1) + " ",
            key_bindings=_bindings(),
            color_depth=None if colours(sys.stdout) else ColorDepth.DEPTH_1_BIT,
        )

    def run(self) -> int:
        """Run the shell and return the exit status."""
        print(f"{self._session.graph!r}. End a query with ; or an empty line; :help helps.")
        if not self._session.graph.node_count:
            print("The graph is empty: open one with :load PATH, or CREATE what it is to hold.")
        unfinished = ""  # what was typed of a query before a command
        while True:
            try:
                name = printable_line(self._session.name)
                text = self._prompt.prompt(f"{name}> ", default=unfinished)
                unfinished, text = set_aside(text)
                if text.strip():
                    self._execute(text)
            except KeyboardInterrupt:
                unfinished = ""  # Ctrl-C clears the line
            except (EOFError, Quit):
                self._session.close()
                return 0

    def _execute(self, text: str) -> None:
        out = PagedOutput()
        try:
            if self._session.output is None:
                self._session.results = 0  # each text's stand apart
            run_script(self._session, _WORDS.get(_word(text), text), out)
            out.flush()
        except QengineError as error:
            out.flush()
            report(error)
        except KeyboardInterrupt:
            out.flush()
            print("interrupted", file=sys.stderr)
        except PagerClosed:
            out.flush()
        except Quit:
            raise
        except Exception as error:  # a defect must not take the shell with it
            out.flush()
            report_unforeseen(error, "the shell goes on")

    def _unfinished(self) -> bool:
        """Tell whether Enter adds a line instead of running the text."""
        from qengine.syntax import is_complete

        text = self._prompt.default_buffer.document.text
        ended = is_complete(text) or text.endswith("\n") or ends_in_command(text)  # by ; or an empty line
        return bool(text.strip()) and not _is_command(text) and not ended


def _is_command(text: str) -> bool:
    return text.lstrip().startswith(":") or _word(text) in _WORDS


def _word(text: str) -> str:
    return text.strip().rstrip(";").lower()


def _history() -> Any:
    """Return the history in the user's state folder, which nobody else can read; in memory where that can't be."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    file = state / "qengine" / "history"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600, exist_ok=True)
        file.chmod(0o600)  # an older one may be wider
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(file))


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("escape", "enter")
    def _submit(event: KeyPressEvent) -> None:
        """Alt-Enter runs the text as it stands."""
        event.current_buffer.validate_and_handle()

    return bindings
