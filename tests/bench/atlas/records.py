"""Cells in a file, a JSON object a line, from which an interrupted run goes on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from tests.bench.atlas.cells import Cell
from tests.bench.atlas.graphs import Kind
from tests.bench.cells import Status


def read(path: Path) -> list[Cell]:
    """Return the cells of a file, none where there is no file."""
    if not path.exists():
        return []
    return [_cell(**json.loads(line)) for line in path.read_text().splitlines()]


def _cell(kind: str, status: str, milliseconds: list[float], **others: object) -> Cell:
    return Cell(kind=Kind(kind), status=Status(status), milliseconds=tuple(milliseconds), **others)  # type: ignore[arg-type]


def append(path: Path, cell: Cell) -> None:
    """Add a cell to the end of a file."""
    with path.open("a") as file:
        file.write(_line(cell))


def write(path: Path, cells: Iterable[Cell]) -> None:
    """Replace the file by one with these cells."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text("".join(map(_line, cells)))
    partial.replace(path)


def _line(cell: Cell) -> str:
    return json.dumps(asdict(cell)) + "\n"
