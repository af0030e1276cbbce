"""The matching order: which vertex is bound next.

Left-deep orders by dynamic programming over connected sub-patterns: the cheapest way to go on depends on the set of
bound vertices alone (and, for what is only counted, on which component of the rest is counted). Patterns of more than
ten vertices are ordered greedily with a look-ahead of one step, their small components exactly. (Selinger et al. 1979;
Moerkotte and Neumann 2006 for connected subsets; cost.py for what is minimised.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from qengine._frozen import frozen
from qengine.optimizer.cost import BIND, LOCATE, ROW, CostModel, Problem, members

EXACT = 10  # vertices to order up to which every connected order is considered
_SMALL = 5  # vertices of a component that a greedy order still orders exactly
_STARTS = 3  # first vertices that a greedy order tries
_SIMPLE_STARTS = 3  # first vertices from which simpler rules are followed
_PROMISING = 5  # vertices, those cheapest to bind next, whose successors a greedy order looks at
_CHEAP = 3e5  # nanoseconds: looking for a better order would take longer than this one
_INFINITE = float("inf")


@frozen
class Ordered:
    """Vertices in the order of binding, and the cost of it in nanoseconds."""

    vertices: tuple[int, ...]
    cost: float


def best_order(model: CostModel) -> Ordered:
    """Return the cheapest order of the vertices that aren't bound: exact up to ``EXACT`` of them."""
    problem = model.problem
    free = (model.all & ~problem.bound).bit_count()
    if free <= _SMALL:
        return _Orderer(model, EXACT).order()
    simple = []
    for order in _by_simple_rules(model) if free > EXACT else ():
        simple.append(_Orderer(model, 0, given=order).order())
        if simple[-1].cost <= _CHEAP:
            return simple[-1]
    found = min([_Orderer(model, _SMALL).order(), *simple], key=lambda each: each.cost)
    if free > EXACT:
        if problem.counted and problem.wanted:
            wanted_first = _Orderer(model, _SMALL, wanted_first=True).order()
            return min(found, wanted_first, key=lambda each: each.cost)
        return found
    exact = _Orderer(model, EXACT, found.cost).order()
    return exact if exact.cost < found.cost else found


def _by_simple_rules(model: CostModel) -> Iterator[list[int]]:
    """Yield orders that bind next the vertex with most edges to bound ones, or that which leaves fewest rows.

    The first closes circles before it leaves a dense part (RI, Bonnici et al. 2013), where looking one step ahead sees
    only that a path is cheaper to follow; it doesn't depend on estimates.
    """
    problem = model.problem
    edges = [near.bit_count() for near in model.adjacent]
    rarest = sorted(members(model.all & ~problem.bound), key=lambda each: problem.candidates[each] / (1 + edges[each]))
    for start in rarest[:_SIMPLE_STARTS]:
        yield list(
            _following(
                model,
                start,
                lambda bound, each: (-(model.adjacent[each] & bound).bit_count(), -edges[each]),
            )
        )
        yield list(_following(model, start, model.step))


def _following(model: CostModel, start: int, rank: Callable[[int, int], tuple[float, float]]) -> Iterator[int]:
    """Yield the free vertices, linked ones first, by the least rank given what is bound by then."""
    bound = model.problem.bound
    vertex = start
    while True:
        yield vertex
        bound |= 1 << vertex
        rest = model.all & ~bound
        if not rest:
            return
        vertex = min((*rank(bound, each), each) for each in members(model.near(bound) & rest or rest))[-1]


def order_cost(problem: Problem, order: Sequence[int]) -> float:
    """Return the cost of a given order."""
    return _Orderer(CostModel(problem), 0, given=order).order().cost


class _Orderer:
    """Finds an order: of sets up to ``exact`` vertices the best, of larger ones greedily; or follows one given.

    Sub-patterns that alone cost as much as ``limit`` are not looked into.
    """

    def __init__(
        self,
        model: CostModel,
        exact: int,
        limit: float = _INFINITE,
        given: Sequence[int] | None = None,
        wanted_first: bool = False,
    ) -> None:
        self._model = model
        self._exact = exact
        self._limit = limit
        self._wanted_first = wanted_first
        self._place = None if given is None else {vertex: place for place, vertex in enumerate(given)}
        self._counted: dict[tuple[int, int], tuple[float, tuple[int, ...]]] = {}
        self._walked: dict[int, tuple[float, tuple[int, ...]]] = {}

    def order(self) -> Ordered:
        cost, vertices = self._walk(self._model.problem.bound)
        return Ordered(vertices, cost)

    # ------------------------------------------------------------ what makes rows

    def _walk(self, bound: int) -> tuple[float, tuple[int, ...]]:
        """Return the cost of going on from a set of bound vertices, and the vertices in order."""
        problem = self._model.problem
        rest = self._model.all & ~bound
        if not rest or (problem.counted and problem.wanted & ~bound == 0):
            cost, order = self._count_all(bound, rest)
            if problem.wanted or not problem.counted:
                cost += ROW * self._model.rows(bound)
            return cost, order
        found = self._walked.get(bound)
        if found is None:
            found = self._walked[bound] = self._walk_on(bound, rest)
        return found

    def _walk_on(self, bound: int, rest: int) -> tuple[float, tuple[int, ...]]:
        model = self._model
        rows = model.rows(bound)
        best: tuple[float, tuple[int, ...]] = _INFINITE, members(rest)
        if rows * LOCATE >= self._limit:
            return best
        wanted = model.problem.wanted & rest if self._wanted_first else 0
        for vertex in self._choices(bound, wanted or rest, rows):
            size, cost = model.step(bound, vertex)
            own = rows * (cost + size * BIND)
            if own >= best[0]:
                continue
            more, order = self._walk(bound | 1 << vertex)
            if own + more < best[0]:
                best = own + more, (vertex, *order)
        return best

    # ------------------------------------------------------------ what is only counted

    def _count_all(self, bound: int, rest: int) -> tuple[float, tuple[int, ...]]:
        cost = 0.0
        order: tuple[int, ...] = ()
        calls = self._model.rows(bound)
        for part in self._model.components(rest):
            cost += calls * self._model.entry(bound, part)
            if not self._model.is_plain(bound, part):
                more, inner = self._count(bound, part)
                cost += more
                order += inner
            else:
                order += members(part)
        return cost, order

    def _count(self, bound: int, part: int) -> tuple[float, tuple[int, ...]]:
        """Return the cost of counting a component below some bound vertices, over the whole search."""
        key = bound, part
        found = self._counted.get(key)
        if found is None:
            found = self._counted[key] = self._count_on(bound, part)
        return found

    def _count_on(self, bound: int, part: int) -> tuple[float, tuple[int, ...]]:
        model = self._model
        times = model.times(bound, part)
        formula = model.formula(bound, part)
        if formula is not None:
            return times * formula, members(part)
        best: tuple[float, tuple[int, ...]] = _INFINITE, members(part)
        if times * LOCATE >= self._limit:
            return best
        for vertex in self._choices(bound, part, times):
            found = self._branch(bound, part, vertex, best[0])
            if found[0] < best[0]:
                best = found
        return best

    def _branch(self, bound: int, part: int, vertex: int, limit: float) -> tuple[float, tuple[int, ...]]:
        """Return the cost of counting a component vertex by vertex of its first one; infinite from ``limit`` on."""
        model = self._model
        times = model.times(bound, part)
        size, cost = model.step(bound, vertex)
        own = times * (cost + size * BIND)
        inner, rest = bound | 1 << vertex, part & ~(1 << vertex)
        wedge = model.wedge(bound, part, vertex)
        if wedge is not None:
            return self._branch_or_wedge(
                bound, part, vertex, times * wedge, own + times * size * model.entry(inner, rest)
            )
        order: tuple[int, ...] = (vertex,)
        for child in model.components(rest):
            if own >= limit:
                return _INFINITE, order
            own += times * size * model.entry(inner, child, 1 << vertex)
            formula = None if model.is_plain(inner, child) else model.formula(inner, child, 1 << vertex)
            if model.is_plain(inner, child):
                order += members(child)
            elif formula is not None:
                own += model.times(inner, child) * formula
                order += members(child)
            else:
                more, below = self._count(inner, child)
                own += more
                order += below
        return own, order

    def _branch_or_wedge(
        self, bound: int, part: int, first: int, wedge: float, branch: float
    ) -> tuple[float, tuple[int, ...]]:
        """Choose between the two orders below ``first``: the wedge binds the vertex that closes the square last."""
        last = (self._model.adjacent[first] & part).bit_length() - 1
        second = (part & ~(1 << first | 1 << last)).bit_length() - 1
        by_wedge = wedge, (first, second, last)
        if self._place is not None and self._place[second] < self._place[last]:
            return by_wedge
        more, below = self._branch(bound | 1 << first, part & ~(1 << first), last, _INFINITE)
        other = branch + more, (first, *below)
        return other if self._place is not None or other[0] < wedge else by_wedge

    # ------------------------------------------------------------ choices

    def _choices(self, bound: int, part: int, times: float) -> list[int]:
        """Return the vertices of ``part`` to try next: linked ones where there are any."""
        if self._place is not None:
            return [min(members(part), key=self._place.__getitem__)]
        choices = list(members(part & self._model.near(bound) or part))
        if part.bit_count() <= self._exact or len(choices) == 1:
            return choices
        choices.sort(key=lambda vertex: self._own(bound, vertex, times))
        promises = sorted((self._promise(bound, part, vertex, times), vertex) for vertex in choices[:_PROMISING])
        return [vertex for _, vertex in promises[: _STARTS if bound == self._model.problem.bound else 1]]

    def _own(self, bound: int, vertex: int, times: float) -> float:
        size, cost = self._model.step(bound, vertex)
        return times * (cost + size * BIND)

    def _promise(self, bound: int, part: int, vertex: int, times: float) -> float:
        """Return the cost of binding a vertex and then the best next one of each component that this leaves."""
        model = self._model
        after = bound | 1 << vertex
        promised = self._own(bound, vertex, times)
        for child in model.components(part & ~(1 << vertex)):
            linked = child & model.adjacent[vertex] or child
            steps = (model.step(after, other) for other in members(linked))
            promised += model.times(after, child) * min(read + found * BIND for found, read in steps)
        return promised
