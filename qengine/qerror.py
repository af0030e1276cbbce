"""How far estimates are from the truth: q-errors of a workload, and their report (gSWORD §6.1, figure 13)."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from qengine._frozen import frozen
from qengine.errors import QengineError
from qengine.estimate import Estimate

if TYPE_CHECKING:
    from qengine.graph import Graph

_PLOT_FORMATS = (".svg", ".png")
_SMALL_MARKS = (1.1, 1.2, 1.5, 2.0, 5.0, 10.0)
_OF_COUNTING = ("params", "timeout", "memory_limit", "gpu_memory_limit", "threads")  # what counting is told, too


@frozen(held=True)
class Case:
    """A query of a workload; ``truth`` is its count, None where it must be counted first."""

    name: str
    query: str
    truth: int | None = None


@frozen(held=True)
class Measured:
    """A case with its estimate.

    ``truth``: the count that the estimate is compared with.
    """

    name: str
    truth: float
    estimate: Estimate

    @property
    def q_error(self) -> float:
        """Factor between truth and estimate."""
        return q_error(self.truth, self.estimate.value)

    @property
    def over(self) -> bool:
        """Whether the estimate is above the truth."""
        return self.estimate.value > self.truth

    @property
    def held(self) -> bool:
        """Whether the interval holds the truth."""
        return self.estimate.low <= self.truth <= self.estimate.high


@frozen(held=True)
class Summary:
    """Q-errors of some cases: median, 95th percentile, largest, largest over and under; how many intervals hold."""

    cases: int
    median: float
    p95: float
    worst: float
    worst_over: float
    worst_under: float
    held: int
    seconds: float


def q_error(truth: float, estimate: float) -> float:
    """Return max(c / ĉ, ĉ / c) with both at least 1."""
    c, found = max(1.0, truth), max(1.0, estimate)
    return max(c / found, found / c)


def read_workload(path: str | PathLike[str]) -> list[Case]:
    """Read a workload: CSV with a header or one JSON object a line, with ``query`` and perhaps ``name`` and ``count``.

    Raises
    ------
    QengineError
        If the file can't be read, there is no entry, or one has no query or no number as count.
    """
    place = Path(path)
    try:
        with place.open(newline="", encoding="utf-8") as file:
            entries = _json_lines(file) if place.suffix in (".jsonl", ".json") else list(csv.DictReader(file))
        if not entries:
            raise ValueError("it holds no query")
        return [_case(entry, number) for number, entry in enumerate(entries, 1)]
    except (OSError, UnicodeDecodeError, ValueError, csv.Error) as error:
        raise QengineError(
            f"{path} can't be read as a workload: {error}",
            hint="Give CSV with the columns name, query, count, or a JSON object with these a line.",
        ) from None


def measure(graph: Graph, cases: Iterable[Case], **options: Any) -> Iterator[Measured]:
    """Yield each case with its estimate; ``options`` are those of ``Graph.estimate``. What has no truth is counted.

    Raises
    ------
    QengineError
        As ``Graph.estimate``; its message begins with the name of the case.
    """
    limits = {name: options[name] for name in _OF_COUNTING if name in options}
    for case in cases:
        try:
            found = graph.estimate(case.query, **options)
            counted = case.truth is None
            truth = graph.estimate(case.query, method="exact", **limits).value if counted else float(case.truth or 0)
        except QengineError as error:
            error.message = f"query {case.name}: {error.message}"
            raise
        yield Measured(case.name, truth, found)


def summary(measured: Sequence[Measured]) -> Summary:
    """Summarize cases, of which there is at least one."""
    errors = sorted(each.q_error for each in measured)
    over = max((each.q_error for each in measured if each.over), default=1.0)
    under = max((each.q_error for each in measured if not each.over), default=1.0)
    p95 = errors[math.ceil(0.95 * len(errors)) - 1]
    held = sum(each.held for each in measured)
    seconds = sum(each.estimate.seconds for each in measured)
    return Summary(len(errors), median(errors), p95, errors[-1], over, under, held, seconds)


def write_csv(measured: Sequence[Measured], path: str | PathLike[str]) -> None:
    """Write one line a case: name, truth, q-error, over or under, and the attributes of the estimate."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        attributes = [name for name in Estimate.__dataclass_fields__ if name != "notices"]
        writer.writerow(["name", "truth", "q_error", "side", *attributes])
        for each in measured:
            side = "over" if each.over else "under"
            found = each.estimate.to_dict()
            writer.writerow([each.name, each.truth, each.q_error, side, *(found[name] for name in attributes)])


def plot(measured: Sequence[Measured], path: str | PathLike[str], title: str = "") -> None:
    """Draw the q-errors as SVG or PNG, by the ending of ``path``: overestimates upward from 1, underestimates downward.
    Estimates without an error are dots.

    Raises
    ------
    QengineError
        For another ending, or where matplotlib isn't installed.
    """
    if Path(path).suffix not in _PLOT_FORMATS:
        raise QengineError(f"{path}: q-errors are drawn as SVG or PNG.", hint="End the name in .svg or .png.")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise QengineError(
            "Drawing needs matplotlib, which isn't installed.", hint="Run pip install matplotlib."
        ) from None
    figure = Figure(figsize=(max(6.0, 0.12 * len(measured)), 4.0), layout="constrained")
    axes = figure.subplots()
    heights = [math.log10(each.q_error) * (1 if each.over else -1) for each in measured]
    axes.bar(range(len(heights)), heights, color=["tab:orange" if each.over else "tab:blue" for each in measured])
    axes.axhline(0, color="black", linewidth=0.8)
    exact = [index for index, height in enumerate(heights) if height == 0]
    axes.plot(exact, [0] * len(exact), "o", color="tab:green", markersize=4)  # bars without height can't be seen
    if len(exact) == len(heights):
        counted = sum(each.estimate.is_exact for each in measured)
        told = f"every estimate is the true count: {counted} of {len(heights)} were counted, not sampled"
        axes.text(0.5, 0.75, told, transform=axes.transAxes, ha="center")
    marks = _marks(max((each.q_error for each in measured), default=1.0))
    limit = math.log10(marks[-1])
    axes.set_ylim(-limit, limit)
    ticks = [(side * math.log10(mark), f"{mark:g}") for side in (-1, 1) for mark in marks]
    axes.set_yticks([0.0, *(height for height, _ in ticks)], ["1", *(name for _, name in ticks)])
    axes.set_ylabel("underestimated   q-error   overestimated")
    names = [each.name for each in measured]
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=6)
    axes.set_title(title)
    figure.savefig(path, metadata={"Date": None} if Path(path).suffix == ".svg" else None)


def _marks(worst: float) -> list[float]:
    """Return the q-errors that stand at the axis of a picture, the last of them the end of the scale."""
    if worst > _SMALL_MARKS[-1]:
        return [10.0**k for k in range(1, math.ceil(math.log10(worst)) + 1)]
    end = next(k for k, mark in enumerate(_SMALL_MARKS) if mark >= worst)
    return list(_SMALL_MARKS[max(0, end - 2) : end + 1])


def _json_lines(file: Iterable[str]) -> list[Any]:
    found = []
    for number, line in enumerate(file, 1):
        try:
            found += [json.loads(line)] if line.strip() else []
        except (ValueError, RecursionError) as error:
            raise ValueError(f"line {number} is no JSON: {error}") from None
    return found


def _case(entry: Any, number: int) -> Case:
    if not isinstance(entry, dict) or not entry.get("query") or not isinstance(entry["query"], str):
        raise ValueError(f"entry {number} has no query")
    name, count = str(entry.get("name") or number), entry.get("count")
    if count in (None, ""):
        return Case(name, entry["query"])
    try:
        return Case(name, entry["query"], int(count))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"entry {number} has the count {count!r:.80}, which is no number of rows") from None
