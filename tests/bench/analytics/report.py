"""What was measured, as text: ``python -m tests.bench.analytics.report FILE…`` of files of ``--out``."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import exp, log
from pathlib import Path

from tests.bench.analytics.draw import Analytical
from tests.bench.analytics.tables import SIZES

ENGINES = ("qengine", "duckdb")


@dataclass(frozen=True)
class Timed:
    """One query at one size: seconds by engine, None where it had no answer; ``wrong``: the answers differ."""

    query: Analytical
    size: str
    seconds: dict[str, float | None]
    wrong: bool
    detail: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times DuckDB's time is ours; 0 where only DuckDB has an answer, None where it has none."""
        ours, theirs = self.seconds["qengine"], self.seconds["duckdb"]
        return None if theirs is None else 0.0 if ours is None else theirs / ours

    def line(self) -> str:
        """Return it as a line of JSON."""
        return json.dumps(asdict(self))


def report(timed: Sequence[Timed], worst: int) -> str:
    """Return a section for each size, and one for the growth from each size to the next."""
    by_size = {size: [each for each in timed if each.size == size] for size in SIZES}
    found = {size: each for size, each in by_size.items() if each}
    parts = [f"## {size}\n\n{_ratios(each, worst)}\n" for size, each in found.items()]
    parts += [
        f"## Growth from {small} to {large}\n\n{_growth(found[small], found[large], worst)}\n"
        for small, large in pairwise(found)
    ]
    return "\n".join(parts)


def _ratios(timed: Sequence[Timed], worst: int) -> str:
    ratios = [each.ratio for each in timed if each.ratio is not None]
    lines = [
        f"{len(timed)} queries: {_mean([ratio for ratio in ratios if ratio]):.3g}× DuckDB in the geometric mean; "
        f"slower than it: {sum(ratio < 1 for ratio in ratios)}, under 0.67: {sum(ratio < 0.67 for ratio in ratios)}; "
        f"without an answer: {sum(ratio == 0 for ratio in ratios)}; DuckDB without: {len(timed) - len(ratios)}; "
        f"wrong: {sum(each.wrong for each in timed)}.",
        "",
    ]
    lines += [f"- WRONG {each.query.cypher}\n  {each.query.sql}" for each in timed if each.wrong]
    lines += [f"- no answer: {each.query.cypher} ({each.detail})" for each in timed if each.ratio == 0]
    slowest = sorted((each for each in timed if each.ratio), key=lambda each: each.ratio or 0.0)[:worst]
    return "\n".join([*lines, *(f"- {each.ratio:.3g}× ({_ms(each)}) {_told(each)}" for each in slowest)])


def _growth(small: Sequence[Timed], large: Sequence[Timed], worst: int) -> str:
    before = {each.query.name: each for each in small if each.ratio}
    grown = [
        (before[after.query.name].ratio / after.ratio, before[after.query.name], after)  # type: ignore[operator]
        for after in large
        if after.ratio and after.query.name in before
    ]
    grown.sort(key=lambda each: -each[0])
    lines = [f"{len(grown)} queries: {sum(times > 1.3 for times, _, _ in grown)} grow over 1.3 times as much.", ""]
    lines += [
        f"- {times:.3g}× as much as DuckDB ({_ms(one)} → {_ms(other)}) {_told(other)}"
        for times, one, other in grown[:worst]
    ]
    return "\n".join(lines)


def _mean(ratios: Sequence[float]) -> float:
    return exp(sum(map(log, ratios)) / max(1, len(ratios)))


def _ms(timed: Timed) -> str:
    return " / ".join(f"{1e3 * (timed.seconds[engine] or 0):.3g}" for engine in ENGINES) + " ms"


def _told(timed: Timed) -> str:
    return f"{timed.query.name}: {timed.query.cypher}"


def _read(text: str) -> Timed:
    fields: Mapping[str, object] = json.loads(text)
    return Timed(**{**fields, "query": Analytical(**fields["query"])})  # type: ignore[arg-type]


if __name__ == "__main__":
    print(report([_read(line) for name in sys.argv[1:] for line in Path(name).read_text().splitlines()], worst=15))
