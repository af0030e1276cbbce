"""Parts of lists that are copied to the device, a piece at a time: what ``copy_lists`` reads
(``kernels/cuda/count/count_views.cu``), laid out in the host's memory.

A piece has heads of 16 bytes, the rows of its parts (where each begins in its list, and among the members), and tiles,
the rows in which each 1,024 members begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["HEAD_BYTES", "LIST_PIECE", "ROOT_BYTES", "Images", "Piece", "RootParts", "add_roots", "segments"]

_Array = npt.NDArray[np.uint32]

LIST_PIECE = np.dtype(
    [(name, "<u8") for name in ("first", "second", "rows", "tiles", "slots", "markeds", "outers", "members")]
    + [(name, "<u4") for name in ("n_rows", "n_first", "n_roots", "n_members")]
)
"""As the kernel's ``ListPiece``."""

HEAD_BYTES, _ROW_BYTES = 16, 8
_TILE = 1024

ROOT_BYTES = HEAD_BYTES + 2 * 16 + 2 * _ROW_BYTES
"""Of a root beside its members, at most: its head, its slices, its rows."""

_PIECE_BYTES = 32
"""Of a piece beside its roots, at most: a tile that isn't full, and what aligns it."""


def segments(sizes: npt.NDArray[np.integer[Any]], most: int) -> list[tuple[int, int]]:
    """Return ranges of ids that cover all, of at most ``most`` bytes each, or one id.

    Parameters
    ----------
    sizes
        int[n]: bytes that each id takes.
    """
    sums = np.cumsum(sizes, dtype=np.int64)
    found, begin, before = [], 0, 0
    while begin < len(sums):
        end = max(begin + 1, int(np.searchsorted(sums, before + most, side="right")))
        found.append((begin, end))
        begin, before = end, int(sums[end - 1])
    return found


@dataclass(frozen=True, slots=True)
class Piece:
    """Where a piece's image begins, in bytes, and how many heads, rows and members it has; ``n_first``: rows of the
    first of two arrays of lists. ``classes``: how many roots are of each, those with most members first.
    """

    at: int
    n_heads: int
    n_rows: int
    n_first: int
    n_members: int
    classes: tuple[int, ...] = ()

    @property
    def n_bytes(self) -> int:
        """Bytes of the image."""
        tiles = 4 * -(-self.n_members // _TILE)
        return -(-(HEAD_BYTES * self.n_heads + _ROW_BYTES * self.n_rows + tiles) // HEAD_BYTES) * HEAD_BYTES

    def record(self, image: int, members: int, lists: tuple[int, int]) -> npt.NDArray[Any]:
        """Return a ``LIST_PIECE`` of an image at an address, for members at another; ``lists``: the arrays'."""
        record = np.zeros((), LIST_PIECE)
        record["first"], record["second"] = lists
        record["rows"] = image + HEAD_BYTES * self.n_heads
        record["tiles"] = record["rows"] + np.uint64(_ROW_BYTES * self.n_rows)
        record["members"], record["n_rows"] = members, self.n_rows
        record["n_first"], record["n_members"] = self.n_first, self.n_members
        return record


class Images:
    """Lays pieces out one after the other."""

    def __init__(self) -> None:
        self._arrays: list[_Array] = []
        self.n_bytes = 0

    def add(
        self, heads: _Array, begins: _Array, starts: _Array, n_members: int, n_first: int, classes: Sequence[int] = ()
    ) -> Piece:
        """Add a piece: heads uint32[n, 4], and where its rows begin in their lists and among the members."""
        tiles = np.searchsorted(starts, np.arange(0, n_members, _TILE), side="right") - 1
        piece = Piece(self.n_bytes, len(heads), len(starts), n_first, n_members, tuple(classes))
        words = np.empty(piece.n_bytes // 4, np.uint32)
        places = np.cumsum([4 * len(heads), 2 * len(starts), len(tiles)])
        arrays: list[npt.NDArray[Any]] = [heads, np.stack((begins, starts), axis=1), tiles]
        for part, array in zip(np.split(words, places), arrays, strict=False):
            part[:] = array.ravel()
        words[places[-1] :] = 0
        self._arrays.append(words)
        self.n_bytes += piece.n_bytes
        return piece

    def take(self) -> _Array:
        """Return all of them, uint32[n_bytes / 4]."""
        found = np.concatenate([np.zeros(0, np.uint32), *self._arrays])
        self._arrays.clear()
        return found


@dataclass(frozen=True, slots=True)
class RootParts:
    """Roots with members in a segment: where slices of their lists begin and end, uint32[n] each.

    ``is_one``: whether both slices are of one array of lists. ``numbers``: of the roots among all.
    """

    is_one: bool
    numbers: _Array
    marked_begin: _Array
    marked_end: _Array
    outer_begin: _Array
    outer_end: _Array

    def where(self, kept: Any) -> RootParts:
        """Return those of some roots; ``kept``: an index of arrays."""
        arrays = self.numbers, self.marked_begin, self.marked_end, self.outer_begin, self.outer_end
        return RootParts(self.is_one, *(each[kept] for each in arrays))

    @property
    def marked(self) -> _Array:
        """How many members each root has in its marked slice."""
        return self.marked_end - self.marked_begin

    @property
    def apart(self) -> _Array:
        """How many it has in its outer slice, where that doesn't lie in the marked one."""
        outer = self.outer_end - self.outer_begin
        if self.is_one:
            outer[(self.marked_begin <= self.outer_begin) & (self.outer_end <= self.marked_end)] = 0
        return outer

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The bytes that each takes on the device at most, alone in its piece: int64[n]."""
        members = self.marked.astype(np.int64) + self.apart
        return 4 * members + members // (_TILE // 4) + ROOT_BYTES + _PIECE_BYTES


def add_roots(images: Images, parts: RootParts, limits: Sequence[int], most: int) -> list[Piece]:
    """Add roots in pieces that take at most ``most`` bytes on the device, or have one root; return these.

    A root's head says where among the members its marked slice, and its outer slice, begin and end. Parts of outer
    slices that lie apart come last.

    Parameters
    ----------
    limits
        The most members in a marked slice of each class, ascending.
    """
    return [_piece(images, parts.where(np.s_[a:b]), limits) for a, b in segments(parts.sizes, most)]


def _piece(images: Images, parts: RootParts, limits: Sequence[int]) -> Piece:
    classes = np.searchsorted(np.array(limits), parts.marked).astype(np.int8)
    if classes.min() < classes.max():
        parts = parts.where(np.argsort(-classes, kind="stable"))
    n, apart = len(classes), parts.apart
    is_apart = apart > 0
    lengths = np.concatenate((parts.marked, apart[is_apart]))
    ends = np.cumsum(lengths, dtype=np.uint32)
    starts = ends - lengths
    heads = np.empty((n, 4), np.uint32)
    heads[:, 0], heads[:, 1] = starts[:n], ends[:n]
    heads[:, 2] = starts[:n] + (parts.outer_begin - parts.marked_begin)
    heads[is_apart, 2] = starts[n:]
    heads[:, 3] = heads[:, 2] + (parts.outer_end - parts.outer_begin)
    begins = np.concatenate((parts.marked_begin, parts.outer_begin[is_apart]))
    numbers = np.bincount(classes, minlength=len(limits))[::-1].tolist()
    return images.add(heads, begins, starts, int(ends[-1]), n, numbers)
