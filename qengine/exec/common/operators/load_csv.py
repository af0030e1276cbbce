"""``LoadCsv``: the rows of a CSV file for each input row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import numpy as np

from qengine.exec.common.batch import Batch
from qengine.exec.common.batch_parts import pieces, repeated_pieces
from qengine.exec.common.csv_blocks import Part, file_parts
from qengine.exec.common.expressions.compiler import compile_expression
from qengine.exec.common.operators.repeated_rows import repeated_rows
from qengine.exec.common.operators.stage import Build, Stage
from qengine.exec.common.text_rows import TextRows
from qengine.plan import logical

_HELD = 2  # times the bytes of a block: its text, and what is kept of the next one


def load_csv_stage(operator: logical.LoadCsv, build: Build, first: int) -> Stage:
    """Emit each input row once for each row of its file."""
    runtime = build.runtime
    upstream = build(operator.input, first)
    url = compile_expression(operator.url, runtime)
    name, memory = operator.name, runtime.memory

    def parts(batch: Batch) -> Iterator[tuple[int, Part]]:
        for place, each in enumerate(url(batch).values()):
            for part in file_parts(operator, each, runtime.context):
                yield place, part

    def block(batch: Batch, place: int, rows: TextRows) -> Iterator[Batch]:
        with memory.holding("LoadCsv") as holding:
            holding.set((1 + _HELD) * rows.nbytes)
            for offset, length in pieces(len(rows), first):
                places = np.full(length, place, dtype=np.int64)
                for begin, count in repeated_pieces(batch, places, memory):
                    added = {name: rows.slice(offset + begin, count)}
                    yield batch.take(places[begin : begin + count]).with_columns(added)

    def run(outer: Batch) -> Iterator[Batch]:
        for batch in upstream(outer):
            for together, group in groupby(parts(batch), key=lambda part: isinstance(part[1], TextRows)):
                if together:
                    for place, rows in group:
                        assert isinstance(rows, TextRows)
                        yield from block(batch, place, rows)
                else:
                    yield from repeated_rows(batch, operator.added, _single(group), first, memory, "LoadCsv")

    return run


def _single(parts: Iterable[tuple[int, Part]]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Give rows that come one after the other, each with the place of its file."""
    for place, rows in parts:
        assert not isinstance(rows, TextRows)
        for row in rows:
            yield place, row
