"""Files in the user's cache directory: read only if none but the user (or root) can have written them.

Folders and files that others own or can write are left alone: what they hold is computed anew, and not kept there. New
folders have the mode 0700, new files 0600. Files are written whole or not at all. That a file can't be read or written
only costs the time to compute it.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from qengine._system import Folder, is_only_ours, opened


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
        with _opened_folder(path.parent) as folder:
            _replace(folder, path.name, content)
    except OSError:
        return


def _make(folder: Path) -> None:
    if folder.is_dir():
        return
    _make(folder.parent)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)


def _replace(folder: Folder, name: str, content: bytes) -> None:
    beside = f".{name}.{os.getpid()}-{os.urandom(4).hex()}"
    descriptor = folder.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        folder.rename(beside, name, folder)
    except BaseException:
        folder.remove(beside)
        raise


def _opened(path: Path) -> int:
    """Open a file that is to be trusted, in a folder that is; what is checked is what is read.

    Raises
    ------
    OSError
        If there is none.
    """
    with _opened_folder(path.parent) as folder:
        try:
            descriptor = folder.open_file(path.name)
        except ValueError as error:
            raise OSError(str(error)) from None
    if not is_only_ours(os.fstat(descriptor)):
        os.close(descriptor)
        raise PermissionError("Others can write it.")
    return descriptor


def _opened_folder(path: Path) -> Folder:
    folder = opened(path)
    if not is_only_ours(folder.status()):
        folder.close()
        raise PermissionError("Others can write it.")
    return folder
