"""Ranges of roots of which none takes long, as far as lists' lengths tell.

What a root takes may be constant, or go by its list's length (where neighbours are only read, or few are admitted), or
by the square of that. Each range has a small share of all three.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qengine.exec.view import ExecView
from qengine.plan.pattern import Direction
from qengine.plan.physical import Search, VertexLevel

__all__ = ["root_pieces"]


def root_pieces(store: ExecView, search: Search, most: int) -> list[tuple[int, int]]:
    """Return up to so many ranges ``[begin, end)`` of ids that cover the roots of a search once, the heaviest first.

    Vertices have small ids where they have many neighbours, so a range at the beginning is short.
    """
    level = search.levels[0]
    assert isinstance(level, VertexLevel)
    ranges = store.label_ranges(level.labels).tolist()
    if not ranges:
        return []
    ids = np.concatenate([np.arange(low, high, dtype=np.uint32) for low, high in ranges])
    lengths = np.zeros(len(ids))
    for index, direction in _first_lists(store, search):
        begins, ends = store.adjacency(index, direction).locate_all(ids)
        lengths += ends - begins
    weights = np.full(len(ids), 1.0 / len(ids))
    for each in (lengths, lengths**2):
        weights += each / max(float(each.sum()), 1.0)
    before = np.cumsum(weights)
    cuts = np.searchsorted(before, before[-1] * np.arange(1, most) / most, side="right")
    bounds = np.unique(np.concatenate(([0], cuts, [len(ids)])))
    places = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
    heaviest = sorted(places, key=lambda place: before[place[0]] - before[place[1] - 1] - weights[place[0]])
    return [(int(ids[first]), int(ids[behind - 1]) + 1) for first, behind in heaviest]


def _first_lists(store: ExecView, search: Search) -> Iterator[tuple[int, Direction]]:
    """Yield the stored lists that are read first of each root: of types, by their numbers, the direction."""
    sources = [each for level in search.levels if isinstance(level, VertexLevel) for each in level.sources]
    source = next((each for each in sources if each.level == 0), None)
    if source is None:
        return
    for index, info in enumerate(store.types):
        if not source.types or info.name in source.types:
            if info.undirected:
                yield index, Direction.BOTH
            elif source.direction is Direction.BOTH:
                yield from ((index, Direction.OUT), (index, Direction.IN))
            else:
                yield index, source.direction
