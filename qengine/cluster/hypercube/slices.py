"""Slices of a cell, done one after the other: where the memory limit leaves no room for all that was sent to it.

A slice is a point of a grid of its own, along whose dimensions nodes are hashed anew. Each embedding of the cell is
found in exactly one slice, as each of all is in one cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qengine._frozen import frozen
from qengine.cluster.hypercube.grid import Grid, Hashes, hashes_of
from qengine.cluster.hypercube.joins import Join
from qengine.cluster.hypercube.shares import Load, Way, choose, fullest

ROOM = 8
"""So many times the bytes of its rows a cell may take, until it has found its embeddings."""
_SALT = np.uint64(0xD6E8FEB86659FD93)


@frozen
class Slice:
    """One slice: a point of a grid."""

    grid: Grid
    place: int

    def fits(self, variable: int, hashes: Hashes) -> NDArray[np.bool_]:
        """Tell which keys a variable may have."""
        along = self.grid.coordinate(hashes * _SALT, variable)
        return np.equal(along, self.grid.coordinates(self.place)[variable])

    def rows(self, table: Any, ends: tuple[str, ...], ways: Sequence[tuple[int, ...]]) -> Any:
        """Return the rows that the slice needs of a table, which binds variables by its ``ends`` in some ways."""
        hashes = [hashes_of(_array(table[end])) for end in ends]
        kept = np.zeros(table.num_rows, np.bool_)
        for way in ways:
            fits = [self.fits(variable, each) for variable, each in zip(way, hashes, strict=False)]
            kept |= np.logical_and.reduce(fits)
        return table.filter(kept)


def slicing(join: Join, sizes: Mapping[int, int], cells: int) -> tuple[Grid, float]:
    """Return the grid of at most so many slices of a cell, and the bytes that one is expected to need.

    Parameters
    ----------
    sizes
        Of each table of relationships the bytes that were sent to the cell.
    """
    ways = {table: tuple(Way(use.first, use.second) for use in join.uses if use.table == table) for table in sizes}
    loads = [Load(1.0, float(size), ways[table]) for table, size in sizes.items()]
    loads += [Load(1.0, 1.0, (Way(variable),)) for variable, _ in join.rows if variable < join.gridded]
    shares = choose(loads, len(join.variables), cells, join.gridded)
    return Grid(shares), fullest(loads, shares)


def _array(column: Any) -> Any:
    return column.combine_chunks()
