"""The cells of a join: grids with one dimension for each variable, along which its nodes are hashed.

Common keys are dealt to the places of a dimension by how many rows they have, instead of by hashes. But a share doesn't
part the rows of one key. So keys that are too heavy for a cell are joined apart (Beame, Koutris and Suciu 2014): for
some variables it is told whether a node's key is heavy, and each set of variables whose keys are has a grid of its own.
An embedding belongs to the one whose set is that of its heavy nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from heapq import heapreplace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qengine._frozen import frozen
from qengine.exec.common.columns import ArrowColumn
from qengine.exec.spill.hashes import row_hashes

Hashes = NDArray[np.uint64]
Integers = NDArray[np.int64]

_SPREAD = 0x9E3779B97F4A7C15
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_WORD = 64
_LIGHT = 1 / 16  # of what a place gets


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

    def line(self, bound: Mapping[int, Integers], rows: int, first: int = 0, words: int | None = None) -> Hashes:
        """Return the cells that rows reach, as bits.

        Parameters
        ----------
        bound
            Of each variable that the rows bind where they are along its dimension.
        first
            The number of this grid's first cell.
        words
            Of each row; by default as many as this grid's cells need.

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
        reached = np.zeros((self.cells, words or _words(first + self.cells)), np.uint64)
        cells = starts[:, None] + free + first
        bits = np.uint64(1) << (cells % _WORD).astype(np.uint64)
        np.bitwise_or.at(reached, (np.broadcast_to(starts[:, None], cells.shape), cells // _WORD), bits)
        return reached[base]


@frozen
class Grids:
    """The cells of a join, one grid's after the other.

    Attributes
    ----------
    blocks
        Of each grid the variables whose keys are heavy in it, and the grid.
    common
        Hashes of common keys, the heaviest first.
    weights
        Of each of them the part of all bytes whose rows have it.
    heavy
        How many of them are heavy.
    parted
        The variables of which it is told whether a key is heavy.
    """

    blocks: tuple[tuple[frozenset[int], Grid], ...]
    common: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()
    heavy: int = 0
    parted: tuple[int, ...] = ()

    @classmethod
    def of(cls, shares: tuple[int, ...], common: tuple[int, ...] = (), weights: tuple[float, ...] = ()) -> Grids:
        """Return one grid of all cells."""
        return cls(((frozenset(), Grid(shares)),), common, weights)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return sum(grid.cells for _, grid in self.blocks)

    def line(self, bound: Mapping[int, Hashes], rows: int) -> Hashes:
        """Return the cells that rows reach, as bits; ``bound``: hashes of the keys that rows bind variables to."""
        words, first = _words(self.cells), 0
        ranks = {variable: self.ranks(hashes) for variable, hashes in bound.items()}
        found = np.zeros((rows, words), np.uint64)
        for heavy, grid in self.blocks:
            fits = [self._is_heavy(ranks[each]) == (each in heavy) for each in bound if each in self.parted]
            places: Any = np.flatnonzero(np.logical_and.reduce(fits)) if fits else slice(None)
            along = {
                each: self._along(grid, each, hashes[places], ranks[each][places]) for each, hashes in bound.items()
            }
            found[places] |= grid.line(along, len(places) if fits else rows, first, words)
            first += grid.cells
        return found

    def ranks(self, hashes: Hashes) -> Integers:
        """Return of each key which of the common ones it is; -1 for others."""
        common = np.array(self.common, np.uint64)
        if not len(common):
            return np.full(len(hashes), -1)
        order = np.argsort(common)
        place = np.minimum(np.searchsorted(common, hashes, sorter=order), len(common) - 1)
        return np.where(common[order[place]] == hashes, order[place], -1)

    def _is_heavy(self, ranks: Integers) -> NDArray[np.bool_]:
        return (ranks >= 0) & (ranks < self.heavy)

    def _along(self, grid: Grid, variable: int, hashes: Hashes, ranks: Integers) -> Integers:
        """Return where keys are along a variable's dimension of a grid."""
        found = grid.coordinate(hashes, variable)
        share = grid.shares[variable]
        if share > 1 and self.common:
            dealt = _dealt(self.weights, self.heavy if variable in self.parted else 0, share)
            found = np.where((ranks >= 0) & (dealt[ranks] >= 0), dealt[ranks], found)
        return found

    def at(self, cell: int) -> tuple[int, tuple[int, ...]]:
        """Return which grid a cell is of, and its point there."""
        for place, (_, grid) in enumerate(self.blocks):
            if cell < grid.cells:
                return place, grid.coordinates(cell)
            cell -= grid.cells
        raise IndexError(cell)

    def fits(self, cell: int, variable: int, hashes: Hashes) -> NDArray[np.bool_]:
        """Tell which keys a variable may have in a cell."""
        block, here = self.at(cell)
        heavy, grid = self.blocks[block]
        ranks = self.ranks(hashes)
        found = np.equal(self._along(grid, variable, hashes, ranks), here[variable])
        return found & (self._is_heavy(ranks) == (variable in heavy)) if variable in self.parted else found


@lru_cache
def _dealt(weights: tuple[float, ...], heavy: int, places: int) -> Integers:
    """Return the places of common keys: each goes to where the least is so far, the ``heavy`` ones by themselves.

    -1 for those that are light beside what a place gets: hashes part these as well.
    """
    found = np.full(len(weights), -1)
    for begin, end in ((0, heavy), (heavy, len(weights))):
        filled = [(0.0, place) for place in range(places)]
        for rank in range(begin, end):
            if weights[rank] * places > _LIGHT or rank < heavy:
                size, found[rank] = filled[0]
                heapreplace(filled, (size + weights[rank], int(found[rank])))
    return found


def rows_by_cell(reached: Hashes, cells: int) -> Iterable[tuple[int, Integers]]:
    """Yield each cell that rows reach, as ``line`` tells, with the places of these rows."""
    for cell in range(cells):
        bits = reached[:, cell // _WORD] >> np.uint64(cell % _WORD)
        places = np.flatnonzero(bits & np.uint64(1))
        if len(places):
            yield cell, places


def _words(cells: int) -> int:
    return -(-cells // _WORD)
