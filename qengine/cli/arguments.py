"""Arguments that several commands have."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from qengine._nearest import nearest
from qengine._printable import printable_line
from qengine.errors import QengineError, SemanticError
from qengine.exec.limits import size


class Parser(argparse.ArgumentParser):
    """A command line's parser, whose errors quote arguments without what would steer the terminal."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the usage and leave with status 2."""
        meant = _meant(self, message)
        super().error(printable_line(message) + (f"; did you mean {meant}?" if meant else ""))


GRAPH_HELP = (
    "a saved graph, a folder of nodes_*/rels_* CSV or Parquet files, or that Kùzu exported, an edge list "
    "(.txt, .gz), a t/v/e graph file (.graph), a script (.cypher), or GraphML, GEXF or JSON lines (.jsonl)"
)

_OF_ESTIMATES = (
    "method", "rel_error", "confidence", "budget_ms", "samples", "seed", "device", "inheritance",
    "timeout", "memory_limit", "gpu_memory_limit",
)  # fmt: skip
_LEADING_OPTIONS = re.compile(r"(?:\s*(?:--inheritance(?=\s)|--[a-z][a-z-]*(?:=|\s+)\S+|-P\s*\S+))*")


def add_graph(parser: argparse.ArgumentParser) -> None:
    """Add the graph that a command needs."""
    parser.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add how long a query may take, and how much memory."""
    parser.add_argument("--timeout", type=_positive, metavar="SECONDS", help="stop a query after so long")
    parser.add_argument("--memory-limit", type=_size, metavar="BYTES", help="what a query may hold, such as 500M or 4G")
    parser.add_argument("--gpu-memory-limit", type=_size, metavar="BYTES", help="what a query may use on the GPU")


def add_device(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the device; ``what``: says in the help what is done there."""
    parser.add_argument(
        "--device", type=_device, default="auto", metavar="NAME",
        help=f"{what}: auto (default), cpu, gpu (all of them), or some by their numbers, as gpu:0 or gpu:0,1",
    )  # fmt: skip


def add_estimate_options(parser: argparse.ArgumentParser) -> None:
    """Add what ``Graph.estimate`` can be asked."""
    parser.add_argument("--method", default="auto", help="auto (default), wanderjoin, alley, guided, trawling or exact")
    parser.add_argument("--rel-error", type=float, metavar="SHARE", help="stop at this relative error")
    parser.add_argument("--confidence", type=float, default=0.95, help="of the interval (default: 0.95)")
    parser.add_argument("--budget-ms", type=float, metavar="MS", help="stop after so long")
    parser.add_argument("--samples", type=int, metavar="N", help="stop after so many samples")
    parser.add_argument("--seed", type=int, metavar="N", help="the same seed gives the same samples")
    add_device(parser, "where samples are drawn")
    parser.add_argument("--inheritance", action="store_true", help="on the GPU, let ended walks go on from others'")
    parser.add_argument(
        "-P", "--param", action="append", default=[], type=_parameter, metavar="NAME=VALUE",
        help="a parameter; the value is read as JSON or a literal of Cypher, else as text (repeatable)",
    )  # fmt: skip
    add_limits(parser)


def estimate_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return what ``add_estimate_options`` has added, as arguments of ``Graph.estimate``."""
    return {"params": dict(options.param), **{name: getattr(options, name) for name in _OF_ESTIMATES}}


def leading_estimate_options(text: str, defaults: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Read the options before a query, as ``--samples 1000 MATCH …``: arguments of ``Graph.estimate``, and the query.

    ``defaults``: arguments that hold where no option says otherwise; parameters are added to theirs.

    Raises
    ------
    QengineError
        For an option or a value that there isn't.
    """
    words = _LEADING_OPTIONS.match(text)
    assert words is not None
    parser = _Refusing(add_help=False, allow_abbrev=False)
    add_estimate_options(parser)
    parser.set_defaults(**{name: value for name, value in defaults.items() if name != "params"})
    found = estimate_options(parser.parse_args(words[0].split()))
    return {**found, "params": {**defaults.get("params", {}), **found["params"]}}, text[words.end() :]


def parameter(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE: the value as JSON or as a literal of Cypher, else as text.

    ``NAME => VALUE`` is the same. ValueError if there is no ``=`` or no name.
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    value = value.removeprefix(">").lstrip()
    name = name.removeprefix("$")
    if not equals or not name.replace("_", "a").isalnum():
        raise ValueError(f"{text}: expected NAME=VALUE, such as limit=5")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        pass
    from qengine.formats.literals import parse_literal

    try:
        return name, parse_literal(value)
    except QengineError:
        return name, value


def parameters(text: str) -> dict[str, Any]:
    """Read NAME=VALUE as ``parameter`` does, or a map of Cypher: ``{name: value, …}``; ValueError for anything else."""
    if not text.startswith("{"):
        return dict([parameter(text)])
    from qengine.formats.literals import parse_literal

    try:
        found = parse_literal(text)
    except QengineError as error:
        raise ValueError(f"{text}: expected NAME=VALUE or a map: {error.message}") from None
    return dict(found)


@contextmanager
def parameters_by_name() -> Iterator[None]:
    """Say of a parameter that has no value how it is given on the command line and in the shell."""
    try:
        yield
    except SemanticError as error:
        if error.code == "ParameterMissing":
            error.hint = "Give it with -P NAME=VALUE, in the shell with :param NAME=VALUE."
        raise


class _Refusing(argparse.ArgumentParser):
    """Raises what is wrong instead of leaving the program."""

    def error(self, message: str) -> NoReturn:
        meant = _meant(self, message)
        hint = f"Did you mean {meant}?" if meant else "qengine estimate --help names those that there are."
        raise QengineError(f"The options are wrong: {message}.", hint=hint)


def _meant(parser: argparse.ArgumentParser, message: str) -> str | None:
    """Return the option that a misspelled one probably means."""
    wrong, _, given = message.partition(": ")
    if wrong != "unrecognized arguments":
        return None
    name = given.split()[0]
    return f"-f {name}" if os.path.isfile(name) else nearest(name, parser._option_string_actions)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"not a number: {text!r}") from None
    if not value > 0:
        raise argparse.ArgumentTypeError("must be greater than 0")
    return value


def _device(text: str) -> str:
    from qengine.exec.devices import asked_device

    try:
        asked_device(text)
    except QengineError as error:
        raise argparse.ArgumentTypeError(f"{error.message} {error.hint}") from None
    return text


def _size(text: str) -> int:
    try:
        return size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _parameter(text: str) -> tuple[str, Any]:
    try:
        return parameter(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
