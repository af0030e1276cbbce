"""The order in which the steps of an elimination are run.

Steps over the pairs of roots and their neighbours have many numbers: one for each relationship, or triangle. They are
run together, for some roots after the other; what leaves them, sums by root and sums of all, is added up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from qengine._frozen import frozen
from qengine.plan.elimination import ByRoot, Step, Term, among_pairs, domain_of, operands

__all__ = ["Among", "root_matrices", "root_ranges", "schedule"]

_DEEPER = 16
"""So many times fewer links for each root in whose neighbourhood others are roots."""


@frozen
class Among:
    """Steps over pairs that are run together, for some roots after the other; places ascend.

    ``by_root``: the steps that sum them by the graph's vertices. ``totals``: those of which all numbers are added up.
    """

    steps: tuple[int, ...]
    by_root: tuple[int, ...]
    totals: tuple[int, ...]


def schedule(steps: Sequence[Step], terms: Sequence[Term]) -> tuple[int | Among, ...]:
    """Return the places of the steps over vertices in the order in which they are run, and the others as ``Among``."""
    inner = [among_pairs(steps, place) for place in range(len(steps))]
    level: list[int] = []
    for place, step in enumerate(steps):
        below = (level[each] + (inner[each] and not inner[place]) for each in operands(step))
        level.append(max(below, default=0))
    totals = {place for term in terms for place in term.totals if inner[place]}
    found: list[int | Among] = []
    for k in range(max(level, default=0) + 1):
        found += [
            place for place, step in enumerate(steps) if level[place] == k and not inner[place] and not _leaves(step)
        ]
        by_root = [
            place for place, step in enumerate(steps) if level[place] == k + 1 and not inner[place] and _leaves(step)
        ]
        added = sorted(place for place in totals if level[place] == k)
        if by_root or added:
            needed = _needed(steps, inner, (*by_root, *added))
            found.append(Among(tuple(sorted(needed)), tuple(by_root), tuple(added)))
    return tuple(found)


def root_matrices(steps: Sequence[Step], among: Among) -> tuple[int, ...]:
    """Return the matrices over vertices whose pairs steps are over."""
    domains = {domain_of(steps, place) for place in among.steps}
    return tuple(sorted(place for place in domains if place is not None and domain_of(steps, place) is None))


def root_ranges(
    steps: Sequence[Step], among: Among, n: int, rows: Iterable[tuple[int, npt.NDArray[np.uint64]]], most: int
) -> Iterator[tuple[int, int]]:
    """Yield ranges of the n roots whose neighbours have no more links than ``most``, one root at the least.

    Parameters
    ----------
    rows
        Of each of the ``root_matrices`` the first row, and where its rows begin and end.
    most
        Links among the neighbours of one root alone; where there are roots among these, fewer are allowed.
    """
    most = max(1, most // _DEEPER ** (max(_depth(steps, place) for place in among.steps) - 1))
    work = np.zeros(n, np.float64)
    for lo, offsets in rows:
        degrees = np.diff(offsets).astype(np.float64)
        work[lo : lo + len(degrees)] += degrees * degrees
    before = np.concatenate(([0.0], np.cumsum(work)))
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


def _leaves(step: Step) -> bool:
    return isinstance(step, ByRoot)


def _needed(steps: Sequence[Step], inner: Sequence[bool], places: Iterable[int]) -> set[int]:
    """Return the steps over pairs that some need, those among them included."""
    found: set[int] = set()
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        if inner[place] and place not in found:
            found.add(place)
        elif inner[place]:
            continue
        if inner[place] or _leaves(steps[place]):
            waiting += [each for each in operands(steps[place]) if inner[each]]
    return found
