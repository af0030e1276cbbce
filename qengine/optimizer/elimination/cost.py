"""What the steps of an elimination cost while it grows: each by the cheapest kernel that takes it, on one device."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from math import inf
from typing import cast

from qengine.optimizer.elimination.facts import ProgramFacts
from qengine.plan.elimination import Clique
from qengine.plan.kernels import KERNELS, Kernel
from qengine.plan.kernels.cliques import clique_group
from qengine.plan.kernels.shapes import one


@cache
def rows_of(device: str, form: Hashable) -> tuple[Kernel, ...]:
    """Return the rows of a device that give the numbers of steps of a form, one by one."""
    return tuple(row for row in KERNELS[device] if row.step is form and row.groups is None and not row.total)


@cache
def groups_of(device: str, total: bool) -> tuple[Kernel, ...]:
    """Return the rows of a device that cover groups: their totals and what cliques give, or the numbers of steps."""
    return tuple(
        row for row in KERNELS[device] if row.groups is not None and (row.total or row.step is Clique) is total
    )


class StepCosts:
    """Costs of the steps of a program that grows, by their places, on the device of its facts."""

    def __init__(self, facts: ProgramFacts) -> None:
        self._facts = facts
        self._steps = facts.steps
        self._known: dict[int, float] = {}

    def of(self, place: int) -> float:
        """Return the cost of a step, its operands aside; of several that are computed together the first has it all."""
        if place not in self._known:
            self._known[place] = self._facts.take["step"] + self._cost(place)
        return self._known[place]

    def of_clique(self, place: int) -> float:
        """Return the cost of the sum that a ``Clique`` says something of, found by that; infinity where it can't be."""
        facts = self._facts
        rows = [row for row in groups_of(facts.device, True) if row.step is Clique and row.matches(facts, place)]
        return min((row.cost(facts, clique_group(facts, place)) for row in rows), default=inf)

    def _cost(self, place: int) -> float:
        facts, form = self._facts, cast("Hashable", type(self._steps[place]))
        ways = [row.cost(facts, one(facts, place)) for row in rows_of(facts.device, form) if row.matches(facts, place)]
        if facts.only_summed(place):
            for row in groups_of(facts.device, True):
                assert row.groups is not None
                if row.step is not form or not row.matches(facts, place):
                    continue
                groups = row.groups(facts, range(place + 1))
                ways += [
                    row.cost(facts, group) if place == min(group.places) else 0.0
                    for group in groups
                    if place in group.places
                ]
        return min(ways, default=0.0)
