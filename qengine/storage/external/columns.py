"""Arrow arrays that are appended to, whose buffers are files."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from qengine.storage import normal
from qengine.storage.external.scratch import Scratch, mapped
from qengine.storage.variant import concatenate

_OFFSETS = ((pa.types.is_list, np.int32), (pa.types.is_large_list, np.int64),
            (pa.types.is_string, np.int64), (pa.types.is_large_string, np.int64))  # fmt: skip
_SLICE = 1 << 20  # offsets that are made shorter at a time


class ColumnWriter:
    """Makes one array of a normal type (``storage.normal``) of arrays that come one after the other.

    Parameters
    ----------
    scratch
        Where its buffers stand.
    kind
        The array's type. Unions are gathered in memory; ``string`` becomes ``large_string`` where it must.
    """

    def __init__(self, scratch: Scratch, kind: Any) -> None:
        self._scratch, self._kind = scratch, kind
        self._length = self._nulls = 0
        self._valid: _Bits | None = None
        self._parts: list[Any] = []
        self._children: list[ColumnWriter] = []
        self._offsets: _Offsets | None = None
        self._values: _Bits | _Bytes | None = None
        width = next((dtype for test, dtype in _OFFSETS if test(kind)), None)
        if width is not None:
            self._offsets = _Offsets(scratch, width)
            if normal.is_string(kind):
                self._values = _Bytes(scratch)
            else:
                self._children = [ColumnWriter(scratch, kind.value_type)]
        elif pa.types.is_struct(kind):
            self._children = [ColumnWriter(scratch, field.type) for field in kind]
        elif pa.types.is_boolean(kind):
            self._values = _Bits(scratch)
        elif not (pa.types.is_null(kind) or pa.types.is_union(kind)):
            self._values = _Bytes(scratch)

    def append(self, array: Any) -> None:
        """Append an array of the type, or of nulls."""
        if array.type != self._kind and not (pa.types.is_union(self._kind) or normal.is_string(array.type)):
            array = array.cast(self._kind)
        if not len(array):
            return
        if pa.types.is_union(self._kind):
            self._parts.append(array)
        elif not pa.types.is_null(self._kind):
            self._append_validity(array)
            self._append_values(array)
        self._length += len(array)

    def finish(self) -> Any:
        """Return the array."""
        if pa.types.is_union(self._kind):
            return concatenate(self._parts)
        if pa.types.is_null(self._kind):
            return pa.nulls(self._length)
        kind = self._kind
        buffers = [None if self._valid is None else self._valid.finish()]
        if self._offsets is not None:
            if pa.types.is_string(kind) and self._offsets.end + 4 * self._length > normal.STRING_LIMIT:
                kind = pa.large_string()
            buffers.append(self._offsets.finish(np.int32 if pa.types.is_string(kind) else self._offsets.dtype))
        if self._values is not None:
            buffers.append(self._values.finish())
        children = [child.finish() for child in self._children]
        return pa.Array.from_buffers(kind, self._length, buffers, self._nulls, 0, children or None)

    def _append_validity(self, array: Any) -> None:
        if array.null_count and self._valid is None:
            self._valid = _Bits(self._scratch)
            self._valid.append(np.ones(self._length, np.bool_))
        if self._valid is not None:
            self._valid.append(array.is_valid().to_numpy(zero_copy_only=False))
            self._nulls += array.null_count

    def _append_values(self, array: Any) -> None:
        if pa.types.is_struct(self._kind):
            for number, child in enumerate(self._children):
                child.append(array.field(number))
        elif self._offsets is not None:
            wide = pa.types.is_large_string(array.type) or pa.types.is_large_list(array.type)
            every = np.frombuffer(array.buffers()[1], np.int64 if wide else np.int32)
            offsets = every[array.offset : array.offset + len(array) + 1]
            begin, end = int(offsets[0]), int(offsets[-1])
            self._offsets.append(offsets)
            if self._children:
                self._children[0].append(array.values.slice(begin, end - begin))
            elif end > begin:
                assert isinstance(self._values, _Bytes)
                self._values.append(array.buffers()[2].slice(begin, end - begin))
        elif isinstance(self._values, _Bits):
            bits = np.unpackbits(np.frombuffer(array.buffers()[1], np.uint8), bitorder="little")
            self._values.append(bits[array.offset : array.offset + len(array)].astype(np.bool_))
        else:
            assert self._values is not None
            width = self._kind.bit_width // 8
            self._values.append(array.buffers()[1].slice(array.offset * width, len(array) * width))


class _Bytes:
    """Bytes in a file."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._file: BinaryIO | None = None

    def append(self, data: Any) -> None:
        """Append a buffer's bytes."""
        if self._file is None:
            self._file = self._scratch.file()
        try:
            self._file.write(data)
        except OSError as error:
            raise self._scratch.failed(error) from None

    def finish(self) -> Any:
        """Return all bytes as a buffer."""
        if self._file is None:
            return pa.py_buffer(b"")
        try:
            self._file.flush()
        except OSError as error:
            raise self._scratch.failed(error) from None
        with self._file:
            return mapped(self._file)


class _Bits:
    """Bits in a file, the least of a byte first."""

    def __init__(self, scratch: Scratch) -> None:
        self._bytes = _Bytes(scratch)
        self._rest = np.empty(0, np.bool_)

    def append(self, bits: Any) -> None:
        """Append bits, an array of bool."""
        bits = np.concatenate([self._rest, bits]) if len(self._rest) else bits
        whole = len(bits) // 8 * 8
        if whole:
            self._bytes.append(np.packbits(bits[:whole], bitorder="little"))
        self._rest = bits[whole:]

    def finish(self) -> Any:
        """Return all bits as a buffer."""
        if len(self._rest):
            self._bytes.append(np.packbits(self._rest, bitorder="little"))
        return self._bytes.finish()


class _Offsets:
    """Where lists, or texts, begin, and at last where they end."""

    def __init__(self, scratch: Scratch, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.end = 0
        self._scratch = scratch
        self._bytes = _Bytes(scratch)
        self._bytes.append(np.zeros(1, self.dtype))

    def append(self, offsets: Any) -> None:
        """Append the offsets of further lists, of which the first says only where they begin."""
        first, last = int(offsets[0]), int(offsets[-1])
        self._bytes.append(offsets[1:].astype(self.dtype) + self.dtype.type(self.end - first))
        self.end += last - first

    def finish(self, dtype: Any) -> Any:
        """Return all offsets as a buffer of a type."""
        if self.dtype == dtype:
            return self._bytes.finish()
        wide = np.frombuffer(self._bytes.finish(), self.dtype)
        narrow = _Bytes(self._scratch)
        for first in range(0, len(wide), _SLICE):
            narrow.append(wide[first : first + _SLICE].astype(dtype))
        return narrow.finish()
