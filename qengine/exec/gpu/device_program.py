"""Which steps of an ``Eliminate`` the device runs, and how: decided once, and remembered with what runs have shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from qengine.exec.elimination_schedule import Among, schedule
from qengine.exec.gpu.closed_walk_counts import WalkSums, walk_sums
from qengine.exec.gpu.eliminate_sums import vector_sums
from qengine.exec.gpu.triangle_counts import counted_by_pair
from qengine.exec.gpu.triangle_totals import WeightedTriangleTotals, weighted_triangle_totals
from qengine.plan.elimination import Step, Term, among_pairs, operands
from qengine.plan.physical import Eliminate

__all__ = ["DeviceProgram", "OperatorFacts"]


@dataclass(frozen=True, slots=True)
class DeviceProgram:
    """What of an elimination's program the device runs, and how.

    ``corners``: totals over triangles that are found by their corners' weights. ``steps``: in order. ``by_pair``: those
    whose triangles are counted by pair. ``summed``: those whose sums terms have, and the vectors whose product each is.
    ``read``: those that others read. ``walks``: closed walks whose sums are found together. ``order``: the same steps,
    those over pairs together.
    """

    corners: tuple[WeightedTriangleTotals, ...]
    steps: tuple[int, ...]
    by_pair: frozenset[int]
    summed: Mapping[int, tuple[int, ...]]
    read: frozenset[int]
    walks: tuple[WalkSums, ...]
    order: tuple[int | Among, ...]


@dataclass
class OperatorFacts:
    """What is known of an operator on one graph. ``wide``: a number of it has been too large for 64 bits."""

    operator: Eliminate
    eliminates: bool
    wide: bool = False
    program: DeviceProgram = field(init=False)

    def __post_init__(self) -> None:
        self.program = _program(self.operator, weigh=True)

    def leave_weights(self) -> None:
        """Find no totals by weights of 32 bits from now on."""
        self.program = _program(self.operator, weigh=False)


def _program(operator: Eliminate, *, weigh: bool) -> DeviceProgram:
    steps, terms = operator.steps, operator.terms
    corners: tuple[WeightedTriangleTotals, ...] = weighted_triangle_totals(steps, terms) if weigh else ()
    corners = tuple(each for each in corners if not among_pairs(steps, each.across))
    given: dict[int, tuple[int, ...]] = {
        place: (each.across, *each.weights) for each in corners for place in each.totals
    }
    totals = {place for term in terms for place in term.totals} - given.keys()
    totals = {place for place in totals if not among_pairs(steps, place)}
    summed = vector_sums(steps, totals, lambda factors: _needed(steps, terms, {**given, **factors}))
    needed = _needed(steps, terms, given | summed)
    read = {one for place in needed for one in operands(steps[place])}
    read |= {one for place, factors in summed.items() for one in factors if one != place}
    walks = () if operator.emit else walk_sums(steps, totals, read, weigh=weigh)
    order = tuple(each for each in schedule(steps, terms) if isinstance(each, Among) or each in needed)
    return DeviceProgram(
        corners, tuple(sorted(needed)), counted_by_pair(steps, needed), summed, frozenset(read), walks, order
    )


def _needed(steps: Sequence[Step], terms: Sequence[Term], given: Mapping[int, Sequence[int]]) -> frozenset[int]:
    """Return the places of the steps that are run where some totals are found otherwise.

    ``given``: the places of those totals, and for each the steps that finding it takes.
    """
    ends = {place for term in terms for place in (*term.totals, term.output) if place is not None}
    left = [*(ends - given.keys()), *(place for places in given.values() for place in places)]
    needed = set()
    while left:
        place = left.pop()
        if place not in needed:
            needed.add(place)
            left += operands(steps[place])
    return frozenset(needed)
