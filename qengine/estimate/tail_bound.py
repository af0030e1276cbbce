"""Upper bounds of what a target counts: of its search together with what a sampled embedding goes through later."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from qengine._frozen import frozen, replace
from qengine.estimate.bound import MOST_LOOKED_UP, bound_of_joins, multiplicity
from qengine.estimate.norms import Reader, Relation, parallel
from qengine.estimate.semijoins import relations
from qengine.estimate.target import Target
from qengine.exec.common.masks import Masks
from qengine.exec.common.operator_cache import PerOperatorCache
from qengine.exec.common.resolve import ResolvedSearch
from qengine.exec.view import ExecView
from qengine.plan.expr import Variable
from qengine.plan.logical import Argument, Filter, Limit, Operator, Project
from qengine.plan.pattern import Direction, LabelExpr, certain_label
from qengine.plan.physical import Attach, LookUp, Optional, Search, VertexLevel, Walk

_LONGEST = 64  # hops of a walk that is bounded
_MOST_HOPS, _MOST_WAYS = 4, 16  # hops of a walk that are joined one by one, and ways in all to join what follows

_times: PerOperatorCache[float] = PerOperatorCache()


def bound_of_target(
    target: Target,
    store: ExecView,
    plan: ResolvedSearch | None = None,
    most: int = MOST_LOOKED_UP,
    masks: Masks | None = None,
) -> float:
    """Return a number that a target's count doesn't exceed.

    ``plan``, ``most``: as of ``upper_bound``. ``masks``: as of ``Reader``.
    """
    search = target.search
    reader = Reader(store, search, plan, most, masks)
    sizes, joined = relations(reader)
    places = {search.levels[place].name: place for place in sizes}
    labels = {place: reader.label(place) for place in sizes}
    way = _Way(reader, places, sizes, labels, tuple(joined), float(multiplicity(store, search)))
    together = sum(each.bound() for each in _through(target.tail, [way]))
    return min(together, way.bound() * times_at_most(target, store)) if together else 0.0


def times_at_most(target: Target, store: ExecView) -> float:
    """Return how often an embedding of a target's search counts at most; infinity where that isn't known."""
    tail, search = target.tail, target.search
    if tail is None:
        return 1.0

    def find() -> tuple[float, bool]:
        reader = Reader(store, search, None, 0)
        places = {level.name: place for place, level in enumerate(search.levels) if isinstance(level, VertexLevel)}
        labels = {place: reader.label(place) for place in places.values()}
        one = _Way(reader, places, dict.fromkeys(labels, 1.0), labels, (), 1.0)
        return sum(each.bound() for each in _through(tail, [one])), True

    return _times.get(store, tail, find)


@frozen
class _Way:
    """One way to go through operators, as vertices and what joins them.

    ``places``: of vertices, by name; those behind the search's levels have no candidates. ``factor``: rows of each.
    """

    reader: Reader
    places: dict[str, int]
    sizes: dict[int, float]
    labels: dict[int, str | None]
    joined: tuple[Relation, ...]
    factor: float

    def bound(self) -> float:
        """Return how many rows come this way at most."""
        found = bound_of_joins(self.sizes, self.joined)
        return self.factor * found if found and self.factor else 0.0

    def times(self, factor: float) -> _Way:
        """Return it with so many rows for each."""
        return replace(self, factor=self.factor * factor if self.factor and factor else 0.0)

    def with_vertex(self, name: str, labels: LabelExpr | None = None, most: float = inf) -> _Way:
        """Return it with another vertex, that is one of ``most``."""
        place = max(self.sizes) + len(self.reader.search.levels)
        size = min(most, float(sum(high - low for low, high in self.reader.store.label_ranges(labels).tolist())))
        return replace(
            self,
            places={**self.places, name: place},
            sizes={**self.sizes, place: size},
            labels={**self.labels, place: certain_label(labels)},
        )

    def with_edge(self, start: str, end: str, types: tuple[str, ...], direction: Direction, each: bool = False) -> _Way:
        """Return it with relationships between two of its vertices, or of what each row has under such a name.

        ``each``: parallel ones are rows of their own.
        """
        way = self
        for name in {start, end} - self.places.keys():
            way = way.with_vertex(name, None, 1.0)
        one, other = way.places[start], way.places[end]
        times = float(parallel(self.reader.store, types, direction)) if each else 1.0
        if one != other:
            between = self.reader.between(one, other, types, direction, (way.labels[one], way.labels[other]))
            way = replace(way, joined=(*way.joined, between.over(times)))
        return way.times(times)

    def along(self, walk: Walk, hops: int) -> _Way:
        """Return it with a walk of so many hops."""
        here = walk.start
        way = self if here in self.places else self.with_vertex(here, None, 1.0)
        for hop in range(hops):
            last = hop == hops - 1
            there = walk.end.name if last else f"{walk.end.name} {hop}"
            if not (last and walk.end_bound):
                way = way.with_vertex(there, walk.end.labels if last else None)
            way, here = way.with_edge(here, there, walk.types, walk.direction, each=True), there
        if not hops and not walk.end_bound:
            way = replace(way, places={**way.places, walk.end.name: way.places[here]})
        return way

    def at(self, search: Search) -> _Way:
        """Return it with a search whose seeds are among its vertices."""
        way = self
        for place, level in enumerate(search.levels):
            if isinstance(level, VertexLevel):
                if place >= search.seeds:
                    way = way.with_vertex(level.name, level.labels)
                for source in level.sources:
                    way = way.with_edge(search.levels[source.level].name, level.name, source.types, source.direction)
        orbits = max(search.orbits, 1) * max(len(search.images), 1)
        return way.times(float(orbits * multiplicity(self.reader.store, search)))


def _through(tail: Operator | None, ways: Sequence[_Way]) -> Sequence[_Way]:
    """Return the ways through a plan over an ``Argument``, whose rows together are at most the sum of theirs."""
    chain: list[Operator] = []
    while tail is not None and not isinstance(tail, Argument):
        chain.append(tail)
        tail = getattr(tail, "input", None)
    for operator in reversed(chain):
        ways = [found for way in ways for found in _ways(operator, way, len(ways))]
    return ways


def _ways(operator: Operator, way: _Way, beside: int) -> Sequence[_Way]:
    """Return the ways through one operator; ``beside``: so many there were."""
    match operator:
        case Project(items=items):
            names = {
                name: way.places[of.name] for name, of in items if isinstance(of, Variable) and of.name in way.places
            }
            return [replace(way, places={**way.places, **names})]
        case Filter() | Limit() | Attach() | Search(exists=True):
            return [way]
        case Search():
            return [way.at(operator)]
        case Optional(inner=inner):
            if 2 * beside > _MOST_WAYS:
                return [way.times(inf)]
            return [way, *_through(inner, [way])]
        case LookUp(relationship=True):
            return [way.times(1.0 if operator.unique else inf)]
        case LookUp(name=name, labels=labels, unique=unique):
            return [way.with_vertex(name, labels, 1.0 if unique else inf)]
        case Walk() if operator.maximum is not None and operator.maximum <= _LONGEST:
            hops = range(operator.minimum, operator.maximum + 1)
            if operator.maximum <= _MOST_HOPS and len(hops) * beside <= _MOST_WAYS:
                return [way.along(operator, each) for each in hops]
            degree = way.reader.greatest_degree(operator.types, operator.direction)
            found = way if operator.end_bound else way.with_vertex(operator.end.name, operator.end.labels, 1.0)
            return [found.times(sum(degree**each for each in hops))]
        case _:
            return [way.times(inf)]
