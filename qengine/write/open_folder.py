"""The folder of an open graph: followed while the graph is only read, written to from its first change on.

The first transaction takes the folder's writer lock, reads what others have committed meanwhile, and keeps the lock
until the graph is closed. A log that has grown large is replaced by a checkpoint, which a thread makes.
"""

from __future__ import annotations

import os
import threading
import warnings
from pathlib import Path
from typing import NamedTuple, Protocol

from qengine.errors import StorageError, StorageWarning, TransactionError
from qengine.storage import from_records
from qengine.storage.directory import MANIFEST
from qengine.storage.disk import DISK, Disk
from qengine.storage.saved import Verify, save_new
from qengine.storage.states import Commit
from qengine.storage.store import GraphStore
from qengine.storage.writer_lock import WRITER
from qengine.write.folder import INTERVAL, GraphFolder, check_durability, open_for_reading, take_over
from qengine.write.follow import Follower
from qengine.write.log import FLUSHER, Durability
from qengine.write.logfile import commits_of

LEAST_LOG = 64 << 20
"""Bytes of a log that are no reason for a checkpoint."""
LOG_SHARE = 0.1
"""Of the graph's bytes: a longer log is a reason."""


_WORKER = "qengine-checkpoint"


class News(NamedTuple):
    """What others have committed. ``store``: the graph below the commits where it was opened anew, else None."""

    store: GraphStore | None
    commits: list[Commit]


class _Options(NamedTuple):
    durability: Durability
    read_only: bool
    verify: Verify
    disk: Disk


class Snapshot(Protocol):
    """A version of the graph, and the number of its last commit in the log."""

    @property
    def store(self) -> GraphStore:
        """Its graph."""

    @property
    def number(self) -> int:
        """The number."""


class OpenFolder:
    """A graph folder, from ``Graph.open`` to its end. ``begin`` and ``follow`` are for one thread at a time.

    Attributes
    ----------
    path
        The folder's absolute path.
    """

    def __init__(self, path: Path, follower: Follower, options: _Options) -> None:
        self.path = path
        self._follower: Follower | None = follower
        self._options = options
        self._process = os.getpid()
        self._folder: GraphFolder | None = None
        self._closed = False
        self._ending = threading.Lock()  # of who closes, and who has just taken the folder over
        self._limit: float = LEAST_LOG
        self._checkpoints = threading.Lock()
        self._worker: threading.Thread | None = None
        self._failure: Exception | None = None

    # ------------------------------------------------------------ what others commit

    def follow(self) -> News | None:
        """Return what others have committed since the last call, None where nothing.

        Raises
        ------
        StorageError
            If a file is damaged or can't be read, or the folder is closed.
        """
        self._check_open()
        if self._folder is not None:
            return None
        commits = self._since()
        if commits is None:
            store, commits, self._follower = open_for_reading(self.path, self._options.verify)
            self._process = os.getpid()
            return News(store, commits)
        return News(None, commits) if commits else None

    def _since(self) -> list[Commit] | None:
        """Return the commits since, None where the folder must be opened anew: then there is no follower any more."""
        follower, self._follower = self._follower, None
        if follower is None:
            return None
        commits = None
        try:
            if self._process == os.getpid():  # else a parent reads by the same file descriptor
                commits = follower.follow()
        finally:
            if commits is None:
                follower.close()
            else:
                self._follower = follower
        return commits

    # ------------------------------------------------------------ writing

    @property
    def is_writing(self) -> bool:
        """Whether the folder is locked by this graph."""
        return self._folder is not None

    @property
    def number(self) -> int:
        """The number of the log's last commit; 0 while the graph is only read."""
        return 0 if self._folder is None else self._folder.log.number

    @property
    def was_written(self) -> bool:
        """Whether a log may continue the saved graph."""
        return os.path.lexists(self.path / WRITER)

    def is_ready(self, number: int) -> bool:
        """Tell whether commits may be appended, the last of which has a number, and nothing is to be told first."""
        if self._folder is None or self._closed or self._failure is not None:
            return False
        return self._folder.log.goes_on_from(number)

    def begin(self) -> News | None:
        """Make sure that commits may be appended; return what others have committed before, None where nothing.

        Raises
        ------
        TransactionError
            ``ReadOnly`` for a graph that was opened so.
        StorageError
            If another process writes there, the folder can't be written, a file is damaged, the log refuses commits
            since a failure, or the folder is closed.

        Warns
        -----
        StorageWarning
            Of a checkpoint in the background that has failed since the last call.
        """
        self._check_open()
        if self._folder is not None:
            self._warn()
            self._folder.log.check()
            return None
        if self._options.read_only:
            raise TransactionError(
                f"{self.path}: the graph was opened to be read only.",
                hint="Open it without read_only=True to change it.",
                code="ReadOnly",
            )
        by = self._options
        store, frames, folder = take_over(self.path, by.durability, interval=INTERVAL, verify=by.verify, disk=by.disk)
        try:
            commits = self._since()
            news = News(store, commits_of(frames)) if commits is None else News(None, commits) if commits else None
            self._set_limit(store)
        except BaseException:
            folder.close()
            raise
        if self._follower is not None:
            self._follower.close()
            self._follower = None
        with self._ending:
            if not self._closed:
                self._folder, self._process = folder, os.getpid()
        if self._folder is None:  # another thread has closed the graph meanwhile
            folder.close()
            self._check_open()
        return news

    def append(self, commit: Commit) -> None:
        """Write a commit to the log, as number ``number`` + 1; errors as ``Log.append``."""
        assert self._folder is not None
        self._folder.log.append(commit)

    def wait(self, number: int) -> None:
        """Wait until a commit may be acknowledged, by the durability; errors as ``Log.wait``."""
        assert self._folder is not None
        self._folder.log.wait(number)

    # ------------------------------------------------------------ checkpoints

    def checkpoint(self, snapshot: Snapshot) -> None:
        """Save a version, unless one as late is saved, and continue it in a new log.

        Raises
        ------
        StorageError
            As ``GraphFolder.checkpoint``.
        """
        assert self._folder is not None
        with self._checkpoints:
            if snapshot.number <= self._folder.log.first:
                return
            store = snapshot.store
            self._folder.checkpoint(store, through=snapshot.number)
            self._set_limit(store)

    def checkpoint_if_due(self, snapshot: Snapshot) -> None:
        """Begin a checkpoint in the background where the log has become long and none is at work."""
        if self._folder is None or self._folder.log.nbytes <= self._limit or self._checkpoints.locked():
            return
        with self._checkpoints:
            if self._closed or (self._worker is not None and self._worker.is_alive()):
                return
            self._worker = threading.Thread(target=self._checkpoint_aside, args=(snapshot,), name=_WORKER, daemon=True)
            self._worker.start()

    def _checkpoint_aside(self, snapshot: Snapshot) -> None:
        try:
            self.checkpoint(snapshot)
        except Exception as error:  # the next commit warns of it
            assert self._folder is not None
            self._limit = 2 * self._folder.log.nbytes  # not at once again
            self._failure = error

    def _set_limit(self, store: GraphStore) -> None:
        self._limit = max(LEAST_LOG, LOG_SHARE * store.nbytes)

    def _warn(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            warnings.warn(
                StorageWarning(
                    f"A checkpoint in the background has failed: {getattr(failure, 'message', failure)}",
                    hint="Commits go on to the log; make room or repair the disk, and call graph.checkpoint().",
                ),
                stacklevel=2,
            )

    # ------------------------------------------------------------ closing

    def close(self) -> None:
        """Sync and close the log once a checkpoint at work has ended, and let others write; errors as ``Log.close``."""
        with self._ending:
            self._closed = True
        if threading.current_thread().name in (_WORKER, FLUSHER):  # it holds locks, and came upon a graph as garbage
            threading.Thread(target=self.close, name="qengine-close").start()
            return
        if self._worker is not None and self._process == os.getpid():
            self._worker.join()
        if self._follower is not None:
            self._follower.close()
            self._follower = None
        try:
            if self._folder is not None:
                self._folder.close()
        finally:
            self._warn()

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("The graph is closed.", hint="Open it again.")


def open_folder(
    path: str | os.PathLike[str],
    durability: Durability = "full",
    *,
    read_only: bool = False,
    verify: Verify = "lazy",
    create: bool = False,
    disk: Disk = DISK,
) -> tuple[GraphStore, list[Commit], OpenFolder]:
    """Open a saved graph: the saved version, the commits since, and the folder, to follow and to write to.

    Parameters
    ----------
    path, durability, read_only, verify, create
        As for ``Graph.open``.
    disk
        What writes.

    Raises
    ------
    StorageError
        As ``open_for_reading``; for a durability that there isn't; where no graph can be created.
    """
    check_durability(durability)
    if create:
        if read_only:
            raise StorageError("A graph that is only read can't be created.", hint="Leave out read_only or create.")
        if not os.path.lexists(Path(path) / MANIFEST):
            save_new(from_records([]), Path(path), disk)
    store, commits, follower = open_for_reading(path, verify)
    return store, commits, OpenFolder(Path(path).absolute(), follower, _Options(durability, read_only, verify, disk))
