"""How often paths of two steps are closed by a third: wedge sampling (Seshadhri, Pinar and Kolda 2013)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

import numpy as np

from qengine._frozen import frozen
from qengine.storage.adjacency import Adjacency
from qengine.storage.arrays import Array
from qengine.storage.kernels import wedge_sample

_SAMPLES = 1 << 13
_SEED = 20
_DOUBT = 8  # wedges' worth: so much is taken to be as everywhere before any of a kind is seen
_ENOUGH = 16  # wedges of a kind to tell of it apart
_MOST = 64.0  # times the odds, either way
_HALVINGS = 7  # of the odds' range, before the last step
_LEAST = 1e-12  # chance

Kind = tuple[int, int, int]
"""Groups of labels (indices, ascending) that the three vertices of a wedge have."""


@frozen
class WedgeSummary:
    """Paths ``(a)-[:T]->(b)-[:T]->(c)`` of one relationship type; of an undirected one, two different relationships.

    ``wedges``: how many there are, with those for which ``a = c``. ``closed``: the share that has ``(a)-[:T]->(c)`` as
    well, with ``a`` and ``c`` different, in a sample of at most 8,192, always the same. ``error``: its standard error.
    ``odds``: how many times greater the odds of that are than those of a relationship between vertices of such degrees
    that have nothing else in common, from 1/64 to 64; ``labelled_odds``: the same where the chances by labels are
    known. ``kinds``: these of the kinds of vertices that are often enough in the sample.
    """

    wedges: int
    closed: float
    error: float
    odds: float = 1.0
    labelled_odds: float = 1.0
    kinds: Mapping[Kind, float] = field(default_factory=dict)


def sample_wedges(
    into: Adjacency,
    out: Adjacency,
    undirected: bool,
    group_ends: Array,
    chance: Callable[[], float],
    chances: Callable[[Array, Array, Array], Array],
) -> WedgeSummary:
    """Sample the wedges of a type.

    Parameters
    ----------
    into, out
        The lists of what comes to a vertex, and of what it goes to; the same ones of an undirected type.
    group_ends
        int64[groups]: where the ids of each group of labels end.
    chance
        Tells how likely ``(a)-[:T]->(c)`` is by degrees alone, whatever the labels.
    chances
        Tells of arrays of the groups of ``a``, ``b`` and ``c`` how likely each ``(a)-[:T]->(c)`` is by labels and
        degrees.
    """
    ends, triangle, wedges = wedge_sample(into.row_index(), into.neighbours, out.struct, undirected, _SEED, _SAMPLES)
    if wedges == 0:
        return WedgeSummary(0, 0.0, 0.0)
    closed = np.count_nonzero(triangle) / len(ends)
    error = float(np.sqrt(closed * (1 - closed) / len(ends)))
    first, middle, last = ends.T
    kept = (first != last) & (first != middle) & (last != middle)  # a loop closes with what it is at
    if not kept.any():
        return WedgeSummary(wedges, closed, error)
    columns = np.searchsorted(group_ends.astype(np.uint32), ends[kept].T, side="right")
    seen, seen_times = np.unique(2 * _as_one(columns, len(group_ends)) + triangle[kept], return_counts=True)
    begins = np.flatnonzero(np.diff(seen // 2, prepend=-1))
    sorts, times = seen[begins] // 2, np.add.reduceat(seen_times, begins)
    triangles = np.add.reduceat(seen_times * (seen % 2), begins).astype(np.float64)
    groups = np.stack(_apart(sorts, len(group_ends)))
    likely = chances(*groups)
    odds, labelled = _odds(
        np.append(times, times.sum()),
        np.append(triangles, triangles.sum()),
        np.append(likely, chance()),
        np.append(np.ones(len(sorts), np.int64), 0),
    ).tolist()
    kinds, kind = np.unique(_as_one(np.sort(groups, axis=0), len(group_ends)), return_inverse=True)
    often = np.bincount(kind, times) >= _ENOUGH
    chosen = often[kind]
    number = np.cumsum(often) - 1
    own = _odds(times[chosen], triangles[chosen], likely[chosen], number[kind[chosen]], labelled)
    names = zip(*(part.tolist() for part in _apart(kinds[often], len(group_ends))), strict=True)
    return WedgeSummary(wedges, closed, error, odds, labelled, dict(zip(names, own.tolist(), strict=True)))


def _as_one(groups: Iterable[Array], count: int) -> Array:
    """Return numbers that stand for three groups each, of ``count``."""
    one, other, third = groups
    number: Array = (one * count + other) * count + third
    return number


def _apart(numbers: Array, count: int) -> tuple[Array, Array, Array]:
    """Return the three groups that each number stands for."""
    return numbers // count // count, numbers // count % count, numbers % count


def _odds(times: Array, closed: Array, chances: Array, kind: Array, prior: float = 1.0) -> Array:
    """Return for each kind by how much its odds must be multiplied to expect as many wedges closed as are.

    Parameters
    ----------
    times, closed, chances, kind
        Of each sort of wedges: how many there are, how many of them are closed, how likely each is, and its kind;
        kinds are numbers without a gap. What is expected grows with the odds: they are found by halving, and a step of
        Newton's at the end.
    prior
        The odds that are believed before any wedge is seen.
    """
    kinds = int(kind.max(initial=-1)) + 1
    chances = np.clip(chances, _LEAST, 1 - _LEAST)
    weight = times * (1 + _DOUBT / np.bincount(kind, times)[kind])
    believed = chances * prior / (1 - chances + chances * prior)
    wanted = np.bincount(kind, closed + (weight - times) * believed, kinds)
    against = 1 / chances - 1
    low, high = np.full(kinds, -np.log(_MOST)), np.full(kinds, np.log(_MOST))

    def likely(middle: Array) -> tuple[Array, Array]:
        grown = np.exp(middle)[kind]
        share = grown / (against + grown)
        return share, np.bincount(kind, weight * share, kinds)

    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        _, expected = likely(middle)
        low, high = np.where(expected < wanted, middle, low), np.where(expected < wanted, high, middle)
    middle = (low + high) / 2
    share, expected = likely(middle)
    slope = np.maximum(np.bincount(kind, weight * share * (1 - share), kinds), _LEAST)
    odds: Array = np.exp(np.clip(middle + (wanted - expected) / slope, low, high))
    return odds
