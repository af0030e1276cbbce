"""HyperCube shares: into how many parts each variable of a pattern is hashed, and what will be sent where.

The cells of a join are the points of a grid with one dimension for each variable (Afrati and Ullman 2010; Beame,
Koutris and Suciu 2013). A row that binds some variables goes to the cells that agree with their hashes: to all along
the other dimensions. More cells make each of them smaller and send more in all. Shares are whole numbers whose product
is at most the cells that there may be, and are found by trying all of them (Chu, Balazinska and Suciu 2015). A heavy
key is known by how often it occurs in a sample: however many parts its variable has, one of them holds all its rows,
so that a larger share doesn't look cheaper than it is. Other common keys are dealt evenly (``hypercube.grid``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qengine._frozen import frozen

Floats = NDArray[np.float64]

_EXACTLY = 64
"""So many of the shares that look best are compared by all that they send."""
_GROUPED = 12
"""Variables with shares at the start of a table's ways, of which every subset is looked at."""


@frozen
class Way:
    """One way in which rows of a table bind variables of the pattern.

    Attributes
    ----------
    first, second
        The numbers of the variables that a row's first and second key bind; ``second`` is None for rows that bind one.
    fraction
        Which part of the rows passes the conditions on them, 0 to 1.
    """

    first: int
    second: int | None = None
    fraction: float = 1.0


@frozen
class Load:
    """What a table sends: how many rows of how many bytes each, and in which ways.

    ``heaviest``: the parts of the rows that the commonest first and the commonest second key have. ``hashed``: those of
    keys which aren't common.
    """

    rows: float
    bytes: float
    ways: tuple[Way, ...]
    heaviest: tuple[float, float] = (0.0, 0.0)
    hashed: tuple[float, float] = (1.0, 1.0)


Shares = tuple[int, ...]
"""For each variable into how many parts it is hashed."""


def choose(loads: Sequence[Load], variables: int, cells: int, gridded: int | None = None) -> Shares:
    """Return the shares of a pattern, with a product of at most ``cells``; those from ``gridded`` on are 1.

    They make the least of what the fullest cell is expected to get and to search, in bytes: the search of all cells
    together counts as much as all rows once. Of equal ones those are taken that send the least in all.
    """
    candidates = np.array(list(_products(_open_dimensions(loads, variables, gridded), cells)), dtype=np.float64)
    search = sum(load.rows * load.bytes for load in loads)
    rough = sum((_rough(load, candidates) for load in loads), search / candidates.prod(axis=1))
    best = np.argsort(rough, kind="stable")[:_EXACTLY]
    tried = [tuple(map(int, candidates[place])) for place in best]

    def cost(shares: Shares) -> float:
        return fullest(loads, shares) + search / prod(shares)

    return min(tried, key=lambda shares: (round(cost(shares), 6), sent(loads, shares), shares))


def sent(loads: Sequence[Load], shares: Shares) -> float:
    """Return the bytes that are expected to be sent to all cells together."""
    return prod(shares) * sum(load.rows * load.bytes * _reached(load, shares, even=True) for load in loads)


def fullest(loads: Sequence[Load], shares: Shares) -> float:
    """Return the bytes that the fullest cell is expected to get: that of the heaviest keys."""
    return sum(load.rows * load.bytes * _reached(load, shares, even=False) for load in loads)


def _reached(load: Load, shares: Shares, *, even: bool) -> float:
    """Return how likely a cell gets a row, which is sent once however many ways lead there; ``even``: by the mean.

    Whether the first key has the cell's hash as one variable is independent of whether it has as another, and of the
    second key's. So ways are gathered by what holds of the first key: a subset of the variables.
    """

    def part(end: int, variable: int | None) -> float:
        return 1.0 if variable is None else 1 / shares[variable] if even else _part(load, end, shares[variable])

    every = sorted({way.first for way in load.ways})
    firsts = [each for each in every if shares[each] > 1]
    if len(firsts) > _GROUPED:
        return min(1.0, sum(way.fraction * part(0, way.first) * part(1, way.second) for way in load.ways))
    always = {each for each in every if shares[each] == 1}
    first = {each: part(0, each) for each in firsts}
    found = 0.0
    for held in product((False, True), repeat=len(firsts)):
        some = {each for each, holds in zip(firsts, held, strict=True) if holds}
        chosen = some | always
        likely = prod(first[each] if each in some else 1 - first[each] for each in firsts)
        missed: dict[int | None, float] = {}
        for way in load.ways:
            if way.first in chosen:
                missed[way.second] = missed.get(way.second, 1.0) * (1 - way.fraction)
        none = prod(1 - (1 - each) * part(1, second) for second, each in missed.items())
        found += likely * (1 - none)
    return found


def _part(load: Load, end: int, share: Any) -> Any:
    """Return the part of the rows along a dimension that the fullest place gets: that with the heaviest key.

    ``share``: a number or an array of some.
    """
    heaviest = load.heaviest[end]
    return np.maximum(1 / share, heaviest + min(load.hashed[end], 1 - heaviest) / share)


def _rough(load: Load, candidates: Floats) -> Floats:
    """Return, for each row of shares, the bytes that the fullest cell gets if no two ways send a row to one cell."""
    found = np.zeros(len(candidates))
    for way in load.ways:
        part = _part(load, 0, candidates[:, way.first])
        if way.second is not None:
            part = part * _part(load, 1, candidates[:, way.second])
        found += way.fraction * part
    return load.rows * load.bytes * np.minimum(found, 1.0)


def _open_dimensions(loads: Sequence[Load], variables: int, gridded: int | None) -> list[bool]:
    """Tell which variables may have a share: not one that is only bound along with another.

    That other one's share divides all that its own would, and more (Afrati and Ullman 2010). Of two that are only
    bound together the first keeps its share, unless keys are heavy: then both do.
    """
    may = range(variables if gridded is None else gridded)
    beside: list[list[set[int]]] = [[] for _ in range(variables)]
    for load in loads:
        for way in load.ways:
            ends = {each for each in (way.first, way.second) if each is not None and each in may}
            for each in ends:
                beside[each].append(ends)
    if any(max(load.heaviest) > 0 for load in loads):
        return [bool(each) for each in beside]
    covers = [set.intersection(*each) - {place} if each else set() for place, each in enumerate(beside)]
    return [
        bool(beside[place]) and not any(other < place or place not in covers[other] for other in covered)
        for place, covered in enumerate(covers)
    ]


def _products(free: Sequence[bool], most: int) -> Iterator[tuple[int, ...]]:
    """Yield the tuples of whole numbers with a product of at most ``most``; 1 where a dimension isn't free."""
    if not free:
        yield ()
        return
    for share in range(1, most + 1 if free[0] else 2):
        for rest in _products(free[1:], most // share):
            yield (share, *rest)
