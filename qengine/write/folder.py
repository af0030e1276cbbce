"""A graph folder that is written to: the saved version, the log that continues it, one writing process, any readers.

::

    manifest.json        the version that is saved: a checkpoint
    data-<id>/           its arrays
    log-<id>             the commits since
    .qengine-writer      the lock of the process that writes

A checkpoint saves a later version beside, makes the log that continues it, and then renames the manifest; the old log
is removed last. A crash leaves the old version with the old log, or the new ones. What it leaves beside, in files of
the names that logs have, is removed when the folder is next opened for writing.
"""

from __future__ import annotations

import uuid
import warnings
from os import PathLike
from pathlib import Path
from typing import get_args

from qengine._system import opened
from qengine.errors import LoadingWarning, StorageError
from qengine.storage.blocks import reason
from qengine.storage.disk import DISK, Disk
from qengine.storage.saved import (
    SavedVersion,
    Verify,
    announce_log,
    open_version,
    renew_first_format,
    save_version,
    saved_version,
)
from qengine.storage.states import Commit
from qengine.storage.store import GraphStore
from qengine.storage.writer_lock import WriterLock
from qengine.write.follow import Follower, stamp_of
from qengine.write.frames import Frame
from qengine.write.log import Durability, Log, Place, create_log, ends_of
from qengine.write.logfile import (
    Head,
    commits_of,
    log_name,
    missing_log,
    open_log,
    read_head,
    read_log,
    size_of,
    strays,
)

INTERVAL = 0.1
"""Seconds between two syncs in the background."""

_ATTEMPTS = 5


class GraphFolder:
    """A graph folder that this process has open for writing, until ``close``. Made by ``open_for_writing``.

    Attributes
    ----------
    log
        Where commits go.
    """

    def __init__(self, place: Place, lock: WriterLock, log: Log) -> None:
        self._place, self._lock = place, lock
        self.log = log

    def __enter__(self) -> GraphFolder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def checkpoint(self, store: GraphStore, through: int | None = None) -> None:
        """Save a version crash-safely, and continue it in a new log. Threads may commit meanwhile.

        Parameters
        ----------
        store
            The version.
        through
            The number of the last commit that it holds, by default the last of the log; those behind stay in the log.

        Raises
        ------
        StorageError
            If it can't be written: then the folder is as before. If the log refuses commits, or does from now on.
        """
        number = self.log.number if through is None else through
        save_version(store, self._place.path, self._place.disk, lambda version: self.log.moved(version, number))

    def close(self) -> None:
        """Sync and close the log, and let others write; errors as for ``Log.close``."""
        if not self._place.folder.is_open:
            return
        try:
            self.log.close()
        finally:
            self._lock.release()
            self._place.folder.close()


def open_for_writing(
    path: str | PathLike[str],
    durability: Durability = "full",
    *,
    interval: float = INTERVAL,
    verify: Verify = "lazy",
    disk: Disk = DISK,
) -> tuple[GraphStore, list[Commit], GraphFolder]:
    """Open a saved graph to write to it: the saved version, the commits since, and where further ones go.

    Parameters
    ----------
    path
        The directory.
    durability, interval
        As ``qengine.write.log`` says; ``interval`` in seconds.
    verify
        As for ``Graph.open``.
    disk
        What writes.

    Raises
    ------
    StorageError
        If there is no graph, another process has it open for writing, a file is damaged, or can't be written.

    Warns
    -----
    LoadingWarning
        Of what a crash has torn at the log's end, which is cut off.
    """
    store, frames, folder = take_over(path, durability, interval=interval, verify=verify, disk=disk)
    try:
        return store, commits_of(frames), folder
    except BaseException:
        folder.close()
        raise


def take_over(
    path: str | PathLike[str], durability: Durability, *, interval: float, verify: Verify, disk: Disk
) -> tuple[GraphStore, list[Frame], GraphFolder]:
    """Do as ``open_for_writing``, and leave the commits encoded: who has followed them needn't decode them again."""
    check_durability(durability)
    directory = Path(path)
    saved_version(directory)  # else nothing is written there
    try:
        folder = opened(directory)
        try:
            place = Place(directory, folder, disk)
            with opened(directory, locked=True):  # no other save is at work
                lock = WriterLock(directory, folder)
                try:
                    renew_first_format(directory, folder, disk)
                    store, version = open_version(directory, verify)
                    log, frames = _open_log(place, version, durability, interval)
                    try:
                        announce_log(directory, folder, disk)
                    except BaseException:
                        log.close()
                        raise
                except BaseException:
                    lock.release()
                    raise
        except BaseException:
            folder.close()
            raise
    except OSError as error:
        raise StorageError(
            f"{directory}: it can't be opened for writing: {reason(error)}", hint="Open it for reading: qengine.open."
        ) from None
    return store, frames, GraphFolder(place, lock, log)


def check_durability(durability: str) -> None:
    """Raise a ``StorageError`` where there is no such durability."""
    if not isinstance(durability, str) or durability not in get_args(Durability):
        raise StorageError(f'`durability` is "full", "batched" or "none", not {durability!r}.')


def open_for_reading(path: str | PathLike[str], verify: Verify = "lazy") -> tuple[GraphStore, list[Commit], Follower]:
    """Open a saved graph: the saved version, the commits since, and who tells of later ones.

    Raises
    ------
    StorageError
        As ``Graph.open``, and for a damaged log.
    """
    directory = Path(path)
    for _ in range(_ATTEMPTS):
        stamp = stamp_of(directory)
        store, version = open_version(directory, verify)
        follower = Follower(directory.absolute(), version.name, stamp)
        try:
            commits = follower.begin()
            if stamp_of(directory) == stamp:  # else the version and the log may not be of each other
                if version.has_log and not follower.has_log:
                    raise missing_log(directory, version.name)
                return store, commits, follower
        except BaseException:
            follower.close()
            raise
        follower.close()
    raise StorageError(f"{directory}: it is replaced all the time", hint="Try again later.")


def _open_log(place: Place, saved: SavedVersion, durability: Durability, interval: float) -> tuple[Log, list[Frame]]:
    """Open the saved version's log, or make it; cut off what a crash has torn, and sync what it hasn't."""
    version = saved.name
    file = open_log(place.path, version, place.folder)
    if file is None and saved.has_log:
        raise missing_log(place.path, version)
    place.disk.sync_folder(place.folder)  # before the logs of other versions are removed
    for name in strays(place.folder, version):
        place.disk.remove(name, place.folder)
    if file is None:
        head = Head(version, uuid.uuid4().hex, 0)
        return Log(place, head, [create_log(place, head, iter(()))], durability, interval), []
    with file:
        head, end = read_head(place.path, version, file)
        frames, torn = read_log(place.path / log_name(version), file, end, head.first)
        ends = ends_of(end, frames)
        _settle(place, log_name(version), ends[-1], size_of(file) if torn else 0)
    return Log(place, head, ends, durability, interval), frames


def _settle(place: Place, name: str, end: int, size: int) -> None:
    """Sync a log, and cut off what is torn behind ``end``; ``size`` is 0 where nothing is."""
    with place.disk.extend(name, place.folder) as file:
        if size:
            place.disk.truncate(file, end)
        place.disk.sync(file)
    if size:
        warnings.warn(
            LoadingWarning(
                f"{place.path / name}: its last {size - end:,} bytes weren't written to the end, and are cut off.",
                hint="A crash came before they were on the disk: commits that weren't yet synced are lost.",
            ),
            stacklevel=4,
        )
