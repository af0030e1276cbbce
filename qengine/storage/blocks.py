"""Files of a saved graph, mapped; the checksum of a block is compared when something in it is first needed.

``kernels/host/load/saved_blocks.h`` says how. Nothing here follows a link, opens a device or reads beyond a file.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from qengine import _native
from qengine._control import Control, Status, call
from qengine._limits import running
from qengine.errors import InternalError, OutOfMemory, StorageError
from qengine.storage.arrays import Array
from qengine.storage.kernels import threads

BLOCK = 1 << 18
"""Bytes of a block, ``qe::kSavedBlock``."""

DAMAGED = "It is damaged: save the graph again from its source, or restore the directory from a backup."
_SHORT = 1 << 24  # bytes that are checked before anybody could press Ctrl-C
_NONE = 2**64 - 1


BlocksStruct = _native.struct("qe::SavedBlocks", "p data; u8 bytes; p checksums done")


def reason(error: OSError | ValueError) -> str:
    """Return in words why a file can't be read or written."""
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return "it is a link"
    return str(getattr(error, "strerror", None) or error)


class BlockFile:
    """A mapped file.

    Parameters
    ----------
    path
        What errors call it.
    handle
        An open descriptor of it; it may be closed afterwards.
    size
        How many bytes it must have, at least one.
    checksums
        uint64, of each block; None where all bytes are known to be right.
    trusted
        Whether what is in it is taken as it is: no checksum is compared, no array looked through. Then it is read page
        by page, without those around it.

    Raises
    ------
    StorageError
        If it has another size.
    """

    def __init__(self, path: Path, handle: int, size: int, checksums: Array | None, *, trusted: bool = False) -> None:
        self.path = path
        self.trusted = trusted
        found = os.fstat(handle).st_size
        if found != size:
            raise self.damaged(f"it has {found:,} bytes instead of {size:,}")
        self._map = mmap.mmap(handle, size, access=mmap.ACCESS_READ)
        if trusted and hasattr(mmap, "MADV_RANDOM"):
            self._map.madvise(mmap.MADV_RANDOM)
        self.buffer = pa.py_buffer(self._map)
        self.size = size
        self._checksums = checksums
        self._done = np.zeros(-(-size // BLOCK), np.uint8)
        self.struct = BlocksStruct(
            self.buffer.address, size, None if checksums is None else checksums.ctypes.data, self._done.ctypes.data
        )

    def damaged(self, what: str) -> StorageError:
        """Return the error that says what is wrong with the file."""
        return StorageError(f"{self.path}: {what}", hint=DAMAGED)

    def wrong_block(self, block: int) -> str:
        """Return what is wrong with a block that has another checksum."""
        begin, end = block * BLOCK, min((block + 1) * BLOCK, self.size)
        return f"the checksum of bytes {begin:,} to {end:,} is wrong"

    def place(self, buffer: Any) -> tuple[int, int]:
        """Return where in the file an Arrow buffer's bytes are, ``[begin, end)``.

        Raises
        ------
        StorageError
            If they aren't in it, or where kernels can't read them.
        """
        begin = buffer.address - self.buffer.address
        if begin < 0 or begin + buffer.size > self.size or begin % 8:
            raise self.damaged("an array isn't where it should be")
        return begin, begin + buffer.size

    def check(self, begin: int, end: int) -> None:
        """Compare the checksums of the blocks that hold the bytes ``[begin, end)``, those that weren't compared yet.

        Raises
        ------
        StorageError
            If one is wrong.
        ResourceError
            If the query that needs them must stop.
        """
        if self._checksums is None or self.trusted or begin >= end:
            return
        wrong = ctypes.c_uint64()
        own = ctypes.byref(self.struct), begin, end, ctypes.byref(wrong)
        limited(lambda control: _library().qe_check_blocks(*own, ctypes.byref(control)), end - begin)
        if wrong.value != _NONE:
            raise self.damaged(self.wrong_block(wrong.value))

    def check_buffers(self, array: Any) -> None:
        """Do so for all buffers of an Arrow array."""
        for buffer in array.buffers():
            if buffer is not None and buffer.size:
                self.check(*self.place(buffer))


def block_checksums(data: Any) -> Array:
    """Return the checksum of each block of some bytes: uint64."""
    found = np.empty(-(-len(data) // BLOCK), np.uint64)
    array = np.frombuffer(data, np.uint8)
    _library().qe_block_checksums(array.ctypes.data, len(array), found.ctypes.data)
    return found


def limited(function: Callable[[Control], int], size: int) -> None:
    """Call a native function that reads ``size`` bytes, within the limits of the query that needs it.

    Raises
    ------
    ResourceError
        If the query must stop.
    KeyboardInterrupt
        Soon after Ctrl-C.
    """
    limits = running.limits
    control = Control(threads=threads()) if limits is None else limits.control
    status = function(control) if size < _SHORT else call(control, function, control)
    if status == Status.OK:
        return
    if limits is not None:
        limits.raise_for(status)
    if status == Status.INTERRUPTED:
        raise KeyboardInterrupt
    if status == Status.OUT_OF_MEMORY:
        raise OutOfMemory("Checking a saved graph needs more memory than there is.", hint="Close other programs.")
    raise InternalError(f"A check of a saved graph failed with status {status}.")


_library = _native.declared("qe_check_blocks p u8 u8 p p; qe_block_checksums p u8 p")
