"""Results as aligned tables, for a terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from qengine._printable import printable_line
from qengine.cli.values import to_text

_ROWS_MEASURED = 500  # column widths are settled by these; longer cells later are cut
_NARROWEST = 16  # columns are cut down to this for the sake of the screen, then some are left out
_GAP = "…"  # stands for the columns that are left out


def table_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]], room: int | None = None) -> Iterator[str]:
    """Yield the lines of a table with box-drawing rules; numbers stand to the right.

    ``room``: cells of a screen's line, None for no end. No line is longer: the widest columns are cut, and where that
    isn't enough those in the middle are left out, which a line below the table says.
    """
    stream = iter(rows)
    head = list(islice(stream, _ROWS_MEASURED))
    cells = [[_cell(value) for value in row] for row in head]
    names = [printable_line(name) for name in columns]
    widths = [max([1, width(name), *(width(row[i]) for row in cells)]) for i, name in enumerate(names)]
    shown = _shown(widths, room)
    widths = _fitted([1 if i is None else widths[i] for i in shown], room)
    right = [i is not None and _numeric(row[i] for row in head) for i in shown]

    def line(row: Sequence[str], right: Sequence[bool]) -> str:
        return _line([_GAP if i is None else row[i] for i in shown], widths, right)

    yield _rule(widths, "┌┬┐")
    yield line(names, [False] * len(widths))
    yield _rule(widths, "├┼┤")
    for row in cells:
        yield line(row, right)
    for values in stream:
        yield line([_cell(value) for value in values], right)
    yield _rule(widths, "└┴┘")
    if None in shown:
        yield f"{len(names)} columns ({len(shown) - 1} shown)"


def vertical_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield a line for each value, for rows too wide for a table: nothing is cut; a line with a number begins a row."""
    names = [printable_line(name) for name in columns]
    widest = max(map(width, names), default=0)
    for number, row in enumerate(rows, 1):
        yield f"── {number} ──"
        for name, value in zip(names, row, strict=True):
            yield f"{' ' * (widest - width(name))}{name}: {_cell(value)}"


def markdown_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield "| " + " | ".join(_escaped(printable_line(name)) for name in columns) + " |"
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


def _shown(widths: Sequence[int], room: int | None) -> list[int | None]:
    """Return the places of the columns that a screen has room for, the first and the last ones; None is the gap."""
    everything: list[int | None] = [*range(len(widths))]
    least = [min(each, _NARROWEST) for each in widths]
    if room is None or len(least) < 2 or _space(least) <= room:
        return everything
    found = [*everything[:1], None]
    for count in range(2, len(least)):
        first, last = (count + 1) // 2, len(least) - count // 2
        if _space([*least[:first], 1, *least[last:]]) > room:
            break
        found = [*everything[:first], None, *everything[last:]]
    return found


def _fitted(widths: list[int], room: int | None) -> list[int]:
    """Cut the widest columns to one width, the greatest with which the table fits into the room."""
    if room is None:
        return widths
    limit = min(max(widths, default=0), room)
    while limit > 1 and _space([min(each, limit) for each in widths]) > room:
        limit -= 1
    return [min(each, limit) for each in widths]


def _space(widths: Sequence[int]) -> int:
    """Return how many cells a line takes, with its rules."""
    return sum(widths) + 3 * len(widths) + 1


def _cell(value: Any) -> str:
    return printable_line(to_text(value))


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
        text = text[: 4 * cells]
        while width(text) > cells - 1:
            text = text[:-1]
        text += "…"
        taken = width(text)
    space = " " * (cells - taken)
    return space + text if right else text + space
