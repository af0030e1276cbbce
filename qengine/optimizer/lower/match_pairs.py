"""Two parts of a match that meet in nodes, and are compared: how many rows of one go with each row of the other.

Around a hub there are as many pairs as the square of its neighbours. Where they are only counted, or asked for one,
none is made: the rows of one part are ordered by the nodes that both have and by the value that is compared
(``ThetaJoin``). Pairs of which elements are the same that must differ are few, found apart and taken off. Rows that are
given, as EXISTS and COUNT have them, are such a part, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from qengine._frozen import frozen, record, replace
from qengine.optimizer.cardinality import Cardinality
from qengine.optimizer.intervals import expected_rows
from qengine.optimizer.joins import Join, beside_rows, cut_in_two
from qengine.optimizer.lower.conditions import PostFilters
from qengine.optimizer.lower.demand import Duplicates
from qengine.optimizer.lower.equations import is_simple
from qengine.optimizer.lower.match_by_value import MatchByValue
from qengine.optimizer.lower.match_strategy import MatchRequest, MatchStrategy
from qengine.optimizer.lower.partners import EVERY_PAIR, Partners, is_implied, partners
from qengine.optimizer.matching import order_problem
from qengine.optimizer.order import CostModel
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.optimizer.search_levels import as_filter
from qengine.optimizer.target import is_for_gpu
from qengine.plan.expr import Comparison, Expr, Logical, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Project, Unit
from qengine.plan.physical import Between, SharedKeys, ThetaJoin
from qengine.plan.traverse import conjunction, free_variables
from qengine.types import BOOLEAN, NODE, RELATIONSHIP

_WORTH = 2e6
"""Nanoseconds that another way must take for this one to be looked into."""

_ROW = 450.0
"""Nanoseconds of holding a row, or of finding how many go with it: 350, and as much again for what must differ."""

_PAIR = 20.0
"""Nanoseconds of a pair that is made and asked whether a condition holds."""

_HUBS = 40.0
"""So much longer a search from rows may take than is expected, since more of them lead to hubs than to others."""

_MOST_PARTS = 3
"""Of an OR whose pairs are counted by those of each part, of each two, and so on."""

_MARGIN = 3.0
"""So much cheaper counting pairs must be than a search, which uses all cores."""


@frozen
class _Paired:
    """A cut whose pairs are told by ``ways``, any of them: ``overlaps`` are what several find, with ``signs``.

    ``conditions``: what compares the parts; ``keys``: other names of the nodes that both have, in the held part.
    """

    join: Join
    ways: tuple[Between, ...]
    overlaps: tuple[Between, ...]
    signs: tuple[int, ...]
    conditions: tuple[Expr, ...]
    keys: dict[str, str]


@record
class MatchPairs(MatchByValue):
    """Lowers a match whose pairs of parts are counted."""

    def _follow(
        self, request: MatchRequest, strategy: MatchStrategy, filters: PostFilters, wanted: set[str], final: bool
    ) -> None:
        later = self._needed_later() | wanted.difference(*map(free_variables, filters.general))
        found = self._paired(request, strategy, filters, later) if final else None
        if found is None:
            MatchByValue._follow(self, request, strategy, filters, wanted, final)  # a record's class is made anew
        else:
            self._count_pairs(found, filters, wanted)

    def _paired(
        self, request: MatchRequest, strategy: MatchStrategy, filters: PostFilters, later: set[str]
    ) -> _Paired | None:
        """Return the cheapest cut whose pairs are told without making them; None where that doesn't pay.

        ``later``: variables that are read by more than the conditions here.
        """
        matching, hints = request.matching, self.graph.hints
        free = hints.strategy is None and not (hints.order or hints.rule or hints.join or hints.as_written)
        if not free or hints.eliminates or is_for_gpu() or self.demand.duplicates is Duplicates.KEEP:
            return None
        given = bool(self.columns) or not isinstance(self.root, Unit)
        if given != bool(matching.bound) or self.purpose is not None:
            return None
        conditions = [*map(as_filter, matching.conditions), *filters.general]
        compared = [each for each in conditions if len(free_variables(each)) > 1]
        if not compared or not all(map(is_simple, filters.general)):
            return None
        cardinality, best = Cardinality(self.catalog, self.nodes), None
        times = expected_rows(self.root, self.catalog).high * self.demand.times if given else 1.0
        limit = times * _cost(request, strategy, cardinality, bool(filters.general))
        if given:  # the rows may well lead to hubs, more often than others
            limit *= min(_HUBS, max((_skew(edge, matching.bound, cardinality) for edge in matching.edges), default=1.0))
        if limit < _WORTH:
            return None
        for join, cost, rows in (beside_rows if given else cut_in_two)(matching, cardinality):
            cost += _ROW * (rows + times)
            found = self._told(join, conditions, later) if cost < limit else None
            cost += 0.0 if found is None else _ROW * (rows + times) * (len(found.ways) + len(found.overlaps) - 1)
            early = [] if found is None else [each for each in filters.general if each not in found.conditions]
            if found is not None and cost < limit and not any(map(condition_can_fail, early)):
                best, limit = found, cost
        return best

    def _told(self, join: Join, conditions: list[Expr], later: set[str]) -> _Paired | None:
        """Return a cut with its conditions, if the held part gives nothing else and they are all told by one way."""
        held = {*join.build.names, *(edge.name for edge in join.build.edges)} - set(join.keys)
        probe = {*join.probe.names, *(edge.name for edge in join.probe.edges), *self.columns}
        if held & later:
            return None
        across = [each for each in conditions if not (free_variables(each) <= probe or free_variables(each) <= held)]
        keys = {key: self._unused(f"@{key}") for key in join.keys}
        own = [each for each in across if free_variables(each) - probe]
        if not own:
            return None
        same = [_equal(self._variable(key), self._variable(other)) for key, other in keys.items()]
        ways: list[tuple[int, Between]] = []
        for size, each in _any_of(own):
            found = partners([*same, *each], probe, held | set(keys.values()))
            way = None if found is None else _told_way(found, len(same) + len(each))
            if way is None:
                return None
            ways.append((size, way))
        single = tuple(way for size, way in ways if size == 1)
        overlaps = tuple(way for size, way in ways if size > 1)
        signs = tuple(1 if size % 2 else -1 for size, _ in ways if size > 1)
        return _Paired(join, single, overlaps, signs, tuple(own), keys)

    def _count_pairs(self, found: _Paired, filters: PostFilters, wanted: set[str]) -> None:
        """Match both parts, and join them."""
        join, keys = found.join, found.keys
        needed = wanted.union(join.keys, join.compared(), *map(free_variables, found.conditions))
        exists = self.demand.duplicates is Duplicates.IGNORE
        general = [each for each in filters.general if each not in found.conditions]
        filters.general = []
        general += self._side(join.probe, needed, True)
        other = self._apart()
        general += other._side(join.build, needed, exists)
        for part in (self, other):
            part._filter([each for each in general if free_variables(each) <= set(part.columns)])
        items = [(keys.get(name, name), Variable(name)) for name in other.columns]
        build = Project(other.root, tuple(items))
        equations = [_equal(self._variable(key), self._variable(name)) for key, name in keys.items()]
        apart = tuple(self._coincidences(found))
        differences = [Logical("OR", tuple(map(_differ, each.left, each.right)), type=BOOLEAN) for each in apart]
        self.root = ThetaJoin(
            self.root,
            build,
            found.ways,
            conjunction((*equations, *found.conditions, *differences)),
            (),
            told=True,
            semi=exists,
            count=None if exists else (count := self._unused("@weight")),
            apart=apart,
            overlaps=found.overlaps,
            signs=found.signs,
        )
        self.bound |= other.bound
        self.searched += [*join.probe.edges, *join.build.edges]
        if not exists:
            self._weigh(count)

    def _coincidences(self, found: _Paired) -> Iterator[SharedKeys]:
        """Yield what must not be the same in both parts, with the nodes that they share, where no condition says so."""
        join, ends = found.join, {edge.name: edge.ends for edge in self.fixed}
        probe = {*join.probe.names, *ends}.difference(edge.name for edge in join.build.edges)
        shared = [(self._variable(key), self._variable(name)) for key, name in found.keys.items()]
        every = [[(one, other) if one in probe else (other, one) for one, other in each] for each in join.apart]
        for same in every:
            if any(
                (pair not in same and [pair] in every)
                or is_implied(_differ(*map(self._variable, pair)), found.conditions)
                for pair in self._with_ends(same)
            ):
                continue
            pairs = [*shared, *((self._variable(one), self._variable(other)) for one, other in same)]
            yield SharedKeys(tuple(one for one, _ in pairs), tuple(other for _, other in pairs))

    def _with_ends(self, pairs: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Yield pairs, and of relationships that meet in a node the other ends: these are the same if they are."""
        ends = {edge.name: edge.ends for edge in self.fixed}
        for one, other in pairs:
            yield one, other
            if one in ends and other in ends:
                met = set(ends[one]) & set(ends[other])
                beyond = [set(ends[each]) - met for each in (one, other)]
                if len(met) == 1 and all(beyond):
                    yield beyond[0].pop(), beyond[1].pop()

    def _variable(self, name: str) -> Variable:
        return Variable(name, type=RELATIONSHIP if any(edge.name == name for edge in self.fixed) else NODE)


def _any_of(conditions: list[Expr]) -> Iterator[tuple[int, list[Expr]]]:
    """Yield conditions of which the first OR becomes one, two and more of its parts, and how many."""
    chosen = next((each for each in conditions if isinstance(each, Logical) and each.op == "OR"), None)
    if not isinstance(chosen, Logical) or len(chosen.args) > _MOST_PARTS:
        yield 1, conditions
        return
    others = [each for each in conditions if each is not chosen]
    for size in range(1, len(chosen.args) + 1):
        for parts in combinations(chosen.args, size):
            yield size, [*others, *parts]


def _told_way(found: Partners, conditions: int) -> Between | None:
    """Return the way that tells all conditions, of which there are so many: by an order, or by keys alone."""
    (way, *others), every = found.ways, EVERY_PAIR.ways[0]
    if found.told and isinstance(way, Between):
        return way
    if others or not isinstance(way, SharedKeys) or not isinstance(every, Between):
        return None
    told = len(way.left) == conditions and not (way.left_items or way.right_items)
    return replace(every, within=way) if told else None


def _equal(one: Expr, other: Expr) -> Expr:
    return Comparison(("=",), (one, other), type=BOOLEAN)


def _differ(one: Expr, other: Expr) -> Expr:
    return Comparison(("<>",), (one, other), type=BOOLEAN)


def _skew(edge: PatternEdge, bound: Sequence[str], cardinality: Cardinality) -> float:
    """Return how much more neighbours a bound end has in the mean where it is come to by a neighbour."""
    return max((cardinality.degree_statistics(edge, each).skew for each in edge.ends if each in bound), default=1.0)


def _cost(request: MatchRequest, strategy: MatchStrategy, cardinality: Cardinality, filtered: bool) -> float:
    """Return the nanoseconds of a strategy, and of asking what is left of the conditions, if there are any."""
    if strategy.elimination is not None:
        return strategy.elimination.schedules[0].cost
    if strategy.join is None or request.matching.bound:
        return (strategy.order.cost + filtered * _PAIR * strategy.order.rows) / _MARGIN
    _, problem = order_problem(replace(request.matching, conditions=[]), cardinality)
    model = CostModel(problem)
    return max(strategy.join.cost, _PAIR * model.rows(model.all))
