"""How often two relationships of different kinds are closed to a triangle by a third: from a sample of such pairs."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from qengine._lru import LruCache
from qengine.catalog.view import Incidence, TriangleSide
from qengine.plan.pattern import LabelIs
from qengine.storage.arrays import Array, dot
from qengine.storage.joint_degrees import JointDegrees
from qengine.storage.kernels import locate

if TYPE_CHECKING:
    from qengine.storage.store import GraphStore

__all__ = ["Corners", "MixedTriangles", "Sides"]

_SAMPLES = 1 << 12
_SEED = 21
_DOUBT = 8  # pairs' worth: so much is taken to be as degrees say before any pair is seen
_MOST = 2.0**14  # times the odds, either way
_LEAST = 1e-12  # chance
_MOST_CACHED = 1 << 12

Corners = tuple[str | None, str | None, str | None]
Sides = tuple[TriangleSide, TriangleSide, TriangleSide]


class MixedTriangles:
    """By how much the odds of a relationship grow where it closes a triangle: ``known`` by the triangle's kinds."""

    def __init__(self, store: GraphStore, degrees: JointDegrees) -> None:
        self._store = store
        self._degrees = degrees
        self.known: LruCache[float] = LruCache(_MOST_CACHED)

    def odds(self, labels: Corners, sides: Sides) -> float:
        """Return what ``CatalogView.mixed_closing_odds`` does."""
        same = [_turned(labels, sides, order) for order in permutations(range(3))]
        key = min(same, key=repr)
        return self.known.get(key, lambda: self._sampled(*min(same, key=self._pairs)))

    def _pairs(self, triangle: tuple[Corners, Sides]) -> tuple[float, str]:
        """Return how many pairs of relationships meet at the second corner: the fewer, the more of them are closed."""
        labels, (before, after, _) = triangle
        degrees, weights = self._both(labels[1], before[1], after[0])
        return dot(degrees, weights), repr(triangle)

    def _both(self, label: str | None, one: Incidence, other: Incidence) -> tuple[Array, Array]:
        """Return for a sample of the vertices with a label dd', and how many each stands for."""
        return self._degrees.of(label, one) * self._degrees.of(label, other), self._degrees.sample(label)[1]

    def _sampled(self, labels: Corners, sides: Sides) -> float:
        (at_first, to_first), (to_last, at_last), (closing, back) = sides
        degrees, weights = self._both(labels[1], to_first, to_last)
        reached = np.cumsum(degrees * weights)
        if not len(reached) or reached[-1] < 1.0:
            return 1.0
        random = np.random.Generator(np.random.Philox(_SEED))
        places = (np.arange(_SAMPLES) + random.random(_SAMPLES)) * (reached[-1] / _SAMPLES)
        chosen = np.minimum(np.searchsorted(reached, places, side="right"), len(reached) - 1)
        middle = self._degrees.sample(labels[1])[0][chosen]
        first, last = (self._neighbours(middle, kind, random) for kind in (to_first, to_last))
        kept = self._has(first, to_first.label) & self._has(last, to_last.label) & (first != last)
        first, last = first[kept], last[kept]
        chance = self._chance(labels[0], labels[2], closing) * self._growth(labels[0], closing, at_first)
        expected = min(chance * self._growth(labels[2], back, at_last), 1.0 / _LEAST)
        likely = min(max(expected / (1.0 + expected), _LEAST), 1.0 - _LEAST)
        share = (self._linked(first, last, closing) + _DOUBT * likely) / (len(first) + _DOUBT)
        share = min(max(share, _LEAST), 1.0 - _LEAST)
        return float(min(max(share / (1.0 - share) / (likely / (1.0 - likely)), 1.0 / _MOST), _MOST))

    def _chance(self, label: str | None, other: str | None, kind: Incidence) -> float:
        """Return how many relationships of a kind are expected between two vertices with these labels."""
        weights = self._degrees.sample(label)[1]
        total, ends = float(weights.sum()), self._store.label_ranges(None if other is None else LabelIs(other))
        mean = dot(self._degrees.of(label, kind), weights) / max(total, 1.0)
        return mean / max(float(np.diff(ends.astype(np.int64)).sum()), 1.0)

    def _growth(self, label: str | None, one: Incidence, other: Incidence) -> float:
        """Return how many times likelier a vertex has a relationship of one kind where it has one of another."""
        if one != other:
            return self._degrees.factor(label, one, other)
        degrees, weights = self._degrees.of(label, one), self._degrees.sample(label)[1]
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

    def _has(self, vertices: Array, label: str | None) -> Array:
        if label is None:
            return np.ones(len(vertices), np.bool_)
        bounds = self._store.label_ranges(LabelIs(label)).reshape(-1)
        found: Array = np.searchsorted(bounds, vertices, side="right") % 2 == 1
        return found

    def _linked(self, first: Array, last: Array, kind: Incidence) -> int:
        """Return of how many pairs of vertices the first has a relationship of a kind's types to the last."""
        linked = np.zeros(len(first), np.bool_)
        for index, way in self._degrees.stored(kind):
            lists = self._store.adjacency(index, way)
            if not len(lists):
                continue
            low, high = (each.astype(np.int64) for each in locate(lists.struct, first))
            end = high.copy()
            while (low < high).any():
                middle = (low + high) // 2
                less = (lists.neighbours[np.minimum(middle, len(lists) - 1)] < last) & (low < high)
                low, high = np.where(less, middle + 1, low), np.where(less, high, middle)
            linked |= (low < end) & (lists.neighbours[np.minimum(low, len(lists) - 1)] == last)
        return int(np.count_nonzero(linked))


def _turned(labels: Corners, sides: Sides, order: tuple[int, ...]) -> tuple[Corners, Sides]:
    """Return the same triangle with its corners in another order."""
    places = {(0, 1): 0, (1, 2): 1, (0, 2): 2}

    def side(one: int, other: int) -> TriangleSide:
        if one < other:
            return sides[places[one, other]]
        near, far = sides[places[other, one]]
        return far, near

    first, second, third = order
    corners = labels[first], labels[second], labels[third]
    return corners, (side(first, second), side(second, third), side(first, third))
