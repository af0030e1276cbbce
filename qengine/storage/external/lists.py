"""A type's neighbour lists, sorted in pieces: what ``pcsr_build`` makes in memory, of relationships in files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from qengine._frozen import replace
from qengine.storage.adjacency import Adjacency, Form
from qengine.storage.arrays import Array
from qengine.storage.external.scratch import Scratch
from qengine.storage.forms import choose_of, grouped
from qengine.storage.kernels import sort_lists
from qengine.storage.pcsr_build import repeats_neighbour

_LEAST_SPAN = 1 << 12


@dataclass
class Layout:
    """In which order lists stand, each in a *slot*, and which of them are sorted together.

    Attributes
    ----------
    lists
        The row index, without neighbours.
    low
        The vertex of slot 0, where slots are vertices in their order.
    slots
        uint32[vertices]: the slot of each; None where slots are vertices from ``low`` on.
    vertices
        uint32[slots]: the vertex of each; None as above.
    begins
        uint64[slots + 1]: where the list of each slot begins, and at last where the last ends.
    cuts
        int64[pieces + 1]: the slots at which pieces begin.
    """

    lists: Adjacency
    low: int
    slots: Array | None
    vertices: Array | None
    begins: Array
    cuts: Array

    @classmethod
    def of(cls, counts: Array, most: int, scratch: Scratch, form: Form | None = None) -> Layout:
        """Lay out lists.

        Parameters
        ----------
        counts
            uint32[vertices]: the length of each vertex's list.
        most
            Entries of a piece.
        form
            The row index; None chooses.
        """
        used = np.flatnonzero(counts).astype(np.uint32)
        low, high = (int(used[0]), int(used[-1]) + 1) if len(used) else (0, 0)
        entries = int(counts.sum(dtype=np.uint64))
        reason = "as asked for"
        if form is None:
            form, reason = choose_of(len(used), high - low, entries)
        lists = Adjacency(form, low, high, np.empty(0, np.uint32), reason=reason)
        slots = vertices = None
        if form is Form.GROUPS:
            found = grouped(used, counts[used].astype(np.uint64))
            vertices = used[found.order]
            slots = scratch.array(len(counts), np.uint32)
            slots[vertices] = np.arange(len(vertices), dtype=np.uint32)
            begins = np.append(found.begins, entries).astype(np.uint64)
            lists = replace(lists, groups=found.groups, home_groups=found.homes)
        else:
            begins = scratch.array(high - low + 1, np.uint64)
            np.cumsum(counts[low:high], dtype=np.uint64, out=begins[1:])
            if form is Form.DENSE:
                lists = replace(lists, offsets=begins)
            else:
                lists = replace(lists, keys=used, offsets=np.append(begins[used - np.uint32(low)], np.uint64(entries)))
        return cls(lists, low, slots, vertices, begins, _cuts(begins, most))

    @property
    def entries(self) -> int:
        """How many entries the lists have."""
        return int(self.begins[-1])

    def slot_of(self, vertices: Array) -> Array:
        """Return the slots (uint32) of vertices (uint32) that have lists."""
        return vertices - np.uint32(self.low) if self.slots is None else self.slots[vertices]

    def owners(self, begin: int, end: int) -> Array:
        """Return the vertex (uint32) that each entry of the slots ``[begin, end)`` belongs to."""
        lengths = np.diff(self.begins[begin : end + 1]).astype(np.int64)
        if self.vertices is None:
            return np.repeat(np.arange(begin + self.low, end + self.low, dtype=np.uint32), lengths)
        return np.repeat(self.vertices[begin:end], lengths)

    def pieces(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield the slots ``[begin, end)`` of each piece, and its entries ``[first, last)``."""
        for begin, end in zip(self.cuts[:-1].tolist(), self.cuts[1:].tolist(), strict=True):
            yield begin, end, int(self.begins[begin]), int(self.begins[end])


class Buckets:
    """Entries that are dealt to the pieces in which they will be sorted, in the order in which they come.

    Parameters
    ----------
    layout
        Where entries belong.
    scratch
        Where they stand.
    ids
        Whether each entry has a number beside it.
    """

    def __init__(self, layout: Layout, scratch: Scratch, *, ids: bool) -> None:
        self.layout = layout
        count = layout.entries
        self.slots, self.neighbours = scratch.array(count, np.uint32), scratch.array(count, np.uint32)
        self.ids = scratch.array(count, np.uint32) if ids else None
        self._filled = layout.begins[layout.cuts[:-1]].astype(np.int64)

    def deal(self, owners: Array, neighbours: Array, ids: Array | None) -> tuple[Array, Array]:
        """Deal some entries.

        Returns
        -------
        int64[n]
            The entries in the order of the pieces.
        int64[pieces + 1]
            Where each piece begins among them.
        """
        slots = self.layout.slot_of(owners)
        pieces = len(self._filled)
        if pieces == 1:
            order, bounds = np.arange(len(slots)), np.array([0, len(slots)])
        else:
            where = np.searchsorted(self.layout.cuts[1:-1], slots, side="right").astype(np.uint16)
            order = np.argsort(where, kind="stable")
            bounds = np.concatenate(([0], np.cumsum(np.bincount(where, minlength=pieces))))
        columns = [(self.slots, slots[order]), (self.neighbours, neighbours[order])]
        if self.ids is not None and ids is not None:
            columns.append((self.ids, ids[order]))
        for piece, (begin, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
            at = int(self._filled[piece])
            for to, values in columns:
                to[at : at + end - begin] = values[begin:end]
        self._filled += np.diff(bounds)
        return order, bounds


class Piece(NamedTuple):
    """A sorted piece: its slots ``[begin, end)``, entries ``[first, last)``, and what was dealt to it in order."""

    slots: tuple[int, int]
    entries: tuple[int, int]
    neighbours: Array
    order: Array
    repeats: bool


def sorted_pieces(buckets: Buckets) -> Iterator[Piece]:
    """Yield the pieces in the order of lists; entries with the same neighbour in the order in which they were dealt."""
    for begin, end, first, last in buckets.layout.pieces():
        offsets, neighbours, order = sort_lists(
            buckets.slots[first:last], begin, end - begin, buckets.neighbours[first:last], order=True
        )
        assert order is not None
        yield Piece((begin, end), (first, last), neighbours, order, repeats_neighbour(neighbours, offsets))


def _cuts(begins: Array, most: int) -> Array:
    """Return the slots at which pieces of at most so many entries begin; one list alone may have more."""
    slots = len(begins) - 1
    cuts: list[int] = [0]
    while cuts[-1] < slots:
        reached = int(np.searchsorted(begins, begins[cuts[-1]] + np.uint64(most), side="right")) - 1
        cuts.append(min(max(reached, cuts[-1] + 1), cuts[-1] + max(most, _LEAST_SPAN), slots))
    return np.array(cuts if len(cuts) > 1 else [0, 0], np.int64)
