"""The command ``qengine``: one query, a file of queries, or an interactive shell."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from logging import NullHandler, getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qengine._nearest import nearest
from qengine.cli.arguments import GRAPH_HELP, Parser, add_device, add_limits, parameter
from qengine.cli.lean import import_less
from qengine.cli.terminal import has_no_room, report, report_unforeseen, standard_output, write_any_character
from qengine.errors import QengineError, QueryInterrupted

if TYPE_CHECKING:
    from qengine.graph import Graph

EXIT_OK = 0
EXIT_ERROR = 1
EXIT_INTERRUPTED = 130

_COMMANDS = ("calibrate", "estimate", "qerror", "warmup")  # modules beside this one; anything else is a graph
_FORMATS = ("table", "vertical", "csv", "json", "jsonl", "markdown", "arrow")
_EPILOG = """examples:
  qengine --demo                               open a shell on a graph of the world's countries
  qengine mygraph -c "MATCH (n) RETURN count(*)"
  qengine edges.txt.gz -f questions.cypher --format csv > answers.csv
  echo "MATCH (a)-->(b) RETURN a, b LIMIT 5" | qengine mygraph

commands:
  qengine calibrate                            measure what searches take on this machine, for the planner
  qengine estimate GRAPH QUERY                 estimate how many rows a pattern has (see its --help)
  qengine qerror GRAPH WORKLOAD                compare estimates with true counts (see its --help)
  qengine warmup                               compile the GPU's kernels now, so that no query waits for it

exit status: 0 all went well, 1 a query or a file failed, 2 wrong usage, 130 interrupted
"""


def parser() -> Parser:
    """Return the command line's parser."""
    found = Parser(
        prog="qengine",
        description="Ask questions of a graph in a Cypher-style language.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument(
        "graph",
        nargs="?",
        metavar="GRAPH",
        help=GRAPH_HELP,
    )
    found.add_argument("--demo", action="store_true", help="open a graph of the world's countries instead of GRAPH")
    found.add_argument(
        "-c",
        "--command",
        action="append",
        metavar="QUERY",
        help="run this query or command (:schema …) and exit (repeatable)",
    )
    found.add_argument("-f", "--file", action="append", metavar="FILE", help="run the queries of this file and exit")
    found.add_argument("--format", choices=_FORMATS, default="table", help="how results are written (default: table)")
    found.add_argument(
        "-P", "--param", action="append", default=[], metavar="NAME=VALUE",
        help="a parameter; the value is read as JSON or a literal of Cypher, else as text (repeatable)",
    )  # fmt: skip
    add_limits(found)
    found.add_argument("--spill-directory", metavar="DIR", help="where rows beyond the memory limit go meanwhile")
    add_device(found, "where queries run")
    found.add_argument("--version", action=_Version, help="tell the version, the build, the GPU, and leave")
    return found


class _Version(argparse.Action):
    """Prints what is running, which takes a moment to find out."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest=argparse.SUPPRESS, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from qengine.cli.version import version_text

        print(version_text())
        parser.exit()


def command() -> int:
    """Run as a process of its own: the entry point of ``qengine`` and ``python -m qengine``."""
    import_less()
    write_any_character()
    getLogger("qengine").addHandler(NullHandler())  # warnings follow the rows that they are about
    status = main()
    # `python -m` ends by SIGINT, whatever the status, when Ctrl-C once came while code from text ran, as in making a
    # class: also where that was caught. Running such code again makes it forget.
    exec("")
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `qengine … | head` ends quietly
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] in _COMMANDS:
        return _reported(lambda: import_module(f"qengine.cli.{words[0]}").main(words[1:]))
    _refuse_mistyped_command(words)
    options = parser().parse_args(words)
    if options.demo and options.graph:
        parser().error("--demo is a graph of its own: leave GRAPH out")
    try:
        parameters = dict(parameter(each) for each in options.param)
    except ValueError as error:
        parser().error(str(error))
    return _reported(lambda: _run(options, parameters))


def _refuse_mistyped_command(words: Sequence[str]) -> None:
    """Name the command that is nearest to a first word that is no file, rather than complain of what follows it."""
    if not words or words[0].startswith(("-", "~")):
        return
    near = nearest(words[0], _COMMANDS)
    if near is not None and not Path(words[0]).exists():
        parser().error(f"there is no file, folder or command {words[0]}; did you mean qengine {near}?")


def _reported(work: Callable[[], int]) -> int:
    try:
        return work()
    except QengineError as error:
        report(error)
        return EXIT_INTERRUPTED if isinstance(error, QueryInterrupted) else EXIT_ERROR
    except KeyboardInterrupt:
        report(QueryInterrupted("The command was interrupted."))
        return EXIT_INTERRUPTED
    except Exception as error:
        report_unforeseen(error, "please report it with the query")
        if has_no_room(error):
            sys.stdout = None  # what it still holds back would fail again at the end
        return EXIT_ERROR


def _run(options: argparse.Namespace, parameters: dict[str, Any]) -> int:
    from qengine.cli.commands import Quit
    from qengine.cli.script import run_text
    from qengine.cli.session import Session

    texts = _texts(options)
    session = Session(
        _load(options.graph, options.demo),
        format=options.format,
        parameters=parameters,
        timeout=options.timeout,
        memory_limit=options.memory_limit,
        spill_directory=options.spill_directory,
        gpu_memory_limit=options.gpu_memory_limit,
        device=options.device,
    )
    if texts is None:
        from qengine.cli.shell import Shell

        if hasattr(signal, "SIGPIPE"):
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # leaving the pager early leaves the shell standing
        session.name = (
            Path(options.graph).resolve().name if options.graph else "world" if options.demo else session.name
        )
        return Shell(session).run()
    failed = False
    out = standard_output()
    try:
        for text in texts:
            failed |= not run_text(session, text, out)
    except Quit:
        pass
    session.close()
    return EXIT_ERROR if failed else EXIT_OK


def _texts(options: argparse.Namespace) -> list[str] | None:
    """Return the texts to run, None for a shell."""
    from qengine.cli.commands import read_script

    texts: list[str] = list(options.command or [])
    texts += [sys.stdin.read() if name == "-" else read_script(Path(name)) for name in options.file or []]
    if not texts and not sys.stdin.isatty():
        texts.append(sys.stdin.read())
    return texts or None


def _load(path: str | None, demo: bool) -> Graph:
    from qengine import Graph, example

    if demo:
        return example()
    if path is None:
        return Graph.from_records(nodes=[])
    from qengine.cli.loading import load

    return load(path)
