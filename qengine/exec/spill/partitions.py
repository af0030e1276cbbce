"""Rows dealt to files by the hash of some columns: rows that are equal in these meet in one file.

As in the Grace hash join (Kitsuregawa, Tanaka and Moto-oka 1983): a file that is too large is dealt again, by other
bits of the hash.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qengine.exec.common.batch import Batch, concatenate_batches
from qengine.exec.context import ExecutionContext
from qengine.exec.spill.given_back import give_back
from qengine.exec.spill.hashes import row_hashes
from qengine.exec.spill.rows import SpilledRows

_FEWEST_BITS, _MOST_BITS = 3, 6
DEPTH = 64 // _MOST_BITS
"""How often rows can be dealt."""

_WAITING = 12  # rows that wait take this part of the memory limit
_LEAST_WAITING, _MOST_WAITING = 1 << 14, 1 << 25
_BLOCK = 1 << 14  # bytes of a file that are worth a write
_WORKING = 5  # times their bytes that rows take while they are dealt: in one piece, hashed, ordered, and by file


class Partitions:
    """Rows of one operator, in files by the hash of their keys.

    Rows wait in memory until each file gets some: then they are ordered by file, and all are written.

    Parameters
    ----------
    keys
        The columns that the hash is of.
    depth
        How often the rows have been dealt before.
    beside
        How many others of the same operator get rows at the same time: they share the memory.

    Attributes
    ----------
    waiting
        Bytes of the rows that wait to be written.
    """

    def __init__(
        self, keys: Sequence[str], depth: int, context: ExecutionContext, operator: object, beside: int = 0
    ) -> None:
        limit = context.memory_limit
        most = _MOST_WAITING if limit is None else limit // (_WAITING * (beside + 1))
        self._most = min(_MOST_WAITING, max(_LEAST_WAITING, most))
        bits = min(_MOST_BITS, max(_FEWEST_BITS, (self._most // _BLOCK).bit_length() - 1))
        self._keys = keys
        self._shift = np.uint64(64 - _MOST_BITS * (depth + 1))
        self._count = 1 << bits
        self._context = context
        give_back(context)
        self._files = [SpilledRows(context, operator) for _ in range(self._count)]
        self._waiting: list[Batch] = []
        self.waiting = 0

    @property
    def nbytes(self) -> int:
        """Bytes that rows take which wait to be written, and the dealing of them."""
        return waiting_bytes([self])

    def add(self, batch: Batch) -> None:
        """Deal the rows of a batch; those of one file keep their order."""
        size = batch.nbytes
        rows = max(1, batch.length * self._most // max(1, 2 * size))
        for offset in range(0, batch.length, rows):
            part = batch.slice(offset, rows)
            self._waiting.append(part)
            self.waiting += size * part.length // batch.length
            if self.waiting >= self._most:
                self._deal()

    def _deal(self) -> None:
        """Write the rows that wait."""
        if not self._waiting:
            return
        rows = concatenate_batches(self._waiting)
        self._waiting, self.waiting = [], 0
        hashes = row_hashes([rows.columns[key] for key in self._keys], rows.length)
        files = (hashes >> self._shift).astype(np.uint8) & np.uint8(self._count - 1)
        dealt = rows.take(np.argsort(files, kind="stable"))
        del rows
        begin = 0
        for file, count in enumerate(np.bincount(files, minlength=self._count).tolist()):
            if count:
                self._files[file].write(dealt.slice(begin, count))
            begin += count
        del dealt
        give_back(self._context)

    def files(self) -> list[SpilledRows]:
        """Return the files, in the order of the hashes, with all rows written."""
        self._deal()
        return self._files


def waiting_bytes(partitions: Sequence[Partitions]) -> int:
    """Return the bytes of all rows that wait to be written, and of dealing those of one at a time."""
    return sum(each.waiting for each in partitions) + (_WORKING - 1) * max(each.waiting for each in partitions)
