"""The records of a log: one for each commit, and one at its head; and how whole ones are told from damaged ones.

A record is ``magic, length, number, synced, checksum, payload``, little-endian:

==========  ======  ====================================================================================
field       bytes   what
==========  ======  ====================================================================================
magic       4       begins a record; no payload holds these bytes
length      4       bytes of the payload
number      8       of the commit: how many there were before it since the log's history began, and one
synced      8       the number of the commit through which all was on the disk when this one was written
checksum    8       of the three numbers above and the payload (``kernels/host/load/checksum.h``)
payload             the commit (``encoding.py``); empty where ``synced`` alone is noted
==========  ======  ====================================================================================

A crash may lose any part of what wasn't synced, also an earlier record and not a later one. So a damaged record is only
known to have been on the disk if a whole one behind it says so.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from qengine.errors import StorageError
from qengine.storage.kernels import checksum

_MAGIC = b"\xff\xfeqL"
_HEAD = struct.Struct("<4sIQQ")
_CHECKSUM = struct.Struct("<Q")
HEAD_BYTES = _HEAD.size + _CHECKSUM.size
MOST_BYTES = 1 << 30
"""Bytes of the largest payload."""

_PIECE = 1 << 20


class Frame(NamedTuple):
    """A whole record, and where it ends in its file."""

    number: int
    synced: int
    payload: bytes
    end: int


def frame(number: int, synced: int, payload: bytes) -> bytes:
    """Return a record's bytes.

    Raises
    ------
    StorageError
        If the payload is too large.
    """
    if len(payload) > MOST_BYTES:
        raise StorageError(
            f"A commit can't be logged: it takes {len(payload):,} bytes, and {MOST_BYTES:,} are the most.",
            hint="Make the changes in several transactions.",
        )
    head = _HEAD.pack(_MAGIC, len(payload), number, synced)
    return b"".join((head, _CHECKSUM.pack(checksum(head + payload)), payload))


def read_frame(file: BinaryIO, at: int, size: int) -> Frame | None:
    """Return the record that begins at a place of a file of ``size`` bytes, None where there is no whole one."""
    if at + HEAD_BYTES > size:
        return None
    file.seek(at)
    head = file.read(HEAD_BYTES)
    if len(head) < HEAD_BYTES:
        return None
    magic, length, number, synced = _HEAD.unpack_from(head)
    end = at + HEAD_BYTES + length
    if magic != _MAGIC or end > size:
        return None
    payload = file.read(length)
    if len(payload) < length or _CHECKSUM.unpack_from(head, _HEAD.size)[0] != checksum(head[: _HEAD.size] + payload):
        return None
    return Frame(number, synced, payload, end)


def read_frames(file: BinaryIO, at: int, size: int, number: int) -> Iterator[Frame]:
    """Yield the records that follow the one of commit ``number``, up to the first that isn't whole or isn't next."""
    while (found := read_frame(file, at, size)) is not None:
        if found.number != number + bool(found.payload) or found.synced > found.number:
            return
        yield found
        at, number = found.end, found.number


def synced_behind(file: BinaryIO, at: int, size: int) -> int:
    """Return through which commit all was on the disk, as whole records behind a place say; 0 where none does."""
    most = 0
    while at < size:
        file.seek(at)
        piece = file.read(_PIECE)
        found = piece.find(_MAGIC)
        if found < 0:
            if len(piece) < len(_MAGIC):
                break
            at += len(piece) - len(_MAGIC) + 1
            continue
        at += found
        whole = read_frame(file, at, size)
        if whole is None:
            at += 1
        else:
            most, at = max(most, whole.synced), whole.end
    return most
