"""What the command line and the shell share: a graph, its settings, running texts and showing results."""

from __future__ import annotations

import sys
import time
from dataclasses import field
from pathlib import Path
from typing import Any, TextIO

from qengine._frozen import record
from qengine.cli.arguments import parameters_by_name
from qengine.cli.formats import write
from qengine.cli.terminal import Sink, warn
from qengine.errors import QengineError
from qengine.explain import PlanResult
from qengine.graph import Graph
from qengine.result import Result
from qengine.transaction import Transaction


@record
class Session:
    """A graph and how to run queries on it.

    ``output``: the file that results go to instead; ``results``: how many have gone where they go now.
    ``running``: the files of queries that are being run, each by the one before. ``transaction``: of ``:begin``.
    """

    graph: Graph
    format: str = "table"
    parameters: dict[str, Any] = field(default_factory=dict)
    timeout: float | None = None
    memory_limit: int | None = None
    spill_directory: str | None = None
    gpu_memory_limit: int | None = None
    device: str = "auto"
    timing: bool = False
    name: str = "qengine"  # the shell's prompt
    output: TextIO | None = None
    results: int = 0
    running: list[Path] = field(default_factory=list)
    transaction: Transaction | None = None

    def statements(self, text: str) -> list[str]:
        """Split a text at its semicolons.

        Raises
        ------
        QuerySyntaxError
            If the text isn't in the language.
        """
        from qengine.syntax import parse

        return [text[each.span.start : each.span.end] for each in parse(text)]

    def run(self, statement: str, out: Sink) -> None:
        """Run one statement; write its rows in the session's format, what it has changed, its warnings, its time."""
        begin = time.perf_counter()
        with parameters_by_name():
            result = (self.transaction or self.graph).query(
                statement,
                self.parameters,
                device=self.device,
                timeout=self.timeout,
                memory_limit=self.memory_limit,
                spill_directory=self.spill_directory,
                gpu_memory_limit=self.gpu_memory_limit,
            )
        target = out if self.output is None else self.output
        if isinstance(result, PlanResult):
            rows = write_plan(result, self.format, target)
        else:
            rows = write(result, self.format, target, self.results) if result.columns else 0
        self.results += bool(result.columns)
        seconds = time.perf_counter() - begin
        if result.stats.changes is not None:
            print(result.stats.changes, file=target if self.format == "table" else sys.stderr)
        target.flush()
        out.flush()
        for notice in result.notices:
            warn(notice, statement)
        if self.timing:
            plural = "row" if rows == 1 else "rows"
            stats = result.stats
            print(
                f"{rows:,} {plural} in {seconds * 1e3:.1f} ms (planning {stats.planning_seconds * 1e3:.1f} ms, "
                f"execution {stats.seconds * 1e3:.1f} ms, on the {stats.device.upper()})",
                file=sys.stderr,
            )

    def close(self) -> None:
        """Take back a transaction that is still open, and close the file that results go to."""
        if self.transaction is not None:
            self.transaction.rollback()
            self.transaction = None
            print("The transaction was still open: what it did was taken back.", file=sys.stderr)
        self.write_to(None)

    def write_to(self, place: Path | None) -> None:
        """Write results to a file from now on, or where they went before.

        Raises
        ------
        QengineError
            If the file can't be written.
        """
        try:
            if self.output is not None:
                self.output.close()
            self.output = None
            self.output = None if place is None else place.open("w", encoding="utf-8")
        except (OSError, ValueError) as error:  # ValueError: no name of a file
            reason = error.strerror if isinstance(error, OSError) else error
            raise QengineError(f"{place}: can't be written: {reason}.", hint="Give another file.") from None
        self.results = 0


def write_plan(result: Result, format: str, out: Sink) -> int:
    """Write a plan as text, or of its steps each under its name; as JSON where that is the format."""
    rows = result.fetchall()
    for row in rows:
        if "step" in result.columns:
            print(f"-- {row['step'].replace('_', ' ')}", file=out)
        print(row["json"] if format in ("json", "jsonl") and "json" in result.columns else row["plan"], file=out)
    return len(rows)
