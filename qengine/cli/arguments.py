"""Arguments that several commands have."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from qengine.errors import SemanticError

GRAPH_HELP = (
    "a saved graph, a folder of nodes_*/rels_* CSV or Parquet files, an edge list (.txt, .gz), "
    "or a t/v/e graph file (.graph)"
)


def add_graph(parser: argparse.ArgumentParser) -> None:
    """Add the graph that a command needs."""
    parser.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)


def add_estimate_options(parser: argparse.ArgumentParser) -> None:
    """Add what ``Graph.estimate`` can be asked."""
    parser.add_argument("--method", default="auto", help="auto (default), wanderjoin, alley, guided, trawling or exact")
    parser.add_argument("--rel-error", type=float, metavar="SHARE", help="stop at this relative error")
    parser.add_argument("--confidence", type=float, default=0.95, help="of the interval (default: 0.95)")
    parser.add_argument("--budget-ms", type=float, metavar="MS", help="stop after so long")
    parser.add_argument("--samples", type=int, metavar="N", help="stop after so many samples")
    parser.add_argument("--seed", type=int, metavar="N", help="the same seed gives the same samples")
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto", help="where samples are drawn")
    parser.add_argument("--inheritance", action="store_true", help="on the GPU, let ended walks go on from others'")
    parser.add_argument(
        "-P", "--param", action="append", default=[], type=_parameter, metavar="NAME=VALUE",
        help="a parameter; the value is read as JSON, else as text (repeatable)",
    )  # fmt: skip


def estimate_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return what ``add_estimate_options`` has added, as arguments of ``Graph.estimate``."""
    names = ("method", "rel_error", "confidence", "budget_ms", "samples", "seed", "device", "inheritance")
    return {"params": dict(options.param), **{name: getattr(options, name) for name in names}}


def parameter(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE: the value as JSON, else as text; ValueError if there is no ``=`` or no name."""
    name, equals, value = (part.strip() for part in text.partition("="))
    name = name.removeprefix("$")
    if not equals or not name.replace("_", "a").isalnum():
        raise ValueError(f"{text}: expected NAME=VALUE")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


@contextmanager
def parameters_by_name() -> Iterator[None]:
    """Say of a parameter that has no value how it is given on the command line and in the shell."""
    try:
        yield
    except SemanticError as error:
        if error.code == "ParameterMissing":
            error.hint = "Give it with -P NAME=VALUE, in the shell with :param NAME=VALUE."
        raise


def _parameter(text: str) -> tuple[str, Any]:
    try:
        return parameter(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
