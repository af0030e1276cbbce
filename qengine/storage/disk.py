"""How files are written: what crash safety rests on, in one place, so that tests can record it or make it fail.

Saves (``directory.py``) and the log of commits (``qengine.write``) write through a ``Disk``. Reading needs none.
Folders are given by descriptors, so nobody can put a link in their place meanwhile.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO


class Disk:
    """The real disk. All methods raise ``OSError`` where the system refuses."""

    def create(self, name: str, folder: int) -> BinaryIO:
        """Return a new file of a folder, open for writing, buffered."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        return os.fdopen(os.open(name, flags, 0o666, dir_fd=folder), "wb")

    def extend(self, name: str, folder: int) -> BinaryIO:
        """Return a file that is there, open for appending, not buffered: a write may take a part of the bytes."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.fdopen(os.open(name, flags, dir_fd=folder), "ab", buffering=0)

    def sync(self, file: BinaryIO) -> None:
        """Make sure that what was written to a file is on the disk."""
        file.flush()
        os.fsync(file.fileno())

    def truncate(self, file: BinaryIO, size: int) -> None:
        """Cut a file to ``size`` bytes."""
        os.ftruncate(file.fileno(), size)

    def rename(self, name: str, folder: int, new_name: str, new_folder: int) -> None:
        """Rename a file, over one that has the new name."""
        os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder)

    def remove(self, name: str, folder: int) -> None:
        """Remove a file."""
        os.unlink(name, dir_fd=folder)

    def make_folder(self, name: str, folder: int) -> None:
        """Make a folder in a folder."""
        os.mkdir(name, dir_fd=folder)

    def remove_folder(self, name: str, folder: int) -> None:
        """Remove an empty folder."""
        os.rmdir(name, dir_fd=folder)

    def sync_folder(self, folder: int) -> None:
        """Make sure that what was created, renamed and removed in a folder is so on the disk."""
        os.fsync(folder)

    def write_all(self, file: BinaryIO, data: Any) -> None:
        """Write all bytes to a file that isn't buffered."""
        written = file.write(data)
        while written < len(data):
            written += file.write(memoryview(data)[written:])


DISK = Disk()
