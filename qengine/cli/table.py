"""Results as aligned tables, for a terminal and for Markdown."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from wcwidth import wcswidth

from qengine.cli.terminal import Sink
from qengine.cli.values import to_text
from qengine.result import Result

_ROWS_MEASURED = 500  # column widths are settled by these; longer cells later are cut
_WIDEST = 60


def print_result(result: Result, out: Sink | None = None) -> int:
    """Write a result as a table and return its number of rows."""
    rows = 0

    def counted() -> Iterator[Sequence[Any]]:
        nonlocal rows
        for row in result:
            rows += 1
            yield row

    out = out or sys.stdout
    for line in table_lines(result.columns, counted()):
        print(line, file=out)
    return rows


def table_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a table with box-drawing rules; numbers stand to the right."""
    stream = iter(rows)
    head = list(islice(stream, _ROWS_MEASURED))
    cells = [[_cell(value) for value in row] for row in head]
    widths = [max([width(name), *(width(row[i]) for row in cells)]) for i, name in enumerate(columns)]
    widths = [max(1, min(each, _WIDEST)) for each in widths]
    right = [_numeric(row[i] for row in head) for i in range(len(columns))]
    yield _rule(widths, "┌┬┐")
    yield _line(list(columns), widths, [False] * len(widths))
    yield _rule(widths, "├┼┤")
    for row in cells:
        yield _line(row, widths, right)
    for values in stream:
        yield _line([_cell(value) for value in values], widths, right)
    yield _rule(widths, "└┴┘")


def markdown_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield "| " + " | ".join(_escaped(name) for name in columns) + " |"
    yield "|" + "---|" * len(columns)
    for row in rows:
        yield "| " + " | ".join(_escaped(_cell(value)) for value in row) + " |"


def width(text: str) -> int:
    """Return how many terminal cells a text takes."""
    cells = wcswidth(text)
    return cells if cells >= 0 else len(text)


def _cell(value: Any) -> str:
    return "".join(each if each.isprintable() else _visible(each) for each in to_text(value))


def _visible(character: str) -> str:
    return {"\n": "⏎", "\t": "→"}.get(character, "\ufffd")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _numeric(values: Iterable[Any]) -> bool:
    kinds = {type(value) for value in values if value is not None}
    return bool(kinds) and kinds <= {int, float}


def _rule(widths: Sequence[int], corners: str) -> str:
    return corners[0] + corners[1].join("─" * (each + 2) for each in widths) + corners[2]


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = [_fit(cell, each, to_right) for cell, each, to_right in zip(cells, widths, right, strict=True)]
    return "│ " + " │ ".join(padded) + " │"


def _fit(text: str, cells: int, right: bool) -> str:
    taken = width(text)
    if taken > cells:
        while width(text) > cells - 1:
            text = text[:-1]
        text += "…"
        taken = width(text)
    space = " " * (cells - taken)
    return space + text if right else text + space
