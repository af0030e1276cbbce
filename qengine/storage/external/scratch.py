"""Files without a name that hold what memory doesn't: arrays that are mapped, and streams that are read once.

A file has no name from the moment it is made, so nothing is left of it when its last user is gone, however that ends.
The pages of a mapped file are the system's to write out; they are no memory of the process's own.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa

from qengine._system import take_room
from qengine.errors import ResourceError
from qengine.storage.arrays import Array

_WITHOUT_FILE: Any = {"trackfd": False} if sys.version_info >= (3, 13) and sys.platform != "win32" else {}
"""What keeps a map from holding a descriptor of its own."""
_WRITE = 1 << 16  # bytes of a buffer before a file


class Scratch:
    """A directory in which files without names are made.

    Parameters
    ----------
    directory
        Where; None: the system's directory of temporary files.

    Raises
    ------
    ResourceError
        ``SpillFailed``, here and from all methods, where the directory is missing, full or can't be written.
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        self.directory = Path(tempfile.gettempdir() if directory is None else directory)
        self._files: list[BinaryIO] = []
        if not self.directory.is_dir():
            raise self.failed(FileNotFoundError("there is no such directory"))

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *error: object) -> None:
        for file in self._files:
            with contextlib.suppress(OSError):
                file.close()
        self._files.clear()

    def file(self) -> BinaryIO:
        """Return a new file, to write and to read, which is closed when the scratch is left; what is mapped stays."""
        self._files = [each for each in self._files if not each.closed]
        try:
            made = tempfile.TemporaryFile(dir=self.directory, buffering=_WRITE)  # noqa: SIM115
        except OSError as error:
            raise self.failed(error) from None
        self._files.append(cast(BinaryIO, made))
        return self._files[-1]

    def array(self, length: int, dtype: Any) -> Array:
        """Return an array of zeros that stands in a file, whose room is taken at once."""
        kind = np.dtype(dtype)
        if not length:
            return np.empty(0, kind)
        size = length * kind.itemsize
        with self.file() as file:
            try:
                take_room(file.fileno(), size)
                return np.frombuffer(mmap.mmap(file.fileno(), size, **_WITHOUT_FILE), kind)
            except OSError as error:
                raise self.failed(error) from None

    def spool(self, schema: Any) -> Spool:
        """Return a new stream of record batches."""
        return Spool(self, schema)

    def failed(self, error: OSError) -> ResourceError:
        """Return the error of a loader that can't write here."""
        return ResourceError(
            f"A graph beyond the memory limit can't be kept in {self.directory} while it is loaded: "
            f"{error.strerror or error}.",
            hint="Give a directory with room by spill_directory, or raise memory_limit.",
            code="SpillFailed",
        )


class Spool:
    """Record batches in a file, written one after the other and then read once as a table."""

    def __init__(self, scratch: Scratch, schema: Any) -> None:
        self._scratch, self._schema = scratch, schema
        self._file: BinaryIO | None = None
        self._writer: Any = None

    def write(self, batch: Any) -> None:
        """Append a record batch."""
        if self._file is None:
            self._file = self._scratch.file()
            self._writer = pa.ipc.new_stream(self._file, self._schema)
        try:
            self._writer.write_batch(batch)
        except OSError as error:
            raise self._scratch.failed(error) from None

    def read(self) -> Any:
        """Return all batches as a table, and drop the file; the table's columns stand in it."""
        if self._file is None:
            return self._schema.empty_table()
        file, self._file = self._file, None
        try:
            self._writer.close()
            file.flush()
        except OSError as error:
            raise self._scratch.failed(error) from None
        with file:
            return pa.ipc.open_stream(mapped(file)).read_all()


def mapped(file: BinaryIO) -> Any:
    """Return the bytes of a file as an Arrow buffer; the file may be closed afterwards."""
    size = os.fstat(file.fileno()).st_size
    return pa.py_buffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ, **_WITHOUT_FILE) if size else b"")
