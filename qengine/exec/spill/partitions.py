"""Rows dealt to files by the hash of some columns: rows that are equal in these meet in one file.

As in the Grace hash join (Kitsuregawa, Tanaka and Moto-oka 1983): a file that is too large is dealt again, by other
bits of the hash.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qengine.exec.common.batch import Batch, concatenate_batches
from qengine.exec.context import ExecutionContext
from qengine.exec.spill.hashes import row_hashes
from qengine.exec.spill.rows import SpilledRows, block_bytes

__all__ = ["DEPTH", "Partitions"]

_BITS = 6
_FILES = 1 << _BITS
DEPTH = 64 // _BITS
"""How often rows can be dealt."""


class Partitions:
    """Rows of one operator, in files by the hash of their keys.

    Parameters
    ----------
    keys
        The columns that the hash is of.
    depth
        How often the rows have been dealt before.
    """

    def __init__(self, keys: Sequence[str], depth: int, context: ExecutionContext, operator: object) -> None:
        self._keys = keys
        self._shift = np.uint64(64 - _BITS * (depth + 1))
        self._context = context
        self._files = [SpilledRows(context, operator) for _ in range(_FILES)]
        self._waiting: list[list[Batch]] = [[] for _ in range(_FILES)]
        self._bytes = [0] * _FILES
        self._flushed = max(1, block_bytes(context) // 2)

    @property
    def nbytes(self) -> int:
        """Bytes of rows that wait in memory to be written."""
        return sum(self._bytes)

    def add(self, batch: Batch) -> None:
        """Deal the rows of a batch; those of one file keep their order."""
        hashes = row_hashes([batch.columns[key] for key in self._keys], batch.length)
        files = (hashes >> self._shift).astype(np.uint8) & np.uint8(_FILES - 1)
        order = np.argsort(files, kind="stable")
        begin = 0
        for file, count in enumerate(np.bincount(files, minlength=_FILES).tolist()):
            if count:
                self._append(file, batch.take(order[begin : begin + count]))
            begin += count

    def _append(self, file: int, rows: Batch) -> None:
        self._waiting[file].append(rows)
        self._bytes[file] += rows.nbytes
        if self._bytes[file] >= self._flushed:
            self._flush(file)

    def _flush(self, file: int) -> None:
        if self._waiting[file]:
            self._files[file].write(concatenate_batches(self._waiting[file]))
            self._waiting[file], self._bytes[file] = [], 0

    def files(self) -> list[SpilledRows]:
        """Return the files, in the order of the hashes, with all rows written."""
        for file in range(_FILES):
            self._flush(file)
        return self._files
