"""How many walks a vertex is expected to begin: hop by hop along labels, by degrees, and by conditions on both ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from qengine._frozen import replace
from qengine.catalog.view import CatalogView
from qengine.optimizer.correlation import Joint
from qengine.optimizer.filters import Below, below
from qengine.optimizer.given_labels import labels_given
from qengine.optimizer.given_nodes import given_nodes, name_below
from qengine.optimizer.label_ways import MOST_WALKS, label_ways
from qengine.optimizer.labels import matching_types, vertex_count
from qengine.optimizer.memory import memory
from qengine.optimizer.peeking import counts_rare
from qengine.optimizer.selectivity import selectivity
from qengine.optimizer.unjoined import Element
from qengine.plan.pattern import Direction, LabelAnd, LabelIs, LabelOr, named
from qengine.plan.physical import Reach, Walk

_MOST_SETS = 8  # label sets that first hops lead to, of which starts' own relationships are counted
_UNSEEN = 1 / 64  # starts, as many as all have: how much is said of those that aren't looked at
_HOPS = 8  # of a walk without upper bound
_MOST_HOPS = 1024  # lengths of a walk whose rows are summed: a bound may be any number
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
    known, key = memory("walks"), (id(walk), counts_rare())
    found = known.get(key)
    if found is None:
        found = known[key] = _walks(walk, catalog), walk
    walks: float = found[0]
    return walks


def _walks(walk: Walk | Reach, catalog: CatalogView) -> float:
    hops = _Hops(walk, catalog)
    reached = 0.0
    for length in lengths(walk.minimum, walk.maximum):
        reached += hops.walks(length)
        if reached > MOST_WALKS:
            reached = MOST_WALKS
            break
    ends = float(vertex_count(catalog, walk.end.labels)) * hops.end.share
    if isinstance(walk, Reach):
        return min(reached, ends)
    if walk.end_bound:
        reached /= max(ends, 1.0)
    return min(reached, ends) if walk.distinct_ends else reached


class _Hops:
    """What is known of a walk's relationships and ends; walks are followed by the label sets that each hop joins."""

    def __init__(self, walk: Walk | Reach, catalog: CatalogView) -> None:
        self.catalog = catalog
        self.types = [info for info in matching_types(catalog, None) if not walk.types or info.name in walk.types]
        self.out, self.into = walk.direction is not Direction.IN, walk.direction is not Direction.OUT
        known, start = below(walk.input, catalog), name_below(walk.start, walk.input)
        self.start = replace(known.nodes.get(start, _ANY), labels=labels_given(walk.input, walk.start, catalog))
        self.names = start, walk.end.name
        predicates = walk.end.predicates
        share = selectivity(predicates, catalog, "node", walk.end.labels) if predicates else 1.0
        self.end = Element(walk.end.labels, predicates, share)
        owners = LabelOr(tuple(LabelIs(info.name) for info in self.types))
        self.admitted = selectivity(walk.predicates, catalog, "relationship", owners) if walk.predicates else 1.0
        self.between = self.admitted * (selectivity(walk.inner, catalog, "node", None) if walk.inner else 1.0)
        self.ways = label_ways(catalog, self.types, self.out, self.into)
        self.arrives = self.ways.between(None, self.end.labels, catalog)
        self.followed = 1
        self.flow, self.begun = self._first(start, known, walk.different if isinstance(walk, Walk) else ())

    def walks(self, length: int) -> float:
        """Return how many walks of a length are expected; lengths are asked for in ascending order."""
        if length == 0:
            return self._stays()
        while self.followed < length:
            self.flow = self.between * self.ways.on(self.flow, self.catalog)
            self.followed += 1
        arrived = float(self.flow[self.arrives].sum()) * self.end.share * self.begun
        if not arrived:
            return 0.0
        if length == 1:
            return arrived * self._factor(self.start, self.end) / max(self._factor(self.start, _ANY), 1e-9)
        return arrived * self._factor(_ANY, self.end)

    def _stays(self) -> float:
        """Return how likely the start itself satisfies what is asked of the end."""
        both = tuple(each for each in (self.start.labels, self.end.labels) if each is not None)
        labels = both[0] if len(both) == 1 else LabelAnd(both) if both else None
        every = (*self.start.predicates, *self.end.predicates)
        share = selectivity(every, self.catalog, "node", labels) if every else 1.0
        starts = vertex_count(self.catalog, self.start.labels) * self.start.share
        return min(1.0, vertex_count(self.catalog, labels) * share / max(starts, 1.0))

    def _first(self, start: str, known: Below, different: tuple[str, ...]) -> tuple[Any, float]:
        """Return how many first hops a start has between label sets, and how many times as many by its conditions.

        Where starts are looked at, their own, without the relationships that led there if the walk must be of others;
        else those of all nodes with their labels.
        """
        ways, starts = self.ways, max(float(vertex_count(self.catalog, self.start.labels)), 1.0)
        flow = self.admitted * ways.edges * ways.between(self.start.labels, None, self.catalog) / starts
        nodes = given_nodes(start, known) if counts_rare() else None
        if nodes is None:
            return flow, self._factor(self.start, _ANY)
        reached = ways.to_each(flow)
        times = np.ones(len(reached))
        for place in np.argsort(-reached, kind="stable")[:_MOST_SETS].tolist():
            if reached[place]:
                found = float(self.catalog.degrees_of(nodes, ways.leaving(place, self.catalog)).sum())
                times[place] = (found * self.admitted / reached[place] + _UNSEEN) / (len(nodes) + _UNSEEN)
        flow = flow * times[ways.ends[:, 1]]
        for joint in known.joints:
            if start in joint.ends and joint.name in different:
                flow = flow - self.admitted * self._taken(start, joint, known)
        return np.maximum(flow, 0.0), 1.0

    def _taken(self, start: str, joint: Joint, known: Below) -> Any:
        """Return how many first hops there would be back over the relationship that led to the start."""
        outward = start == joint.ends[0]
        here, there = (known.nodes[name].labels for name in (joint.ends if outward else joint.ends[::-1]))
        types = [info for info in matching_types(self.catalog, None) if info.name in dict(joint.types)]
        came = label_ways(self.catalog, types, joint.both or not outward, joint.both or outward)
        flow = came.edges * came.between(there, here, self.catalog)
        return self.ways.back(came, flow / max(float(flow.sum()), 1.0), self.catalog)

    def _factor(self, start: Element, end: Element) -> float:
        """Return how many times as many relationships as by shares alone conditions on their ends leave."""
        if not (start.predicates or end.predicates) or self.names[0] == self.names[1]:
            return 1.0
        ends = self.names if self.out else (self.names[1], self.names[0])
        both = (self.out and self.into) or any(info.undirected for info in self.types)
        joint = Joint("", ends, tuple(self._by_type(start, end)), both, (), 1.0)
        return joint.factor(dict(zip(self.names, (start, end), strict=True)), self.catalog)

    def _by_type(self, start: Element, end: Element) -> Iterator[tuple[str, float]]:
        """Yield each type's name with how many of its relationships lead from labels of one end to those of another."""
        labels = named(start.labels), named(end.labels)
        for info in self.types:
            edges = 0.0
            if self.out or info.undirected:
                edges += self.catalog.edge_statistics(labels[0], info.name, labels[1]).edges
            if self.into and not info.undirected:
                edges += self.catalog.edge_statistics(labels[1], info.name, labels[0]).edges
            yield info.name, edges
