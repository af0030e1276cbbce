"""A plan as a picture: a box for each operator, the result on top, lines as thick as the rows that flow along them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from qengine._cached import cached_property
from qengine._printable import in_markup
from qengine.explain.numbers import expectation, size
from qengine.plan.logical import Operator
from qengine.plan.text import outline

_CHARACTER, _LINE, _PADDING = 7.2, 17, 8
_GAP_ACROSS, _GAP_DOWN = 24, 34
_LONGEST = 84  # characters of a line; longer texts go on below it
_MOST_LINES = 6  # of one text; the whole of it is the box's tooltip
_STYLE = (
    "text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#1f2430}.h{font-weight:600}.d{fill:#5b6472}"
    ".r{fill:#1a6b3c}.x{fill:#3f5f8f;font-style:italic}.b{fill:#fff;stroke:#9aa4b2}"
    ".t{fill:#f2b134}.w{fill:#e05d44}.e{stroke:#9aa4b2;fill:none;stroke-linecap:round}"
)


@dataclass
class _Box:
    """An operator with its place: ``x``, ``y`` of the top left corner; ``span``: the width of it and all below."""

    lines: list[str]
    entries: Mapping[str, Any]
    below: list[_Box] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0
    span: float = 0.0

    @cached_property
    def texts(self) -> list[tuple[str, str]]:
        """The lines that are drawn, each with its class: the operator, what belongs to it, what is known of it."""
        found = [(part, "d" if place else "h") for place, line in enumerate(self.lines) for part in _wrapped(line)]
        happened = "actual_rows" in self.entries
        captions = self._captions()
        return found + [(text, "r" if happened and place == 0 else "x") for place, text in enumerate(captions)]

    @property
    def width(self) -> float:
        return 2 * _PADDING + _CHARACTER * max(len(line) for line, _ in self.texts)

    @property
    def height(self) -> float:
        return 2 * _PADDING + _LINE * len(self.texts) + 4

    @property
    def rows(self) -> float:
        return float(self.entries.get("actual_rows", self.entries.get("estimated_rows", 0.0)))

    def _captions(self) -> list[str]:
        """Return what is expected, and after a run what happened."""
        found = self.entries
        if not found:
            return []
        expected = expectation(found)
        if "actual_rows" not in found:
            return [expected]
        device = f", {found['device'].upper()}" if found["device"] != "cpu" else ""
        rows = "row" if found["actual_rows"] == 1 else "rows"
        return [
            f"{found['actual_rows']:,} {rows}, {size(found['bytes'])}, {found['own_seconds'] * 1e3:.2f} ms{device}",
            f"expected {expected}" + (f", q-error {found['q_error']:.3g}" if found["q_error"] >= 1.005 else ""),
        ]


def svg(root: Operator, entries: Callable[[Operator], Mapping[str, Any]]) -> str:
    """Return an SVG document of the plan below ``root``; ``entries`` as ``Explanation.entries``."""
    top = _boxes(root, entries)
    _measure(top)
    _place(top, _PADDING, _PADDING)
    boxes = list(_all(top))
    width = max(box.x + box.width for box in boxes) + _PADDING
    height = max(box.y + box.height for box in boxes) + _PADDING
    total = sum(box.entries.get("own_seconds", 0.0) for box in boxes)
    body = [line for box in boxes for line in _lines(box)] + [part for box in boxes for part in _drawn(box, total)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img"><style>{_STYLE}</style>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _boxes(root: Operator, entries: Callable[[Operator], Mapping[str, Any]]) -> _Box:
    """Make the boxes of all operators; what has no box of its own stands in the one above it."""
    path: list[tuple[int, _Box]] = []
    for line in outline(root):
        while path and path[-1][0] >= line.depth:
            path.pop()
        if line.operator is None:
            path[-1][1].lines.append(line.text)
            continue
        box = _Box([line.text], entries(line.operator))
        if path:
            path[-1][1].below.append(box)
        path.append((line.depth, box))
    return path[0][1]


def _measure(box: _Box) -> None:
    for each in box.below:
        _measure(each)
    below = sum(each.span for each in box.below) + _GAP_ACROSS * max(0, len(box.below) - 1)
    box.span = max(box.width, below)


def _place(box: _Box, left: float, top: float) -> None:
    """Put a box over the middle of those below it."""
    box.x, box.y = left + (box.span - box.width) / 2, top
    below = sum(each.span for each in box.below) + _GAP_ACROSS * max(0, len(box.below) - 1)
    left += (box.span - below) / 2
    for each in box.below:
        _place(each, left, top + box.height + _GAP_DOWN)
        left += each.span + _GAP_ACROSS


def _all(box: _Box) -> list[_Box]:
    return [box, *(each for below in box.below for each in _all(below))]


def _lines(box: _Box) -> list[str]:
    """Return the lines from a box to those below it."""
    drawn = []
    for each in box.below:
        thickness = 1.0 + min(9.0, math.log10(1.0 + each.rows))
        x1, y1, x2, y2 = box.x + box.width / 2, box.y + box.height, each.x + each.width / 2, each.y
        middle = (y1 + y2) / 2
        drawn.append(
            f'<path class="e" stroke-width="{thickness:.1f}" '
            f'd="M{x1:.0f} {y1:.0f}C{x1:.0f} {middle:.0f} {x2:.0f} {middle:.0f} {x2:.0f} {y2:.0f}"/>'
        )
    return drawn


def _drawn(box: _Box, total: float) -> list[str]:
    """Return a box: its text, and a bar as long as its share of the time, red where the estimate was far off."""
    x, y = box.x, box.y
    parts = [
        f"<g><title>{in_markup(chr(10).join(box.lines))}</title>",
        f'<rect class="b" x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="5"/>',
    ]
    for place, (text, kind) in enumerate(box.texts):
        where = y + _PADDING + _LINE * (place + 0.8)
        parts.append(f'<text class="{kind}" x="{x + _PADDING:.1f}" y="{where:.1f}">{in_markup(text)}</text>')
    if total > 0:
        share = box.entries.get("own_seconds", 0.0) / total
        colour = "w" if box.entries.get("q_error", 1.0) > 10 else "t"
        bar = max(0.0, box.width - 2 * _PADDING) * share
        bottom = y + box.height - _PADDING
        parts.append(f'<rect class="{colour}" x="{x + _PADDING:.1f}" y="{bottom:.1f}" width="{bar:.1f}" height="3"/>')
    return [*parts, "</g>"]


def _wrapped(text: str) -> list[str]:
    """Return a text as lines that are short enough, the last one cut where there would be too many."""
    from textwrap import wrap

    most = _LONGEST * _MOST_LINES
    shown = text if len(text) <= most else text[: most - 1] + "…"
    return wrap(
        shown, _LONGEST, subsequent_indent="    ", break_on_hyphens=False, max_lines=_MOST_LINES, placeholder="…"
    )
