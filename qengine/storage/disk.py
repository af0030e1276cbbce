"""How files are written: what crash safety rests on, in one place, so that tests can record it or make it fail.

Saves (``directory.py``) and the log of commits (``qengine.write``) write through a ``Disk``. Reading needs none.
Folders are held open, so nobody can put a link in their place meanwhile.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO

from qengine._system import Folder, sync


class Disk:
    """The real disk. All methods raise ``OSError`` where the system refuses."""

    def create(self, name: str, folder: Folder) -> BinaryIO:
        """Return a new file of a folder, open for writing, buffered."""
        return os.fdopen(folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb")

    def extend(self, name: str, folder: Folder) -> BinaryIO:
        """Return a file that is there, open for appending, not buffered: a write may take a part of the bytes."""
        return os.fdopen(folder.open(name, os.O_WRONLY | os.O_APPEND), "ab", buffering=0)

    def sync(self, file: BinaryIO) -> None:
        """Make sure that what was written to a file is on the disk."""
        file.flush()
        sync(file.fileno())

    def truncate(self, file: BinaryIO, size: int) -> None:
        """Cut a file to ``size`` bytes."""
        os.ftruncate(file.fileno(), size)

    def rename(self, name: str, folder: Folder, new_name: str, new_folder: Folder) -> None:
        """Rename a file, over one that has the new name."""
        folder.rename(name, new_name, new_folder)

    def remove(self, name: str, folder: Folder) -> None:
        """Remove a file."""
        folder.remove(name)

    def make_folder(self, name: str, folder: Folder) -> None:
        """Make a folder in a folder."""
        folder.make_folder(name)

    def remove_folder(self, name: str, folder: Folder) -> None:
        """Remove an empty folder."""
        folder.remove_folder(name)

    def sync_folder(self, folder: Folder) -> None:
        """Make sure that what was created, renamed and removed in a folder is so on the disk."""
        folder.sync()

    def write_all(self, file: BinaryIO, data: Any) -> None:
        """Write all bytes to a file that isn't buffered."""
        written = file.write(data)
        while written < len(data):
            written += file.write(memoryview(data)[written:])


DISK = Disk()
