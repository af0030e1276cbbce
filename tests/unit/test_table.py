"""Tables on a screen: no line is wider than the terminal."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.cli.table import table_lines, width

CELLS = st.text(st.sampled_from("ab日\n\t\x1b é👩"), max_size=40) | st.integers() | st.none()


@settings(max_examples=200)
@given(st.data(), st.integers(1, 30), st.integers(10, 200))
def test_no_line_is_wider_than_the_screen(data: st.DataObject, columns: int, room: int) -> None:
    names = [f"column_{i}" for i in range(columns)]
    rows = data.draw(st.lists(st.lists(CELLS, min_size=columns, max_size=columns), max_size=3))
    lines = list(table_lines(names, rows, room))
    table = [line for line in lines if line[0] in "┌├└│"]
    assert {width(line) for line in table} == {width(table[0])} and width(table[0]) <= max(room, 9)
    shown = table[1].count("│") - 1 - table[1].count(" … ")
    assert lines[len(table) :] == ([f"{columns} columns ({shown} shown)"] if shown < columns else [])
    assert len(table) == len(rows) + 4


def test_columns_in_the_middle_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "64")
    columns = ", ".join(f"'a rather long value' AS col_{i}" for i in range(20))
    assert str(Graph.from_records([]).query(f"RETURN {columns}")).splitlines() == [
        "┌──────────────────┬──────────────────┬───┬──────────────────┐",
        "│ col_0            │ col_1            │ … │ col_19           │",
        "├──────────────────┼──────────────────┼───┼──────────────────┤",
        "│ a rather long v… │ a rather long v… │ … │ a rather long v… │",
        "└──────────────────┴──────────────────┴───┴──────────────────┘",
        "20 columns (3 shown)",
    ]


def test_without_a_screen_nothing_is_left_out() -> None:
    lines = list(table_lines([f"c{i}" for i in range(50)], [["x" * 100] * 50]))
    assert width(lines[0]) == 50 * 103 + 1 and len(lines) == 5


def test_a_huge_cell_is_cut_at_once() -> None:
    cells = ["日" * 200_000, "x" * 200_000]
    assert all(width(line) <= 40 for line in table_lines(["a", "b"], [cells], 40))
