"""The shell's own commands: lines that start with a colon."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qengine._nearest import nearest
from qengine.cli.arguments import leading_estimate_options, parameters_by_name
from qengine.cli.clauses import CLAUSES
from qengine.cli.formats import FORMATS
from qengine.cli.session import Session
from qengine.cli.terminal import Sink, warn
from qengine.errors import QengineError
from qengine.transaction import Transaction

Command = Callable[[Session, str, Sink], None]


class Quit(Exception):
    """Leave the shell."""


def run_command(session: Session, line: str, out: Sink) -> None:
    """Run one command line.

    Raises
    ------
    QengineError
        For an unknown command or a wrong argument.
    Quit
        For ``:quit``.
    """
    name, *rest = line.split(maxsplit=1)
    command = COMMANDS.get(name.lower().rstrip(";"))
    if command is None:
        near = nearest(name, COMMANDS)
        raise QengineError(f"There is no command {name}.", hint=f"Did you mean {near}?" if near else "Type :help.")
    command(session, "".join(rest).strip().rstrip(";"), out)


def _help(session: Session, argument: str, out: Sink) -> None:
    """Show this help, or what a clause, function, procedure or command does."""
    if argument:
        _explained(session, argument, out)
        return
    out.write("Type a query of one or several lines, and end it with ; or an empty line, or a\ncommand:\n\n")
    shown = {command: name for name, command in reversed(COMMANDS.items())}
    for name in reversed(shown.values()):
        out.write(_told(name))
    out.write(
        "\nTab completes, the arrow keys recall what was typed, Alt-Enter runs a query as it\n"
        "stands, Ctrl-C stops a query, Ctrl-D leaves the shell.\n"
    )


def _told(name: str) -> str:
    """Return what a command does."""
    return _beside(f"{name} {USAGE.get(name, '')}", COMMANDS[name].__doc__ or "")


def _beside(name: str, told: str) -> str:
    """Return a name with what is told of it, in lines that fit the terminal."""
    indent, width = " " * 29, max(60, shutil.get_terminal_size().columns - 1)
    return textwrap.fill(told, width, initial_indent=f"  {name:27}", subsequent_indent=indent) + "\n"


def _explained(session: Session, name: str, out: Sink) -> None:
    from qengine.catalog import functions as catalog

    name = name.removesuffix("()")
    function = catalog.lookup(name)
    if function is None:
        function = next((each.about for each in session.graph.user_functions if each.name == name), None)
    if function is not None and function.available:
        _function(function, out)
    elif name in (procedures := _procedures(session)):
        out.write(procedures[name])
    elif (clause := " ".join(name.upper().split())) in CLAUSES:
        does, example = CLAUSES[clause]
        out.write(f"{does}\n  {example}\n")
    elif (command := f":{name.lower().removeprefix(':')}") in COMMANDS:
        out.write(_told(command))
    else:
        near = catalog.nearest(name) or nearest(name, procedures) or nearest(name, CLAUSES)
        hint = f"Did you mean {near}?" if near else "Type :functions for functions' names, :help for the commands."
        raise QengineError(f"There is no clause, function, procedure or command {name}.", hint=hint)


def _procedures(session: Session) -> dict[str, str]:
    """Return how procedures are called and what they do, by their names."""
    rows = session.graph.query("SHOW PROCEDURES YIELD name, signature, description")
    return {row.name: f"  CALL {row.signature}\n{row.description}\n" for row in rows}


def _function(function: Any, out: Sink) -> None:
    for signature in function.signatures:
        shown = f"{function.name}{signature}" if function.kind != "operator" else f"{function.name}  {signature}"
        out.write(f"  {shown}\n")
    out.write(f"{function.doc}\n")
    if function.aliases:
        out.write(f"Also called {', '.join(function.aliases)}.\n")


def _functions(session: Session, argument: str, out: Sink) -> None:
    """Show the functions, or those whose names hold a word; :help NAME says more."""
    from qengine.catalog.functions import functions

    found = [each for each in functions() if each.kind != "operator" and each.available]
    found += [each.about for each in session.graph.user_functions]
    found = [each for each in found if argument.lower() in each.name.lower()]
    if not found:
        raise QengineError(f"There is no function with {argument!r} in its name.", hint="Type :functions for all.")
    for each in sorted(found, key=lambda each: each.name.lower()):
        out.write(_beside(each.name, each.doc))


def _schema(session: Session, argument: str, out: Sink) -> None:
    """Show labels, relationship types and properties."""
    out.write(f"{session.graph.schema!r}\n")


def _stats(session: Session, argument: str, out: Sink) -> None:
    """Show what is counted: relationships between labels, and the values of properties."""
    out.write(f"{session.graph.statistics!r}\n")


def _explain(session: Session, argument: str, out: Sink) -> None:
    """Show the plan of a query without running it."""
    _require(argument, ":explain MATCH …")
    session.run("EXPLAIN " + argument, out)


def _profile(session: Session, argument: str, out: Sink) -> None:
    """Run a query and show what each operator did."""
    _require(argument, ":profile MATCH …")
    session.run("PROFILE " + argument, out)


def _estimate(session: Session, argument: str, out: Sink) -> None:
    """Estimate how many rows a pattern has, by sampling; options as of qengine estimate --help."""
    defaults = {
        "params": session.parameters,
        "device": session.device,
        "timeout": session.timeout,
        "memory_limit": session.memory_limit,
        "gpu_memory_limit": session.gpu_memory_limit,
    }
    options, text = leading_estimate_options(argument, defaults)
    text = text.strip()
    _require(text, ":estimate MATCH …")
    with parameters_by_name():
        found = session.graph.estimate(text, **options)
    out.write(f"{found}\n")
    out.flush()
    for notice in found.notices:
        warn(notice, text)


def _timing(session: Session, argument: str, out: Sink) -> None:
    """Show how long queries take: on, off, or switch."""
    choices = {"on": True, "off": False, "": not session.timing}
    if argument.lower() not in choices:
        raise QengineError(f"The timing can't be {argument!r}.", hint="Say on or off.")
    session.timing = choices[argument.lower()]
    out.write(f"timing is {'on' if session.timing else 'off'}\n")


def _format(session: Session, argument: str, out: Sink) -> None:
    """Show or choose how results are written."""
    if argument:
        if argument not in FORMATS:
            raise QengineError(f"There is no format {argument!r}.", hint=f"Use one of: {', '.join(FORMATS)}.")
        session.format = argument
    out.write(f"format is {session.format}\n")


def _load(session: Session, argument: str, out: Sink) -> None:
    """Load another graph."""
    from qengine.cli.loading import load

    _require(argument, ":load PATH")
    if session.transaction is not None:
        raise QengineError("A transaction is open.", hint="Type :commit or :rollback first.")
    session.graph = load(argument)
    session.name = Path(argument).name or session.name
    out.write(f"{session.graph!r}\n")


def _save(session: Session, argument: str, out: Sink) -> None:
    """Save the graph as a folder that opens at once."""
    _require(argument, ":save PATH")
    place = _file(argument)
    session.graph.save(place)
    out.write(f"saved to {place}\n")


def _output(session: Session, argument: str, out: Sink) -> None:
    """Write results to a file from now on, without a name to the screen again."""
    place = _file(argument) if argument else None
    session.write_to(place)
    out.write(f"results go to {place or 'the screen'}\n")


def _run(session: Session, argument: str, out: Sink) -> None:
    """Run the queries and commands of a file."""
    from qengine.cli.script import run_script

    _require(argument, ":run FILE")
    place = _file(argument)
    text = read_script(place)
    if place.resolve() in session.running:
        raise QengineError(f"{argument} runs itself.", hint="Take the :run out of it.")
    session.running.append(place.resolve())
    try:
        run_script(session, text, out)
    finally:
        session.running.pop()


def read_script(place: Path) -> str:
    """Return the text of a file of queries.

    Raises
    ------
    QengineError
        If it can't be read.
    """
    try:
        return place.read_text(encoding="utf-8")
    except OSError as error:
        raise QengineError(f"{place}: can't be read: {error.strerror}.") from None
    except ValueError as error:  # no UTF-8, or no name of a file
        raise QengineError(f"{place}: can't be read: {error}.") from None


def _file(argument: str) -> Path:
    """Return the place that an argument names, of somebody's home too."""
    try:
        return Path(argument).expanduser()
    except RuntimeError as error:  # nobody's home
        raise QengineError(f"{argument}: {error}") from None


def _begin(session: Session, argument: str, out: Sink) -> None:
    """Begin a transaction: what follows takes effect together, with :commit."""
    if session.transaction is not None:
        raise QengineError("A transaction is open already.", hint="Type :commit or :rollback first.")
    session.transaction = session.graph.transaction(timeout=session.timeout)
    out.write("a transaction is open\n")


def _commit(session: Session, argument: str, out: Sink) -> None:
    """End the transaction and keep what it did."""
    _transaction(session).commit()
    session.transaction = None
    out.write("committed\n")


def _rollback(session: Session, argument: str, out: Sink) -> None:
    """End the transaction and take back what it did."""
    _transaction(session).rollback()
    session.transaction = None
    out.write("rolled back\n")


def _transaction(session: Session) -> Transaction:
    if session.transaction is None:
        raise QengineError("No transaction is open.", hint="Type :begin.")
    return session.transaction


def _clear(session: Session, argument: str, out: Sink) -> None:
    """Clear the screen."""
    from prompt_toolkit.shortcuts import clear

    if sys.stdout.isatty():
        clear()


def _device(session: Session, argument: str, out: Sink) -> None:
    """Show or choose where queries run."""
    if argument:
        from qengine.exec.devices import asked_device

        asked_device(argument)
        session.device = argument
    out.write(f"device is {session.device}\n")


def _param(session: Session, argument: str, out: Sink) -> None:
    """Show or set parameters: :param name=value, or :param {name: value, …}."""
    if argument:
        from qengine.cli.arguments import parameters

        try:
            session.parameters.update(parameters(argument))
        except ValueError as error:
            raise QengineError(str(error)) from None
    for name, value in session.parameters.items():
        out.write(f"${name} = {value!r}\n")


def _quit(session: Session, argument: str, out: Sink) -> None:
    """Leave the shell."""
    raise Quit


def _require(argument: str, usage: str) -> None:
    if not argument:
        raise QengineError("The command needs more.", hint=f"Type {usage}.")


COMMANDS: dict[str, Command] = {
    ":help": _help,
    ":functions": _functions,
    ":schema": _schema,
    ":stats": _stats,
    ":explain": _explain,
    ":profile": _profile,
    ":estimate": _estimate,
    ":timing": _timing,
    ":format": _format,
    ":output": _output,
    ":run": _run,
    ":load": _load,
    ":save": _save,
    ":begin": _begin,
    ":commit": _commit,
    ":rollback": _rollback,
    ":device": _device,
    ":param": _param,
    ":params": _param,
    ":clear": _clear,
    ":quit": _quit,
    ":exit": _quit,
    ":q": _quit,
    ":h": _help,
}

OF_QUERIES = (":explain", ":profile", ":estimate")
OF_FILES = (":load", ":save", ":output", ":run")
CHOICES = {":format": tuple(FORMATS), ":device": ("auto", "cpu", "gpu"), ":timing": ("on", "off")}
"""What the commands take that complete otherwise than queries do."""

USAGE = {
    ":help": "[NAME]",
    ":functions": "[WORD]",
    ":output": "[FILE]",
    ":run": "FILE",
    ":explain": "QUERY",
    ":profile": "QUERY",
    ":estimate": "[OPTIONS] QUERY",
    ":timing": "[on|off]",
    ":format": "[NAME]",
    ":load": "PATH",
    ":save": "PATH",
    ":device": "[NAME]",
    ":param": "[NAME=VALUE]",
}
