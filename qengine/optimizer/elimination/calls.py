"""Chooses the kernels of an elimination: for each step, or group of steps, the cheapest row that takes it."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from typing import cast

from qengine.catalog.view import CatalogView
from qengine.optimizer.elimination.cost import groups_of, rows_of
from qengine.optimizer.elimination.facts import ProgramFacts
from qengine.optimizer.elimination.order import PlacesAmong, in_order
from qengine.optimizer.elimination.searched import search_cost
from qengine.plan.elimination import Clique, Matrix, Step, Term, among_pairs
from qengine.plan.kernels import KERNELS, Group, Kernel, kernel
from qengine.plan.kernels.shapes import one
from qengine.plan.physical import Eliminate
from qengine.plan.schedule import Among, Call, KernelCall, Schedule

Order = Sequence[int | PlacesAmong]


def scheduled(
    catalog: CatalogView,
    steps: Sequence[Step],
    terms: Sequence[Term],
    devices: Collection[str],
    forced: Collection[str] = (),
) -> Iterator[Schedule]:
    """Yield how each device computes a program at the least cost, but for those without a kernel for one of the steps.

    Parameters
    ----------
    forced
        Names of rows that are taken where they match, whatever they cost.
    """
    facts = ProgramFacts(catalog, steps, "cpu", terms)
    order = in_order(steps, terms)
    for device in devices:
        if (found := _scheduled(facts.on(device), terms, order, forced)) is not None:
            yield found


def _scheduled(facts: ProgramFacts, terms: Sequence[Term], order: Order, forced: Collection[str]) -> Schedule | None:
    choice = _Choice(facts, terms, order, forced)
    calls = choice.calls()
    if calls is None:
        return None
    otherwise = _Choice(facts, terms, order, forced, choice).calls() if choice.doubtful else ()
    if otherwise is None:
        return None
    return Schedule(facts.device, calls, facts.take["start"] + sum(map(_cost, calls)), otherwise)


def schedule_cost(catalog: CatalogView, operator: Eliminate, schedule: Schedule) -> float:
    """Return what a schedule costs by the constants that hold now, whichever it was chosen by."""
    facts = ProgramFacts(catalog, operator.steps, schedule.device, operator.terms)
    cost = facts.take["start"] + facts.take["step"] * len(schedule.every)
    for call in schedule.every:
        cost += kernel(schedule.device, call.kernel).cost(facts, _group(call))
    return cost + sum(search_cost(schedule.device, search) for search in operator.searches)


def _group(call: KernelCall) -> Group:
    return Group(call.places, call.reads, call.results)


def _cost(call: Call) -> float:
    return sum(each.cost for each in call.all) if isinstance(call, Among) else call.cost


class _Choice:
    """Chooses the rows of one device. ``doubtful``: one of those that were chosen may not take what comes.

    Parameters
    ----------
    before
        What was chosen at first, where now only rows are that take whatever comes, numbers of 128 bits among it.
    """

    def __init__(
        self,
        facts: ProgramFacts,
        terms: Sequence[Term],
        order: Order,
        forced: Collection[str],
        before: _Choice | None = None,
    ) -> None:
        self.facts = facts
        self.steps = facts.steps
        self.terms = terms
        self.order = order
        self.forced = forced
        self.device = facts.device
        self._forms = {type(step) for step in facts.steps}
        self.doubtful = False
        self._certain = before is not None
        self._single: dict[int, tuple[Kernel, KernelCall] | None] = {}
        if before is not None:  # the cheapest of all that is certain is the cheapest of what is certain
            known = before._single.items()
            self._single |= {k: v for k, v in known if v is not None and not self._is_doubtful(v[0], _group(v[1]))}

    def calls(self) -> tuple[Call, ...] | None:
        """Return the calls; None where a step has no kernel."""
        every = {place for term in self.terms for place in term.totals}
        totals = {place for place in every if not among_pairs(self.steps, place)}
        last: list[KernelCall] = []
        given: dict[int, Sequence[int]] = {}
        supplied: dict[int, Sequence[int]] = {}
        begun: dict[int, KernelCall] = {}
        facts = self.facts
        facts.given = given
        needed = facts.needed({})
        for row in self._grouping(total=True):
            if not row.total:
                needed = self._supplied(row, needed, supplied, begun)
                continue
            groups = list(self._groups(row, (every if row.step is Clique else totals) - given.keys()))
            for some in (*([each] for each in groups), groups):  # those that don't pay alone may do so together
                left = [group for group in some if not given.keys() & set(group.places)]
                found_so = {place: group.reads for group in left for place in group.places}
                less = facts.needed(found_so, supplied)
                if left and self._pays(row, left, needed - less):
                    given |= found_so
                    needed = less
                    last += [self._made(row, group) for group in left]
        covered: set[int] = set()
        for row in self._grouping(total=False):
            for group in self._groups(row, needed - covered):
                if self._pays(row, [group], group.places):
                    covered.update(group.places)
                    begun[min(group.places)] = self._made(row, group)
        found: list[Call] = []
        for each in self.order:
            if isinstance(each, PlacesAmong):
                among = self._among(each, needed, given)
                if among is None:
                    return None
                if among.all:
                    found.append(among)
                found += [begun[place] for place in each.by_root if place in begun]
            elif each in begun:
                found.append(begun[each])
            elif each in needed and each not in covered:
                single = self.single(each)
                if single is None:
                    return None
                found.append(self._noted(*single))
        return (*found, *last)

    def _supplied(
        self,
        row: Kernel,
        needed: frozenset[int],
        supplied: dict[int, Sequence[int]],
        begun: dict[int, KernelCall],
    ) -> frozenset[int]:
        """Note the vectors whose numbers a row finds by less than their own steps; return which steps are needed."""
        groups = list(self._groups(row, needed))
        for some in (*([each] for each in groups), groups):  # those that don't pay alone may do so together
            left = [group for group in some if group.places[0] in needed]
            found_so = supplied | {group.places[0]: group.reads for group in left}
            less = self.facts.needed({}, found_so)
            if left and self._pays(row, left, needed - less):
                needed = less
                supplied |= found_so
                begun |= {group.places[0]: self._made(row, group) for group in left}
        return needed

    def single(self, place: int) -> tuple[Kernel, KernelCall] | None:
        """Return the cheapest row that gives a step's numbers, and its call."""
        if place not in self._single:
            best = None
            for row in rows_of(self.device, cast("Hashable", type(self.steps[place]))):
                if not row.matches(self.facts, place) or not self._takes(row, group := one(self.facts, place)):
                    continue
                call = self._made(row, group, note=False)
                key = row.name not in self.forced, call.cost
                if best is None or key < best[0]:
                    best = key, row, call
            self._single[place] = None if best is None else best[1:]
        return self._single[place]

    def _among(self, places: PlacesAmong, needed: Collection[int], given: Collection[int]) -> Among | None:
        calls: list[list[KernelCall]] = []
        for part in (places.steps, places.by_root):
            found = [self.single(place) for place in part if place in needed]
            if None in found:
                return None
            calls.append([self._noted(*each) for each in found if each is not None])
        (dot,) = (row for row in KERNELS[self.device] if row.name == "dot")
        totals = tuple(
            self._made(dot, Group((place,), (place,), (1,))) for place in places.totals if place not in given
        )
        return Among(tuple(calls[0]), tuple(calls[1]), totals)

    # ------------------------------------------------------------ rows

    def _grouping(self, *, total: bool) -> Iterator[Kernel]:
        """Yield the rows that cover groups; those that are forced come first, ``dot`` takes what is left."""
        rows = [row for row in groups_of(self.device, total) if row.step in self._forms or row.name == "dot"]
        yield from sorted(rows, key=lambda row: (row.name == "dot", row.name not in self.forced))

    def _groups(self, row: Kernel, places: Collection[int]) -> Iterator[Group]:
        assert row.groups is not None
        for group in list(row.groups(self.facts, places)):
            if self._takes(row, group):
                yield group

    def _takes(self, row: Kernel, group: Group) -> bool:
        """Tell whether a row may be chosen for what it matches."""
        if self._certain and self._is_doubtful(row, group):
            return False
        lists = (place for place in group.places if isinstance(self.steps[place], Matrix))
        return all(self.facts.form(place) in row.forms for place in lists)

    def _pays(self, row: Kernel, groups: Sequence[Group], spared: Collection[int]) -> bool:
        """Tell whether groups are each computed together, which spares some steps their own kernels."""
        if row.name == "dot" or row.name in self.forced:
            return True
        apart = [self.single(place) for place in spared]
        if any(each is not None and each[0].name in self.forced for each in apart):
            return False
        if None in apart:
            return True
        cost = sum(self._made(row, group, note=False).cost for group in groups)
        return cost <= sum(each[1].cost for each in apart if each is not None)

    def _made(self, row: Kernel, group: Group, *, note: bool = True) -> KernelCall:
        cost = self.facts.take["step"] + row.cost(self.facts, group)
        call = KernelCall(row.name, group.places, group.reads, group.results, cost)
        return self._noted(row, call) if note else call

    def _noted(self, row: Kernel, call: KernelCall) -> KernelCall:
        self.doubtful |= self._is_doubtful(row, _group(call))
        return call

    def _is_doubtful(self, row: Kernel, group: Group) -> bool:
        return 128 not in row.bits or bool(row.unless(self.facts, group))
