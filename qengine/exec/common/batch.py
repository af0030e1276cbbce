"""Batches: the rows that operators hand on, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from qengine._frozen import record
from qengine.exec.common.columns import BoolArray, Column, IntArray, concatenate

BATCH_ROWS = 65_536  # rows of a full batch: columns of it stay in the second-level cache
LONG_ROWS = 1 << 19  # of one that nobody but its reader looks at: what Python does for each is little then


@record
class Batch:
    """``length`` rows; every column has that many values. Operators emit no empty batches."""

    length: int
    columns: dict[str, Column]

    def take(self, indices: IntArray) -> Batch:
        """Return the rows ``indices``, in that order."""
        return Batch(len(indices), {name: column.take(indices) for name, column in self.columns.items()})

    def filter(self, mask: BoolArray) -> Batch:
        """Return the rows where ``mask`` is true."""
        return self.take(np.flatnonzero(mask))

    def slice(self, offset: int, length: int) -> Batch:
        """Return the rows ``[offset, offset + length)`` as far as there are."""
        if offset == 0 and length >= self.length:
            return self
        length = max(0, min(length, self.length - offset))
        return Batch(length, {name: column.slice(offset, length) for name, column in self.columns.items()})

    def select(self, names: Iterable[str]) -> Batch:
        """Return the named columns only."""
        return Batch(self.length, {name: self.columns[name] for name in names})

    def with_columns(self, columns: Mapping[str, Column]) -> Batch:
        """Return the batch with columns added (or replaced)."""
        return Batch(self.length, {**self.columns, **columns})

    @property
    def nbytes(self) -> int:
        """Bytes that the columns hold."""
        return sum(column.nbytes for column in self.columns.values())


def concatenate_batches(batches: Sequence[Batch]) -> Batch:
    """Return the rows of all batches (at least one, all with the same columns), one after the other."""
    if len(batches) == 1:
        return batches[0]
    names = batches[0].columns
    return Batch(
        sum(batch.length for batch in batches),
        {name: concatenate([batch.columns[name] for batch in batches]) for name in names},
    )
