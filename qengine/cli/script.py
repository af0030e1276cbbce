"""Texts of queries and commands, as files and ``-c`` have them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from qengine.cli.commands import COMMANDS, OF_QUERIES, run_command
from qengine.cli.session import Session
from qengine.cli.terminal import Sink, report
from qengine.errors import QengineError, QueryInterrupted
from qengine.syntax import is_complete, tokens


def run_text(session: Session, text: str, out: Sink) -> bool:
    """Run a text; report the first error and return whether there was none.

    Raises
    ------
    QueryInterrupted
        By Ctrl-C, which is meant for the texts that follow, too.
    Quit
        By ``:quit``.
    """
    try:
        run_script(session, text, out)
    except QueryInterrupted:
        out.flush()
        raise
    except QengineError as error:
        out.flush()
        report(error)
        return False
    return True


def run_script(session: Session, text: str, out: Sink) -> None:
    """Run the statements and commands of a text.

    Raises
    ------
    QengineError
        For the first that fails; what follows isn't run.
    Quit
        By ``:quit``.
    """
    for piece in pieces(text):
        if piece.startswith(":"):
            run_command(session, piece, out)
        else:
            for statement in session.statements(piece):
                session.run(statement, out)


def pieces(text: str) -> Iterator[str]:
    """Cut a text into commands and the statements between them.

    A command is a line that begins with a colon where no statement is open, or with a command's own name outside of
    brackets; one that takes a query goes on to its ``;`` or to the next command.
    """
    held = ""
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        in_command = held.startswith(":")
        begins = line.lstrip().startswith(":")
        if begins and (in_command or not _is_open(held) or ends_in_command((held + line).rstrip("\n"))):
            yield from _unless_blank(held)
            held = line.lstrip()
        elif in_command and (_name(held) not in OF_QUERIES or is_complete(held)):
            yield held
            held = line
        else:
            held += line
    yield from _unless_blank(held)


def ends_in_command(text: str) -> bool:
    """Tell whether the last line is a command: its own name, outside of brackets, where a label would stand inside."""
    before, _, line = text.rpartition("\n")
    if _name(line) not in COMMANDS:
        return False
    marks = [before[each.span.start : each.span.end] for each in tokens(before) if each.kind == "punctuation"]
    return sum(map("([{".count, marks)) <= sum(map(")]}".count, marks))


def set_aside(text: str) -> tuple[str, str]:
    """Return what of a text to type on, and what to run: the command alone where one ends an open statement."""
    before, _, line = text.rpartition("\n")
    return (before + "\n", line) if ends_in_command(text) and _is_open(before) else ("", text)


def _name(line: str) -> str:
    return line.split(maxsplit=1)[0].lower().rstrip(";") if line.strip() else ""


def _is_open(text: str) -> bool:
    """Tell whether a text ends within a statement."""
    return not is_complete(text) and any(each.kind != "comment" for each in tokens(text))


def _unless_blank(text: str) -> Iterator[str]:
    if text.strip():
        yield text
