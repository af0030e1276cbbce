"""Files in the user's cache directory: read only if none but the user (or root) can have written them.

Folders and files that others own or can write are left alone: what they hold is computed anew, and not kept there. New
folders have the mode 0700, new files 0600. Files are written whole or not at all. That a file can't be read or written
only costs the time to compute it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def cache_folder() -> Path | None:
    """Return ``QENGINE_CACHE_DIR``, else ``qengine`` in ``XDG_CACHE_HOME`` or ``~/.cache``; None without a home."""
    if own := os.environ.get("QENGINE_CACHE_DIR"):
        return Path(own)
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "qengine"
    try:
        return Path.home() / ".cache" / "qengine"
    except RuntimeError:
        return None


def has(path: Path) -> bool:
    """Tell whether ``read`` finds a file."""
    try:
        os.close(_opened(path))
    except OSError:
        return False
    return True


def read(path: Path) -> bytes | None:
    """Return what a file holds; None if there is none, or it is not to be trusted."""
    try:
        with open(_opened(path), "rb") as file:
            return file.read()
    except OSError:
        return None


def write(path: Path, content: bytes) -> None:
    """Keep a file, if its folder is to be trusted."""
    try:
        _make(path.parent)
        folder = _opened_folder(path.parent)
        try:
            _replace(folder, path.name, content)
        finally:
            os.close(folder)
    except OSError:
        return


def _make(folder: Path) -> None:
    if folder.is_dir():
        return
    _make(folder.parent)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)


def _replace(folder: int, name: str, content: bytes) -> None:
    beside = f".{name}.{os.getpid()}-{os.urandom(4).hex()}"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(beside, dir_fd=folder)
        raise


def _opened(path: Path) -> int:
    """Open a file that is to be trusted, in a folder that is; what is checked is what is read.

    Raises
    ------
    OSError
        If there is none.
    """
    folder = _opened_folder(path.parent)
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # no link, and nobody waits for a pipe
        descriptor = os.open(path.name, flags, dir_fd=folder)
    finally:
        os.close(folder)
    return _trusted(descriptor, stat.S_ISREG)


def _opened_folder(path: Path) -> int:
    return _trusted(os.open(path, os.O_RDONLY | os.O_DIRECTORY), stat.S_ISDIR)


def _trusted(descriptor: int, is_kind: Callable[[int], bool]) -> int:
    found = os.fstat(descriptor)
    own = found.st_uid in (os.geteuid(), 0)
    if not own or found.st_mode & _OTHERS_WRITE or not is_kind(found.st_mode):
        os.close(descriptor)
        raise PermissionError("Others can write it.")
    return descriptor
