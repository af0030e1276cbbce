"""Which roots an elimination runs its steps over pairs for at a time: so many that what they link has room."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from qengine.plan.elimination import Step, domain_of
from qengine.plan.schedule import Among

_DEEPER = 16
"""So many times fewer links for each root in whose neighbourhood others are roots."""


def root_matrices(steps: Sequence[Step], among: Among) -> tuple[int, ...]:
    """Return the matrices over vertices whose pairs steps are over."""
    domains = {domain_of(steps, place) for place in among.steps}
    return tuple(sorted(place for place in domains if place is not None and domain_of(steps, place) is None))


def most_links(n: int, rows: Iterable[tuple[int, npt.NDArray[np.uint64]]]) -> npt.NDArray[np.float64]:
    """Return how many links there can be among the neighbours of each of n roots, at the most.

    ``rows``: of each of the ``root_matrices`` the first row, and where its rows begin and end.
    """
    links = np.zeros(n, np.float64)
    for lo, offsets in rows:
        degrees = np.diff(offsets).astype(np.float64)
        links[lo : lo + len(degrees)] += degrees * degrees
    return links


def root_ranges(
    steps: Sequence[Step], among: Among, links: npt.NDArray[np.float64], most: int
) -> Iterator[tuple[int, int]]:
    """Yield ranges of roots whose neighbours have no more links than ``most``, one root at the least.

    Parameters
    ----------
    links
        How many there are for each root, or as many as can be.
    most
        Links among the neighbours of one root alone; where there are roots among these, fewer are allowed.
    """
    most = max(1, most // _DEEPER ** (max(_depth(steps, place) for place in among.steps) - 1))
    n = len(links)
    before = np.concatenate(([0.0], np.cumsum(links)))
    first = 0
    while first < n:
        last = max(first + 1, int(np.searchsorted(before, before[first] + most, side="right")) - 1)
        if before[last] > before[first]:
            yield first, last
        first = last


def _depth(steps: Sequence[Step], place: int) -> int:
    """Return in how many roots' neighbourhoods a step is."""
    domain = domain_of(steps, place)
    return 0 if domain is None else 1 + _depth(steps, domain)
