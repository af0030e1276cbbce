"""Tables in Markdown: times by workload and engine, how many times faster we are, and the thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.bench import engines
from tests.bench.cells import Outcome, Status
from tests.bench.thresholds import OURS, Verdict
from tests.bench.workloads import Suite


def suite_report(suite: Suite, names: Sequence[str], outcome: Outcome) -> str:
    """Return the table of a suite, the reasons of its gaps, and the verdicts on its thresholds."""
    names = [name for name in names if outcome.takes_part(name)]
    header = ["workload", "answer", *(f"{name} {engines.version(name)}" for name in names)]
    rows = [
        [workload.name, _answer(outcome, workload.name)] + [_time(outcome, name, workload.name) for name in names]
        for workload in suite.workloads
    ]
    parts = [f"### {suite.name}", markdown(header, rows), *_reasons(outcome)]
    if suite.thresholds:
        parts.append(verdicts(threshold.judge(outcome) for threshold in suite.thresholds))
    return "\n\n".join(parts)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose columns are aligned in the text too."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in (header, rule, *rows)
    )


def verdicts(judged: Iterable[Verdict]) -> str:
    """Return one line a threshold."""
    marks = {True: "holds ", False: "FAILS ", None: "open  "}
    return "\n".join(f"- {marks[verdict.holds]} {verdict.text}" for verdict in judged)


def duration(seconds: float) -> str:
    """Return a time with three digits, in seconds or milliseconds."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def _answer(outcome: Outcome, workload: str) -> str:
    for (_, name), cell in outcome.cells.items():
        if name == workload and cell.status is Status.OK:
            return f"{cell.answer:,}" if isinstance(cell.answer, int) else f"{len(cell.answer or ())} rows"
    return "?"


def _time(outcome: Outcome, engine: str, workload: str) -> str:
    cell = outcome.cells.get((engine, workload))
    if cell is None:
        return ""
    if cell.status is not Status.OK:
        return {Status.UNSUPPORTED: "–", Status.TIMEOUT: cell.detail}.get(cell.status, str(cell.status))
    ours = outcome.seconds(OURS, workload)
    ratio = f" ({cell.seconds / ours:.3g}×)" if ours is not None and engine != OURS else ""
    return duration(cell.seconds) + ratio


def _reasons(outcome: Outcome) -> list[str]:
    by_reason: dict[tuple[str, str], list[str]] = {}
    for cell in outcome.cells.values():
        if cell.status in (Status.FAILED, Status.MEMORY):
            by_reason.setdefault((cell.engine, cell.detail), []).append(cell.workload)
    told = [f"- {engine}, {', '.join(names)}: {detail}" for (engine, detail), names in by_reason.items()]
    return ["\n".join(told)] if told else []
