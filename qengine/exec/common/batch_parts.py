"""Cuts batches by bytes: where a batch's columns would take too much, it is gone through in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import TypeVar

import numpy as np

from qengine.exec.common.batch import BATCH_ROWS, Batch
from qengine.exec.common.columns import Column, IntArray, ListColumn, ObjectColumn, concatenate
from qengine.exec.memory import Holding, MemoryAccount, Oversized

_Found = TypeVar("_Found")

PLACES = 32  # bytes a row and column of what says where rows stand: codes, order, places
TABLE = 40  # bytes a row of a table of codes


def by_parts(
    batch: Batch, evaluate: Callable[[Batch], _Found], memory: MemoryAccount
) -> Iterator[tuple[Batch, _Found]]:
    """Yield the batch and what ``evaluate`` makes of it; where that is too large, parts of it one after the other.

    What ``evaluate`` charges is given back before each is yielded: the caller holds what it keeps.
    """
    offset, rows = 0, batch.length
    while offset < batch.length:
        part = batch.slice(offset, rows)
        mark = memory.charged
        try:
            found = evaluate(part)
        except Oversized as cut:
            rows = min(cut.rows, part.length // 2)
            continue
        finally:
            memory.charged = mark
        yield part, found
        offset += part.length


def evaluated(batch: Batch, evaluate: Callable[[Batch], Column], memory: MemoryAccount, holding: Holding) -> Column:
    """Return an expression's column for a batch of any size; ``holding`` gets its bytes."""
    parts = []
    before = holding.bytes
    for _, column in by_parts(batch, evaluate, memory):
        parts.append(column)
        if memory.limit is not None and all(column is not given for given in batch.columns.values()):
            holding.add(column.nbytes)
    if len(parts) > 1:
        holding.also(holding.bytes - before)  # in one piece
    return concatenate(parts)


def fitting(batches: Iterable[Batch], holding: Holding) -> Iterator[Batch]:
    """Yield the rows of batches in parts that an operator has room to work on, a quarter of its share at most."""
    for batch in batches:
        share = holding.share()
        rows = batch.length
        if share < inf:
            needed = batch.nbytes + working_bytes(batch.columns.values())
            rows = max(1, int(min(batch.length, batch.length * share / (4 * needed + 1))))
        for offset in range(0, batch.length, rows):
            yield batch.slice(offset, rows)


def working_bytes(columns: Iterable[Column]) -> int:
    """Return what it takes for a while to lay columns in a row, to group or order their rows, and to copy those."""
    given = list(columns)
    return sum(map(_working, given)) + TABLE * max(map(len, given), default=0)


def _working(column: Column) -> int:
    if isinstance(column, ObjectColumn):  # whose values aren't copied
        return PLACES * len(column)
    if isinstance(column, ListColumn):
        return _working(column.items) + PLACES * len(column)
    return 2 * column.nbytes + PLACES * len(column)


def pieces(rows: int, first: int, most: int = BATCH_ROWS) -> Iterator[tuple[int, int]]:
    """Yield ``(offset, length)`` of pieces of ``rows`` rows: the first short, then four times longer each."""
    size = max(1, first)
    offset = 0
    while offset < rows:
        length = min(size, most, rows - offset)
        yield offset, length
        offset += length
        size *= 4


def repeated_pieces(batch: Batch, rows: IntArray, memory: MemoryAccount) -> Iterator[tuple[int, int]]:
    """Yield ``(offset, length)`` of pieces of ``rows``, places in the batch that may stand there often.

    No piece takes more of the batch than its memory allows, unless it is one row.
    """
    widths = _copied(batch, len(rows), memory.batch_bytes)
    if widths is None:
        if len(rows):
            yield 0, len(rows)
        return
    ends = np.cumsum(widths[rows])
    offset = 0
    while offset < len(rows):
        before = int(ends[offset - 1]) if offset else 0
        end = max(offset + 1, int(np.searchsorted(ends, before + memory.batch_bytes, side="right")))
        if end == offset + 1 and memory.limit is not None:
            memory.afford(int(ends[offset]) - before)
        yield offset, end - offset
        offset = end


def _copied(batch: Batch, rows: int, allowed: int) -> IntArray | None:
    """Return the bytes of each row; None where that many rows surely take no more than is allowed."""
    found: IntArray | None = None
    most = 0
    for column in batch.columns.values():
        widths = column.widths()
        if widths is not None:
            found = widths.astype(np.int64) if found is None else found + widths
            most += int(widths.max())
    return None if found is None or most * rows <= allowed else found
