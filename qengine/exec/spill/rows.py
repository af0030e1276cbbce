"""Rows of one operator on disk, one after the other: a run of a sort, a partition of groups or of a join's side.

A file is a sequence of Arrow IPC streams, one a block of rows, for columns may change their class, and with it Arrow's
type, from batch to batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from qengine._frozen import frozen
from qengine.exec.common.batch import BATCH_ROWS, Batch, concatenate_batches
from qengine.exec.common.batch_parts import PLACES, TABLE
from qengine.exec.spill.columns import Restore, stored
from qengine.exec.spill.folder import failed

if TYPE_CHECKING:
    from qengine.exec.context import ExecutionContext

_LARGEST_BLOCK, _SMALLEST_BLOCK = 1 << 20, 1 << 13
WORKING = 3  # times their bytes that rows take while they are worked on: themselves, in one piece, and what is made
_BLOCKS = 512  # a block is about this part of the memory limit


def in_blocks(batch: Batch, context: ExecutionContext) -> Iterator[Batch]:
    """Yield the rows of a batch in parts of a block's size each: who takes them has room for that."""
    rows = max(1, min(BATCH_ROWS, batch.length * block_bytes(context) // max(1, batch.nbytes)))
    for offset in range(0, batch.length, rows):
        yield batch.slice(offset, rows)


def working_of(batch: Batch) -> int:
    """Return the bytes that it takes to have rows in memory in one piece, and to group or order them."""
    return _working(batch.nbytes, batch.length, len(batch.columns))


def _working(nbytes: int, rows: int, columns: int) -> int:
    return WORKING * nbytes + (TABLE + PLACES * columns) * rows


def block_bytes(context: ExecutionContext) -> int:
    """Return how many bytes of rows are written, and read again, at a time."""
    limit = context.memory_limit
    return _LARGEST_BLOCK if limit is None else min(_LARGEST_BLOCK, max(_SMALLEST_BLOCK, limit // _BLOCKS))


@frozen
class _Block:
    """Where ``length`` rows are in a file, and what restores their columns. ``nbytes``: what these take."""

    begin: int
    size: int
    length: int
    nbytes: int
    restore: dict[str, Restore]


class SpilledRows:
    """Rows that are written once, in order, and then read.

    Parameters
    ----------
    operator
        Whose rows they are: a profile counts there what is written.

    Attributes
    ----------
    length, nbytes
        Rows so far, and bytes that they take in memory.
    largest_working
        What ordering the rows of one block takes at most.
    """

    def __init__(self, context: ExecutionContext, operator: object) -> None:
        self.largest_working = 0
        self.length = self.nbytes = 0
        self._context = context
        self._operator = operator
        self._path: Path | None = None
        self._blocks: list[_Block] = []
        self._size = 0

    def write(self, batch: Batch) -> None:
        """Write the rows of a batch behind the others, in blocks.

        Raises
        ------
        ResourceError
            ``SpillFailed`` where the disk is full or refuses.
        QueryTimeout, QueryInterrupted
            Between two blocks, as the context says.
        """
        for part in in_blocks(batch, self._context):
            self.append(part)

    def append(self, batch: Batch) -> None:
        """Write the rows of a batch behind the others, as one block.

        Raises
        ------
        ResourceError, QueryTimeout, QueryInterrupted
            As ``write``.
        """
        self._context.check()
        nbytes = batch.nbytes
        kept = {name: stored(column) for name, column in batch.columns.items()}
        arrays = [array for array, _ in kept.values()]
        sink = pa.BufferOutputStream()
        if arrays:
            rows = pa.RecordBatch.from_arrays(arrays, names=list(kept))
            with pa.ipc.new_stream(sink, rows.schema) as writer:
                writer.write_batch(rows)
        data = sink.getvalue()
        first = self._path is None
        if self._path is None:
            self._path = self._context.spill_folder().new_file()
        try:
            with open(self._path, "ab", buffering=0) as file:
                left = memoryview(data)
                while left:
                    left = left[file.write(left) :]
        except OSError as error:
            raise failed(error, self._path.parent) from None
        restore = {name: each for name, (_, each) in kept.items()}
        self._blocks.append(_Block(self._size, data.size, batch.length, nbytes, restore))
        self._size += data.size
        self.largest_working = max(self.largest_working, _working(nbytes, batch.length, len(restore)))
        self.length += batch.length
        self.nbytes += nbytes
        self._context.count_spilled(self._operator, data.size, files=int(first))

    def batches(self, *, again: bool = False) -> Iterator[Batch]:
        """Yield the rows in order, a block at a time; the file is removed behind the last unless it is read again.

        Raises
        ------
        ResourceError
            ``SpillFailed`` where the disk refuses.
        """
        for block in self._blocks:
            self._context.check()
            yield self._read(block)
        if not again:
            self.remove()

    @property
    def blocks(self) -> int:
        """Number of blocks that can be read."""
        return len(self._blocks)

    @property
    def width(self) -> int:
        """Number of columns, without those that only mark rows."""
        return max((sum(name[0] != "#" for name in block.restore) for block in self._blocks), default=0)

    def working(self, compared: int) -> int:
        """Return the bytes that it takes to have all rows in one piece, and to group them by so many columns."""
        return _working(self.nbytes, self.length, compared)

    def whole(self) -> Batch:
        """Return all rows, at least one; the file is removed."""
        return concatenate_batches(list(self.batches()))

    def _read(self, block: _Block) -> Batch:
        if not block.restore:
            return Batch(block.length, {})
        assert self._path is not None
        data = np.empty(block.size, np.uint8)
        try:
            with open(self._path, "rb", buffering=0) as file:
                file.seek(block.begin)
                file.readinto(memoryview(data))  # type: ignore[arg-type]
        except OSError as error:
            raise failed(error, self._path.parent) from None
        rows = pa.ipc.open_stream(pa.py_buffer(data)).read_next_batch()
        columns = {name: restore(rows.column(name)) for name, restore in block.restore.items()}
        return Batch(block.length, columns)

    def remove(self) -> None:
        """Remove the file, if there is one."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._path = None
        self._blocks = []
