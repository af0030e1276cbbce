"""The output formats of the command line: each writes a result, row by row as it comes."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from qengine._printable import escaped_in_json
from qengine.cli.table import markdown_lines, table_lines, vertical_lines
from qengine.cli.terminal import Screen, Sink, room_of
from qengine.cli.values import to_json, to_text
from qengine.errors import QengineError
from qengine.result import Result, Row

Writer = Callable[[Result, Sink], int]

_APART = ("csv", "markdown")


def write(result: Result, format: str, out: Sink, before: int = 0) -> int:
    """Write a result in one of ``FORMATS`` and return its number of rows.

    ``before``: how many results there are already. An empty line comes before another table of values (CSV) or of
    Markdown; JSON's values follow one another.

    Raises
    ------
    QengineError
        For a second result in one Arrow stream.
    """
    if before and format == "arrow":
        raise QengineError(
            "An Arrow stream holds one result, and there is one already.",
            hint="Write each result to a file of its own.",
        )
    if before and format in _APART:
        out.write("\n")
    return FORMATS[format](result, out)


def _table(result: Result, out: Sink) -> int:
    return _lines(result, lambda rows: table_lines(result.columns, rows, room_of(out)), out)


def _vertical(result: Result, out: Sink) -> int:
    return _lines(result, lambda rows: vertical_lines(result.columns, rows), out)


def _markdown(result: Result, out: Sink) -> int:
    return _lines(result, lambda rows: markdown_lines(result.columns, rows), out)


def _lines(result: Result, render: Callable[[Iterable[Any]], Iterator[str]], out: Sink) -> int:
    count = 0

    def counted() -> Iterator[Any]:
        nonlocal count
        for row in result:
            count += 1
            yield row

    for line in render(counted()):
        out.write(line + "\n")
    return count


def _csv(result: Result, out: Sink) -> int:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(result.columns)
    count = 0
    for row in result:
        writer.writerow(["" if value is None else to_text(value) for value in row])
        count += 1
    return count


def _json(result: Result, out: Sink) -> int:
    count = 0
    out.write("[")
    for row in result:
        out.write(",\n " if count else "\n ")
        out.write(_object(row))
        count += 1
    out.write("\n]\n" if count else "]\n")
    return count


def _jsonl(result: Result, out: Sink) -> int:
    count = 0
    for row in result:
        out.write(_object(row) + "\n")
        count += 1
    return count


def _object(row: Row) -> str:
    return escaped_in_json(json.dumps(to_json(row.asdict()), ensure_ascii=False))


def _arrow(result: Result, out: Sink) -> int:
    import pyarrow as pa

    if isinstance(out, Screen):
        hint = "Send it to a file: … > rows.arrow, in the shell :output rows.arrow."
        raise QengineError("Arrow data can't be shown on a terminal.", hint=hint)
    out.flush()
    file: Any = out  # a text stream that is no screen has the bytes below it
    reader = result.to_reader()
    rows = 0
    with pa.ipc.new_stream(file.buffer, reader.schema) as sink:
        for batch in reader:
            sink.write_batch(batch)
            rows += batch.num_rows
    return rows


FORMATS: dict[str, Writer] = {
    "table": _table,
    "vertical": _vertical,
    "csv": _csv,
    "json": _json,
    "jsonl": _jsonl,
    "markdown": _markdown,
    "arrow": _arrow,
}
