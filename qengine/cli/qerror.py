"""The command ``qengine qerror GRAPH WORKLOAD``: how far estimates are from true counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from qengine.cli.arguments import Parser, add_estimate_options, add_graph, estimate_options, parameters_by_name
from qengine.cli.terminal import report, room_of, standard_output, warn
from qengine.errors import QengineError, QueryInterrupted

if TYPE_CHECKING:
    from qengine import qerror

_COLUMNS = ("name", "truth", "estimate", "q-error", "", "interval", "method", "samples", "hits", "ms")


def parser() -> Parser:
    """Return the command line's parser."""
    found = Parser(
        prog="qengine qerror",
        description="Compare estimates with true counts: q-errors, over and under.",
        epilog="WORKLOAD is CSV with the columns name, query and count, or a JSON object with these a line. Where a "
        "count is missing, the query is counted. A query that fails is reported, and the others go on.",
    )
    add_graph(found)
    found.add_argument("workload", metavar="WORKLOAD", help="queries and their counts (.csv, .jsonl)")
    add_estimate_options(found)
    found.add_argument("--csv", metavar="FILE", help="also write the table there")
    found.add_argument("--plot", metavar="FILE", help="also draw the q-errors there (.svg, .png; needs matplotlib)")
    return found


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status.

    Raises
    ------
    QengineError
        For what is wrong with graph or workload. What is wrong with a query is reported, and the others go on.
    """
    options = parser().parse_args(arguments)
    from qengine import qerror
    from qengine.cli.loading import load

    cases = qerror.read_workload(options.workload)
    graph = load(options.graph)
    measured: list[tuple[qerror.Case, qerror.Measured]] = []
    failed = False
    try:
        for case in cases:
            try:
                with parameters_by_name():
                    measured += [(case, each) for each in qerror.measure(graph, [case], **estimate_options(options))]
            except QueryInterrupted:
                raise
            except QengineError as error:  # the others can be measured all the same
                report(error)
                failed = True
    finally:  # what was measured before Ctrl-C is not lost
        if measured:
            _show(measured)
    found = [each for _, each in measured]
    if options.csv:
        qerror.write_csv(found, options.csv)
    if options.plot and found:
        qerror.plot(found, options.plot, title=Path(options.workload).name)
    return 1 if failed else 0


def _show(measured: Sequence[tuple[qerror.Case, qerror.Measured]]) -> None:
    """Write the table of what was measured, its summary and warnings."""
    from qengine import qerror
    from qengine.cli.table import table_lines

    rows = [_row(each) for _, each in measured]
    out = standard_output()
    for line in table_lines(_COLUMNS, rows, room_of(out)):
        out.write(f"{line}\n")
    print(_told(qerror.summary([each for _, each in measured])), flush=True)
    for case, each in measured:
        for notice in each.estimate.notices:
            warn(notice, case.query.strip())


def _row(each: qerror.Measured) -> tuple[object, ...]:
    found = each.estimate
    side = "" if each.q_error == 1 else "over" if each.over else "under"
    interval = f"[{found.low:.4g}, {found.high:.4g}]{'' if each.held else ' missed'}"
    return (
        each.name,
        round(each.truth),
        round(found.value),
        round(each.q_error, 3),
        side,
        interval,
        found.method,
        found.samples,
        found.hits,
        round(found.seconds * 1e3, 1),
    )


def _told(found: qerror.Summary) -> str:
    queries = "1 query" if found.cases == 1 else f"{found.cases} queries"
    return (
        f"{queries}: q-error median {found.median:.3g}, 95 % below {found.p95:.3g}, "
        f"worst over {found.worst_over:.3g}, worst under {found.worst_under:.3g}; "
        f"{found.held} intervals hold the count; {found.seconds:.2f} s"
    )
