"""Log files of a graph folder: their names, what stands at their head, and reading one.

A log continues one saved version and no other: it is called after it, ``log-…`` beside the folder ``data-…``. So the
renaming of a manifest puts another version *and* its log in the place of the old ones, at once. Its head also says
after how many commits it begins, and of which history: versions that one writer made of another share it, a graph
that is saved over them doesn't.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from qengine._frozen import frozen
from qengine._gc import gc_paused
from qengine._system import Folder
from qengine.errors import StorageError
from qengine.storage.blocks import DAMAGED, reason
from qengine.storage.states import Commit
from qengine.write.encoding import decode
from qengine.write.frames import Frame, frame, read_frame, read_frames, synced_behind

FORMAT = 1
FRESH = ".new"
"""What the name of a log ends in that isn't in its place yet."""

_NAME = re.compile(r"log-[0-9a-f]{32}(?:\.new)?")
_FIELDS = {"format": int, "checkpoint": str, "history": str, "first": int}


@frozen
class Head:
    """What a log says of itself.

    ``checkpoint``: the saved version that it continues. ``first``: how many commits of the history that version holds.
    """

    checkpoint: str
    history: str
    first: int

    def encode(self) -> bytes:
        """Return the log's first record."""
        found = {"format": FORMAT, "checkpoint": self.checkpoint, "history": self.history, "first": self.first}
        return frame(self.first, self.first, json.dumps(found).encode())


def log_name(version: str) -> str:
    """Return the name of the log that continues a saved version."""
    return f"log-{version.removeprefix('data-')}"


def open_log(path: Path, version: str, folder: Folder) -> BinaryIO | None:
    """Open the log of a saved version for reading; None where there is none.

    Raises
    ------
    StorageError
        If it can't be read.
    """
    name = log_name(version)
    try:
        return os.fdopen(folder.open_file(name), "rb", buffering=0)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StorageError(f"{path / name}: it can't be read: {reason(error)}", hint=DAMAGED) from None


def missing_log(path: Path, version: str) -> StorageError:
    """Return the error that a saved version's log is gone, although the manifest says that there is one."""
    return StorageError(f"{path / log_name(version)}: the file is missing", hint=DAMAGED)


def read_head(path: Path, version: str, file: BinaryIO) -> tuple[Head, int]:
    """Return the head of a saved version's log, and where it ends.

    Raises
    ------
    StorageError
        If it is damaged, of another version, or in a newer format.
    """
    place = path / log_name(version)
    found = read_frame(file, 0, size_of(file))
    try:
        if found is None:
            raise ValueError("its head is damaged")
        fields = json.loads(found.payload)
        if type(fields) is not dict or type(fields.get("format")) is not int:
            raise ValueError("it names no format")
        if fields["format"] > FORMAT:
            raise StorageError(
                f"{place}: it has format {fields['format']}; this version of qengine reads formats up to {FORMAT}",
                hint="Install a newer qengine.",
            )
        if {name: type(value) for name, value in fields.items()} != _FIELDS or fields.pop("format") < 1:
            raise ValueError("its head isn't one that there is")
        head = Head(**fields)
        if head.checkpoint != version or not head.first == found.number == found.synced:
            raise ValueError("it isn't the log of the graph that is saved there")
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{place}: {error}", hint=DAMAGED) from None
    return head, found.end


def read_log(path: Path, file: BinaryIO, at: int, number: int) -> tuple[list[Frame], bool]:
    """Return the whole records from a place on, behind the one of commit ``number``, and whether something is left.

    What is left was never acknowledged as synced: a crash has torn it, or a process is writing it.

    Raises
    ------
    StorageError
        If a record is damaged that was on the disk.
    """
    size = size_of(file)
    frames = list(read_frames(file, at, size, number))
    if frames:
        at, number = frames[-1].end, frames[-1].number
    if at >= size:
        return frames, False
    synced = synced_behind(file, at, size)
    if synced > number:
        raise StorageError(
            f"{path}: the record of commit {number + 1:,} at byte {at:,} is damaged, and commit {synced:,} was on the "
            "disk",
            hint="Restore the directory from a backup.",
        )
    return frames, True


def commits_of(frames: Iterable[Frame]) -> list[Commit]:
    """Return the commits in records."""
    with gc_paused():
        return [decode(one.payload) for one in frames if one.payload]


def strays(folder: Folder, version: str) -> list[str]:
    """Return the names of logs in a folder that don't continue the version that is saved there."""
    names = [name for name in folder.names() if _NAME.fullmatch(name) and name != log_name(version)]
    return [name for name in names if folder.is_file(name)]


def size_of(file: BinaryIO) -> int:
    """Return how many bytes a file has now."""
    return os.fstat(file.fileno()).st_size
