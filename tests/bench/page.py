"""A page with a picture that anyone can make: ``make benchmark``, or ``python -m tests.bench.page [--out FILE]``.

Two graphs are generated, small enough that the whole takes less than five minutes on two cores; every engine that is
installed loads them and answers the same questions. Answers are compared before a time is shown, and the command exits
with 1 where they differ. The page is one file without scripts, and fetches nothing.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from tests.bench import datasets, engines, report, workloads
from tests.bench.cells import Cell, Outcome, Status
from tests.bench.patterns import Pattern
from tests.bench.runner import Limits, run_suite
from tests.bench.thresholds import OURS
from tests.bench.workloads import PropertyQuery, Suite, Workload

_CHECKOUT = Path(__file__).resolve().parents[2]
_ENGINES = ("qengine", "duckdb", "kuzu", "igraph", "networkx")
_COLOURS = ("#1f8f7a", "#e0a030", "#4c8eda", "#8f7cc4", "#d9626a")
_PARTS = {
    "rmat14": (
        "Counting patterns",
        "A random graph with a few hubs (R-MAT, 16,384 vertices, edge factor 16), undirected",
    ),
    "social400k": (
        "Loading and asking",
        "A social network: 20,000 persons who know each other 400,000 times, cities, posts",
    ),
}
_LIMITS = Limits(seconds=5.0, loading=30.0, bytes=8 << 30, repeats=2, patience=6.0)
_WIDTH, _NAME, _LEFT, _RIGHT, _BAR = 900, 200, 290, 130, 13


@dataclass(frozen=True)
class Part:
    """What one suite has shown."""

    suite: Suite
    names: tuple[str, ...]
    outcome: Outcome


def main() -> int:
    """Make the page; return 1 where two engines disagree."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.page", description=main.__doc__)
    parser.add_argument("--out", type=Path, default=_CHECKOUT / "build" / "benchmark.html", help="the page's file")
    parser.add_argument("--data", type=Path, default=_CHECKOUT / "bench-data", help="folder of the generated graphs")
    parser.add_argument("--suite", action="append", choices=workloads.SUITES, help="instead of the usual two")
    options = parser.parse_args()
    begin = time.monotonic()
    names = tuple(name for name in _ENGINES if engines.is_installed(name))
    parts = [measured(workloads.suite(name, options.data), names, options.data) for name in options.suite or _PARTS]
    wrong = [sentence for part in parts for sentence in part.outcome.mismatches(part.suite.expected)]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(page(parts, wrong, time.monotonic() - begin), encoding="utf-8")
    print(f"{time.monotonic() - begin:.0f} s; look at {options.out}")
    for sentence in wrong:
        print(f"WRONG ANSWER: {sentence}", file=sys.stderr)
    return 1 if wrong else 0


def measured(suite: Suite, names: tuple[str, ...], data: Path) -> Part:
    """Run a suite on these engines."""
    datasets.prepare(suite.dataset)
    outcome = Outcome.of(run_suite(suite, names, data, _LIMITS, _tell))
    return Part(suite, tuple(name for name in names if outcome.takes_part(name)), outcome)


def _tell(cell: Cell) -> None:
    told = report.duration(cell.seconds) if cell.status is Status.OK else cell.status
    print(f"  {cell.engine:9} {cell.workload:16} {told}", file=sys.stderr, flush=True)


def chart(part: Part) -> str:
    """Return the times of a suite as an SVG picture: bars on a logarithmic axis, the shorter the better."""
    seconds = [cell.seconds for cell in part.outcome.cells.values() if cell.status is Status.OK]
    low = math.floor(math.log10(max(min(seconds, default=1e-3), 1e-6)))
    high = max(low + 1, math.ceil(math.log10(max([_LIMITS.seconds, *seconds]))))

    def across(value: float) -> float:
        share = (math.log10(max(value, 10.0**low)) - low) / (high - low)
        return _LEFT + max(0.004, share) * (_WIDTH - _LEFT - _RIGHT)

    lines: list[str] = []
    y = 34
    for workload in part.suite.workloads:
        here = [name for name in part.names if _is_shown(part.outcome, name, workload.name)]
        lines.append(
            f'<text x="8" y="{y + _BAR * len(here) / 2 + 4:.0f}" font-weight="600">{escape(workload.name)}'
            f"<title>{escape(_told(workload))}</title></text>"
        )
        for name in here:
            lines.append(_bar(part, name, workload.name, y, across))
            y += _BAR
        y += 12
    axis = []
    for power in range(low, high + 1):
        x = across(10.0**power)
        axis.append(f'<path d="M{x:.0f} 24V{y}" stroke="#d5dae1"/>')
        axis.append(
            f'<text x="{x:.0f}" y="16" text-anchor="middle" fill="#5b6472">{report.duration(10.0**power)}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y + 6}" role="img" '
        f'aria-label="{escape(part.suite.name)}" style="background:#fff;max-width:{_WIDTH}px;width:100%" '
        f'font-family="ui-sans-serif,system-ui,sans-serif" font-size="11" fill="#1f2430">\n'
        + "\n".join([*axis, *lines])
        + "\n</svg>"
    )


def _is_shown(outcome: Outcome, engine: str, workload: str) -> bool:
    cell = outcome.cells.get((engine, workload))
    return cell is not None and cell.status is not Status.UNSUPPORTED


def _bar(part: Part, engine: str, workload: str, y: int, across: object) -> str:
    assert callable(across)
    cell = part.outcome.cells[engine, workload]
    ours = part.outcome.seconds(OURS, workload)
    is_ok = cell.status is Status.OK
    end = across(cell.seconds if is_ok else _LIMITS.seconds)
    ratio = f" · {cell.seconds / ours:.3g}×" if is_ok and ours is not None and engine != OURS else ""
    told = (
        report.duration(cell.seconds) + ratio if is_ok else cell.detail if cell.status is Status.TIMEOUT else "failed"
    )
    colour = _COLOURS[_ENGINES.index(engine) % len(_COLOURS)] if engine in _ENGINES else _COLOURS[0]
    texture = "" if is_ok else ' fill-opacity=".25" stroke-dasharray="3 2"'
    return (
        f'<text x="{_LEFT - 6}" y="{y + 10}" text-anchor="end" fill="#5b6472">{escape(engine)}</text>'
        f'<rect x="{_LEFT}" y="{y + 1}" width="{end - _LEFT:.1f}" height="{_BAR - 3}" fill="{colour}"{texture}>'
        f"<title>{escape(cell.detail or told)}</title></rect>"
        f'<text x="{end + 5:.1f}" y="{y + 10}">{escape(told)}</text>'
    )


def _told(workload: Workload) -> str:
    """Return what a workload asks."""
    if isinstance(workload, PropertyQuery):
        return workload.texts["qengine"]
    if isinstance(workload, Pattern):
        arrow = "->" if workload.oriented else "-"
        return ", ".join(f"({'abcdefgh'[one]})-{arrow}({'abcdefgh'[other]})" for one, other in workload.edges)
    return "load all files into the engine"


def machine() -> Mapping[str, str]:
    """Return what the figures were measured on."""
    cpu = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = next((line.partition(":")[2].strip() for line in cpu.splitlines() if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": model or platform.machine(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "load before": ", ".join(f"{each:.1f}" for each in os.getloadavg()) if hasattr(os, "getloadavg") else "?",
    }


def page(parts: Sequence[Part], wrong: Sequence[str], seconds: float) -> str:
    """Return the page: pictures, what was asked, the tables, and the machine."""
    names = list(dict.fromkeys(name for part in parts for name in part.names))
    versions = ", ".join(f"{escape(name)} {escape(engines.version(name))}" for name in names)
    missing = [name for name in _ENGINES if name not in names]
    facts = "".join(f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in machine().items())
    verdict = (
        "<p>All engines that answered gave the same answers.</p>"
        if not wrong
        else "<ul class='wrong'>" + "".join(f"<li>{escape(each)}</li>" for each in wrong) + "</ul>"
    )
    return "\n".join(
        [
            _HEAD,
            f"<h1>qengine and its peers</h1><p>{time.strftime('%d %B %Y')}; {versions}."
            + (f" Not installed: {escape(', '.join(missing))}." if missing else "")
            + f" Made in {seconds:.0f} s by <code>python -m tests.bench.page</code>.</p>",
            verdict,
            *map(_section, parts),
            f"<h2>The machine</h2><table>{facts}</table>",
            "<p>Times are of the call in the engine's own process, from the query's text to its last row, the less of "
            f"two runs; two threads each; a run beyond {_LIMITS.seconds:g} s is stopped. Peers get their best form of "
            "the graph: ids by degree, each edge once, constraints that count each subgraph once. What no engine "
            "supports is left out. Busy machines distort; the times of a run compare with each other alone.</p>",
        ]
    )


def _section(part: Part) -> str:
    title, told = _PARTS.get(part.suite.name, (part.suite.name, ""))
    asked = "".join(
        f"<dt>{escape(each.name)}</dt><dd><code>{escape(_told(each))}</code></dd>" for each in part.suite.workloads
    )
    ours = [(part.outcome.seconds(OURS, each.name), each.name) for each in part.suite.workloads]
    rows = []
    for other in part.names:
        pairs = [(mine, part.outcome.seconds(other, name)) for mine, name in ours]
        ratios = [theirs / mine for mine, theirs in pairs if mine is not None and theirs is not None]
        if other != OURS and ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            slower = sum(ratio < 1 for ratio in ratios)
            rows.append(f"<li>{escape(other)}: {mean:.3g}× our time in the geometric mean of {len(ratios)}; faster "
                        f"than us in {slower}</li>")  # fmt: skip
    return (
        f"<h2>{escape(title)}</h2><p>{escape(told)}. Shorter is better; the axis is logarithmic.</p>{chart(part)}"
        f"<ul>{''.join(rows)}</ul><details><summary>What is asked</summary><dl>{asked}</dl></details>"
        f"<details><summary>As a table</summary><pre>"
        f"{escape(report.suite_report(part.suite, part.names, part.outcome))}</pre></details>"
    )


_HEAD = """<!doctype html><html lang="en"><meta charset="utf-8"><title>qengine: a benchmark</title>
<meta name="viewport" content="width=device-width"><style>
body { max-width: 920px; margin: 24px auto; padding: 0 12px; font: 14px/1.5 ui-sans-serif, system-ui, sans-serif;
  color: #1f2430; background: #f6f7f9 }
svg { border: 1px solid #d5dae1; border-radius: 6px } pre { overflow-x: auto }
th { text-align: left; padding-right: 1em }
dd { margin: 0 0 6px 1em; white-space: pre-wrap } .wrong { color: #a33a22; font-weight: 600 }
</style>"""

if __name__ == "__main__":
    sys.exit(main())
