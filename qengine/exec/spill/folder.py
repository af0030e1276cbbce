"""The folder of one execution on disk: made when something is first spilled, gone when the execution ends.

A folder is locked by the process that made it (``flock``), and the lock dies with the process. What a killed process
has left is thereby known, and removed when another first spills into the same directory.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import Lock

from qengine._system import Folder, folder_class, user_number
from qengine.errors import ResourceError

PREFIX = "qengine-spill-"

_swept: set[str] = set()
_sweeping = Lock()


class SpillFolder:
    """A folder of this process alone, in a directory.

    Attributes
    ----------
    path
        Where it is.

    Raises
    ------
    ResourceError
        ``SpillFailed`` where the directory is missing or can't be written.
    """

    def __init__(self, directory: str | None) -> None:
        parent = tempfile.gettempdir() if directory is None else directory
        try:
            _sweep_once(parent)
            self._folder = _made(parent)
        except OSError as error:
            raise failed(error, parent) from None
        self.path = self._folder.path
        self._process = os.getpid()
        self._files = 0

    def new_file(self) -> Path:
        """Return the path of a file that isn't there yet."""
        self._files += 1
        return self.path / f"{self._files}.arrow"

    def remove(self) -> None:
        """Remove the folder and all in it; a forked child leaves its parent's alone."""
        if self._process == os.getpid() and self._folder.is_open:
            self._folder.destroy()


def failed(error: OSError, place: str | Path) -> ResourceError:
    """Return the error of an execution that can't write to, or read from, its folder."""
    return ResourceError(
        f"Rows beyond the memory limit can't be kept in {place}: {error.strerror or error}.",
        hint="Give a directory with room by spill_directory, or raise memory_limit.",
        code="SpillFailed",
    )


def _made(parent: str) -> Folder:
    """Return a new folder, locked."""
    while True:
        path = tempfile.mkdtemp(prefix=PREFIX, dir=parent)
        folder = _locked(path)
        if folder is not None and os.path.exists(path):  # else another process has taken it for one that was left
            return folder
        if folder is not None:
            folder.close()


def _locked(path: str) -> Folder | None:
    """Return a folder, locked; None where another process has it, or there is none."""
    try:
        folder = folder_class(path, follow=False)
    except OSError:
        return None
    with suppress(OSError):
        if folder.lock(wait=False):
            return folder
    folder.close()
    return None


def _sweep_once(parent: str) -> None:
    """Remove what killed processes of this user have left in a directory, when it is first used."""
    with _sweeping:
        if parent in _swept:
            return
        for entry in os.scandir(parent):
            if not entry.name.startswith(PREFIX):
                continue
            with suppress(OSError):
                if entry.stat(follow_symlinks=False).st_uid != user_number():
                    continue
            if (folder := _locked(entry.path)) is not None:
                folder.destroy()
        _swept.add(parent)
