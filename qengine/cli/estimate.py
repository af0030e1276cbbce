"""The command ``qengine estimate GRAPH QUERY``: a count with an interval."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from qengine.cli.arguments import Parser, add_estimate_options, add_graph, estimate_options, parameters_by_name
from qengine.cli.terminal import warn


def parser() -> Parser:
    """Return the command line's parser."""
    found = Parser(
        prog="qengine estimate",
        description="Estimate how many rows a pattern has, by sampling.",
        epilog='example:\n  qengine estimate examples/world "MATCH (a)-[:borders]-(b)-[:borders]-(c)" --rel-error 0.01',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_graph(found)
    found.add_argument("query", metavar="QUERY", help="MATCH … WHERE …, with or without RETURN")
    add_estimate_options(found)
    found.add_argument("--json", action="store_true", help="write the estimate as one JSON object")
    return found


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status.

    Raises
    ------
    QengineError
        For what is wrong with graph or query.
    """
    options = parser().parse_args(arguments)
    from qengine.cli.loading import load

    graph = load(options.graph)
    text = options.query.strip()
    with parameters_by_name():
        found = graph.estimate(text, **estimate_options(options))
    print(found.to_json() if options.json else found, flush=True)
    for notice in found.notices:
        warn(notice, text)
    return 0
