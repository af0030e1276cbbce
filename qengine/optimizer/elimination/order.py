"""The order in which the steps of an elimination are run.

Steps over the pairs of roots and their neighbours have many numbers: one for each relationship, or triangle. They are
run together, for some roots after the other; what leaves them are sums by root, numbers at pairs, and sums of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qengine._frozen import frozen
from qengine.plan.elimination import AtPairs, ByRoot, Step, Term, among_pairs, operands


@frozen
class PlacesAmong:
    """Steps over pairs that are run together.

    ``by_root``: those that leave them, by root or by pair. ``totals``: those that are added up.
    """

    steps: tuple[int, ...]
    by_root: tuple[int, ...]
    totals: tuple[int, ...]


def in_order(steps: Sequence[Step], terms: Sequence[Term]) -> tuple[int | PlacesAmong, ...]:
    """Return the places of the steps over vertices in the order in which they are run; of others ``PlacesAmong``."""
    inner = [among_pairs(steps, place) for place in range(len(steps))]
    level: list[int] = []
    for place, step in enumerate(steps):
        below = (level[each] + (inner[each] and not inner[place]) for each in operands(step))
        level.append(max(below, default=0))
    totals = {place for term in terms for place in term.totals if inner[place]}
    found: list[int | PlacesAmong] = []
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
            found.append(PlacesAmong(tuple(sorted(needed)), tuple(by_root), tuple(added)))
    return tuple(found)


def _leaves(step: Step) -> bool:
    return isinstance(step, ByRoot | AtPairs)


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
