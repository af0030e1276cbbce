"""The log of commits: appended to before a commit is acknowledged, read again when the graph is next opened.

=============  ======================================================  ===============================================
durability     a commit is acknowledged when                           a crash of the machine loses
=============  ======================================================  ===============================================
``"full"``     it is on the disk; threads that wait share one sync     no acknowledged commit
``"batched"``  it is handed to the system                              the last commits, at most ``interval`` seconds
                                                                       of them and what one sync takes
``"none"``     it is handed to the system                              commits since the last checkpoint or ``close``
=============  ======================================================  ===============================================

Whatever the durability, what is lost are the last commits, never an earlier one without the later; and a crash of the
process alone loses no acknowledged commit.

A log that couldn't be written refuses all further commits: what the disk holds then shows when it is opened again.
"""

from __future__ import annotations

import contextlib
import os
import threading
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from qengine._system import Folder
from qengine.errors import InternalError, StorageError
from qengine.storage.blocks import reason
from qengine.storage.disk import Disk
from qengine.storage.saved import saved_version
from qengine.storage.states import Commit
from qengine.write.encoding import encode
from qengine.write.frames import Frame, frame
from qengine.write.logfile import FRESH, Head, log_name

Durability = Literal["full", "batched", "none"]
_REOPEN = "Make room or repair the disk, then open the graph again: what was acknowledged is kept."
_PIECE = 1 << 20
FLUSHER = "qengine-log"
"""The name of threads that sync in the background."""


class Place(NamedTuple):
    """A graph folder: its path for errors, a descriptor of it, and what writes there."""

    path: Path
    folder: Folder
    disk: Disk


class Log:
    """The log that continues the version saved in a folder. Any number of threads may use it.

    Parameters
    ----------
    place
        The folder.
    head
        What the log file says of itself.
    ends
        Where the head ends in the file, and what there is through each commit (``ends_of``); all of it synced.
    durability, interval
        As the module says.

    Attributes
    ----------
    synced
        The number of the last commit that is on the disk with all before.
    """

    def __init__(self, place: Place, head: Head, ends: Sequence[int], durability: Durability, interval: float) -> None:
        self._place, self._head = place, head
        self._file: BinaryIO = place.disk.extend(log_name(head.checkpoint), place.folder)
        self._ends = array("Q", ends)
        self._torn = False  # whether the file may go on behind the last end
        self.synced = self.number
        self._durability, self._interval = durability, interval
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._idle = True  # whether who syncs in the background waits for a commit, or isn't there yet
        self._syncing = False
        self._noted = True  # whether the log says of its last commit that it is synced
        self._refusal: str | None = None
        self._unsynced: str | None = None
        self._process = os.getpid()
        self._closing = threading.Event()
        self._flusher: threading.Thread | None = None

    @property
    def number(self) -> int:
        """The number of the last commit, counted from the beginning of the history."""
        return self._head.first + len(self._ends) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of the log file: what opening the graph has to read beside the saved version."""
        return self._ends[-1]

    @property
    def path(self) -> Path:
        """The log file's path."""
        return self._place.path / log_name(self._head.checkpoint)

    @property
    def first(self) -> int:
        """The number of the last commit that the saved version holds."""
        return self._head.first

    # ------------------------------------------------------------ committing

    def append(self, commit: Commit) -> int:
        """Write a commit and return its number; ``wait`` for it before acknowledging it.

        Raises
        ------
        StorageError
            If it can't be encoded: then nothing has happened. If it can't be written: then the log refuses all further
            commits, and the file is cut back, so that nothing of this one is there.
        """
        payload = encode(commit)
        self._check_process()
        with self._lock:
            self._check()
            kept = len(self._ends)
            try:
                number = self._head.first + kept
                self._write(frame(number, self.synced, payload))
                self._noted = False
                if self._idle and self._durability == "batched":
                    self._wake_flusher()
                return number
            except BaseException:  # also Ctrl-C in between
                self._torn = True
                del self._ends[kept:]
                with contextlib.suppress(OSError):  # else the next record, or closing, tries again
                    self._mend()
                raise

    def _write(self, record: bytes) -> None:
        """Append a record to the file and its end to the ends."""
        kept = len(self._ends)
        try:
            if self._torn:
                self._mend()
            self._torn = True
            self._place.disk.write_all(self._file, record)
        except OSError as error:
            raise self._cut_back(error, kept) from None
        self._ends.append(self._ends[-1] + len(record))
        self._torn = False

    def _mend(self) -> None:
        """Cut off what a commit has left that was interrupted."""
        if self._torn:
            self._place.disk.truncate(self._file, self._ends[-1])
            self._torn = False

    def wait(self, number: int) -> None:
        """Wait until a commit may be acknowledged.

        Raises
        ------
        StorageError
            If the disk refuses: then it, and all that aren't ``synced``, may not, and are cut off the file.
        """
        if self._durability == "full":
            self.sync(number)

    def commit(self, commit: Commit) -> int:
        """Append a commit, wait until it may be acknowledged, and return its number; errors as for both."""
        number = self.append(commit)
        self.wait(number)
        return number

    def sync(self, number: int | None = None) -> None:
        """Make sure that all commits through ``number``, by default the last, are on the disk.

        Raises
        ------
        StorageError
            If the disk refuses, now or for a commit among them before.
        """
        with self._changed:
            wanted = self.number if number is None else number
            while self.synced < wanted:
                if self._unsynced is not None:
                    raise self._error(self._unsynced)
                if self._syncing:
                    self._changed.wait()
                else:
                    self._lead()

    def _lead(self) -> None:
        """Sync for all who wait, with the lock held before and after but not meanwhile."""
        number = self.number
        self._syncing = True
        self._changed.release()
        try:
            self._place.disk.sync(self._file)
        except OSError as error:
            self._changed.acquire()
            self._unsynced = f"it can't be synced: {reason(error)}"
            self._refusal = self._refusal or self._unsynced
            if self._durability == "full":  # none of these has been acknowledged
                self._cut_back(error, self.synced - self._head.first + 1)
        except BaseException:
            self._changed.acquire()
            raise
        else:
            self._changed.acquire()
            self.synced = number
        finally:
            self._syncing = False
            self._changed.notify_all()

    def close(self) -> None:
        """Sync the log, note in it that it is, and close it.

        Raises
        ------
        StorageError
            If the disk refuses; the file is closed all the same.
        """
        if self._process != os.getpid() or self._file.closed:
            self._file.close()
            return
        self._closing.set()
        try:
            if self._unsynced is None:
                self.sync()
            with self._changed:
                if self._unsynced is not None and self._durability != "full":  # else who waited knows
                    raise self._error(self._unsynced)
                self._note()
        finally:
            with self._changed:
                while self._syncing:
                    self._changed.wait()
                with contextlib.suppress(OSError):
                    self._mend()
                self._refusal = self._refusal or "it is closed"
                self._file.close()
                self._changed.notify_all()

    def _note(self) -> None:
        """Write that all is synced, so that damage behind can't be taken for what a crash has torn."""
        if self._noted or self._refusal is not None:
            return
        self._write(frame(self.number, self.synced, b""))
        self._ends[-2:] = self._ends[-1:]
        self._noted = True

    # ------------------------------------------------------------ what goes wrong

    def check(self) -> None:
        """Raise the error with which a commit would be refused, if it would."""
        self._check_process()
        self._check()

    def goes_on_from(self, number: int) -> bool:
        """Tell whether the next commit would be taken, and follows the one of a number."""
        goes_on = self._refusal is None and self._process == os.getpid()
        return goes_on and self._head.first + len(self._ends) - 1 == number

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise StorageError(
                f"{self._place.path}: the graph was opened for writing by the process that this one was forked from.",
                hint="Commit in the process that has opened it.",
            )

    def _check(self) -> None:
        if self._refusal is not None:
            raise self._error(self._refusal)

    def _cut_back(self, error: OSError, kept: int) -> StorageError:
        """Keep the first ``kept`` ends and the file up to them, refuse further commits, and return the error for it."""
        self._refusal = self._refusal or f"it can't be written: {reason(error)}"
        del self._ends[kept:]
        try:
            self._place.disk.truncate(self._file, self._ends[-1])
        except OSError:
            self._refusal += ", and what was written of a commit can't be taken back"
        return self._error(self._refusal)

    def _error(self, why: str) -> StorageError:
        return StorageError(f"{self.path}: the log takes no commits: {why}", hint=_REOPEN, code="LogFailed")

    # ------------------------------------------------------------ syncing in the background

    def _wake_flusher(self) -> None:
        if self._flusher is None:
            self._flusher = threading.Thread(target=self._flush, name=FLUSHER, daemon=True)
            self._flusher.start()
        self._changed.notify_all()

    def _flush(self) -> None:
        while True:
            with self._changed:
                while self.synced == self.number and not self._closing.is_set():
                    self._idle = True
                    self._changed.wait()
                self._idle = False
            if self._closing.wait(self._interval):
                return
            try:
                self.sync()
            except StorageError:  # the next commit is refused with it
                return

    # ------------------------------------------------------------ checkpoints

    @contextlib.contextmanager
    def moved(self, version: str, through: int) -> Iterator[None]:
        """Continue in a new log, of a version that is published inside and holds the commits through ``through``.

        Commits wait meanwhile; those behind ``through`` are copied. The version may hold one more than the log: who
        follows it then has to open it. If publishing fails, the old log goes on; where
        it isn't known which version a crash would leave, it refuses further commits, and both logs hold all.

        Raises
        ------
        StorageError
            If the log has refused commits before.
        OSError
            If the new log can't be written; the old one goes on.
        """
        self._check_process()
        with self._changed:
            while self._syncing:
                self._changed.wait()
            self._check()
            if not self._head.first <= through <= self.number + 1:
                raise InternalError(f"a checkpoint through commit {through} isn't among those of the log")
            head = Head(version, self._head.history, through)
            ends = self._ends[min(through, self.number) - self._head.first :]
            old = log_name(self._head.checkpoint)
            size = create_log(self._place, head, _piece(self._place, old, ends[0], ends[-1]))
            try:
                yield
                file = self._place.disk.extend(log_name(version), self._place.folder)
            except BaseException as error:
                self._give_up(version, error)
                raise
            self._file.close()
            self._file, self._head, self._torn = file, head, False
            self._ends = array("Q", [end - ends[-1] + size for end in ends])
            self._noted = len(ends) == 1
            self.synced = self.number
            self._changed.notify_all()
            with contextlib.suppress(OSError):  # else the next opening for writing removes it
                self._place.disk.remove(old, self._place.folder)

    def _give_up(self, version: str, error: BaseException) -> None:
        """Go on after a checkpoint that failed, if it is known to have left nothing."""
        try:
            published = saved_version(self._place.path).name == version
        except StorageError:
            published = True
        if published:
            self._refusal = f"a checkpoint wasn't finished: {error}"
        else:
            with contextlib.suppress(OSError):
                self._place.disk.remove(log_name(version), self._place.folder)


def create_log(place: Place, head: Head, content: Iterator[bytes]) -> int:
    """Make a log of a head and records, synced, and return its size; it is in its place whole or not at all."""
    name = log_name(head.checkpoint)
    made = name + FRESH
    size = 0
    try:
        with place.disk.create(made, place.folder) as file:
            for piece in (head.encode(), *content):
                size += file.write(piece)
            place.disk.sync(file)
        place.disk.rename(made, place.folder, name, place.folder)
        made = name
        place.disk.sync_folder(place.folder)
    except BaseException:
        with contextlib.suppress(OSError):
            place.disk.remove(made, place.folder)
        raise
    return size


def ends_of(head_end: int, frames: Sequence[Frame]) -> list[int]:
    """Return where the head of a log ends, and the record of each commit with the notes behind it."""
    ends = [head_end]
    for one in frames:
        if one.payload:
            ends.append(one.end)
        else:
            ends[-1] = one.end
    return ends


def _piece(place: Place, name: str, begin: int, end: int) -> Iterator[bytes]:
    with os.fdopen(place.folder.open_file(name), "rb") as file:
        file.seek(begin)
        while begin < end:
            piece = file.read(min(_PIECE, end - begin))
            if not piece:
                raise OSError("the log has become shorter")
            begin += len(piece)
            yield piece
