"""Batches of input rows that stand once for each row that Python code gives for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from qengine.exec.common.batch import BATCH_ROWS, Batch
from qengine.exec.common.batch_parts import repeated_pieces
from qengine.exec.common.columns import IntArray, from_values
from qengine.exec.memory import MemoryAccount
from qengine.exec.sizes import size_of


def repeated_rows(
    batch: Batch,
    names: Sequence[str],
    rows: Iterable[tuple[int, tuple[Any, ...]]],
    first: int,
    memory: MemoryAccount,
    operator: str,
) -> Iterator[Batch]:
    """Give a batch's rows with columns added, as often as rows come for each.

    Parameters
    ----------
    names
        The columns to add.
    rows
        Pairs of a place in the batch, ascending, and the values of the columns.
    first
        How many rows are wanted at first; later batches grow.
    operator
        Whose memory the rows are, while they are gathered.
    """
    wanted = max(1, min(first, BATCH_ROWS))
    places: list[int] = []
    values: list[tuple[Any, ...]] = []

    def made() -> Iterator[Batch]:
        every: IntArray = np.array(places, np.int64)
        for begin, count in repeated_pieces(batch, every, memory):
            part = values[begin : begin + count]
            columns = zip(*part, strict=True) if names else ()
            added = {name: from_values(list(column)) for name, column in zip(names, columns, strict=True)}
            yield batch.take(every[begin : begin + count]).with_columns(added)

    with memory.holding(operator) as holding:
        held = 0
        for place, row in rows:
            places.append(place)
            values.append(row)
            if memory.limit is not None:
                size = size_of(row)
                holding.add(size)
                held += size
            if len(places) >= wanted or held > memory.batch_bytes:
                yield from made()
                holding.set(0)
                places, values, held = [], [], 0
                wanted = min(BATCH_ROWS, wanted * 4)
        if places:
            yield from made()
