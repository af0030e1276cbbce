"""Disks for tests of crash safety: one that records what is asked of it, and what a crash may leave; a failing one.

``RecordingDisk`` writes for real and keeps the operations. ``crashed`` makes of the first of them a folder as a crash
may leave it: what was synced is there. Of what wasn't, any sectors of a file may be, and of the names that were given
and taken in a folder, those up to some moment, another one for each folder.
"""

from __future__ import annotations

import io
import os
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from qengine._system import Folder
from qengine.storage.disk import Disk

_SECTOR = 512


class Operation(NamedTuple):
    """What was asked of a disk. Folders are paths below the root, files the numbers by which they were first seen.

    ================  ==========================================================
    kind              arguments
    ================  ==========================================================
    ``put``           folder, name, file; also for files that were there
    ``folder``        folder, name
    ``take``          folder, name
    ``sync folder``   folder
    ``write``         file, offset, bytes
    ``truncate``      file, size
    ``sync``          file
    ``note``          what the test has noted
    ================  ==========================================================
    """

    kind: str
    arguments: tuple[Any, ...]


class RecordingDisk(Disk):
    """A disk that records what is asked of it below a folder; what is there already counts as synced."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self.operations: list[Operation] = []
        self._files: dict[tuple[str, str], int] = {}
        self._count = 0
        for folder, folders, files in os.walk(self._root):
            where = os.path.relpath(folder, self._root)
            for name in folders:
                self._record("folder", where, name)
            for name in files:
                self._new(where, name)
                self._record("write", self._files[where, name], 0, (Path(folder) / name).read_bytes())
                self._record("sync", self._files[where, name])
            self._record("sync folder", where)

    def note(self, what: Any) -> None:
        """Note something among the operations."""
        self._record("note", what)

    def create(self, name: str, folder: Folder) -> BinaryIO:
        """Record a new file, and each part in which its buffer is written."""
        with super().create(name, folder) as file:
            handle = os.dup(file.fileno())
        self._new(self._path(folder), name)
        return cast("BinaryIO", io.BufferedWriter(_Recorded(handle, self, self._files[self._path(folder), name])))

    def extend(self, name: str, folder: Folder) -> BinaryIO:
        """Record what is appended."""
        with super().extend(name, folder) as file:
            handle = os.dup(file.fileno())
        return cast("BinaryIO", _Recorded(handle, self, self._files[self._path(folder), name]))

    def sync(self, file: BinaryIO) -> None:
        """Record that a file was synced; it isn't, for the sake of the tests' time."""
        file.flush()
        self._record("sync", _number(file))

    def truncate(self, file: BinaryIO, size: int) -> None:
        """Record that a file was cut."""
        super().truncate(file, size)
        self._record("truncate", _number(file), size)

    def rename(self, name: str, folder: Folder, new_name: str, new_folder: Folder) -> None:
        """Record the new name, and then that the old one was taken."""
        super().rename(name, folder, new_name, new_folder)
        source, target = self._path(folder), self._path(new_folder)
        self._files[target, new_name] = self._files.pop((source, name))
        self._record("put", target, new_name, self._files[target, new_name])
        self._record("take", source, name)

    def remove(self, name: str, folder: Folder) -> None:
        """Record that a name was taken."""
        super().remove(name, folder)
        self._files.pop((self._path(folder), name), None)
        self._record("take", self._path(folder), name)

    def make_folder(self, name: str, folder: Folder) -> None:
        """Record a new folder."""
        super().make_folder(name, folder)
        self._record("folder", self._path(folder), name)

    def remove_folder(self, name: str, folder: Folder) -> None:
        """Record that a folder was taken."""
        super().remove_folder(name, folder)
        self._record("take", self._path(folder), name)

    def sync_folder(self, folder: Folder) -> None:
        """Record that a folder was synced."""
        self._record("sync folder", self._path(folder))

    def _record(self, kind: str, *arguments: Any) -> None:
        self.operations.append(Operation(kind, arguments))

    def _new(self, folder: str, name: str) -> None:
        self._files[folder, name] = self._count
        self._record("put", folder, name, self._count)
        self._count += 1

    def _path(self, folder: Folder) -> str:
        return os.path.relpath(folder.path.resolve(), self._root)


class _Recorded(io.FileIO):
    def __init__(self, handle: int, disk: RecordingDisk, number: int) -> None:
        super().__init__(handle, "wb")
        self.disk, self.number = disk, number

    def write(self, data: Any) -> int:
        size = os.fstat(self.fileno()).st_size
        count = super().write(data)
        self.disk._record("write", self.number, size, bytes(data)[:count])
        return count


def _number(file: Any) -> int:
    return int(getattr(file, "raw", file).number)


class FailingDisk(Disk):
    """A disk that refuses with an ``OSError`` what it is told to.

    Attributes
    ----------
    room
        Bytes that may still be appended to logs; a write beyond is cut short, the next is refused. None: any.
    refused
        Names of the methods that fail.
    """

    def __init__(self, error: int) -> None:
        self.error = error
        self.room: int | None = None
        self.refused: set[str] = set()

    def _ask(self, name: str) -> None:
        if name in self.refused:
            raise OSError(self.error, os.strerror(self.error))

    def write_all(self, file: BinaryIO, data: Any) -> None:
        """Write what there is room for."""
        self._ask("write_all")
        if self.room is None or len(data) <= self.room:
            super().write_all(file, data)
            self.room = None if self.room is None else self.room - len(data)
            return
        super().write_all(file, memoryview(data)[: self.room])
        self.room = 0
        raise OSError(self.error, os.strerror(self.error))

    def create(self, name: str, folder: Folder) -> BinaryIO:
        """Create a file, or refuse; so the methods below."""
        self._ask("create")
        return super().create(name, folder)

    def sync(self, file: BinaryIO) -> None:
        """Sync a file."""
        self._ask("sync")
        super().sync(file)

    def sync_folder(self, folder: Folder) -> None:
        """Sync a folder."""
        self._ask("sync_folder")
        super().sync_folder(folder)

    def truncate(self, file: BinaryIO, size: int) -> None:
        """Cut a file."""
        self._ask("truncate")
        super().truncate(file, size)

    def rename(self, name: str, folder: Folder, new_name: str, new_folder: Folder) -> None:
        """Rename a file."""
        self._ask("rename")
        super().rename(name, folder, new_name, new_folder)


# ---------------------------------------------------------------- what a crash leaves


class _File:
    def __init__(self) -> None:
        self.synced = b""
        self.now = b""

    def write(self, offset: int, data: bytes) -> None:
        self.now = self.now[:offset].ljust(offset, b"\0") + data + self.now[offset + len(data) :]

    def left(self, choice: random.Random, how: str) -> bytes:
        """Return what is left of the content: what was synced, or all, or any sectors of either."""
        if how == "synced" or self.now == self.synced:
            return self.synced
        if how == "written":
            return self.now
        sizes = sorted((len(self.synced), len(self.now)))
        size = choice.choice((*sizes, choice.randint(*sizes)))
        found = bytearray()
        for begin in range(0, size, _SECTOR):
            kept = self.now if choice.random() < 0.5 else self.synced
            found += kept[begin : begin + _SECTOR].ljust(_SECTOR, b"\0")
        return bytes(found[:size])


def crashed(operations: Iterable[Operation], path: Path, seed: int) -> list[Any]:
    """Make a folder as a crash after some operations may leave it, and return what was noted before.

    ``seed``: 0 leaves only what was synced, 1 all that was written, others leave something in between.
    """
    files: dict[int, _File] = {}
    synced: dict[str, dict[str, int | None]] = {".": {}}
    waiting: dict[str, list[tuple[str, int | None, bool]]] = {".": []}
    noted: list[Any] = []
    for kind, arguments in operations:
        if kind in {"put", "folder"}:
            folder, name, *number = arguments
            waiting[folder].append((name, number[0] if number else None, True))
            if number:
                files.setdefault(number[0], _File())
            else:
                inside = os.path.normpath(os.path.join(folder, name))
                synced[inside], waiting[inside] = {}, []
        elif kind == "take":
            waiting[arguments[0]].append((arguments[1], None, False))
        elif kind == "sync folder":
            _apply(synced[arguments[0]], waiting[arguments[0]])
            waiting[arguments[0]] = []
        elif kind == "write":
            files[arguments[0]].write(*arguments[1:])
        elif kind == "truncate":
            files[arguments[0]].now = files[arguments[0]].now[: arguments[1]].ljust(arguments[1], b"\0")
        elif kind == "sync":
            files[arguments[0]].synced = files[arguments[0]].now
        else:
            noted.append(arguments[0])
    how = {0: "synced", 1: "written"}.get(seed, "torn")
    choice = random.Random(seed)
    for folder, changes in waiting.items():
        count = {"synced": 0, "written": len(changes)}.get(how, choice.randint(0, len(changes)))
        _apply(synced[folder], changes[:count])
    _make(path, ".", synced, {number: file.left(choice, how) for number, file in files.items()})
    return noted


def _apply(names: dict[str, int | None], changes: Iterable[tuple[str, int | None, bool]]) -> None:
    for name, number, put in changes:
        if put:
            names[name] = number
        else:
            names.pop(name, None)


def _make(path: Path, folder: str, names: dict[str, dict[str, int | None]], content: dict[int, bytes]) -> None:
    path.mkdir(parents=True, exist_ok=True)
    for name, number in names[folder].items():
        if number is None:
            _make(path / name, os.path.normpath(os.path.join(folder, name)), names, content)
        else:
            (path / name).write_bytes(content[number])
