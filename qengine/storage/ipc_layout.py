"""Where the parts of an Arrow IPC file stand, read off its flatbuffers before Arrow reads a byte of the rest.

Files that qengine writes are plain: record batches without compression or dictionaries. Whatever else a file claims is
refused here, so opening one never takes more memory than it has bytes.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from qengine import _native
from qengine.storage.blocks import BlockFile

_MAGIC = b"ARROW1"
_TAIL = 10  # bytes: the footer's length and the magic
_BLOCK = _native.record("i8 offset; i4 head unused; i8 body")
_BUFFER = _native.record("i8 offset length")
_RECORD_BATCH = 3
_CONTINUES = 0xFFFFFFFF
_BATCH_FIELDS = ("length", "nodes", "buffers", "compression")


class _Malformed(Exception):
    pass


class _Table:
    """A flatbuffer table, whose fields are found by number; all places are looked at before they are read."""

    def __init__(self, data: Any, at: int) -> None:
        self._data = data
        self._at = at
        self._fields = at - _read(data, "<i", at)
        self._size = _read(data, "<H", self._fields)

    def place(self, number: int) -> int:
        """Return where a field stands, 0 where it has its default."""
        slot = 4 + 2 * number
        if slot + 2 > self._size:
            return 0
        offset = _read(self._data, "<H", self._fields + slot)
        return self._at + offset if offset else 0

    def table(self, number: int) -> _Table:
        """Return the table in a field."""
        at = self.place(number)
        if not at:
            raise _Malformed
        return _Table(self._data, at + _read(self._data, "<I", at))

    def records(self, number: int, kind: Any) -> Any:
        """Return the vector of structs in a field as an array."""
        at = self.place(number)
        if not at:
            return np.empty(0, kind)
        at += _read(self._data, "<I", at)
        count = _read(self._data, "<I", at)
        if at + 4 + count * kind.itemsize > len(self._data):
            raise _Malformed
        return np.frombuffer(self._data, kind, count, at + 4)


def check_layout(file: BlockFile) -> None:
    """Check what frames a file's arrays: that it is plain, and claims no more bytes than it has.

    The checksums of all that Arrow reads to open it are compared.

    Raises
    ------
    StorageError
        If it isn't such a file.
    """
    data = memoryview(file.buffer)
    file.check(max(0, file.size - _TAIL), file.size)
    try:
        if file.size < 2 * _TAIL or data[-len(_MAGIC) :] != _MAGIC:
            raise _Malformed
        length = _read(data, "<i", file.size - _TAIL)
        begin = file.size - _TAIL - length
        if length <= 0 or begin < 0:
            raise _Malformed
        file.check(begin, file.size)
        footer = _root(data[begin : file.size - _TAIL])
        if len(footer.records(2, _BLOCK)):
            raise file.damaged("it has dictionaries, which qengine never writes")
        blocks = footer.records(3, _BLOCK)
        ends = [begin, *(int(block["offset"]) for block in blocks)]
        file.check(0, min(ends))
        for block in blocks.tolist():
            _check_batch(file, data, begin, *block)
    except (_Malformed, struct.error):
        raise file.damaged("it is no Arrow file as qengine writes them") from None


def _check_batch(file: BlockFile, data: Any, limit: int, offset: int, head: int, unused: int, body: int) -> None:
    """Check one record batch that stands before ``limit``."""
    if offset < 0 or head < 8 or body < 0 or offset + head + body > limit:
        raise _Malformed
    file.check(offset, offset + head)
    if _read(data, "<I", offset) != _CONTINUES or not 0 < _read(data, "<i", offset + 4) <= head - 8:
        raise _Malformed
    message = _root(data[offset + 8 : offset + head])
    kind = message.place(1)
    if not kind or data[offset + 8 + kind] != _RECORD_BATCH:
        raise _Malformed
    batch = message.table(2)
    if batch.place(_BATCH_FIELDS.index("compression")):
        raise file.damaged("it is compressed, which qengine never does")
    buffers = batch.records(_BATCH_FIELDS.index("buffers"), _BUFFER)
    offsets, lengths = buffers["offset"], buffers["length"]
    if (offsets < 0).any() or (lengths < 0).any() or (lengths > body - offsets).any():
        raise _Malformed


def _root(data: Any) -> _Table:
    return _Table(data, _read(data, "<I", 0))


def _read(data: Any, kind: str, at: int) -> int:
    if at < 0:
        raise _Malformed
    found: int = struct.unpack_from(kind, data, at)[0]
    return found
