"""How many walks a vertex is expected to begin: by degrees, hop by hop with the labels of who is come to, and by
conditions on both ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from qengine._frozen import replace
from qengine.catalog.view import CatalogView, Incidence
from qengine.optimizer.correlation import Joint
from qengine.optimizer.filters import Below, below
from qengine.optimizer.given_nodes import given_nodes, name_below
from qengine.optimizer.labels import exactly, matching_types, satisfying_sets, vertex_count
from qengine.optimizer.peeking import counts_rare
from qengine.optimizer.selectivity import selectivity
from qengine.optimizer.unjoined import Element
from qengine.plan.pattern import Direction, LabelAnd, LabelExpr, LabelIs, LabelOr, named
from qengine.plan.physical import Reach, Walk

_MOST_SETS = 8  # label sets, and hops between such one after the other, of which it is asked how degrees go together
_UNSEEN = 1 / 64  # starts, as many as all have: how much is said of those that aren't looked at
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
    """What is known of a walk's relationships and ends.

    Walks are followed by the label sets that each hop leads from and to (``places``): as many go on as relationships
    lead on from there, more where who is come to has more of them than others, but none back over the same one.
    """

    def __init__(self, walk: Walk | Reach, catalog: CatalogView) -> None:
        self.catalog = catalog
        self.types = [info for info in matching_types(catalog, None) if not walk.types or info.name in walk.types]
        self.out, self.into = walk.direction is not Direction.IN, walk.direction is not Direction.OUT
        known, start = below(walk.input, catalog), name_below(walk.start, walk.input)
        self.start = known.nodes.get(start, _ANY)
        self.names = start, walk.end.name
        predicates = walk.end.predicates
        share = selectivity(predicates, catalog, "node", walk.end.labels) if predicates else 1.0
        self.end = Element(walk.end.labels, predicates, share)
        owners = LabelOr(tuple(LabelIs(info.name) for info in self.types))
        self.admitted = selectivity(walk.predicates, catalog, "relationship", owners) if walk.predicates else 1.0
        self.between = self.admitted * (selectivity(walk.inner, catalog, "node", None) if walk.inner else 1.0)
        self.leaving = Incidence(tuple(info.name for info in self.types), self.out, self.into, None)
        self.sizes = np.array([size for _, size in catalog.label_sets], np.float64)
        self._relate()
        self.followed = 1
        self.flow, self.begun = self._first(start, known, getattr(walk, "different", ()))
        self.ends = self._has(self.end.labels)[self.places[:, 1]]

    def walks(self, length: int) -> float:
        """Return how many walks of a length are expected; lengths are asked for in ascending order."""
        if length == 0:
            return self._stays()
        while self.followed < length:
            self._go_on()
        arrived = float(self.flow[self.ends].sum()) * self.end.share
        if not arrived:
            return 0.0
        if length == 1:
            both = self._factor(self.start, self.end) / max(self._factor(self.start, _ANY), 1e-9)
            return arrived * self.begun * both
        return arrived * self.begun * self._factor(_ANY, self.end)

    def _first(self, start: str, known: Below, different: tuple[str, ...]) -> tuple[Any, float]:
        """Return how many first hops a start has between label sets, and how many times as many by its conditions.

        Where starts are looked at, their own, without the relationships that led there if the walk must be of others;
        else those of all nodes with their labels.
        """
        starts = max(float(vertex_count(self.catalog, self.start.labels)), 1.0)
        flow = self.admitted * self.edges * self._has(self.start.labels)[self.places[:, 0]] / starts
        nodes = given_nodes(start, known) if counts_rare() else None
        if nodes is None:
            return flow, self._factor(self.start, _ANY)
        targets, count = self.places[:, 1], len(self.sizes)
        reached = np.bincount(targets, flow, count)[:count]
        times = np.ones(count)
        for place in np.argsort(-reached, kind="stable")[:_MOST_SETS].tolist():
            if reached[place]:
                kind = replace(self.leaving, labels=named(exactly(self.catalog, place)))
                found = float(self.catalog.degrees_of(nodes, kind).mean())
                times[place] = (found * len(nodes) / reached[place] + _UNSEEN) / (len(nodes) + _UNSEEN)
        flow = flow * times[targets]
        for joint in known.joints:
            if start in joint.ends and joint.name in different:
                flow = flow - self.admitted * self._taken(start, joint, known)
        return np.maximum(flow, 0.0), 1.0

    def _taken(self, start: str, joint: Joint, known: Below) -> Any:
        """Return how many first hops there would be back over the relationship that led to the start."""
        here, there = joint.ends if joint.ends[0] == start else joint.ends[::-1]
        outward, types = start == joint.ends[0], {info.name: info.undirected for info in self.types}
        total = shared = 0.0
        for name, edges in joint.types:
            total += edges
            if types.get(name) or (name in types and self.out and self.into):
                shared += edges
            elif name in types and joint.both:
                shared += edges / 2
            elif name in types and (self.out if outward else self.into):
                shared += edges
        ends = self._has(known.nodes[here].labels)[self.places[:, 0]], self._has(known.nodes[there].labels)[self.places[:, 1]]
        ways = np.where(ends[0] & ends[1], self.edges, 0.0)
        return ways * (shared / max(total * float(ways.sum()), 1.0))

    def _stays(self) -> float:
        """Return how likely the start itself satisfies what is asked of the end."""
        both = tuple(each for each in (self.start.labels, self.end.labels) if each is not None)
        labels = both[0] if len(both) == 1 else LabelAnd(both) if both else None
        every = (*self.start.predicates, *self.end.predicates)
        share = selectivity(every, self.catalog, "node", labels) if every else 1.0
        starts = vertex_count(self.catalog, self.start.labels) * self.start.share
        return min(1.0, vertex_count(self.catalog, labels) * share / max(starts, 1.0))

    def _relate(self) -> None:
        """Find between which label sets the relationships are that may be walked: how many, and how many either way."""
        count = len(self.sizes)
        found = [np.zeros((0, 3), np.int64)]
        either = [found[0]]
        for info in self.types:
            known = self.catalog.edges_by_label_sets(info.name)
            turned = known[:, [1, 0, 2]]
            found += [known] * (self.out or info.undirected) + [turned] * (self.into and not info.undirected)
            either += [known] * info.undirected + [known, turned] * (self.out and self.into and not info.undirected)
        rows, back = np.concatenate(found), np.concatenate(either)
        keys, which = np.unique(rows[:, 0] * count + rows[:, 1], return_inverse=True)
        self.places = np.stack((keys // count, keys % count), axis=1)
        self.edges = np.bincount(which, rows[:, 2], len(keys))
        alike = np.bincount(np.searchsorted(keys, back[:, 0] * count + back[:, 1]), back[:, 2], len(keys))
        turned = keys % count * count + keys // count
        self.turned = np.searchsorted(keys, turned) % max(len(keys), 1)
        returning = (alike / self.edges)[self.turned]  # of a hop, how likely the same relationship leads back
        self.returning = np.where(keys[self.turned] == turned, returning, 0.0)

    def _go_on(self) -> None:
        """Follow the walks by one hop."""
        count = len(self.sizes)
        on = np.bincount(self.places[:, 1], self.flow, count)[:count] / np.maximum(self.sizes, 1.0)
        flow = on[self.places[:, 0]] * self.edges - self.flow[self.turned] * self.returning
        first = np.argsort(-self.flow, kind="stable")[:_MOST_SETS]
        passing = self.flow[first] / np.maximum(self.sizes, 1.0)[self.places[first, 1]]
        pairs = np.where(self.places[first, 1, None] == self.places[:, 0], passing[:, None] * self.edges, 0.0)
        for each in np.argsort(-pairs, axis=None, kind="stable")[:_MOST_SETS].tolist():
            come, leaves = divmod(each, len(self.edges))
            if pairs[come, leaves]:
                flow[leaves] += pairs[come, leaves] * (self._times(int(first[come]), leaves) - 1.0)
        self.flow = np.clip(self.between * flow, 0.0, _MOST)
        self.followed += 1

    def _times(self, come: int, leaves: int) -> float:
        """Return how many times as many relationships as all those of their label set have those have who are come to.

        ``come``, ``leaves``: the pairs of label sets of the hops that lead there and on.
        """
        before, place, after = *self.places[come].tolist(), int(self.places[leaves, 1])
        labels, *ends = (named(exactly(self.catalog, each)) for each in (place, before, after))
        arriving = Incidence(self.leaving.types, self.into, self.out, ends[0])
        return self.catalog.together(labels, arriving, replace(self.leaving, labels=ends[1]))

    def _has(self, labels: LabelExpr | None) -> Any:
        """Return which label sets satisfy an expression."""
        mask = satisfying_sets(self.catalog, labels)
        return np.array([bool(mask >> place & 1) for place in range(len(self.sizes))], np.bool_)

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
