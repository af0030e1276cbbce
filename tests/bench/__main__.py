"""The command: ``python -m tests.bench [--suite NAME …] [--engines a,b] [--repeat N] [--json FILE]``."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from tests.bench import datasets, engines, footprint, report, workloads
from tests.bench.cells import Cell, Outcome
from tests.bench.runner import Limits, run_suite

_CHECKOUT = Path(__file__).resolve().parents[2]
_USUAL = ("rmat16", "rmat18", "labelled", "social", "load", *footprint.SUITES)


def main() -> int:
    """Run the suites, print their tables, and fail where two engines disagree or a figure is missing."""
    options = _options()
    names = [name for name in options.engines if engines.is_installed(name)]
    limits = Limits(seconds=options.limit, bytes=options.memory << 30, repeats=options.repeat)
    records: list[dict[str, object]] = []
    problems: list[str] = []
    for suite_name in options.suite or _USUAL:
        if suite_name in footprint.SUITES:
            text, failed = footprint.report(suite_name, options.data, names)
            print(text, end="\n\n", flush=True)
            problems += [f"FAILED: {figure}" for figure in failed]
            continue
        suite = workloads.suite(suite_name, options.data)
        if options.only:
            suite = suite.only(options.only.split(","))
        datasets.prepare(suite.dataset)
        cells = run_suite(suite, names, options.data, limits, _tell)
        outcome = Outcome.of(cells)
        records += [{"suite": suite_name, **asdict(cell)} for cell in cells]
        wrong = outcome.mismatches(suite.expected)
        problems += [f"WRONG ANSWER: {suite_name}, {sentence}" for sentence in wrong]
        print(report.suite_report(suite, names, outcome), end="\n\n", flush=True)
    if options.json:
        options.json.write_text(json.dumps(records, indent=1))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=main.__doc__)
    suites = (*workloads.SUITES, *footprint.SUITES)
    parser.add_argument("--suite", action="append", choices=suites, help="may be repeated; default: all but tiny")
    parser.add_argument("--engines", type=_engines, default=engines.NAMES, help="a,b; default: all installed")
    parser.add_argument("--only", help="workloads of the suites, a,b; default: all of them")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the fastest counts (default: 3)")
    parser.add_argument("--limit", type=float, default=45.0, help="seconds for one run (default: 45)")
    parser.add_argument("--memory", type=int, default=12, help="GiB for one engine (default: 12)")
    parser.add_argument("--data", type=Path, default=_CHECKOUT / "bench-data", help="folder of the generated graphs")
    parser.add_argument("--json", type=Path, help="also write all cells to this file")
    return parser.parse_args()


def _engines(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(engines.NAMES):
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(engines.NAMES)}")
    return names


def _tell(cell: Cell) -> None:
    told = report.duration(cell.seconds) if cell.answer is not None else f"{cell.status}: {cell.detail}"
    print(f"  {cell.engine:10} {cell.workload:10} {told}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
