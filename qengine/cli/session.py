"""What the command line and the shell share: a graph, its settings, running texts and showing results."""

from __future__ import annotations

import sys
import time
from dataclasses import field
from typing import Any

from qengine._frozen import record
from qengine.cli.arguments import parameters_by_name
from qengine.cli.formats import write
from qengine.cli.terminal import Sink, report, warn
from qengine.errors import QengineError
from qengine.explain import PlanResult
from qengine.graph import Graph
from qengine.result import Result


@record
class Session:
    """A graph and how to run queries on it. ``prefix``: "EXPLAIN" or "PROFILE" put before every query."""

    graph: Graph
    format: str = "table"
    parameters: dict[str, Any] = field(default_factory=dict)
    timeout: float | None = None
    memory_limit: int | None = None
    gpu_memory_limit: int | None = None
    device: str = "auto"
    timing: bool = False
    name: str = "qengine"  # the shell's prompt

    def statements(self, text: str) -> list[str]:
        """Split a text at its semicolons.

        Raises
        ------
        QuerySyntaxError
            If the text isn't in the language.
        """
        from qengine.syntax import parse

        return [text[each.span.start : each.span.end] for each in parse(text)]

    def run_text(self, text: str, out: Sink) -> bool:
        """Run the statements of a text; report the first error and return whether there was none."""
        try:
            for statement in self.statements(text):
                self.run(statement, out)
        except QengineError as error:
            out.flush()
            report(error)
            return False
        return True

    def run(self, statement: str, out: Sink) -> None:
        """Run one statement; write its rows in the session's format, then its warnings and, if asked, its time."""
        begin = time.perf_counter()
        with parameters_by_name():
            result = self.graph.query(
                statement,
                self.parameters,
                device=self.device,
                timeout=self.timeout,
                memory_limit=self.memory_limit,
                gpu_memory_limit=self.gpu_memory_limit,
            )
        rows = (
            write_plan(result, self.format, out) if isinstance(result, PlanResult) else write(result, self.format, out)
        )
        seconds = time.perf_counter() - begin
        out.flush()
        for notice in result.notices:
            warn(notice, statement)
        if self.timing:
            plural = "row" if rows == 1 else "rows"
            planning = result.stats.planning_seconds
            print(
                f"{rows:,} {plural} in {seconds * 1e3:.1f} ms "
                f"(planning {planning * 1e3:.1f} ms, execution {result.stats.seconds * 1e3:.1f} ms, "
                f"{_device(result)})",
                file=sys.stderr,
            )


def _device(result: Result) -> str:
    """Return where a result was computed, and why, where that wasn't asked for."""
    stats = result.stats
    return stats.device if stats.device_reason == "as asked" else f"{stats.device}: {stats.device_reason.rstrip('.')}"


def write_plan(result: Result, format: str, out: Sink) -> int:
    """Write a plan as text, or of its steps each under its name; as JSON where that is the format."""
    rows = result.fetchall()
    for row in rows:
        if "step" in result.columns:
            print(f"-- {row['step'].replace('_', ' ')}", file=out)
        print(row["json"] if format in ("json", "jsonl") and "json" in result.columns else row["plan"], file=out)
    return len(rows)
