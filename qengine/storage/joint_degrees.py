"""Whether vertices with many relationships of one kind have many of another: from the degrees of a sample of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qengine._lru import LruCache
from qengine.catalog.view import Incidence, Labels
from qengine.plan.pattern import Direction, expression
from qengine.storage.arrays import Array, dot, in_ranges
from qengine.storage.kernels import add_degrees, locate

if TYPE_CHECKING:
    from qengine.storage.adjacency import Adjacency
    from qengine.storage.store import GraphStore

_SAMPLED = 1 << 14  # vertices with some labels; where there are no more, all are looked at
_CACHE_BYTES = 1 << 22  # bytes of samples, and of degrees
_MOST_FACTORS = 1 << 14
_MANY_RANGES = 16  # of vertices, from which on entries are gone through once rather than lists for each
_FEWER = 8  # times as many vertices as entries of lists, from which on these are gone through instead


class JointDegrees:
    """How degrees in two kinds of relationships go together; kept by labels and kinds.

    Half of a sample are the vertices with the most relationships, which most embeddings have: ids are by descending
    degree where labels are the same. The other half are taken from the rest at equal distances.
    """

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._samples: LruCache[tuple[Array, Array]] = LruCache(
            _CACHE_BYTES, lambda sample: sum(part.nbytes for part in sample)
        )
        self._degrees: LruCache[Array] = LruCache(_CACHE_BYTES, lambda degrees: int(degrees.nbytes))
        self.factors: LruCache[float] = LruCache(_MOST_FACTORS)

    @property
    def nbytes(self) -> int:
        """Bytes of all samples and degrees that are kept."""
        return self._samples.held + self._degrees.held

    def factor(self, labels: Labels, one: Incidence, other: Incidence) -> float:
        """Return E[dd'] / E[d]E[d'] over the vertices with some labels, as if one pair more were of both."""
        return self.factors.get((labels, one, other), lambda: self._factor(labels, one, other))

    def _factor(self, labels: Labels, one: Incidence, other: Incidence) -> float:
        _, weights = self.sample(labels)
        first, second = self.of(labels, one), self.of(labels, other)
        total = float(weights.sum())
        if total == 0.0:
            return 1.0
        weighed = first * weights
        expected = float(weighed.sum()) * dot(second, weights) / total
        return (dot(weighed, second) + 1.0) / (expected + 1.0)

    def sample(self, labels: Labels) -> tuple[Array, Array]:
        """Return vertices with some labels (uint32), and how many each stands for."""
        return self._samples.get(labels, lambda: self._drawn(labels))

    def _drawn(self, labels: Labels) -> tuple[Array, Array]:
        wanted = expression(labels)
        groups = [
            (group.begin, group.end)
            for group in self._store.groups
            if group.begin < group.end and (wanted is None or wanted.admits(group.labels))
        ]
        size = sum(end - begin for begin, end in groups)
        sampled = self._store.fewer(_SAMPLED)
        most = sampled if size <= sampled else sampled // 2
        parts: list[Array] = []
        weights: list[Array] = []
        for begin, end in groups:
            first = min(end, begin + most // len(groups)) if size > sampled else end
            parts.append(np.arange(begin, first))
            weights.append(np.ones(first - begin))
            rest = min(end - first, most * (end - begin) // size + 1)
            if rest:
                parts.append(first + (np.arange(rest) * (end - first) + (end - first) // 2) // rest)
                weights.append(np.full(rest, (end - first) / rest))
        if not parts:
            return np.zeros(0, np.uint32), np.zeros(0)
        return np.concatenate(parts).astype(np.uint32), np.concatenate(weights)

    def of(self, labels: Labels, kind: Incidence) -> Array:
        """Return the degrees of a sample's vertices in a kind of relationships: float64."""
        return self._degrees.get((labels, kind), lambda: self._looked_up(labels, kind))

    def _looked_up(self, labels: Labels, kind: Incidence) -> Array:
        return self.of_nodes(self.sample(labels)[0], kind)

    def of_nodes(self, vertices: Array, kind: Incidence) -> Array:
        """Return the degrees of some vertices (uint32) in a kind of relationships: float64. Not kept."""
        degrees = np.zeros(len(vertices))
        within = self._store.label_ranges(expression(kind.labels))
        ascending = bool((vertices[1:] > vertices[:-1]).all())
        for index, way in self.stored(kind):
            lists = self._store.adjacency(index, way)
            if ascending and len(lists) * _FEWER < len(vertices):
                _add_those_listed(lists, vertices, within, degrees)
                continue
            if len(within) > _MANY_RANGES:
                begins, ends = locate(lists.struct, vertices)
                counted = _counted(lists, within)
                degrees += counted[ends] - counted[begins]
                continue
            for low, high in within.tolist():
                add_degrees(lists.struct, vertices, low, high, degrees)
        return degrees

    def links(self, first: Array, last: Array, kind: Incidence) -> Array:
        """Return how many relationships of a kind lead from the first to the last vertex of each pair (uint32): int32.

        A loop that is meant both ways counts once.
        """
        found = np.zeros(len(first), np.int32)
        for index, way in self.stored(kind):
            lists = self._store.adjacency(index, way)
            if not len(lists):
                continue
            low, high = (each.astype(np.int64) for each in locate(lists.struct, first))
            begin = _first_place(lists.neighbours, low, high, last, np.less)
            count = _first_place(lists.neighbours, begin, high, last, np.less_equal) - begin
            if way is Direction.IN and kind.out:
                count[first == last] = 0
            found += count.astype(np.int32)
        return found

    def stored(self, kind: Incidence) -> Iterator[tuple[int, Direction]]:
        """Yield the stored adjacencies that make a kind of relationships, by type."""
        for index in map(self._store.type_index, kind.types):
            if index is None:
                continue
            if self._store.types[index].undirected:
                yield index, Direction.BOTH
                continue
            if kind.out:
                yield index, Direction.OUT
            if kind.into:
                yield index, Direction.IN


def _first_place(neighbours: Array, low: Array, high: Array, ids: Array, before: np.ufunc) -> Array:
    """Return where lists, from places ``low`` to ``high``, first have what isn't ``before`` some ids."""
    last = len(neighbours) - 1
    while (open_ := low < high).any():
        middle = (low + high) // 2
        less = before(neighbours[np.minimum(middle, last)], ids) & open_
        low, high = np.where(less, middle + 1, low), np.where(less, high, middle)
    return low


def _counted(lists: Adjacency, within: Array) -> Array:
    """Return how many of the entries before each place have a neighbour in one of some ranges: int64."""
    counted = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(in_ranges(lists.neighbours, within), out=counted[1:])
    return counted


def _add_those_listed(lists: Adjacency, vertices: Array, within: Array, degrees: Array) -> None:
    """Add to ``degrees`` what ``add_degrees`` does, entry by entry: for lists of fewer entries than vertices."""
    owners, begins, ends = lists.rows()
    counted = _counted(lists, within)
    places = np.minimum(np.searchsorted(vertices, owners), len(vertices) - 1)
    there = vertices[places] == owners
    degrees[places[there]] += (counted[ends] - counted[begins])[there]
