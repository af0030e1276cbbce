"""The cells of a join: a grid with one dimension for each variable, along which its nodes are hashed."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qengine._frozen import frozen
from qengine.exec.common.columns import ArrowColumn
from qengine.exec.spill.hashes import row_hashes

__all__ = ["Grid", "hashes_of"]

Hashes = NDArray[np.uint64]
Integers = NDArray[np.int64]

_SPREAD = 0x9E3779B97F4A7C15
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_WORD = 64


def hashes_of(keys: Any) -> Hashes:
    """Return a hash of each key, uint64, the same in every process: of an array of integers or strings (pyarrow)."""
    return row_hashes([ArrowColumn(keys)], len(keys))


@frozen
class Grid:
    """Cells by shares: the cell at a point has the number that its coordinates make, the last one counting units."""

    shares: tuple[int, ...]

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return prod(self.shares)

    def coordinates(self, cell: int) -> tuple[int, ...]:
        """Return the point of a cell."""
        return tuple(int(each) for each in np.unravel_index(cell, self.shares)) if self.shares else ()

    def coordinate(self, hashes: Hashes, variable: int) -> Integers:
        """Return where nodes are along a variable's dimension: by a hash of their keys that is the variable's own."""
        share = self.shares[variable]
        if share == 1:
            return np.zeros(len(hashes), np.int64)
        mixed = hashes + np.uint64(_SPREAD * (variable + 1) % (1 << _WORD))
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX[0]
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX[1]
        return ((mixed >> np.uint64(33)) % np.uint64(share)).astype(np.int64)

    def line(self, bound: dict[int, Integers], rows: int) -> Hashes:
        """Return the cells that rows reach, as bits.

        Parameters
        ----------
        bound
            Of each variable that the rows bind where they are along its dimension.

        Returns
        -------
        numpy.ndarray
            uint64 [rows, words]: bit ``i`` of word ``w`` is cell ``64 w + i``.
        """
        base = np.zeros(rows, np.int64)
        step, free = 1, np.zeros(1, np.int64)
        starts = np.zeros(1, np.int64)
        for variable in reversed(range(len(self.shares))):
            share = self.shares[variable]
            along = step * np.arange(share)
            if variable in bound:
                base += step * bound[variable]
                starts = (starts[:, None] + along).ravel()
            else:
                free = (free[:, None] + along).ravel()
            step *= share
        reached = np.zeros((self.cells, -(-self.cells // _WORD)), np.uint64)
        cells = starts[:, None] + free
        bits = np.uint64(1) << (cells % _WORD).astype(np.uint64)
        np.bitwise_or.at(reached, (np.broadcast_to(starts[:, None], cells.shape), cells // _WORD), bits)
        return reached[base]

    def rows_by_cell(self, reached: Hashes) -> Iterable[tuple[int, Integers]]:
        """Yield each cell that rows reach, with the places of these rows."""
        for cell in range(self.cells):
            bits = reached[:, cell // _WORD] >> np.uint64(cell % _WORD)
            places = np.flatnonzero(bits & np.uint64(1))
            if len(places):
                yield cell, places
