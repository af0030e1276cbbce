"""The table of cells, slowest first, and what it comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, inf, log

from tests.bench.atlas.cells import Cell
from tests.bench.atlas.suites import COUNT, Query
from tests.bench.cells import Status
from tests.bench.report import markdown

LEAST_MS = 5.0
"""A cell that takes no more than this is quick enough, whatever its base takes."""

_HEADER = ("pattern", "edges", "semantics", "count", "checked", "first ms", "second", "best", "× base", "way")


def digits(number: float) -> str:
    """Return a number with three digits, or all before the point."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


class Table:
    """The cells of a suite beside the cells of their bases.

    Parameters
    ----------
    cells
        By kind of the graph and text.
    target
        Milliseconds that a cell may take at best, or None.
    """

    def __init__(
        self, queries: Sequence[Query], cells: Mapping[tuple[str, str], Cell], limit: float, target: float | None
    ) -> None:
        found = [(query, cells[query.kind, query.text]) for query in queries if (query.kind, query.text) in cells]
        self._pairs = sorted(found, key=lambda pair: -pair[1].best)
        self._cells = cells
        self._limit = limit
        self._target = target

    def __str__(self) -> str:
        """Return the table in Markdown, and below it totals, mean, worst, and what misses a target."""
        rows = [self._row(query, cell) for query, cell in self._pairs]
        return "\n".join([markdown(_HEADER, rows), "", *self._summary()])

    @property
    def wrong(self) -> int:
        """How many counts differ from what they should be."""
        return sum(cell.is_wrong for _, cell in self._pairs)

    def _row(self, query: Query, cell: Cell) -> list[str]:
        name = cell.pattern if cell.form == COUNT else f"{cell.pattern}, {cell.form}"
        if cell.status is not Status.OK:
            told = "> 64 bits" if cell.is_overflow else str(cell.status)
            shown = [cell.detail if cell.status is Status.TIMEOUT else told, "", ""]
        else:
            second = digits(cell.milliseconds[1]) if len(cell.milliseconds) > 1 else ""
            shown = [digits(cell.milliseconds[0]), second, digits(cell.best)]
        ratio = self._ratio(query, cell)
        count = "" if cell.count is None else f"{cell.count:,}"
        times = "" if ratio is None or ratio == inf else digits(ratio)
        return [name, cell.shape, cell.semantics.lower(), count, cell.check, *shown, times, cell.way]

    def _ratio(self, query: Query, cell: Cell) -> float | None:
        base = self._cells.get((query.base.kind, query.base.text)) if query.base is not None else None
        return cell.best / base.best if base is not None and base.status is Status.OK else None

    def _summary(self) -> list[str]:
        cells = [cell for _, cell in self._pairs]
        times = [cell.best for cell in cells if cell.status is Status.OK]
        late = sum(cell.status is Status.TIMEOUT for cell in cells)
        refused = sum(cell.is_overflow for cell in cells)
        failed = [cell for cell in cells if cell.status not in (Status.OK, Status.TIMEOUT) and not cell.is_overflow]
        checked = sum(bool(cell.check) and not cell.is_wrong for cell in cells)
        wrong = [cell for cell in cells if cell.is_wrong]
        lines = [
            f"{len(cells)} cells: {len(times)} counted, {late} over the limit of {self._limit:g} s, "
            f"{refused} refused (over 64 bits), {len(failed)} failed; {checked} checked, {len(wrong)} wrong"
        ]
        if times:
            mean = exp(sum(map(log, times)) / len(times))
            first = sum(cell.milliseconds[0] for cell in cells if cell.status is Status.OK)
            lines.append(
                f"best runs take {digits(sum(times) / 1e3)} s in all (first runs {digits(first / 1e3)} s), "
                f"{digits(mean)} ms in the geometric mean, {digits(max(times))} ms at most"
            )
        lines += [f"FAILED {cell.text}: {cell.detail}" for cell in failed]
        lines += [f"{cell.check}, not {cell.count}: {cell.text}" for cell in wrong]
        return [*lines, *self._bases(), *self._beyond()]

    def _bases(self) -> list[str]:
        """Return a line on the cells beside their bases, and one for each that takes too many times as long."""
        ratios = [(self._ratio(query, cell), query, cell) for query, cell in self._pairs]
        known = [(ratio, query, cell) for ratio, query, cell in ratios if ratio is not None]
        if not known:
            return []
        missed = [(ratio, query, cell) for ratio, query, cell in known if ratio > query.most and cell.best > LEAST_MS]
        finite = [log(ratio) for ratio, _, _ in known if ratio < inf]
        mean = f", {digits(exp(sum(finite) / len(finite)))}× in the geometric mean" if finite else ""
        lines = [f"{len(known)} cells beside their bases{mean}; {len(missed)} miss both the factor and {LEAST_MS:g} ms"]
        return lines + [
            f"  {query.name} ({cell.shape}), {query.semantics.lower()}: "
            + (cell.detail if ratio == inf else f"{digits(ratio)}× of at most {query.most:g}×, {digits(cell.best)} ms")
            for ratio, query, cell in sorted(missed, key=lambda each: -each[0])
        ]

    def _beyond(self) -> list[str]:
        if self._target is None:
            return []
        beyond = [cell for _, cell in self._pairs if cell.best > self._target]
        names = ", ".join(f"{cell.pattern} ({cell.semantics.split()[-1].lower()})" for cell in beyond)
        return [f"{len(beyond)} cells beyond the target of {self._target:g} ms{': ' if beyond else ''}{names}"]
