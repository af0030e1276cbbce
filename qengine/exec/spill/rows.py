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
from qengine.exec.common.batch import BATCH_ROWS, Batch
from qengine.exec.spill.columns import Restore, stored
from qengine.exec.spill.folder import failed

if TYPE_CHECKING:
    from qengine.exec.context import ExecutionContext

__all__ = ["SpilledRows", "block_bytes"]

_LARGEST_BLOCK, _SMALLEST_BLOCK = 1 << 20, 1 << 13
_BLOCKS = 512  # a block is about this part of the memory limit


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
    """

    def __init__(self, context: ExecutionContext, operator: object) -> None:
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
        rows = max(1, min(BATCH_ROWS, batch.length * block_bytes(self._context) // max(1, batch.nbytes)))
        for offset in range(0, batch.length, rows):
            self._context.check()
            self._append(batch.slice(offset, rows))

    def _append(self, batch: Batch) -> None:
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
        self._blocks.append(_Block(self._size, data.size, batch.length, batch.nbytes, restore))
        self._size += data.size
        self.length += batch.length
        self.nbytes += batch.nbytes
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
