"""The comparison's rows are what the engines that are installed show when they are tried."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.bench.capabilities.table import ENGINES, ROWS, Cell, cells, fails_by, is_installed

CHECKOUT = Path(__file__).resolve().parents[2]
TABLES = {
    "results": CHECKOUT / "tests" / "bench" / "results" / "capabilities.md",
    "the documentation": CHECKOUT / "docs" / "pages" / "comparison.md",
}


def written(path: Path) -> dict[str, dict[str, str]]:
    """Return the cells of the table with these rows, by engine and row."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [[each.strip() for each in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    (head,) = [row for row in rows if row[1:] == list(ENGINES) and row[0] == "tried"]
    title = {each: row for row, each in ROWS.items()}
    found = {title[row[0]]: row[1:] for row in rows if row[0] in title}
    return {engine: {row: found[row][place] for row in found} for place, engine in enumerate(head[1:])}


@pytest.mark.parametrize("place", TABLES)
def test_a_table_has_every_row_and_a_date(place: str) -> None:
    found = written(TABLES[place])
    assert all(list(column) == list(ROWS) for column in found.values())
    assert re.search(r"As of \d+ \w+ 20\d\d", TABLES[place].read_text(encoding="utf-8"))


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_written_is_what_it_does(engine: str) -> None:
    if not is_installed(engine):
        pytest.skip(f"needs {ENGINES[engine][0]}")
    shown = {row: str(cell) for row, cell in cells(engine).items()}
    for place, path in TABLES.items():
        assert written(path)[engine] == shown, place


def test_what_was_not_tried_is_in_italics() -> None:
    assert str(Cell("yes", True)) == "yes" and str(Cell("by a server", False)) == "*by a server*"
    assert fails_by("zero", lambda: 1 // 0) and not fails_by("memory", lambda: 1 // 0) and not fails_by("", lambda: 1)
