"""Results as aligned tables, for a terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from qengine.cli.values import to_text

_ROWS_MEASURED = 500  # column widths are settled by these; longer cells later are cut
_NARROWEST = 24  # no column is cut below this for the sake of the screen


def table_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]], room: int | None = None) -> Iterator[str]:
    """Yield the lines of a table with box-drawing rules; numbers stand to the right.

    ``room``: cells of a screen's line; where the table is wider, its widest columns are cut. None for no end.
    """
    stream = iter(rows)
    head = list(islice(stream, _ROWS_MEASURED))
    cells = [[_cell(value) for value in row] for row in head]
    widths = [max([width(name), *(width(row[i]) for row in cells)]) for i, name in enumerate(columns)]
    widths = _fitted([max(1, each) for each in widths], room)
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
    if text.isascii() and text.isprintable():
        return len(text)
    from wcwidth import wcswidth  # its tables take long to import

    cells = wcswidth(text)
    return cells if cells >= 0 else len(text)


def _fitted(widths: list[int], room: int | None) -> list[int]:
    """Cut the widest columns to one width, the greatest with which the table fits into the room."""
    if room is None:
        return widths
    space = room - 3 * len(widths) - 1  # what the rules leave
    limit = min(max(widths, default=0), max(space, 0))
    while limit > _NARROWEST and sum(min(each, limit) for each in widths) > space:
        limit -= 1
    return [min(each, limit) for each in widths]


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
