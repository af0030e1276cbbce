"""The lock of the one process that writes to a graph folder; the system gives it back when the process ends.

It is held on the file ``.qengine-writer``, which stays, and in which the process that holds it has written its number.
Readers don't ask for it.
"""

from __future__ import annotations

import os
import weakref
from pathlib import Path

from qengine._system import Folder, in_forked_child, lock, unlock
from qengine.errors import StorageError
from qengine.storage.directory import read_bounded

WRITER = ".qengine-writer"
_MOST_BYTES = 64
_held: weakref.WeakSet[WriterLock] = weakref.WeakSet()


class WriterLock:
    """The right to write to a graph folder.

    Parameters
    ----------
    path
        The folder, for errors.
    folder
        The same, held open.

    Raises
    ------
    StorageError
        If another process, or another writer of this one, has it.
    OSError
        If the lock can't be written.
    """

    def __init__(self, path: Path, folder: Folder) -> None:
        self._handle = folder.open(WRITER, os.O_RDWR | os.O_CREAT)
        if not lock(self._handle, wait=False):
            self._close()
            raise _taken(path, folder)
        os.ftruncate(self._handle, 0)
        os.lseek(self._handle, 0, os.SEEK_SET)
        os.write(self._handle, f"{os.getpid()}\n".encode())
        _held.add(self)

    def release(self) -> None:
        """Give the lock back."""
        if self._handle >= 0:
            unlock(self._handle)
            self._close()

    def _close(self) -> None:
        os.close(self._handle)
        self._handle = -1


def _taken(path: Path, folder: Folder) -> StorageError:
    try:
        process = int(read_bounded(WRITER, folder, _MOST_BYTES))
    except (OSError, ValueError):  # it has the lock and hasn't written its number yet
        who = "another process"
    else:
        who = f"this process ({process})" if process == os.getpid() else f"process {process}"
    return StorageError(
        f"{path}: {who} has the graph open for writing, and only one may",
        hint="Close it there first; meanwhile others may read it.",
    )


def _left_behind() -> None:
    """Close a forked child's copies of its parent's locks, which would outlive the parent."""
    for one in [each for each in _held if each._handle >= 0]:
        one._close()


in_forked_child(_left_behind)
