"""The lists of some nodes in some stored adjacencies, one after the other, of which entries are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from qengine.plan.pattern import Direction
from qengine.storage.arrays import Array

if TYPE_CHECKING:
    from qengine.storage.store import GraphStore


class NodeLists:
    """The lists that nodes (uint32) have in some stored adjacencies, one after the other; ``degrees``: float64."""

    def __init__(self, store: GraphStore, stored: Iterable[tuple[int, Direction]], nodes: Array) -> None:
        self._lists = [(way, store.adjacency(index, way)) for index, way in stored]
        located = [each.locate_all(nodes) for _, each in self._lists]
        shape = len(self._lists), len(nodes)
        self._begins = np.array([each[0] for each in located], np.int64).reshape(shape)
        self._lengths = np.array([each[1] for each in located], np.int64).reshape(shape) - self._begins
        self.degrees = self._lengths.sum(axis=0).astype(np.float64)

    def spread(self, drawn: Array) -> tuple[Array, Array, Array]:
        """Return of some entries, counted through all lists: whose they are (place), the other end, their id."""
        sums = np.cumsum(self.degrees).astype(np.int64)
        at = np.searchsorted(sums, drawn, side="right")
        far, _, local = self._entries(at, drawn - (sums[at] - self.degrees[at].astype(np.int64)))
        return at, far, local

    def picked(self, at: Array, random: np.random.Generator) -> tuple[Array, Array, Array]:
        """Return an entry of each of some nodes, by their places: the other end, where it stands, its id."""
        return self._entries(at, (random.random(len(at)) * self.degrees[at]).astype(np.int64))

    def _entries(self, at: Array, rank: Array) -> tuple[Array, Array, Array]:
        far, place, local = (np.zeros(len(at), np.int64) for _ in range(3))
        for number, (way, each) in enumerate(self._lists):
            length = self._lengths[number, at]
            rows = np.flatnonzero((rank >= 0) & (rank < length))
            here = self._begins[number, at[rows]] + rank[rows]
            far[rows], place[rows] = each.neighbours[here], here * len(self._lists) + number
            if each.edge_ids is not None or way is Direction.OUT:  # else it has no properties
                local[rows] = here if each.edge_ids is None else each.edge_ids[here]
            rank = rank - length
        return far, place, local
