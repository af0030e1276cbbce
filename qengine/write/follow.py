"""Following the log of a graph folder from another process: which commits have come since."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from qengine._system import opened
from qengine.errors import StorageError
from qengine.storage.directory import MANIFEST
from qengine.storage.saved import saved_version
from qengine.storage.states import Commit
from qengine.write.frames import Frame, read_frame
from qengine.write.logfile import commits_of, log_name, open_log, read_head, read_log, size_of

Stamp = tuple[int, int, int]


class Follower:
    """A reader's place in the history of a graph folder. Not for several threads at once.

    It holds the log open, so it goes on across a checkpoint, which removes that. Commits are told of when they are in
    the log, which for ``"full"`` is shortly before they are acknowledged.

    Parameters
    ----------
    path
        The folder.
    version
        The saved version that the reader has (``saved_version``).
    stamp
        That of its manifest (``stamp_of``).
    """

    def __init__(self, path: Path, version: str, stamp: Stamp | None) -> None:
        self._path, self._version, self._stamp = path, version, stamp
        self._file: BinaryIO | None = None
        self._history: str | None = None
        self._begin = self._end = 0  # of the record read last
        self._last: Frame | None = None
        self.number = 0

    def close(self) -> None:
        """Close the log."""
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def has_log(self) -> bool:
        """Whether there is a log."""
        return self._file is not None

    def begin(self) -> list[Commit]:
        """Return the commits that the version's log has; errors as for ``follow``."""
        return commits_of(self._read()) if self._enter(self._version) else []

    def follow(self) -> list[Commit] | None:
        """Return the commits since the last call, in their order; None where the graph must be opened anew.

        That is so where another graph was saved over it, where more than one checkpoint came since the last call, and
        where the writer has taken back commits because its disk refused them.

        Raises
        ------
        StorageError
            If a file is damaged or can't be read.
        """
        found: list[Frame] = []
        while True:
            stamp = self._manifest()
            version = self._version if stamp == self._stamp else saved_version(self._path).name
            if self._file is not None:  # once there is a later version, this log doesn't grow any more
                if not self._is_same():
                    return None
                found += self._read()
            if version == self._version:
                if self._file is None and self._enter(version):
                    found += self._read()
                if self._file is not None or stamp == self._manifest():
                    self._stamp = stamp
                    return commits_of(found)
            elif self._enter(version):
                found += self._read()
                self._version = version
            elif self._manifest() == stamp:
                return None

    def _enter(self, version: str) -> bool:
        """Go over to a version's log; False where there is none that goes on from where the reader is."""
        with opened(self._path) as folder:
            file = open_log(self._path, version, folder)
        if file is None:
            return False
        try:
            head, end = read_head(self._path, version, file)
            if version == self._version and self._history is None:
                self.number, self._history = head.first, head.history
            elif head.history != self._history or head.first > self.number:
                file.close()
                return False
        except BaseException:
            file.close()
            raise
        self.close()
        self._file, self._begin, self._end = file, 0, end
        self._last = read_frame(file, 0, end)
        return True

    def _read(self) -> list[Frame]:
        """Return the records since that the reader hasn't yet."""
        assert self._file is not None
        assert self._last is not None
        frames, _ = read_log(self._path / log_name(self._version), self._file, self._end, self._last.number)
        if not frames:
            return []
        self._begin = frames[-2].end if len(frames) > 1 else self._end
        self._last = frames[-1]
        self._end = self._last.end
        fresh = [one for one in frames if one.number > self.number]
        self.number = max(self.number, self._last.number)
        return fresh

    def _is_same(self) -> bool:
        """Tell whether the record that was read last still stands where it did."""
        assert self._file is not None
        return read_frame(self._file, self._begin, size_of(self._file)) == self._last

    def _manifest(self) -> Stamp:
        stamp = stamp_of(self._path)
        if stamp is None:
            raise StorageError(f"{self._path / MANIFEST}: the file is missing, or can't be read")
        return stamp


def stamp_of(path: Path) -> Stamp | None:
    """Return what tells the manifest of a folder from others without reading it, None where there is none."""
    try:
        found = os.stat(path / MANIFEST)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
