"""The lock of the one process that writes to a graph folder; the system gives it back when the process ends.

It is held on the file ``.qengine-writer``, which stays, and in which the process that holds it has written its number.
Readers don't ask for it.
"""

from __future__ import annotations

import fcntl
import os
import weakref
from pathlib import Path

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
        A descriptor of it.

    Raises
    ------
    StorageError
        If another process, or another writer of this one, has it.
    OSError
        If the lock can't be written.
    """

    def __init__(self, path: Path, folder: int) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._handle = os.open(WRITER, flags, 0o666, dir_fd=folder)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._close()
            raise _taken(path, folder) from None
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)
        _held.add(self)

    def release(self) -> None:
        """Give the lock back."""
        if self._handle >= 0:
            fcntl.flock(self._handle, fcntl.LOCK_UN)  # of a child that was forked just now, too
            self._close()

    def _close(self) -> None:
        os.close(self._handle)
        self._handle = -1


def _taken(path: Path, folder: int) -> StorageError:
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
    for lock in [each for each in _held if each._handle >= 0]:
        lock._close()


os.register_at_fork(after_in_child=_left_behind)
