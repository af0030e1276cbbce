"""What a save may write and delete in a directory, and what a crash may leave there.

A save writes where nothing is: into no directory or an empty one. Else only where it is certain that a save wrote
before: where there is a manifest that passes every check, or the marker of a save that was cut off. What else is in
the directory stays.

Before anything else a save writes its marker, ``.qengine-save``, which names the folder that it is about to make and
the one that it will replace, and makes sure that it is on the disk. Once the manifest is renamed over the old one the
graph is saved; the marker goes last. So who finds a marker knows which of the two folders is a leftover: the one that
the manifest doesn't list. Nothing but these two is ever deleted: each only if it is a real folder, and with nothing in
it but files of the names that saves give.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from pathlib import Path
from typing import BinaryIO, NamedTuple

from qengine._system import Folder
from qengine.errors import StorageError
from qengine.storage.blocks import reason
from qengine.storage.disk import DISK, Disk
from qengine.storage.manifest import DATA_FILES, FORMAT, MOST_BYTES, decode

MANIFEST = "manifest.json"
_MARKER = ".qengine-save"
_HEAD = b"A save of qengine works in this directory.\n"
_FOLDER = b"data-[0-9a-f]{32}"
_NAMES = re.compile(re.escape(_HEAD) + b"makes (%s)\nreplaces (%s|nothing)\n" % (_FOLDER, _FOLDER))
_MARKER_BYTES = 1 << 10  # more than a marker has


class SaveFolder:
    """The folder that one save makes in a directory, from its marker to the renamed manifest.

    Parameters
    ----------
    path
        The directory, which exists.
    directory
        The same, held open and locked.
    disk
        What writes.

    Raises
    ------
    StorageError
        If the directory isn't for saves: then nothing in it has been touched.
    OSError
        If it can't be written.
    """

    def __init__(self, path: Path, directory: Folder, disk: Disk = DISK) -> None:
        self._directory = directory
        self._disk = disk
        self._unsure = False
        replaced = _claim(path, directory, disk)
        self.name = f"data-{uuid.uuid4().hex}"
        try:
            _write_marker(directory, self.name, replaced or "nothing", disk)
            disk.make_folder(self.name, directory)
            self._folder = directory.inside(self.name)
        except BaseException:
            _clean_up(directory, disk)
            raise

    def __enter__(self) -> SaveFolder:
        return self

    def __exit__(self, *error: object) -> None:
        self._folder.close()
        if not self._unsure:
            _clean_up(self._directory, self._disk)

    def create(self, name: str) -> BinaryIO:
        """Return a new file of the folder, open for writing."""
        return self._disk.create(name, self._folder)

    def flush(self, file: BinaryIO) -> None:
        """Make sure that what was written to a file is on the disk."""
        self._disk.sync(file)

    def open(self, name: str) -> int:
        """Return a descriptor of a file of the folder, for reading."""
        return self._folder.open_file(name)

    def publish(self, manifest: bytes) -> None:
        """Make the folder the saved graph: write the manifest, and rename it over the old one.

        Where the disk doesn't say that the renaming has reached it, both folders stay, and the marker: a crash may
        bring the old manifest back.
        """
        with self.create(MANIFEST) as file:
            file.write(manifest)
            self.flush(file)
        self._disk.sync_folder(self._folder)
        self._disk.sync_folder(self._directory)
        self._disk.rename(MANIFEST, self._folder, MANIFEST, self._directory)
        self._unsure = True
        self._disk.sync_folder(self._directory)
        self._unsure = False


def read_bounded(name: str, directory: Folder, most: int) -> bytes:
    """Return the bytes of a plain file in a directory.

    Raises
    ------
    OSError
        If there is none, it is a link, or it can't be read.
    ValueError
        If it is no plain file or has more than ``most`` bytes.
    """
    with os.fdopen(directory.open_file(name), "rb") as file:
        text: bytes = file.read(most + 1)
    if len(text) > most:
        raise ValueError(f"it has more than {most:,} bytes")
    return text


def _claim(path: Path, directory: Folder, disk: Disk) -> str | None:
    """Return the folder of the graph that is saved in a directory, None if there is none; clean up after crashes.

    Raises
    ------
    StorageError
        If the directory isn't for saves.
    """
    names = directory.names()
    saved = _replaced_folder(path, directory)
    marked = _MARKER in names and _read_marker(directory) is not None
    if names and saved is None and not marked:
        raise StorageError(f"{path}: there is something else there", hint="Choose a new or empty directory.")
    if _MARKER in names:
        if not marked:
            raise StorageError(
                f"{path}: it holds a file {_MARKER} that no save wrote",
                hint="Move it elsewhere, or choose a new directory.",
            )
        _clean_up(directory, disk)
    return saved


def _replaced_folder(path: Path, directory: Folder) -> str | None:
    """Return the folder of the graph that is saved in a directory, None if there is no manifest.

    Raises
    ------
    StorageError
        If there is a manifest that isn't ours, is damaged, or of a newer version.
    """
    try:
        return _listed_folder(directory)
    except (OSError, ValueError) as error:
        raise StorageError(
            f"{path}: there is something else there: {MANIFEST} can't be replaced: {reason(error)}",
            hint="Choose a new or empty directory.",
        ) from None


class _Marker(NamedTuple):
    """The folder that a save makes, and the one that it replaces; "" for what the marker doesn't name."""

    makes: str = ""
    replaces: str = ""


def _write_marker(directory: Folder, makes: str, replaces: str, disk: Disk) -> None:
    with disk.create(_MARKER, directory) as file:
        file.write(_HEAD + f"makes {makes}\nreplaces {replaces}\n".encode())
        disk.sync(file)
    disk.sync_folder(directory)


def _read_marker(directory: Folder) -> _Marker | None:
    """Return what the marker in a directory says, None if there is none or no save wrote it.

    One that wasn't written to the end names nothing: its save has made nothing else.
    """
    try:
        text = read_bounded(_MARKER, directory, _MARKER_BYTES)
    except (OSError, ValueError):
        return None
    if found := _NAMES.fullmatch(text):
        return _Marker(*(name.decode() for name in found.groups()))
    return _Marker() if text.startswith(_HEAD) or _HEAD.startswith(text) else None


def _clean_up(directory: Folder, disk: Disk) -> None:
    """Delete what the save named by the marker leaves, and the marker; where that fails the next save tries again."""
    with contextlib.suppress(OSError, ValueError):  # of a manifest that can't be read: then nothing is deleted
        marker = _read_marker(directory)
        if marker is None:
            return
        saved = marker.makes != "" and _listed_folder(directory) == marker.makes
        _delete(marker.replaces if saved else marker.makes, directory, disk)
        disk.remove(_MARKER, directory)
        disk.sync_folder(directory)


def _listed_folder(directory: Folder) -> str | None:
    """Return the folder that the manifest in a directory lists, None if there is no manifest.

    Raises
    ------
    OSError, ValueError
        If there is one that can't be read, is damaged, or of a newer version.
    """
    try:
        manifest = decode(read_bounded(MANIFEST, directory, MOST_BYTES))
    except FileNotFoundError:
        return None
    if manifest["format"] > FORMAT:
        raise ValueError(f"it has format {manifest['format']}, which a newer qengine wrote")
    return str(next(iter(manifest["files"])).partition("/")[0])


def _delete(name: str, directory: Folder, disk: Disk) -> None:
    """Delete a folder of a save; leave it as it is if it holds anything that saves don't write, or is a link."""
    try:
        folder = directory.inside(name)
    except OSError:  # gone, a link, or no name at all
        return
    try:
        names = folder.names()
        if all(one in (*DATA_FILES, MANIFEST) and folder.is_file(one) for one in names):
            for one in names:
                disk.remove(one, folder)
            disk.remove_folder(name, directory)
    finally:
        folder.close()
