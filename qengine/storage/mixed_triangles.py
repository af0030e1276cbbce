"""How often two relationships of different kinds are closed to a triangle by a third: from a sample of such pairs."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from qengine._lru import LruCache
from qengine.catalog.view import Incidence, Labels, TriangleSide
from qengine.plan.pattern import expression
from qengine.storage.arrays import Array, dot
from qengine.storage.joint_degrees import JointDegrees
from qengine.storage.kernels import locate
from qengine.storage.samples import have_labels

if TYPE_CHECKING:
    from qengine.storage.store import GraphStore

_SAMPLES = 1 << 12
_SEED = 21
_DOUBT = 8  # pairs' worth: so much is taken to be as degrees say before any pair is seen
_MOST = 2.0**14  # times the odds, either way
_LEAST = 1e-12  # chance
_MOST_CACHED = 1 << 12

Corners = tuple[Labels, Labels, Labels]
Sides = tuple[TriangleSide, TriangleSide, TriangleSide]
Odds = tuple[float, float, float]
_CORNERS = (0, 1), (1, 2), (0, 2)  # that each side is between


class MixedTriangles:
    """By how much the odds of each side of a triangle grow where the others are: ``known`` by the triangle's kinds."""

    def __init__(self, store: GraphStore, degrees: JointDegrees) -> None:
        self._store = store
        self._degrees = degrees
        self.known: LruCache[Odds] = LruCache(_MOST_CACHED)

    def odds(self, labels: Corners, sides: Sides) -> Odds:
        """Return what ``CatalogView.mixed_closing_odds`` does."""
        same = {order: _turned(labels, sides, order) for order in permutations(range(3))}
        order = min(same, key=lambda each: repr(same[each]))
        found = self.known.get(same[order], lambda: self._of_all_sides(*same[order]))
        place = {frozenset((order[one], order[other])): side for side, (one, other) in enumerate(_CORNERS)}
        first, second, third = (found[place[frozenset(ends)]] for ends in _CORNERS)
        return first, second, third

    def _of_all_sides(self, labels: Corners, sides: Sides) -> Odds:
        """Sample where the fewest pairs of relationships meet; what that finds is as many triangles for each side."""
        turned = [_turned(labels, sides, order) for order in ((0, 2, 1), (1, 0, 2), (0, 1, 2))]  # that side stands last
        count = self._sampled(*min(turned, key=self._pairs))
        first, second, third = (self._odds_of_last(count, *each) for each in turned)
        return first, second, third

    def _pairs(self, triangle: tuple[Corners, Sides]) -> tuple[float, str]:
        """Return how many pairs of relationships meet at the second corner: the fewer, the more of them are closed."""
        labels, (before, after, _) = triangle
        degrees, weights = self._both(labels[1], before[1], after[0])
        return dot(degrees, weights), repr(triangle)

    def _both(self, labels: Labels, one: Incidence, other: Incidence) -> tuple[Array, Array]:
        """Return for a sample of the vertices with some labels dd', and how many each stands for."""
        return self._degrees.of(labels, one) * self._degrees.of(labels, other), self._degrees.sample(labels)[1]

    def _sampled(self, labels: Corners, sides: Sides) -> float:
        """Return how many triangles there are, by a sample of the pairs that meet at the second corner."""
        (_, to_first), (to_last, _), (closing, _) = sides
        degrees, weights = self._both(labels[1], to_first, to_last)
        reached = np.cumsum(degrees * weights)
        if not len(reached) or reached[-1] < 1.0:
            return 0.0
        random = np.random.Generator(np.random.Philox(_SEED))
        places = (np.arange(_SAMPLES) + random.random(_SAMPLES)) * (reached[-1] / _SAMPLES)
        chosen = np.minimum(np.searchsorted(reached, places, side="right"), len(reached) - 1)
        middle = self._degrees.sample(labels[1])[0][chosen]
        first, last = (self._neighbours(middle, kind, random) for kind in (to_first, to_last))
        labelled = have_labels(self._store, first, to_first.labels) & have_labels(self._store, last, to_last.labels)
        kept = labelled & (first != last) & (first != middle) & (last != middle)  # loops close with what they are at
        first, last = first[kept], last[kept]
        closed = np.count_nonzero(self._degrees.links(first, last, closing))
        share = (closed + _DOUBT * self._likely(labels, sides)) / (len(first) + _DOUBT)
        return share * float(reached[-1]) * len(first) / max(1, int(np.count_nonzero(labelled)))

    def _odds_of_last(self, count: float, labels: Corners, sides: Sides) -> float:
        """Return by how much the odds of the last side grow where the other two are, if there are so many triangles."""
        pairs = self._pairs((labels, sides))[0]
        if pairs < 1.0:
            return 1.0
        likely = self._likely(labels, sides)
        share = min(max(count / pairs, _LEAST), 1.0 - _DOUBT / (_SAMPLES + _DOUBT))
        return float(min(max(share / (1.0 - share) / (likely / (1.0 - likely)), 1.0 / _MOST), _MOST))

    def _likely(self, labels: Corners, sides: Sides) -> float:
        """Return how likely the last side is by degrees alone, where the other two are."""
        (at_first, _), (_, at_last), (closing, back) = sides
        chance = self._chance(labels[0], labels[2], closing) * self._growth(labels[0], closing, at_first)
        expected = min(chance * self._growth(labels[2], back, at_last), 1.0 / _LEAST)
        return min(max(expected / (1.0 + expected), _LEAST), 1.0 - _LEAST)

    def _chance(self, labels: Labels, other: Labels, kind: Incidence) -> float:
        """Return how many relationships of a kind are expected between two vertices with these labels."""
        weights = self._degrees.sample(labels)[1]
        total, ends = float(weights.sum()), self._store.label_ranges(expression(other))
        mean = dot(self._degrees.of(labels, kind), weights) / max(total, 1.0)
        return mean / max(float(np.diff(ends.astype(np.int64)).sum()), 1.0)

    def _growth(self, labels: Labels, one: Incidence, other: Incidence) -> float:
        """Return how many times likelier a vertex has a relationship of one kind where it has one of another."""
        if one != other:
            return self._degrees.factor(labels, one, other)
        degrees, weights = self._degrees.of(labels, one), self._degrees.sample(labels)[1]
        pairs, mean = dot(degrees * (degrees - 1), weights), dot(degrees, weights)
        return max(pairs * float(weights.sum()) / max(mean, 1.0) ** 2, 1.0)

    def _neighbours(self, vertices: Array, kind: Incidence, random: np.random.Generator) -> Array:
        """Return for each vertex one of the other ends of its relationships of a kind's types; itself where none is."""
        lists = [self._store.adjacency(*stored) for stored in self._degrees.stored(kind)]
        slices = [locate(each.struct, vertices) for each in lists]
        lengths = [(end - begin).astype(np.int64) for begin, end in slices]
        place = (random.random(len(vertices)) * sum(lengths)).astype(np.int64)
        found = vertices.copy()
        for each, (begin, _), length in zip(lists, slices, lengths, strict=True):
            here = (place >= 0) & (place < length)
            found[here] = each.neighbours[begin[here].astype(np.int64) + place[here]]
            place = np.where(place < 0, place, place - length)
        return found


def _turned(labels: Corners, sides: Sides, order: tuple[int, ...]) -> tuple[Corners, Sides]:
    """Return the same triangle with its corners in another order."""
    places = {corners: side for side, corners in enumerate(_CORNERS)}

    def side(one: int, other: int) -> TriangleSide:
        if one < other:
            return sides[places[one, other]]
        near, far = sides[places[other, one]]
        return far, near

    first, second, third = order
    corners = labels[first], labels[second], labels[third]
    return corners, (side(first, second), side(second, third), side(first, third))
