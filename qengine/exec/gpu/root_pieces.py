"""Lists of roots in pieces that are copied to the device one after the other (``copy_roots`` in
``kernels/cuda/count/count_views.cu``).

A root has a marked slice of its list, and an outer one, whose members are in the segment that is counted. What lies in
the marked one is copied once. The roots of a piece go by classes of the former's size, the largest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["ROOT_BYTES", "ROOT_PIECE", "Piece", "Pieces", "RootParts", "segments"]

_Array = npt.NDArray[np.uint32]

ROOT_PIECE = np.dtype(
    [(name, "<u8") for name in ("marked", "outer", "rows", "tiles", "slots", "markeds", "outers", "members")]
    + [(name, "<u4") for name in ("n_rows", "n_marked", "n_roots", "n_members")]
)
"""As the kernel's ``RootPiece``."""

ROOT_BYTES = 32
"""Of a root's two slices on the device."""

_TILE = 1024
"""Members that a warp copies, the kernel's ``kTile``."""


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
class RootParts:
    """Roots with members in a segment: where slices of their lists begin and end, uint32[n] each.

    ``numbers``: of the roots among all. ``is_one``: whether both slices are of one list.
    """

    numbers: _Array
    marked_begin: _Array
    marked_end: _Array
    outer_begin: _Array
    outer_end: _Array
    is_one: bool

    def where(self, kept: Any) -> RootParts:
        """Return those of some roots; ``kept``: an index of arrays."""
        arrays = self.numbers, self.marked_begin, self.marked_end, self.outer_begin, self.outer_end
        return RootParts(*(each[kept] for each in arrays), self.is_one)

    @property
    def marked(self) -> _Array:
        """How many members are marked of each root."""
        return self.marked_end - self.marked_begin

    @property
    def apart(self) -> _Array:
        """How many members each root has in its outer slice, where that doesn't lie in the marked one."""
        if not self.is_one:
            return self.outer_end - self.outer_begin
        within = (self.marked_begin <= self.outer_begin) & (self.outer_end <= self.marked_end)
        return np.where(within, np.uint32(0), self.outer_end - self.outer_begin)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Return the bytes that each takes on the device: int64[n]."""
        return 4 * (self.marked.astype(np.int64) + self.apart) + ROOT_BYTES


@dataclass(frozen=True, slots=True)
class Piece:
    """Where a piece's first slot, row and tile are, how many there are, and the members.

    ``classes``: how many roots are of each class, the largest members first.
    """

    slot: int
    row: int
    tile: int
    n_rows: int
    n_members: int
    classes: tuple[int, ...]

    @property
    def n_roots(self) -> int:
        """How many roots it has."""
        return sum(self.classes)

    @property
    def n_bytes(self) -> int:
        """Bytes that it takes on the device."""
        return ROOT_BYTES * self.n_roots + 4 * self.n_members


class Pieces:
    """Cuts roots into pieces of at most ``most`` bytes, or one root. ``limits``: the most members of each class."""

    def __init__(self, limits: Sequence[int], most: int) -> None:
        self.limits, self.most = np.array(limits), most
        self.pieces: list[Piece] = []
        self._slots: list[_Array] = []
        self._rows: list[_Array] = []
        self._tiles: list[_Array] = []
        self._at = 0, 0, 0

    def add(self, parts: RootParts) -> range:
        """Add the roots of a segment; return the numbers of their pieces."""
        first = len(self.pieces)
        for begin, end in segments(parts.sizes, self.most):
            self._add(parts.where(np.s_[begin:end]))
        return range(first, len(self.pieces))

    def arrays(self) -> tuple[_Array, _Array, _Array]:
        """Return all slots uint32[n, 4], rows uint32[m, 2] and tiles uint32[k], as the kernel reads them."""
        empty = np.zeros((0, 4), np.uint32), np.zeros((0, 2), np.uint32), np.zeros(0, np.uint32)
        slots, rows, tiles = map(
            np.concatenate, ([empty[0], *self._slots], [empty[1], *self._rows], [empty[2], *self._tiles])
        )
        return slots, rows, tiles

    def _add(self, parts: RootParts) -> None:
        classes = np.searchsorted(self.limits, parts.marked).astype(np.int8)
        parts = parts.where(np.argsort(-classes, kind="stable"))
        marked, apart = parts.marked, parts.apart
        is_apart = apart > 0
        lengths = np.concatenate((marked, apart[is_apart]))
        ends = np.cumsum(lengths, dtype=np.uint32)
        starts = ends - lengths
        n, total = len(marked), int(ends[-1])
        slots = np.empty((n, 4), np.uint32)
        slots[:, 0], slots[:, 1] = starts[:n], ends[:n]
        slots[:, 2] = starts[:n] + (parts.outer_begin - parts.marked_begin)
        slots[is_apart, 2] = starts[n:]
        slots[:, 3] = slots[:, 2] + (parts.outer_end - parts.outer_begin)
        rows = np.stack((np.concatenate((parts.marked_begin, parts.outer_begin[is_apart])), starts), axis=1)
        tiles = (np.searchsorted(starts, np.arange(0, total, _TILE), side="right") - 1).astype(np.uint32)
        numbers = np.bincount(classes, minlength=len(self.limits))[::-1]
        slot, row, tile = self._at
        self.pieces.append(Piece(slot, row, tile, len(rows), total, tuple(map(int, numbers))))
        self._slots.append(slots)
        self._rows.append(rows)
        self._tiles.append(tiles)
        self._at = slot + n, row + len(rows), tile + len(tiles)
