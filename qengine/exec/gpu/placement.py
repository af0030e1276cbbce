"""Which share of a query's arrays lies in the device's memory, and which in the host's: a function of sizes alone.

Ids go by descending degree, so that what is read most of any array, of neighbours or by vertex, is at its front: the
first pages are the device's, the others the host's, which kernels read over the link. A list is read as often as its
vertex is met, about as often as it has neighbours, and the same goes for what else there is of a vertex; but numbers
by vertex are read one by one, where the link moves no less than 32 bytes, so up to half of the budget is theirs. Where
vertices have several sets of labels, ids go so within each: then each set's part has a front.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import pairwise

from qengine._frozen import frozen

VERTEX_BYTES = 48
"""What queries derive by vertex, about: two slices of lists of 16 bytes each, or as many vectors, and sorted roots."""

_LEAST_SCRATCH = 96 << 20
_SCRATCH_SHARE, _SCRATCH_OF_VECTORS = 4, 8


@frozen
class Placement:
    """Shares, from 0 to 1, of the bytes of each array that lie on the device: of lists, and of arrays by vertex."""

    lists: float
    vertices: float

    @property
    def is_whole(self) -> bool:
        """Whether all is on the device."""
        return self.lists >= 1 and self.vertices >= 1

    @property
    def is_streamed(self) -> bool:
        """Whether all lists are in the host's memory."""
        return self.lists <= 0

    def bytes_of(self, n_bytes: int, *, by_vertex: bool) -> int:
        """Return how many bytes at the front of an array are on the device."""
        return min(n_bytes, int(n_bytes * (self.vertices if by_vertex else self.lists)))


class Use(Enum):
    """How a query reads its arrays: lists at random (``SEARCH``); lists in order, and vectors at random (``VECTORS``);
    or what is at random from a copy (``COPIES``), or from copies of one segment after the other: of vertices
    (``SEGMENTS``), or of columns (``COLUMNS``), beside vectors at random. ``LISTS``: lists at random, where nothing is
    derived by vertex.
    """

    SEARCH = 0
    VECTORS = 1
    COPIES = 2
    SEGMENTS = 3
    COLUMNS = 4
    LISTS = 5


WHOLE = Placement(1.0, 1.0)
STREAMED = Placement(0.0, 0.0)
"""All is in the host's memory: who reads it copies what is read at random."""

_INDEX_BYTES = 8
"""By vertex: where its list begins."""

_INDEX_SHARE = 4
"""The row index takes at most one part in so many of the budget: who has few neighbours is seldom met."""

_MOST_DERIVED = 0.6
"""Of the budget, that what is derived by vertex may take where lists come in segments: else these are too many."""


def scratch_bytes(limit: int, use: Use = Use.SEARCH) -> int:
    """Return how much of a limit no array that may be elsewhere takes: tables, counters, frontiers need it.

    Beside vectors, of which few may be read at random over the link, little else is made.
    """
    if use is Use.VECTORS:
        return limit // _SCRATCH_OF_VECTORS
    return max(limit // _SCRATCH_SHARE, min(limit // 2, _LEAST_SCRATCH))


def placement(limit: int, n_bytes: int, vertices: int, use: Use = Use.SEARCH) -> Placement:
    """Return where the arrays of a query lie.

    Parameters
    ----------
    limit
        Bytes of the device's memory that the query may use.
    n_bytes
        Of the graph's arrays that it reads.
    vertices
        How many the graph has.
    """
    derived = 0 if use is Use.LISTS else VERTEX_BYTES * vertices
    budget = limit - scratch_bytes(limit)
    if n_bytes + derived <= budget:
        return WHOLE
    if use in (Use.COPIES, Use.SEGMENTS):
        return STREAMED
    if use is Use.COLUMNS:
        return Placement(0.0, float(derived <= _MOST_DERIVED * budget))
    if use is Use.VECTORS:  # the first vectors that are made are those that are read at random
        return Placement(max(0.0, min(1.0, (budget - derived // 2) / max(1, n_bytes))), 1.0)
    if use is Use.LISTS:
        whole = min(n_bytes, _INDEX_BYTES * vertices)
        index = min(whole, budget // _INDEX_SHARE)
        return Placement(min(1.0, (budget - index) / max(1, n_bytes - whole)), index / max(1, whole))
    by_vertex = min(derived, max(budget // 2, budget - n_bytes))
    return Placement(min(1.0, (budget - by_vertex) / max(1, n_bytes)), by_vertex / max(1, derived))


def page_runs(n_bytes: int, device_bytes: int, page: int, starts: Sequence[int] = (0,)) -> list[tuple[int, bool]]:
    """Return the runs of pages of an array: of how many bytes, and whether on the device, no more than so many.

    ``starts``: where parts begin, in bytes, of which each has its share at its front; the first is 0.
    """
    size = -(-n_bytes // page) * page
    if size <= device_bytes:
        return [(size, True)]
    bounds = [*sorted({start // page * page for start in starts if start < n_bytes} | {0}), size]
    found: list[tuple[int, bool]] = []
    for begin, end in pairwise(bounds):
        here = int((end - begin) * device_bytes / size) // page * page
        for n, on_device in ((here, True), (end - begin - here, False)):
            if n and found and found[-1][1] is on_device:
                found[-1] = found[-1][0] + n, on_device
            elif n:
                found.append((n, on_device))
    return found
