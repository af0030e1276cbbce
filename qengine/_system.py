"""What differs between operating systems: how many processors there are, folders that are held open, locks.

A ``Folder`` is held by a descriptor where the system has calls that take one (Linux, macOS): whoever puts a link or
another folder in its place meanwhile changes nothing. Where it hasn't (Windows), a folder is its path. Which of the
two this system has is ``folder_class``; all that holds a folder asks ``opened``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

fcntl: Any
msvcrt: Any
try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

    fcntl = None

LOCK = ".qengine-lock"
"""The file of a folder by which it is locked where folders can't be."""

_CLOSED_IN_CHILDREN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # nor does anybody wait for a pipe
_LOCKED_BYTE = 1 << 30  # behind what a locked file holds, since others couldn't read what Windows locks


def usable_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_forked_child(forget: Any) -> None:
    """Have a function called in each child that this process forks, where the system forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)


def is_only_ours(found: os.stat_result) -> bool:
    """Tell whether none but this user (or root) can have written a file; on Windows users' folders see to that."""
    if not hasattr(os, "geteuid"):
        return True
    return found.st_uid in (os.geteuid(), 0) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def user_number() -> int:
    """Return the number of this process's user, 0 where users have none."""
    return os.geteuid() if hasattr(os, "geteuid") else 0


def sync(descriptor: int) -> None:
    """Make sure that what was written to a file is on the disk: on macOS ``fsync`` alone leaves it in the drive."""
    if sys.platform == "darwin":
        with contextlib.suppress(OSError):  # of a filesystem that can't
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


def take_room(descriptor: int, size: int) -> None:
    """Make a file at least ``size`` bytes long; where the system can, their room on the disk is taken at once."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.ftruncate(descriptor, size)


def lock(descriptor: int, *, wait: bool) -> bool:
    """Lock a file that is open, until it is closed or the process ends; False: another has it and ``wait`` is."""
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        else:
            _lock_byte(descriptor, wait)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
            return False
        raise
    return True


def unlock(descriptor: int) -> None:
    """Give a lock back, of a child that was forked just now, too."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _lock_byte(descriptor: int, wait: bool) -> None:
    while True:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if wait and error.errno == errno.EDEADLK:  # after ten seconds
                continue
            raise
        return


class Folder:
    """A folder that is held open by a descriptor; what is done below a name never follows a link.

    Attributes
    ----------
    path
        By which it was opened.

    Raises
    ------
    OSError
        By each method, where the system refuses; ``NotADirectoryError`` or ``ELOOP`` for what isn't a folder.
    """

    path: Path
    _handle: int

    def __init__(self, path: str | os.PathLike[str], within: Folder | None = None, *, follow: bool = True) -> None:
        self.path = Path(path) if within is None else within.path / path
        flags = os.O_RDONLY | os.O_DIRECTORY | _CLOSED_IN_CHILDREN | (0 if follow else os.O_NOFOLLOW)
        self._handle = os.open(path, flags, dir_fd=None if within is None else within._handle)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        """Whether it wasn't closed yet."""
        return self._handle >= 0

    def close(self) -> None:
        """Let go of the folder and of its lock."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1

    def inside(self, name: str) -> Folder:
        """Open a folder in this one."""
        return type(self)(name, self, follow=False)

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """Return a descriptor of a file in the folder."""
        return os.open(name, flags | _NO_LINK | _CLOSED_IN_CHILDREN, mode, dir_fd=self._handle)

    def open_file(self, name: str) -> int:
        """Return a descriptor of a plain file, for reading; a ``ValueError`` where it is something else."""
        handle = self.open(name, os.O_RDONLY)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise ValueError("it isn't a plain file")
        return handle

    def names(self) -> list[str]:
        """Return the names of what is in the folder."""
        return os.listdir(self._handle)

    def is_file(self, name: str) -> bool:
        """Tell whether there is a plain file of a name."""
        return stat.S_ISREG(os.stat(name, dir_fd=self._handle, follow_symlinks=False).st_mode)

    def status(self) -> os.stat_result:
        """Return what the system says of the folder."""
        return os.fstat(self._handle)

    def rename(self, name: str, new_name: str, new_folder: Folder) -> None:
        """Rename a file, over one that has the new name."""
        os.replace(name, new_name, src_dir_fd=self._handle, dst_dir_fd=new_folder._handle)

    def remove(self, name: str) -> None:
        """Remove a file."""
        os.unlink(name, dir_fd=self._handle)

    def make_folder(self, name: str) -> None:
        """Make a folder in the folder."""
        os.mkdir(name, dir_fd=self._handle)

    def remove_folder(self, name: str) -> None:
        """Remove an empty folder."""
        os.rmdir(name, dir_fd=self._handle)

    def sync(self) -> None:
        """Make sure that what was created, renamed and removed in the folder is so on the disk."""
        sync(self._handle)

    def lock(self, *, wait: bool) -> bool:
        """Lock the folder, until it is closed or the process ends; False: another has it and ``wait`` is."""
        return lock(self._handle, wait=wait)

    def destroy(self) -> None:
        """Remove the folder with all in it, as far as that goes, and close it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.close()


class NamedFolder(Folder):
    """A folder that is its path, where the system's calls take no descriptors of folders."""

    def __init__(self, path: str | os.PathLike[str], within: Folder | None = None, *, follow: bool = True) -> None:
        self.path = Path(path) if within is None else within.path / path
        self._handle = 0
        self._lock = -1
        if not follow:
            self._no_link(self.path)
        if not self.path.is_dir():
            code = errno.ENOTDIR if self.path.exists() else errno.ENOENT
            raise OSError(code, os.strerror(code), str(self.path))

    def close(self) -> None:
        """As its base."""
        self._handle = -1
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """As its base."""
        self._no_link(self.path / name)
        return os.open(self.path / name, flags | _NO_LINK | _CLOSED_IN_CHILDREN, mode)

    def names(self) -> list[str]:
        """As its base, without the file by which it is locked."""
        return [name for name in os.listdir(self.path) if name != LOCK]

    def is_file(self, name: str) -> bool:
        """As its base."""
        return stat.S_ISREG(os.lstat(self.path / name).st_mode)

    def status(self) -> os.stat_result:
        """As its base."""
        return os.stat(self.path)

    def rename(self, name: str, new_name: str, new_folder: Folder) -> None:
        """As its base."""
        os.replace(self.path / name, new_folder.path / new_name)

    def remove(self, name: str) -> None:
        """As its base."""
        os.unlink(self.path / name)

    def make_folder(self, name: str) -> None:
        """As its base."""
        os.mkdir(self.path / name)

    def remove_folder(self, name: str) -> None:
        """As its base."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path / name / LOCK)
        os.rmdir(self.path / name)

    def sync(self) -> None:
        """Do nothing: NTFS keeps a journal of names itself, and folders can't be synced."""

    def lock(self, *, wait: bool) -> bool:
        """As its base."""
        handle = self.open(LOCK, os.O_RDWR | os.O_CREAT)
        if lock(handle, wait=wait):
            self._lock = handle
            return True
        os.close(handle)
        return False

    def destroy(self) -> None:
        """As its base; a file that is open can't be removed."""
        self.close()
        shutil.rmtree(self.path, ignore_errors=True)

    @staticmethod
    def _no_link(path: Path) -> None:
        if path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


folder_class: type[Folder] = Folder if os.open in os.supports_dir_fd else NamedFolder


def opened(path: str | os.PathLike[str], *, locked: bool = False) -> Folder:
    """Open a folder; with ``locked`` no other process has it locked at the same time."""
    folder = folder_class(path)
    try:
        if locked:
            folder.lock(wait=True)
    except BaseException:
        folder.close()
        raise
    return folder
