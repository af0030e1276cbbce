"""How many walks a vertex is expected to begin: by degrees, and by conditions on both ends."""

from __future__ import annotations

from collections.abc import Iterator

from qengine.catalog.view import CatalogView, Incidence
from qengine.optimizer.correlation import Joint
from qengine.optimizer.filters import elements_below
from qengine.optimizer.labels import matching_types, vertex_count
from qengine.optimizer.selectivity import selectivity
from qengine.optimizer.unjoined import Element
from qengine.plan.pattern import Direction, LabelIs, LabelOr, named
from qengine.plan.physical import Reach, Walk

_HOPS = 8  # of a walk without upper bound
_MOST_HOPS = 1024  # lengths of a walk whose rows are summed: a bound may be any number
_MOST = 1e30
_ANY = Element(None, (), 1.0)


def lengths(minimum: int, maximum: int | None) -> range:
    """Return the lengths of walks, or numbers of repetitions, that are summed."""
    longest = minimum + _HOPS if maximum is None else maximum
    return range(minimum, min(longest, minimum + _MOST_HOPS) + 1)


def walks_from_one(walk: Walk | Reach, catalog: CatalogView) -> float:
    """Return the expected number of walks, or of their ends, from a vertex of the rows that they begin at.

    The first hop is as likely as conditions on the start let expect, in a sample of relationships, the last one as
    those on the end do. In between a vertex that is come to has more of them than others where degrees go together.
    """
    hops = _Hops(walk, catalog)
    reached = 0.0
    for length in lengths(walk.minimum, walk.maximum):
        reached += hops.walks(length)
        if reached > _MOST:
            reached = _MOST
            break
    ends = float(vertex_count(catalog, walk.end.labels)) * hops.end.share
    if isinstance(walk, Reach):
        return min(reached, ends)
    if walk.end_bound:
        reached /= max(ends, 1.0)
    return min(reached, ends) if walk.distinct_ends else reached


class _Hops:
    """What is known of a walk's relationships and ends."""

    def __init__(self, walk: Walk | Reach, catalog: CatalogView) -> None:
        self.catalog = catalog
        self.types = [info for info in matching_types(catalog, None) if not walk.types or info.name in walk.types]
        names = tuple(info.name for info in self.types)
        undirected = any(info.undirected for info in self.types)
        self.out = walk.direction is not Direction.IN or undirected
        self.into = walk.direction is not Direction.OUT or undirected
        self.start = elements_below(walk.input, catalog).get(walk.start, _ANY)
        self.names = walk.start, walk.end.name
        predicates = walk.end.predicates
        share = selectivity(predicates, catalog, "node", walk.end.labels) if predicates else 1.0
        self.end = Element(walk.end.labels, predicates, share)
        owners = LabelOr(tuple(LabelIs(name) for name in names))
        self.admitted = selectivity(walk.predicates, catalog, "relationship", owners) if walk.predicates else 1.0
        every = self._edges(_ANY, _ANY)
        starts = float(vertex_count(catalog, self.start.labels))
        self.first = self.admitted * self._edges(self.start, _ANY) / max(starts, 1.0)
        self.next = self.admitted * every / max(float(catalog.vertex_count), 1.0)
        if names and every:
            along = Incidence(names, self.out, self.into, None), Incidence(names, self.into, self.out, None)
            self.next *= catalog.together(None, *along) if along[0] != along[1] else self._growth(along[0])
        self.last = self._edges(_ANY, self.end) / every if every else 0.0

    def walks(self, length: int) -> float:
        """Return how many walks of a length are expected."""
        if length == 0:
            return self.end.share * vertex_count(self.catalog, self.end.labels) / max(self.catalog.vertex_count, 1)
        if length == 1:
            both = self._edges(self.start, self.end) / max(self._edges(self.start, _ANY), 1e-9)
            return self.first * both * self._factor(self.start, self.end) * self.end.share
        try:
            between: float = self.next ** (length - 1)
        except OverflowError:
            return _MOST
        at_ends = self._factor(self.start, _ANY) * self._factor(_ANY, self.end) * self.end.share
        return self.first * between * self.last * at_ends

    def _edges(self, start: Element, end: Element) -> float:
        """Return how many relationships lead from vertices with one label to such with another."""
        return sum(count for _, count in self._by_type(start, end))

    def _by_type(self, start: Element, end: Element) -> Iterator[tuple[str, float]]:
        labels = named(start.labels), named(end.labels)
        for info in self.types:
            edges = 0.0
            if self.out or info.undirected:
                edges += self.catalog.edge_statistics(labels[0], info.name, labels[1]).edges
            if self.into and not info.undirected:
                edges += self.catalog.edge_statistics(labels[1], info.name, labels[0]).edges
            yield info.name, edges

    def _factor(self, start: Element, end: Element) -> float:
        """Return how many times as many relationships as by shares alone conditions on their ends leave."""
        if not (start.predicates or end.predicates):
            return 1.0
        if self.names[0] == self.names[1]:
            return 1.0
        ends = self.names if self.out else (self.names[1], self.names[0])
        joint = Joint("", ends, tuple(self._by_type(start, end)), self.out and self.into, (), 1.0)
        return joint.factor(dict(zip(self.names, (start, end), strict=True)), self.catalog)

    def _growth(self, kind: Incidence) -> float:
        """Return E[dd] / E[d]E[d] of degrees in relationships that are walked either way."""
        edges = pairs = 0.0
        for info in self.types:
            found = self.catalog.edge_statistics(None, info.name, None)
            both = 1.0 if info.undirected else 2.0
            edges += both * found.edges
            pairs += found.out_pairs + (0.0 if info.undirected else found.in_pairs + 2.0 * found.edges)
        vertices = float(self.catalog.vertex_count)
        return max(1.0, pairs * vertices / max(edges, 1.0) ** 2)
