"""Parts of lists that are copied to the device, a piece at a time: what ``copy_lists`` reads
(``kernels/cuda/count/count_views.cu``), laid out in the host's memory.

A piece has heads of 16 bytes, the rows of its parts (where each begins in its list, and among the members), and tiles,
the rows in which each 1,024 members begin.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._frozen import frozen
from qengine.exec.context import ExecutionContext

_Array = npt.NDArray[np.uint32]

LIST_PIECE = _native.record(
    "u8 first second rows tiles slots markeds outers members; u4 n_rows n_first n_roots n_members"
)
"""As the kernel's ``ListPiece``."""

ROOT_LISTS = np.dtype(
    [(name, "<u8") for name in ("numbers", "marked_begin", "marked_end", "cuts", "n", "most", "root_bytes")]
    + [(name, "<u4") for name in ("n_segments", "is_one", "is_clipped", "taken")]
    + [("share", "<u4", 3), ("limits", "<u4", 4), ("n_classes", "<u4"), ("unused", "<u4")],
    align=True,
)
ROOT_PIECE = _native.record("u8 at begin end; u4 segment n_heads n_rows n_members; u4[4] classes")
"""As in ``kernels/host/count/list_pieces.cpp``."""

HEAD_BYTES, _ROW_BYTES = 16, 8
_TILE = 1024

ROOT_BYTES = HEAD_BYTES + 2 * 16 + 2 * _ROW_BYTES
"""Of a root beside its members, at most: its head, its slices, its rows."""

_BESIDE_BYTES = ROOT_BYTES + 32
"""Of a root alone in its piece: a tile that isn't full, and what aligns the piece."""

_FEW_PIECES = 1 << 10


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


@frozen
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
        self._arrays: list[npt.NDArray[Any]] = []
        self.n_bytes = 0

    def add(self, heads: _Array, begins: _Array, starts: _Array, n_members: int) -> Piece:
        """Add a piece: heads uint32[n, 4], and where its rows begin in their lists and among the members."""
        tiles = np.searchsorted(starts, np.arange(0, n_members, _TILE), side="right") - 1
        piece = Piece(self.n_bytes, len(heads), len(starts), len(starts), n_members)
        arrays = heads, np.stack((begins, starts), axis=1), tiles.astype(np.uint32)
        rest = np.zeros(piece.n_bytes - sum(each.nbytes for each in arrays), np.uint8)
        self._arrays += [*map(np.ascontiguousarray, arrays), rest]
        self.n_bytes += piece.n_bytes
        return piece

    def fill(self, address: int) -> None:
        """Write all of them, from an address on, and forget them."""
        for each in self._arrays:
            ctypes.memmove(address, each.ctypes.data, each.nbytes)
            address += each.nbytes
        self._arrays.clear()


@frozen
class RootSlices:
    """Roots, and where slices of their lists begin and end, uint32[n] each.

    ``is_one``: whether both slices are of one array of lists. ``numbers``: of the roots among all.
    """

    is_one: bool
    numbers: _Array
    marked_begin: _Array
    marked_end: _Array
    outer_begin: _Array
    outer_end: _Array

    def where(self, kept: Any) -> RootSlices:
        """Return those of some roots; ``kept``: an index of arrays."""
        arrays = self.numbers, self.marked_begin, self.marked_end, self.outer_begin, self.outer_end
        return RootSlices(self.is_one, *(each[kept] for each in arrays))

    @property
    def most_bytes(self) -> int:
        """The bytes that any takes on the device at most, alone in its piece."""
        members = (self.marked_end - self.marked_begin).astype(np.int64) + (self.outer_end - self.outer_begin)
        most = int(members.max(initial=0))
        return 4 * most + most // (_TILE // 4) + _BESIDE_BYTES


@frozen
class RootPieces:
    """Parts of roots' slices in pieces, segment after segment. Make it by ``cut``.

    ``pieces``: in the order in which they are laid out. ``of``: those of each segment. ``n_bytes``: of their images.

    A root's head says where among the members its marked slice, and its outer slice, begin and end. Parts of outer
    slices that lie apart come last.
    """

    pieces: list[Piece]
    of: list[range]
    n_bytes: int
    _given: npt.NDArray[Any]
    _records: npt.NDArray[Any]
    _keep: Any

    @classmethod
    def cut(
        cls,
        roots: RootSlices,
        cuts: Sequence[_Array],
        share: tuple[int, int, int],
        limits: Sequence[int],
        most: int,
        least: int | None,
        context: ExecutionContext,
    ) -> RootPieces:
        """Return the pieces of some roots, which take at most ``most`` bytes on the device, or have one root.

        Parameters
        ----------
        cuts
            For each segment and behind the last where what the outer slices have of it begins: uint32[n] each. Roots
            with none there are in no piece of it.
        share
            Of each so many roots, by their numbers, which to take: from where on, how many, and of how many.
        limits
            The most members in a marked slice of each class, ascending.
        least
            Where a marked slice ends with what the outer one has of the segment, the members that it must have; None
            where it doesn't.
        """
        arrays = [np.ascontiguousarray(each) for each in (roots.numbers, roots.marked_begin, roots.marked_end)]
        ends = [np.ascontiguousarray(each) for each in cuts]
        places = np.array([each.ctypes.data for each in ends], np.uint64)
        given = np.zeros(1, ROOT_LISTS)
        given["numbers"], given["marked_begin"], given["marked_end"] = (each.ctypes.data for each in arrays)
        given["cuts"], given["n"], given["n_segments"] = places.ctypes.data, len(arrays[0]), len(ends) - 1
        given["most"], given["root_bytes"], given["is_one"] = most, _BESIDE_BYTES, roots.is_one
        given["is_clipped"], given["taken"] = least is not None, least or 0
        given["share"], given["n_classes"] = share, len(limits)
        given["limits"][0, : len(limits)] = limits
        library, n, n_bytes = _library(), ctypes.c_uint64(), ctypes.c_uint64()
        records = np.zeros(_FEW_PIECES, ROOT_PIECE)
        while True:
            context.run(
                library.qe_root_pieces, given.ctypes.data, records.ctypes.data, len(records), ctypes.byref(n),
                ctypes.byref(n_bytes), ctypes.byref(context.control),
            )  # fmt: skip
            if n.value <= len(records):
                break
            records = np.zeros(n.value, ROOT_PIECE)
        records = records[: n.value]
        numbers = (records[name].tolist() for name in ("at", "n_heads", "n_rows", "n_heads", "n_members"))
        classes = map(tuple, records["classes"][:, : len(limits)].tolist())
        pieces = [Piece(*each) for each in zip(*numbers, classes, strict=True)]
        bounds = np.searchsorted(records["segment"], np.arange(len(ends))).tolist()
        return cls(
            pieces, [range(*each) for each in pairwise(bounds)], n_bytes.value, given, records, (arrays, ends, places)
        )

    def fill(self, address: int, context: ExecutionContext) -> None:
        """Write all images, from an address on. Errors as of ``cut``."""
        context.run(
            _library().qe_root_images, self._given.ctypes.data, self._records.ctypes.data, len(self._records), address,
            ctypes.byref(context.control),
        )  # fmt: skip


_library = _native.declared("qe_root_pieces p p u8 p p p; qe_root_images p p u8 p p")
